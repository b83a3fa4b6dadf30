# Rscript psych.R ANSWERS > psych.json
# What psych's fa says each factor accounts for, in ANSWERS, the answers.csv of solver/factoranalysis/testdata.
suppressPackageStartupMessages({library(psych); library(GPArotation); library(jsonlite)})
x <- read.csv(commandArgs(TRUE)[1])
one <- function(fm, rotate) {
  f <- suppressWarnings(suppressMessages(fa(x, nfactors = 3, fm = fm, rotate = rotate)))
  list(ss_loadings = as.numeric(f$Vaccounted["SS loadings", ]), proportion = as.numeric(f$Vaccounted["Proportion Var", ]))
}
fits <- list()
for (fm in c("minres", "ml")) for (rotate in c("promax", "oblimin", "varimax", "none")) fits[[paste(fm, rotate)]] <- one(fm, rotate)
cat(toJSON(list(version = R.version.string, psych = as.character(packageVersion("psych")),
  GPArotation = as.character(packageVersion("GPArotation")), call = "fa(x, nfactors = 3, fm = fm, rotate = rotate)$Vaccounted", fits = fits),
  digits = 8, auto_unbox = TRUE, pretty = TRUE), "\n", sep = "")
