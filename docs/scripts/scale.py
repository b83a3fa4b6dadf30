"""Measures training against the number of notes, wardcast and scikit-learn in turn on the same generated notes.

    pip install scikit-learn
    python3 docs/scripts/scale.py ./wardcast 20000,50000,100000,200000,500000,1000000

scikit-learn: tf-idf, truncated SVD of 50, logistic regression with its penalty by 5-fold cross-validation, two jobs.
wardcast: `train --per-complaint never`. Each prints its processor time and wall time in seconds, its peak memory, and
AUROC and log loss of 20,000 other notes. The complaint, the age and the other fields are columns of the notes;
neither uses any but the text, except for wardcast the complaint.
"""
import csv
import json
import os
import resource
import subprocess
import sys
import tempfile
import time

TESTED = 20_000


def peer(train, test):
    import warnings

    import scipy.sparse as sp
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegressionCV
    warnings.filterwarnings("ignore")
    rows = list(csv.DictReader(open(train)))
    labels = [int(row["label"]) for row in rows]
    words = TfidfVectorizer(min_df=5, sublinear_tf=True)
    x = words.fit_transform([row["text"] for row in rows])
    del rows
    topics = TruncatedSVD(50, random_state=0)
    z = topics.fit_transform(x)
    model = LogisticRegressionCV(Cs=10, cv=5, max_iter=200, n_jobs=2).fit(sp.hstack([x, sp.csr_matrix(z)]).tocsr(), labels)
    x = words.transform([row["text"] for row in csv.DictReader(open(test))])
    print(*model.predict_proba(sp.hstack([x, sp.csr_matrix(topics.transform(x))]).tocsr())[:, 1])


def measured(command):
    """What a command printed, its processor time, its wall time and its peak memory in MiB."""
    began = time.time()
    with tempfile.TemporaryFile("w+") as out:
        child = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL)
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{command} ended with {status}")
        out.seek(0)
        return out.read(), used.ru_utime + used.ru_stime, time.time() - began, used.ru_maxrss / 1024


def report(name, notes, used, labels, p):
    from sklearn.metrics import log_loss, roc_auc_score
    cpu, wall, memory = used
    print(f"{name:12} {notes:9,} notes  {cpu:6.1f} s CPU  {wall:6.1f} s wall  {memory:6.0f} MiB  "
          f"AUROC {roc_auc_score(labels, p):.4f}  log loss {log_loss(labels, p):.4f}", flush=True)


def main(program, sizes):
    with tempfile.TemporaryDirectory(dir=".") as folder:
        def notes(count, seed, name):
            path = f"{folder}/{name}.csv"
            with open(path, "w") as f:
                subprocess.run([program, "synth", "notes", "--count", str(count), "--format", "csv", "--seed", str(seed)],
                               check=True, stdout=f)
            return path
        test = notes(TESTED, 2, "test")
        rows = list(csv.DictReader(open(test)))
        labels = [int(row["label"]) for row in rows]
        for count in sizes:
            train, store = notes(count, 1, "train"), f"{folder}/models-{count}"
            _, *used = measured([program, "train", "--input", train, "--model-dir", store, "--per-complaint", "never"])
            lines = subprocess.run([program, "predict", "--model-dir", store, "--input", test, "--output", "json"], check=True,
                                   text=True, stdout=subprocess.PIPE).stdout.splitlines()
            p = {got["visit_id"]: got["probability"] for got in map(json.loads, lines)}
            report("wardcast", count, used, labels, [p[row["visit_id"]] for row in rows])
            out, *used = measured([sys.executable, __file__, "peer", train, test])
            report("scikit-learn", count, used, labels, [float(v) for v in out.split()])


if sys.argv[1] == "peer":
    peer(*sys.argv[2:])
else:
    main(os.path.abspath(sys.argv[1]), [int(size) for size in sys.argv[2].split(",")])
