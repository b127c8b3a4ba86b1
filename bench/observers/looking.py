#!/usr/bin/env python3
"""What looking costs, and what it changes: tools that look at a whole program, on three loads.

    sudo bench/observers/looking.py                          # JDK 25 or later, for all three ways of fathom method
    sudo bench/observers/looking.py --jdk HOME --rounds 2 --loads locks --tools strace 'fathom
    method'

Each tool gets a JVM of its own in each round, so that what one has changed is not met by the next;
rounds are interleaved, and their order moves on. In a JVM: a turn of the load with nothing, one in
the middle of which the tool begins (its longest operation is the pause), one with it, and one when
it has ended. Figures are ratios to the first turn of the same JVM; "nothing" has all turns and no
tool: it shows what of a ratio is noise. What is left is what the JVM has when the tool has ended
and did not have before it began.
"""
import argparse, collections, os, re, statistics, sys, threading, time
from pathlib import Path

sys.dont_write_bytecode = True
HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "profilers"))
import cost
import measure
import tools

LOADS = ["syscalls:20000:2", "locks", "faults:20000:2"]
# A method of each load that is called for each of its events.
METHODS = {"syscalls": "EventLoads$Tally::spin", "locks": "EventLoads$Locks::hold", "faults": "EventLoads$Tally::spin"}
FRAME_POINTERS = "-XX:+PreserveFramePointer"


class Program:
    """A tool that is a program and ends at Ctrl-C. `before`: what the JVM is asked for first."""

    def __init__(self, name, command, flags=(), before="", by_command=False):
        self.name, self.command, self.flags, self.before, self.by_command = name, command, flags, before, by_command

    def begin(self, jvm, method):
        self.jvm, self.data = jvm, measure.OPTIONS.work / "tool.data"
        measure.run("rm", "-rf", self.data)
        if self.before:
            jvm.jcmd(*self.before.split())
        fill = {"pid": jvm.pid, "data": self.data, "method": method, "fathom": measure.OPTIONS.fathom}
        words = [re.sub(r"\{(\w+)\}", lambda m: str(fill[m[1]]), str(word)) for word in self.command]
        self.child = tools.Child(words, self.by_command)

    def check(self):
        self.child.settle(0)

    def end(self):
        self.child.end()
        if self.before:
            # perf needs the names of code that was compiled meanwhile.
            self.jvm.jcmd(*self.before.split())


class Asked:
    """A tool inside of the JVM, begun and ended by jcmd."""

    def __init__(self, name, begin, end):
        self.name, self.flags, self.commands = name, (), (begin, end)

    def ask(self, words):
        fill = {"{library}": measure.OPTIONS.library, "{data}": measure.OPTIONS.work / "tool.jfr"}
        for name, value in fill.items():
            words = [word.replace(name, str(value)) for word in words]
        said = self.jvm.jcmd(*words)
        if said.returncode or "return code: -" in said.stdout:
            raise tools.Refused(" ".join((said.stdout + said.stderr).split())[:200])

    def begin(self, jvm, method):
        self.jvm = jvm
        if "{library}" in self.commands[0] and not measure.OPTIONS.library:
            raise tools.Refused("it could not be had from Maven Central")
        self.ask(self.commands[0])

    def check(self):
        pass

    def end(self):
        self.ask(self.commands[1])


class Nothing:
    name, flags = "nothing", ()

    def begin(self, jvm, method):
        pass

    check = end = lambda self: None


def ways():
    method = ["{fathom}", "method", "-p", "{pid}", "{method}", "--max-rate", "2000000"]
    perf = ["perf", "record", "-q", "-F", "99", "-g", "-p", "{pid}", "-o", "{data}"]
    return [
        Nothing(),
        Program("perf, perf map", perf, before="Compiler.perfmap"),
        Program("perf, perf map, frame pointers", perf, (FRAME_POINTERS,), before="Compiler.perfmap"),
        Asked("async-profiler, cpu", ["JVMTI.agent_load", "{library}", '"start,event=cpu,interval=10ms"'], ["JVMTI.agent_load", "{library}", '"stop,collapsed,file={data}"']),
        Asked("JFR, profile", ["JFR.start", "name=x", "settings=profile"], ["JFR.stop", "name=x", "filename={data}"]),
        Program("strace -f -c", ["strace", "-f", "-c", "-p", "{pid}", "-o", "{data}"]),
        Program("fathom record", ["{fathom}", "record", "-p", "{pid}", "-o", "{data}"]),
        Program("fathom record, cpu alone", ["{fathom}", "record", "-p", "{pid}", "-o", "{data}", *measure.ONLY_CPU]),
        Program("fathom record --engine jfr", ["{fathom}", "record", "-p", "{pid}", "-o", "{data}", "--engine", "jfr"]),
        Program("fathom method, breakpoint", [*method, "--way", "breakpoint"]),
        Program("fathom method, jfr", [*method, "--way", "jfr"]),
        Program("fathom method, agent", [*method, "--way", "agent"]),
    ]


def state(jvm):
    """What a tool may leave: compiled methods, threads, descriptors, mappings, classes, files."""
    # Number, level, state and method, of what calls reach: what they do not reach any more is
    # listed for a while.
    lines = [line.split()[:4] for line in jvm.jcmd("Compiler.codelist").stdout.splitlines() if "[" in line]
    codes = {tuple(line) for line in lines if line[2] == "0"}
    classes = re.search(r"loadedClasses=(\d+)", jvm.jcmd("PerfCounter.print").stdout)
    place = Path(f"/proc/{jvm.pid}")
    mapped = {line.split(maxsplit=5)[5] for line in (place / "maps").read_text().splitlines() if len(line.split(maxsplit=5)) == 6 and line.split(maxsplit=5)[5].startswith("/")}
    threads = collections.Counter((place / f"task/{task}/comm").read_text().strip() for task in os.listdir(place / "task"))
    own = {name for name in os.listdir("/tmp") if str(jvm.pid) in name and not name.startswith(".java_pid")}
    return {"codes": codes, "classes": int(classes[1]) if classes else 0, "mapped": mapped, "threads": threads, "fds": len(os.listdir(place / "fd")), "files": own}


def left(before, after):
    """In words, what is there that was not."""
    words = []
    # A JVM replaces code by itself: what a method has thrown away and not made anew is what a tool
    # costs, and "nothing" shows how much of that comes by itself.
    same = len(before["codes"] & after["codes"]) / max(1, len(before["codes"]))
    methods, now = ({code[3] for code in state["codes"]} for state in (before, after))
    compiled = methods & now
    words.append(f"{len(compiled) / max(1, len(methods)):.1%} of {len(methods)}; {same:.0%} the same")
    more = after["threads"] - before["threads"]
    # The JVM starts compilers as it needs them.
    names = [name for name in more.elements() if not re.match(r"C[12] Comp", name)]
    words.append(", ".join(names) or "none")
    files = {Path(name).name for name in after["mapped"] - before["mapped"]} | (after["files"] - before["files"])
    words.append(", ".join(sorted(re.sub(r"\d{3,}", "PID", name) for name in files)) or "none")
    words.append(f"{after['classes'] - before['classes']:+}")
    return words


def watched(options, load, way):
    """Ratios of operations with it and behind it, the longest operation when it begins, and what is
    left.
    """
    with measure.Jvm(options.jdk, ["-XX:+UseSerialGC", *way.flags], cost.program(load)) as jvm:
        cost.turn(jvm, options.warm)
        before = state(jvm)
        base = cost.turn(jvm, options.seconds)
        refused = []

        def begin():
            time.sleep(0.5)
            try:
                way.begin(jvm, METHODS[load.split(":")[0]])
            except tools.Refused as why:
                refused.append(why)

        beginning = threading.Thread(target=begin)
        beginning.start()
        attach = cost.turn(jvm, options.attach)
        beginning.join()
        if refused:
            raise refused[0]
        way.check()
        during = cost.turn(jvm, options.seconds)
        way.end()
        time.sleep(1)
        behind = cost.turn(jvm, options.seconds)
        return (
            during.rate / base.rate - 1,
            during.tail / base.tail - 1,
            during.cpu / base.cpu - 1,
            behind.rate / base.rate - 1,
            attach.known["longest_ns"] / 1e6,
            base.known["longest_ns"] / 1e6,
            left(before, state(jvm)),
        )


def measured(options, load):
    chosen = [way for way in ways() if not options.tools or any(word in way.name for word in ["nothing", *options.tools])]
    found, refused = collections.defaultdict(list), {}
    for number in range(options.rounds):
        shift = 3 * number % len(chosen)
        for way in chosen[shift:] + chosen[:shift]:
            if way.name in refused:
                continue
            measure.say(f"{load}, round {number + 1} of {options.rounds}, {way.name}")
            try:
                found[way.name].append(watched(options, load, way))
            except tools.Refused as why:
                refused[way.name] = str(why)
    print(f"\n### {load}\n")
    print("| recorded by | operations a second | 99th percentile | CPU an event | operations when it has ended | longest operation when it begins, ms (without) | methods that still have compiled code; code that is the same | threads left | files left | classes |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for way in chosen:
        rounds = found.get(way.name)
        if rounds:
            columns = list(zip(*rounds))
            cells = [measure.spread(column, 0) for column in columns[:4]]
            pause = f"{statistics.median(columns[4]):.0f} ({statistics.median(columns[5]):.0f})"
            print(f"| {way.name} | " + " | ".join([*cells, pause, *rounds[-1][6]]) + " |")
    for name, why in refused.items():
        print(f"\nNot measured: {name}: {why}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fathom", default=measure.ROOT / "target/release/fathom", type=Path)
    newest = sorted(Path("/usr/lib/jvm").glob("*25*"))
    parser.add_argument("--jdk", default=os.environ.get("JAVA_HOME") or (newest[-1] if newest else "/usr/lib/jvm/java-17-openjdk-amd64"), help="17 or later, with javac and jcmd")
    parser.add_argument("--loads", nargs="*", default=LOADS, metavar="LOAD", help=f"[{' '.join(LOADS)}]")
    parser.add_argument("--tools", nargs="*", metavar="WORD", help="those with one of these in their name (all)")
    parser.add_argument("--seconds", type=float, default=3, help="of a turn [3]")
    parser.add_argument("--attach", type=float, default=4, help="seconds of the turn in which the tool begins [4]")
    parser.add_argument("--warm", type=float, default=4, help="seconds of work before the first turn [4]")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    if os.geteuid():
        raise SystemExit("tools that look into the kernel need root")
    measure.prepare(options, programs=(("17", HERE / "EventLoads.java"),))
    try:
        version = measure.run(f"{options.jdk}/bin/java", "-version").stderr.splitlines()[-2]
        print(f"{measure.run(options.fathom, '--version').stdout.strip()}, {os.uname().sysname} {os.uname().release}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before; turns of {options.seconds:g} s, {options.rounds} rounds; {version}; async-profiler {measure.AP_VERSION}")
        for load in options.loads:
            measured(options, load)
        print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")
    finally:
        measure.run("rm", "-rf", options.work)


if __name__ == "__main__":
    main()
