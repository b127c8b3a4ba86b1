#!/usr/bin/env python3
"""Makes a large log of a small real one: the body again and again, with stamps, GC ids and compile
ids moved on.

    replicate.py gc  REAL.log BIG.log MEGABYTES
    replicate.py jit REAL.xml BIG.xml MEGABYTES
    replicate.py jfr REAL.jfr BIG.jfr MEGABYTES
"""
import re
import struct
import sys

STAMP = re.compile(rb"^\[(\d+\.\d+)s\]")
GC_ID = re.compile(rb"GC\((\d+)\)")
XML_STAMP = re.compile(rb" stamp='(\d+\.\d+)'")
XML_ID = re.compile(rb" compile_id='(\d+)'")


def gc(lines, out, size):
    """Unified lines whose first decoration is the uptime in seconds."""
    stamps = [float(m.group(1)) for line in lines if (m := STAMP.match(line))]
    ids = [int(m.group(1)) for line in lines if (m := GC_ID.search(line))]
    period, step = stamps[-1] + 1, max(ids) + 1
    first = next(i for i, line in enumerate(lines) if b"GC(" in line)
    written = sum(map(out.write, lines[:first]))
    body, turn = lines[first:], 0
    while written < size:
        shift, base = turn * period, turn * step

        def moved(line):
            line = STAMP.sub(lambda m: b"[%.3fs]" % (float(m.group(1)) + shift), line)
            return GC_ID.sub(lambda m: b"GC(%d)" % (int(m.group(1)) + base), line)

        written += out.write(b"".join(map(moved, body)))
        turn += 1


def jit(lines, out, size):
    """LogCompilation: head, the main stream and every thread's stream repeated, and the foot."""
    tty = next(i for i, line in enumerate(lines) if line.startswith(b"<tty>"))
    end = next(i for i, line in enumerate(lines) if line.startswith(b"</tty>"))
    foot = next(i for i in range(len(lines) - 1, 0, -1) if line_is_foot(lines[i]))
    stamps = [float(m.group(1)) for line in lines if (m := XML_STAMP.search(line))]
    ids = [int(m.group(1)) for line in lines if (m := XML_ID.search(line))]
    period, step = max(stamps) + 1, max(ids) + 1
    whole = sum(map(len, lines))
    turns = max(1, round(size / whole))

    def moved(block, turn):
        def one(line):
            line = XML_STAMP.sub(lambda m: b" stamp='%.3f'" % (float(m.group(1)) + turn * period), line)
            return XML_ID.sub(lambda m: b" compile_id='%d'" % (int(m.group(1)) + turn * step), line)

        return b"".join(map(one, block))

    out.write(b"".join(lines[: tty + 1]))
    for turn in range(turns):
        out.write(moved(lines[tty + 1 : end], turn))
    out.write(b"</tty>\n")
    for turn in range(turns):
        out.write(moved(lines[end + 1 : foot], turn))
    out.write(b"".join(lines[foot:]))


def jfr(data, out, size):
    """The chunks of a finished flight recording. Stamps of events count from the start of their
    chunk, so that only the start in its header is moved on."""
    chunks, at = [], 0
    while at < len(data):
        if data[at : at + 4] != b"FLR\0":
            sys.exit(f"replicate: no chunk begins at {at}")
        length = struct.unpack_from(">q", data, at + 8)[0]
        if length <= 0:
            sys.exit(f"replicate: the chunk at {at} is not finished")
        chunks.append(data[at : at + length])
        at += length
    times = [struct.unpack_from(">qq", chunk, 32) for chunk in chunks]
    period = max(start + lasted for start, lasted in times) - times[0][0] + 1_000_000
    written, shift = 0, 0
    while written < size:
        for chunk, (start, _) in zip(chunks, times):
            written += out.write(chunk[:32] + struct.pack(">q", start + shift) + chunk[40:])
        shift += period


def line_is_foot(line):
    return line.startswith(b"<hotspot_log_done") or line.startswith(b"</hotspot_log>")


def main():
    kind, source, target, megabytes = sys.argv[1:]
    with open(source, "rb") as file:
        content = file.read() if kind == "jfr" else file.readlines()
    with open(target, "wb", buffering=1 << 20) as out:
        {"gc": gc, "jit": jit, "jfr": jfr}[kind](content, out, int(megabytes) * 1_000_000)


main()
