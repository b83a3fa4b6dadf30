#!/usr/bin/env python3
"""KTAS with the fields that a triage desk records: AUROC and log loss over repeated 5 folds, beside scikit-learn and LightGBM.

  python3 docs/scripts/desk_fields.py ./wardcast ktas_75.csv [repetitions]
"""
import collections, csv, os, re, subprocess, sys, tempfile, warnings

import lightgbm
import numpy as np
import scipy.sparse as sp
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer, StandardScaler

warnings.filterwarnings("ignore")

DESK = {
    "Age": "age:numeric", "Systolic BP": "vitals.sbp:numeric", "Diastolic BP": "vitals.dbp:numeric",
    "Heart Rate": "vitals.hr:numeric", "Respiratory Rate": "vitals.rr:numeric", "Body Temperature": "vitals.temp_c:numeric",
    "KTAS_Nurse": "acuity:numeric", "Sex": "sex:categorical",
}
ALL = {
    **DESK, "Patients number per hour": "patients_per_hour:numeric", "Arrival mode": "arrival_mode:categorical",
    "Mental": "mental_state:categorical", "Injury": "injury:categorical", "Pain": "in_pain:categorical",
    "Group": "department:categorical",
}
ACUITY = {"Emergency": "3", "Non-Emergency": "4"}


def number(s):
    return float(s) if re.fullmatch(r"-?[0-9.]+", s or "") else np.nan


def peers(train, test, y, columns):
    numeric = [c for c, field in columns.items() if field.endswith("numeric")]
    named = [c for c in columns if c not in numeric]

    def table(rows):
        return np.array([[number(r[c]) for c in numeric] + [r[c] for c in named] for r in rows], dtype=object)

    words, n = TfidfVectorizer(min_df=2, sublinear_tf=True), len(numeric)
    w = words.fit_transform([r["Chief_complain"] for r in train])
    v = words.transform([r["Chief_complain"] for r in test])
    for name, shape in (
        ("logistic regression", StandardScaler()),
        ("with cubic splines", SplineTransformer(5, degree=3, knots="quantile")),
    ):
        fields = ColumnTransformer([
            ("n", make_pipeline(SimpleImputer(strategy="median"), shape), list(range(n))),
            ("c", OneHotEncoder(handle_unknown="ignore"), list(range(n, n + len(named)))),
        ])
        x = sp.hstack([fields.fit_transform(table(train)), w]).tocsr()
        z = sp.hstack([fields.transform(table(test)), v]).tocsr()
        m = LogisticRegressionCV(Cs=[.03, .1, .3, 1, 3], cv=3, scoring="neg_log_loss", solver="liblinear")
        yield name, m.fit(x, y).predict_proba(z)[:, 1]
        if name == "logistic regression":
            m = lightgbm.LGBMClassifier(
                n_estimators=150, learning_rate=.03, num_leaves=8, colsample_bytree=.4, subsample=.8, subsample_freq=1,
                n_jobs=1, verbose=-1)
            yield "LightGBM", m.fit(x.astype(np.float32), y).predict_proba(z.astype(np.float32))[:, 1]


def wardcast(program, train, test, columns):
    with tempfile.TemporaryDirectory() as d:
        for name, rows in (("train", train), ("test", test)):
            with open(f"{d}/{name}.csv", "w", newline="") as f:
                w = csv.writer(f)
                w.writerow(["visit_id", "text", *[field.split(":")[0] for field in columns.values()], "label"])
                for i, r in enumerate(rows):
                    values = [r[c] if field.endswith("categorical") or number(r[c]) == number(r[c]) else ""
                              for c, field in columns.items()]
                    w.writerow([i, r["Chief_complain"], *values, r["admit"]])
        subprocess.run([program, "train", "--input", d + "/train.csv", "--model-dir", d + "/models", "--aux-columns",
                        ",".join(columns.values())], check=True, capture_output=True)
        subprocess.run([program, "predict", "--model-dir", d + "/models", "--input", d + "/test.csv", "--out",
                        d + "/out.csv"], check=True, capture_output=True)
        return np.array([float(r["probability"]) for r in csv.DictReader(open(d + "/out.csv"))])


program, path, repetitions = os.path.abspath(sys.argv[1]), sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 2
rows = [r for r in csv.DictReader(open(path)) if re.search(r"\w\w", r["Chief_complain"])]
for r in rows:
    r["KTAS_Nurse"] = ACUITY.get(r["KTAS_Nurse"], "")
y = np.array([int(r["admit"]) for r in rows])
for what, columns in (("desk", DESK), ("all", ALL)):
    got = collections.defaultdict(list)
    for seed in range(repetitions):
        for a, b in StratifiedKFold(5, shuffle=True, random_state=seed).split(rows, y):
            train, test = [rows[i] for i in a], [rows[i] for i in b]
            for name, p in [*peers(train, test, y[a], columns), ("wardcast", wardcast(program, train, test, columns))]:
                got[name].append((roc_auc_score(y[b], p), log_loss(y[b], np.clip(p, 1e-6, 1 - 1e-6))))
    for name, v in got.items():
        print(what, name, *(f"{m:.4f}" for m in np.mean(v, axis=0)), sep="\t", flush=True)
