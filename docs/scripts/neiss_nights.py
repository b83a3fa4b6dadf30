"""Five nights on NEISS: `wardcast retrain` at the end of 2018 and of each half-year of 2019 and 2020.

    python3 docs/scripts/neiss_nights.py ./wardcast neiss.csv folder

neiss.csv is made by public_data.py. Each night learns from all notes since 2017. The new folder gets the messages and the
model store; the table goes to standard output, the gate's reasons to standard error.
"""
import csv
import json
import os
import re
import subprocess
import sys

program, table, folder = sys.argv[1:4]
CUTS = ["2019-01-01", "2019-07-01", "2020-01-01", "2020-07-01", "2021-01-01"]

notes, outcomes, store = (os.path.join(folder, name) for name in ("notes.jsonl", "outcomes.jsonl", "models"))
os.makedirs(folder)
with open(notes, "w") as n, open(outcomes, "w") as o:
    for row in sorted(csv.DictReader(open(table)), key=lambda row: row["arrived_at"]):
        if not re.search(r"\w\w", row["text"]):
            continue
        note = {k: row[k] for k in ("visit_id", "complaint", "text", "sex")}
        n.write(json.dumps({"schema_version": "1", **note, "age": float(row["age"]), "arrived_at": row["arrived_at"] + "T12:00:00Z"}) + "\n")
        o.write(json.dumps({"schema_version": "1", "visit_id": row["visit_id"], "decided_at": row["arrived_at"] + "T16:00:00Z",
                            "disposition": "admitted" if row["label"] == "1" else "discharged"}) + "\n")

print("| night | learned from | later notes, admitted | log loss, champion | log loss, challenger | AUROC, champion | AUROC, challenger | verdict |\n"
      "| --- | --- | --- | --- | --- | --- | --- | --- |")
for cut in CUTS:
    r = subprocess.run([program, "retrain", "--notes", notes, "--outcomes", outcomes, "--model-dir", store, "--as-of", cut + "T00:00:00Z",
                        "--window-days", "1500", "--log-level", "error", "--output=json"], stdout=subprocess.PIPE, text=True)
    if r.returncode not in (0, 3):
        sys.exit(f"{cut}: exit {r.returncode}")
    result = json.loads(r.stdout)
    version = next(m["version"] for m in result["promoted"] + result["refused"] if m["model"] == "_other")
    report = json.load(open(os.path.join(store, "_other", version, "report.json")))
    verdict, f = report["verdict"]["decision"], report["verdict"]["figures"]
    champion, challenger = f.get("champion"), f["challenger"]
    loss, area = ((lambda a: f"{a['log_loss']['value']:.4f}" if a else "–"), (lambda a: f"{a['auroc']['value']:.3f}" if a else "–"))
    print(f"| {cut} | {report['data']['training']['notes']:,} | {challenger['n']:,}, {challenger['positives']} | {loss(champion)} | {loss(challenger)} "
          f"| {area(champion)} | {area(challenger)} | {verdict} |", flush=True)
    print(f"{cut}, version {version}: {result['reason']}", file=sys.stderr)
