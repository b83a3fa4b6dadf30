# Rscript reference.R answers.csv > reference.json
# What base R and mvtnorm find by the definitions, for answers with a header and NA for missing ones. "gappy" are the
# answers with the cell in row i, column j (from 1) taken out where (7i + 3j) mod 11 is 0.
suppressMessages({library(jsonlite); library(mvtnorm)})
args <- commandArgs(trailingOnly = TRUE)
x <- as.matrix(read.csv(args[1]))
k <- as.integer(args[2])
x <- x[complete.cases(x), ]
gappy <- x
gappy[(7 * row(x) + 3 * col(x)) %% 11 == 0] <- NA

polychoric <- function(a, b) {
  counts <- table(a, b)
  ta <- c(-Inf, qnorm(head(cumsum(rowSums(counts)) / sum(counts), -1)), Inf)
  tb <- c(-Inf, qnorm(head(cumsum(colSums(counts)) / sum(counts), -1)), Inf)
  minus <- function(rho) {
    s <- matrix(c(1, rho, rho, 1), 2)
    cdf <- function(u, v) if (is.infinite(u) || is.infinite(v)) pnorm(u) * pnorm(v) else pmvnorm(upper = c(u, v), corr = s, algorithm = TVPACK(abseps = 1e-15))[1]
    corners <- outer(ta, tb, Vectorize(cdf))
    cells <- corners[-1, -1] - corners[-nrow(corners), -1] - corners[-1, -ncol(corners)] + corners[-nrow(corners), -ncol(corners)]
    -sum(counts[counts > 0] * log(cells[counts > 0]))
  }
  optimize(minus, c(-0.99, 0.99), tol = 1e-9)$minimum
}
p <- ncol(x)
poly <- diag(p)
for (i in 2:p) for (j in 1:(i - 1)) poly[i, j] <- poly[j, i] <- polychoric(x[, i], x[, j])

# Minimum residuals by their definition: loadings that minimize the squares off the diagonal.
r <- cor(gappy, use = "pairwise.complete.obs")
residuals <- function(l) { l <- matrix(l, p); d <- r - tcrossprod(l); diag(d) <- 0; d }
e <- eigen(r)
start <- e$vectors[, 1:k] %*% diag(sqrt(e$values[1:k]), k)
fit <- optim(start, function(l) sum(residuals(l)^2), function(l) as.vector(-4 * residuals(l) %*% matrix(l, p)),
             method = "BFGS", control = list(maxit = 10000, reltol = 1e-16))
loadings <- matrix(fit$par, p)

v <- varimax(loadings, normalize = TRUE, eps = 1e-14)
h <- sqrt(rowSums(loadings^2))
pm <- promax(unclass(v$loadings) / h, m = 4)
u <- solve(pm$rotmat)
phi <- u %*% t(u)
pattern <- unclass(pm$loadings) * h
z <- scale(x, colMeans(gappy, na.rm = TRUE), apply(gappy, 2, sd, na.rm = TRUE))
scores <- z %*% solve(r, pattern %*% phi)
cat(toJSON(list(pearson = r, polychoric = poly, residual = fit$value, uniquenesses = 1 - rowSums(loadings^2),
                varimax = unclass(v$loadings), pattern = pattern, phi = phi, scores = scores[1:20, ],
                version = R.version.string, mvtnorm = as.character(packageVersion("mvtnorm"))), digits = NA))
