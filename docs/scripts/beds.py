"""Holds the forecasts of beds against those of patientflow, on the same simulated hospitals and at the same moments.

    pip install patientflow==1.8.7 xgboost
    WARDCAST_BEDS_OUT=out WARDCAST_BEDS_SEEDS=10 go test ./classifier/beds/trial -run '^$' -bench Trial -benchtime 1x
    python3 docs/scripts/beds.py out 10

The forecasts of patientflow for a hospital are written to out/patientflow-SEED.csv when they are done, and read from there the
next time.

patientflow is used as its documentation shows: a classifier for each clock time with the time waited among its features,
trained on who waits at that time; the empirical curve of the times of the admitted for the window; arrivals by weekday with
the same curve; its aggregation of probabilities, which is a normal approximation above 30 patients. The classifier is
XGBoost's with 100 trees of depth 3 on the same score that wardcast has. Wards are shares by complaint, PAED for children.
Two ways: fitted once on the first 331 days, and again before each 28 days of the test. "max_value" is set, since its default
cuts off the distribution of the coming at 20.

Differences of the CRPS have 95 % intervals by blocks of seven days.
"""
import os
import sys
import warnings
from datetime import timedelta

import numpy as np
import pandas as pd
from patientflow.aggregate import pred_proba_to_agg_predicted
from patientflow.calculate.admission_in_prediction_window import get_survival_probability
from patientflow.calculate.survival_curve import calculate_survival_curve
from patientflow.predictors.incoming_admission_predictors import EmpiricalIncomingAdmissionPredictor, IncomingAdmissionPredictor
from xgboost import XGBClassifier

FIT_DAYS, TEST_FROM, REFIT = 331, 401, 28
CHANGE = 29  # days of the test before fewer are admitted
CLOCKS = [8, 14, 22]
HORIZONS = [4, 8, 24]
WARDS = ["CARD", "ICU", "MED", "ORTHO", "PAED", "SURG"]
OTHERS = ["wardcast", "same-hour average", "last week"]
FEATURES = ["waited", "score", "age", "complaint_code", "hour"]
SLICE = timedelta(minutes=15)


def waiting_at(visits, at):
    """Returns who waits, with what the classifier reads."""
    recent = visits[(visits.arrived <= at) & (visits.arrived > at - timedelta(hours=24))]
    waiting = recent[recent.decided > at].copy()
    waiting["waited"] = (at - waiting.arrived).dt.total_seconds() / 3600
    waiting["hour"] = waiting.arrived.dt.hour
    return waiting


class Patientflow:
    """What is fitted to the visits decided before a day."""

    def __init__(self, visits, start, days):
        end = start + timedelta(days=days)
        known = visits[visits.decided < end]
        admitted = known[known.admitted]
        whole_minutes = admitted.assign(decided=admitted.arrived + (admitted.decided - admitted.arrived).dt.ceil("min"))
        self.curve = calculate_survival_curve(whole_minutes, start_time_col="arrived", end_time_col="decided")
        self.classifiers = {}
        for clock in CLOCKS:
            snapshots = pd.concat([waiting_at(visits, start + timedelta(days=d, hours=clock)) for d in range(1, days - 2)])
            model = XGBClassifier(n_estimators=100, max_depth=3, learning_rate=0.1, n_jobs=1, random_state=0)
            self.classifiers[clock] = model.fit(snapshots[FEATURES], snapshots.admitted)
        shares = pd.crosstab(admitted[admitted.age >= 16].complaint_code, admitted[admitted.age >= 16].ward, normalize="index")
        self.shares = shares.reindex(columns=WARDS, fill_value=0)
        frame = admitted.rename(columns={"arrived": "arrival_datetime", "decided": "departure_datetime"})
        self.coming, self.predicted = {}, {}
        for ward in ["_all"] + WARDS:
            one = frame if ward == "_all" else frame[frame.ward == ward]
            self.coming[ward] = EmpiricalIncomingAdmissionPredictor()
            self.coming[ward].survival_df = self.curve  # of all wards: one ward alone has few
            # The arrival rates alone, since its own fit would take minutes for the same curve.
            IncomingAdmissionPredictor.fit(self.coming[ward], one.set_index("arrival_datetime")[["departure_datetime"]],
                                           yta_time_interval=SLICE, num_days=days, stratify_by_weekday=True)

    def ward_share(self, waiting, ward):
        if ward == "_all":
            return np.ones(len(waiting))
        child = (waiting.age < 16).to_numpy()
        adults = self.shares[ward].reindex(waiting.complaint_code, fill_value=0).to_numpy()
        return np.where(child, float(ward == "PAED"), adults)

    def forecast(self, waiting, at, clock, horizon):
        """Returns the distribution of each ward and component."""
        p = self.classifiers[clock].predict_proba(waiting[FEATURES])[:, 1]
        now = np.array([get_survival_probability(self.curve, w) for w in waiting.waited])
        then = np.array([get_survival_probability(self.curve, w + horizon) for w in waiting.waited])
        within = np.where(now > 0, (now - then) / np.maximum(now, 1e-12), 0)
        later = self.arriving(at, clock, horizon)
        for ward in ["_all"] + WARDS:
            q = pd.DataFrame({"pred_proba": p * within * self.ward_share(waiting, ward)})
            here = pred_proba_to_agg_predicted(q)["agg_proba"].to_numpy()
            yield ward, {"waiting": here, "coming": later[ward], "total": np.convolve(here, later[ward])}

    def arriving(self, at, clock, horizon):
        """Returns the distribution of the coming of each ward, which depends on the weekday, the clock and the window alone."""
        key = at.weekday(), clock, horizon
        if key not in self.predicted:
            self.predicted[key] = {ward: coming.predict(
                prediction_time=(clock, 0), prediction_window=timedelta(hours=horizon), prediction_date=at.date(),
                filter_keys="unfiltered", max_value=150)["unfiltered"]["agg_proba"].to_numpy() for ward, coming in self.coming.items()}
        return self.predicted[key]


def observed(visits, at, horizon, ward):
    end = at + timedelta(hours=horizon)
    came = visits[visits.admitted & (visits.decided > at) & (visits.decided <= end)]
    if ward != "_all":
        came = came[came.ward == ward]
    waiting = int((came.arrived <= at).sum())
    return {"waiting": waiting, "coming": len(came) - waiting, "total": len(came)}


def score(pmf, y):
    """Returns error of the mean, CRPS, PIT mass in [.1, .9], closed coverage and width, as wardcast's beds.Score."""
    n = max(len(pmf), y + 1)
    pmf = np.pad(pmf, (0, n - len(pmf)))
    cdf = np.cumsum(pmf)
    below, upto = (cdf[y - 1] if y else 0.0), cdf[y]
    mass = max(0.0, min(upto, 0.9) - max(below, 0.1)) / (upto - below) if upto > below else float(0.1 <= below <= 0.9)
    low, high = (int(np.argmax(cdf >= a - 1e-12)) for a in (0.1, 0.9))
    return {"error": float(np.dot(np.arange(n), pmf)) - y, "crps": float(np.sum((cdf - (np.arange(n) >= y)) ** 2)), "pit": mass,
            "covered": low <= y <= high, "width": high - low}


def hospital(folder, seed):
    """Returns a row for each forecast of patientflow, and of wardcast and simple averages at the same moments."""
    done = f"{folder}/patientflow-{seed}.csv"
    if not os.path.exists(done):
        run(folder, seed).to_csv(done + ".part", index=False)
        os.rename(done + ".part", done)
        print(f"hospital {seed} is done", file=sys.stderr, flush=True)
    theirs = pd.read_csv(done, parse_dates=["at"])
    ours = pd.read_csv(f"{folder}/forecasts-{seed}.csv")
    ours = ours[ours.method.isin(OTHERS)].copy()
    ours["at"] = pd.to_datetime(ours["at"]).dt.tz_localize(None)
    ours = ours[ours["at"].isin(theirs["at"].unique())].drop_duplicates(["method", "component", "ward", "horizon_hours", "at"])
    below, upto = ours.pit_below, ours.pit
    mass = (np.minimum(upto, 0.9) - np.maximum(below, 0.1)).clip(lower=0) / (upto - below).where(upto > below, 1)
    ours = ours.assign(seed=seed, error=ours["mean"] - ours.y, covered=ours.covered80, width=ours.width80,
                       pit=mass.where(upto > below, below.between(0.1, 0.9).astype(float)), horizon=ours.horizon_hours.astype(int))
    return pd.concat([theirs, ours[theirs.columns]])


def run(folder, seed):
    """Returns a row for each forecast of patientflow."""
    visits = pd.read_csv(f"{folder}/visits-{seed}.csv", keep_default_na=False)
    for column in ("arrived", "decided"):
        visits[column] = pd.to_datetime(visits[column]).dt.tz_localize(None)
    visits["complaint_code"] = visits.complaint.astype("category").cat.codes
    start, rows = visits.arrived.min().normalize(), []
    once, monthly = Patientflow(visits, start, FIT_DAYS), None
    last = (visits.arrived.max().normalize() - start).days
    for day in range(TEST_FROM, last):
        if (day - TEST_FROM) % REFIT == 0:
            monthly = Patientflow(visits, start, day)
        for clock in CLOCKS:
            at = start + timedelta(days=day, hours=clock)
            waiting = waiting_at(visits, at)
            for horizon in HORIZONS:
                counts = {ward: observed(visits, at, horizon, ward) for ward in ["_all"] + WARDS}
                for name, model in (("patientflow", once), ("patientflow, monthly", monthly)):
                    for ward, components in model.forecast(waiting, at, clock, horizon):
                        y = counts[ward]
                        for component, pmf in components.items():
                            rows.append({"method": name, "component": component, "ward": ward, "horizon": horizon, "seed": seed,
                                         "day": day - TEST_FROM, "at": at, "y": y[component], **score(pmf, y[component])})
    return pd.DataFrame(rows)


def interval(differences, rng):
    """Returns the mean and its 95 % interval by blocks of seven days; a row of differences for each day, seed after seed."""
    days = [(d.sum(), len(d)) for d in differences]
    sums, counts = np.array(days).T
    means = []
    for _ in range(2000):
        first = rng.integers(0, len(days) - 6, size=len(days) // 7 + 1)
        i = (first[:, None] + np.arange(7)).ravel()[:len(days)]
        means.append(sums[i].sum() / counts[i].sum())
    return sums.sum() / counts.sum(), *np.quantile(means, [0.025, 0.975])


def main():
    folder, seeds = sys.argv[1], int(sys.argv[2])
    warnings.filterwarnings("ignore")
    table = pd.concat([hospital(folder, seed + 1) for seed in range(seeds)])
    table["where"] = np.where(table.ward == "_all", "_all", "wards")
    rng = np.random.default_rng(0)
    compare(table, rng)
    print(f"\nOf the first {CHANGE} days, before fewer are admitted:\n")
    compare(table[table.day < CHANGE], rng)


def compare(table, rng):
    """Prints the measures of all methods, and how the CRPS of wardcast differs."""
    print("| component | hours | ward | method | mean | MAE | CRPS | PIT-80 | closed 80 | width | CRPS: wardcast − this |")
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for (component, horizon, where), cell in table.groupby(["component", "horizon", "where"], sort=False):
        ours = cell[cell.method == "wardcast"].set_index(["ward", "seed", "at"])
        for method in ("wardcast", "patientflow", "patientflow, monthly", "same-hour average", "last week"):
            one = cell[cell.method == method].set_index(["ward", "seed", "at"])
            difference = ""
            if method != "wardcast":
                d = (ours.crps - one.crps).rename("d").to_frame().join(one.day.rename("day")).reset_index()
                m, low, high = interval([g.d.to_numpy() for _, g in d.groupby(["seed", "day"])], rng)
                difference = f"{m:+.3f} [{low:+.3f}, {high:+.3f}]"
            print(f"| {component} | {horizon} | {where} | {method} | {one.y.mean():.1f} | {one.error.abs().mean():.3f} | {one.crps.mean():.3f} | "
                  f"{one.pit.mean():.3f} | {one.covered.mean():.3f} | {one.width.mean():.1f} | {difference} |")


if __name__ == "__main__":
    main()
