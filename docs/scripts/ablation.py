"""Trains wardcast with each part of the reading of notes switched off, and tests on later notes.

    pip install numpy scipy scikit-learn
    python3 docs/scripts/ablation.py ./wardcast neiss_strict.csv 2020-01-01
    python3 docs/scripts/ablation.py ./wardcast ktas.csv 5 --min-df 1

The second argument is a date, or a number of folds. Each line is compared with the first, the defaults with the text
that cross-validation chose, on the same notes. The difference in AUROC has its 95 % interval by DeLong for paired
scores. Notes a second are those of `bench score` on one core, with explanations; run it on a quiet machine.
"""
import json
import re
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.metrics import log_loss

import trial

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


def speed(program, folder):
    report = subprocess.run([program, "bench", "score", "--model-dir", folder + "/models", "--input", folder + "/test.jsonl",
                             "--notes", "20000", "--output", "json"], check=True, text=True, stdout=subprocess.PIPE).stdout
    return json.loads(report)["json_per_second"]


def columns(program, folder):
    card = subprocess.run([program, "models", "show", "--model-dir", folder + "/models", "_other"],
                          check=True, text=True, stdout=subprocess.PIPE).stdout
    terms = re.search(r"Vocabulary of ([\d,]+) terms", card).group(1)
    pieces = re.search(r"([\d,]+) pieces of words", card)
    return terms + (" + " + pieces.group(1) if pieces else "")


program, path, until, *more = sys.argv[1:]
splits = trial.splits(path, until)
labels = np.array([int(row["label"]) for _, test in splits for row in test])
print(f"{len(splits[0][0])} notes to learn from, {len(labels)} to test on\n")
print("| reading | AUROC | difference | log loss | columns | notes/s |\n| --- | --- | --- | --- | --- | --- |")
first = None
with tempfile.TemporaryDirectory() as folder:
    for name, flags in VARIANTS.items():
        scores = []
        for rows, test in splits:
            trial.train(program, rows, folder, [*flags, *more])
            scores += [p["probability"] for p in trial.predict(program, test, folder)]
        scores = np.array(scores)
        first = scores if first is None else first
        less, half = trial.auroc(labels, scores, first)
        loss = log_loss(labels, np.clip(scores, 1e-6, 1 - 1e-6))
        print(f"| {name} | {trial.auroc(labels, scores)[0]:.4f} | {less:+.4f} ± {half:.4f} | {loss:.4f} "
              f"| {columns(program, folder)} | {speed(program, folder):,.0f} |", flush=True)
