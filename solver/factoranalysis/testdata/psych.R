# Rscript psych.R DATA > psych.json
# What psych's fa, KMO, cortest.bartlett and omega say of the data sets in the folder DATA. Its varimax stops at eps = 1e-5, and
# its promax starts from there; "tight" are the same rotations of psych's own unrotated loadings with eps = 1e-14.
suppressPackageStartupMessages({library(psych); library(GPArotation); library(jsonlite)})
data <- commandArgs(trailingOnly = TRUE)[1]
answers <- function(name, pattern) {
  x <- read.csv(gzfile(file.path(data, paste0(name, ".csv.gz"))))
  as.data.frame(lapply(x[, grep(pattern, names(x))], as.numeric))
}
quiet <- function(call) suppressWarnings(suppressMessages(call))
tight <- function(loadings, rotate) {
  v <- unclass(varimax(loadings, eps = 1e-14)$loadings)
  if (rotate == "varimax") return(list(loadings = v, phi = diag(ncol(v))))
  h <- sqrt(rowSums(loadings^2))
  pm <- promax(v / h, m = 4)
  u <- solve(pm$rotmat)
  list(loadings = unclass(pm$loadings) * h, phi = u %*% t(u))
}
one <- function(x, k, omega.factors) {
  r <- cor(x, use = "pairwise.complete.obs")
  n <- nrow(x)
  fits <- list()
  for (fm in c("minres", "ml")) {
    unrotated <- unclass(quiet(fa(r, nfactors = k, n.obs = n, fm = fm, rotate = "none"))$loadings)[, ]
    for (rotate in c("promax", "oblimin", "varimax", "none")) {
      f <- quiet(fa(r, nfactors = k, n.obs = n, fm = fm, rotate = rotate))
      fits[[paste(fm, rotate)]] <- list(
        loadings = unclass(f$loadings)[, ], phi = if (is.null(f$Phi)) diag(k) else f$Phi, uniquenesses = as.numeric(f$uniquenesses),
        tight = if (rotate %in% c("varimax", "promax")) tight(unrotated, rotate),
        rmsr = f$rms, rmsea = as.numeric(f$RMSEA)[1:3], tli = f$TLI, bic = f$BIC, chi = f$STATISTIC, dof = f$dof, p = f$PVAL,
        objective = f$objective, accounted = as.numeric(f$Vaccounted[1, ]))
    }
  }
  o <- quiet(omega(r, nfactors = omega.factors, plot = FALSE))
  k2 <- KMO(r); b <- cortest.bartlett(r, n)
  list(items = names(x), n = n, factors = k, kmo = k2$MSA, kmo_items = as.numeric(k2$MSAi), bartlett = b$chisq, fits = fits,
       omega = list(factors = omega.factors, total = o$omega.tot, hierarchical = o$omega_h))
}
out <- list(version = R.version.string, psych = as.character(packageVersion("psych")), GPArotation = as.character(packageVersion("GPArotation")),
  bfi = one(answers("bfi", "^[ACENO][1-5]$"), 5, 3),
  lordif_Anxiety = one(answers("lordif_Anxiety", "^R[0-9]+$"), 2, 3),
  mpsychor_Wenchuan = one(answers("mpsychor_Wenchuan", "."), 3, 3),
  spi = one(answers("spi", "^q_[0-9]+$"), 5, 5))
cat(toJSON(out, digits = 8, auto_unbox = TRUE, matrix = "rowmajor"))
