# Writes glmnet.json. See README.md.
suppressMessages({library(glmnet); library(jsonlite)})
RNGversion("4.2.0")
set.seed(11)
glmnet.control(fdev = 1e-5, devmax = 0.999)

# Topic scores, sparse terms, and auxiliary columns: an age, a flag and a constant.
make <- function(name, n, terms) {
  scores <- matrix(round(rnorm(n * 3), 3), n)
  words <- matrix(ifelse(runif(n * terms) < 0.15, round(rexp(n * terms), 3), 0), n)
  age <- round(runif(n, 1, 95)); flag <- as.numeric(runif(n) < 0.3)
  x <- cbind(scores, words, age, flag, constant = 1)
  eta <- scores %*% c(1, -0.5, 0) + words[, 1:4] %*% c(1, -1, 0.7, 0.4) + (age - 50) / 25
  y <- as.numeric(runif(n) < plogis(eta))
  list(name = name, terms = terms, x = unname(x), y = y)
}

run <- function(d, ..., weights = rep(1, length(d$y)), foldid = NULL) {
  args <- list(...)
  fit <- glmnet(d$x, d$y, family = "binomial", weights = weights, thresh = 1e-18, maxit = 1e7, nlambda = 25, ...)
  keep <- unique(round(seq(1, length(fit$lambda), length.out = 8)))
  b <- as.matrix(fit$beta)
  out <- list(data = d$name, weights = weights,
              alpha = if (is.null(args$alpha)) 1 else args$alpha,
              standardize = if (is.null(args$standardize)) TRUE else args$standardize,
              penalty_factors = if (is.null(args$penalty.factor)) rep(1, ncol(d$x)) else args$penalty.factor,
              lambda = fit$lambda, df = fit$df, null_deviance = fit$nulldev, deviance_ratio = fit$dev.ratio,
              kept = keep - 1, intercept = unname(fit$a0[keep]), coefficients = unname(t(b[, keep])))
  if (!is.null(foldid)) {
    cv <- cv.glmnet(d$x, d$y, family = "binomial", weights = weights, thresh = 1e-18, maxit = 1e7, lambda = fit$lambda,
                    foldid = foldid, keep = TRUE, type.measure = "deviance", ...)
    out$cv <- list(folds = foldid - 1, cvm = cv$cvm, cvsd = cv$cvsd, index_min = which(cv$lambda == cv$lambda.min) - 1,
                   index_1se = which(cv$lambda == cv$lambda.1se) - 1,
                   out_of_fold = unname(cv$fit.preval[, which(cv$lambda == cv$lambda.min)]))
  }
  out
}

d <- make("tall", 150, 20)
wide <- make("wide", 40, 74)
w <- round(runif(150, 0.2, 3), 2); w[c(3, 77)] <- 0
pf <- c(rep(1, 3), rep(1.5, 20), 0, 0, 1)
folds <- sample(rep(1:5, 30))
separable <- make("separable", 80, 8); separable$y <- as.numeric(separable$x[, 1] + separable$x[, 4] > 0.2)
cases <- list(
  lasso = run(d, foldid = folds),
  net = run(d, alpha = 0.5, foldid = folds),
  ridge = run(d, alpha = 0),
  nearly_ridge = run(d, alpha = 0.05),
  weights = run(d, weights = w, foldid = folds),
  factors = run(d, penalty.factor = pf),
  factors_net_weights = run(d, alpha = 0.5, penalty.factor = pf, weights = w),
  unstandardized = run(d, standardize = FALSE),
  unstandardized_net = run(d, alpha = 0.3, standardize = FALSE),
  wide = run(wide), wide_net = run(wide, alpha = 0.5), wide_ridge = run(wide, alpha = 0),
  separable = run(separable))
data <- list(tall = d, wide = wide, separable = separable)
write_json(list(data = data, cases = cases), "glmnet.json", digits = 15, auto_unbox = TRUE)
