# Writes classes.json. See README.md.
import json
import numpy as np
from sklearn.metrics import (accuracy_score, balanced_accuracy_score, brier_score_loss, confusion_matrix, log_loss, roc_auc_score)

rng = np.random.default_rng(11)
cases = {}
for name, n, classes, shift, digits in [("three", 300, 3, 0.0, 6), ("rare", 500, 4, -2.0, 6), ("ties", 400, 5, 0.0, 1)]:
    a = rng.normal(size=(n, classes)) + np.linspace(0, shift, classes)
    e = np.exp(a)
    truth = np.array([rng.choice(classes, p=row / row.sum()) for row in e])
    p = np.round(np.exp(1.5 * a) / np.exp(1.5 * a).sum(axis=1, keepdims=True), digits)
    if digits == 1:  # whole tenths that sum to 1, so that classes and rows tie
        p = np.array([np.bincount(rng.choice(classes, size=10, p=row / row.sum()), minlength=classes) for row in e]) / 10
    p[:, 0] = 1 - p[:, 1:].sum(axis=1)
    p = np.clip(p, 0, 1)
    called = p.argmax(axis=1)
    rest = [roc_auc_score(truth == c, p[:, c]) for c in range(classes)]
    every = list(range(classes))
    cases[name] = dict(
        y=truth.tolist(), p=p.tolist(), accuracy=accuracy_score(truth, called), balanced_accuracy=balanced_accuracy_score(truth, called),
        log_loss=log_loss(truth, p, labels=every), brier=brier_score_loss(truth, p, labels=every, scale_by_half=False),
        auroc=roc_auc_score(truth, p, multi_class="ovr", average="macro", labels=every), auroc_of=rest,
        confusion=confusion_matrix(truth, called, labels=every).tolist())
with open("classes.json", "w") as f:
    json.dump(cases, f)
