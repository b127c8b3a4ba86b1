#!/usr/bin/env python3
"""Measures fathom on a flight recording compared with the JDK's own reader: `jfr summary` counts
the events by kind, which is less than `fathom info` does, and `jfr print` prints them. Interleaved
rounds, CPU seconds (user + system) and peak memory of the whole process, medians; the ratio to
`fathom info` is the median of those within a round.

    flights.py BIG.jfr [--rounds 3] [--old FATHOM] [--print]

`--old` is another binary of fathom, measured in turn with the present one. `--print` adds `jfr
print`, which takes minutes for a large recording."""
import argparse
import os
import shutil
import statistics
import sys

from measure import run, text_of

FATHOM = "target/release/fathom"
BASE = "fathom info"


def contenders(args):
    """Name and command, that to which the others are held first."""
    for name, binary in (("fathom", FATHOM), ("old fathom", args.old)):
        if binary:
            yield f"{name} info", [binary, "info", "--json", args.recording]
            yield f"{name} diagnose", [binary, "diagnose", "--json", args.recording]
            yield f"{name} report", [binary, "report", "-o", f"{args.recording}.html", args.recording]
    if shutil.which("jfr") is None:
        print("bench: jfr of the JDK is missing, left out", file=sys.stderr)
        return
    yield "jfr summary", ["jfr", "summary", args.recording]
    if args.print:
        yield "jfr print", ["jfr", "print", args.recording]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recording")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--old", help="another binary of fathom")
    parser.add_argument("--print", action="store_true")
    args = parser.parse_args()
    table = list(contenders(args))
    runs = {}
    for turn in range(args.rounds):
        print(f"bench: flight recording, round {turn + 1}/{args.rounds}", file=sys.stderr)
        for name, argv in table:
            one = run(argv)
            said = text_of(one["output"])[-500:] if one["status"] != 0 else ""
            os.unlink(one["output"])
            if one["status"] != 0:
                sys.exit(f"bench: {name} ended with {one['status']}: {said}")
            runs.setdefault(name, []).append(one)
    size = os.path.getsize(args.recording) / 1e6
    print(f"| {size:.0f} MB | CPU s (median) | MB per CPU-s | peak MB | CPU ÷ {BASE} |\n|---|---|---|---|---|")
    for name, samples in runs.items():
        cpu = statistics.median(one["cpu_s"] for one in samples)
        ratio = statistics.median(
            one["cpu_s"] / max(base["cpu_s"], 1e-3) for one, base in zip(samples, runs[BASE])
        )
        rss = max(one["rss_mb"] for one in samples)
        print(f"| {name} | {cpu:.2f} | {size / max(cpu, 1e-3):.0f} | {rss:.0f} | {ratio:.1f} |")


main()
