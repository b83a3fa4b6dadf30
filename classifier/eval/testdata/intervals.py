# Writes intervals.json: measures with standard errors by patient. See README.md.
import json

import numpy as np
import patsy
import statsmodels
import statsmodels.api as sm
from scipy.special import expit, logit
from statsmodels.stats.proportion import proportion_confint

rng = np.random.default_rng(17)


def clustered(model, groups):
    """Coefficients, and their covariance with the factor G/(G-1) alone, without that of the degrees of freedom."""
    fit = model.fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}, tol=1e-14, maxiter=200)
    g = len(np.unique(groups))
    return fit, fit.params, fit.cov_params() * g / (g - 1)


def mean(values, groups):
    fit = sm.OLS(values, np.ones(len(values))).fit(cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False})
    g = len(np.unique(groups))
    return [float(fit.params[0]), float(fit.bse[0] * np.sqrt(g / (g - 1)))]


def placements(y, p):
    pos, neg = p[y == 1], p[y == 0]
    above = (pos[:, None] > neg).astype(float) + 0.5 * (pos[:, None] == neg)
    v = np.empty(len(y))
    v[y == 1], v[y == 0] = above.mean(1), above.mean(0)
    return v, above.mean()


def area_difference(y, p, q, groups):
    """Obuchowski 1997, by pairs, for the difference of two areas."""
    (v, a), (w, b) = placements(y, p), placements(y, q)
    d, m = v - w, a - b
    n1, n0, names = y.sum(), (1 - y).sum(), np.unique(groups)
    x = np.array([(d - m)[(groups == g) & (y == 1)].sum() for g in names])
    z = np.array([(d - m)[(groups == g) & (y == 0)].sum() for g in names])
    i10 = sum(1 for g in names if ((groups == g) & (y == 1)).any())
    i01 = sum(1 for g in names if ((groups == g) & (y == 0)).any())
    i = len(names)
    var = i10 / (i10 - 1) * (x**2).sum() / n1**2 + i01 / (i01 - 1) * (z**2).sum() / n0**2 + 2 * i / (i - 1) * (x * z).sum() / (n1 * n0)
    return [float(m), float(np.sqrt(var))]


def loss(y, p):
    return -np.log(np.where(y == 1, p, 1 - p))


cases = {}
for name, n, patients, shift, slope in [
        ("once", 300, None, 0.0, 1.0), ("again", 600, 350, -0.4, 1.4), ("rare", 900, 500, -2.3, 0.8), ("few", 90, 60, 0.2, 1.0)]:
    groups = np.arange(n) if patients is None else rng.integers(patients, size=n)
    common = rng.normal(size=n if patients is None else patients)[groups]
    x = 0.8 * rng.normal(size=n) + 0.9 * common
    y = (rng.random(n) < expit(x + shift)).astype(int)
    p = np.round(expit(slope * x + 0.3 * rng.normal(size=n)), 6)
    q = np.round(expit(0.7 * x + shift + 0.6 * rng.normal(size=n)), 6)
    z = logit(p)
    _, intercept, ivar = clustered(sm.GLM(y, np.ones((n, 1)), family=sm.families.Binomial(), offset=z), groups)
    _, line, lvar = clustered(sm.GLM(y, sm.add_constant(z), family=sm.families.Binomial()), groups)
    # patsy's natural cubic spline on the same knots spans the same curves as Harrell's restricted cubic spline.
    at = {"once": [.05, .35, .65, .95], "again": [.05, .275, .5, .725, .95], "rare": [.05, .35, .65, .95], "few": [.1, .5, .9]}[name]
    rarer = min(y.sum(), n - y.sum())
    assert len(at) == (5 if rarer >= 200 else 4 if rarer >= 50 else 3), (name, rarer)
    knots = np.quantile(z, at)
    basis = "cr(z, knots=inner, lower_bound=first, upper_bound=last)"
    data = {"z": z, "inner": knots[1:-1], "first": knots[0], "last": knots[-1]}

    def design(values):
        # patsy's cr is cubic beyond its boundary knots, so the tails go on in a straight line by hand.
        values = np.asarray(values)
        m = lambda v: np.asarray(patsy.dmatrix(basis + " - 1", {**data, "z": v}))
        inside = np.clip(values, knots[0], knots[-1])
        h = 1e-5 * (knots[-1] - knots[0])
        low = (m(np.array([knots[0] + h])) - m(np.array([knots[0]]))) / h
        high = (m(np.array([knots[-1]])) - m(np.array([knots[-1] - h]))) / h
        return m(inside) + np.minimum(values - knots[0], 0)[:, None] * low + np.maximum(values - knots[-1], 0)[:, None] * high

    fit, theta, cov = clustered(sm.GLM(y, design(z), family=sm.families.Binomial()), groups)
    grid = np.linspace(*np.sort(p)[[int(np.ceil(.01 * n)) - 1, int(np.ceil(.99 * n)) - 1]], 11)
    rows = design(logit(grid))
    half = 1.959963984540054 * np.sqrt(np.einsum("ij,jk,ik->i", rows, cov, rows))
    called, t = p >= 0.4, 0.4
    brier, prevalence = (p - y)**2, y.mean()
    wilson = lambda k, m: [float(k / m), *map(float, proportion_confint(k, m, method="wilson"))]
    cases[name] = dict(
        y=y.tolist(), p=p.tolist(), q=q.tolist(), groups=groups.tolist(),
        log_loss=mean(loss(y, p), groups), knowledge=mean(loss(y, p) - loss(y, np.full(n, prevalence)), groups),
        brier=mean(brier, groups), net_benefit=mean(np.where(called, np.where(y == 1, 1, -t / (1 - t)), 0), groups),
        calibration_intercept=[float(intercept[0]), float(np.sqrt(ivar[0, 0]))],
        calibration_slope=[float(line[1]), float(np.sqrt(lvar[1, 1]))], recalibration=list(map(float, line)),
        log_loss_difference=mean(loss(y, p) - loss(y, q), groups), brier_difference=mean((p - y)**2 - (q - y)**2, groups),
        auroc_difference=area_difference(y, p, q, groups),
        curve=[[float(a), float(expit(b)), float(expit(b - c)), float(expit(b + c))] for a, b, c in zip(grid, rows @ theta, half)],
        calibration_error=float(np.abs(p - fit.fittedvalues).mean()),
        wilson=dict(sensitivity=wilson((called & (y == 1)).sum(), y.sum()), specificity=wilson((~called & (y == 0)).sum(), n - y.sum()),
                    ppv=wilson((called & (y == 1)).sum(), called.sum()), npv=wilson((~called & (y == 0)).sum(), (~called).sum())))
print(statsmodels.__version__, patsy.__version__)
json.dump(cases, open("intervals.json", "w"))
