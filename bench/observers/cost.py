#!/usr/bin/env python3
"""What it costs to be watched, and whether what is reported is true: fathom compared with the tools
that people use.

    sudo bench/observers/cost.py                       # an hour, on a machine that does nothing else
    sudo bench/observers/cost.py --loads syscalls:300000:1 --rounds 5
    sudo bench/observers/cost.py --loads locks --tools fathom 'perf sched'
    sudo bench/observers/cost.py --soak 60             # as many system calls as the machine makes, for an hour

Four programs (EventLoads.java) make system calls, wait for locks, fault on fresh pages, or wake
each other; between its events a program computes, for as long as makes the asked rate when nobody
watches, so that what watching takes is missing in its operations. A load is named NAME[:EVENTS A
SECOND[:THREADS]]; 0: as many as the machine makes.

Turns of all tools are interleaved and their order moves on with each round; a figure is the median
over the rounds of the ratio to the turns with nothing in the same round and JVM (there are two:
"nothing, once more" is one against the other, and shows what of a difference is noise), with its
95% interval; up to five rounds, with the smallest and the largest. Tools that load something into
the JVM have one of their own. A tool has begun before its turn does. What a tool has counted is
compared with what the program has counted itself, and, of switches and faults, against what the
kernel has counted for its threads. A tool that does not work here is listed with what it said.
"""
import argparse, collections, os, signal, statistics, subprocess, sys, tempfile, time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "profilers"))
import measure
import tools

HERE = Path(__file__).resolve().parent
# Ordinary rates; then what "everything on" must bear, by all threads together and by one alone;
# 70,000 switches a second come with 70,000 wakings and 160,000 system calls.
LOADS = ["syscalls:20000:2", "locks", "faults:20000:2", "switches:10000:2", "syscalls:300000:2", "syscalls:300000:1", "faults:300000:2", "switches:70000:2", "switches:0:2"]
NOTHING, AGAIN = "nothing", "nothing, once more"


class Turn:
    """What a program says of its own work: operations a second, latencies, and what it counted."""

    def __init__(self, words):
        self.rate, self.median, self.tail = map(float, words[:3])
        self.known = {what: int(amount) for what, amount in (word.split("=") for word in words[3:])}
        self.cpu = self.known["cpu_ns"] / max(1, self.known["events"])
        self.events = self.known["events"] / (self.known["wall_ns"] / 1e9)

    def figures(self):
        return self.rate, self.median, self.tail, self.cpu

    def window(self):
        begin = self.known["begin_ms"] * 1_000_000
        return begin, begin + self.known["wall_ns"]

    def truth(self):
        """`what: (how many, nanoseconds)`, in the words of `tools`."""
        known = self.known
        waits = {name: (known[f"long_{what}_count"], known[f"long_{what}_ns"]) for what, name in (("receive", "recvfrom ≥ 1 ms"), ("monitor", "monitor ≥ 1 ms"), ("lock", "lock ≥ 1 ms"))}
        if known["receive_count"]:
            return {"pwrite64": (known["events"], None), "recvfrom": (known["receive_count"], known["receive_ns"]), "recvfrom ≥ 1 ms": waits["recvfrom ≥ 1 ms"]}
        if known["touch_ns"]:
            return {"page faults": (known["faults"], known["touch_ns"])}
        found = {"off the CPU": (known["switches"], known["off_cpu_ns"])}
        return found | {what: pair for what, pair in waits.items() if pair[0]}


def turn(jvm, seconds):
    jvm.child.stdin.write(f"{seconds}\n")
    jvm.child.stdin.flush()
    # async-profiler prints what it does.
    for words in map(str.split, jvm.child.stdout):
        if words[:1] == ["turn"]:
            return Turn(words[1:])
    raise SystemExit("the program has ended in a turn")


class Kept:
    """All that was found of one load."""

    def __init__(self):
        self.ratios, self.errors = collections.defaultdict(list), collections.defaultdict(list)
        self.own, self.lost, self.refused, self.base = collections.defaultdict(list), {}, {}, collections.defaultdict(list)


def watched(options, jvm, tool, kept):
    """A run with a tool; None when it does not work here."""
    try:
        tool.begin(jvm, options.settle)
        done = turn(jvm, options.seconds)
        seen = tool.end(done.window())
    except tools.Refused as refused:
        kept.refused[tool.name] = str(refused)
        return None
    truth = done.truth()
    for what, found in seen.counts.items():
        if what in truth:
            kept.errors[tool.name, what].append(tuple(None if a is None or not b else a / b - 1 for a, b in zip(found, truth[what])))
    if seen.lost:
        kept.lost[tool.name] = seen.lost
    if seen.cpu_s is not None:
        kept.own[tool.name].append((seen.cpu_s, seen.peak_mb))
    return done


def one_round(options, jvm, some, number, kept, place):
    """Turns of all tools and two of nothing, in an order that moves on."""
    ways = [NOTHING, *some[: (len(some) + 1) // 2], AGAIN, *some[(len(some) + 1) // 2 :]]
    shift = 2 * number % len(ways)
    here = {}
    for way in ways[shift:] + ways[:shift]:
        if isinstance(way, str):
            time.sleep(options.settle)
            here[way] = turn(jvm, options.seconds)
        elif way.name not in kept.refused:
            measure.say(f"round {number + 1} of {options.rounds}, {way.name}")
            done = watched(options, jvm, way, kept)
            if done:
                here[way.name] = done
    first, again = here[NOTHING].figures(), here[AGAIN].figures()
    base = [(a + b) / 2 for a, b in zip(first, again)]
    kept.base[place].append((*base, (here[NOTHING].events + here[AGAIN].events) / 2))
    kept.ratios[f"{AGAIN} ({place})"].append(tuple(b / a - 1 for a, b in zip(first, again)))
    for way in some:
        if way.name in here:
            kept.ratios[way.name].append(tuple(a / b - 1 for a, b in zip(here[way.name].figures(), base)))


def program(load):
    name, _, more = load.partition(":")
    rate, _, threads = more.partition(":")
    return ["EventLoads", name, rate or "0", threads or str(os.cpu_count())]


def show(options, load, kept):
    print(f"\n### {load}\n")
    for place, rounds in kept.base.items():
        rates, medians, tails, cpu, events = zip(*rounds)
        print(f"Without a tool, JVM {place}: {statistics.median(events):,.0f} events a second ({min(events):,.0f} … {max(events):,.0f}), an operation {statistics.median(medians) / 1e3:.1f} µs, 99th percentile {statistics.median(tails) / 1e3:.1f} µs, {statistics.median(cpu) / 1e3:.2f} µs of CPU an event.")
    print("\n| recorded by | operations a second | median latency | 99th percentile | CPU an event | the tool's own CPU, s | peak MB |\n|---|---|---|---|---|---|---|")
    for name, rounds in kept.ratios.items():
        own = kept.own.get(name)
        took = f"{statistics.median(o[0] for o in own):.2f} | {max(o[1] for o in own):.0f}" if own else "- | -"
        print(f"| {name} | " + " | ".join(measure.spread(column) for column in zip(*rounds)) + f" | {took} |")
    print("\n| tool | what | how many, against the truth | how long |\n|---|---|---|---|")
    for (name, what), errors in kept.errors.items():
        cells = [measure.spread(some, 2) if (some := [e for e in column if e is not None]) else "does not tell" for column in zip(*errors)]
        print(f"| {name} | {what} | " + " | ".join(cells) + " |")
    for name, lost in kept.lost.items():
        print(f"\nLost or left out, as {name} says itself: {lost}")
    for name, why in kept.refused.items():
        print(f"\nNot measured: {name}: {why}")
    sys.stdout.flush()


def measured(options, load):
    kept = Kept()
    command = program(load)
    chosen = [tool for tool in tools.of(command[1]) if not options.tools or any(word in tool.name for word in options.tools)]
    places = [("watched from outside", [tool for tool in chosen if not tool.inside]), ("with an agent", [tool for tool in chosen if tool.inside])]
    for place, some in places:
        if not some:
            continue
        measure.say(f"{load}, JVM {place}: finding its rate")
        with measure.Jvm(options.jdk, ["-XX:+UseSerialGC"], command) as jvm:
            turn(jvm, options.warm)
            for number in range(options.rounds):
                one_round(options, jvm, some, number, kept, place)
    show(options, load, kept)


def memory_of(pid):
    """Resident memory in MB: (all, what is its own)."""
    lines = dict(line.split(":", 1) for line in Path(f"/proc/{pid}/status").read_text().splitlines() if ":" in line)
    return tuple(int(lines[what].split()[0]) / 1024 for what in ("VmRSS", "RssAnon"))


def soak(options):
    """All collectors with as many events as the machine makes; what fathom takes meanwhile."""
    place = options.work / "soak.fathom"
    print(f"\n### {options.soak:g} minutes of {options.soak_load}\n\n| minute | events a second | fathom: resident MB | of it its own | its CPU, % of a CPU | recording MB |\n|---|---|---|---|---|---|")
    with measure.Jvm(options.jdk, ["-XX:+UseSerialGC"], program(options.soak_load)) as jvm, tempfile.TemporaryFile("w+") as said_by_it:
        recorder = subprocess.Popen([str(w) for w in (options.fathom, "record", "-p", jvm.pid, "-o", place)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=said_by_it)
        time.sleep(options.settle)
        begin = time.monotonic()
        cpu = lambda: sum(map(int, Path(f"/proc/{recorder.pid}/stat").read_text().rsplit(")", 1)[1].split()[11:13])) / os.sysconf("SC_CLK_TCK")
        while (past := time.monotonic() - begin) < 60 * options.soak:
            before, at = cpu(), time.monotonic()
            done = turn(jvm, min(options.every, max(1, 60 * options.soak - past)))
            if recorder.poll() is not None:
                said_by_it.seek(0)
                print(f"\nfathom has ended: {said_by_it.read()}")
                return
            share = (cpu() - before) / (time.monotonic() - at)
            size = sum(file.stat().st_size for file in place.rglob("*") if file.is_file()) / 1e6
            resident, own = memory_of(recorder.pid)
            print(f"| {(time.monotonic() - begin) / 60:.1f} | {done.events:,.0f} | {resident:.0f} | {own:.0f} | {100 * share:.1f} | {size:.1f} |", flush=True)
        peak = measure.peak_mb(recorder.pid)
        recorder.send_signal(signal.SIGINT)
        _, status, usage = os.wait4(recorder.pid, 0)
        recorder.returncode = os.waitstatus_to_exitcode(status)
    said = tools.read_fathom(argparse.Namespace(data=place, window=(0, 0)))[1]
    print(f"\nfathom ended with {recorder.returncode}; {usage.ru_utime + usage.ru_stime:.1f} CPU seconds, {peak:.0f} MB at most. It says: {said or 'nothing was lost'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fathom", default=measure.ROOT / "target/release/fathom", type=Path)
    parser.add_argument("--jdk", default=os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64"), help="17 or later, with javac and jcmd")
    parser.add_argument("--loads", nargs="*", default=LOADS, metavar="LOAD", help=f"[{' '.join(LOADS)}]")
    parser.add_argument("--tools", nargs="*", metavar="WORD", help="those with one of these in their name (all)")
    parser.add_argument("--seconds", type=float, default=5, help="of a turn [5]")
    parser.add_argument("--settle", type=float, default=2.5, help="seconds before a turn, for a tool to begin [2.5]")
    parser.add_argument("--warm", type=float, default=5, help="seconds of work of each JVM before the first turn, besides finding its rate [5]")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--soak", type=float, metavar="MINUTES", help="nothing but this: fathom with --soak-load for so long")
    parser.add_argument("--soak-load", default=f"syscalls:0:{os.cpu_count()}", metavar="LOAD")
    parser.add_argument("--every", type=float, default=10, help="seconds between two lines of the soak [10]")
    options = parser.parse_args()
    if os.geteuid():
        raise SystemExit("tools that look into the kernel need root")
    measure.prepare(options, programs=(("17", HERE / "EventLoads.java"), ("17", HERE / "LongWaits.java")))
    try:
        print(f"{measure.run(options.fathom, '--version').stdout.strip()}, {os.uname().sysname} {os.uname().release}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before; turns of {options.seconds:g} s, {options.rounds} rounds")
        versions = [measure.run(*words).stdout.splitlines()[:1] for words in (("strace", "--version"), ("perf", "--version"), ("bpftrace", "--version")) if tools.shutil.which(words[0])]
        print("; ".join(line[0] for line in versions if line) + f"; async-profiler {measure.AP_VERSION}; {measure.run(f'{options.jdk}/bin/java', '-version').stderr.splitlines()[-2]}")
        if options.soak:
            soak(options)
        else:
            for load in options.loads:
                measured(options, load)
        print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")
    finally:
        measure.run("rm", "-rf", options.work)


if __name__ == "__main__":
    main()
