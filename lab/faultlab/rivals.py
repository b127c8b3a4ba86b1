"""The two rivals that see the same run: a trivial baseline, and the automated analysis of JMC."""
import json
import re
import subprocess

from .catalogue import LAB
from .workloads import bring_jars

# Categories of the ledger that name the kind of a cause, where one does: the baseline is right with
# the kind alone, while fathom must name more than that.
CATEGORIES = {
    "lock": ("monitor", "lock", "native-lock", "waiting"), "net": ("network",), "io": ("disk", "file", "kernel", "child"),
    "gc": ("stopped-by-gc",), "stop": ("stopped-by", "waiting-for-a-safepoint"), "sleep": ("sleep",),
    "pool": ("waiting", "idle"), "host": ("run-queue", "throttled", "frozen"), "jit": ("interpreted", "c1"),
    "cpu": (),
}
# Rules of JMC whose subject is the kind of the cause.
RULES = {
    "lock": ("JavaBlocking", "ContextSwitch"), "net": ("SocketRead", "SocketWrite"),
    "io": ("FileWrite", "FileForce", "FileRead", "ProcessStarted"),
    "gc": ("HighGc", "LongGcPause", "GcPauseRatio", "GarbageCollectionInfoRule", "FullGc", "SystemGc", "HeapContent",
           "IncreasingLiveSet", "GcStall", "GcFreedRatio", "GcLocker", "GcPauseTargetRule", "TlabAllocationRatio"),
    "stop": ("VMOperations", "ApplicationHalts"), "sleep": (), "pool": ("JavaBlocking", "ContextSwitch"),
    "host": ("CompareCpu", "HighJvmCpu", "ManyRunningProcesses"), "jit": ("CodeCache",),
    "cpu": ("MethodProfiling", "Exceptions", "Errors", "ClassLoading"),
}
# JMC calls scores from here on "information"; a result below it is "OK".
JMC_SPEAKS_FROM = 25.0
LEAST_SHARE = 0.005
JMC_JARS = ("flightrecorder.rules.jdk", "flightrecorder.rules", "flightrecorder", "common", "encoder", "lz4-java")


def fits(case, text):
    return any(re.search(p, text) for t in case.truths for p in (*t.says, *t.site))


def ask(fathom, folder, *arguments):
    said = subprocess.run([fathom, *arguments, "--json"], cwd=folder, capture_output=True, text=True)
    return json.loads(said.stdout) if said.returncode in (0, 1) and said.stdout else {}


def baseline(fathom, folder, zero_ns, when):
    """What changed most in relation from before the fault to while it was on; the baseline is given
    these times.
    """
    slow, base = ("{:.2f}s..{:.2f}s".format(*(t - zero_ns / 1e9 for t in part))
                  for part in ((when.on, when.off), (max(when.on - 7, zero_ns / 1e9), when.on)))
    candidates = []
    for group in ask(fathom, folder, "ledger", "run.fathom", "--window", slow, "--base", base).get("groups", []):
        if group["name"] == "application threads":
            candidates += [((s["share"] + LEAST_SHARE) / ((s["base_share"] or 0) + LEAST_SHARE), "category",
                            s["category"]) for s in group["spent"]]
    flame = ask(fathom, folder, "flame", "run.fathom", "--kind", "cpu", "--window", slow, "--diff", base)
    least = 2 * flame["total"] / max(flame["samples"], 1) if flame else 1
    for frame in flame.get("frames", []):
        before = (frame.get("base") or {}).get("self", 0)
        candidates.append(((frame["self"] + least) / (before + least), "frame", frame["name"]))
    return max(candidates, default=(1.0, "nothing", ""))


def baseline_right(case, answer):
    _, kind, name = answer
    if kind == "category":
        return name.startswith(case.truths[0].categories or CATEGORIES.get(case.group, ()))
    return kind == "frame" and fits(case, name)


class Jmc:
    """JMC's rules in a JVM of their own, once over the whole flight recording and once over the
    slow part.
    """

    def __init__(self, java, out):
        self.java, classes = java, out / "classes" / "jmc"
        classes.mkdir(parents=True, exist_ok=True)
        self.path = ":".join(map(str, [classes, *bring_jars(JMC_JARS, out / "jars")]))
        subprocess.run([java / "bin/javac", "-nowarn", "-cp", self.path, "-d", classes,
                        LAB / "rivals/JmcRules.java"], check=True)

    def results(self, folder, when):
        """All results that JMC does not call OK, the highest score first, of both analyses."""
        looks = []
        for name, times in (("jmc.tsv", ()), ("jmc-slow.tsv", (when.on, when.off))):
            kept = folder / name
            if not kept.exists():
                command = [self.java / "bin/java", "-Xmx600m", "-cp", self.path, "JmcRules", folder / "flight.jfr",
                           *(str(int(t * 1000)) for t in times)]
                said = subprocess.run(command, capture_output=True, text=True, timeout=120)
                kept.write_text(said.stdout)
            rows = [line.split("\t") for line in kept.read_text().splitlines()]
            # The lab controls its programs through a pipe: a long read of it is not the service's.
            looks.append([r for r in rows if len(r) == 5 and float(r[0]) >= JMC_SPEAKS_FROM
                          and not (r[2] == "FileRead" and "Unknown File" in r[4])])
        return looks


def jmc_right(case, result):
    """Right: the rule's subject is the kind of the cause, or its text names the culprit."""
    _, _, rule, summary, explanation = result
    by_kind = any(rule in (t.jmc or RULES.get(case.group, ())) for t in case.truths)
    return by_kind or fits(case, summary + " " + explanation)
