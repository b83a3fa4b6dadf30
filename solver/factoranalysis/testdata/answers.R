# Rscript answers.R > answers.csv: 400 participants, 10 items of 4 or 5 categories, 3 correlated factors.
set.seed(20)
f <- matrix(rnorm(400 * 3), 400) %*% chol(matrix(c(1, .4, .2, .4, 1, .3, .2, .3, 1), 3))
l <- matrix(0, 10, 3)
l[1:4, 1] <- c(.8, .7, .6, -.5); l[4:7, 2] <- c(.3, .75, .65, .7); l[8:10, 3] <- c(.8, .6, -.7)
y <- f %*% t(l) + matrix(rnorm(4000), 400) %*% diag(sqrt(1 - c(.64, .49, .36, .45, .56, .42, .49, .64, .36, .49)))
x <- sapply(1:10, function(j) findInterval(y[, j], if (j %% 3 == 0) c(-.5, .4, 1.4) else c(-1.2, -.3, .5, 1.3)) + 1)
colnames(x) <- paste0("q", 1:10)
write.csv(x, row.names = FALSE, quote = FALSE)
