"""Prints standard errors of rotated maximum likelihood solutions of answers.csv, complete and with missing answers.

They are those of the bordered information of the rotated parameters: R. I. Jennrich, "Standard errors for obliquely
rotated factor loadings", 1973. The derivatives of the covariances are by complex steps, those of the constraints and
the second derivatives of the likelihood of missing answers by differences."""
import json
import sys

import numpy as np
from scipy.optimize import minimize

K = 3


def hide(x):
    """Answers missing because of the first one."""
    y = x.copy()
    y[x[:, 0] < np.median(x[:, 0]), 6:] = np.nan
    return y


def patterns(x):
    groups = {}
    for row in x:
        groups.setdefault(tuple(~np.isnan(row)), []).append(row)
    return [(np.flatnonzero(known), np.array(rows)[:, np.array(known)]) for known, rows in groups.items()]


def slopes(groups, mu, sigma):
    """The negative log-likelihood and its derivatives by the means and the covariances."""
    value, by_mean, by_cov = 0.0, np.zeros(len(mu)), np.zeros(sigma.shape)
    for items, rows in groups:
        at = np.ix_(items, items)
        inverse = np.linalg.inv(sigma[at])
        d = rows - mu[items]
        value += len(rows) / 2 * np.linalg.slogdet(sigma[at])[1] + np.einsum("ij,jk,ik->", d, inverse, d) / 2
        by_mean[items] -= inverse @ d.sum(0)
        by_cov[at] += (len(rows) * inverse - inverse @ (d.T @ d) @ inverse) / 2
    return value, by_mean, by_cov


def estimate(groups, p):
    def loss(theta):
        a, psi, mu = theta[: p * K].reshape(p, K), np.exp(theta[p * K : p * K + p]), theta[p * K + p :]
        value, by_mean, by_cov = slopes(groups, mu, a @ a.T + np.diag(psi))
        return value, np.concatenate([(2 * by_cov @ a).ravel(), np.diag(by_cov) * psi, by_mean])

    start = np.concatenate([np.random.default_rng(1).normal(0, 0.4, p * K), np.full(p, -0.7), np.zeros(p)])
    best = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": 100000, "ftol": 1e-16, "gtol": 1e-9})
    theta = best.x
    for _ in range(6):  # Newton's method to the end
        h = np.array([(loss(theta + e)[1] - loss(theta - e)[1]) / 2e-5 for e in 1e-5 * np.eye(len(theta))])
        theta = theta - np.linalg.pinv(h, rcond=1e-9) @ loss(theta)[1]
    return theta[: p * K].reshape(p, K), np.exp(theta[p * K : p * K + p]), theta[p * K + p :]


def quartimin(l):
    return l * ((l * l).sum(1, keepdims=True) - l * l)


def varimax(l):
    b = l / np.sqrt((l * l).sum(1, keepdims=True))
    return b, b**3 - b * (b * b).mean(0)


def oblique(a):
    """Direct quartimin by the projected gradient from several starts."""
    best = None
    for seed in range(8):
        t = np.linalg.qr(np.random.default_rng(seed).normal(size=(K, K)))[0]
        step = 1.0
        value = lambda t: (lambda l: (l * quartimin(l)).sum() / 4)(a @ np.linalg.inv(t).T)
        for _ in range(20000):
            l = a @ np.linalg.inv(t).T
            g = -(l.T @ quartimin(l) @ np.linalg.inv(t)).T
            g = g - t * (t * g).sum(0)
            if np.linalg.norm(g) < 1e-13:
                break
            step *= 2
            for _ in range(40):
                n = t - step * g
                n = n / np.sqrt((n * n).sum(0))
                if value(n) < value(t) - step * np.linalg.norm(g) ** 2 / 2:
                    break
                step /= 2
            else:
                break
            t = n
        if best is None or value(t) < value(best) - 1e-9:
            best = t
    return a @ np.linalg.inv(best).T, best.T @ best


def orthogonal(a):
    """Varimax with Kaiser's normalization by singular values."""
    t = np.eye(K)
    for _ in range(100000):
        b, g = varimax(a @ t)
        b0 = a / np.sqrt((a * a).sum(1, keepdims=True))
        u, _, v = np.linalg.svd(b0.T @ g + 1.0 * t)
        if np.abs(u @ v - t).max() < 1e-15:
            break
        t = u @ v
    return a @ t, np.eye(K)


def errors(groups, n, p, oblimin, missing):
    a, psi, mu = estimate(groups, p)
    sd = np.sqrt((a * a).sum(1) + psi)
    l, phi = (oblique if oblimin else orthogonal)(a / sd[:, None])
    lower = np.tril_indices(K, -1)
    theta = np.concatenate([l.ravel(), phi[lower] if oblimin else [], np.log(sd), mu if missing else []])
    q, f = p * K, len(lower[0]) if oblimin else 0

    def unpack(theta):
        l, phi = theta[:q].reshape(p, K), np.eye(K, dtype=theta.dtype)
        if oblimin:
            phi[lower] = theta[q : q + f]
            phi = phi + np.tril(phi, -1).T
        return l, phi

    def sigma(theta):
        l, phi = unpack(theta)
        r = l @ phi @ l.T
        d = np.exp(theta[q + f : q + f + p])
        return (r - np.diag(np.diag(r)) + np.eye(p)) * np.outer(d, d)

    def by_sigma(theta):
        return np.array([sigma(theta + 1e-30j * e).imag / 1e-30 for e in np.eye(len(theta))])

    def constraints(theta):
        l, phi = unpack(theta)
        if oblimin:
            c = l.T @ quartimin(l) @ np.linalg.inv(phi)
            return c[~np.eye(K, dtype=bool)]
        b, g = varimax(l)
        c = b.T @ g
        return (c - c.T)[lower]

    if missing:

        def gradient(theta):
            _, by_mean, by_cov = slopes(groups, theta[-p:], sigma(theta))
            g = np.einsum("aij,ij->a", by_sigma(theta), by_cov)
            g[-p:] += by_mean
            return g

        information = np.array([(gradient(theta + e) - gradient(theta - e)) / 2e-5 for e in 1e-5 * np.eye(len(theta))])
    else:
        inverse = np.linalg.inv(sigma(theta))
        half = np.array([inverse @ s for s in by_sigma(theta)])
        information = n / 2 * np.einsum("aij,bji->ab", half, half)
    c = np.array([(constraints(theta + e) - constraints(theta - e)) / 2e-6 for e in 1e-6 * np.eye(len(theta))]).T
    scale = n
    bordered = np.block([[information, scale * c.T], [scale * c, np.zeros((len(c), len(c)))]])
    se = np.sqrt(np.diag(np.linalg.inv(bordered))[: q + f])
    assert np.abs(constraints(theta)).max() < 1e-9, constraints(theta)
    squares = np.zeros((K, K))
    if oblimin:
        squares[lower] = se[q:]
        squares = squares + squares.T
    order = np.argsort(-np.diag(phi @ l.T @ l))
    return {
        "loadings": np.abs(l[:, order]).tolist(),
        "se": se[:q].reshape(p, K)[:, order].tolist(),
        "phi_se": squares[np.ix_(order, order)].tolist(),
    }


x = np.genfromtxt(sys.argv[1], delimiter=",", skip_header=1)
x = (x - x.mean(0)) / x.std(0)
out = {}
for name, data, missing in (("complete", x, False), ("missing", hide(x), True)):
    for rotation in ("oblimin", "varimax"):
        out[name + " " + rotation] = errors(patterns(data), len(x), x.shape[1], rotation == "oblimin", missing)
json.dump(out, sys.stdout)
