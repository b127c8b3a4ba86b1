"""The commands `list`, `run`, `score` and `cases`."""
import argparse
import dataclasses
import json
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path

from . import always, catalogue, founding, page, rivals, score, workloads
from .catalogue import LAB
from .keeper import Keeper
from .outside import BURN
from .runner import LEAST_SECONDS, RECORD_SECONDS, RESULT, Runner


def seconds(text):
    """The length of a recording, in which a fault and the time before and after it have some ticks
    each.
    """
    value = float(text)
    if not value >= LEAST_SECONDS:
        raise argparse.ArgumentTypeError(f"{text} is less than {LEAST_SECONDS} seconds")
    return value


def processes(text):
    """How many other processes compute meanwhile."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text} is no number of processes")
    return int(text)


def choose(cases, args):
    """The selected cases: those named, the quick ones, or all."""
    if unknown := set(args.cases) - set(cases):
        sys.exit(f"lab/run: no such case: {', '.join(sorted(unknown))}")
    return [c for c in cases.values()
            if (c.id in args.cases if args.cases else not args.quick or c.quick)]


def list_cases(args):
    # A reader that has seen enough (`| head`) ends it without a word, as it ends other programs.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    chosen = choose(catalogue.read(), args)
    for case in chosen:
        mark = "quick" if case.quick else ""
        cause = case.truths[0].cause or case.note
        print(f"{case.id:28}{case.workload:10}{case.family:9}{mark:6} {cause}")
    faults = sum(not c.quiet for c in chosen)
    print(f"{faults} faults, {len(chosen) - faults} runs in which nothing is wrong")


def run_cases(args):
    """Runs the cases that have not been run yet. A case that fails is reported and run again the
    next time.
    """
    fathom, out = tool(args), Path(args.out).resolve()
    feature, java, compiler = workloads.java_home(fathom, args.java)
    chosen = [c for c in choose(catalogue.read(), args) if c.java_min <= feature <= c.java_max]
    if args.always:
        chosen = [dataclasses.replace(c, always=True) for c in chosen if not c.quiet]
    due = [c for c in chosen if args.anew or not (out / c.id / RESULT).exists()]
    print(f"{len(due)} of {len(chosen)} cases are due on JDK {feature}, recordings in {out}", flush=True)
    all_workloads = workloads.read()
    for sent in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(sent, lambda *_: sys.exit(143))
    paths = {name: workloads.compile_workload(all_workloads[name], compiler, out)
             for name in sorted({c.workload for c in due})}
    keeper, failed, began = Keeper(), 0, time.monotonic()
    runner = Runner(fathom, java, feature, args.seconds, paths, all_workloads, out, keeper)
    try:
        with ExitStack() as others:
            for _ in range(args.load):
                others.enter_context(keeper.started([sys.executable, "-c", BURN]))
            for number, case in enumerate(due):
                spent = time.monotonic() - began
                left = f", some {spent / number * (len(due) - number) / 60:.0f} min left" if number else ""
                print(f"{number + 1}/{len(due)} {case.id}{left}", flush=True)
                try:
                    runner.run(case)
                except (RuntimeError, OSError) as failure:
                    failed += 1
                    print(f"  failed: {failure}", flush=True)
    finally:
        keeper.close()
    print(f"{len(due) - failed} ran, {failed} failed")
    return 1 if failed else 0


def score_runs(args):
    """Scores all recordings in the folders, prints those that are not right, and writes the
    accuracy page.
    """
    fathom = tool(args)
    folders = [Path(one).resolve() for one in args.out]
    if args.always:
        return always.score_runs(choose(catalogue.read(), args), folders, fathom)
    jmc = None
    if not args.no_jmc:
        _, java, _ = workloads.java_home(fathom, None)
        jmc = rivals.Jmc(java, folders[0])
    rows = score.score(choose(catalogue.read(), args), folders, fathom, jmc, lambda said: print(said, flush=True))
    if not rows:
        sys.exit(f"lab/run: no recording of these cases in {', '.join(map(str, folders))}")
    if args.rows:
        Path(args.rows).write_text(json.dumps(rows, indent=1))
    print(page.failures(rows))
    if args.page:
        Path(args.page).write_text(page.page(rows, args.note, args.title))


def make_pages(args):
    """Runs the cases that fathom was made for, before and after their fix, and writes their pages
    (docs/cases).
    """
    return founding.make(args, tool(args))


def tool(args):
    fathom = os.path.abspath(args.fathom)
    if not os.access(fathom, os.X_OK):
        sys.exit(f"lab/run: no fathom at {fathom}: cargo build --release, or --fathom FILE")
    return fathom


def main():
    parser = argparse.ArgumentParser(prog="lab/run", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, does, about in (("list", list_cases, "list the cases"),
                              ("run", run_cases, "run the cases that have not been run yet"),
                              ("score", score_runs, "report how often fathom is right, compared with two rivals"),
                              ("cases", make_pages, "make the pages of the founding cases, before and after the fix")):
        command = commands.add_parser(name, help=about, description=does.__doc__)
        command.set_defaults(does=does)
        command.add_argument("cases", nargs="*", metavar="CASE")
        command.add_argument("--quick", action="store_true", help="only the quick set, some ten minutes")
        if name in ("run", "cases"):
            command.add_argument("--java", help="release of the JDK; the newest if not given")
            command.add_argument("--anew", action="store_true", help="also run cases that were run before")
            if name == "run":
                command.add_argument("--seconds", type=seconds, default=RECORD_SECONDS,
                                     help=f"length of each recording, {LEAST_SECONDS} or more")
                command.add_argument("--load", type=processes, default=0, metavar="N",
                                     help="other processes that compute all the time")
            command.add_argument("--out", default="/tmp/fathom-lab", help="folder of the recordings")
        if name == "cases":
            command.add_argument("--pages", default=str(LAB.parent / "docs/cases"), help="folder of the pages")
            command.add_argument("--no-pictures", action="store_true", help="without the timelines, which need Chromium")
        if name == "score":
            command.add_argument("--out", nargs="+", default=["/tmp/fathom-lab"], help="folders of recordings")
            command.add_argument("--page", help="write the page to this file (docs/accuracy.md)")
            command.add_argument("--note", default="", help="a sentence on the conditions, for the page")
            command.add_argument("--title", default="How often the verdict is right", help="the title of the page")
            command.add_argument("--rows", help="write all data of each run to this file, as JSON")
            command.add_argument("--no-jmc", action="store_true", help="without JMC, which needs its jars")
        if name != "list":
            command.add_argument("--always", action="store_true", help="faults are on from the start, and there is no table")
            command.add_argument("--fathom", default=str(LAB.parent / "target/release/fathom"))
    args = parser.parse_args()
    return args.does(args) or 0
