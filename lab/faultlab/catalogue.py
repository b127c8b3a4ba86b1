"""The cases: which fault is injected into which workload, and the truth about it. Read from
lab/cases/*.toml.
"""
import re
import tomllib
from dataclasses import dataclass, field
from pathlib import Path

LAB = Path(__file__).resolve().parent.parent
FAMILIES = ("single", "pair", "two", "benign", "control")


@dataclass(frozen=True)
class Truth:
    """What a verdict must say to be right; patterns are those of Python's `re`."""

    cause: str = ""
    rules: tuple = ()
    says: tuple = ()
    site: tuple = ()
    links: tuple = ()
    categories: tuple = ()
    jmc: tuple = ()

    def fits(self, finding):
        """Whether a finding is of a rule that is right here, or names the culprit."""
        return finding["rule"] in self.rules or names(self.says, finding)


@dataclass(frozen=True)
class Case:
    """One way to run a workload."""

    id: str
    workload: str
    family: str
    truths: tuple
    fault: str = "none"
    outside: str = ""
    pair: str = ""
    group: str = "other"
    workers: int = 8
    flags: tuple = ()
    decoys: tuple = ()
    in_log: bool = False
    always: bool = False
    cold: bool = False
    asks_less: bool = False
    quick: bool = False
    java_min: int = 17
    java_max: int = 99
    note: str = ""
    options: dict = field(default_factory=dict)

    @property
    def quiet(self):
        """Whether the right answer is that nothing is wrong."""
        return self.family in ("control", "benign")


def names(patterns, finding):
    text = f"{finding['title']['text']}\n{finding['culprit']['text']}"
    return any(re.search(pattern, text) for pattern in patterns)


def truth(entry):
    """The truth in a TOML table. The culprit's name is also the site, unless that is given."""
    lists = {key: tuple(entry.get(key, ())) for key in ("rules", "says", "site", "links", "categories", "jmc")}
    lists["site"] = lists["site"] or lists["says"]
    return Truth(cause=entry.get("cause", ""), **lists)


TRUTH_KEYS = {"cause", "rules", "says", "site", "links", "categories", "jmc"}


def case(entry, workload):
    family = entry.get("family", "single")
    if family not in FAMILIES:
        raise ValueError(f"case {entry['id']}: no family {family}")
    known = set(Case.__dataclass_fields__) | TRUTH_KEYS | {"also"}
    if unknown := set(entry) - known:
        raise ValueError(f"case {entry['id']}: unknown {', '.join(sorted(unknown))}")
    rest = {key: tuple(value) if isinstance(value, list) else value
            for key, value in entry.items() if key not in TRUTH_KEYS | {"also", "family"}}
    truths = (truth(entry), *(truth(also) for also in entry.get("also", [])))
    made = Case(workload=workload, family=family, truths=truths, **rest)
    if not made.quiet and not all(t.rules or t.says for t in truths):
        raise ValueError(f"case {made.id}: no rule, pattern or site says when a verdict is right")
    for each in (*(p for t in truths for p in (*t.says, *t.site, *t.links)), *made.decoys):
        re.compile(each)
    return made


def read():
    """All cases in the order of their files; ids are unique."""
    found = {}
    for file in sorted((LAB / "cases").glob("*.toml")):
        for entry in tomllib.loads(file.read_text())["case"]:
            made = case(entry, file.stem)
            if made.id in found:
                raise ValueError(f"{file.name}: case {made.id} occurs twice")
            found[made.id] = made
    return found
