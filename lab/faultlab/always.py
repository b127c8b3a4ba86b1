"""Faults that are on all the time, without a table of the operations: the usual case of a service
that is just slow.

There is no baseline, so the verdict names no loss; what counts is whether it names the cause at
all.
"""
import json
import subprocess

from . import page, score

SOURCES = {"run.fathom": "recorded from outside", "flight.jfr": "flight recording alone"}
GRADES = ("right", "named", "wrong", "silent")


def parts(verdict):
    """The parts of the work that the headline names, as findings."""
    return [{"rule": "", "title": part["what"], "culprit": {"text": ""}} for part in verdict["seen"]["largest"]]


def grade(case, verdict):
    """right: the first finding is; named: one of the largest parts is; wrong: there is a finding;
    silent: there are no findings.
    """
    found = verdict["findings"][:1]
    fits = lambda one: any(truth.fits(one) for truth in case.truths)
    if any(map(fits, found)):
        return "right"
    if any(map(fits, parts(verdict))):
        return "named"
    return "wrong" if found else "silent"


def score_runs(cases, folders, fathom):
    """Prints one line per run, and how often the cause is the first finding or named among the
    parts, by source.
    """
    grades = {source: [] for source in SOURCES}
    for case, folder in score.runs([c for c in cases if not c.quiet], folders):
        for source in SOURCES:
            if not (folder / source).exists():
                continue
            said = subprocess.run([fathom, "diagnose", "--json", source], cwd=folder, capture_output=True, text=True)
            verdict = json.loads(said.stdout) if said.stdout else None
            graded = grade(case, verdict) if verdict else "silent"
            grades[source].append(graded)
            print(f"{graded:7}{case.id:28}{source:11} {verdict['headline']['text'][:150] if verdict else said.stderr}", flush=True)
    for source, all_of_it in grades.items():
        counts = ", ".join(f"{all_of_it.count(one)} {one}" for one in GRADES)
        print(f"{SOURCES[source]}: {counts}; right or named {page.rate(one in GRADES[:2] for one in all_of_it)}")
