#!/usr/bin/env python3
"""Compares fathom's counts with independent ones, file by file. Run by scripts/count-corpus.sh.

usage: corpus.py COUNTER DIR        COUNTER: the program that prints fathom's counts (crates/ingest/examples/gc_pauses)

Every file below DIR is read, members of .gz and .zip included. Which independent counter judges a
file depends on the format that fathom's reader recognised by its content. What fathom refuses is
judged by the JDK 6-8 counter all the same, so that a log refused by mistake is seen.
"""

import gzip
import importlib
import pathlib
import subprocess
import sys
import tempfile
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).parent))

# Seconds: sums of floats of up to a million records.
TOLERANCE_S = 1e-5


def unpacked(folder, scratch):
    """Yields (name to show, path to read) of every file."""
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        name = str(path.relative_to(folder))
        try:
            if path.suffix == ".gz":
                target = pathlib.Path(scratch) / name.replace("/", "_")[:-3]
                target.write_bytes(gzip.decompress(path.read_bytes()))
                yield name, target
            elif path.suffix == ".zip":
                with zipfile.ZipFile(path) as archive:
                    for member in (m for m in archive.infolist() if not m.is_dir()):
                        target = pathlib.Path(scratch) / f"{name}_{member.filename}".replace("/", "_")
                        target.write_bytes(archive.read(member))
                        yield f"{name}/{member.filename}", target
            else:
                yield name, path
        except (OSError, EOFError, zipfile.BadZipFile) as why:
            print(f"{name}\t-\t-\tcannot be decompressed: {why}")


def ours(counter, paths):
    """fathom's counts for each path: (format, pauses, total, longest)."""
    said = {}
    for start in range(0, len(paths), 200):
        part = [str(p) for p in paths[start : start + 200]]
        lines = subprocess.run([counter, *part], capture_output=True, text=True, check=True).stdout.splitlines()[1:]
        for line in lines:
            path, form, pauses, total, longest = line.split("\t")[:5]
            said[path] = (form, int(pauses), float(total), float(longest))
    return said


def independent(form, path):
    """The independent count of a file: (pauses, total, longest); None where there is no counter for
    its format.
    """
    module = {"jdk8-gc-log": "jdk8", "-": "jdk8", "unified-log": "unified"}.get(form)
    try:
        records = importlib.import_module(module).records if module else None
    except ImportError:
        records = None
    if records is None:
        return None
    with open(path, encoding="latin-1", newline=None) as file:
        seconds = [max(s, 0.0) for _, s in records(file.read())]
    return len(seconds), sum(seconds), max(seconds, default=0.0)


def main():
    counter, folder = sys.argv[1], pathlib.Path(sys.argv[2])
    verdicts = {}
    with tempfile.TemporaryDirectory() as scratch:
        files = list(unpacked(folder, scratch))
        said = ours(counter, [path for _, path in files])
        print("file\tfathom\tindependent\tverdict")
        for name, path in files:
            form, *mine = said[str(path)]
            other = independent(form, path)
            if other is None:
                verdict = "no counter"
            elif form == "-":
                verdict = "refused, and nothing to count" if other[0] == 0 else "REFUSED BY MISTAKE"
            elif mine[0] == other[0] and all(abs(a - b) <= TOLERANCE_S for a, b in zip(mine[1:], other[1:])):
                verdict = "agree"
            else:
                verdict = "DIFFER"
            verdicts[verdict] = verdicts.get(verdict, 0) + 1
            show = lambda c: "-" if c is None else f"{c[0]} {c[1]:.7f} {c[2]:.7f}"
            print(f"{name}\t{show(mine)}\t{show(other)}\t{verdict}")
    print(", ".join(f"{count} {verdict}" for verdict, count in sorted(verdicts.items())), file=sys.stderr)
    sys.exit(1 if any(v[0].isupper() for v in verdicts) else 0)


if __name__ == "__main__":
    main()
