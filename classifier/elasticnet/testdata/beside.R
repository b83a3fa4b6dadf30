# Times cv.glmnet and prints its coefficients near the optimum. Arguments: the folder with design.mtx, labels.csv
# (label, fold), and "sparse" or "dense". Prints JSON on its last line.
suppressMessages({library(glmnet); library(Matrix); library(jsonlite)})
args <- commandArgs(TRUE)
x <- as(readMM(file.path(args[1], "design.mtx")), "CsparseMatrix")
if (args[2] == "dense") x <- as.matrix(x)
labels <- read.csv(file.path(args[1], "labels.csv"))
used <- function(t) t[["user.self"]] + t[["sys.self"]]
seconds <- min(sapply(1:3, function(i) used(system.time(
  cv <<- cv.glmnet(x, labels$label, family = "binomial", foldid = labels$fold, type.measure = "deviance")))))
path <- min(sapply(1:3, function(i) used(system.time(glmnet(x, labels$label, family = "binomial")))))
at <- which.min(cv$cvm)
tight <- glmnet(x, labels$label, family = "binomial", lambda = cv$lambda[1:at], thresh = 1e-14)
cat("\n", toJSON(list(cv = seconds, path = path, lambda = cv$lambda[1:at], intercept = tight$a0[[at]],
                      coefficients = as.numeric(tight$beta[, at])), digits = 15, auto_unbox = TRUE), "\n", sep = "")
