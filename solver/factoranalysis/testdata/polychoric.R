# Rscript polychoric.R DATA > polychoric.json
# What psych's polychoric and fa say of the data sets in the folder DATA.
suppressPackageStartupMessages({library(psych); library(GPArotation); library(jsonlite)})
data <- commandArgs(trailingOnly = TRUE)[1]
one <- function(name, pattern, k) {
  x <- read.csv(gzfile(file.path(data, paste0(name, ".csv.gz"))))
  x <- x[, grep(pattern, names(x))]
  r <- suppressWarnings(suppressMessages(polychoric(x)))$rho
  f <- suppressWarnings(suppressMessages(fa(r, nfactors = k, n.obs = nrow(x), fm = "minres", rotate = "oblimin")))
  list(factors = k, correlations = r[lower.tri(r)], loadings = unclass(f$loadings)[, ], phi = f$Phi, rmsr = f$rms, rmsea = f$RMSEA[[1]])
}
cat(toJSON(list(version = R.version.string, psych = as.character(packageVersion("psych")),
  bfi = one("bfi", "^[ACENO][1-5]$", 5), lordif_Anxiety = one("lordif_Anxiety", "^R[0-9]+$", 2)),
  digits = 8, auto_unbox = TRUE, matrix = "rowmajor"))
