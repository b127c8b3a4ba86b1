#!/usr/bin/env python3
"""What rustfmt and clippy do not check: Rust files of at most 500 lines, comments within 100 columns.

Diagrams, tables and blocks of code in comments may be wider.
"""
import re
import subprocess
import sys

MOST_LINES = 500
COLUMNS = 100
COMMENT = re.compile(r"^\s*//[/!]? ?(.*)$")
# Lines of a drawing; more than one space within a line; quotes and links, which cannot be broken.
MAY_BE_WIDE = re.compile(r"[─│└├▶▼┐┘┤]|\S {2,}\S|https?://|\S{60}|`[^`]{60}|^\s*\|")


def faults(path):
    lines = open(path, encoding="utf-8").read().splitlines()
    if len(lines) > MOST_LINES:
        yield f"{path}: {len(lines)} lines, more than {MOST_LINES}"
    fenced = False
    for number, line in enumerate(lines, 1):
        comment = COMMENT.match(line)
        if not comment:
            fenced = False
            continue
        if comment[1].startswith("```"):
            fenced = not fenced
        if len(line) > COLUMNS and not fenced and not MAY_BE_WIDE.search(comment[1]):
            yield f"{path}:{number}: a comment of {len(line)} columns, more than {COLUMNS}"


def main():
    files = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard", "*.rs"], text=True).split()
    found = [fault for path in files for fault in faults(path)]
    print("\n".join(found) or f"house: {len(files)} Rust files are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
