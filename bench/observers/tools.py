"""The tools that are compared with each other: how each is set to work on a JVM, and what it says
it has seen.

A tool is begun, has time to settle, sees a run of the load, and is ended; `end`, which gets from
when to when the run was, in nanoseconds since the epoch, gives a `Seen`. One that cannot work here
raises `Refused` with the reason that it printed.
"""
import collections, csv, json, os, re, shutil, signal, subprocess, time
from pathlib import Path

import measure

# x86-64: arch/x86/entry/syscalls/syscall_64.tbl
NUMBERS = {18: "pwrite64", 45: "recvfrom"}
# Threads of EventLoads that it counts itself.
ACTORS = re.compile(r"(worker|partner|monitor|lock|sender|receiver)(-\d+)?$")
CALLS = ("pwrite64", "recvfrom")
LONG_NS = 1_000_000
# A tool that does not end when it is asked to.
PATIENCE_S = 120


class Refused(Exception):
    """A tool does not work here: why."""


class Seen:
    """What a tool has counted, `what: (how many, nanoseconds)`, None where it does not tell; what
    it says it has lost.
    """

    def __init__(self, counts=None, lost="", cpu_s=None, peak_mb=None):
        self.counts, self.lost, self.cpu_s, self.peak_mb = counts or {}, lost, cpu_s, peak_mb


class Child:
    """A tool that is a program of its own and ends at Ctrl-C, or when the command that it was given
    does (`by_command`).
    """

    def __init__(self, command, by_command=False):
        self.by_command, self.command = by_command, [str(word) for word in command]
        self.out, self.err = (measure.OPTIONS.work / f"tool.{end}" for end in ("out", "err"))
        if not shutil.which(self.command[0]):
            raise Refused(f"{self.command[0]} is not installed")
        with open(self.out, "w") as out, open(self.err, "w") as err:
            self.child = subprocess.Popen(self.command, stdin=subprocess.DEVNULL, stdout=out, stderr=err)

    def settle(self, seconds):
        time.sleep(seconds)
        if self.child.poll() is not None:
            said = (self.err.read_text(errors="replace") + self.out.read_text(errors="replace")).strip().splitlines()
            raise Refused(f"it ends at once: {' / '.join(said[-3:])[:300] or self.child.returncode}")

    def end(self):
        """(CPU seconds, peak memory in MB)."""
        ends = Path(f"/proc/{self.child.pid}/task/{self.child.pid}/children").read_text().split() if self.by_command else []
        for pid in ends:
            os.kill(int(pid), signal.SIGTERM)
        if not ends:
            self.child.send_signal(signal.SIGINT)
        until, peak = time.monotonic() + PATIENCE_S, 0
        while True:
            peak = max(peak, measure.peak_mb(self.child.pid))
            pid, _, usage = os.wait4(self.child.pid, os.WNOHANG)
            if pid:
                self.child.returncode = 0
                return usage.ru_utime + usage.ru_stime, peak
            if time.monotonic() > until:
                self.child.kill()
                os.wait4(self.child.pid, 0)
                self.child.returncode = 0
                raise Refused(f"does not end within {PATIENCE_S} s of Ctrl-C")
            time.sleep(0.05)


class Tool:
    """A tool that runs next to the JVM."""

    inside = False

    def __init__(self, name, command, read, by_command=False):
        self.name, self.command, self.read, self.by_command = name, command, read, by_command

    def begin(self, jvm, settle):
        self.jvm = jvm
        self.data = measure.OPTIONS.work / "tool.data"
        measure.run("rm", "-rf", self.data, f"{self.data}.old")
        fill = {"pid": jvm.pid, "data": self.data}
        self.child = Child([re.sub(r"\{(pid|data)\}", lambda m: str(fill[m[1]]), str(word)) for word in self.command], self.by_command)
        self.child.settle(settle)

    def end(self, window):
        self.window = window
        cpu_s, peak_mb = self.child.end()
        counts, lost = self.read(self)
        return Seen(counts, lost, cpu_s, peak_mb)

    @property
    def said(self):
        return self.child.out.read_text(errors="replace") + self.child.err.read_text(errors="replace")


def add(counts, what, count, ns):
    known = counts.get(what, (0, 0))
    counts[what] = tuple(None if b is None else (a or 0) + b for a, b in zip(known, (count, ns)))


# fathom


def rows(recording, table, wanted):
    """Rows of a table of a recording as dictionaries, those with `wanted` in their line."""
    file = measure.OPTIONS.work / f"{table}.csv"
    done = measure.run(measure.OPTIONS.fathom, "export", recording, "--format", "csv", "--table", table, "-o", file)
    if done.returncode:
        # Nothing of the kind is in it.
        return
    csv.field_size_limit(1 << 24)
    with open(file, errors="replace") as lines:
        for row in csv.DictReader(lines):
            if row["kind"] in wanted:
                yield row


def read_fathom(tool):
    info = json.loads(measure.run(measure.OPTIONS.fathom, "info", "--json", tool.data).stdout)
    counts = {}
    for row in rows(tool.data, "counts", {"syscall.totals", "page-faults"}):
        name = "page faults" if row["kind"] == "page-faults" else row["name"]
        if ACTORS.match(row["thread"]) and (name in CALLS or name == "page faults"):
            add(counts, name, int(row["count"]), int(row["total_ns"]))
    for row in rows(tool.data, "spans", {"syscall", "lock.monitor", "lock.park", "sched.off-cpu"}):
        kind, length = row["kind"], int(row["t1_ns"]) - int(row["t0_ns"])
        if not ACTORS.match(row["thread"]):
            continue
        if kind == "syscall" and row["name"] == "recvfrom" and length >= LONG_NS:
            add(counts, "recvfrom ≥ 1 ms", 1, length)
        elif kind == "lock.monitor" and length >= LONG_NS:
            add(counts, "monitor ≥ 1 ms", 1, length)
        elif kind == "lock.park" and length >= LONG_NS and "ReentrantLock" in row["name"]:
            add(counts, "lock ≥ 1 ms", 1, length)
        elif kind == "sched.off-cpu":
            # Its threads wait for their turn, before and after.
            within = min(int(row["t1_ns"]), tool.window[1]) - max(int(row["t0_ns"]), tool.window[0])
            add(counts, "off the CPU", None, max(0, within))
    for row in rows(tool.data, "samples", {"off-cpu", "run-queue"}):
        if ACTORS.match(row["thread"]):
            add(counts, "off the CPU", None, int(row["weight"]))
    said = [f"{source['name']}: {source['lost']} records lost" for source in info["sources"] if source.get("lost")]
    said += [f"{unseen['what']}: {unseen['why']}" for source in info["sources"] for unseen in source["unseen"]]
    return counts, "; ".join(dict.fromkeys(said))


def fathom(name, *only):
    """`only`: the collectors that are left on (fathom wants one of those that every recording lives
    by: `jvm-counters` is the cheapest); none: all that are on by default."""
    collectors = ("cpu", "jvm-events", "jvm-counters", "sched", "locks", "syscalls", "memory", "disk", "network", "host")
    without = [word for other in collectors if only and other not in only for word in ("--without", other)]
    return Tool(name, [measure.OPTIONS.fathom, "record", "-p", "{pid}", "-o", "{data}", *without], read_fathom)


# strace, perf


def read_strace_summary(tool):
    counts = {}
    for line in tool.said.splitlines():
        words = line.split()
        if len(words) >= 5 and words[-1] in CALLS:
            add(counts, words[-1], int(words[3]), float(words[1]) * 1e9)
    return counts, ""


def read_strace_lines(tool):
    counts = {}
    with open(tool.data, errors="replace") as lines:
        for line in lines:
            found = re.match(r"\d+ +(?:<\.\.\. )?(\w+)(?: resumed|\()", line)
            took = re.search(r"<([\d.]+)>$", line)
            if found and took and found[1] in CALLS:
                ns = float(took[1]) * 1e9
                add(counts, found[1], 1, ns)
                if found[1] == "recvfrom" and ns >= LONG_NS:
                    add(counts, "recvfrom ≥ 1 ms", 1, ns)
    return counts, ""


def losses(text):
    """Lines in which perf or bpftrace say that something was lost."""
    found = collections.Counter()
    for line in text.splitlines():
        if re.search(r"\blost\b", line, re.I) and not re.search(r"\blost 0\b", line, re.I):
            numbers = re.findall(r"(?:lost|LOST) (\d+)", line)
            found["lost events" if numbers else line.strip()[:120]] += sum(map(int, numbers)) or 1
    return "; ".join(f"{count} {what}" for what, count in found.items())


def read_perf_trace(tool):
    counts, said = {}, tool.data.read_text(errors="replace")
    for line in said.splitlines():
        words = line.split()
        if len(words) >= 6 and words[0] in CALLS and words[1].isdigit():
            add(counts, words[0], int(words[1]), float(words[3]) * 1e6)
    return counts, losses(said + tool.said)


def perf_trace(*how):
    # Ctrl-C cuts its summary short (6.1): it is given a command to wait for.
    name = " ".join(("perf trace", *how))
    return Tool(name, ["perf", "trace", *how, "-p", "{pid}", "-o", "{data}", "sleep", "3600"], read_perf_trace, by_command=True)


def read_perf_sched(tool):
    counts = {}
    done = measure.run("perf", "sched", "timehist", "-i", tool.data, "--pid", tool.jvm.pid)
    if done.returncode:
        raise Refused(f"perf sched timehist: {done.stderr.strip().splitlines()[-1:]}")
    for line in done.stdout.splitlines():
        found = re.match(r"\s*[\d.]+ +\[\d+\] +(\S+)\[\S+\] +([\d.]+) +([\d.]+) +([\d.]+)", line)
        if found and ACTORS.match(found[1]):
            add(counts, "off the CPU", 1, float(found[2]) * 1e6)
    return counts, losses(tool.said + done.stderr)


def read_perf_faults(tool):
    counts = {}
    done = measure.run("perf", "script", "-i", tool.data, "-F", "comm")
    for line in done.stdout.splitlines():
        if ACTORS.match(line.strip()):
            add(counts, "page faults", 1, None)
    return counts, losses(tool.said + done.stderr)


# bpftrace, libbpf-tools

SYSCOUNT = """tracepoint:raw_syscalls:sys_enter /pid == {pid}/ { @from[tid] = nsecs; }
tracepoint:raw_syscalls:sys_exit /pid == {pid} && @from[tid]/ {
  $ns = nsecs - @from[tid]; delete(@from[tid]); @count[args->id] = count(); @ns[args->id] = sum($ns);
  if ($ns >= 1000000) { @slow[args->id] = count(); @slow_ns[args->id] = sum($ns); } }
END { clear(@from); }"""
OFFCPUTIME = """tracepoint:sched:sched_switch {
  $next = args->next_pid;
  if (@from[$next]) { $ns = nsecs - @from[$next]; @stacks[@stack[$next]] = sum($ns); @count[args->next_comm] = count(); @ns[args->next_comm] = sum($ns); delete(@from[$next]); }
  if (pid == {pid}) { @from[tid] = nsecs; @stack[tid] = kstack; } }
END { clear(@from); clear(@stack); clear(@stacks); }"""
FAULTS = "software:page-faults:1 /pid == {pid}/ { @count[comm] = count(); }"


def read_bpftrace(tool):
    counts, maps = {}, {}
    for line in tool.child.out.read_text(errors="replace").splitlines():
        answer = json.loads(line) if line.startswith("{") else {}
        if answer.get("type") == "map":
            maps.update(answer["data"])
    number = lambda name, key: maps.get(name, {}).get(key)
    for key, name in NUMBERS.items():
        if number("@count", str(key)) is not None:
            add(counts, name, number("@count", str(key)), number("@ns", str(key)))
        if name == "recvfrom" and number("@slow", str(key)) is not None:
            add(counts, "recvfrom ≥ 1 ms", number("@slow", str(key)), number("@slow_ns", str(key)))
    for comm, count in maps.get("@count", {}).items():
        if ACTORS.match(comm):
            what = "off the CPU" if "@ns" in maps else "page faults"
            add(counts, what, count, number("@ns", comm))
    return counts, losses(tool.said)


def bpftrace(name, program):
    return Tool(name, ["bpftrace", "-f", "json", "-e", program], read_bpftrace)


def read_offcputime(tool):
    counts, name = {}, ""
    for line in tool.child.out.read_text(errors="replace").splitlines():
        # Behind each stack: "    -  name (tid)", and microseconds on the next line.
        found = re.match(r"\s+-\s+(\S+) \(\d+\)$", line)
        if found:
            name = found[1]
        elif re.match(r"\s+\d+$", line) and ACTORS.match(name):
            add(counts, "off the CPU", None, int(line) * 1e3)
    return counts, losses(tool.said)


def read_syscount(tool):
    counts = {}
    for line in tool.child.out.read_text(errors="replace").splitlines():
        words = line.split()
        if len(words) >= 3 and words[0] in CALLS:
            add(counts, words[0], int(words[1]), float(words[2]) * 1e3)
    return counts, losses(tool.said)


# Inside the JVM


class Jfr:
    """The JVM's flight recorder: waits for locks, however short."""

    inside, name = True, "JFR, lock events from 0 on"

    def begin(self, jvm, settle):
        self.jvm, self.file = jvm, measure.OPTIONS.work / "locks.jfr"
        measure.run("rm", "-f", self.file)
        events = [f"+jdk.{event}#{what}" for event in ("JavaMonitorEnter", "ThreadPark") for what in ("enabled=true", "threshold=0ns", "stackTrace=true")]
        said = jvm.jcmd("JFR.start", "name=locks", "settings=none", *events)
        if "Started recording" not in said.stdout:
            raise Refused(" ".join((said.stdout + said.stderr).split())[:300])
        time.sleep(settle)

    def end(self, _):
        self.jvm.jcmd("JFR.stop", "name=locks", f"filename={self.file}")
        return Seen(*read_flight(self.file))


class AsyncProfiler:
    """async-profiler, loaded into the JVM; `what`: its options."""

    inside = True

    def __init__(self, name, what):
        self.name, self.what = name, what

    def begin(self, jvm, settle):
        self.jvm, self.file = jvm, measure.OPTIONS.work / "tool.jfr"
        measure.run("rm", "-f", self.file)
        if not measure.OPTIONS.library:
            raise Refused("it could not be had from Maven Central")
        said = jvm.jcmd("JVMTI.agent_load", measure.OPTIONS.library, f'"start,jfr,{self.what},file={self.file}"')
        if "return code: 0" not in said.stdout:
            raise Refused(" ".join((said.stdout + said.stderr).split())[:300])
        time.sleep(settle)

    def end(self, _):
        self.jvm.jcmd("JVMTI.agent_load", measure.OPTIONS.library, f'"stop,file={self.file}"')
        return Seen(*read_flight(self.file)) if "lock" in self.what else Seen()


def read_flight(file):
    done = measure.run(f"{measure.OPTIONS.jdk}/bin/java", "-cp", measure.OPTIONS.classes, "LongWaits", file)
    if done.returncode:
        raise Refused(f"its recording does not read: {done.stderr.strip()[:200]}")
    counts, lost = {}, ""
    for kind, count, ns in map(str.split, done.stdout.splitlines()):
        if kind.startswith("long_"):
            add(counts, f"{kind[5:]} ≥ 1 ms", int(count), int(ns))
        elif kind == "lost_bytes":
            lost = f"{ns} bytes"
    return counts, lost


def of(load):
    """The tools of a load, fathom first."""
    everything = fathom("fathom, all")
    wall = AsyncProfiler("async-profiler, wall", "event=wall,interval=10ms")
    offcpu = [
        Tool("perf sched record", ["perf", "sched", "record", "-o", "{data}"], read_perf_sched),
        bpftrace("bpftrace, off-CPU by stack", OFFCPUTIME),
        Tool("offcputime (libbpf-tools)", ["offcputime", "-p", "{pid}"], read_offcputime),
    ]
    calls = [
        Tool("strace -f -c -w", ["strace", "-f", "-c", "-w", "-p", "{pid}"], read_strace_summary),
        Tool("strace -f -T", ["strace", "-f", "-T", "-p", "{pid}", "-o", "{data}"], read_strace_lines),
        perf_trace("-s"),
    ]
    if load == "syscalls":
        syscount = [bpftrace("bpftrace, calls", SYSCOUNT), Tool("syscount -L (libbpf-tools)", ["syscount", "-p", "{pid}", "-L", "-T", "100"], read_syscount)]
        return [everything, fathom("fathom, syscalls", "syscalls", "jvm-counters"), *calls, *syscount, wall]
    if load == "locks":
        inside = [Jfr(), AsyncProfiler("async-profiler, lock", "event=lock,lock=1ns"), wall]
        return [everything, fathom("fathom, locks", "locks", "jvm-counters"), *calls, *offcpu, *inside]
    if load == "faults":
        faults = Tool("perf record -e page-faults -c 1 -g", ["perf", "record", "-e", "page-faults", "-c", "1", "-g", "-p", "{pid}", "-o", "{data}"], read_perf_faults)
        return [everything, fathom("fathom, memory", "memory", "jvm-counters"), faults, perf_trace("-F", "all", "-s"), bpftrace("bpftrace, faults", FAULTS), wall]
    return [everything, fathom("fathom, sched", "sched"), *calls[:1], *offcpu, wall]
