"""Compares the topics of wardcast with scikit-learn's NMF and LDA on the same tokens, 30 topics each.

    pip install numpy scipy scikit-learn
    python3 docs/scripts/topics.py ./wardcast neiss.csv 2020-01-01

NPMI is the mean over topics of the normalized pointwise mutual information of pairs of its ten heaviest terms, by the
notes in which they occur together (Lau, Newman & Baldwin 2014). Diversity is the share of different terms among the
heaviest ten of all topics.
"""
import itertools
import json
import subprocess
import sys
import tempfile

import numpy as np
from sklearn.decomposition import NMF, LatentDirichletAllocation
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer

import trial

TOPICS, TERMS = 30, 10
PREFIX = {"affirmed": "", "negated": "not:", "uncertain": "maybe:", "historical": "past:", "other-person": "other:"}

program, path, date = sys.argv[1:4]
rows = trial.splits(path, date)[0][0]


def run(*args, text=""):
    return subprocess.run([program, *args], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


with tempfile.TemporaryDirectory() as folder:
    trial.train(program, rows, folder, ["--rank", str(TOPICS), "--per-complaint", "never"])
    shown = json.loads(run("topics", "show", "--model-dir", folder + "/models", "_other", "--terms", "100", "--output", "json"))
    lines = run("tokens", "--model-dir", folder + "/models", "--output=json",
                text="".join(json.dumps({"text": r["text"]}) + "\n" for r in rows)).splitlines()

notes = []
for line in lines:
    terms = [PREFIX[t["status"]] + term for t in json.loads(line)["tokens"] for term in t["terms"]]
    notes.append([t for t in terms if not t.startswith(("age:", "sex:"))])
ours = [[t["term"] for t in topic["terms"] if t["weight"] > 0][:TERMS] for topic in shown["topics"]]
counter = CountVectorizer(analyzer=lambda terms: terms, min_df=10 if len(rows) >= 5000 else 5)
counts = counter.fit_transform(notes)
names = counter.get_feature_names_out()
present = (counts > 0).astype(float)
column = {name: j for j, name in enumerate(names)}
frequency = np.asarray(present.mean(axis=0)).ravel()


def npmi(one, other):
    if one not in column or other not in column:
        return -1
    i, j = column[one], column[other]
    both = present[:, i].multiply(present[:, j]).sum() / len(notes)
    return -1 if both == 0 else np.log(both / (frequency[i] * frequency[j])) / -np.log(both)


def report(name, topics):
    coherence = [np.mean([npmi(a, b) for a, b in itertools.combinations(t, 2)]) for t in topics if len(t) > 1]
    every = [term for t in topics for term in t]
    apart = np.mean([npmi(a, b) == -1 for t in topics for a, b in itertools.combinations(t, 2)])
    usual = np.mean([frequency[column[term]] for term in every])
    print(f"| {name} | {np.mean(coherence):.3f} | {len(set(every)) / len(every):.2f} | {apart:.0%} | {usual:.1%} |", flush=True)


def heaviest(components):
    return [[names[j] for j in np.argsort(-row)[:TERMS]] for row in components]


print(f"{len(notes)} notes, {len(names)} terms, {present.sum() / len(notes):.1f} a note\n\n| topics | NPMI | diversity | pairs never together | notes with a term |\n"
      "| --- | --- | --- | --- | --- |")
report("wardcast", ours)
tfidf = TfidfTransformer().fit_transform(counts)
report("scikit-learn NMF, tf-idf", heaviest(NMF(TOPICS, init="nndsvd", random_state=1, max_iter=400).fit(tfidf).components_))
report("scikit-learn LDA, counts", heaviest(LatentDirichletAllocation(TOPICS, random_state=1, max_iter=20).fit(counts).components_))
