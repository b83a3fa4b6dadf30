# 60 invented participants: eight items of two scales answered 0 to 4, a tenth missing, q3 asks for the opposite.
set.seed(31)
n <- 60
f <- matrix(rnorm(2 * n), n)
f[, 2] <- .4 * f[, 1] + .9 * f[, 2]
x <- sapply(1:8, function(j) pmin(4, pmax(0, round(2 + 1.1 * (.5 + .08 * j) * f[, 1 + (j > 4)] + .8 * rnorm(n)))))
x[, 3] <- 4 - x[, 3]
x[sample(length(x), length(x) / 10)] <- NA
write.csv(setNames(as.data.frame(x), paste0("q", 1:8)), "answers.csv", row.names = FALSE, na = "")
