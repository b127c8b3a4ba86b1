#!/usr/bin/env python3
"""How often `fathom compare` claims a difference between a command and itself, on this machine.

    scripts/accuracy/compare_aa.py FATHOM FOLDER [COMPARISONS [RUNS]]

Two things for each of a few short real commands:

- COMPARISONS (100) whole comparisons of the command with itself, RUNS (10) runs each: verdicts are
  counted;
- one long series of the command, kept as FOLDER/NAME.json: `cargo run -p fathom-compare --example calibrate -- FOLDER/*.json`
  draws any number of comparisons from it, also with a planted ratio.

Prints the table of docs/compare.md, with a 95% interval (Wilson) of each rate.
"""

import json
import math
import pathlib
import subprocess
import sys

COMMANDS = {
    "java-version": "java -version",
    "java-list": "java -Xshare:off --list-modules",
    "sha256": "sha256sum /usr/bin/perl /usr/bin/git /usr/bin/python3",
}
SERIES = 240


def compare(fathom, *arguments):
    """The report of one comparison."""
    done = subprocess.run([fathom, "compare", "--json", *arguments], check=True, capture_output=True)
    return json.loads(done.stdout)


def wilson(hits, of, z=1.96):
    """Interval of a rate."""
    rate, room = hits / of, z * z / of
    middle = (rate + room / 2) / (1 + room)
    half = z * math.sqrt(rate * (1 - rate) / of + room / of / 4) / (1 + room)
    return max(0.0, middle - half), min(1.0, middle + half)


def main():
    if len(sys.argv) < 3 or "--help" in sys.argv or "-h" in sys.argv:
        print(__doc__.strip())
        return 0 if len(sys.argv) > 1 and sys.argv[1] in ("--help", "-h") else 2
    fathom, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    comparisons = int(sys.argv[3]) if len(sys.argv) > 3 else 100
    runs = sys.argv[4] if len(sys.argv) > 4 else "10"
    folder.mkdir(parents=True, exist_ok=True)
    print("| command | comparisons | faster or slower | 95% interval | no difference | mean | spread |")
    print("|---|---|---|---|---|---|---|")
    for name, command in COMMANDS.items():
        compare(fathom, "--runs", str(SERIES), "--out", str(folder / f"{name}.json"), "--", command, "--", command)
        claimed = same = 0
        for _ in range(comparisons):
            report = compare(fathom, "--runs", runs, "--", command, "--", command)
            verdict = report["comparisons"][0]["verdict"]
            claimed += verdict in ("faster", "slower")
            same += verdict == "no_difference"
            row = report["commands"][0]
        low, high = wilson(claimed, comparisons)
        mean, spread = f"{row['mean'] * 1e3:.0f} ms", f"{row['spread']:.0%}"
        print(
            f"| `{command}` | {comparisons} | {claimed} | {low:.1%} to {high:.1%} | {same} | {mean} | {spread} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
