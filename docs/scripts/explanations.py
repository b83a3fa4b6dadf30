"""Writes explanations of notes that the model has not seen, as a reader sees them, in Markdown.

    python3 docs/scripts/explanations.py ./wardcast neiss_strict.csv 2020-01-01 40 1
    python3 docs/scripts/explanations.py ./wardcast ktas.csv 5 20 1 --min-df 1

The model learns from the notes before the date, or from all but one of so many folds. The given number of the other
notes is drawn by the seed that follows it.
"""
import random
import sys
import tempfile
import textwrap

import trial

SAID = {"negated": " (denied)", "uncertain": " (possible)", "historical": " (past)", "other-person": " (another's)"}

program, path, until, count, seed, *more = sys.argv[1:]
rows, test = trial.splits(path, until)[0]
drawn = random.Random(int(seed)).sample(test, int(count))
with tempfile.TemporaryDirectory() as folder:
    trial.train(program, rows, folder, more)
    for number, (row, said) in enumerate(zip(drawn, trial.predict(program, drawn, folder)), 1):
        outcome = "admitted" if row["label"] == "1" else "not admitted"
        print(f"**{number}. {said['probability']:.0%}, {outcome}**\n\n> {' '.join(row['text'].split())[:600]}\n")
        points = []
        for e in said["evidence"]:
            what = "other words" if e.get("other") else "all other parts"
            if "start" in e:
                what = f"*{' '.join(row['text'][e['start']:e['end']].split())}*"
            points.append(f"{e['contribution']:+.2f} {what}{SAID.get(e.get('status'), '')}")
        points += [f"{a['contribution']:+.2f} {a['name']} {a['value']}" for a in said["aux"]]
        print(textwrap.fill("; ".join(points), 120, break_long_words=False, break_on_hyphens=False) + "\n")
