"""Writes consensus.json: partitions of rows by repeated runs, and what scipy and the definitions make of them."""
import json

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform

random = np.random.default_rng(1)
cases = []
for n, runs, k, noise in [(12, 5, 3, 0.1), (40, 20, 4, 0.2), (60, 30, 5, 0.5), (25, 7, 2, 0.02), (30, 50, 6, 1.0)]:
    truth = random.integers(k, size=n)
    clusters = [np.where(random.random(n) < noise, random.integers(k, size=n), random.permutation(k)[truth]) for _ in range(runs)]
    consensus = np.mean([c[:, None] == c[None, :] for c in clusters], axis=0)
    distances = squareform(1 - consensus, checks=False)
    correlation, _ = cophenet(linkage(distances, "average"), distances)
    cases.append({"clusters": [c.tolist() for c in clusters], "cophenetic": float(correlation), "dispersion": float(np.mean(4 * (consensus - 0.5) ** 2))})
json.dump(cases, open("consensus.json", "w"))
