#!/usr/bin/env python3
"""What a profiler takes from its target: throughput and latency with none, fathom, and
async-profiler, in turn.

    sudo bench/profilers/loss.py            # half an hour, on a machine that does nothing else
    sudo bench/profilers/loss.py --tools fathom --loads javac --rounds 30

Two JVMs that are warm and rest until they are asked to work for some seconds: one is only ever
recorded from outside, into the other async-profiler is loaded, and each has its own runs without
any, so that what stays loaded is not attributed to the wrong one. Turns of all ways are interleaved
and rotated; a figure is the median over rounds of the ratio to the mean of the two turns with none
in the same round and JVM, with its 95% interval; "none, once more" is one of the two against the
other. The CPU time of an operation (all threads of the JVM) tells what is taken from the target
itself; throughput shows, too, the CPUs that the profiler runs on meanwhile. A profiler has begun
before its turn does, and has seen the JVM at work for `--lead` seconds, as have the turns with
none: what it takes to begin is measured by `measure.py --parts start`. "none, once more" shows what
of a difference is noise, and perf without stacks what the timer alone takes: on a virtual machine
each of its interrupts may leave the guest.
"""
import argparse, collections, contextlib, os, shutil, signal, statistics, subprocess, time
from pathlib import Path

import measure

AGAIN = "none, once more"
OUTSIDE = [("none", None, []), ("fathom", 99, measure.ONLY_CPU), ("perf, no stacks", 99, []), ("fathom", 999, measure.ONLY_CPU), (AGAIN, 0, []), ("perf, no stacks", 999, []), ("fathom, all collectors", 99, [])]
INSIDE = [("none", None, []), ("async-profiler", 99, []), (AGAIN, 0, []), ("async-profiler", 999, [])]


def turn(jvm, seconds):
    """(operations a second; median, 99th percentile and CPU time of one, nanoseconds)."""
    jvm.child.stdin.write(f"{seconds}\n")
    jvm.child.stdin.flush()
    # async-profiler prints what it does.
    words = next(words for words in map(str.split, jvm.child.stdout) if words[:1] == ["turn"])
    return tuple(map(float, words[1:]))


def led(options, jvm):
    """A turn, after some work that does not count: names of functions are read when they are first
    seen.
    """
    if options.lead:
        turn(jvm, options.lead)
    return turn(jvm, options.seconds)


def recorded(options, jvm, hz, without):
    """A run with fathom: the values, and what fathom itself took (CPU seconds, megabytes)."""
    place = options.work / "loss.fathom"
    measure.run("rm", "-rf", place)
    words = [options.fathom, "record", "-F", hz, "-p", jvm.pid, "-o", place, *without]
    recorder = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(options.settle)
    figures = led(options, jvm)
    recorder.send_signal(signal.SIGINT)
    peak = 0
    while not (ended := os.wait4(recorder.pid, os.WNOHANG))[0]:
        peak = max(peak, measure.peak_mb(recorder.pid))
        time.sleep(0.05)
    _, status, usage = ended
    if os.waitstatus_to_exitcode(status):
        raise SystemExit(f"{' '.join(map(str, words))} has failed")
    return figures, (usage.ru_utime + usage.ru_stime, peak)


def sampled_by_perf(options, jvm, hz):
    """A run with the same timer on all CPUs, whose samples hold an address and no stack."""
    words = ["perf", "record", "-q", "-a", "-e", "cpu-clock", "-F", str(hz), "-o", str(options.work / "loss.data")]
    perf = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(options.settle)
    figures = led(options, jvm)
    perf.send_signal(signal.SIGINT)
    perf.wait()
    return figures


def one(options, jvm, way, own):
    tool, hz, without = way
    if tool in ("none", AGAIN):
        time.sleep(options.settle)
        return led(options, jvm)
    if tool.startswith("perf"):
        return sampled_by_perf(options, jvm, hz)
    if tool == "async-profiler":
        profiler = measure.AsyncProfiler(jvm, "")
        profiler.start(hz)
        time.sleep(options.settle)
        figures = led(options, jvm)
        profiler.stop()
        return figures
    figures, took = recorded(options, jvm, hz, without)
    own[f"{tool}, {hz} Hz"].append(took)
    return figures


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--fathom", default=measure.ROOT / "target/release/fathom", type=Path)
    parser.add_argument("--jdk", default=os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64"), help="with javac and jcmd")
    parser.add_argument("--loads", nargs="*", default=["service", "javac", "shares"])
    parser.add_argument("--tools", nargs="*", default=["fathom", "async-profiler"])
    parser.add_argument("--rates", nargs="*", type=int, default=[99, 999], help="samples a second [99 999]")
    parser.add_argument("--not", dest="left_out", nargs="*", default=[], metavar="WORD", help="leave out ways with one of these in their name: 'all collectors'")
    parser.add_argument("--seconds", type=float, default=4, help="of a turn")
    parser.add_argument("--settle", type=float, default=2.5, help="seconds before a turn, for a profiler to begin")
    parser.add_argument("--lead", type=float, default=1, help="seconds of work before a turn that do not count [1]")
    parser.add_argument("--warm", type=int, default=20, help="seconds of work of each JVM before the first turn")
    parser.add_argument("--rounds", type=int, default=12)
    options = parser.parse_args()
    measure.prepare(options)
    own = collections.defaultdict(list)
    chosen = lambda ways: [way for way in ways if (not way[1] or way[1] in options.rates) and not any(word in way[0] for word in options.left_out)]
    outside = [way for way in chosen(OUTSIDE) if shutil.which("perf") or not way[0].startswith("perf")]
    inside = chosen(INSIDE)
    print(f"{measure.run(options.fathom, '--version').stdout.strip()}, async-profiler {measure.AP_VERSION}, {os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f} before, turns of {options.seconds:g} s, {options.rounds} rounds")
    places = [(place, ways) for place, ways in (("outside", outside), ("inside", inside)) if any(way[0].split(",")[0] in options.tools for way in ways)]
    for load in options.loads:
        found = collections.defaultdict(list)
        with contextlib.ExitStack() as stack:
            jvms = {place: stack.enter_context(measure.Jvm(options.jdk, [], ["Loads", load, "turns"])) for place, _ in places}
            for jvm in jvms.values():
                turn(jvm, options.warm)
            for number in range(options.rounds):
                measure.say(f"{load}, round {number + 1} of {options.rounds}")
                for place, ways in places:
                    shift = number % len(ways)
                    here = {(way[0], way[1]): one(options, jvms[place], way, own) for way in ways[shift:] + ways[:shift]}
                    first, again = here.pop(("none", None)), here.pop((AGAIN, 0))
                    base = tuple(map(statistics.mean, zip(first, again)))
                    found[place, "none", None].append(base)
                    found[place, AGAIN, 0].append(tuple(a / b - 1 for a, b in zip(again, first)))
                    for (tool, hz), figures in here.items():
                        found[place, tool, hz].append(tuple(a / b - 1 for a, b in zip(figures, base)))
        print(f"\n### {load}\n\n| recorded by | throughput | median latency | 99th percentile | CPU an operation |\n|---|---|---|---|---|")
        for place, ways in places:
            for tool, hz, _ in ways:
                columns = list(zip(*found[place, tool, hz]))
                if hz is None:
                    rates, medians, tails, cpu = columns
                    print(f"| none (JVM {'with the agent loaded' if place == 'inside' else 'recorded from outside'}) | {statistics.median(rates):.1f} /s ({min(rates):.1f} … {max(rates):.1f}) | {statistics.median(medians) / 1e3:.0f} µs | {statistics.median(tails) / 1e3:.0f} µs ({min(tails) / 1e3:.0f} … {max(tails) / 1e3:.0f}) | {statistics.median(cpu) / 1e3:.0f} µs |")
                    continue
                cells = [measure.spread(column) for column in columns]
                print(f"| {tool if tool == AGAIN else f'{tool}, {hz} Hz'} | " + " | ".join(cells) + " |", flush=True)
    print(f"\n| fathom itself, {options.seconds + options.settle:.0f} s | CPU seconds, start included | peak MB |\n|---|---|---|")
    for way, took in own.items():
        print(f"| {way} | {statistics.median(t[0] for t in took):.2f} | {max(t[1] for t in took):.0f} |")
    print(f"\nLoad of the machine at the end: {os.getloadavg()[0]:.1f}")
    measure.run("rm", "-rf", options.work)


if __name__ == "__main__":
    main()
