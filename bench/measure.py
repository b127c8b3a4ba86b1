#!/usr/bin/env python3
"""Measures fathom and its rivals on the same logs: interleaved rounds, CPU seconds (user + sys) and
peak memory of the whole process, medians, and ratios to fathom; then fathom's commands on parts of
a log, to see that time grows with the size and not faster. Prints Markdown and writes bench.json
next to the logs. Ends with 1 where a command grows faster."""
import argparse
import itertools
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile


# Runs one command and tells its figures. A small process of its own: Linux keeps a child's peak
# memory from before its exec, which would be this script's.
RUNNER = """
import json, os, sys, time
start = time.monotonic()
pid = os.posix_spawnp(sys.argv[2], sys.argv[2:], os.environ, file_actions=[
    (os.POSIX_SPAWN_OPEN, 1, sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), (os.POSIX_SPAWN_DUP2, 1, 2)])
_, status, usage = os.wait4(pid, 0)
print(json.dumps({"cpu_s": usage.ru_utime + usage.ru_stime, "wall_s": time.monotonic() - start,
    "rss_mb": usage.ru_maxrss / 1024, "status": os.waitstatus_to_exitcode(status)}))
"""


def run(argv):
    """One run: CPU seconds, wall seconds, peak memory in MB, the path of what it printed."""
    with tempfile.NamedTemporaryFile(delete=False) as out:
        pass
    answer = subprocess.run([sys.executable, "-S", "-c", RUNNER, out.name, *argv], capture_output=True, check=True)
    return {**json.loads(answer.stdout), "output": out.name}


def text_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def count_lines(path):
    with open(path, "rb") as file:
        return sum(1 for _ in file)


def fathom_pauses(path):
    gc = json.loads(text_of(path))
    return f"{gc['pauses']} pauses, {gc['total_pause_s']:.3f} s"


def gcviewer_pauses(csv):
    def read(_):
        text = text_of(csv)
        count = re.search(r"^pauseCount;\s*([\d.,]+)", text, re.M)
        total = re.search(r"^accumPause;\s*([\d.,]+)", text, re.M)
        return f"{count and count.group(1)} pauses, {total and total.group(1)} s"

    return read


def contenders(directory, megabytes):
    """(what, file, name, command, how its result is read from its output)."""
    cp = text_of(os.path.join(directory, "rivals.cp")).strip()
    classes = os.path.join(directory, "classes")
    for what in ("g1", "parallel"):
        log = os.path.join(directory, f"{what}-{megabytes}.log")
        yield what, log, "fathom gc", ["target/release/fathom", "gc", "--json", log], fathom_pauses
        csv = os.path.join(directory, f"gcviewer-{what}.csv")
        viewer = ["java", "-Xmx4g", "-cp", cp, "com.tagtraum.perf.gcviewer.GCViewer", log, csv, "-t", "SUMMARY"]
        yield what, log, "GCViewer 1.36", viewer, gcviewer_pauses(csv)
        kind = "G1" if what == "g1" else "Generational"
        toolkit = ["java", "-Xmx6g", "-cp", f"{classes}:{cp}", "GcToolKitCount", kind, log]
        yield what, log, "GCToolKit 3.5.0", toolkit, last_line
        yield what, log, "grep -c Pause", ["grep", "-c", "Pause", log], last_line
        yield what, log, "wc -l", ["wc", "-l", log], last_line
    log = os.path.join(directory, f"jit-{megabytes}.xml")
    yield "jit", log, "fathom jit", ["target/release/fathom", "jit", "--json", log], fathom_compiles
    if os.environ.get("JITWATCH"):
        watch = ["java", "-Xmx4g", "-cp", os.environ["JITWATCH"], "org.adoptopenjdk.jitwatch.launch.LaunchHeadless", "-t", log]
        yield "jit", log, "JITWatch", watch, lambda path: f"{count_lines(path)} events printed"
    else:
        print("bench: JITWatch is not published on Maven Central: build it and set JITWATCH to its class path", file=sys.stderr)
    yield "jit", log, "grep -c '<task '", ["grep", "-c", "<task ", log], last_line
    yield "jit", log, "wc -l", ["wc", "-l", log], last_line


# Commands that are compared with the size of their input, and the shares of the whole log that they
# are run on.
GROWING = ["gc", "diagnose", "report"]
# The physical limit, in the same rounds.
READ = "wc -l"
SHARES = [16, 4, 1]
# From a quarter to the whole the time may grow by so much. Four times is linear; the rest is what
# caches and a shared machine do.
MOST_GROWTH = 6.0


def command(name, log, directory):
    if name == READ:
        return [*READ.split(), log]
    out = {"report": ["-o", os.path.join(directory, "report.html")]}.get(name, ["--json"])
    return ["target/release/fathom", name, *out, log]


def part(directory, megabytes, share):
    """The first part of the G1 log, in whole lines."""
    whole = os.path.join(directory, f"g1-{megabytes}.log")
    if share == 1:
        return whole
    path = os.path.join(directory, f"g1-{megabytes}-{share}th.log")
    if not os.path.exists(path):
        with open(whole, "rb") as log, open(path, "wb") as out:
            out.write(log.read(os.path.getsize(whole) // share))
            out.write(log.readline())
    return path


def growth(directory, megabytes, rounds):
    """Rows of commands by sizes, and the commands whose time grows faster than their input."""
    logs = [part(directory, megabytes, share) for share in SHARES]
    rows, faster = [], []
    print("\n| command | log | CPU s (median) | MB per CPU-s | peak MB |\n|---|---|---|---|---|")
    commands = {name if name == READ else f"fathom {name}": name for name in [*GROWING, READ]}
    runs = {}
    for turn in range(rounds):
        print(f"bench: growth, round {turn + 1}/{rounds}", file=sys.stderr)
        for (shown, name), log in itertools.product(commands.items(), logs):
            one = run(command(name, log, directory))
            said = text_of(one["output"])
            os.unlink(one["output"])
            if one["status"] != 0:
                sys.exit(f"bench: {shown} {log} ended with {one['status']}: {said[-500:]}")
            runs.setdefault((shown, log), []).append(one)
    for shown in commands:
        cpu = []
        for log in logs:
            size = os.path.getsize(log) / 1e6
            cpu.append(statistics.median(each["cpu_s"] for each in runs[shown, log]))
            rss = max(each["rss_mb"] for each in runs[shown, log])
            rows.append({"command": shown, "megabytes": size, "cpu_s": cpu[-1], "rss_mb": rss})
            print(f"| {shown} | g1 {size:.0f} MB | {cpu[-1]:.2f} | {size / max(cpu[-1], 1e-3):.0f} | {rss:.0f} |")
        if shown != READ and cpu[-1] > MOST_GROWTH * cpu[-2]:
            faster.append(f"{shown}: {cpu[-2]:.2f} s for a quarter of the log, {cpu[-1]:.2f} s for the whole")
    return rows, faster


def fathom_compiles(path):
    return f"{json.loads(text_of(path))['compiles']} compiles"


def last_line(path):
    return text_of(path).strip().splitlines()[-1]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--dir", required=True)
    parser.add_argument("--megabytes", type=int, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="regular expression on 'log name'")
    args = parser.parse_args()
    # The growth of fathom's own commands needs no rival.
    contending = [] if args.only == "growth" else contenders(args.dir, args.megabytes)
    table = [c for c in contending if re.search(args.only, f"{c[0]} {c[2]}")]
    runs = {}
    for turn in range(args.rounds):
        for what, _, name, argv, _ in table:
            if shutil.which(argv[0]) is None:
                print(f"bench: {argv[0]} is missing, {name} left out", file=sys.stderr)
                continue
            print(f"bench: round {turn + 1}/{args.rounds}: {what}: {name}", file=sys.stderr)
            runs.setdefault((what, name), []).append(run(argv))
    result = []
    if table:
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
            said = read(ok[-1]["output"]) if ok else f"failed: exit {samples[-1]['status']}"
        except (ValueError, KeyError, IndexError, OSError) as error:
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
    for output in (s["output"] for samples in runs.values() for s in samples):
        os.unlink(output)
    rows, faster = growth(args.dir, args.megabytes, args.rounds) if re.search(args.only, "growth") else ([], [])
    with open(os.path.join(args.dir, "bench.json"), "w", encoding="utf-8") as file:
        json.dump(result + rows, file, indent=1)
    for line in faster:
        print(f"bench: GROWS FASTER THAN ITS INPUT: {line}", file=sys.stderr)
    sys.exit(1 if faster else 0)


if __name__ == "__main__":
    main()
