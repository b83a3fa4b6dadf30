# Rscript reference.R FOLDER: what psych says of answers.csv and of the files in FOLDER, into reference.json.
suppressPackageStartupMessages({library(psych); library(jsonlite)})
set.seed(1)
folder <- commandArgs(TRUE)[1]
# psych tries only half of the splits of an odd number of items, and does not correct for their sizes: these are all, corrected.
size <- function(p) p^2 / (p %/% 2 * (p - p %/% 2))
splits <- function(x) {
  s <- cov2cor(cov(x, use = "pairwise.complete.obs"))
  halves <- combn(ncol(x), ncol(x) %/% 2)
  if (ncol(x) %% 2 == 0) halves <- halves[, halves[1, ] == 1]
  v <- apply(halves, 2, function(a) size(ncol(x)) * sum(s[a, -a]) / sum(s))
  list(split_lowest = min(v), split_mean = mean(v), split_highest = max(v), splits = length(v))
}
# psych takes the number of rows for n. This n is the mean number of participants who answered both items of a pair.
feldt <- function(x, a) {
  n <- crossprod(!is.na(x)); n <- mean(n[lower.tri(n)])
  b <- qbeta(c(.975, .025), (n - 1) / 2, (n - 1) * (ncol(x) - 1) / 2) # qf turns to the chi-squared distribution from 4e5 on
  1 - (1 - a) * b / (1 - b) * (ncol(x) - 1)
}
told <- function(file, items, reversed = character(), low = NULL, high = NULL, factors = 3) {
  x <- read.csv(if (grepl("gz$", file)) gzfile(file.path(folder, file)) else file)[, items]
  for (i in reversed) x[[i]] <- low + high - x[[i]]
  r <- cor(x, use = "pairwise.complete.obs")
  a <- suppressWarnings(alpha(x, check.keys = FALSE, warnings = FALSE))
  s <- splitHalf(x, check.keys = FALSE)
  k <- KMO(r)
  b <- cortest.bartlett(r, nrow(x))
  out <- list(file = file, items = items, reversed = I(reversed), low = low, high = high, n = nrow(x),
    alpha = a$total$raw_alpha, alpha_interval = feldt(x, a$total$raw_alpha),
    alpha_interval_psych = c(a$feldt$lower.ci[1, 1], a$feldt$upper.ci[1, 1]),
    alpha_standardized = a$total$std.alpha, mean_correlation = s$av.r, lambda6 = s$lambda6,
    item_rest = a$item.stats$r.drop, item_total = a$item.stats$raw.r, mean = a$item.stats$mean, sd = a$item.stats$sd,
    alpha_dropped = a$alpha.drop$raw_alpha,
    kmo = k$MSA, kmo_items = as.numeric(k$MSAi), bartlett = list(chi_square = b$chisq, df = b$df, p = b$p.value))
  out <- c(out, if (ncol(x) > 16) list(split_mean = s$meanr * size(ncol(x)) / 4) else splits(x))
  if (ncol(x) <= 16 && ncol(x) %% 2 == 0)
    stopifnot(all.equal(c(s$minrb, s$meanr, s$maxrb), c(out$split_lowest, out$split_mean, out$split_highest)))
  if (factors > 0) {
    o <- suppressWarnings(suppressMessages(omega(r, nfactors = factors, n.obs = nrow(x), plot = FALSE)))
    out <- c(out, omega_factors = factors, omega_total = o$omega.tot, omega_hierarchical = o$omega_h)
  }
  out
}
one <- function(s) paste0(s, 1:5)
answers <- told("answers.csv", paste0("q", 1:8), "q3", 0, 4, 2)
bfi <- unlist(lapply(c("A", "C", "E", "N", "O"), one))
cases <- list(answers = answers, answers_as_they_are = told("answers.csv", paste0("q", 1:8), factors = 0),
  bfi = told("bfi.csv.gz", bfi, c("A1", "C4", "C5", "E1", "E2", "O2", "O5"), 1, 6, 5),
  bfi_as_it_is = told("bfi.csv.gz", bfi, factors = 0),
  bfi_15 = told("bfi.csv.gz", bfi[1:15], c("A1", "C4", "C5", "E1", "E2"), 1, 6, 3),
  A = told("bfi.csv.gz", one("A"), "A1", 1, 6, 0), C = told("bfi.csv.gz", one("C"), c("C4", "C5"), 1, 6, 0),
  E = told("bfi.csv.gz", one("E"), c("E1", "E2"), 1, 6, 0), N = told("bfi.csv.gz", one("N"), factors = 0),
  O = told("bfi.csv.gz", one("O"), c("O2", "O5"), 1, 6, 0))
spi <- names(read.csv(gzfile(file.path(folder, "spi.csv.gz")), nrows = 1))
cases$spi_14 <- told("spi.csv.gz", grep("^q_", spi, value = TRUE)[1:14])
cases$spi <- told("spi.csv.gz", grep("^q_", spi, value = TRUE), factors = 5)
cases$anxiety <- told("lordif_Anxiety.csv.gz", paste0("R", 1:29))
wenchuan <- names(read.csv(gzfile(file.path(folder, "mpsychor_Wenchuan.csv.gz")), nrows = 1))
cases$wenchuan <- told("mpsychor_Wenchuan.csv.gz", setdiff(wenchuan, c("X", "id", "rownames")))
write_json(list(R = R.version.string, psych = as.character(packageVersion("psych")), cases = cases), "reference.json",
  digits = 10, auto_unbox = TRUE, null = "null")
