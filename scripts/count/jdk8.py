#!/usr/bin/env python3
"""Counts the stop-the-world records of GC logs of JDK 6 to 8, independently of fathom's reader.

usage: jdk8.py FILE…          prints: file, pauses, total seconds, longest, full ones (labelled), tab-separated

The method differs from the reader's on purpose: the whole file is one string. What is known not to
be a record is blanked out by regular expressions (concurrent phases, CPU times, address ranges,
class histograms). Then every "[GC" or "[Full GC" that is not inside a record already counted is
followed to the bracket that closes it, and the seconds just before that bracket are its duration.
Outermost records only; seconds as printed.
"""

import re
import sys

NOISE = re.compile(
    r"\[(?:GC concurrent|CMS-concurrent|ASCMS-concurrent|Times:|G1Ergonomics|Unloading class|Loaded |0x)[^\]\)\n]*[\]\)]"
    r"(?:[^\]\n]*?%\)[^\]\n]*\])?"
    r"|^ *\d+: +\d+ +\d+ .*$",
    re.M,
)
ERGONOMICS = re.compile(r"\[G1Ergonomics[^\[\]\n]*\]")
START = re.compile(r"\[(?:Full GC|GC(?! ref-proc| Worker|[a-z])|Pause (?=[^\]\n]*ms\]))")
SECONDS = re.compile(r"(-?\d+[.,]\d+) (secs?|ms)\]$")
# A remark may hold a scavenge (CMSScavengeBeforeRemark).
HOLDS_ANOTHER = re.compile(r"YG occupancy|CMS Final Remark")


def blank(match):
    return re.sub(r"[\[\]]", " ", match.group())


def records(text):
    """Yields (labelled full, seconds) of every outermost record that is whole."""
    text = ERGONOMICS.sub(blank, text)
    text = NOISE.sub(blank, text)
    at = 0
    while start := START.search(text, at):
        depth, end = 0, None
        for bracket in re.finditer(r"[\[\]]", text[start.start():]):
            here = start.start() + bracket.start()
            if bracket.group() == "]":
                depth -= 1
                if depth == 0:
                    end = here + 1
                    break
                continue
            if depth > 0 and START.match(text, here):
                same_line = "\n" not in text[start.start():here]
                if not same_line and not HOLDS_ANOTHER.search(text[start.start():here]):
                    break  # the record was truncated by the next one
            depth += 1
        if end is None:
            at = start.start() + 1
            continue
        seconds = SECONDS.search(text[start.start():end])
        if seconds:
            yield start.group() == "[Full GC", float(seconds.group(1).replace(",", ".")) / (1000 if seconds.group(2) == "ms" else 1)
            at = end
        else:
            at = start.start() + 1


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="latin-1", newline=None) as file:
            found = list(records(file.read()))
        total = sum(max(s, 0.0) for _, s in found)
        longest = max((s for _, s in found), default=0.0)
        print(f"{path}\t{len(found)}\t{total:.7f}\t{longest:.7f}\t{sum(f for f, _ in found)}")


if __name__ == "__main__":
    main()
