#!/usr/bin/env python3
"""Counts the stop-the-world records of unified logs (JDK 9 to 25), independently of fathom's
reader.

usage: unified.py FILE…          prints: file, pauses, total seconds, longest, tab-separated

The method differs from the reader's on purpose: one regular expression over the whole text finds
every closing record ("GC(7) Pause … 1.5ms" at the end of a line) and every opening one (the same
without a duration). Openings and closings are brackets: a record that closes while one of an older
collection is open is part of that one. Where a log has no openings, a full collection is part of
the young one that closes right after it, has the id before its own, and is not shorter. What
happens at debug and trace level, and what names a worker thread, is a step of a pause.
"""

import re
import sys

RECORD = re.compile(
    r"^(?P<before>.*?)GC\((?P<id>\d+)\) (?:[yYO]: )?(?P<name>Pause [A-Za-z ]*[A-Za-z])(?P<rest>(?: .*)?)$", re.M
)
DURATION = re.compile(r" (\d+(?:[.,]\d+)?)ms\b(?! *[/,])")
STEP = re.compile(r"\[(?:debug|trace) *\]")
WORKER = re.compile(r"\((?:Z[A-Za-z]*#\d+|VM Thread|ZDriver[^)]*)\)")


def holds(outer, inner):
    """Whether a pause of the name `inner` may be part of one named `outer`."""
    return (outer, inner) in {("Pause Young", "Pause Full"), ("Pause Remark", "Pause Young")}


def records(text):
    """(name, seconds) of every outermost pause."""
    opened, counted = [], []
    for match in RECORD.finditer(text.replace("\r", "")):
        step = STEP.search(match["before"])
        if WORKER.search(match["rest"]):
            continue
        ident, name = int(match["id"]), match["name"]
        duration = DURATION.search(match["rest"])
        if duration is None:
            if not step:
                opened.append((ident, name))
            continue
        if step:
            continue
        seconds = float(duration[1].replace(",", ".")) / 1e3
        bracketed = (ident, name) in opened
        if bracketed:
            while opened.pop() != (ident, name):
                pass
            if opened and opened[-1][0] < ident and holds(opened[-1][1], name):
                continue
            opened.clear()
        elif counted and not counted[-1][3]:
            before, last_name, last_s, _ = counted[-1]
            if before == ident + 1 and last_name == "Pause Full" and name == "Pause Young" and last_s <= seconds:
                counted.pop()
        counted.append((ident, name, seconds, bracketed))
    return [(name, seconds) for _, name, seconds, _ in counted]


def main():
    for path in sys.argv[1:]:
        with open(path, encoding="latin-1", newline=None) as file:
            seconds = [s for _, s in records(file.read())]
        print(path, len(seconds), f"{sum(seconds):.7f}", f"{max(seconds, default=0.0):.7f}", sep="\t")


if __name__ == "__main__":
    main()
