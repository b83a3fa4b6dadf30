"""Writes explanations of notes that the model has not seen, as a reader sees them, in Markdown.

    python3 docs/scripts/explanations.py ./wardcast neiss.csv 2020-01-01 20
    python3 docs/scripts/explanations.py ./wardcast ktas.csv 5 20 --min-df 1

The model learns from the notes before the date, or from all but one of so many folds. The given number of the other
notes is drawn by a fixed seed.
"""
import csv
import json
import random
import re
import subprocess
import sys
import tempfile
import textwrap

program, path, until, count, *more = sys.argv[1:]
rows = [row for row in csv.DictReader(open(path)) if re.search(r"\w\w", row["text"])]
if until.isdigit():
    random.Random(1).shuffle(rows)
    train, test = [r for i, r in enumerate(rows) if i % int(until)], rows[::int(until)]
else:
    train, test = [r for r in rows if r["arrived_at"] < until], [r for r in rows if r["arrived_at"] >= until]
with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/train.csv", "w", newline="") as f:
        table = csv.DictWriter(f, train[0].keys())
        table.writeheader()
        table.writerows(train)
    subprocess.run([program, "train", "--input", folder + "/train.csv", "--model-dir", folder + "/models",
                    "--aux-columns", "age:numeric,sex:categorical", *more], check=True, stdout=subprocess.DEVNULL)
    for number, row in enumerate(random.Random(1).sample(test, int(count)), 1):
        note = {"schema_version": "1", **{k: v for k, v in row.items() if k not in ("label", "age")},
                "arrived_at": row["arrived_at"] + "T12:00:00Z", "age": float(row["age"]) if row["age"] else None}
        line = subprocess.run([program, "predict", "--model-dir", folder + "/models"], check=True, text=True,
                              input=json.dumps(note) + "\n", stdout=subprocess.PIPE).stdout
        said = json.loads(line)
        outcome = "admitted" if row["label"] == "1" else "not admitted"
        print(f"**{number}. {said['probability']:.0%}, {outcome}**\n\n> {' '.join(row['text'].split())[:600]}\n")
        points = []
        for e in said["evidence"]:
            words = " ".join(row["text"][e["start"]:e["end"]].split()) if "start" in e else "all other parts"
            status = "" if e.get("status", "affirmed") == "affirmed" else f" ({e['status']})"
            points.append(f"{e['contribution']:+.2f} {words if words == 'all other parts' else '*' + words + '*'}{status}")
        points += [f"{a['contribution']:+.2f} {a['name']} {a['value']}" for a in said["aux"]]
        print(textwrap.fill("; ".join(points), 120, break_long_words=False, break_on_hyphens=False) + "\n")
