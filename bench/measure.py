#!/usr/bin/env python3
"""Measures fathom beside its rivals on the same logs: interleaved rounds, CPU seconds (user + sys) and peak memory of the
whole process, medians, and ratios to fathom. Prints Markdown and writes bench.json beside the logs."""
import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile


def run(argv):
    """One run: CPU seconds, wall seconds, peak memory in MB, what it printed."""
    with tempfile.TemporaryFile() as out:
        start = os.times().elapsed
        child = subprocess.Popen(argv, stdout=out, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(child.pid, 0)
        wall = os.times().elapsed - start
        out.seek(0)
        text = out.read()[-4_000_000:].decode(errors="replace")
    return {
        "cpu_s": usage.ru_utime + usage.ru_stime,
        "wall_s": wall,
        "rss_mb": usage.ru_maxrss / 1024,
        "status": os.waitstatus_to_exitcode(status),
        "text": text,
    }


def fathom_pauses(text):
    gc = json.loads(text)
    return f"{gc['pauses']} pauses, {gc['total_pause_s']:.3f} s"


def gcviewer_pauses(directory):
    def read(_):
        with open(os.path.join(directory, "gcviewer.csv"), encoding="utf-8") as file:
            text = file.read()
        count = re.search(r"^pauseCount;\s*([\d.,]+)", text, re.M)
        total = re.search(r"^accumPause;\s*([\d.,]+)", text, re.M)
        return f"{count and count.group(1)} pauses, {total and total.group(1)} s"

    return read


def contenders(directory, megabytes):
    """(what, file, name, command, how its result is read from its output)."""
    cp = open(os.path.join(directory, "rivals.cp"), encoding="utf-8").read().strip()
    classes = os.path.join(directory, "classes")
    for what in ("g1", "parallel"):
        log = os.path.join(directory, f"{what}-{megabytes}.log")
        yield what, log, "fathom gc", ["target/release/fathom", "gc", "--json", log], fathom_pauses
        csv = os.path.join(directory, "gcviewer.csv")
        viewer = ["java", "-Xmx4g", "-cp", cp, "com.tagtraum.perf.gcviewer.GCViewer", log, csv, "-t", "SUMMARY"]
        yield what, log, "GCViewer 1.36", viewer, gcviewer_pauses(directory)
        toolkit = ["java", "-Xmx6g", "-cp", f"{classes}:{cp}", "GcToolKitCount", log]
        yield what, log, "GCToolKit 3.5.0", toolkit, lambda text: text.strip().splitlines()[-1]
        yield what, log, "grep -c Pause", ["grep", "-c", "Pause", log], str.strip
        yield what, log, "wc -l", ["wc", "-l", log], str.strip
    log = os.path.join(directory, f"jit-{megabytes}.xml")
    yield "jit", log, "fathom jit", ["target/release/fathom", "jit", "--json", log], fathom_compiles
    if os.environ.get("JITWATCH"):
        watch = ["java", "-Xmx4g", "-cp", os.environ["JITWATCH"], "org.adoptopenjdk.jitwatch.launch.LaunchHeadless", "-t", log]
        yield "jit", log, "JITWatch", watch, lambda text: f"{text.count(chr(10))} lines printed"
    else:
        print("bench: JITWatch is not published on Maven Central: build it and set JITWATCH to its class path", file=sys.stderr)
    yield "jit", log, "grep -c '<task '", ["grep", "-c", "<task ", log], str.strip
    yield "jit", log, "wc -l", ["wc", "-l", log], str.strip


def fathom_compiles(text):
    return f"{json.loads(text).get('compiles')} compiles"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--megabytes", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="regular expression on 'log name'")
    args = parser.parse_args()
    table = [c for c in contenders(args.dir, args.megabytes) if re.search(args.only, f"{c[0]} {c[2]}")]
    runs = {}
    for turn in range(args.rounds):
        for what, _, name, argv, _ in table:
            if shutil.which(argv[0]) is None:
                print(f"bench: {argv[0]} is missing, {name} left out", file=sys.stderr)
                continue
            print(f"bench: round {turn + 1}/{args.rounds}: {what}: {name}", file=sys.stderr)
            runs.setdefault((what, name), []).append(run(argv))
    result = []
    print("| log | tool | CPU s (median) | MB per CPU-s | peak MB | CPU ÷ fathom's | result |")
    print("|---|---|---|---|---|---|---|")
    own = {}
    for what, log, name, _, read in table:
        samples = runs.get((what, name))
        if not samples:
            continue
        cpu = statistics.median(s["cpu_s"] for s in samples)
        size = os.path.getsize(log) / 1e6
        own.setdefault(what, cpu)
        ok = [s for s in samples if s["status"] == 0]
        try:
            said = read(ok[-1]["text"]) if ok else f"failed: exit {samples[-1]['status']}"
        except (ValueError, KeyError, OSError) as error:
            said = f"unreadable: {error}"
        row = {
            "log": what,
            "megabytes": size,
            "tool": name,
            "cpu_s": cpu,
            "mb_per_cpu_s": size / max(cpu, 1e-3),
            "rss_mb": max(s["rss_mb"] for s in samples),
            "ratio": cpu / own[what],
            "result": said,
            "rounds": len(samples),
        }
        result.append(row)
        print("| {log} {megabytes:.0f} MB | {tool} | {cpu_s:.2f} | {mb_per_cpu_s:.0f} | {rss_mb:.0f} | {ratio:.1f} | {result} |".format(**row))
    with open(os.path.join(args.dir, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)


main()
