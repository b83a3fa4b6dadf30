"""What the scripts of this folder share: splits of a table of notes, a trained wardcast, and AUROC with its intervals."""
import csv
import json
import random
import re
import subprocess

import numpy as np
import scipy.stats


def splits(path, until):
    """Pairs of rows to learn from and to test on: before and from a date on, or so many folds."""
    rows = [row for row in csv.DictReader(open(path)) if re.search(r"\w\w", row["text"])]
    if not until.isdigit():
        return [([r for r in rows if r["arrived_at"] < until], [r for r in rows if r["arrived_at"] >= until])]
    random.Random(1).shuffle(rows)
    k = int(until)
    return [([r for i, r in enumerate(rows) if i % k != f], rows[f::k]) for f in range(k)]


def train(program, rows, folder, flags):
    with open(folder + "/train.csv", "w", newline="") as f:
        table = csv.DictWriter(f, rows[0].keys())
        table.writeheader()
        table.writerows(rows)
    subprocess.run(["rm", "-rf", folder + "/models"], check=True)
    subprocess.run([program, "train", "--input", folder + "/train.csv", "--model-dir", folder + "/models",
                    "--aux-columns", "age:numeric,sex:categorical", *flags], check=True, stdout=subprocess.DEVNULL)


def predict(program, rows, folder, flags=()):
    """The predictions of rows, which are also written to test.jsonl as messages."""
    with open(folder + "/test.jsonl", "w") as f:
        for row in rows:
            note = {k: v for k, v in row.items() if k not in ("label", "age")}
            f.write(json.dumps({"schema_version": "1", **note, "arrived_at": row["arrived_at"] + "T12:00:00Z",
                                "age": float(row["age"]) if row["age"] else None}) + "\n")
    with open(folder + "/test.jsonl") as f:
        lines = subprocess.run([program, "predict", "--model-dir", folder + "/models", *flags], check=True, text=True,
                               stdin=f, stdout=subprocess.PIPE).stdout
    return [json.loads(line) for line in lines.splitlines()]


def placements(labels, scores):
    """For each positive the share of negatives below it, and for each negative the share of positives above it."""
    positive, negative = scores[labels == 1], scores[labels == 0]
    ranks = scipy.stats.rankdata(np.r_[positive, negative])
    above = (ranks[:len(positive)] - scipy.stats.rankdata(positive)) / len(negative)
    return above, 1 - (ranks[len(positive):] - scipy.stats.rankdata(negative)) / len(positive)


def auroc(labels, scores, other=None):
    """AUROC, less that of other scores of the same notes if given, and the half width of its 95 % interval (DeLong)."""
    (a, b), (c, d) = placements(labels, scores), placements(labels, scores if other is None else other)
    if other is None:
        c, d = 0, 0
    return np.mean(a - c), 1.96 * np.sqrt(np.var(a - c, ddof=1) / len(a) + np.var(b - d, ddof=1) / len(b))
