# Writes measures.json. See README.md.
import json
import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (accuracy_score, average_precision_score, brier_score_loss, log_loss, roc_auc_score)

rng = np.random.default_rng(7)
cases = {}
for name, n, shift, slope, digits in [
        ("well", 400, 0.0, 1.0, 6), ("overconfident", 300, 0.5, 2.0, 6), ("ties", 500, -1.0, 1.0, 1), ("rare", 600, -2.5, 0.7, 3)]:
    x = rng.normal(size=n)
    y = (rng.random(n) < expit(x + shift)).astype(int)
    p = np.round(expit(slope * x), digits)
    z = logit(np.clip(p, 2.0**-52, 1 - 2.0**-52))
    fit = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10000, solver="newton-cholesky").fit(z[:, None], y)
    cases[name] = dict(
        y=y.tolist(), p=p.tolist(),
        accuracy=accuracy_score(y, p >= 0.5), auroc=roc_auc_score(y, p), auprc=average_precision_score(y, p),
        brier=brier_score_loss(y, p), log_loss=log_loss(y, p),
        calibration_intercept=brentq(lambda a: (expit(a + z) - y).sum(), -30, 30, xtol=1e-14),
        calibration_slope=fit.coef_[0, 0])
json.dump(cases, open("measures.json", "w"))
