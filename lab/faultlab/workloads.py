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
# The sources of the workloads are of this release.
OLDEST = 17


@dataclass(frozen=True)
class Workload:
    """A service, and the program that calls it if it is called over the network."""

    name: str
    main: str
    about: str
    warm_seconds: float
    jars: tuple = ()
    client: str = ""
    flags: tuple = ()


def read():
    tables = tomllib.loads((LAB / "workloads.toml").read_text())
    return {name: Workload(name=name, **{k: tuple(v) if isinstance(v, list) else v for k, v in table.items()})
            for name, table in tables.items()}


def java_home(fathom, wanted):
    """The home of the JDK of the requested release, or of the newest, and the home of one that has
    a compiler: a runtime runs what another JDK compiled.
    """
    jdks = json.loads(subprocess.check_output([fathom, "jdks", "--json"]))["jdks"]
    homes = {str(jdk["feature"]): jdk["home"] for jdk in jdks if jdk["feature"] >= OLDEST}
    compilers = {str(jdk["feature"]): jdk["home"] for jdk in jdks if jdk["javac"] and jdk["feature"] >= OLDEST}
    if not compilers or wanted and wanted not in homes:
        have = ", ".join(sorted(homes)) or "none"
        raise SystemExit(f"lab/run: no JDK {wanted or ''}, or none with a compiler; fathom jdks lists: {have}")
    newest = max(compilers, key=int)
    feature = wanted or newest
    return int(feature), Path(homes[feature]), Path(compilers.get(feature, compilers[newest]))


def pinned():
    """The jars of lab/jars.tsv, by `artifact` or, if it has one, `artifact:classifier`; where there
    are several versions, by `artifact-version` too.
    """
    found = {}
    for line in (LAB / "jars.tsv").read_text().splitlines():
        if line and not line.startswith("#"):
            coordinates, checksum = line.split("\t")
            jar = Jar(*coordinates.split(":"), checksum=checksum)
            found.setdefault(jar.artifact + (jar.classifier and f":{jar.classifier}"), jar)
            found[f"{jar.artifact}-{jar.version}"] = jar
    return found


@dataclass(frozen=True)
class Jar:
    """A jar that Maven brings."""

    group: str
    artifact: str
    version: str
    classifier: str = ""
    checksum: str = ""

    @property
    def file(self):
        return f"{self.artifact}-{self.version}{self.classifier and '-' + self.classifier}.jar"


def bring_jars(needed, folder):
    """Has Maven fetch the jars of lab/jars.tsv that are missing, and compares each with its
    checksum.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jars = pinned()
    found = [jars[one] for one in needed]
    if missing := [jar for jar in found if not (folder / jar.file).exists()]:
        fetch(missing, folder)
    for jar in found:
        file = folder / jar.file
        if hashlib.sha256(file.read_bytes()).hexdigest() != jar.checksum:
            file.unlink()
            raise SystemExit(f"lab/run: {file.name} is not the jar that lab/jars.tsv names")
    return [folder / jar.file for jar in found]


def fetch(jars, folder):
    """Has Maven copy jars, without what they depend on, as the dependencies of a project."""
    wanted = "".join(
        f"<dependency><groupId>{jar.group}</groupId><artifactId>{jar.artifact}</artifactId><version>{jar.version}</version>"
        f"{jar.classifier and f'<classifier>{jar.classifier}</classifier>'}"
        "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions></dependency>"
        for jar in jars)
    (folder / "pom.xml").write_text(
        '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion><groupId>lab</groupId>'
        f"<artifactId>lab</artifactId><version>1</version><dependencies>{wanted}</dependencies></project>")
    plugin = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"
    command = ["mvn", "-q", "-B", f"{plugin}:copy-dependencies", f"-DoutputDirectory={folder}"]
    if subprocess.run(command, cwd=folder, check=False).returncode:
        raise SystemExit(f"lab/run: Maven could not fetch {', '.join(jar.file for jar in jars)}")


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
