#!/usr/bin/env python3
"""`fathom compare` compared with three other ways to compare runs, on the same draws: who claims a
difference that is not there, and who finds one that is.

    scripts/accuracy/compare_aa.py FATHOM FOLDER 0                     # series of real runs of one command each: FOLDER/NAME.json
    scripts/accuracy/compare_rivals.py FATHOM FOLDER/*.json --benchstat PROGRAM --stackgate
    FOLDER-OF-PACKAGES

Each draw takes a segment of a series, in the order of the clock, gives its runs to A and B in turn
(A B, B A), and multiplies the times of B by a planted ratio. All four see the same runs:

- fathom compare, its verdict at 5 %;
- the rule of thumb for results of JMH: means differ when their 99.9% intervals (Student) do not
  overlap;
- benchstat (golang.org/x/perf), its defaults: Mann and Whitney's test at 5 %;
- stackgate (PyPI), its defaults: permutation test, a threshold of 2 %, one side only (it looks for
  what became slower). Its input are folded stacks: each run is one stack that weighs as many
  microseconds as the run took.

One that is not given is left out. Prints a table for each series, rates with their 95 % intervals
(Wilson).
"""

import argparse
import csv
import io
import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile

from compare_aa import wilson

RATIOS = [1.0, 1.005, 1.01, 1.02, 1.05, 1.1]
# Two-sided 99.9 % of Student's distribution by degrees of freedom, between which is interpolated in
# 1/df.
STUDENT = [(5, 6.869), (7, 5.408), (9, 4.781), (14, 4.140), (19, 3.883), (29, 3.659), (59, 3.460), (10**9, 3.291)]


def draws(series, runs, ratio, number):
    """`number` pairs of A and B."""
    room = len(series) - 2 * runs + 1
    for i in range(number):
        # A prime, so that segments are spread over the series; the order within a block is random,
        # and reversed in the next.
        values = iter(series[i * 7919 % room :])
        chance, sides = random.Random(i), ([], [])
        for block in range(runs):
            if block % 2 == 0:
                first = chance.randrange(2)
            for side in (first, 1 - first) if block % 2 == 0 else (1 - first, first):
                sides[side].append((next(values) * (ratio if side else 1.0), block))
        yield sides


def student(df):
    """The 99.9 % quantile."""
    for (low, a), (high, b) in zip(STUDENT, STUDENT[1:]):
        if df <= high:
            share = (1 / max(df, low) - 1 / high) / (1 / low - 1 / high)
            return b + (a - b) * share
    return STUDENT[-1][1]


def by_fathom(program, template, sides):
    """'slower', 'faster' or '' with the interval of the ratio."""
    runs = []
    for side, values in enumerate(sides):
        for place, (seconds, block) in enumerate(values):
            usage = {"wall_s": seconds, "user_s": 0.0, "sys_s": 0.0, "max_rss_bytes": 1, "preempted": 0}
            figure = {"name": "", "unit": "s", "higher_is_better": False, "values": [seconds]}
            runs.append({"block": block, "place": side, "command": side, "usage": usage, "figures": [figure]})
    runs.sort(key=lambda run: (run["block"], run["place"]))
    looks = [{"blocks": len(sides[0]), "alpha": 0.05}]
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(template | {"warmup": 0, "looks": looks, "runs": runs}, file)
        file.flush()
        done = subprocess.run([program, "compare", "--json", file.name], check=True, capture_output=True)
    comparison = json.loads(done.stdout)["comparisons"][0]
    verdict = comparison["verdict"]
    return verdict if verdict in ("faster", "slower") else "", comparison["estimate"]


def by_jmh(sides):
    """Whether the 99.9 % intervals of the means overlap."""
    bounds = []
    for values in sides:
        seconds = [second for second, _ in values]
        half = student(len(seconds) - 1) * statistics.stdev(seconds) / math.sqrt(len(seconds))
        bounds.append((statistics.mean(seconds) - half, statistics.mean(seconds) + half))
    (a_low, a_high), (b_low, b_high) = bounds
    return "slower" if b_low > a_high else "faster" if b_high < a_low else ""


def by_benchstat(program, all_sides):
    """Of all draws at once."""
    with tempfile.TemporaryDirectory() as folder:
        files = []
        for side in range(2):
            files.append(pathlib.Path(folder) / f"{'ab'[side]}.txt")
            lines = [f"BenchmarkDraw{i:05} 1 {second * 1e9:.0f} ns/op" for i, sides in enumerate(all_sides) for second, _ in sides[side]]
            files[-1].write_text("\n".join(lines) + "\n")
        done = subprocess.run([program, "-format", "csv", *files], check=True, capture_output=True, text=True)
    found = {}
    for row in csv.reader(io.StringIO(done.stdout)):
        if row and row[0].startswith("Draw") and len(row) >= 6:
            found[int(row[0][4:9])] = "" if row[5] == "~" else "slower" if row[5].startswith("+") else "faster"
    return [found.get(i, "") for i in range(len(all_sides))]


def by_stackgate(sides):
    from stackgate.comparator import ComparisonConfig, compare

    with tempfile.TemporaryDirectory() as folder:
        places = []
        for side, values in enumerate(sides):
            places.append(pathlib.Path(folder) / "ab"[side])
            places[-1].mkdir()
            for i, (second, _) in enumerate(values):
                (places[-1] / f"run{i:03}.folded").write_text(f"main {second * 1e6:.0f}\n")
        verdict = compare(str(places[0]), str(places[1]), config=ComparisonConfig(sampling_rate_hz=1e6)).verdict
    return "slower" if getattr(verdict, "value", str(verdict)).upper().endswith("FAIL") else ""


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("fathom")
    parser.add_argument("series", nargs="+", type=pathlib.Path)
    parser.add_argument("--benchstat")
    parser.add_argument("--stackgate", help="folder of packages in which it is installed (pip install --target)")
    parser.add_argument("--cpu", action="store_true", help="their CPU time, not the time by the wall clock")
    parser.add_argument("--runs", type=int, default=10, help="of each side [10]")
    parser.add_argument("--same", type=int, default=200, help="draws without a difference [200]")
    parser.add_argument("--planted", type=int, default=100, help="draws of each planted ratio [100]")
    options = parser.parse_args()
    if options.stackgate:
        sys.path.insert(0, options.stackgate)
    for path in options.series:
        template = json.loads(path.read_text())
        usage = [run["usage"] for run in template["runs"][2 * template["warmup"] :]]
        series = [u["user_s"] + u["sys_s"] if options.cpu else u["wall_s"] for u in usage]
        print(f"\n`{template['commands'][0]['text']}`, {len(series)} runs, {options.runs} of each side, spread {statistics.stdev(series) / statistics.mean(series):.0%}\n")
        print("| planted | draws | who | said to differ | 95% interval | the wrong way |\n|---|---|---|---|---|---|")
        for ratio in RATIOS:
            number = options.same if ratio == 1.0 else options.planted
            all_sides = list(draws(series, options.runs, ratio, number))
            said = {"fathom compare": [], "intervals of JMH overlap": [by_jmh(sides) for sides in all_sides]}
            covered = 0
            for sides in all_sides:
                verdict, interval = by_fathom(options.fathom, template, sides)
                said["fathom compare"].append(verdict)
                covered += interval["low"] <= ratio <= interval["high"]
            if options.benchstat:
                said["benchstat"] = by_benchstat(options.benchstat, all_sides)
            if options.stackgate:
                said["stackgate"] = [by_stackgate(sides) for sides in all_sides]
            for who, words in said.items():
                differs = sum(word != "" for word in words)
                wrong = sum(word == "faster" or (word != "" and ratio == 1.0) for word in words)
                low, high = wilson(differs, number)
                more = f"; its interval holds the ratio in {covered / number:.1%}" if who == "fathom compare" else ""
                print(f"| {ratio - 1:.1%} | {number} | {who} | {differs / number:.1%} | {low:.1%} to {high:.1%} | {wrong}{more} |", flush=True)


if __name__ == "__main__":
    main()
