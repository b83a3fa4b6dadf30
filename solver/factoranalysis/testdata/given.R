# Rscript given.R answers.csv > given.json
# lavaan's polychoric correlations of q1 to q7 given q8, a number, and q9, a category.
suppressPackageStartupMessages({library(lavaan); library(jsonlite)})
x <- read.csv(commandArgs(trailingOnly = TRUE)[1])
given <- model.matrix(~ q8 + factor(q9), x)[, -1]
colnames(given) <- paste0("x", seq_len(ncol(given)))
items <- paste0("q", 1:7)
model <- paste0(paste0("q", 1:7, " ~ ", paste(colnames(given), collapse = "+")), collapse = "\n")
f <- lavaan(paste(model, "\n", paste(outer(items, items, Vectorize(function(a, b) if (a < b) paste(a, "~~", b) else "")), collapse = "\n")),
  cbind(x, given), ordered = items, conditional.x = TRUE, auto.th = TRUE)
r <- lavInspect(f, "sampstat")$res.cov
cat(toJSON(list(version = R.version.string, lavaan = as.character(packageVersion("lavaan")), correlations = unclass(r)[, ]),
  digits = 8, auto_unbox = TRUE, matrix = "rowmajor"))
