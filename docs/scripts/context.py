"""Compares how wardcast and three peers read the sentences of ConText's public test set, by status and kind of error.

    pip install medspacy==1.3.1 negspacy negex
    python3 docs/scripts/context.py ./wardcast context_test.tsv negex_triggers.txt 2>errors

The table has the columns text, start, end, negation, time and experiencer; negex_triggers.txt stands beside the public
Python code of NegEx. Each program gets the sentence with its marked finding and says whether it is denied, past or
another person's. Our program marks words by itself: a finding has a status where at least half of the words in it have
it. Intervals of 95 % are those of 2,000 resamples of the sentences.
"""
import collections
import csv
import json
import re
import subprocess
import sys

import medspacy
import negspacy.negation  # registers the component
import numpy as np
import spacy
from negex.negex import negTagger, sortRules

STATUSES = {"denied": ("negation", {"negated"}), "past": ("time", {"historical"}),
            "another's": ("experiencer", {"family member"})}
DENIAL = re.compile(r"\b(no|not|non|nor|none|never|den(y|ies|ied|ying)|without|negative|neg|absent|absence|ruled|rule|"
                    r"unlikely|free|resolved|cannot|lack\w*|fail\w*|unremarkable)\b|n't\b")
PSEUDO = re.compile(r"\b(no (\w+ )?(change|increase)|not only|not necessarily|without (difficulty|change)|gram negative|"
                    r"not (changed|change|improved))\b")
PAST = re.compile(r"\b(history|hx|h/o|pmh|prior|previous(ly)?|past|post|s/p|ago|last|resolved|old|former|known|chronic\w*|"
                  r"(19|20)\d\d)\b")


def wardcast(program, rows):
    """Returns for each row the statuses of its finding."""
    lines = "".join(json.dumps({"text": row["text"]}) + "\n" for row in rows)
    out = subprocess.run([program, "tokens", "--output=json"], input=lines, capture_output=True, text=True, check=True)
    for row, line in zip(rows, out.stdout.splitlines()):
        inside = [t["status"] for t in json.loads(line)["tokens"] if t["start"] < row["end"] and t["end"] > row["start"]]
        most = {s for s in set(inside) if 2 * inside.count(s) >= len(inside)}
        names = {"negated": "denied", "historical": "past", "other-person": "another's"}
        yield {names[s] for s in most if s in names}


def marked(pipeline, row):
    """Returns the finding of a row after the components of a spaCy pipeline."""
    doc = pipeline.make_doc(row["text"])
    doc.ents = [doc.char_span(row["start"], row["end"], label="FINDING", alignment_mode="expand")]
    for _, component in pipeline.pipeline:
        doc = component(doc)
    return doc.ents[0]


def medspacy_context(rows):
    pipeline = medspacy.load()
    for row in rows:
        found = marked(pipeline, row)._
        yield {s for s, said in (("denied", found.is_negated), ("past", found.is_historical),
                                 ("another's", found.is_family)) if said}


def negspacy_negex(rows):
    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    pipeline.add_pipe("negex")
    for row in rows:
        yield {"denied"} if marked(pipeline, row)._.negex else set()


def negex(rows, triggers):
    rules = sortRules(open(triggers, encoding="utf-8").readlines())
    for row in rows:
        phrase = row["text"][row["start"]:row["end"]]
        tagged = negTagger(sentence=row["text"], phrases=[phrase], rules=rules, negP=False)
        yield {"denied"} if tagged.getNegationFlag() == "negated" else set()


def kind(status, row, said):
    """Returns the kind of an error: said is what the program said of the finding, wrongly or not."""
    text, finding = row["text"].lower(), row["text"][row["start"]:row["end"]].lower()
    before, after = text[:row["start"]], text[row["end"]:]
    wrongly = status in said
    if status == "denied" and wrongly:
        if DENIAL.search(finding) or re.match(r"(a(febrile|pyr)|non|un)", finding.split()[-1]):
            return "said: the marked words deny by themselves (afebrile, is nontender)"
        if PSEUDO.search(text):
            return "said: pseudo-denial"
        if row["time"] == "historical" or "resolved" in text:
            return "said: it is past"
        return f"said: a denial reaches too far{'' if DENIAL.search(before) else ', backward'}"
    if status == "denied":
        if re.search(r"\bno (known )?$", before):
            return "missed: the denial is a part of a name (no known allergies)"
        if DENIAL.search(before):
            return "missed: a denial before it does not reach it, or is unknown"
        return "missed: a denial behind it" if DENIAL.search(after) else "missed: no word of denial"
    if status == "past" and wrongly:
        return "said: a word for the past reaches too far"
    if status == "past":
        if "denied" in said:
            return "missed: it is denied or possible as well"
        if re.match(r"(social history|allergies)", text):
            return "missed: a section of the history (social history, allergies)"
        if PAST.search(text.replace("history of present", "")):
            return "missed: a word for the past does not reach it, or is unknown"
        return "missed: no word for the past (a disease alone)"
    return "said" if wrongly else "missed"


def figures(said, gold):
    both = (said & gold).sum()
    return np.array([both / max(1, said.sum()), both / max(1, gold.sum()), 2 * both / max(1, said.sum() + gold.sum())])


program, table, triggers = sys.argv[1:]
rows = list(csv.DictReader(open(table, encoding="utf-8"), delimiter="\t", quoting=csv.QUOTE_NONE))
for row in rows:
    row["start"], row["end"] = int(row["start"]), int(row["end"])
answers = {"wardcast": list(wardcast(program, rows)), "medspaCy": list(medspacy_context(rows)),
           "negspacy": list(negspacy_negex(rows)), "NegEx": list(negex(rows, triggers))}
random, samples = np.random.default_rng(1), 2000
draws = random.integers(0, len(rows), (samples, len(rows)))
for status, (column, values) in STATUSES.items():
    gold = np.array([row[column] in values for row in rows])
    print(f"\n{status}: {gold.sum()} of {len(rows)}\n")
    print("| program | precision | recall | F1 | wardcast is better by |\n| --- | --- | --- | --- | --- |")
    kinds, ours = collections.defaultdict(collections.Counter), None
    for name, answer in answers.items():
        said = np.array([status in a for a in answer])
        if not said.any() and name in ("negspacy", "NegEx"):
            continue
        drawn = np.array([figures(said[d], gold[d]) for d in draws])
        ours = drawn if ours is None else ours
        low, high = np.percentile(drawn, [2.5, 97.5], axis=0)
        cells = [f"{x:.3f} ({l:.3f} to {h:.3f})" for x, l, h in zip(figures(said, gold), low, high)]
        more = np.percentile(ours[:, 2] - drawn[:, 2], [2.5, 97.5])
        cells.append("" if name == "wardcast" else f"{more[0]:+.3f} to {more[1]:+.3f}")
        print(f"| {name} | {' | '.join(cells)} |")
        for row, a, s, g in zip(rows, answer, said, gold):
            if s != g:
                kinds[kind(status, row, a)][name] += 1
    names = [n for n in answers if any(n in c for c in kinds.values())]
    print(f"\n| error | {' | '.join(names)} |\n| --- |{' --- |' * len(names)}")
    for k, counts in sorted(kinds.items()):
        print(f"| {k} | {' | '.join(str(counts[n]) for n in names)} |")
