"""Scores an archive of notes with the wardcast binary on the workers of Apache Spark.

    spark-submit --master M score.py --notes URI --out URI --model DIR|URL --binary F

Notes are Parquet with the columns of a note (docs/notes.md): text, visit_id, complaint, age, sex, vitals and fields as
structs or as columns such as vitals.hr. Predictions are Parquet, one row for each note: visit_id, probability, decision,
model, version, prediction (the line of `wardcast predict`) and, for a note that cannot be scored, error. docs/scale.md
says when this pays and how to size it.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import threading
from collections import deque

from pyspark import SparkFiles
from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession, functions, types

COLUMNS = "visit_id string, probability double, decision string, model string, version string, prediction string, error string"
BATCH = 2000  # rows of a batch between Spark and Python
GROUPS = ("vitals", "fields")  # structs of a note
STRINGS = ("schema_version", "visit_id", "patient_id", "site", "complaint", "text", "sex")  # whatever the archive has
TIMES = (types.TimestampType, types.TimestampNTZType, types.DateType)  # without a time zone: UTC

# No string of a note can look like these: within JSON its quotes are escaped.
SCORE = re.compile(r'"probability":([^,]+),"threshold":[^,]+,"decision":"([^"]*)"')
MODEL = re.compile(r'"model":\{"name":"([^"]*)","version":"([^"]*)"')


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--notes", required=True, help="Parquet files of notes: a folder or URI")
    p.add_argument("--out", required=True, help="folder or URI for the predictions")
    p.add_argument("--model", required=True, help="model store: a folder, sent to all workers, or the URL of a bucket that they can read")
    p.add_argument("--binary", required=True, help="the wardcast binary for the workers' system")
    p.add_argument("--partition-mib", type=int, default=8, help="most MiB of Parquet in one task (default: 8)")
    p.add_argument("--max-refused-share", type=float, default=0.05, help="largest share of notes without a prediction that is no failure (default: .05)")
    p.add_argument("--overwrite", action="store_true", help="replace --out if it exists")
    p.add_argument("--scored-at", default="", help="time to write into all predictions, or none (default: the time of scoring)")
    return p.parse_args()


def lines(notes):
    """Returns visit_id and the JSON line of each note, as `wardcast predict` reads it from standard input."""
    if "text" not in notes.columns:
        sys.exit("score.py: --notes: there is no column text")
    plain, grouped = [], {g: [] for g in GROUPS}
    for field in notes.schema.fields:
        group, _, name = field.name.partition(".")
        column = functions.col(f"`{field.name}`")
        if isinstance(field.dataType, (types.DoubleType, types.FloatType)):
            column = functions.when(~functions.isnan(column), column)  # NaN is a missing value
        elif isinstance(field.dataType, TIMES):
            # As predict spells the times of a file: without the zeros behind the last digit.
            micros = functions.date_format(column.cast("timestamp"), "yyyy-MM-dd'T'HH:mm:ss.SSSSSSX")
            column = functions.regexp_replace(micros, "[.]?0*Z$", "Z")
        elif field.name in STRINGS:
            column = column.cast("string")
        if name and group in GROUPS:
            grouped[group].append(column.alias(name))
        elif field.name == "text":
            plain.append(functions.coalesce(column, functions.lit("")).alias("text"))
        else:
            plain.append(column.alias(field.name))
    plain += [functions.struct(*columns).alias(group) for group, columns in grouped.items() if columns]
    visit = functions.col("visit_id") if "visit_id" in notes.columns else functions.lit(None)
    line = functions.to_json(functions.struct(*plain))
    return notes.select(visit.cast("string").alias("visit_id"), line.alias("line"))


def scorer(binary, model, scored_at):
    """Returns what answers the batches of one task with the binary, which takes a line and gives one."""

    def score(batches):
        root = SparkFiles.getRootDirectory()
        program = SparkFiles.get(binary)
        store = model if "://" in model else os.path.join(root, "wardcast-model", model)
        command = [program, "predict", "--model-dir", store, "--log-level", "warn"]
        if scored_at:
            command += ["--scored-at", scored_at]
        env = dict(os.environ, GOMAXPROCS="1", GOMEMLIMIT="200MiB")
        with tempfile.TemporaryFile() as errors:
            p = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, env=env)
            visits, failures = deque(), []

            def feed():
                try:
                    for batch in batches:
                        for visit, line in zip(batch.column(0).to_pylist(), batch.column(1).to_pylist()):
                            visits.append(visit)
                            p.stdin.write(line.encode() + b"\n")
                except BaseException as e:  # the thread's, raised below
                    failures.append(e)
                finally:
                    try:
                        p.stdin.close()
                    except OSError:
                        pass  # the binary has ended, and its code says why

            thread = threading.Thread(target=feed, daemon=True)
            thread.start()
            rows = []
            try:
                for line in p.stdout:
                    rows.append(row(visits.popleft(), line[:-1].decode()))
                    if len(rows) == BATCH:
                        yield batch_of(rows)
                        rows = []
                thread.join()
                code = p.wait()
            finally:
                p.kill()
                p.wait()
            if failures and not isinstance(failures[0], BrokenPipeError):
                raise failures[0]
            # 1 says that some notes have an error for a prediction. Anything else is a task to try again.
            if code not in (0, 1) or visits:
                errors.seek(0)
                log = errors.read()[-2000:].decode(errors="replace")
                raise RuntimeError(f"wardcast predict ended with {code} and left {len(visits)} notes without an answer: {log}")
            if rows:
                yield batch_of(rows)

    return score


def batch_of(rows):
    """Returns rows as Spark takes them."""
    import pyarrow  # on the workers alone

    kinds = {"string": pyarrow.string(), "double": pyarrow.float64()}
    columns = [column.split() for column in COLUMNS.split(", ")]
    arrays = [pyarrow.array(values, kinds[kind]) for values, (_, kind) in zip(zip(*rows), columns)]
    return pyarrow.RecordBatch.from_arrays(arrays, [name for name, _ in columns])


def row(visit, line):
    """Returns the columns of a visit and its answer."""
    if line.startswith('{"line":'):
        error = json.loads(line)["error"]
        return visit, None, None, None, None, None, f"{error['code']}: {error['detail']}"
    probability, decision = SCORE.search(line).groups()
    return visit, float(probability), decision, *MODEL.search(line).groups(), line, None


def main():
    a = arguments()
    if not os.path.isfile(a.binary):
        sys.exit(f"score.py: --binary {a.binary}: no such file")
    if "://" not in a.model and not os.path.isdir(a.model):
        sys.exit(f"score.py: --model {a.model}: no such folder")
    spark = (
        SparkSession.builder.appName("wardcast score")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.parquet.binaryAsString", True)  # older writers do not say that a column is text
        .config("spark.sql.files.maxPartitionBytes", a.partition_mib << 20)
        .config("spark.sql.files.openCostInBytes", 0)
        .config("spark.sql.execution.arrow.maxRecordsPerBatch", BATCH)
        .getOrCreate()
    )
    context = spark.sparkContext
    context.addFile(a.binary)
    model = a.model
    with tempfile.TemporaryDirectory() as folder:
        if "://" not in model:
            archive = os.path.join(folder, "model.tar.gz")
            model = "store"
            with tarfile.open(archive, "w:gz", compresslevel=1) as t:
                t.add(a.model, model)
            context.addArchive(archive + "#wardcast-model")
        score = scorer(os.path.basename(a.binary), model, a.scored_at)
        try:
            answers = lines(spark.read.parquet(a.notes)).mapInArrow(score, COLUMNS)
            answers.write.mode("overwrite" if a.overwrite else "errorifexists").parquet(a.out)
        except AnalysisException as e:
            if e.getCondition() == "PATH_ALREADY_EXISTS":
                sys.exit(f"score.py: --out {a.out} exists; --overwrite replaces it")
            if e.getCondition() == "PATH_NOT_FOUND":
                sys.exit(f"score.py: --notes {a.notes}: no such folder or file")
            raise
        # An executor that is new asks for the archive, so it must be there to the end.
        notes, refused = spark.read.parquet(a.out).selectExpr("count(*)", "count(error)").first()
        spark.stop()
    print(f"score.py: {notes} notes, {refused} without a prediction{': column error says why' if refused else ''}")
    if refused > a.max_refused_share * notes:
        sys.exit(f"score.py: more than --max-refused-share {a.max_refused_share} of the notes have no prediction")


if __name__ == "__main__":
    main()
