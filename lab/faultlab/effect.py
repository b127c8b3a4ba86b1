"""What a fault cost, measured on the table of the operations, and how much a control varies by
itself.
"""
import csv
import json
from dataclasses import dataclass

from .runner import RECORD_SECONDS, RESULT

TICK_S = 0.5
LEAST_NOISE = 0.03


@dataclass(frozen=True)
class Conditions:
    """When the fault was on, in seconds since the epoch, and the load at that time."""

    record_from: float
    record_until: float
    on: float
    off: float
    java: int
    load: float
    busy_share: float


def conditions(folder):
    """The content of `result.json`."""
    result = json.loads((folder / RESULT).read_text())
    began, load = result["record_from"], (result["load_before"] + result["load_after"]) / 2
    until = began + result.get("record_seconds", RECORD_SECONDS)
    return Conditions(began, until, result["on"], result["off"], result["java"], load, result["busy_share"])


def table(folder):
    """The ends of all ticks in seconds, and their operations."""
    with open(folder / "throughput.csv") as file:
        return [(int(row["time"]) / 1000, float(row["operations"])) for row in csv.DictReader(file)]


def measured_loss(folder, when):
    """The share of the operations that is missing while the fault is on, compared with the time
    before it.
    """
    base, slow, previous = [], [], None
    for end, operations in table(folder):
        start, previous = previous or end - TICK_S, end
        if start >= when.record_from and end <= when.on:
            base.append((operations, end - start))
        elif start >= when.on and end <= min(when.off, when.record_until):
            slow.append((operations, end - start))
    rates = [sum(o for o, _ in part) / max(sum(s for _, s in part), TICK_S) for part in (base, slow)]
    # A service that stands still may not write a single tick.
    return 1 - rates[1] / rates[0] if rates[0] else 0.0


def noise(losses):
    """How much a workload gains or loses without a fault: the largest change of its steady
    controls.
    """
    return max([abs(loss) for loss in losses], default=0.0) or LEAST_NOISE
