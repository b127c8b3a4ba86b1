#!/usr/bin/env python3
"""How small a change of one frame two recordings can show: the arithmetic of sampling, drawn and
not measured.

    scripts/accuracy/smallest_frame.py [--minutes 11] [--cpus 2] [--share 0.01]

A program of --frames frames with Zipf's shares is sampled on busy CPUs; one frame with --share of
the time becomes slower by a part. Each of 16 segments of a side has counts that vary by Poisson,
and by --between of their size, as work differs from segment to segment. A frame's change is judged
as docs/flame.md says: by the larger of the two errors, counting and segments (Student's
distribution), and of all frames Benjamini and Hochberg let through 5 %. Prints how often the
changed frame is found, and how many frames that did not change are called so. A real run can only
be worse: frames move by inlining, and load is not even.
"""

import argparse
import math
import random
import statistics

SEGMENTS = 16
CHANGES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5]


def counts(chance, mean, between):
    """Samples of a frame in each segment; many enough to be normal."""
    found = []
    for _ in range(SEGMENTS):
        expected = mean / SEGMENTS * max(0.0, chance.gauss(1, between))
        found.append(max(0.0, chance.gauss(expected, math.sqrt(expected))))
    return found


def p_value(a, b):
    """Of no difference between two sides."""
    both, counted = sum(a) + sum(b), math.sqrt(max(1.0, sum(a) + sum(b)))
    if both < 10:
        return 1.0
    spread = math.sqrt(SEGMENTS * (statistics.variance(a) + statistics.variance(b)))
    t, df = (sum(b) - sum(a)) / max(counted, spread), 2 * SEGMENTS - 2
    # Student's as normal (Wallace 1959).
    z = t if counted >= spread else math.copysign((8 * df + 1) / (8 * df + 3) * math.sqrt(df * math.log1p(t * t / df)), t)
    return math.erfc(abs(z) / math.sqrt(2))


def found(p_values, rate=0.05):
    """Which of them Benjamini and Hochberg let through."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    last = max((k for k, i in enumerate(order, 1) if p_values[i] <= rate * k / len(order)), default=0)
    return set(order[:last])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=11, help="of each side [11]")
    parser.add_argument("--cpus", type=float, default=2)
    parser.add_argument("--share", type=float, default=0.01, help="of the frame that changes [0.01]")
    parser.add_argument("--frames", type=int, default=300)
    parser.add_argument("--between", type=float, default=0.02, help="by how much a frame's share differs between segments [0.02]")
    parser.add_argument("--draws", type=int, default=200)
    options = parser.parse_args()
    chance = random.Random(1)
    zipf = [1 / (i + 1) for i in range(options.frames - 1)]
    shares = [options.share] + [share * (1 - options.share) / sum(zipf) for share in zipf]
    print("| samples per second per CPU | slower by | of all time | found | others called different |\n|---|---|---|---|---|")
    for rate in (99, 999):
        samples = rate * 60 * options.minutes * options.cpus
        for change in CHANGES:
            hits = wrong = called = 0
            for _ in range(options.draws):
                pairs = [(counts(chance, samples * share, options.between), counts(chance, samples * share * (1 + change * (i == 0)), options.between)) for i, share in enumerate(shares)]
                through = found([p_value(a, b) for a, b in pairs])
                hits, called = hits + (0 in through), called + len(through)
                wrong += len(through - {0})
            print(f"| {rate} | {change:.0%} | {change * options.share:.2%} | {hits / options.draws:.1%} | {wrong / options.draws:.2f} of {called / options.draws:.2f} |", flush=True)


if __name__ == "__main__":
    main()
