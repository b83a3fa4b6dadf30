"""Counts in the explanations of all held-out notes what no clinician would call a reason.

    python3 docs/scripts/style_share.py ./wardcast neiss_strict.csv 2020-01-01
    python3 docs/scripts/style_share.py ./wardcast vaers_strict.csv 1996-01-01

The model learns from the notes before the date. It prints the share of words that are no finding among the three
largest parts of each explanation ("other words" is one part), the parts of nothing but function words, the share of
denied parts that add more than .1 to the logit, and by how much the sum of all parts misses the logit at most.
"""
import re
import sys
import tempfile

import trial

# A list of its own, so that the program does not judge itself by its own one.
FUNCTION = set("""a an the this that these those some any each it its he she him her his they them their we our i my me
who which what there here and or but nor so then than as if because although while when where until also too of to in
on at by for from with into onto about against between through during before after since toward towards per via is are
was were be been being am do does did done have has had having will would can could may might must just very quite
pt pts patient states stated reports reported says said noted presents presented developed develops attempted tried
began started became got gets went goes came brought given using used approximately possibly subsequently later
left right lt rt bilateral january february april june july august september october november december""".split())

program, path, until = sys.argv[1:4]
rows, test = trial.splits(path, until)[0]
top = style = alone = denied = raising = 0
worst = 0.0
with tempfile.TemporaryDirectory() as folder:
    trial.train(program, rows, folder, sys.argv[4:])
    for row, said in zip(test, trial.predict(program, test, folder, ["--evidence", "1000"])):
        total = said["intercept"] + sum(e["contribution"] for e in said["evidence"] + said["aux"])
        worst = max(worst, abs(total - said["logit"]))
        parts = []
        for e in said["evidence"]:
            words = re.findall(r"[a-z0-9']+", row["text"][e["start"]:e["end"]].lower()) if "start" in e else []
            empty = bool(words) and FUNCTION.issuperset(words)
            alone += empty
            if e["contribution"]:
                parts.append((abs(e["contribution"]), empty or e.get("other") == "words"))
            if e.get("status") == "negated":
                denied += 1
                raising += e["contribution"] > .1
        for _, no_finding in sorted(parts, reverse=True)[:3]:
            top += 1
            style += no_finding
print(f"{len(test)} notes: {style} of {top} largest parts are style ({style / top:.1%}); {alone} parts are style alone; "
      f"{raising} of {denied} denied parts raise the logit by over .1 ({raising / max(denied, 1):.1%}); "
      f"sums miss by {worst:.0e} at most")
