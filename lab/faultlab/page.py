"""Makes docs/accuracy.md from the rows of score.py: every number on it was counted here."""
import math
from statistics import median

Z = 1.96


def wilson(right, of):
    """The 95% interval of a share, after Wilson (1927)."""
    if not of:
        return 0.0, 1.0
    share, spread = right / of, Z * Z / of
    middle = (share + spread / 2) / (1 + spread)
    half = Z * math.sqrt(share * (1 - share) / of + spread / (4 * of)) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def rate(flags):
    """`12 of 20, 60% (39 to 78%)`."""
    flags = list(flags)
    if not flags:
        return "—"
    low, high = wilson(sum(flags), len(flags))
    return f"{sum(flags)} of {len(flags)}, {sum(flags) / len(flags):.0%} ({low:.0%} to {high:.0%})"


def percent(share):
    """`38%`; a loss of nearly nothing has no sign."""
    return f"{round(share * 100) + 0}%"


def line(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def head(*cells):
    return [line(*cells), "|" + "---|" * len(cells)]


def right(row, name="with"):
    return row["grades"][name] == "right"


def counted(rows):
    """The faults whose effect was measured to be larger than the noise."""
    return [r for r in rows if r["counts"] and not r["quiet"]]


def quiet(rows):
    return [r for r in rows if r["counts"] and r["quiet"]]


def first_words(row):
    """The first thing that the verdict says, on one line."""
    text = row["first"]["title"] if row["first"] else row["headline"]
    return " ".join(text.split()).replace("|", "\\|")[:170]


def failures(rows):
    """Every run that is not right, with its recording, for those who fix the engine."""
    return "\n".join(f"{r['grades']['with']:7}{r['case']:28}{r['folder']}\n        {first_words(r)}"
                     for r in rows if r["counts"] and not right(r)) or "all are right"


def conditions(rows, note):
    loads, busy = [r["load"] for r in rows], [r["busy_share"] for r in rows]
    lengths = " or ".join(f"{s:g} s" for s in sorted({round(r["seconds"]) for r in rows}))
    javas = ", ".join(f"{sum(r['java'] == j for r in rows)} on JDK {j}" for j in sorted({r["java"] for r in rows}))
    said = [f"{len(rows)} runs ({javas}) of {len({r['case'] for r in rows})} cases, each of {lengths}, with the fault on for a third of it."]
    said.append(f"The load average of the machine was {min(loads):.1f} to {max(loads):.1f} during the runs, with a median of"
                f" {median(loads):.1f}; its two CPUs were busy for {min(busy):.0%} to {max(busy):.0%} of a run,"
                f" {median(busy):.0%} in the median, by the lab itself and by other programs.")
    return " ".join([*said, "Each JVM also wrote a flight recording, for JMC.", note]).strip()


def whole(rows):
    faults, calm = counted(rows), quiet(rows)
    out = ["## The whole", "", *head("measure", "fathom"),
           line("top-1, with the table of the operations", rate(right(r) for r in faults)),
           line("top-3, with the table", rate(r["rank"] is not None and r["rank"] < 3 for r in faults)),
           line("grounded top-1", rate(right(r) and r["grounded"] for r in faults)),
           line("top-1, without the table", rate(right(r, "without") for r in faults)),
           line("no finding at all, with the table", rate(r["grades"]["with"] == "silent" for r in faults)),
           line("both causes among the first three, of two at once of which each costs something alone",
                rate(r["in_first_three"] == r["truths"] for r in faults if r["family"] == "two" and r["each_costs"])),
           line("fell for the decoy", rate(r["decoyed"] for r in faults)),
           line("false alarms, with the table", rate(not right(r) for r in calm)),
           line("false alarms, without the table", rate(not right(r, "without") for r in calm)),
           line("right to abstain or right, given the GC log alone", rate(r["abstains"]["log"] for r in faults + calm)),
           line("right to abstain or right, given the GC log and the table", rate(r["abstains"]["table"] for r in faults + calm))]
    onsets = [abs(r["onset_s"]) for r in faults if r["onset_s"] is not None]
    if onsets:
        near = rate(o <= 1.0 for o in onsets)
        out.append(line("begin of the slow window within 1 s of the injection", f"{near}; median {median(onsets):.2f} s"))
    errors = [abs(r["predicted"] - r["loss"]) for r in faults if right(r) and r["predicted"] is not None]
    if errors:
        out.append(line("predicted loss of a right first finding, compared with the measured one",
                        f"median error {median(errors) * 100:.0f} points, worst {max(errors) * 100:.0f}"
                        f" ({len(errors)} runs)"))
    return out


def compared(rows):
    faults = [r for r in counted(rows) if "jmc" in r and "baseline" in r]
    calm = [r for r in quiet(rows) if "jmc" in r]
    return ["", "## Compared with two rivals", "",
            "The same runs, those that left a flight recording.", "",
            *head("", "top-1", "top-3", "finding on runs in which nothing is wrong"),
            line("fathom, with the table", rate(right(r) for r in faults),
                 rate(r["rank"] is not None and r["rank"] < 3 for r in faults), rate(not right(r) for r in calm)),
            line("JMC 9.1.2, automated analysis", rate(r["jmc"]["top_1"] for r in faults),
                 rate(r["jmc"]["top_3"] for r in faults), rate(r["jmc"]["alarms"] > 0 for r in calm)),
            line("largest relative change", rate(r["baseline"]["right"] for r in faults), "—", "always"), "",
            "- **JMC** runs all of its rules over the flight recording of the same run (`settings=profile`), once over",
            "  the whole file and once over the seconds in which the fault was on, which it is given; the better counts.",
            "  Right is a result of score 25 or more (what JMC does not call OK) whose rule is about the kind of the",
            "  cause (any of its rules of the collector for any fault of the collector, `JavaBlocking` for any lock,",
            "  `MethodProfiling` or `Exceptions` for any computing, `CompareCpu` for a CPU that is taken away …), or whose text",
            "  names the culprit. That is less than is asked of fathom, which must name the culprit or the very rule.",
            "- **The largest relative change** gets these seconds, too. It takes the category of the application threads'",
            "  time or the frame by its own CPU time that grew most in relation. Right is a frame that the truth names, or",
            "  a category of the kind of the cause."]


def by(rows, key, title):
    out = ["", f"## By {title}", "", *head(title, "top-1", "grounded", "without the table", "JMC top-1", "largest change")]
    for value in sorted({r[key] for r in counted(rows) if r[key]}):
        some = [r for r in counted(rows) if r[key] == value]
        out.append(line(value, rate(right(r) for r in some), rate(right(r) and r["grounded"] for r in some),
                        rate(right(r, "without") for r in some), rate(r["jmc"]["top_1"] for r in some if "jmc" in r),
                        rate(r["baseline"]["right"] for r in some if "baseline" in r)))
    return out


def by_rule(rows):
    """Precision: of the runs whose first loud or other finding is of a rule. Recall: of those whose
    truth lists it.
    """
    faults = counted(rows)
    spoken = [r for r in faults + quiet(rows) if r["first"] and not (r["quiet"] and right(r))]
    out = ["", "## By rule", "",
           "Precision: of the first findings of a rule, how many are right. Recall: of the runs whose truth lists the rule, how",
           "many have a right first finding. A calm run counts where its finding is called likely or proven.", "",
           *head("rule", "precision", "recall")]
    for rule in sorted({r["first"]["rule"] for r in spoken} | {x for r in faults for x in r["rules"]}):
        out.append(line(f"`{rule}`", rate(right(r) and not r["quiet"] for r in spoken if r["first"]["rule"] == rule),
                        rate(right(r) for r in faults if rule in r["rules"])))
    return out


def each(rows):
    out = ["", "## Each run", "", "Loss: of the operations, measured on the table. Baseline and JMC: top-1.", "",
           *head("case", "JDK", "load", "loss", "grade", "grounded", "without", "JMC", "largest change", "first finding")]
    mark = {True: "yes", False: "no", None: "—"}
    for r in sorted(rows, key=lambda r: (r["workload"], r["family"], r["case"], r["java"])):
        if not r["counts"]:
            continue
        known = not r["quiet"]
        out.append(line(r["case"], r["java"], "—" if r["load"] is None else f"{r['load']:.1f}", percent(r['loss']),
                        r["grades"]["with"], mark[r["grounded"]] if known else "—", r["grades"]["without"],
                        mark[r.get("jmc", {}).get("top_1")] if known else "—",
                        mark[r.get("baseline", {}).get("right")] if known else "—", first_words(r)))
    return out


def left_out(rows):
    out = ["", "## What does not count", "",
           "Faults that cost no more than a steady control of the same workload and JDK loses or gains by itself, and benign",
           "changes that cost more than that.", "", *head("case", "JDK", "loss", "noise", "grade it would have had")]
    return out + [line(r["case"], r["java"], percent(r['loss']), percent(r['noise']), r["grades"]["with"])
                  for r in rows if not r["counts"]]


# What each workload is, in the words of the page.
SERVICES = {
    "orders": "a small one of the lab's own",
    "library": "Jetty with Lucene",
    "desk": "H2 behind HikariCP",
    "broker": "Kafka's broker",
    "compiler": "javac behind the JDK's HTTP server",
    "spark": "Spark in local mode",
}

INTRODUCTION = """# {title}

Made by `lab/run score`. Faults with a known cause are put into services: {services} ([lab/README.md](../lab/README.md)). Each is recorded from outside by `fathom record` while
the fault begins and ends; then `fathom diagnose` is asked. Intervals are Wilson's, at 95%.

- **Top-1**: the first finding is of the rule that the truth lists, or its title or culprit names the method, lock, file or
  peer that was put in. **Top-3**: one of the first three is or does.
- **Grounded**: top-1, the title or culprit names the injector's own place, and every link of the chain that carries a
  fifth of the wait is the injector's too.
- **False alarm**: on a run in which nothing is wrong, or in which a change costs nothing, a finding is called likely or proven.
- **A fault counts** only where the loss of operations that was measured is larger than what any steady control of the
  same workload and JDK lost or gained. Those that do not are listed at the end.
- The truth is what the injector does. The same people wrote the faults and the rules, so these are no faults from the field.
"""


def band(loss):
    """How much was lost: fathom looks into a dip of less than a fifth only when it is asked to."""
    return "less than 20%" if loss < 0.2 else "20 to 50%" if loss < 0.5 else "more than 50%"


def page(rows, note, title):
    services = ", ".join(words for id, words in SERVICES.items() if any(r["workload"] == id for r in rows))
    introduction = INTRODUCTION.replace("{title}", title).replace("{services}", services)
    rows = [{**r, "band": band(r["loss"])} for r in rows]
    parts = [introduction, "## Conditions", "", conditions(rows, note),
             f"{len(counted(rows))} runs with a fault count, and {len(quiet(rows))} in which nothing is wrong"
             f" ({sum(r['family'] == 'control' for r in quiet(rows))} controls).", "",
             *whole(rows), *compared(rows), *by(rows, "family", "family"), *by(rows, "group", "kind of cause"),
             *by(rows, "workload", "workload"), *by(rows, "band", "loss measured"),
             *by(rows, "pair", "pair with the same symptom"), *by_rule(rows), *each(rows), *left_out(rows)]
    return "\n".join(parts) + "\n"
