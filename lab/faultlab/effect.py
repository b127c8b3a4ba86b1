"""What a fault cost, measured on the table of the operations, and how much a control varies by itself."""
import csv
import json
from dataclasses import dataclass

from .runner import FAULT_FOR, FAULT_FROM, RECORD_SECONDS, RESULT

# Old recordings of the lab, without `result.json`, began at this second of the service.
OLD_RECORD_FROM = 3
TICK_S = 0.5
LEAST_NOISE = 0.03


@dataclass(frozen=True)
class Conditions:
    """When the fault was on, in seconds since the epoch, and the load at that time."""

    record_from: float
    on: float
    off: float
    java: int
    load: float | None
    busy_share: float | None


def conditions(folder):
    """The content of `result.json`; for an old recording, the times in its table."""
    file = folder / RESULT
    if file.exists():
        result = json.loads(file.read_text())
        load = (result["load_before"] + result["load_after"]) / 2
        return Conditions(result["record_from"], result["on"], result["off"], result["java"], load, result["busy_share"])
    began = table(folder)[0][0] - TICK_S + OLD_RECORD_FROM
    return Conditions(began, began + FAULT_FROM, began + FAULT_FROM + FAULT_FOR, 0, None, None)


def table(folder):
    """The ends of all ticks in seconds, and their operations."""
    with open(folder / "throughput.csv") as file:
        return [(int(row["time"]) / 1000, float(row["operations"])) for row in csv.DictReader(file)]


def measured_loss(folder, when):
    """The share of the operations that is missing while the fault is on, compared with the time before it."""
    base, slow, previous = [], [], None
    for end, operations in table(folder):
        start, previous = previous or end - TICK_S, end
        if start >= when.record_from and end <= when.on:
            base.append((operations, end - start))
        elif start >= when.on and end <= min(when.off, when.record_from + RECORD_SECONDS):
            slow.append((operations, end - start))
    rates = [sum(o for o, _ in part) / max(sum(s for _, s in part), TICK_S) for part in (base, slow)]
    # A service that stands still may not write a single tick.
    return 1 - rates[1] / rates[0] if rates[0] else 0.0


def noise(losses):
    """How much a workload gains or loses without a fault: the largest change of its steady controls."""
    return max([abs(loss) for loss in losses], default=0.0) or LEAST_NOISE
