"""Sixty nights of a simulated hospital: what the gate does, what it should have done, and what that costs.

    python3 docs/scripts/sixty_nights.py ./wardcast folder [seed]

The hospital sees 120 patients a day. Every night `wardcast retrain` learns from the last 30 days. The generator knows the
true probability q of every admission, so the expected log loss of a prediction p, -q ln p - (1-q) ln(1-p), is known
without the noise of outcomes. It is taken on 1,200 other patients of the next day, and told as what it is above that of
q itself. The folder gets nights.json, from which a second run draws alone, and nights.svg. The table goes to standard
output.
"""
import collections
import datetime
import json
import math
import os
import shutil
import subprocess
import sys

HISTORY, NIGHTS, PER_DAY, SAMPLE = 30, 60, 120, 1200
SHIFT, INTERFACE, BAD_NIGHT, BAD_DAY = 7, 22, 36, 48  # the first nights that see them
START = datetime.datetime(2026, 1, 1)
REDIRECTED = 14  # days of outcomes that the bad night assigns to wrong visits

program, folder = os.path.abspath(sys.argv[1]), sys.argv[2]
seed = int(sys.argv[3]) if len(sys.argv) > 3 else 1


def midnight(night):
    return START + datetime.timedelta(days=HISTORY + night)


def stamp(time):
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def run(*args, accept=(0,), **options):
    r = subprocess.run([program, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if r.returncode not in accept:
        sys.exit(f"{args}: exit {r.returncode}\n{r.stderr}")
    return r


def generate(seed, per_day, days, outcomes=None):
    """The notes of so many days, after the interface has changed them; outcomes is a file to write."""
    flags = ["--outcomes", outcomes, "--label-delay", "12h", "--revised", .05, "--bad-labels", f"{midnight(BAD_DAY - 1):%F}"] if outcomes else []
    lines = run("synth", "notes", "--seed", seed, "--count", days * per_day, "--start", f"{START:%F}", "--interval", f"{86400 // per_day}s",
                "--base-rate", .2, "--wording", .3, "--shift=-1", "--shift-from", f"{midnight(SHIFT - 1):%F}",
                "--new-template", f"{midnight(INTERFACE - 1):%F}", *flags).stdout.splitlines()
    notes = []
    for line in lines:
        note = json.loads(line)
        if note["arrived_at"] >= stamp(midnight(INTERFACE - 1)):  # the new interface codes the sex and sends no vital signs
            note["sex"] = {"M": "1", "F": "2"}[note["sex"]]
            note.pop("vitals", None)
        notes.append(note)
    return notes


def bad_night(notes, path):
    """Before one night a faulty job sends the outcomes of two weeks again, each for the next visit; the next noon mends it."""
    begin, end = stamp(midnight(BAD_NIGHT - REDIRECTED)), stamp(midnight(BAD_NIGHT))
    known = {}
    for line in open(path):
        event = json.loads(line)
        if event["recorded_at"] < end and event.get("status") != "cancelled":
            known[event["visit_id"]] = event
    visits = [known[n["visit_id"]] for n in notes if begin <= n["arrived_at"] < end and n["visit_id"] in known]
    with open(path, "a") as f:
        for when, step in ((midnight(BAD_NIGHT) - datetime.timedelta(hours=1), 1), (midnight(BAD_NIGHT) + datetime.timedelta(hours=12), 0)):
            for i, event in enumerate(visits):
                other = visits[(i + step) % len(visits)]
                f.write(json.dumps({**event, "disposition": other["disposition"], "status": "corrected", "recorded_at": stamp(when)}) + "\n")


def predict(store, text):
    return [json.loads(line)["probability"] for line in run("predict", "--model-dir", store, input=text).stdout.splitlines()]


def other_champion(store, generation, copy):
    """A copy of a store that serves another generation. Files are links: the store replaces files and never changes them."""
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(store, copy, copy_function=os.link)
    run("models", "promote", generation, "--model-dir", copy, "--why", "to compare", accept=(0, 1))  # 1: it is served
    return copy


def above(truth, p):
    """Mean expected log loss of p above that of the truth."""
    return sum(q * math.log(q / x) + (1 - q) * math.log((1 - q) / (1 - x)) for q, x in zip(truth, p)) / len(p)


def recalibrated(p, intercept, slope):
    return [1 / (1 + math.exp(-intercept - slope * math.log(x / (1 - x)))) for x in p]


def simulate():
    os.makedirs(folder)  # a store that another run still writes to would be no store of this run
    notes_file, outcomes_file, store, copy = (os.path.join(folder, name) for name in ("notes.jsonl", "outcomes.jsonl", "models", "copy"))
    notes = generate(seed, PER_DAY, HISTORY + NIGHTS, outcomes_file)
    bad_night(notes, outcomes_file)
    with open(notes_file, "w") as f:
        for note in notes:
            f.write(json.dumps({k: v for k, v in note.items() if k not in ("label", "true_probability")}) + "\n")
    sample = generate(seed + 1000, SAMPLE, HISTORY + NIGHTS + 1)
    nights = []
    for night in range(NIGHTS + 1):
        day = sample[(HISTORY + night) * SAMPLE:(HISTORY + night + 1) * SAMPLE]
        text, truth = "".join(json.dumps(n) + "\n" for n in day), [n["true_probability"] for n in day]
        before = predict(store, text) if night else None
        r = run("retrain", "--notes", notes_file, "--outcomes", outcomes_file, "--model-dir", store, "--as-of", stamp(midnight(night)),
                "--window-days", HISTORY, "--output=json", accept=(0, 3))
        result = json.loads(r.stdout)
        if not night:
            first = result["generation"]
            continue
        challenger = predict(other_champion(store, result["generation"], copy), text)
        never = predict(other_champion(store, first, copy), text)
        version = next(m["version"] for m in result["promoted"] + result["refused"] if m["model"] == "_other")
        figures = json.load(open(os.path.join(store, "_other", version, "evaluation.json")))["verdict"]["figures"]
        row = {"night": night, "decision": "promote" if result["promoted"] else "recalibrate" if result["recalibrated"] else "refuse",
               "reason": result["reason"], "truth": sum(-q * math.log(q) - (1 - q) * math.log(1 - q) for q in truth) / len(truth),
               "refuse": above(truth, before), "promote": above(truth, challenger), "served": above(truth, predict(store, text)), "never": above(truth, never)}
        if "recalibrated" in figures:
            fit = figures["recalibrated"]
            row["recalibrate"] = above(truth, recalibrated(before, fit["intercept"], fit["slope"]))
        row["best"] = min(("refuse", "promote", "recalibrate"), key=lambda d: row.get(d, math.inf))
        nights.append(row)
        print(json.dumps({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items() if k != "reason"}), file=sys.stderr, flush=True)
    json.dump(nights, open(os.path.join(folder, "nights.json"), "w"), indent=1)


# First night, and what was built in since the phase before.
PHASES = [(1, "drift of admissions and words"), (SHIFT, "a ward has closed"), (INTERFACE, "another interface"),
          (BAD_NIGHT, "two weeks of outcomes redirected"), (BAD_NIGHT + 1, "mended"), (BAD_DAY, "a day of wrong outcomes, for good"), (NIGHTS + 1, "")]
DECISIONS = ("promote", "recalibrate", "refuse")
CLOSE = .001  # a decision this close to the best one is no error


def table(nights):
    print("| nights | built in | promoted, recalibrated, refused | best | wrong | never | always | gate | best each night |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- | --- |")
    spans = [(a, b - 1, what) for (a, what), (b, _) in zip(PHASES, PHASES[1:])] + [(1, NIGHTS, "all")]
    for first, last, what in spans:
        rows = nights[first - 1:last]
        counts = lambda key: ", ".join(str(collections.Counter(r[key] for r in rows)[d]) for d in DECISIONS)
        best = [min(r.get(d, math.inf) for d in DECISIONS) for r in rows]
        mean = lambda values: f"{sum(values) / len(rows):.4f}"
        print(f"| {first}–{last} | {what} | {counts('decision')} | {counts('best')} | {sum(r['served'] - b > CLOSE for r, b in zip(rows, best))} | "
              f"{mean([r['never'] for r in rows])} | {mean([r['promote'] for r in rows])} | {mean([r['served'] for r in rows])} | {mean(best)} |")


def plot(nights):
    """The log loss above the truth of three ways to live, and the gate's decisions below."""
    left, top, width, height, low, high = 56, 66, 640, 240, .03, .08
    x = lambda night: left + (night - 1) * width / (NIGHTS - 1)
    y = lambda loss: top + height * (high - min(loss, high)) / (high - low)
    out = [f'''<svg xmlns="http://www.w3.org/2000/svg" width="820" height="384" viewBox="0 0 820 384" role="img">
<title>Log loss above that of the true probabilities, night by night</title>
<style>
text {{ fill: #1f2328; font: 12px "Liberation Sans", Arial, sans-serif }} .soft {{ fill: #57606a }}
path, line {{ fill: none; stroke-width: 1.8 }} .grid {{ stroke: #d0d7de; stroke-width: 1 }} .event {{ stroke: #57606a; stroke-width: 1; stroke-dasharray: 3 3 }}
path.never {{ stroke: #8c959f; stroke-dasharray: 6 3 }} path.promote {{ stroke: #b35900; stroke-width: 1.4 }} path.served {{ stroke: #0a4a9e; stroke-width: 2.4 }} .mark {{ fill: #0a4a9e; stroke: none }} text.never {{ fill: #57606a }} text.promote {{ fill: #b35900 }} text.served {{ fill: #0a4a9e; font-weight: bold }} text {{ stroke: none }} .tick {{ stroke: #8c959f }}
@media (prefers-color-scheme: dark) {{ text {{ fill: #e6edf3 }} .soft {{ fill: #9aa4af }} .grid {{ stroke: #30363d }} .event {{ stroke: #9aa4af }} path.promote {{ stroke: #e0a35a }} path.served {{ stroke: #8ab8ff }} .mark {{ fill: #8ab8ff }} text.never {{ fill: #9aa4af }} text.promote {{ fill: #e0a35a }} text.served {{ fill: #8ab8ff }} }}
</style>''']
    out.append(f'<text x="{left - 40}" y="20">Expected log loss above that of the true probabilities</text>')
    for loss in (.03, .04, .05, .06, .07, .08):
        out.append(f'<line class="grid" x1="{left}" x2="{left + width}" y1="{y(loss):.1f}" y2="{y(loss):.1f}"/>'
                   f'<text class="soft" x="{left - 8}" y="{y(loss) + 4:.1f}" text-anchor="end">{loss:.2f}</text>')
    for night in range(10, NIGHTS + 1, 10):
        out.append(f'<text class="soft" x="{x(night):.1f}" y="{top + height + 46}" text-anchor="middle">{night}</text>')
    for night, what in ((SHIFT, "a ward closes"), (INTERFACE, "interface"), (BAD_NIGHT, "bad night"), (BAD_DAY, "bad day")):
        out.append(f'<line class="event" x1="{x(night):.1f}" x2="{x(night):.1f}" y1="{top - 6}" y2="{top + height}"/>'
                   f'<text class="soft" x="{x(night):.1f}" y="{top - 12}" text-anchor="middle">{what}</text>')
    ends = {}
    for key, name in (("never", "never retrained"), ("promote", "always promoted"), ("served", "the gate")):
        points = " L".join(f"{x(r['night']):.1f} {y(r[key]):.1f}" for r in nights)
        out.append(f'<path class="{key}" d="M{points}"/>')
        at = y(nights[-1][key]) + 4
        while any(abs(at - other) < 15 for other in ends.values()):
            at += 1
        ends[name] = at
        out.append(f'<text class="{key}" x="{left + width + 8}" y="{at:.1f}">{name}</text>')
    base = top + height + 18
    for r in nights:
        at = x(r["night"])
        out.append({"promote": f'<path class="mark" d="M{at - 4.5:.1f} {base + 4} h9 l-4.5 -9 z"/>',
                    "recalibrate": f'<circle class="mark" cx="{at:.1f}" cy="{base}" r="4.5"/>',
                    "refuse": f'<line class="tick" x1="{at:.1f}" x2="{at:.1f}" y1="{base - 4}" y2="{base + 4}"/>'}[r["decision"]])
    out.append(f'<text class="soft" x="{left}" y="{top + height + 70}">Night. Marks: what the gate did, ▲ promoted, ● recalibrated, | refused.</text>\n</svg>')
    open(os.path.join(folder, "nights.svg"), "w").write("\n".join(out) + "\n")


result = os.path.join(folder, "nights.json")
if not os.path.exists(result):
    simulate()
nights = json.load(open(result))
table(nights)
plot(nights)
