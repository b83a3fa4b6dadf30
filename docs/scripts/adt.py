"""Writes generated notes and their outcomes as an interface engine would have sent them: HL7 v2 in daily batches.

    wardcast synth notes --count 4320 --outcomes outcomes.jsonl --revised .02 > notes.jsonl
    python3 docs/scripts/adt.py notes.jsonl outcomes.jsonl hospital
    wardcast bulk --folder hospital --config wardcast.yaml --out past

An A04 registers each visit with complaint, age, acuity and vital signs; the text comes with it, or as ORU^R01 or
MDM^T02 up to ten minutes before or after. Every twentieth visit has no text, every thirtieth is of a clinic. A01 or A03 is the
outcome; one that was wrong is taken back by A11 or A13. Every message is sent again with a chance of 2 %.
"""
import collections
import datetime
import gzip
import json
import os
import random
import sys

notes, outcomes, folder = sys.argv[1:4]
r = random.Random(14)
LOINC = {"age": "21612-7", "acuity": "11283-9", "sbp": "8480-6", "dbp": "8462-4", "hr": "8867-4", "rr": "9279-1",
         "temp_c": "8310-5", "spo2": "59408-5"}
UNIT = {"age": "a", "temp_c": "Cel", "spo2": "%", "sbp": "mm[Hg]", "dbp": "mm[Hg]", "hr": "/min", "rr": "/min"}
CODE = {"discharged": "01", "transferred": "02", "left": "07", "died": "20"}
days, sent = collections.defaultdict(list), 0


def quote(s):
    return s.translate(str.maketrans({"\\": "\\E\\", "|": "\\F\\", "^": "\\S\\", "~": "\\R\\", "&": "\\T\\"}))


def send(n, at, kind, obx=(), klass="E", disposition="", extra=()):
    global sent
    sent += 1
    event, stamp = kind.split("^")[1], at.strftime("%Y%m%d%H%M%S+0000")
    pv1 = [""] * 44
    pv1[0], pv1[1], pv1[2], pv1[18], pv1[35] = "1", klass, "ED", "VISIT-" + n["visit_id"], disposition
    pv1[43] = n["arrived_at"].translate(str.maketrans("", "", "-:TZ")) + "+0000"
    lines = [f"MSH|^~\\&|TRIAGE|GENERAL|WARDCAST|ED|{stamp}||{kind}|M{sent}|P|2.5.1||||||UNICODE UTF-8",
             f"EVN|{event}|{stamp}", f"PID|1||MRN-{n['patient_id']}^^^^MR||Name^Any||||{n['sex']}",
             "PV1|" + "|".join(pv1), *extra]
    for i, (code, value, unit) in enumerate(obx):
        lines.append(f"OBX|{i + 1}|{'NM' if unit else 'TX'}|{code}^^LN||{quote(str(value))}|{unit}|||||F")
    for _ in range(2 if r.random() < .02 else 1):
        days[at.date()].append((at, "\r".join(lines) + "\r"))


ends = collections.defaultdict(list)
for line in open(outcomes):
    o = json.loads(line)
    ends[o["visit_id"]].append(o)
for i, line in enumerate(open(notes)):
    n = json.loads(line)
    at = datetime.datetime.fromisoformat(n["arrived_at"]) + datetime.timedelta(minutes=12)
    klass = "O" if i % 30 == 0 else "E"
    values = {"age": n.get("age"), "acuity": n.get("acuity"), **n.get("vitals", {})}
    obx = [("8661-1", n["complaint"], "")]
    obx += [(LOINC[k], v, UNIT.get(k, "1")) for k, v in values.items() if v is not None]
    text, near = ("54094-8", n["text"], ""), at + datetime.timedelta(minutes=r.uniform(-10, 10))
    how = 0 if i % 20 == 0 else r.choice((1, 1, 2, 3))
    send(n, at, "ADT^A04", obx + [text] * (how == 1), klass)
    if how == 2:
        send(n, near, "ORU^R01", [text], klass, extra=["OBR|1|||54094-8^^LN"])
    if how == 3:
        send(n, near, "MDM^T02", [text], klass, extra=["TXA|1|54094-8|TX"])
    before = None
    for o in ends[n["visit_id"]]:
        when = datetime.datetime.fromisoformat(o["recorded_at"])
        if before:
            send(n, when, "ADT^A11" if before == "admitted" else "ADT^A13", klass=klass)
        before = None if o.get("status") == "cancelled" else o["disposition"]
        if before == "admitted":
            send(n, when, "ADT^A01", klass="I")
        elif before:
            send(n, when, "ADT^A03", klass=klass, disposition=CODE[before])
os.makedirs(folder)
for day, all_ in days.items():
    with gzip.open(f"{folder}/{day}.hl7.gz", "wt", newline="") as f:
        f.write("FHS|^~\\&|TRIAGE\rBHS|^~\\&|TRIAGE\r")
        f.write("".join(m for _, m in sorted(all_)) + f"BTS|{len(all_)}\rFTS|1\r")
print(sum(map(len, days.values())), "messages in", len(days), "files")
