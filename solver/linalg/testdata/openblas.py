"""Print the seconds of dense products in numpy, one line "name seconds" for each line "name op n p k" of the input.

mul: n×p · p×k.  gram: AᵀA of an n×p matrix.  inner: AᵀB of n×p and n×k.  logistic: of n values, by scipy's expit.
"""
import sys
import time

import numpy


def best(f):
    """The least of the runs within 0.3 s, at least three."""
    f()
    least, total, runs = 1e9, 0, 0
    while total < 0.3 or runs < 3:
        start = time.perf_counter()
        f()
        elapsed = time.perf_counter() - start
        least, total, runs = min(least, elapsed), total + elapsed, runs + 1
    return least


random = numpy.random.default_rng(1)
for line in sys.stdin:
    name, op, *shape = line.split()
    n, p, k = map(int, shape)
    a = random.standard_normal((n, p))
    if op == "mul":
        b = random.standard_normal((p, k))
        out = numpy.empty((n, k))
        seconds = best(lambda: numpy.dot(a, b, out))
    elif op == "gram":
        seconds = best(lambda: a.T @ a)
    else:
        b = random.standard_normal((n, k))
        out = numpy.empty((p, k))
        seconds = best(lambda: numpy.dot(a.T, b, out))
    print(name, seconds, flush=True)
