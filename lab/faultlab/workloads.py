"""The workloads and their parts, compiled once per folder of recordings. See lab/workloads.toml."""
import hashlib
import json
import shutil
import subprocess
import tomllib
from dataclasses import dataclass
from pathlib import Path

from .catalogue import LAB

BURST_METHODS = 500


@dataclass(frozen=True)
class Workload:
    """A service, and the program that calls it if it is called over the network."""

    name: str
    main: str
    about: str
    warm_seconds: float
    jars: tuple = ()
    client: str = ""


def read():
    tables = tomllib.loads((LAB / "workloads.toml").read_text())
    return {name: Workload(name=name, **{k: tuple(v) if isinstance(v, list) else v for k, v in table.items()})
            for name, table in tables.items()}


def java_home(fathom, wanted):
    """The home of a JDK that has a compiler and is of the requested release, or the newest."""
    jdks = json.loads(subprocess.check_output([fathom, "jdks", "--json"]))["jdks"]
    homes = {str(jdk["feature"]): jdk["home"] for jdk in jdks if jdk["javac"]}
    if not homes or wanted and wanted not in homes:
        have = ", ".join(sorted(homes)) or "none"
        raise SystemExit(f"lab/run: no JDK {wanted or ''} with a compiler; fathom jdks lists: {have}")
    feature = wanted or max(homes, key=int)
    return int(feature), Path(homes[feature])


def bring_jars(needed, folder):
    """Has Maven fetch the jars of lab/jars.tsv that are missing, and compares each with its
    checksum.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pinned = {}
    for line in (LAB / "jars.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            coordinates, checksum = line.split("\t")
            pinned[coordinates.split(":")[1]] = (coordinates, checksum)
    found = []
    for artifact in needed:
        coordinates, checksum = pinned[artifact]
        jar = folder / "{1}-{2}.jar".format(*coordinates.split(":"))
        if not jar.exists():
            fetch(coordinates, folder)
        if hashlib.sha256(jar.read_bytes()).hexdigest() != checksum:
            jar.unlink()
            raise SystemExit(f"lab/run: {coordinates} is not the jar that lab/jars.tsv names")
        found.append(jar)
    return found


def fetch(coordinates, folder):
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
    command = ["mvn", "-q", "-B", f"{plugin}:copy", f"-Dartifact={coordinates}", f"-DoutputDirectory={folder}"]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        raise SystemExit(f"lab/run: Maven could not fetch {coordinates}")


def burst_source(folder):
    """A fault of many methods that become hot at once: code that nobody writes by hand."""
    body = "".join(
        f"  static long m{i}(long x) {{ long s = x; for (int k = 0; k < 90; k++) {{"
        f" s += (s ^ {i * 7919 + 13}L) >>> (k & 7);"
        f" if ((s & {(i % 30) + 1}) == 0) s = s * 31 + k; else s -= k * {i + 3}L;"
        f" s ^= Long.rotateLeft(s, {i % 60 + 1}); }} return s; }}\n"
        for i in range(BURST_METHODS))
    calls = "".join(f"    s = m{i}(s);\n" for i in range(BURST_METHODS))
    (folder / "Burst.java").write_text(
        "public final class Burst implements Fault {\n  static volatile long last;\n"
        "  public void duringOperation(int worker, boolean active) { if (active) last = all(worker); }\n"
        f"{body}  static long all(long s) {{\n{calls}    return s;\n  }}\n}}\n")


def compile_workload(workload, java, out):
    """Compiles a workload into its own folder and returns its class path."""
    classes = out / "classes" / workload.name
    shutil.rmtree(classes, ignore_errors=True)
    classes.mkdir(parents=True)
    sources = [*(LAB / "workloads/shared").glob("*.java"),
               *(LAB / "workloads" / workload.name).rglob("*.java")]
    if workload.name == "orders":
        burst_source(classes)
        sources.append(classes / "Burst.java")
    jars = bring_jars(workload.jars, out / "jars")
    path = ":".join(map(str, [classes, LAB / "workloads" / workload.name, *jars]))
    subprocess.run([java / "bin/javac", "--release", "17", "-nowarn", "-cp", path, "-d", classes, *sources],
                   check=True)
    return path
