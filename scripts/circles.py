"""Circles between the top-level modules of a crate: a module that uses another one, which uses it in turn,
is in no layer.

Tests may use what they like. Names that lib.rs re-exports count as uses of the module that has them.
"""
import os
import re

TEST_FILE = re.compile(r"^#\[cfg\(test\)\]\n(?:pub(?:\([a-z]+\))? )?mod (\w+);", re.M)
TESTS = re.compile(r"^#\[cfg\(test\)\]\n(pub(\([a-z]+\))? )?mod \w+ \{.*", re.M | re.S)
COMMENT = re.compile(r"//[^\n]*")
REEXPORT = re.compile(r"^(?:pub(?:\(crate\))? )?use (?:crate::|self::)?(\w+)::([^;]+);", re.M)
ITEM = re.compile(r"^pub (?:struct|enum|fn|const|static|trait|type) (\w+)", re.M)
USES = re.compile(r"\bcrate::(\w+)")
GROUP = re.compile(r"\bcrate::\{")


def grouped(text, at):
    """The first names of what stands within the braces that begin at a place."""
    depth, name = 0, ""
    for letter in text[at:]:
        depth += {"{": 1, "}": -1}.get(letter, 0)
        if depth == 0 or (letter == "," and depth == 1):
            first = re.match(r"[{\s]*(\w+)", name)
            if first:
                yield first[1]
            name = ""
        else:
            name += letter
        if depth == 0:
            return


def sources(root):
    """The code of each top-level module, and of the crate's root, without tests and comments."""
    files, of_tests = {}, set()
    for folder, _, names in os.walk(root):
        for name in (name for name in names if name.endswith(".rs")):
            path = os.path.join(folder, name)
            parts = tuple(part for part in os.path.relpath(path, root)[:-3].split("/") if part != "mod")
            files[parts] = open(path, encoding="utf-8").read()
            within = () if parts in (("lib",), ("main",)) else parts
            of_tests.update((*within, test) for test in TEST_FILE.findall(files[parts]))
    code = {}
    for parts, text in files.items():
        if not any(parts[:depth] in of_tests for depth in range(1, len(parts) + 1)):
            code.setdefault(parts[0], []).append((parts, COMMENT.sub("", TESTS.sub("", text))))
    return code


def uses(root):
    """Which top-level modules each of them uses, with the files in which it does."""
    code = sources(root)
    roots = [name for name in ("lib", "main") if name in code]
    owners = {name: name for name in code if name not in roots}
    for text in (text for name in roots for _, text in code[name]):
        for module, names in REEXPORT.findall(text):
            known = "\n".join(text for parts, text in code.get(module, []) if len(parts) == 1)
            of_all = ITEM.findall(known) if names.strip() == "*" else re.findall(r"\w+", names)
            for name in of_all:
                owners.setdefault(name, module)
    edges = {name: {} for name in owners.values()}
    for module in (name for name in code if name not in roots):
        for parts, text in code[module]:
            names = USES.findall(text) + [n for at in GROUP.finditer(text) for n in grouped(text, at.end() - 1)]
            if len(parts) == 1:
                names += re.findall(r"\bsuper::(\w+)", text)
            for name in names:
                if owners.get(name, module) != module:
                    edges[module].setdefault(owners[name], set()).add("/".join(parts))
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
    return {frozenset(o for o in reach[m] if m in reach[o]) for m in edges if m in reach[m]}
