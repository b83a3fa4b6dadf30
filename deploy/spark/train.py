"""Trains on Apache Spark: relays the rounds of `wardcast retrain --rounds stdio` to shards on the workers.

    spark-submit --master M train.py --notes F --outcomes F --model-dir D --binary F --shards N -- retrain flags

The coordinator, a process of the binary beside the driver, reads notes and outcomes, and decides as `wardcast retrain`
does. This job only broadcasts its messages, maps the binary over the shards and returns the answers. docs/scale.md says
what lies where, and when this pays.
"""

import argparse
import json
import os
import subprocess
import sys

from pyspark import SparkFiles, StorageLevel
from pyspark.sql import SparkSession

GROUP = 64  # shards whose answers are added before they reach the coordinator, if there are more


def arguments():
    p = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    p.add_argument("--notes", required=True, action="append", help="notes as JSON lines, which the driver can read")
    p.add_argument("--outcomes", required=True, action="append", help="outcomes as JSON lines, which the driver can read")
    p.add_argument("--model-dir", required=True, help="model store: a folder, or the URL of a bucket")
    p.add_argument("--binary", required=True, help="the wardcast binary, for the driver's and the workers' system")
    p.add_argument("--shards", type=int, default=0, help="number of shards (default: Spark's default parallelism)")
    p.add_argument("flags", nargs="*", help="further flags of wardcast retrain, behind --")
    return p.parse_args()


def shard(program, op, parts):
    """Returns what the binary answers."""
    command = [SparkFiles.get(program), "shard", op]
    env = dict(os.environ, GOMAXPROCS="1")
    p = subprocess.run(command, input=b"".join(parts), stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    if p.returncode:
        raise RuntimeError(f"wardcast shard {op} ended with {p.returncode}: {p.stderr[-2000:].decode(errors='replace')}")
    return p.stdout


class Shards:
    """What shards hold, as RDDs of one element a partition. Lost ones are made again by their lineage."""

    def __init__(self, context, program, count):
        self.context, self.program, self.count, self.held = context, program, count, {}

    def hold(self, name, rdd):
        before, self.held[name] = self.held.get(name), rdd
        if before is not None:
            before.unpersist()

    def run(self, call, parts):
        if call["op"] == "hold":
            self.hold(call["keep"], self.context.parallelize(parts, self.count))
            return []
        message, program, op = self.context.broadcast(parts[0]), self.program, call["op"]
        held = self.held[call["from"][0]]
        for name in call["from"][1:]:
            held = held.zip(self.held[name]).map(lambda pair: pair[0] + pair[1])
        answers = held.map(lambda behind: shard(program, op, [message.value, behind]))
        if "keep" in call:
            answers = answers.persist(StorageLevel.MEMORY_AND_DISK)
            answers.count()
            self.hold(call["keep"], answers)
            return []
        if call.get("add") and self.count > GROUP:
            numbered = answers.mapPartitionsWithIndex(lambda i, own: [(i // GROUP, (i, answer)) for answer in own])
            added = numbered.groupByKey().mapValues(lambda of: shard(program, "add", [answer for _, answer in sorted(of)]))
            out = [answer for _, answer in sorted(added.collect())]
        else:
            out = answers.collect()  # in the order of the shards
        message.destroy()
        return out


def relay(shards, p):
    """Answers the calls of the coordinator until it ends. Its other lines are for people."""

    def reply(line, parts=()):
        p.stdin.write(json.dumps(line).encode() + b"\n" + b"".join(parts))
        p.stdin.flush()

    reply({"shards": shards.count})
    for line in iter(p.stdout.readline, b""):
        call = json.loads(line) if line.startswith(b'{"round":') else None
        if call is None:
            sys.stdout.buffer.write(line)
            sys.stdout.flush()
            continue
        parts = [p.stdout.read(n) for n in call["bytes"]]
        try:
            answers = shards.run(call, parts)
        except Exception as e:  # whatever it is, the coordinator ends with it
            why = [l for l in str(e).splitlines() if "wardcast shard" in l] or [type(e).__name__]
            reply({"round": call["round"], "error": why[-1].strip()})
        else:
            reply({"round": call["round"], "bytes": [len(a) for a in answers]}, answers)


def main():
    a = arguments()
    if not os.path.isfile(a.binary):
        sys.exit(f"train.py: --binary {a.binary}: no such file")
    spark = SparkSession.builder.appName("wardcast train").config("spark.rpc.message.maxSize", 1024).getOrCreate()
    context = spark.sparkContext
    context.addFile(a.binary)
    command = [a.binary, "retrain", "--model-dir", a.model_dir, "--rounds", "stdio", *a.flags]
    for name in ("notes", "outcomes"):
        for value in getattr(a, name):
            command += [f"--{name}", value]
    try:
        with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as p:
            relay(Shards(context, os.path.basename(a.binary), a.shards or context.defaultParallelism), p)
    except BrokenPipeError:
        pass  # the coordinator has ended, and its code says why
    spark.stop()
    sys.exit(p.returncode)


if __name__ == "__main__":
    main()
