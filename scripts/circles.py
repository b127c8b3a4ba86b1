#!/usr/bin/env python3
"""Circles between the modules of a crate, or between those within a module: one that uses another
one, which uses it in turn, is in no layer.

Tests may use what they like. A name that a module re-exports counts as one of the module that has
it. What a module and those within it use of each other is not looked at.
"""
import os
import re

TEST_FILE = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\([a-z]+\))? )?mod (\w+);", re.M)
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(pub(\([a-z]+\))? )?mod \w+ \{.*", re.M | re.S)
COMMENT = re.compile(r"//[^\n]*")
REEXPORT = re.compile(r"^(?:pub(?:\([a-z ]+\))? )?use (?:crate::|self::)?(\w+)::([^;]+);", re.M)
ITEM = re.compile(r"^pub(?:\([a-z]+\))? (?:struct|enum|fn|const|static|trait|type) (\w+)", re.M)
PATH = re.compile(r"\b(crate|self|super)::")
NAME = re.compile(r"\w+|\*")

# Uses that close a circle, with why they are there: where they are, which module, and what it uses.
# No new ones come in, and none stays here that is gone.
KNOWN = {
    ("capture/bpf", "interrupts", "kit"): "its program is opened by the kit, which shares its map with all programs",
    ("capture/disk", "record", "program"): "the types of what the program sends stand next to its skeleton",
    ("capture/jvm_events", "functions", "probes"): "the kinds of events stand in the list of probes",
    ("capture/jvm_events", "record", "probes"): "types of what the program sends, and the kinds, stand in probes",
    ("capture/locks", "virtual_samples", "virtual_threads"): "the wait that both report stands in one of them",
    ("capture/memory", "record", "program"): "the types of what the program sends stand next to its skeleton",
    ("capture/slow", "trigger", "triggers"): "a trigger is read by the list of all kinds",
    ("capture/target", "jvms", "select"): "a pattern of names stands in what it selects, and JVMs are selected by it too",
    ("capture/unwind", "kept", "load"): "the types of what the programs send stand next to the skeleton",
    ("capture/unwind", "samples", "load"): "the types of what the programs send stand next to the skeleton",
    ("capture/unwind", "shared", "load"): "the types of the shared maps stand next to the skeleton",
    ("cli/commands/method", "slow", "show"): "slow calls show times as the others do",
    ("diagnose/facts", "value", "statement"): "a value may be statements, which hold values",
    ("diagnose/growth", "words", "calls"): "the words of more calls take what was counted",
    ("diagnose/thread_ledger", "bounds", "charge"): "bounds cut the account that charge fills within them",
    ("diagnose/thread_ledger", "layers", "charge"): "the number of categories stands with the account",
    ("diagnose/thread_ledger", "thread_records", "gaps"): "records keep by what means a gap of them is judged",
    ("ingest/jfr", "run_writer", "events"): "what writes a run has a state of each group of events",
    ("ingest/jfr", "run_writer", "gc_events"): "what writes a run has a state of each group of events",
    ("ingest/jfr", "run_writer", "safepoints"): "what writes a run has a state of each group of events",
    ("ingest/jfr", "stacks", "names"): "names of a chunk hold its stacks, whose frames are named by them",
}


def ends(text, at):
    """The paths that go on at a place, behind `::`: one, or those of all within braces."""
    if text[at : at + 1] != "{":
        name = NAME.match(text, at)
        if not name:
            return [()], at
        if text[name.end() : name.end() + 2] != "::":
            return [(name[0],)], name.end()
        rest, end = ends(text, name.end() + 2)
        return [(name[0], *path) for path in rest], end
    found, at = [], at + 1
    while at < len(text) and text[at] != "}":
        if NAME.match(text, at):
            paths, at = ends(text, at)
            found += paths
        else:
            at += 1
    return found, at + 1


def files(root):
    """The code of each file by its module (the root: ()), without tests and comments."""
    code, of_tests = {}, set()
    for folder, _, names in os.walk(root):
        for name in (name for name in names if name.endswith(".rs")):
            path = os.path.join(folder, name)
            module = tuple(part for part in os.path.relpath(path, root)[:-3].split("/") if part != "mod")
            module = () if module in (("lib",), ("main",)) else module
            text = open(path, encoding="utf-8").read()
            of_tests.update((*module, test) for test in TEST_FILE.findall(text))
            code[module] = code.get(module, "") + COMMENT.sub("", TESTS.sub("", text))
    is_test = lambda module: any(module[:depth] in of_tests for depth in range(1, len(module) + 1))
    return {module: text for module, text in code.items() if not is_test(module)}


def reexports(code, module):
    """Names of a module that stand in one within it."""
    owners = {}
    for inner, names in REEXPORT.findall(code[module]):
        known = code.get((*module, inner), "")
        for name in ITEM.findall(known) if names.strip() == "*" else re.findall(r"\w+", names):
            if known:
                owners.setdefault(name, inner)
    return owners


def uses(root):
    """Of each module that has others within it: which of these use which, with the files in which
    they do.
    """
    code = files(root)
    owners = {module: reexports(code, module) for module in code}
    edges = {}
    for module, text in code.items():
        for start in PATH.finditer(text):
            before = text[: start.start()]
            depth = len(re.search(r"(?:\bsuper::)*$", before)[0]) // len("super::") if start[1] == "super" else 0
            if start[1] == "super" and text.startswith("super::", start.end()):
                continue
            base = {"crate": (), "self": module, "super": module[: max(0, len(module) - 1 - depth)]}[start[1]]
            for path in ends(text, start.end())[0]:
                used = base
                for name in path:
                    name = name if (*used, name) in code else owners.get(used, {}).get(name)
                    if name is None:
                        break
                    used = (*used, name)
                shared = os.path.commonprefix([module, used])
                at = len(shared)
                if at < len(module) and at < len(used):
                    within = edges.setdefault(tuple(shared), {})
                    within.setdefault(module[at], {}).setdefault(used[at], set()).add("/".join(module))
    return edges


def circles(edges):
    """Groups of modules that each reach all others of their group."""
    def reached(start):
        seen, todo = set(), [start]
        while todo:
            new = set(edges.get(todo.pop(), {})) - seen
            seen |= new
            todo += new
        return seen

    reach = {module: reached(module) for module in edges}
    return {frozenset(o for o in reach[m] if m in reach.get(o, ())) for m in edges if m in reach[m]}


def faults(crate):
    """Circles that are not known, and known ones that are not there."""
    known = {use for use in KNOWN if use[0].split("/")[0] == crate}
    for module, edges in sorted(uses(f"crates/{crate}/src").items()):
        within = "/".join((crate, *module))
        here = {use for use in known if use[0] == within}
        closing = {(within, a, b) for circle in circles(edges) for a in circle for b in set(edges[a]) & circle}
        open_edges = {a: {b for b in edges[a] if (within, a, b) not in here} for a in edges}
        for circle in circles(open_edges):
            yield f"crates/{crate}/src/{'/'.join(module)}: these use each other in a circle: {', '.join(sorted(circle))}"
        known -= here & closing
    for within, user, used in sorted(known):
        yield f"scripts/circles.py: {user} of {within} closes no circle with {used}: no longer KNOWN"


def main():
    """Prints all circles, those that are known too."""
    for crate in sorted(os.listdir("crates")):
        for module, edges in sorted(uses(f"crates/{crate}/src").items()):
            for circle in sorted(circles(edges), key=sorted):
                print(f"{'/'.join((crate, *module))}: {', '.join(sorted(circle))}")
                for use, why in KNOWN.items():
                    if use[0] == "/".join((crate, *module)) and {use[1], use[2]} <= circle:
                        print(f"    {use[1]} uses {use[2]}: {why}")


if __name__ == "__main__":
    main()
