"""What `fathom diagnose` and `fathom gc` say of other people's GC logs, compared with what those
logs say themselves.

What a log names is decided here, by plain searches in its text, and not by fathom's readers. Times
(pauses, time covered, longest pause) are those of `fathom gc`, which `scripts/count-corpus.sh`
checks on its own.

Run by scripts/accuracy-gc.sh, which lists where the logs come from.
"""

import argparse
import concurrent.futures
import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import zipfile

# Headlines that say so of the run, or of the collector.
HEALTHY = ("healthy", "healthy-but-slight", "no-cause-collector-healthy")
# Sources, documents and results of other programs are not logs, though they quote some.
NO_LOG = re.compile(
    r"\.(java|kt|scala|groovy|js|mjs|ts|tsx|vue|py|pyc|rb|go|rs|r|sh|bat|md|rst|adoc|html?|css|xml|json|csv|tsv|ya?ml|toml|"
    r"properties|gradle|png|gif|jpe?g|svg|pdf|jar|class|jfr|hprof|ipynb|iml|lock|gitignore)$",
    re.I,
)
RECORD = re.compile(
    r"\[(?:Full )?GC|\[ParNew|\bPause (?:Young|Full|Remark|Cleanup|Init|Final|Mark|Relocate|Degenerated|Initial)|GC pause \(|"
    r"Total time for which application threads were stopped|Garbage Collection \("
)

# A failure that a log can name: its kind, its pattern in logs, its pattern in verdicts.
FAILURES = [
    ("concurrent mode failure", r"concurrent mode failure", r"concurrent mode failure"),
    ("concurrent mode interrupted", r"concurrent mode interrupted", r"concurrent mode interrupted"),
    ("promotion failed", r"promotion failed(?! \(\d|, size)", r"promotion failed|failed promotion"),
    (
        "evacuation failure",
        r"to-space (?:exhausted|overflow)|\((?:young|mixed)\)(?: \([a-z-]+\))*--|Evacuation Failure: [A-Za-z/ ]*Allocation|"
        r"\(Evacuation Failure\)",
        r"evacuation failure|to-space exhausted",
    ),
    ("allocation stall", r"Allocation Stall \(", r"allocation stall|waited [\d,\s]+ times? for memory"),
    ("degenerated collection", r"Pause Degenerated", r"degenerated"),
    (
        "out of memory",
        r"java\.lang\.OutOfMemoryError(?=[:\"\s]*$|: )(?! source)|Terminating due to java|GC\(\d+\) Out Of Memory",
        r"OutOfMemoryError|out of memory",
    ),
    (
        "GC overhead limit",
        r"(?:GC time|GC overhead limit) (?:is exceeding|would exceed|exceeded)|GC overhead limit",
        r"overhead limit",
    ),
    (
        "last resort for metaspace",
        r"Last ditch collection|Metadata GC Clear Soft References",
        r"Last ditch collection|Metadata GC Clear Soft References",
    ),
    ("GCLocker retry", r"Retried waiting for GCLocker too often|Trying a full collection because scavenge failed", r"GCLocker"),
]
FAILURES = [(kind, re.compile(log, re.I | re.M), re.compile(said, re.I)) for kind, log, said in FAILURES]

# Full collections that were not requested, of collectors that are designed not to need them.
FULL = re.compile(r"\[Full GC(?: \(([^)]*(?:\(\))?)\))?|Pause Full \(([^)]*(?:\(\))?)\)")
ASKED = re.compile(r"System|Diagnostic|Heap (?:Inspection|Dump)|JvmtiEnv|Metadata|Permanent|WhiteBox|Periodic")
FULL_SAID = re.compile(r"full collection|Full GC|Pause Full", re.I)

# The limits of what matters, as in docs/rules.md.
SHARE, LONG_S, SPAN_S, QUIET = 0.05, 1.0, 10.0, 0.02
PAUSES = 8


class Log:
    def __init__(self, root, path):
        self.path, self.name = path, os.path.relpath(path, root)
        self.text = text_of(path)


def text_of(path):
    """The text of a plain or compressed log, the members of an archive after one another; up to 64
    MB.
    """
    limit = 64 << 20
    try:
        if path.endswith(".zip"):
            with zipfile.ZipFile(path) as z:
                return "\n".join(z.open(n).read(limit).decode("utf-8", "replace") for n in z.namelist() if not n.endswith("/"))
        opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
        with opened as f:
            data = f.read(limit)
        return data.decode("utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8", "replace")
    except (OSError, zipfile.BadZipFile, EOFError, RuntimeError):
        return ""


def logs_of(root):
    found = []
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(d for d in folders if d not in (".git", "node_modules"))
        for name in sorted(files):
            path = os.path.join(folder, name)
            if NO_LOG.search(name) or os.path.islink(path):
                continue
            log = Log(root, path)
            if "\0" not in log.text[:4096] and RECORD.search(log.text):
                found.append(log)
    return found


def named_by(text):
    """The failures that a log names, and whether it has a full collection that its collector is
    designed not to need.
    """
    kinds = [kind for kind, pattern, _ in FAILURES if pattern.search(text)]
    concurrent = re.search(r"\bCMS\b|ParNew|GC pause \(|G1|Shenandoah|concurrent mode", text)
    causes = [a or b or "" for a, b in FULL.findall(text)]
    if concurrent and any(not ASKED.search(c) for c in causes):
        kinds.append("full collection not asked for")
    return kinds


def run(fathom, command, path):
    p = subprocess.run([fathom, command, "--json", path], capture_output=True, timeout=120)
    try:
        return json.loads(p.stdout)
    except ValueError:
        return None


def words(findings):
    """What findings say of this log, without explanations that do not depend on the log."""
    return "\n".join(
        "\n".join([f["title"]["text"], f["culprit"]["text"]] + [e["text"] for e in f["evidence"]]) for f in findings
    )


def metric(jvm, key):
    found = [m["value"] for g in jvm["groups"] for m in g["metrics"] if m["id"] == key]
    return found[0] if found else None


def stopped_of(jvm):
    """Share of the time in which a JVM was stopped, by collections or at other safepoints; of 10 s
    or more.
    """
    if (jvm.get("covers_s") or 0) < SPAN_S:
        return 0.0
    running = metric(jvm, "stop_throughput")
    running = metric(jvm, "gc_throughput") if running is None else running
    return 1.0 - running if running is not None else 0.0


def judged(fathom, log):
    gc, verdict = run(fathom, "gc", log.path), run(fathom, "diagnose", log.path)
    if gc is None or verdict is None:
        return None
    worst = max((stopped_of(j) for j in gc["jvms"]), default=0.0)
    stops = [op["length_ms"]["max"] / 1e3 for j in gc["jvms"] for op in j["safepoints"]]
    longest = max([gc["max_pause_s"]] + stops)
    covered = sum(j.get("covers_s") or 0 for j in gc["jvms"])
    fails = named_by(log.text)
    said = words(verdict["findings"])
    patterns = {kind: pattern for kind, _, pattern in FAILURES}
    missing = [kind for kind in fails if not patterns.get(kind, FULL_SAID).search(said)]
    bad = [m["id"] for j in gc["jvms"] for g in j["groups"] for m in g["metrics"] if m["grade"] == "bad"]
    # What is bad must be a finding, or be among the warnings.
    reported = bool(verdict["findings"]) or any("bad by fathom gc" in w for w in verdict["warnings"])
    status = verdict.get("status") or ("found" if verdict["findings"] else "no-cause-found")
    healthy = not verdict["findings"] and verdict["headline"]["metric"] in HEALTHY
    quiet = not fails and longest < LONG_S and covered >= SPAN_S and worst < QUIET
    how = "named" if verdict["findings"] else "healthy" if healthy else "unexplained"
    return {
        "name": log.name,
        "pauses": gc["pauses"],
        "total_s": gc["total_pause_s"],
        "covered_s": covered,
        "stopped": worst,
        "longest_s": longest,
        "fails": fails,
        "missing": missing,
        "bad": bad,
        "contradicts": bool(bad) and not reported,
        "status": status,
        "how": how,
        "headline": verdict["headline"]["text"],
        "rules": [f["rule"] for f in verdict["findings"]],
        "said": said,
        "ruled_out": "\n".join(f"{r['rule']}: {r['figure']['text']}" for r in verdict["ruled_out"]),
        "heavy": worst >= SHARE,
        "long": longest >= LONG_S,
        "quiet": quiet,
        "alarm": quiet and bool(verdict["findings"]),
    }


# What the tests of garbagecat assert of a log (facts: the name of a test file and of its
# assertion), and the pattern of it in a verdict. Severe ones first. Only what happened in the log:
# no advice on flags and on what is logged.
FULL_WORDS = r"full collection|Full GC|Pause Full"
ASKED_WORDS = r"asked for by|collections? (?:was|were) asked for"
SEVERE = {
    "ERROR_CMS_CONCURRENT_MODE_FAILURE": r"concurrent mode failure",
    "ERROR_CMS_CONCURRENT_MODE_INTERRUPTED": r"concurrent mode interrupted",
    "ERROR_CMS_PROMOTION_FAILED": r"promotion failed",
    "ERROR_CMS_PAR_NEW_GC_LOCKER_FAILED": r"GCLocker",
    "ERROR_G1_EVACUATION_FAILURE": r"evacuation failure",
    "ERROR_SERIAL_GC_CMS": FULL_WORDS + r"|concurrent mode|promotion failed",
    "ERROR_SERIAL_GC_G1": FULL_WORDS,
    "ERROR_SERIAL_GC_PARALLEL": FULL_WORDS,
    "ERROR_EXPLICIT_GC_SERIAL_G1": ASKED_WORDS,
    "ERROR_EXPLICIT_GC_SERIAL_CMS": ASKED_WORDS,
    "ERROR_GC_TIME_LIMIT_EXCEEEDED": r"overhead limit",
    "ERROR_GC_LOCKER_RETRY": r"GCLocker",
    "ERROR_OOME_METASPACE": r"OutOfMemoryError",
    "ERROR_OOME_EXIT": r"OutOfMemoryError",
    "ERROR_METASPACE_ALLOCATION_FAILURE": r"class memory",
    "ERROR_SHENANDOAH_FULL_GC": FULL_WORDS,
}
OTHERS = {
    "WARN_EXPLICIT_GC_UNKNOWN": ASKED_WORDS,
    "WARN_EXPLICIT_GC_SERIAL_PARALLEL": ASKED_WORDS,
    "WARN_EXPLICIT_GC_PARALLEL": ASKED_WORDS,
    "WARN_EXPLICIT_GC_G1_YOUNG_INITIAL_MARK": ASKED_WORDS,
    "WARN_EXPLICIT_GC_JVMTI": ASKED_WORDS,
    "WARN_EXPLICIT_GC_DIAGNOSTIC": ASKED_WORDS,
    "WARN_HEAP_INSPECTION_INITIATED_GC": ASKED_WORDS,
    "WARN_HEAP_DUMP_INITIATED_GC": ASKED_WORDS,
    "WARN_CLASS_HISTOGRAM": r"histogram",
    "WARN_GC_LOCKER": r"GCLocker",
    "WARN_GC_STOPPED_RATIO": r"at other safepoints|stopped for|one stop of|stops of",
    "WARN_CMS_INITIAL_MARK_LOW_PARALLELISM": r"ran on one CPU",
    "WARN_CMS_REMARK_LOW_PARALLELISM": r"ran on one CPU|of what (?:its|their) workers",
    "WARN_PARALLELISM_INVERTED": r"of CPU in|CPUs at work",
    "WARN_SERIALISM_INVERTED": r"of CPU in|CPUs at work",
    "WARN_SYS_GT_USER": r"kernel",
}
ASSERTED = {**SEVERE, **OTHERS}
# Asserted as severe, but not an event in the log: flags, versions and the machine's memory.
NO_FAILURE = {
    "ERROR_JDK8_CMS_PAR_NEW_DISABLED": "a flag",
    "ERROR_G1_HUMONGOUS_JDK_OLD": "an old JDK",
    "ERROR_PHYSICAL_MEMORY": "a heap larger than the machine's memory",
    "ERROR_SHARED_MEMORY_12": "large pages that could not be allocated",
}


def asserted(root):
    """(file, analysis) that the tests below a checkout of garbagecat assert; the file is empty
    where a test has no log.
    """
    pairs = set()
    for folder, _, files in os.walk(os.path.join(root, "src", "test", "java")):
        for name in (n for n in files if n.endswith(".java")):
            with open(os.path.join(folder, name), encoding="utf-8", errors="replace") as f:
                text = f.read()
            for test in text.split("@Test")[1:]:
                logs = re.findall(r'getFile\(\s*"([^"]+)"', test) or [""]
                keys = re.findall(r"assertTrue\(\s*\w+\.hasAnalysis\((?:[A-Za-z.]+\.)?Analysis\.(\w+)", test)
                pairs.update((logs[0], key) for key in keys if key in ASSERTED or key in NO_FAILURE)
    return sorted(pairs)


def held_against(root, rows):
    """The asserted analyses, each with whether a verdict has a finding of it, has it among what was
    ruled out, or neither.
    """
    by_name = {os.path.basename(row["name"]): row for row in rows}
    graded = []
    for log, key in asserted(root):
        row = by_name.get(log)
        if key in NO_FAILURE:
            how = "no failure"
        elif row is None:
            how = "no log"
        elif re.search(ASSERTED[key], row["said"], re.I):
            how = "found"
        elif re.search(ASSERTED[key], row["ruled_out"], re.I):
            how = "below"
        else:
            how = "missing"
        graded.append((log, key, how))
    return graded


def gcviewer(jar, path):
    """Total of pauses, the longest one and the time in full collections, seconds, from GCViewer's
    summary; None when it has none."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "summary.csv")
        command = ["java", "-Xmx512m", "-XX:TieredStopAtLevel=1", "-jar", jar, path, out, "-t", "SUMMARY"]
        try:
            subprocess.run(command, capture_output=True, timeout=120, cwd=folder)
            with open(out, encoding="utf-8", errors="replace") as f:
                rows = dict(line.split(";")[:2] for line in f if line.count(";") >= 2)
        except (OSError, subprocess.TimeoutExpired):
            return None

    def number(key):
        try:
            return float(rows.get(key, "").replace(",", "").strip())
        except ValueError:
            return None

    total = number("accumPause")
    return {"total_s": total, "longest_s": number("maxPause"), "full_s": number("fullGCPause")} if total else None


def agrees(row):
    """Whether GCViewer's total of pauses is ours within a hundredth, or a millisecond."""
    theirs = (row.get("others") or {}).get("GCViewer")
    return bool(theirs) and abs(theirs["total_s"] - row["total_s"]) <= max(0.01 * row["total_s"], 0.001)


def garbagecat(jar, path):
    """The analyses that garbagecat prints of a log; None when it prints none."""
    with tempfile.TemporaryDirectory() as folder:
        out = os.path.join(folder, "report.txt")
        try:
            subprocess.run(["java", "-Xmx512m", "-jar", jar, "-o", out, path], capture_output=True, timeout=120)
            with open(out, encoding="utf-8", errors="replace") as f:
                return f.read()
        except (OSError, subprocess.TimeoutExpired):
            return None


CLASSES = [
    ("stopped for 5% of 10 s or more", lambda r: r["heavy"]),
    ("a stop of a second or more", lambda r: r["long"]),
    ("a failure that the log names", lambda r: r["fails"]),
    ("none of these, and stopped for less than 2%", lambda r: r["quiet"]),
    ("all", lambda r: True),
]


def page(repos, others, asserts, commits, refused):
    """The table, as Markdown."""
    rows = [r for repo in repos.values() for r in repo]
    out = [
        "# What the verdict says of other people's GC logs",
        "",
        "Made by `scripts/accuracy-gc.sh`: `fathom gc` and `fathom diagnose` on every GC log of public repositories. What a log",
        "names (a concurrent mode failure, an evacuation failure, …) is found by plain searches in its text, apart from",
        "fathom's readers; times are those of `fathom gc`, which [counting.md](counting.md) compares with independent counts.",
        "The logs themselves are not part of this repository.",
        "",
        "| repository | logs | as of |",
        "|---|---:|---|",
    ]
    out += [f"| {repo} | {len(found)} | {commits.get(repo, '')} |" for repo, found in repos.items()]
    head = ["logs with", "logs", "a finding", "no finding, not called healthy", "called healthy"]
    names = sorted({name for name, _ in others})
    for name in names:
        head += ["GCViewer gives numbers", "the same total of pauses"] if name == "GCViewer" else [f"{name} gives numbers"]
    out += ["", "| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    for what, which in CLASSES:
        here = [r for r in rows if which(r)]
        count = lambda how: sum(r["how"] == how for r in here)
        cells = [what, len(here), count("named"), count("unexplained"), count("healthy")]
        for name in names:
            cells.append(sum(r.get("others", {}).get(name) is not None for r in here))
            cells += [sum(agrees(r) for r in here)] if name == "GCViewer" else []
        out.append("| " + " | ".join(map(str, cells)) + " |")
    if refused:
        out += ["", f"{len(refused)} more files name pauses and are refused by fathom as no log of collections: {', '.join(refused)}."]
    neither = [r for r in rows if r["how"] == "unexplained"]
    within = lambda span_s: sum(r["covered_s"] < span_s for r in neither)
    out += ["", f"Of the {len(neither)} without a finding that are not called healthy, {within(1.0)} cover less than a second and", f"{within(SPAN_S)} less than {SPAN_S:.0f} s: fragments, which cannot be judged."]
    out += ["", "Failures that a log names, and how many of these logs' verdicts name them:", "", "| failure | logs | named |", "|---|---:|---:|"]
    for kind in [kind for kind, _, _ in FAILURES] + ["full collection not asked for"]:
        here = [r for r in rows if kind in r["fails"]]
        out.append(f"| {kind} | {len(here)} | {sum(kind not in r['missing'] for r in here)} |")
    if "GCViewer" in names:
        out += ["", "GCViewer 1.36 has no verdict. What it prints of a log is the total of its pauses, the longest one and the time in", "full collections; it names no failure."]
    if "garbagecat" not in names:
        out += ["", "garbagecat's own verdict is not listed: it is in no public registry, and one of its libraries is only in one that", "asks for a login. What its tests assert of its test logs is, below."]
    for root, graded in asserts.items():
        out += ["", f"## What the tests of {root} assert of their logs", ""]
        out += ["| | asserted | a finding | below what matters, and said so | not said |", "|---|---:|---:|---:|---:|"]
        for what, keys in (("severe (`ERROR_…`)", SEVERE), ("others (`WARN_…`)", OTHERS)):
            of = [how for _, key, how in graded if key in keys and how != "no log"]
            out.append(f"| {what} | {len(of)} | {of.count('found')} | {of.count('below')} | {len(of) - of.count('found') - of.count('below')} |")
        missing = [f"{key} of `{log}`" for log, key, how in graded if how == "missing"]
        out += ["", f"Not said: {', '.join(missing)}."] if missing else []
        lacking = sum(how == "no log" for _, _, how in graded)
        out += ["", f"{lacking} more are asserted of no log: the test sets what a log would say."] if lacking else []
        none = sorted({f"{key} ({NO_FAILURE[key]})" for _, key, how in graded if how == "no failure"})
        number = sum(how == "no failure" for _, _, how in graded)
        out += ["", f"{number} more are asserted as severe and are nothing that happened in the log: {', '.join(none)}."] if none else []
    wrong = violations(repos)
    out += ["", "## What must not happen", ""]
    out += wrong or ["Nothing: no log that is stopped so, or names a failure, without a finding, none called healthy that `fathom gc` calls bad,", "no finding on a quiet one."]
    return "\n".join(out) + "\n"


def violations(repos):
    out = []
    for repo, found in repos.items():
        for r in found:
            name = f"{repo} `{r['name']}`"
            if (r["heavy"] or r["long"]) and r["how"] != "named":
                out.append(f"- {name}: stopped for {r['stopped']:.1%}, longest {r['longest_s']:.2f} s, and no finding")
            if r["missing"]:
                out.append(f"- {name}: does not name {', '.join(r['missing'])}")
            if r["contradicts"]:
                out.append(f"- {name}: bad by `fathom gc` and not reported: {', '.join(r['bad'])}")
            if r["alarm"]:
                out.append(f"- {name}: quiet (stopped for {r['stopped']:.2%}, longest {r['longest_s']:.2f} s), and a finding: {', '.join(r['rules'])}")
    return out


def commit_of(root):
    """The commit of a checkout and how many of its files are missing; empty for a folder that is
    not a checkout.
    """
    if not os.path.exists(os.path.join(root, ".git")):
        return ""
    done = subprocess.run(["git", "-C", root, "log", "-1", "--format=%h of %cs"], capture_output=True, text=True)
    if done.returncode != 0:
        return ""
    listed = subprocess.run(["git", "-C", root, "ls-tree", "-r", "-z", "--name-only", "HEAD"], capture_output=True, text=True)
    names = [name for name in listed.stdout.split("\0") if name and not NO_LOG.search(name)]
    absent = sum(not os.path.lexists(os.path.join(root, name)) for name in names)
    return done.stdout.strip() + (f", {absent} of its files missing" if absent else "")


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--fathom", required=True)
    args.add_argument("--gcviewer", metavar="JAR")
    args.add_argument("--garbagecat", metavar="JAR")
    args.add_argument("--raw", help="write the results to this file, as JSON")
    args.add_argument("--page", help="write the table to this file, as Markdown")
    args.add_argument("roots", nargs="+")
    args = args.parse_args()
    others = [(name, run, jar) for name, run, jar in (("GCViewer", gcviewer, args.gcviewer), ("garbagecat", garbagecat, args.garbagecat)) if jar]

    refused = []

    def one(log):
        row = judged(args.fathom, log)
        if row is None:
            refused.append(f"`{os.path.basename(log.name)}`")
        if row:
            row["others"] = {name: run(jar, log.path) for name, run, jar in others}
        return row

    repos, asserts, commits = {}, {}, {}
    for root in args.roots:
        repo = os.path.basename(os.path.normpath(root)).replace("+", "/", 1)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 2) as pool:
            repos[repo] = [r for r in pool.map(one, logs_of(root)) if r]
        commits[repo] = commit_of(root)
        if "garbagecat" in repo:
            asserts[repo] = held_against(root, repos[repo])
        print(repo, len(repos[repo]), file=sys.stderr)
    if args.raw:
        with open(args.raw, "w") as f:
            json.dump({"logs": repos, "asserted": asserts}, f, indent=1)
    text = page(repos, [(name, jar) for name, _, jar in others], asserts, commits, sorted(refused))
    if args.page:
        with open(args.page, "w") as f:
            f.write(text)
    else:
        print(text)
    return 1 if violations(repos) else 0


if __name__ == "__main__":
    sys.exit(main())
