#!/usr/bin/env python3
"""Profilers of JVMs compared with each other: how many stacks are whole, how many are false, what
agrees, what they cost.

Needs root, Linux perf, a JDK 17 or later with javac, and Maven (async-profiler comes from Maven
Central). Prints tables in Markdown; what is missing is left out and said. Times are noisy on a
shared machine: rounds are interleaved, medians shown.
"""
import argparse, collections, json, math, os, re, shutil, statistics, subprocess, sys, tempfile, time, zipfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
AP_VERSION = "4.3"
HZ = 499
# What the other profilers do not do either.
OTHERS = ("sched", "host", "jvm-counters", "jvm-events", "locks", "syscalls", "memory", "disk", "network")
ONLY_CPU = [word for name in OTHERS for word in ("--without", name)]
# Where a walk of a Java thread ends: the first function of a thread, as each tool names it.
ROOTS = ("start_thread", "clone3", "__clone3", "__clone", "thread_native_entry", "_start", "JavaMain", "ThreadJavaMain")
JAVA_ROOTS = ("java.lang.Thread.run", "java.lang.Thread.runWith", "Loads.main", "KnownGraph.main")
CALLERS = {
    "mega": ["phases"], "fib": ["fib", "fibs"], "fibs": ["phases"], "deflate": ["phases"], "thrower": ["thrower", "exceptions"],
    "exceptions": ["phases"], "strings": ["phases"], "alloc": ["phases"], "maths": ["phases"], "copies": ["phases"],
    "files": ["phases"], "streams": ["phases"], "maps": ["phases"], "deep": ["deep", "recursion"], "recursion": ["phases"],
    "sync": ["phases"], "phases": ["loop", "yielding"],
}


def say(text):
    print(f"profilers: {text}", file=sys.stderr, flush=True)


def run(*command, **options):
    return subprocess.run([str(c) for c in command], capture_output=True, text=True, **options)


def spread(values, digits=1):
    """Ratios less one: their median, and where the true one lies at 95% by the ranks; all that
    there is, when that is too few.
    """
    values, n = sorted(values), len(values)
    below = lambda k: sum(math.comb(n, i) for i in range(k + 1)) / 2**n
    cut = next((k for k in reversed(range(n // 2)) if below(k) <= 0.025), None)
    ends = (values[cut], values[-1 - cut]) if cut is not None else (values[0], values[-1])
    known = "95%: " if cut is not None else ""
    return f"{100 * statistics.median(values):+.{digits}f}% ({known}{100 * ends[0]:+.{digits}f} … {100 * ends[1]:+.{digits}f})"


class Jvm:
    """A program that runs until it is closed."""

    def __init__(self, home, options, program, wait=True):
        self.home = home
        command = [f"{home}/bin/java", "-Xmx256m", "-cp", str(OPTIONS.classes), *options, *program]
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stdin=subprocess.PIPE, text=True)
        self.pid = self.child.pid
        while wait and self.child.stdout.readline().strip() != "ready":
            if self.child.poll() is not None:
                raise SystemExit(f"{command} has ended")

    def jcmd(self, *words):
        return run(f"{OPTIONS.jdk}/bin/jcmd", self.pid, *words)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.kill()
        self.child.wait()


def fathom(pid, seconds, hz=HZ, command=None, only_cpu=True):
    """Records; (what `info` says of its stacks, folded stacks, seconds of CPU, peak MB, when the
    first sample was).
    """
    place = OPTIONS.work / "x.fathom"
    run("rm", "-rf", place)
    words = [OPTIONS.fathom, "record", "-F", str(hz), "-d", f"{seconds}s", "-o", place]
    if only_cpu:
        words += ONLY_CPU
    words += ["--", *command] if command else ["-p", str(pid)]
    began = time.time_ns()
    # A file, as a command that runs on when fathom has ended would keep a pipe open.
    said = OPTIONS.work / "said"
    with open(said, "w") as into:
        # A program that reads its standard input lives as long as that is open.
        child = subprocess.Popen([str(w) for w in words], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=into)
    _, status, usage = os.wait4(child.pid, 0)
    if status:
        raise SystemExit(f"fathom: {said.read_text()}")
    info = json.loads(run(OPTIONS.fathom, "info", "--json", place).stdout)
    samples = OPTIONS.work / "samples.csv"
    run(OPTIONS.fathom, "export", place, "--format", "csv", "-o", samples)
    first = None
    with open(samples) as lines:
        header = next(lines).strip().split(",")
        at, kind = header.index("t_ns"), header.index("kind")
        for words in (line.split(",") for line in lines):
            if words[kind] == "cpu":
                first = min(first or 1 << 63, int(words[at]))
    folded = OPTIONS.work / "x.folded"
    run(OPTIONS.fathom, "export", place, "--format", "folded", "-o", folded)
    size = usage.ru_maxrss / 1024
    return info["stacks"], folds(folded, 1_000_000_000 // hz), usage.ru_utime + usage.ru_stime, size, (first - began) / 1e9 if first else None


def peak_mb(pid):
    """Peak memory of a program that runs, MB; 0 when it has ended. What `wait4` tells begins with
    the memory of the one that started it.
    """
    try:
        return next((int(line.split()[1]) / 1024 for line in Path(f"/proc/{pid}/status").read_text().splitlines() if line.startswith("VmHWM:")), 0)
    except OSError:
        return 0


def folds(path, weight=1):
    """Stacks, root first, with how often; `weight`: of one sample."""
    stacks = collections.Counter()
    for line in Path(path).read_text().splitlines():
        stack, _, count = line.rpartition(" ")
        frames = tuple(frame.replace("/", ".") for frame in stack.split(";"))
        stacks[frames] += round(float(count) / weight)
    return stacks


class AsyncProfiler:
    """async-profiler, loaded into a running JVM."""

    def __init__(self, jvm, mode):
        self.jvm, self.file = jvm, OPTIONS.work / "ap.folded"
        self.mode = f",cstack={mode}" if mode else ""

    def start(self, hz=HZ):
        run("rm", "-f", self.file)
        interval = 1_000_000_000 // hz
        said = self.jvm.jcmd("JVMTI.agent_load", OPTIONS.library, f'"start,event=cpu,interval={interval}{self.mode}"')
        if "return code: 0" not in said.stdout:
            raise SystemExit(f"async-profiler: {said.stdout} {said.stderr}")

    def stop(self):
        self.jvm.jcmd("JVMTI.agent_load", OPTIONS.library, f'"stop,collapsed,file={self.file}"')
        return folds(self.file)


def perf(jvm, seconds):
    """perf with frame pointers and the JVM's own map of its code: stacks, root first."""
    data = OPTIONS.work / "perf.data"
    run("perf", "record", "-q", "-F", str(HZ), "-e", "cpu-clock", "-g", "-p", str(jvm.pid), "-o", data, "--", "sleep", str(seconds))
    jvm.jcmd("Compiler.perfmap")
    script = run("perf", "script", "-i", data, "-F", "comm,tid,ip,sym,dso").stdout
    stacks = collections.Counter()
    for block in script.split("\n\n"):
        frames = []
        for line in block.splitlines()[1:]:
            found = re.match(r"\s*[0-9a-f]+ (.*) \((.*)\)$", line)
            if found:
                java = "perf-" in found[2] or found[2] == "//anon" or "anon" in found[2]
                frames.append(("JAVA " if java else "") + found[1])
        if frames:
            stacks[tuple(reversed(frames))] += 1
    run("rm", "-f", data)
    return stacks


def whole_of_async(stacks):
    """(whole, all) of the samples with Java in them, or where that is not known."""
    whole = everything = 0
    for frames, count in stacks.items():
        odd = any(re.match(r"\[(unknown|not_walkable|no_Java|break|error|deoptimization|skipped|unknown_Java)", f) for f in frames)
        java = any("." in f and not f.startswith("[") and "::" not in f and ".so" not in f for f in frames)
        if not (odd or java):
            continue
        everything += count
        root = re.sub(r"_\[.\]$", "", frames[0])
        whole += count if not odd and (root in ROOTS or root in JAVA_ROOTS) else 0
    return whole, everything


def whole_of_perf(stacks):
    """The same of perf: with a Java frame that survived, or none of a thread's first functions."""
    whole = everything = 0
    for frames, count in stacks.items():
        java = any(f.startswith("JAVA ") for f in frames)
        root = any(f in ROOTS for f in frames[:4])
        if java or not root:
            everything += count
            whole += count if java and root else 0
    return whole, everything


def share(pair):
    whole, everything = pair
    return f"{100 * whole / everything:.2f}% of {everything}" if everything else "none"


def whole_of_fathom(stacks):
    return stacks["java_samples"] * (stacks["whole_share"] or 0), stacks["java_samples"]


def edges(stacks):
    """(callers that cannot be, pairs) among the methods of KnownGraph."""
    wrong = everything = 0
    for frames, count in stacks.items():
        for caller, callee in zip(frames, frames[1:]):
            callee = re.sub(r"_\[.\]$", "", callee)
            caller = re.sub(r"_\[.\]$", "", caller)
            name = callee.removeprefix("KnownGraph.")
            if callee.startswith("KnownGraph.") and name in CALLERS and not caller.startswith("["):
                everything += count
                wrong += count * (caller.removeprefix("KnownGraph.") not in CALLERS[name])
    return wrong, everything


def completeness():
    """Whole stacks, from the start on and after warm-up."""
    loads = [
        ("javac", [], ["Loads", "javac", "600"]),
        ("service, 64 threads", [], ["Loads", "service", "600"]),
        ("mixed", [], ["KnownGraph", "platform", "2"]),
        ("mixed, -Xint", ["-Xint"], ["KnownGraph", "platform", "2"]),
        ("500 deep", [], ["Loads", "deep", "600"]),
    ]
    print("\n### Whole stacks of Java threads\n")
    print("| JDK | load | fathom, from the start | fathom | async-profiler, from the start | async-profiler | its `cstack=fp` | perf | perf, frame pointers kept |")
    print("|---|---|---|---|---|---|---|---|---|")
    reasons = collections.Counter()
    for home in OPTIONS.jdks:
        release = json.loads(run(OPTIONS.fathom, "jdks", "--json").stdout)["jdks"]
        feature = next((j["feature"] for j in release if j["home"] == home), "?")
        for name, options, program in loads:
            if program[0] == "Loads" and not Path(home, "bin/javac").exists():
                continue
            say(f"JDK {feature}, {name}")
            first, early_stacks, *_ = fathom(0, OPTIONS.seconds, command=[f"{home}/bin/java", "-Xmx256m", "-cp", OPTIONS.classes, *options, *program])
            end_left_over(program)
            early = ["-"] * 3
            agent = f"-agentpath:{OPTIONS.library}=start,event=cpu,interval={1_000_000_000 // HZ}"
            with Jvm(home, [agent, *options], program) as jvm:
                time.sleep(OPTIONS.seconds)
                early[0] = share(whole_of_async(AsyncProfiler(jvm, "").stop()))
            with Jvm(home, options, program) as jvm:
                time.sleep(OPTIONS.warm)
                after, stacks, *_ = fathom(jvm.pid, OPTIONS.seconds)
                reasons.update(first["cut_by_reason"])
                reasons.update(after["cut_by_reason"])
                later = []
                for mode in ("", "fp"):
                    profiler = AsyncProfiler(jvm, mode)
                    profiler.start()
                    time.sleep(OPTIONS.seconds)
                    later.append(share(whole_of_async(profiler.stop())))
                without = share(whole_of_perf(perf(jvm, OPTIONS.seconds))) if not OPTIONS.no_perf and feature != "?" and int(feature) >= 17 else "-"
            kept = "-"
            if not OPTIONS.no_perf and feature != "?" and int(feature) >= 17:
                with Jvm(home, ["-XX:+PreserveFramePointer", *options], program) as jvm:
                    time.sleep(OPTIONS.warm)
                    kept = share(whole_of_perf(perf(jvm, OPTIONS.seconds)))
            print(f"| {feature} | {name} | {share(whole_of_fathom(first))} | {share(whole_of_fathom(after))} | {early[0]} | {later[0]} | {later[1]} | {without} | {kept} |", flush=True)
            if program[0] == "KnownGraph":
                OPTIONS.edges.append((feature, name, edges(early_stacks), edges(stacks), edges(folds(OPTIONS.work / "ap.folded"))))
    print("\nCut stacks of fathom, by reason, all of these runs:", dict(reasons) or "none")
    print("\n### Callers that cannot be (a program whose call graph is known)\n")
    print("| JDK | load | fathom, from the start | fathom | async-profiler (`cstack=fp`) |\n|---|---|---|---|---|")
    for feature, name, *pairs in OPTIONS.edges:
        print(f"| {feature} | {name} | " + " | ".join(f"{wrong} of {everything}" for wrong, everything in pairs) + " |")


def end_left_over(program):
    """fathom lets a command run on when its time is over."""
    for line in run("ps", "-eo", "pid,args").stdout.splitlines():
        pid, _, args = line.strip().partition(" ")
        if str(OPTIONS.classes) in args and args.endswith(" ".join(program)) and args.split()[0].endswith("/bin/java"):
            run("kill", "-9", pid)


def truth():
    """The same run, seen by both at once; and a program whose shares are known."""
    def totals(stacks):
        count, total = collections.Counter(), 0
        for frames, times in stacks.items():
            names = {re.sub(r"_\[.\]$", "", f) for f in frames}
            # Broken stacks are counted above; here those are compared with each other that reach
            # the program.
            if "Loads.compileOnce" not in names:
                continue
            total += times
            for name in names:
                if re.match(r"(com\.sun|java\.|jdk\.|Loads)", name) and "$$Lambda" not in name:
                    count[name] += times
        return count, total

    print("\n### The same run, seen by both at once\n")
    with Jvm(OPTIONS.jdk, [], ["Loads", "javac", "600"]) as jvm:
        time.sleep(OPTIONS.warm)
        profiler = AsyncProfiler(jvm, "")
        profiler.start()
        _, ours, *_ = fathom(jvm.pid, OPTIONS.seconds * 3)
        theirs = profiler.stop()
    (a, n), (b, m) = totals(ours), totals(theirs)
    beyond, largest = [], 0.0
    for name, _ in b.most_common(30):
        p, q = a[name] / n, b[name] / m
        # Samples of a thread are not independent where it does one thing for long: an interval of
        # some samples counts as one.
        error = math.sqrt(p * (1 - p) / n + q * (1 - q) / m)
        largest = max(largest, abs(p - q) / error if error else 0)
        if abs(p - q) > 3 * error:
            beyond.append(f"{name} {100 * p:.1f}% / {100 * q:.1f}%")
    print(f"javac, {n} samples of fathom and {m} of async-profiler: of the 30 frames with the largest totals, {len(beyond)} differ by more than three standard errors (largest: {largest:.1f}){': ' + '; '.join(beyond) if beyond else ''}.")
    with Jvm(OPTIONS.jdk, [], ["Loads", "shares", "600"]) as jvm:
        time.sleep(OPTIONS.warm)
        _, stacks, *_ = fathom(jvm.pid, OPTIONS.seconds * 2)
    parts = dict(half=50, quarter=25, eighth=12.5, sixteenth=6.25, rest=6.25)
    found = {part: sum(c for f, c in stacks.items() if f"Loads.{part}" in f) for part in parts}
    total = sum(found.values())
    print("\nKnown shares (%), and what was found:", ", ".join(f"{parts[p]}: {100 * found[p] / total:.2f}" for p in parts), f"({total} samples)")


def cost():
    """CPU time of a fixed amount of work, and what the profilers themselves take."""
    rates = (99, 999)
    found, own = collections.defaultdict(lambda: collections.defaultdict(list)), []
    loads = {"javac": OPTIONS.operations, "service": OPTIONS.operations * 3000}
    for turn in range(OPTIONS.rounds):
        say(f"cost, round {turn + 1} of {OPTIONS.rounds}")
        for load, amount in loads.items():
            ways = ["base"] + [f"{tool} {hz}" for hz in rates for tool in ("fathom", "everything", "async-profiler")]
            ways = ways[turn % len(ways):] + ways[:turn % len(ways)]
            for way in ways:
                tool, _, hz = way.partition(" ")
                with Jvm(OPTIONS.jdk, [], ["Loads", load, "fixed", str(amount)], wait=False) as jvm:
                    while jvm.child.stdout.readline().strip() != "warm":
                        pass
                    recorder = None
                    if tool in ("fathom", "everything"):
                        words = [OPTIONS.fathom, "record", "-F", hz, "-p", str(jvm.pid), "-o", OPTIONS.work / "cost.fathom"]
                        run("rm", "-rf", OPTIONS.work / "cost.fathom")
                        words += ONLY_CPU if tool == "fathom" else []
                        recorder = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                    elif tool == "async-profiler":
                        AsyncProfiler(jvm, "").start(int(hz))
                    # async-profiler prints what it does.
                    line = next(words for words in map(str.split, jvm.child.stdout) if words[:1] == ["cpu_ms"])
                    found[load][way].append(float(line[1]))
                    jvm.child.wait()
                    if recorder:
                        _, _, usage = os.wait4(recorder.pid, 0)
                        own.append((way, (usage.ru_utime + usage.ru_stime), float(line[3]) / 1e3, usage.ru_maxrss / 1024))
    print("\n### CPU time of a fixed amount of work, compared with nothing else running\n")
    print("| way | " + " | ".join(loads) + " |\n|---|" + "---|" * len(loads))
    for way in ["base"] + [f"{tool} {hz}" for hz in rates for tool in ("fathom", "everything", "async-profiler")]:
        cells = []
        for load in loads:
            base, here = found[load]["base"], found[load][way]
            pairs = [h / b - 1 for h, b in zip(here, base)]
            spread = f"{100 * min(pairs):+.1f} … {100 * max(pairs):+.1f}"
            cells.append(f"{statistics.median(base):.0f} ms" if way == "base" else f"{100 * (statistics.median(here) / statistics.median(base) - 1):+.1f}% ({spread})")
        print(f"| {way} | " + " | ".join(cells) + " |")
    print("\n\"everything\": all collectors of `fathom record` (scheduler, probes, host), \"fathom\": CPU samples alone.")
    print("\n| fathom itself | CPU seconds a run, tables and names included | of which seconds of wall time | peak MB |\n|---|---|---|---|")
    for way in sorted({w for w, *_ in own}):
        of = [o for o in own if o[0] == way]
        print(f"| {way} | {statistics.median(o[1] for o in of):.2f} | {statistics.median(o[2] for o in of):.1f} | {max(o[3] for o in of):.0f} |")


def start():
    """When the first sample was."""
    times, peak, cpu = [], [], []
    with Jvm(OPTIONS.jdk, [], ["Loads", "javac", "600"]) as jvm:
        time.sleep(OPTIONS.warm)
        for _ in range(5):
            _, _, seconds, size, first = fathom(jvm.pid, 4, 99, only_cpu=False)
            times.append(first)
            peak.append(size)
            cpu.append(seconds)
    print(f"\nFirst sample {statistics.median(times):.2f} s after the start (of {', '.join(f'{t:.2f}' for t in sorted(times))}); {max(peak):.0f} MB at most; {statistics.median(cpu):.2f} CPU seconds for 4 s of all collectors at 99 Hz.")


PROGRAMS = (("17", HERE / "Loads.java"), ("8", ROOT / "crates/capture/tests/java/KnownGraph.java"))


def prepare(options, programs=PROGRAMS):
    """Compiles the programs, each for a release of Java, and brings async-profiler, into a folder
    of their own.
    """
    global OPTIONS
    OPTIONS = options
    OPTIONS.work = Path(tempfile.mkdtemp(prefix="fathom-profilers-"))
    OPTIONS.classes, OPTIONS.edges = OPTIONS.work / "classes", []
    for release, source in programs:
        done = run(f"{OPTIONS.jdk}/bin/javac", "--release", release, "-g", "-nowarn", "-d", OPTIONS.classes, source)
        if done.returncode:
            raise SystemExit(done.stderr)
    brought = shutil.which("mvn") and run("mvn", "-q", "dependency:get", f"-Dartifact=tools.profiler:async-profiler:{AP_VERSION}")
    jar = Path.home() / f".m2/repository/tools/profiler/async-profiler/{AP_VERSION}/async-profiler-{AP_VERSION}.jar"
    OPTIONS.library = None
    if not jar.exists():
        say(f"async-profiler could not be had from Maven Central: {(brought.stdout + brought.stderr).strip()[-300:] if brought else 'there is no Maven'}")
        return
    with zipfile.ZipFile(jar) as content:
        OPTIONS.library = Path(content.extract("linux-x64/libasyncProfiler.so", OPTIONS.work))


def main():
    global OPTIONS
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fathom", default=ROOT / "target/release/fathom", type=Path)
    parser.add_argument("--jdk", default=os.environ.get("JAVA_HOME", "/usr/lib/jvm/java-17-openjdk-amd64"), help="with javac and jcmd")
    parser.add_argument("--jdks", nargs="*", help="homes on which stacks are counted (all that fathom finds, from 11 on)")
    parser.add_argument("--seconds", type=int, default=6)
    parser.add_argument("--warm", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--operations", type=int, default=60)
    parser.add_argument("--no-perf", action="store_true", help="leave perf out")
    parser.add_argument("--parts", nargs="*", default=["start", "truth", "cost", "completeness"])
    OPTIONS = parser.parse_args()
    prepare(OPTIONS)
    if not OPTIONS.jdks:
        all_of_them = json.loads(run(OPTIONS.fathom, "jdks", "--json").stdout)["jdks"]
        OPTIONS.jdks = [j["home"] for j in sorted(all_of_them, key=lambda j: j["feature"]) if j["feature"] >= 11]
    print(f"fathom {run(OPTIONS.fathom, '--version').stdout.strip()}, async-profiler {AP_VERSION}, {run('perf', '--version').stdout.strip()}, load {os.getloadavg()[0]:.0f} on {os.cpu_count()} processors, {HZ} Hz")
    for part in OPTIONS.parts:
        globals()[part]()
        sys.stdout.flush()
    run("rm", "-rf", OPTIONS.work)


if __name__ == "__main__":
    main()
