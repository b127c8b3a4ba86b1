"""The cases that fathom was made for, from the symptom to the fix that helped: pages of docs/cases,
made from real runs.
"""
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import tomllib
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from . import compared, workloads
from .catalogue import LAB
from .keeper import Keeper
from .outside import Outside
from .runner import free_port, send, wait_ready

FOUNDING = LAB / "founding"
SECONDS = 20
CHANGE_FROM, CHANGE_FOR = 8, 8
RESOLVER = "127.0.0.54"
RESOLVER_IS_LATE_SECONDS = 0.6
SIDES = ("before", "after")
ANSI = re.compile(r"\x1b\[[0-9;]*m")


@dataclass(frozen=True)
class Founding:
    """One case, as lab/founding/cases.toml has it."""

    id: str
    title: str
    program: str
    symptom: str
    fix: str
    rule: str
    before: tuple = ()
    after: tuple = ()
    flags: tuple = ()
    flags_before: tuple = ()
    flags_after: tuple = ()
    drop_after: tuple = ()
    program_args: tuple = ()
    peer_args: tuple = ()
    peer_flags: tuple = ()
    peer_flags_before: tuple = ()
    outside: str = ""
    lasts: float = CHANGE_FOR
    warm: float = 4
    always: bool = False
    java_min: int = 17
    keys: bool = False
    log_only: bool = False
    inputs: tuple = ()
    first: tuple = ()
    then: tuple = ()

    def command(self, java, side, port):
        """The service on one side, and the program that calls it, if there is one."""
        flags = [f for f in self.flags if side == "before" or f not in self.drop_after]
        flags += self.flags_before if side == "before" else self.flags_after
        args = list(self.program_args) or ["throughput.csv", *(self.before if side == "before" else self.after)]
        service = [java, *flags, "-cp", "classes", self.program, *args]
        peer = []
        if self.peer_args:
            more = self.peer_flags_before if side == "before" else ()
            peer = [java, *self.peer_flags, *more, *self.flags, "-cp", "classes", self.program, *self.peer_args, "throughput.csv"]
        return [[part.replace("{port}", str(port)) for part in command] for command in (service, peer)]

    def sides(self):
        """What is recorded on each side, as the commands name it."""
        files = [*self.inputs] if self.log_only else ["run.fathom", *self.inputs, "throughput.csv"]
        files = ["gc.log"] if self.log_only else files
        return {side: [f"{side}/{file}" for file in files] for side in SIDES}


def read():
    entries = tomllib.loads((FOUNDING / "cases.toml").read_text())["case"]
    cases = [Founding(**{k: tuple(v) if isinstance(v, list) else v for k, v in e.items()}) for e in entries]
    return {case.id: case for case in cases}


def compile_programs(java, out, left_out):
    """Compiles the programs except those that need a later JDK, and the many methods of which the
    first case consists.
    """
    classes = out / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir(parents=True)
    workloads.burst_source(classes)
    shared = [LAB / "workloads/shared/Meter.java", LAB / "workloads/shared/Switch.java", LAB / "workloads/orders/Fault.java"]
    programs = [file for file in (FOUNDING / "programs").glob("*.java") if file.stem not in left_out]
    sources = [*shared, *programs, classes / "Burst.java"]
    subprocess.run([java / "bin/javac", "-nowarn", "-d", classes, *sources], check=True)
    return classes


def remove(path):
    if path.is_dir() and not path.is_symlink():
        path.rmdir()
    else:
        path.unlink(missing_ok=True)


class Run:
    """Runs one side of a case and leaves the recording in a folder."""

    def __init__(self, case, side, fathom, java, classes, keeper, folder):
        self.case, self.side, self.fathom, self.java = case, side, fathom, java
        self.classes, self.keeper, self.folder = classes, keeper, folder

    def run(self):
        shutil.rmtree(self.folder, ignore_errors=True)
        self.folder.mkdir(parents=True)
        (self.folder / "classes").symlink_to(self.classes)
        (self.folder / "no-cache.properties").write_text("networkaddress.cache.ttl=0\n")
        if self.case.keys:
            self.make_keys()
        outside = Outside("freeze-log" if self.case.outside == "freeze-log" else "", self.keeper, self.folder)
        with ExitStack() as stack:
            stack.callback(outside.close)
            outside.log_folder()
            listeners = []
            prefix = []
            if self.case.outside == "slow-dns":
                listeners.append(self.resolver(stack))
                prefix = self.own_resolver()
            service, peer = self.case.command(str(self.java / "bin/java"), self.side, free_port())
            said = stack.enter_context(open(self.folder / "jvm.out", "wb"))
            pipes = dict(cwd=self.folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=said)
            jvm = stack.enter_context(self.keeper.started([*prefix, *service], **pipes))
            wait_ready(jvm, "the program")
            listeners.append(jvm)
            if peer:
                listeners.append(stack.enter_context(self.keeper.started(peer, **pipes)))
                wait_ready(listeners[-1], "its client")
            outside.prepare(jvm.pid)
            time.sleep(self.case.warm)
            self.record(jvm, listeners, outside)
        for left in ("classes", "jvm.out", "record.out", "no-cache.properties", "resolv.conf", "keys.p12", "audit.trail", "disk"):
            remove(self.folder / left)

    def make_keys(self):
        subprocess.run([self.java / "bin/keytool", "-genkeypair", "-alias", "key", "-keyalg", "RSA", "-keysize", "2048",
                        "-dname", "CN=localhost", "-ext", "SAN=dns:localhost", "-storetype", "PKCS12", "-storepass", "changeit",
                        "-keystore", self.folder / "keys.p12"], check=True, stderr=subprocess.DEVNULL)

    def resolver(self, stack):
        command = [sys.executable, "-m", "faultlab.resolver", RESOLVER, str(RESOLVER_IS_LATE_SECONDS)]
        process = stack.enter_context(self.keeper.started(command, cwd=LAB, stdin=subprocess.PIPE, stdout=subprocess.PIPE))
        wait_ready(process, "the resolver")
        return process

    def own_resolver(self):
        """A prefix that gives a command a resolv.conf of its own."""
        (self.folder / "resolv.conf").write_text(f"nameserver {RESOLVER}\n")
        script = "mount --bind resolv.conf /etc/resolv.conf && exec \"$@\""
        return ["unshare", "--mount", "--propagation", "private", "sh", "-c", script, "sh"]

    def record(self, jvm, listeners, outside):
        began = time.monotonic()
        with ExitStack() as stack:
            recorder = None
            if not self.case.log_only:
                command = [self.fathom, "record", "-p", str(jvm.pid), "-d", f"{SECONDS}s", "-o", "run.fathom"]
                said = stack.enter_context(open(self.folder / "record.out", "w"))
                recorder = stack.enter_context(self.keeper.started(command, cwd=self.folder, stdout=said, stderr=said))
            time.sleep(max(0, began + CHANGE_FROM - time.monotonic()))
            if not self.case.always:
                send(listeners, b"on\n")
                outside.begin()
                outside.hold(self.case.lasts)
                outside.end()
                send(listeners, b"off\n")
            time.sleep(max(0, began + SECONDS - time.monotonic()))
            if recorder:
                recorder.wait(timeout=SECONDS + 90)
        if recorder and not (self.folder / "run.fathom").exists():
            raise RuntimeError(f"nothing was recorded: {(self.folder / 'record.out').read_text()[-300:]}")


class Asked:
    """Commands of fathom in the folder of a case, as users give them, and what they print."""

    def __init__(self, fathom, folder):
        self.fathom, self.folder = fathom, folder

    def text(self, command):
        done = subprocess.run([self.fathom, *shlex.split(command)], cwd=self.folder, capture_output=True, text=True,
                              env={**os.environ, "COLUMNS": "120", "NO_COLOR": "1"})
        if done.returncode > 1:
            raise RuntimeError(f"fathom {command}: {done.stderr[-400:]}")
        # The path of this checkout must not be shown.
        return ANSI.sub("", done.stdout).replace(f"{self.folder}/", "").rstrip(), done.returncode

    def block(self, command):
        return f"```\n$ fathom {command}\n{self.text(command)[0]}\n```\n"


def picture(asked, inputs, image):
    """The timeline of the run before the fix, as the report draws it."""
    asked.text(f"report {' '.join(inputs)} -o report.html")
    script = LAB.parent / "ui/scripts/screenshot.mjs"
    subprocess.run(["node", script, asked.folder / "report.html", image.parent], check=True,
                   env={**os.environ, "ONLY": "#timeline", "NAME": image.name, "WIDTH": "1300", "HEIGHT": "2400"})


def page(case, asked, java, image):
    """The page of a case, or an error: its verdict must be right, and the fix must have helped."""
    before, after = (case.sides()[side] for side in SIDES)
    diagnose = f"diagnose {' '.join(before)}"
    findings = json.loads(asked.text(f"{diagnose} --json")[0])["findings"]
    if not findings or findings[0]["rule"] != case.rule:
        raise RuntimeError(f"the verdict is not {case.rule}: {findings[0]['title']['text'] if findings else 'no finding'}")
    verify = f"verify --before {','.join(before)} --after {','.join(after)}"
    causes = json.loads(asked.text(f"{verify} --json")[0])["causes"]
    if not any(cause["rule"] == case.rule and cause["state"] == "gone" for cause in causes):
        raise RuntimeError(f"fathom does not say that the fix helped: {asked.text(verify)[0][:300]}")
    service, peer = case.command("java", "before", "PORT")
    fixed, fixed_peer = case.command("java", "after", "PORT")
    parts = [f"# {case.title}\n", case.symptom.strip() + "\n",
             f"The program is [{case.program}](../../lab/founding/programs/{case.program}.java):\n",
             "```\n" + "\n".join(shlex.join(c) for c in (service, peer) if c) + "\n```\n", "## What fathom says\n"]
    if not case.log_only:
        parts.append(f"```\n$ fathom record -p PID -d {SECONDS}s -o before/run.fathom\n```\n")
    parts += [asked.block(command.replace("gc.log", "before/gc.log")) for command in case.first]
    parts.append(asked.block(diagnose))
    if image.exists():
        parts.append(f"![The timeline of the run, as `fathom report` draws it](../images/cases/{image.name})\n")
    changed = [shlex.join(c) for c, old in ((fixed, service), (fixed_peer, peer)) if c != old]
    parts += ["## The fix\n", case.fix.strip() + "\n", "```\n" + "\n".join(changed) + "\n```\n", "## Whether it helped\n"]
    parts += [asked.block(command) for command in case.then]
    parts.append(asked.block(verify))
    parts.append(f"Made by `lab/run cases {case.id}` on {time.strftime('%-d %B %Y')}: JDK {java}, Linux {platform.release()}, "
                 f"{os.cpu_count()} CPUs, load {os.getloadavg()[0]:.1f}. The numbers are those of that run.\n")
    return "\n".join(parts)


def index(cases, docs):
    """The list of all pages, each with the first line of its verdict."""
    lines = ["# From the symptom to the fix\n",
             "The cases that fathom was made for. Each page is made of two real runs, before and after the fix, by `lab/run cases` "
             "([lab/README.md](../../lab/README.md)): what people saw, what fathom says, the fix, and whether it helped.\n",
             "| what people saw | what it was |", "|---|---|"]
    for case in cases.values():
        page = docs / f"{case.id}.md"
        if page.exists():
            said = re.search(r"\$ fathom diagnose [^\n]*\n(.*?)\n\n", page.read_text(), re.S)
            said = " ".join(said.group(1).split()).replace("|", "\\|") if said else ""
            lines.append(f"| [{case.title}]({page.name}) | {said} |")
    lines += ["\nThe same program on several JVMs, one run of `fathom compare --matrix` each:\n"]
    lines += [f"- [{case.title}]({case.id}.md)" for case in compared.read().values() if (docs / f"{case.id}.md").exists()]
    (docs / "README.md").write_text("\n".join(lines) + "\n")


def make_compared(args, fathom, java, out, docs, images):
    """The pages of one program on several JVMs. How many failed."""
    failed = 0
    for case in compared.read().values():
        if args.cases and case.id not in args.cases:
            continue
        print(case.id, flush=True)
        folder = out / case.id
        try:
            if args.anew or not (folder / "runs.json").exists():
                compared.run(case, fathom, java, folder)
            asked, image = Asked(fathom, folder), images / f"{case.id}.png"
            if not args.no_pictures:
                compared.picture(asked, image)
            (docs / f"{case.id}.md").write_text(compared.page(case, asked, java, image))
        except (RuntimeError, OSError, subprocess.SubprocessError) as failure:
            failed += 1
            print(f"  no page: {failure}", flush=True)
    return failed


def make(args, fathom):
    """Runs the named cases, or all, and writes their pages. A case that was run before is not run
    again, unless requested.
    """
    cases, out, docs = read(), Path(args.out).resolve(), Path(args.pages).resolve()
    if unknown := set(args.cases) - set(cases) - set(compared.read()):
        sys.exit(f"lab/run: no such case: {', '.join(sorted(unknown))}")
    feature, java, _ = workloads.java_home(fathom, args.java)
    too_new = {case.program for case in cases.values() if case.java_min > feature}
    classes, keeper, failed = compile_programs(java, out, too_new), Keeper(), 0
    images = docs.parent / "images/cases"
    images.mkdir(parents=True, exist_ok=True)
    docs.mkdir(parents=True, exist_ok=True)
    try:
        for case in cases.values():
            if args.cases and case.id not in args.cases:
                continue
            if case.program in too_new:
                print(f"{case.id}: needs JDK {case.java_min}", flush=True)
                continue
            print(case.id, flush=True)
            folder = out / case.id
            try:
                for side in SIDES:
                    if args.anew or not (folder / f"{side}.done").exists():
                        Run(case, side, fathom, java, classes, keeper, folder / side).run()
                        (folder / f"{side}.done").touch()
                asked, image = Asked(fathom, folder), images / f"{case.id}.png"
                if not args.no_pictures:
                    picture(asked, case.sides()["before"], image)
                (docs / f"{case.id}.md").write_text(page(case, asked, feature, image))
            except (RuntimeError, OSError, subprocess.SubprocessError) as failure:
                failed += 1
                print(f"  no page: {failure}", flush=True)
    finally:
        keeper.close()
    failed += make_compared(args, fathom, java, out, docs, images)
    index(cases, docs)
    return 1 if failed else 0
