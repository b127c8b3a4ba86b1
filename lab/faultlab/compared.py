"""Pages of docs/cases that hold the same program on several JVMs against each other: `fathom
compare --matrix`, once, for real.
"""
import json
import os
import platform
import shlex
import shutil
import subprocess
import time
import tomllib
from dataclasses import dataclass

from .catalogue import LAB

FOUNDING = LAB / "founding"


@dataclass(frozen=True)
class Compared:
    """One case, as lab/founding/cases.toml has it."""

    id: str
    title: str
    program: str
    args: list
    matrix: list
    command: str
    runs: int
    symptom: str
    reading: str
    faster_than_base: tuple = ()

    def arguments(self):
        return ["compare", "--metric", "cpu", "--runs", str(self.runs), "--matrix", *self.matrix]


def read():
    entries = tomllib.loads((FOUNDING / "cases.toml").read_text()).get("compared", [])
    return {entry["id"]: Compared(**entry) for entry in entries}


def run(case, fathom, java, folder):
    """Runs all variants alternately and keeps what each run took."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "classes").mkdir(parents=True)
    source = FOUNDING / "programs" / f"{case.program}.java"
    # For the oldest JVM that runs it.
    subprocess.run([java / "bin/javac", "-nowarn", "-Xlint:-options", "--release", "8", "-d", folder / "classes", source], check=True)
    command = case.command.replace("java ", f"{java / 'bin/java'} ", 1) if case.command.startswith("java ") else case.command
    subprocess.run([fathom, *case.arguments(), "--out", "runs.json", "--", command], cwd=folder, check=True, stdout=subprocess.DEVNULL)


def page(case, asked, java, image):
    """The page, or why there is none: what is known to differ must differ."""
    verdicts = {row["other"]: row["verdict"] for row in json.loads(asked.text("compare runs.json --json")[0])["comparisons"]}
    for name in case.faster_than_base:
        if verdicts.get(name) != "faster":
            raise RuntimeError(f"{name} is not faster than the first variant: {verdicts}")
    text = asked.text("compare runs.json")[0].replace(f"{java / 'bin/java'} ", "java ")
    given = shlex.join(["fathom", *case.arguments(), "--out", "runs.json", "--", case.command])
    parts = [f"# {case.title}\n", case.symptom.strip() + "\n",
             f"The program is [{case.program}](../../lab/founding/programs/{case.program}.java).\n",
             "## What fathom says\n", f"```\n$ {given}\n{text}\n```\n"]
    if image.exists():
        parts.append(f"![Each run as a point, the means with their intervals, as `fathom compare --html` draws them](../images/cases/{image.name})\n")
    parts += ["## How to read it\n", case.reading.strip() + "\n"]
    parts.append(f"Made by `lab/run cases {case.id}` on {time.strftime('%-d %B %Y')}: Linux {platform.release()}, {os.cpu_count()} CPUs, "
                 f"load {os.getloadavg()[0]:.1f}. The numbers are from that run.\n")
    return "\n".join(parts)


def picture(asked, image):
    """The runs as the page of `fathom compare` draws them."""
    asked.text("compare runs.json --html page.html")
    subprocess.run(["node", LAB.parent / "ui/scripts/screenshot.mjs", asked.folder / "page.html", image.parent], check=True,
                   env={**os.environ, "ONLY": "main", "NAME": image.name, "WIDTH": "1300", "HEIGHT": "1400"})
