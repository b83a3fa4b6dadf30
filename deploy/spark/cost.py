"""Measures what score.py costs beside one process of `wardcast predict`, and fits a model of its seconds.

    python cost.py --binary F [--notes 10000,100000,1000000] [--workers 1,2]

It generates notes, and runs the job on local clusters of workers with one core and 700 MiB each. python is that of a
virtual environment with PySpark and pyarrow. Linux only. For each run it prints seconds; CPU seconds of all processes;
CPU for each note more than in the smallest run of its kind, in µs; the most memory of one worker, which is an executor,
its Python and its binary, in MiB; and the seconds by the model, start + µs × notes / workers.
"""

import argparse
import ctypes
import os
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import pyarrow.json
import pyarrow.parquet
import pyspark

SUBREAPER = 36  # of prctl: processes whose parent has ended become children of this one, which can wait for them


def processes():
    """Returns the parent, the command line and the resident MiB of each process."""
    found = {}
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat") as s, open(f"/proc/{pid}/cmdline") as c:
                fields = s.read().rsplit(")", 1)[1].split()
                found[int(pid)] = int(fields[1]), c.read(), int(fields[21]) * os.sysconf("SC_PAGESIZE") >> 20
        except OSError:
            pass  # it has ended
    return found


def largest(found):
    """Returns the MiB of the largest worker, or of the binary where there is none."""
    of = {}
    for pid, (_, _, size) in found.items():
        while pid in found and pid != os.getpid():
            parent, line, _ = found[pid]
            if "CoarseGrainedExecutorBackend" in line and "java" in line.split("\0")[0] or parent == os.getpid():
                of[pid] = of.get(pid, 0) + size
                break
            pid = parent
    workers = {pid: size for pid, size in of.items() if "CoarseGrainedExecutorBackend" in found[pid][1]}
    return max((workers or of).values(), default=0)


def measured(command, env, folder):
    """Returns the seconds, the CPU seconds and the MiB of a command and all below it."""
    peak, done = [0], threading.Event()

    def watch():
        while not done.wait(0.5):
            peak[0] = max(peak[0], largest(processes()))

    watcher, began, cpu, code = threading.Thread(target=watch), time.time(), 0, None
    watcher.start()
    with open(os.path.join(folder, "log"), "w+") as log:
        p = subprocess.Popen(command, env={**os.environ, **env}, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        while True:
            try:
                pid, status, used = os.wait4(-1, 0)
            except ChildProcessError:
                break
            cpu += used.ru_utime + used.ru_stime
            if pid == p.pid:
                seconds, code = time.time() - began, os.waitstatus_to_exitcode(status)
        done.set()
        watcher.join()
        if code:
            log.seek(0)
            sys.exit(f"{command[0]} ended with {code}:\n{log.read()[-3000:]}")
    return seconds, cpu, peak[0]


def main():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--binary", required=True, help="the wardcast binary")
    p.add_argument("--notes", default="10000,100000,1000000", help="numbers of notes (default: %(default)s)")
    p.add_argument("--workers", default="1,2", help="numbers of workers (default: %(default)s)")
    a = p.parse_args()
    binary, here = os.path.abspath(a.binary), os.path.dirname(os.path.abspath(__file__))
    submit = os.path.join(os.path.dirname(pyspark.__file__), "bin", "spark-submit")
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    rows = []
    with tempfile.TemporaryDirectory() as d:
        store, lines = os.path.join(d, "models"), os.path.join(d, "notes.jsonl")
        env = {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": d, "PYSPARK_PYTHON": sys.executable, "TMPDIR": d}
        cluster = "--driver-memory 700m --conf spark.executor.memory=700m --conf spark.driver.host=127.0.0.1"
        cluster += " --conf spark.driver.bindAddress=127.0.0.1 --conf spark.ui.enabled=false"

        def generate(count):
            with open(lines, "w") as out:
                subprocess.run([binary, "synth", "notes", "--count", str(count)], stdout=out, check=True)

        generate(4000)
        quiet = {"check": True, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run([binary, "train", "--input", lines, "--model-dir", store], **quiet)
        for count in map(int, a.notes.split(",")):
            generate(count)
            notes = os.path.join(d, f"{count}.parquet")
            table = pyarrow.json.read_json(lines).drop_columns(["label", "true_probability", "arrived_at"])
            pyarrow.parquet.write_table(table, notes, row_group_size=10000)
            del table
            predict = [binary, "predict", "--model-dir", store, "--input", notes]
            predict += ["--out", os.path.join(d, "one.parquet")]
            rows.append((count, 0, *measured(predict, {"GOMAXPROCS": "1"}, d)))
            for workers in map(int, a.workers.split(",")):
                job = [submit, "--master", f"local-cluster[{workers},1,700]", *cluster.split(), f"{here}/score.py"]
                job += ["--notes", notes, "--out", os.path.join(d, "scored"), "--overwrite"]
                job += ["--model", store, "--binary", binary, "--partition-mib", "1"]
                rows.append((count, workers, *measured(job, env, d)))
    line = None
    if len({r[0] for r in rows}) > 1:
        line = statistics.linear_regression(*zip(*((r[0] / r[1], r[2]) for r in rows if r[1])))
    print("notes workers seconds cpu µs/note MiB model")
    for count, workers, seconds, cpu, mib in rows:
        first, least = min((r[0], r[3]) for r in rows if r[1] == workers)
        more = f"{(cpu - least) / (count - first) * 1e6:.1f}" if count > first else "-"
        model = f"{line.intercept + line.slope * count / workers:.0f}" if line and workers else "-"
        print(count, workers or "predict", f"{seconds:.1f} {cpu:.1f} {more} {mib} {model}")
    if line:
        print(f"model: {line.intercept:.0f} s + {line.slope * 1e6:.1f} µs × notes / workers")
        print(f"10⁹ notes on 64 workers: {(line.intercept + line.slope * 1e9 / 64) / 60:.0f} min")


if __name__ == "__main__":
    main()
