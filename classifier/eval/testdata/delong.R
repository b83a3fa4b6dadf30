# Adds DeLong's intervals to measures.json as delong.json. See README.md.
suppressMessages({library(pROC); library(jsonlite)})
cases <- fromJSON("measures.json")
write_json(lapply(cases, function(c) as.numeric(ci.auc(c$y, c$p, direction = "<", quiet = TRUE, method = "delong"))[c(1, 3)]),
           "delong.json", digits = 15)
