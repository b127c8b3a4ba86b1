"""Scores the recordings of one or more folders: one row per run, kept as JSON next to the page that
is made from it.
"""
import json
import subprocess

from . import effect, grade, rivals
from .runner import UNFINISHED

INPUTS = {
    "with": ["run.fathom", "gc.log", "throughput.csv"],
    "without": ["run.fathom", "gc.log"],
    "log": ["gc.log"],
    "table": ["gc.log", "throughput.csv"],
}


def diagnose(fathom, folder, name):
    """A verdict, kept as NAME.json; None where fathom failed, which is kept too."""
    said = subprocess.run([fathom, "diagnose", "--json", *INPUTS[name]], cwd=folder, capture_output=True, text=True)
    good = said.returncode in (0, 1) and said.stdout
    (folder / f"{name}.json").write_text(said.stdout if good else said.stderr)
    return json.loads(said.stdout) if good else None


def runs(cases, folders):
    """The recordings of some cases."""
    for folder in folders:
        for case in cases:
            one = folder / case.id
            whole = not (one / UNFINISHED).exists()
            if whole and (one / "run.fathom").exists() and (one / "throughput.csv").exists():
                yield case, one


def onset_error(verdict, when):
    """Seconds from the fault to the begin of the nearest slow window that fathom found; None if it
    found none.
    """
    if verdict is None or not verdict["loss"]["lost_ms"] or not verdict["wall_clock"]:
        return None
    errors = [w["from_ns"] / 1e9 - when.on for w in verdict["windows"]["slow"]]
    return min(errors, key=abs, default=None)


def predicted_loss(verdict, when):
    """The loss according to the first finding, as a share of the time that the fault was on."""
    found = verdict["findings"][:1] if verdict else []
    return found[0]["cost_ms"] / 1000 / (when.off - when.on) if found and found[0]["cost_ms"] else None


def row(case, folder, fathom, jmc):
    """Everything that the page needs of one run."""
    when = effect.conditions(folder)
    verdicts = {name: diagnose(fathom, folder, name) for name in INPUTS}
    verdict = verdicts["with"]
    found = verdict["findings"] if verdict else []
    first = found[0] if found else None
    made = {
        "case": case.id, "folder": str(folder), "workload": case.workload, "family": case.family,
        "pair": case.pair, "group": case.group, "java": when.java, "seconds": when.record_until - when.record_from,
        "load": when.load, "busy_share": when.busy_share,
        "loss": effect.measured_loss(folder, when), "quiet": case.quiet, "asks_less": case.asks_less,
        "faults": faults_of(case), "steady": case.family == "control" and not case.asks_less and not case.cold,
        "outside": bool(case.outside), "truths": len(case.truths), "cause": case.truths[0].cause or case.note,
        "grades": {name: grade.grade(case, verdicts[name]) for name in ("with", "without")},
        "rank": grade.rank(case, found), "in_first_three": grade.in_first_three(case, found),
        "grounded": bool(first) and grade.grounded(case, first), "decoyed": grade.decoyed(case, found),
        "abstains": {name: grade.abstains(case, verdicts[name]) for name in ("log", "table")},
        "onset_s": onset_error(verdict, when), "predicted": predicted_loss(verdict, when),
        "rules": sorted({r for t in case.truths for r in t.rules}),
        "alarms": [{"rule": f["rule"], "title": f["title"]["text"]} for f in found if f["confidence"] in grade.LOUD],
        "first": first and {key: first[key] for key in ("rule", "confidence", "share")}
        | {key: first[key]["text"] for key in ("title", "culprit")},
        "headline": verdict["headline"]["text"] if verdict else (folder / "with.json").read_text()[:200],
        "status": verdict["status"] if verdict else "failed",
    }
    rival = rivals.baseline(fathom, folder, verdicts["without"]["zero_ns"], when) if verdicts["without"] else None
    if rival:
        made["baseline"] = {"answer": list(rival), "right": rivals.baseline_right(case, rival)}
    if jmc and (folder / "flight.jfr").exists():
        looks = jmc.results(folder, when)
        made["jmc"] = {
            "top_1": any(bool(look) and rivals.jmc_right(case, look[0]) for look in looks),
            "top_3": any(any(rivals.jmc_right(case, r) for r in look[:3]) for look in looks),
            "alarms": max(len(look) for look in looks),
            "first": [look[0][2] if look else "" for look in looks],
        }
    return made


def faults_of(case):
    """What is done to the workload, part by part: classes of faults, and faults from outside."""
    return sorted({*case.fault.split(","), case.outside} - {"", "none"})


def validate(rows):
    """Marks the faults that cost more than a control of the same workload and JDK loses by itself,
    and, of two simultaneous faults, those of which each does so alone."""
    for made in rows:
        controls = [r["loss"] for r in rows if r["steady"] and r["workload"] == made["workload"]]
        own = [r["loss"] for r in rows if r["steady"] and r["workload"] == made["workload"] and r["java"] == made["java"]]
        made["noise"] = effect.noise(own or controls)
        if made["family"] == "benign":
            made["counts"] = made["loss"] <= made["noise"]
        else:
            made["counts"] = made["family"] == "control" or made["loss"] > made["noise"]
    for made in rows:
        alone = [r for r in rows if r["family"] == "single" and r["workload"] == made["workload"]
                 and len(r["faults"]) == 1 and r["faults"][0] in made["faults"]]
        same = [r for r in alone if r["java"] == made["java"]] or alone
        made["each_costs"] = all(r["counts"] for r in same)
    return rows


def score(cases, folders, fathom, jmc, say):
    found = list(runs(cases, folders))
    rows = []
    for number, (case, folder) in enumerate(found):
        say(f"{number + 1}/{len(found)} {folder.parent.name}/{case.id}")
        rows.append(row(case, folder, fathom, jmc))
    return validate(rows)
