#!/usr/bin/env python3
"""Which changes of one frame two real recordings show: the run behind the arithmetic of
smallest_frame.py.

    sudo scripts/accuracy/planted_frames.py [--minutes 11] [--frequency 999]

A program computes on two threads in 300 methods that are not inlined. Fifty have 1% of the time
each, the others share the rest. On side B five of the fifty become slower by 2%, and five faster by
as much; so for 5, 10, 20 and 50%, so that all of the time stays what it was. Each side is recorded
for --minutes, one after the other, and `fathom compare` says which frames differ. Prints how many
of the ten of each size it found, how many with the right sign, and how many it called different
that are not.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CHANGES = [0.02, 0.05, 0.1, 0.2, 0.5]
EACH, FRAMES, TURNS = 5, 300, 200_000
PLANTED = 2 * EACH * len(CHANGES)


def changes():
    """Of each planted method, by its number: its change on side B."""
    signed = [sign * change for change in CHANGES for sign in (1, -1) for _ in range(EACH)]
    # Neighbours are no pairs: what follows whom is the same on both sides.
    return {(7 * i) % PLANTED: change for i, change in enumerate(signed)}


def turns(side):
    """How often the loop of each method turns."""
    planted = changes()
    each = [0.01 * (1 + (side == "b") * planted.get(i, 0)) if i < PLANTED else (1 - 0.01 * PLANTED) / (FRAMES - PLANTED) for i in range(FRAMES)]
    return [round(TURNS * share) for share in each]


def program(folder):
    """The class."""
    methods = "\n".join(f"  static long f{i}(long x) {{ for (int i = 0, n = TURNS[{i}]; i < n; i++) x = x * 6364136223846793005L + 1442695040888963407L; return x; }}" for i in range(FRAMES))
    # A method that calls all of them would be too large for the compilers.
    groups = "\n".join(f"  static long g{g}(long x) {{ " + " ".join(f"x = f{i}(x);" for i in range(g * 10, g * 10 + 10)) + " return x; }" for g in range(FRAMES // 10))
    calls = " ".join(f"x = g{g}(x);" for g in range(FRAMES // 10))
    lines = [
        "public class Planted {",
        f"  static final int[] TURNS = new int[{FRAMES}];",
        "  static volatile long sink;",
        methods,
        groups,
        f"  static void work() {{ long x = 1; while (true) {{ {calls} sink = x; }} }}",
        "  public static void main(String[] args) {",
        "    for (int i = 0; i < TURNS.length; i++) TURNS[i] = Integer.parseInt(args[i]);",
        '    new Thread(Planted::work, "one").start();',
        '    new Thread(Planted::work, "two").start();',
        "  }",
        "}",
    ]
    (folder / "Planted.java").write_text("\n".join(lines))


def recorded(options, folder, side):
    java = Path(options.jdk) / "bin/java"
    flags = ["-Xmx64m", "-XX:+UseSerialGC", "-XX:CompileCommand=quiet", "-XX:CompileCommand=dontinline,Planted.f*"]
    command = ["nice", "-n", str(options.nice), java, *flags, "-cp", folder, "Planted", *map(str, turns(side))]
    jvm = subprocess.Popen([str(word) for word in command], stdout=subprocess.DEVNULL)
    try:
        time.sleep(options.warm)
        out = folder / f"{side}.fathom"
        others = [word for name in ("syscalls", "sched", "locks", "disk", "network", "jvm-events") for word in ("--without", name)]
        record = [options.fathom, "record", "-p", jvm.pid, "-F", options.frequency, "-d", f"{60 * options.minutes:.0f}s", *others, "-o", out]
        subprocess.run([str(word) for word in record], check=True, stdout=subprocess.DEVNULL)
        return out, sum(os.getloadavg()) / 3
    finally:
        jvm.kill()
        jvm.wait()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=11, help="of each side [11]")
    parser.add_argument("--frequency", type=int, default=999, help="samples a second of each CPU [999]")
    parser.add_argument("--warm", type=float, default=20, help="seconds before each recording [20]")
    parser.add_argument("--nice", type=int, default=0, help="of the program [0]")
    parser.add_argument("--jdk", default=os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64"))
    parser.add_argument("--fathom", default=ROOT / "target/release/fathom", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        program(folder)
        subprocess.run([Path(options.jdk) / "bin/javac", "-d", folder, folder / "Planted.java"], check=True)
        sides = [recorded(options, folder, side) for side in "ab"]
        compare = [options.fathom, "compare", "--json", *(out for out, _ in sides)]
        report = json.loads(subprocess.run([str(word) for word in compare], check=True, stdout=subprocess.PIPE).stdout)
    # A difference of a frame is an interval.
    frames = report["frames"]
    moved = {row["name"].rsplit(".f", 1)[1]: row for row in frames["moved"] if ".f" in row["name"]}
    planted = changes()
    print(f"{options.minutes:g} minutes a side at {options.frequency} Hz, {os.cpu_count()} CPUs, mean load {sides[0][1]:.1f} and {sides[1][1]:.1f}: {frames['samples'][0]:,} and {frames['samples'][1]:,} samples, {frames['judged']} frames judged")
    print("| a frame of 1% changes by | of all time | found, of 10 | with the right sign |\n|---|---|---|---|")
    for change in CHANGES:
        of = [(moved[str(i)]["difference"], sign) for i, sign in planted.items() if abs(sign) == change and str(i) in moved]
        right = sum((sum(difference) > 0) == (sign > 0) for difference, sign in of)
        print(f"| {change:.0%} | {change / 100:.2%} | {len(of)} | {right} |")
    wrong = [name for name in moved if int(name) not in planted]
    print(f"\nCalled different and not changed: {len(wrong)} of {FRAMES - PLANTED}; other frames called different: {len(frames['moved']) - len(moved)}")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
