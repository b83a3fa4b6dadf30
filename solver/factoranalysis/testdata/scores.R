# Rscript scores.R answers.csv > scores.json
# What psych::factor.scores and GPArotation say of three factors of complete answers. Errors are the root mean squared
# differences from the factors: of weights w for items with correlations s, diag(w'sw - 2w'S + Phi), S the structure.
suppressPackageStartupMessages({library(psych); library(GPArotation); library(jsonlite)})
x <- as.matrix(read.csv(commandArgs(trailingOnly = TRUE)[1]))
x <- x[complete.cases(x), ]
r <- cor(x); p <- ncol(x); k <- 3
residuals <- function(l) { d <- r - tcrossprod(matrix(l, p)); diag(d) <- 0; d }
e <- eigen(r)
a <- matrix(optim(e$vectors[, 1:k] %*% diag(sqrt(e$values[1:k])), function(l) sum(residuals(l)^2),
                  function(l) as.vector(-4 * residuals(l) %*% matrix(l, p)), method = "BFGS",
                  control = list(maxit = 10000, reltol = 1e-16))$par, p)
set.seed(1)
lowest <- function(rotate, f) {
  all <- lapply(1:50, function(i) try(rotate(if (i == 1) diag(k) else Random.Start(k)), silent = TRUE))
  all <- Filter(function(l) !inherits(l, "try-error"), all)
  all[[which.min(sapply(all, function(l) f(unclass(l$loadings))))]]
}
both <- function(l) list(loadings = unclass(l$loadings), phi = l$Phi)
geomin <- lowest(function(t) geominQ(a, Tmat = t, delta = .01, eps = 1e-10, maxit = 10000),
                 function(l) sum(exp(rowSums(log(l^2 + .01)) / k)))
target <- matrix(NA, p, k)
v <- unclass(varimax(a)$loadings)
target[abs(v) < .3] <- 0
target[1, which.max(abs(v[1, ]))] <- -.5
w <- !is.na(target) * 1
known <- ifelse(is.na(target), 0, target)
pst <- lowest(function(t) pstQ(a, Tmat = t, W = w, Target = known, eps = 1e-10, maxit = 10000),
              function(l) sum((w * l - known)^2))
quartimin <- quartimin(a, eps = 1e-10, maxit = 10000)
# Schmid and Leiman: three correlations have one factor, in closed form.
q <- quartimin$Phi
g <- sqrt(c(q[1, 2] * q[1, 3] / q[2, 3], q[1, 2] * q[2, 3] / q[1, 3], q[1, 3] * q[2, 3] / q[1, 2]))
g <- g * sign(c(1, q[1, 2], q[1, 3]))
l <- unclass(quartimin$loadings)
bifactor <- cbind(l %*% g, l %*% diag(sqrt(1 - g^2)))

f <- unclass(geomin$loadings); phi <- geomin$Phi
dimnames(f) <- NULL
u <- 1 - diag(f %*% phi %*% t(f))
scores <- lapply(list(all = 1:p, some = c(1, 2, 4, 5, 7, 9), few = c(2, 3, 9)), function(o) {
  z <- scale(x)[1:20, o]
  s <- f[o, ] %*% phi
  kinds <- lapply(c(regression = "Thurstone", bartlett = "Bartlett", tenberge = "tenBerge"), function(method) {
    w <- factor.scores(r[o, o], f[o, ], Phi = phi, method = method)$weights
    items <- if (method == "Bartlett") f[o, ] %*% phi %*% t(f[o, ]) + diag(u[o]) else r[o, o]
    list(scores = z %*% w, errors = sqrt(diag(t(w) %*% items %*% w - 2 * t(w) %*% s + phi)))
  })
  c(list(items = o - 1), kinds)
})
cat(toJSON(list(geomin = both(geomin), target = c(list(target = target), both(pst)), bifactor = bifactor, loadings = f, phi = phi,
                uniquenesses = u, correlations = r, scores = scores, psych = as.character(packageVersion("psych")),
                GPArotation = as.character(packageVersion("GPArotation"))), digits = NA))
