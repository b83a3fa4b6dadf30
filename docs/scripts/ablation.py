"""Trains wardcast with each part of the reading of notes switched off, and tests on later notes.

    pip install numpy scipy scikit-learn
    python3 docs/scripts/ablation.py ./wardcast neiss.csv 2020-01-01
    python3 docs/scripts/ablation.py ./wardcast ktas.csv 5 --min-df 1

The second argument is a date, or a number of folds. Each line is compared with the first, the defaults with the text
that cross-validation chose, on the same notes. The difference in AUROC has its 95 % interval by DeLong for paired
scores. Notes a second are those of `bench score` on one core, with explanations; run it on a quiet machine.
"""
import csv
import json
import random
import re
import subprocess
import sys
import tempfile

import numpy as np
import scipy.stats
from sklearn.metrics import log_loss

VARIANTS = {
    "defaults": [],
    "stop words dropped, single words": ["--stop-words", "drop", "--n-grams", "1"],
    "stop words dropped, pairs": ["--stop-words", "drop", "--n-grams", "2"],
    "stop words kept, single words": ["--stop-words", "keep", "--n-grams", "1"],
    "stop words kept, pairs": ["--stop-words", "keep", "--n-grams", "2"],
    "no concepts": ["--concepts", "none"],
    "no status": ["--no-status"],
    "no typed numbers": ["--no-numbers"],
    "no correction of spelling": ["--no-spelling"],
    "no pieces of words": ["--no-pieces"],
    "none of them": ["--concepts", "none", "--no-status", "--no-numbers", "--no-spelling", "--no-pieces",
                     "--stop-words", "drop", "--n-grams", "1"],
}


def placements(labels, scores):
    positive, negative = scores[labels == 1], scores[labels == 0]
    ranks = scipy.stats.rankdata(np.r_[positive, negative])
    above = (ranks[:len(positive)] - scipy.stats.rankdata(positive)) / len(negative)
    return above, 1 - (ranks[len(positive):] - scipy.stats.rankdata(negative)) / len(positive)


def difference(labels, one, other):
    """AUROC of one minus that of the other, and the half width of its 95 % interval."""
    (a, b), (c, d) = placements(labels, one), placements(labels, other)
    return a.mean() - c.mean(), 1.96 * np.sqrt((a - c).var(ddof=1) / len(a) + (b - d).var(ddof=1) / len(b))


def wardcast(program, train, test, folder, flags):
    with open(folder + "/train.csv", "w", newline="") as f:
        table = csv.DictWriter(f, train[0].keys())
        table.writeheader()
        table.writerows(train)
    subprocess.run(["rm", "-rf", folder + "/models"], check=True)
    subprocess.run([program, "train", "--input", folder + "/train.csv", "--model-dir", folder + "/models",
                    "--aux-columns", "age:numeric,sex:categorical", *flags], check=True, stdout=subprocess.DEVNULL)
    notes = [{"schema_version": "1", **{k: v for k, v in row.items() if k not in ("label", "age")},
              "arrived_at": row["arrived_at"] + "T12:00:00Z", "age": float(row["age"]) if row["age"] else None}
             for row in test]
    lines = subprocess.run([program, "predict", "--model-dir", folder + "/models"], check=True, text=True,
                           input="".join(json.dumps(n) + "\n" for n in notes), stdout=subprocess.PIPE).stdout
    with open(folder + "/test.jsonl", "w") as f:
        f.writelines(json.dumps(n) + "\n" for n in notes)
    card = subprocess.run([program, "models", "show", "--model-dir", folder + "/models", "_other"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    return np.array([json.loads(line)["probability"] for line in lines.splitlines()]), card


def speed(program, folder):
    report = subprocess.run([program, "bench", "score", "--model-dir", folder + "/models", "--input", folder + "/test.jsonl",
                             "--notes", "20000", "--output", "json"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)["json_per_second"]


def columns(card):
    terms = re.search(r"vocabulary: (\d+) terms", card).group(1)
    pieces = re.search(r"(\d+) pieces of words", card)
    return terms + (" + " + pieces.group(1) if pieces else "")


program, path, until, *more = sys.argv[1:]
rows = [row for row in csv.DictReader(open(path)) if re.search(r"\w\w", row["text"])]
if until.isdigit():
    random.Random(1).shuffle(rows)
    k = int(until)
    splits = [([r for i, r in enumerate(rows) if i % k != f], rows[f::k]) for f in range(k)]
else:
    splits = [([r for r in rows if r["arrived_at"] < until], [r for r in rows if r["arrived_at"] >= until])]
labels = np.array([int(row["label"]) for _, test in splits for row in test])
print(f"{len(splits[0][0])} notes to learn from, {len(labels)} to test on\n")
print("| reading | AUROC | difference | log loss | columns | notes/s |\n| --- | --- | --- | --- | --- | --- |")
first = None
with tempfile.TemporaryDirectory() as folder:
    for name, flags in VARIANTS.items():
        parts = [wardcast(program, train, test, folder, [*flags, *more]) for train, test in splits]
        scores = np.concatenate([p for p, _ in parts])
        first = scores if first is None else first
        less, half = difference(labels, scores, first)
        area = placements(labels, scores)[0].mean()
        loss = log_loss(labels, np.clip(scores, 1e-6, 1 - 1e-6))
        print(f"| {name} | {area:.4f} | {less:+.4f} ± {half:.4f} | {loss:.4f} | {columns(parts[-1][1])} "
              f"| {speed(program, folder):,.0f} |", flush=True)
