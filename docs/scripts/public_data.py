"""Writes neiss.csv, vaers.csv, ktas.csv, neiss_strict.csv and vaers_strict.csv, the tables behind docs/results.md, from
the public files.

    python3 docs/scripts/public_data.py neiss_2017_2020.csv vaers_er_1990_1996.csv ktas_75.csv

Words that give the outcome away are removed. A NEISS narrative is cut at "DX": diagnosis and disposition are written
after triage. The strict tables lack the whole clause of such a word, since the gap that a word leaves tells of it too,
and the whole diagnosis, also where it has no colon or follows ten letters of text.
"""
import csv
import itertools
import re
import sys

HEADER = ["visit_id", "arrived_at", "complaint", "text", "age", "sex", "label"]


def cut(path, out, text, columns, giveaway, until=None):
    pattern = re.compile(giveaway, re.I)
    with open(path, errors="replace") as source, open(out, "w", newline="") as target:
        table = csv.writer(target)
        table.writerow(HEADER)
        for row in csv.DictReader(source):
            note = row[text]
            end = note.upper().find(until) if until else -1
            note = pattern.sub(" ", note[:end] if end > 10 else note)
            visit, arrived, complaint, age, sex, label = columns(row)
            table.writerow([visit, arrived, complaint, note, age, sex, label])


OUTCOME = re.compile(r"\b(adm\w*|hos|hosp\w*|disch\w*|transf\w*|xfer\w*|died|dead|death|deceased|expired|[np]?icu|"
                     r"inpatient|doa)\b", re.I)
# A clause ends with . ; , or the line, but not at the point or comma of a number.
CLAUSE = re.compile(r"(?:[^.,;\n]|[.,](?=\d))*[.,;\n]?")


def strict(note):
    """The note without the clauses that hold a word of the outcome."""
    note = re.sub(r"\b(hosp?|admi?n?|disch|transf|xfer)\.", r"\1", note, flags=re.I)  # hosp. is no end of a clause
    return "".join(clause for clause in CLAUSE.findall(note) if not OUTCOME.search(clause))


def cut_strictly(path, out, text, columns, until=None):
    with open(path, errors="replace") as source, open(out, "w", newline="") as target:
        table = csv.writer(target)
        table.writerow(HEADER)
        for row in csv.DictReader(source):
            note = strict(re.split(until, row[text], flags=re.I)[0] if until else row[text])
            if re.search(r"\w\w", note):
                visit, arrived, complaint, age, sex, label = columns(row)
                table.writerow([visit, arrived, complaint, note, age, sex, label])


def neiss(row):
    return ["v" + row["CPSC_Case_Number"], row["Treatment_Date"], row["Body_Part"].lower(),
            row["Age"] or 0, row["Sex"][:1], row["admit"]]


def vaers(row):
    return [row["VAERS_ID"], row["RECVDATE"], "", row["AGE_YRS"], row["SEX"], row["hosp"]]


cut(sys.argv[1], "neiss.csv", "Narrative", neiss,
    r"\b(ADM\w*|HOSP\w*|DISCH\w*|TRANSF\w*|DIED|DECEASED|EXPIRED|ICU)\b", "DX")
cut(sys.argv[2], "vaers.csv", "SYMPTOM_TEXT", vaers, r"\b(hosp\w*|admit\w*|admis\w*|discharg\w*)\b")
visits = itertools.count()
cut(sys.argv[3], "ktas.csv", "Chief_complain", lambda row: [f"k{next(visits)}", "2017-01-01", "", row["Age"], row["Sex"],
                                                            row["admit"]], r"(?!)")
cut_strictly(sys.argv[1], "neiss_strict.csv", "Narrative", neiss, "DX|DIAGNOS|IMPRESSION")
cut_strictly(sys.argv[2], "vaers_strict.csv", "SYMPTOM_TEXT", vaers)
