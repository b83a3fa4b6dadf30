"""Compares wardcast with five peers on notes that are none of the training.

    pip install scikit-learn lightgbm fasttext-wheel
    python3 docs/scripts/peers.py ./wardcast neiss_strict.csv 2020-01-01
    python3 docs/scripts/peers.py ./wardcast ktas.csv 5 --min-df 1

All of them learn from the notes before the date, with the complaint, the sex and the age (scikit-learn and LightGBM:
with its square too). The notes from that date on are tested. A number in place of the date is a number of folds. The
differences have 95 % intervals by a bootstrap over the tested notes: the tables do not say which patients come twice.
"""
import collections
import re
import statistics
import sys
import tempfile

import fasttext
import lightgbm
import numpy as np
import scipy.sparse as sp
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV

import trial


def peers(train, test, folder):
    labels = [int(row["label"]) for row in train]
    middle = statistics.median(float(row["age"]) for row in train if row["age"])
    age = lambda row: float(row["age"] or middle)
    aux = lambda rows: [{"sex=" + row["sex"]: 1, "complaint=" + row["complaint"]: 1, "age": age(row) / 50,
                         "age squared": (age(row) / 50) ** 2} for row in rows]
    columns = DictVectorizer().fit(aux(train))
    words = TfidfVectorizer(min_df=2, sublinear_tf=True)
    pairs = TfidfVectorizer(min_df=2, sublinear_tf=True, ngram_range=(1, 2))
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 5), min_df=5, sublinear_tf=True)
    text = lambda rows: [row["text"] for row in rows]
    kinds = {"words": [words], "pairs of words": [pairs], "words and characters": [words, characters]}
    for name, vectorizers in kinds.items():
        x = sp.hstack([v.fit_transform(text(train)) for v in vectorizers] + [columns.transform(aux(train))]).tocsr()
        z = sp.hstack([v.transform(text(test)) for v in vectorizers] + [columns.transform(aux(test))]).tocsr()
        head = LogisticRegressionCV(Cs=[.3, 1, 3, 10], cv=3, scoring="neg_log_loss", solver="liblinear")
        yield "scikit-learn, logistic regression on " + name, head.fit(x, labels).predict_proba(z)[:, 1]
        if name == "pairs of words":
            trees = lightgbm.LGBMClassifier(n_estimators=200, learning_rate=.03, colsample_bytree=.3, subsample=.8,
                                            subsample_freq=1, n_jobs=2, random_state=1, verbose=-1)
            trees.fit(x.astype(np.float32), labels)
            yield "LightGBM on pairs of words", trees.predict_proba(z.astype(np.float32))[:, 1]
    line = lambda row: re.sub(r"\s+", " ", f"sex_{row['sex']} age_{int(age(row) // 10)} "
                              f"c_{row['complaint'].replace(' ', '_')} {row['text'].lower()}")
    with open(folder + "/train.txt", "w") as f:
        f.writelines(f"__label__{row['label']} {line(row)}\n" for row in train)
    model = fasttext.train_supervised(folder + "/train.txt", wordNgrams=2, epoch=15, lr=.3, dim=50, minn=3, maxn=5,
                                      bucket=200000, thread=1, seed=1, verbose=0)
    probability = lambda row: dict((l, p) for p, l in model.f.predict(line(row) + "\n", 2, 0., "strict"))["__label__1"]
    yield "fastText, pairs of words and characters", np.array([probability(row) for row in test])


program, path, until, *flags = sys.argv[1:]
splits, results = trial.splits(path, until), collections.defaultdict(list)
labels = np.array([int(row["label"]) for _, test in splits for row in test])
print(f"{len(splits[0][0])} notes to learn from, {len(labels)} to test on, {labels.mean():.3f} of them positive\n")
print("| method | AUROC | wardcast is better by | log loss | wardcast is better by |\n| --- | --- | --- | --- | --- |")
with tempfile.TemporaryDirectory() as folder:
    for train, test in splits:
        trial.train(program, train, folder, flags)
        results["wardcast train"] += [p["probability"] for p in trial.predict(program, test, folder)]
        for name, scores in peers(train, test, folder):
            results[name] += list(scores)
results = {name: np.clip(scores, 1e-6, 1 - 1e-6) for name, scores in results.items()}
draws = [np.arange(len(labels)), *np.random.default_rng(1).integers(len(labels), size=(2000, len(labels)))]
figures = {}
for name, scores in results.items():
    losses = -np.log(np.where(labels == 1, scores, 1 - scores))
    figures[name] = np.array([(trial.placements(labels[d], scores[d])[0].mean(), losses[d].mean()) for d in draws])
ours = figures["wardcast train"]
for name, theirs in figures.items():
    better = (ours - theirs) * [1, -1]
    cells = [f"{better[0, i]:+.4f} [{low:+.4f}, {high:+.4f}]" if name != "wardcast train" else ""
             for i, (low, high) in enumerate(zip(*np.percentile(better[1:], [2.5, 97.5], axis=0)))]
    print(f"| {name} | {theirs[0, 0]:.4f} | {cells[0]} | {theirs[0, 1]:.4f} | {cells[1]} |")
logits = np.log(results["wardcast train"] / (1 - results["wardcast train"]))
slope = LogisticRegression(C=1e9).fit(logits[:, None], labels).coef_[0, 0]
print(f"\nThe calibration slope of wardcast is {slope:.2f}.")
