"""Grades of a verdict, compared with the truth."""
import re

from .catalogue import names

LOUD = ("likely", "proven")
# A link with a smaller part of the wait than this need not be the injector's.
LINK_SHARE = 0.2
STACK_DEPTH = 12


def grade(case, verdict):
    """right, later (another finding is right), silent, wrong, or failed."""
    if verdict is None:
        return "failed"
    found = verdict["findings"]
    if case.quiet:
        return "wrong" if any(f["confidence"] in LOUD for f in found) else "right"
    place = rank(case, found)
    if place is None:
        return "wrong" if found else "silent"
    return "right" if place == 0 else "later"


def rank(case, found):
    """The index of the first finding that is right; None if there is none."""
    return next((i for i, f in enumerate(found) if any(t.fits(f) for t in case.truths)), None)


def in_first_three(case, found):
    """How many of the truths are among the first three findings."""
    return sum(any(t.fits(f) for f in found[:3]) for t in case.truths)


def links(chain):
    """The links of a chain with a considerable part of the wait, as texts."""
    def walk(some, carried):
        for link in some:
            share = carried * min(link["share"], 1)
            who = "its holders, in turn" if link["kind"] == "holders" else link["thread"]
            if who is not None and share >= LINK_SHARE:
                yield " | ".join([who, link["what"]["text"], *link["stack"][:STACK_DEPTH]])
                yield from walk(link["next"], share)
    return list(walk(chain["links"], 1.0)) if chain else []


def grounded(case, finding):
    """Whether the title or culprit names the injector's site, and every link of the chain is the
    injector's.
    """
    truth = next((t for t in case.truths if t.fits(finding)), None)
    if truth is None or truth.site and not names(truth.site, finding):
        return False
    allowed = (*truth.site, *truth.links)
    return not allowed or all(any(re.search(p, link) for p in allowed) for link in links(finding["chain"]))


def decoyed(case, found):
    """Whether the first finding is the wrong one that the case was designed to suggest."""
    return bool(found) and names(case.decoys, found[0])


def abstains(case, verdict):
    """Whether a verdict on a part of the sources is right in what it says or leaves out."""
    if verdict is None:
        return False
    loud = [f for f in verdict["findings"] if f["confidence"] in LOUD]
    return not loud or not case.quiet and any(t.fits(loud[0]) for t in case.truths)
