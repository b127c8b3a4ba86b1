#!/usr/bin/env python3
"""What rustfmt, clippy and Biome do not check: Rust files of at most 500 lines, files of at most
3 MB, comments within 100 columns, the field's words in comments, strings and documents
(docs/glossary.md), that no rule makes up how sure it is or words of its own, that each schema of
JSON stands in docs/json.md, and that modules do not use each other in a circle (circles.py).
"""
import os
import re
import subprocess
import sys

import circles

MOST_LINES = 500
COLUMNS = 100
TAB = 8
# Of a line the comment that it ends with, and the inside of one that goes on over lines.
LINE_COMMENT = re.compile(r"^(?:.*?\s)??//[/!]?(?:\s(.*))?$")
BLOCK_COMMENT = re.compile(r"^(?:.*?\s)??/\*+(?:\s(.*))?$")
IN_BLOCK = re.compile(r"^\s*(?:\*(?!/) ?)?(.*)$")
# Of a line of a script likewise; a docstring is a comment, too.
HASH_COMMENT = re.compile(r"^(?:.*?\s)??#(?:\s(.*))?$")
DOCSTRING = re.compile(r"^\s*r?\"\"\"(.*)$")
# Lines of a drawing; more than one space within a line; quotes and links, which cannot be broken.
MAY_BE_WIDE = re.compile(r"[─│└├▶▼┐┘┤]|\S {2,}\S|https?://|\S{60}|^[^`]*(`[^`]*`[^`]*)*`[^`]{60}|^\s*\|")

# Words that the field does not use, each with the one that it does.
FIELD_WORDS = {
    "held against": "compared with",
    "beside": "compared with, next to, in addition to",
    "told": "reported, shown, known",
    "stretch": "interval",
    "stretches": "intervals",
    "processor": "CPU",
    "processors": "CPUs",
    "dearest": "most expensive",
    "for want of": "for lack of",
    "look-alike": "confounder",
    "look-alikes": "confounders",
    "in the base": "in the baseline",
}
FOREIGN = re.compile(r"(?<![\w-])(" + "|".join(FIELD_WORDS) + r")(?![\w-])", re.IGNORECASE)
# Names that others gave, identifiers, and keys of a published schema.
QUOTED = re.compile(r"trace processor|[aA]nnotation processors?|-processor\w*|`[^`]*`|\bstretches(?=\")")
# Comments and strings; a character and what is neither are passed over.
PROSE = re.compile(r"""//[^\n]*|/\*.*?\*/|r(#*)".*?"\1|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])'""", re.S)
DOCUMENTS = re.compile(r"^(README|ARCHITECTURE|CONTRIBUTING|CHANGELOG)\.md$|^docs/.*\.md$")
# Written by people, and what of it is not looked at for words: tests in Rust, which quote others.
SCRIPTS = re.compile(r"\.(py|sh)$|^(\.ci/run|bench/[\w-]+|bench/[\w/]+/run|lab/run)$")
SOURCES = re.compile(r"^(?!ui/src/generated/).*\.(rs|[ch]|java|tsx?|mjs|css)$")
QUOTING = re.compile(r"^(?!crates/[^/]+/src/).*\.rs$")
SCHEMA = re.compile(r"\"(fathom\.[a-z-]+/\d+)\"")
SCHEMAS = "docs/json.md"
TESTS = re.compile(r"^#\[cfg\(test\)\]\nmod \w+ \{.*", re.M | re.S)
# What finds causes: how sure it is follows from its ground, by the policy of confidence.rs.
FINDERS = re.compile(r"^crates/diagnose/src/((rules|growth|operations)/(?!(.*/)?tests(/|\.rs$))|vm_operations\.rs$)")
CONFIDENCE = re.compile(r"\bConfidence::[A-Z]\w+")
# What they say is a line of the catalogue, with an id.
WORDS = re.compile(r"\b(?:Remedy \{(?=\s*change:)|TEXT\b|Metric(?:::new\(| \{(?=\s*id:)))")
# A name is as the recording has it: what is put together for a sentence is a template.
DIAGNOSED = re.compile(r"^crates/diagnose/src/(?!(.*/)?tests(/|\.rs$))")
NO_NAME = re.compile(r'\bValue::[nN]ame\(\s*(?:&?format!|"[^"]* [^"]*")')


# The largest fixture is a JIT log of 2.2 MB.
LARGEST = 3_000_000


def foreign_words(path):
    text = open(path, encoding="utf-8").read()
    whole = [(0, text)]
    prose = whole if path.endswith(".md") else [(found.start(), found[0]) for found in PROSE.finditer(text)]
    for at, part in prose:
        part = QUOTED.sub(lambda quoted: " " * len(quoted[0]), part)
        for word in FOREIGN.finditer(part):
            number = text.count("\n", 0, at + word.start()) + 1
            yield f"{path}:{number}: \"{word[0]}\"; the field says {FIELD_WORDS[word[0].lower()]}"


def made_up(path):
    words = "words are lines of crates/diagnose/src/facts/, with an id"
    text = TESTS.sub("", open(path, encoding="utf-8").read()) if DIAGNOSED.match(path) else ""
    for within, what, instead in [
        (FINDERS, CONFIDENCE, "crates/diagnose/src/confidence.rs says how sure a ground makes it"),
        (FINDERS, WORDS, words),
        (DIAGNOSED, NO_NAME, words),
    ]:
        if not within.match(path):
            continue
        for found in what.finditer(text):
            number = text.count("\n", 0, found.start()) + 1
            yield f"{path}:{number}: {found[0]}; {instead}"


def comments(lines):
    """Number, line and text of each line that is a comment or ends with one; None for the text of
    others.
    """
    in_block = False
    for number, line in enumerate(lines, 1):
        comment = IN_BLOCK.match(line) if in_block else LINE_COMMENT.match(line)
        if not in_block and not comment:
            comment = BLOCK_COMMENT.match(line)
            in_block = bool(comment)
        if in_block and "*/" in line:
            in_block = False
        yield number, line, (comment[1] or "") if comment else None


def script_comments(lines):
    """The same of a script in Python or of a shell."""
    in_docstring = False
    for number, line in enumerate(lines, 1):
        begins = None if in_docstring else DOCSTRING.match(line)
        comment = begins[1] if begins else line.strip() if in_docstring else None
        if comment is None:
            found = HASH_COMMENT.match(line)
            comment = (found[1] or "") if found else None
        # It may end on the line that it begins on.
        if begins or in_docstring:
            in_docstring = '"""' not in (begins[1] if begins else line)
        yield number, line, comment


def faults(path):
    lines = open(path, encoding="utf-8").read().splitlines()
    if len(lines) > MOST_LINES and path.endswith(".rs"):
        yield f"{path}: {len(lines)} lines, more than {MOST_LINES}"
    fenced = False
    parts = script_comments(lines) if SCRIPTS.search(path) else comments(lines)
    for number, line, comment in parts:
        if comment is None:
            fenced = False
            continue
        if comment.startswith("```"):
            fenced = not fenced
        width = len(line.expandtabs(TAB))
        if width > COLUMNS and not fenced and not MAY_BE_WIDE.search(comment):
            yield f"{path}:{number}: a comment of {width} columns, more than {COLUMNS}"


def not_described(sources):
    known = open(SCHEMAS, encoding="utf-8").read()
    for path in sources:
        text = TESTS.sub("", open(path, encoding="utf-8").read())
        for schema in sorted(set(SCHEMA.findall(text))):
            if f"`{schema}`" not in known:
                yield f"{path}: {schema} does not stand in {SCHEMAS}"


def too_large(listed):
    """What was fetched or built, and is not kept here."""
    sizes = ((path, os.path.getsize(path)) for path in listed)
    return [f"{path}: {size:,} bytes, more than {LARGEST:,}" for path, size in sizes if size > LARGEST]


def main():
    listed = subprocess.check_output(["git", "ls-files", "-co", "--exclude-standard"], text=True).split("\n")
    listed = [path for path in listed if os.path.exists(path)]
    rust = [path for path in listed if path.endswith(".rs")]
    sources = [path for path in listed if SOURCES.match(path)]
    prose = [path for path in listed if DOCUMENTS.match(path)] + [s for s in sources if not QUOTING.match(s)]
    scripts = [path for path in listed if SCRIPTS.search(path)]
    found = [fault for path in sources + scripts for fault in faults(path)]
    found += [fault for path in prose for fault in foreign_words(path)]
    found += [fault for path in rust for fault in made_up(path)]
    found += [fault for crate in sorted(os.listdir("crates")) for fault in circles.faults(crate)]
    found += too_large(listed)
    found += not_described(path for path in rust if not QUOTING.match(path))
    print("\n".join(found) or f"house: {len(sources) + len(scripts)} source files and {len(prose)} files of prose are in order")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
