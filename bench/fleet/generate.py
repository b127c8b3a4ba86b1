#!/usr/bin/env python3
"""Makes a fleet of thousands of recordings out of the rows of a few real ones, with changes that
are planted.

    fathom fleet add shop.fathom --to templates/shop              # one place for each service
    bench/fleet/generate.py --from templates --to fleet --recordings 10000 --samples 100000 --seed 1

A template is what `fathom fleet add` made of a real recording. Each recording of the fleet is one
of a host on a day. Its rows are those of the template's fullest minute, repeated for as many
minutes as it takes to have SAMPLES samples at the rate of the real recording: so rows grow with
samples as they do in reality, and weights are sums by minute, as the layout has them. No single
sample is drawn or stored. Each cost is multiplied with factors that are its host's (5 %), its day's
(1 %) and that day's mix of requests (2 %), and the number of samples has the noise of counting.
Totals follow from the change of a method's own cost; stacks are not kept, so that of a caller's
total only the change of the whole is right.

`--plant all` puts in what PLANTED says, `--plant none` nothing: a quiet month. The same arguments
give the same rows. `--packed` writes one file for each table, service and day, for tests.
PLACE/planted.json says what was planted. Needs pyarrow and numpy.
"""
import argparse
import datetime
import hashlib
import json
import multiprocessing
import re
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

TABLES = ["frames", "ledger", "findings", "pauses", "locks", "calls", "series", "unseen", "recordings"]
FIRST_DAY = datetime.date(2026, 11, 1)
MINUTE_NS = 60_000_000_000
DAY_NS = 86_400_000_000_000
HOST_SD, DAY_SD, MIX_SD = 0.05, 0.01, 0.02
# A Java method by its name: what gcc makes of one function (`.isra.0`) is none.
JAVA = re.compile(r"[\w$./]+\.[A-Za-z<][\w$>]*")
VERSIONS = ["2.0", "2.1", "2.2"]
# What is planted: kind, which service (by number, those with most methods first), since which share
# of the days. A `release` is the day of a new version. The method is the one of its service with a
# share of its own cost nearest to `share`.
PLANTED = [
    {"kind": "regression", "service": 0, "share": 0.04, "factor": 1.3, "release": 2},
    {"kind": "regression", "service": 1, "share": 0.02, "factor": 1.4, "at": 0.45},
    {"kind": "category", "service": 2, "factor": 1.3, "at": 0.55},
    {"kind": "renamed", "service": 1, "share": 0.05, "release": 1},
    {"kind": "inlined", "service": 2, "share": 0.03, "release": 2},
    {"kind": "outlined", "service": 0, "share": 0.08, "release": 1},
    {"kind": "went-away", "service": 0, "share": 0.015, "factor": 1.6, "at": 0.3, "until": 0.5},
    {"kind": "one-host", "service": 1, "share": 0.01, "factor": 3.0, "host": 3},
]


def seeded(*words):
    """A generator of random numbers that is known by words."""
    digest = hashlib.sha256("\0".join(map(str, words)).encode()).digest()
    return np.random.default_rng(np.frombuffer(digest, dtype=np.uint32))


def factors(names, sd, *words):
    """A factor for each name, the same wherever the words are the same."""
    order = {name: i for i, name in enumerate(sorted(set(names)))}
    drawn = np.exp(seeded(*words).normal(0.0, sd, len(order)))
    return np.array([drawn[order[name]] for name in names])


class Template:
    """The rows of a real recording."""

    def __init__(self, place, service, samples):
        self.service = service
        self.tables = {}
        for table in TABLES:
            files = sorted(place.rglob(f"*-{table}.parquet"))
            if not files:
                sys.exit(f"{place}: no {table}; it is no place of fathom fleet add")
            self.tables[table] = pq.read_table(files[0], partitioning=None)
        frames = self.tables["frames"]
        minutes, counts = np.unique(frames["minute_ns"].to_numpy(), return_inverse=True)
        by_minute = np.bincount(counts, weights=frames["samples"].to_numpy())
        self.minute = int(minutes[by_minute.argmax()])
        self.rate = int(by_minute.max())
        self.minutes = max(1, round(samples / self.rate))
        for table, rows in self.tables.items():
            if "minute_ns" in rows.column_names:
                rows = rows.filter(pa.array(rows["minute_ns"].to_numpy() == self.minute))
                self.tables[table] = rows.combine_chunks()
        self.whole = self.tables["frames"].num_rows
        self.start_ns = self.tables["recordings"]["start_ns"][0].as_py()
        self.names = {}

    def app_cpu(self):
        """Own cost by method of the application's threads."""
        frames = self.tables["frames"]
        at = [k == "cpu" and r == "app" for k, r in zip(frames["kind"].to_pylist(), frames["role"].to_pylist())]
        own = {}
        for method, weight in zip(np.array(frames["method"].to_pylist())[at], frames["self_weight"].to_numpy()[at]):
            own[method] = own.get(method, 0) + weight
        whole = sum(own.values()) or 1
        return {method: weight / whole for method, weight in own.items()}


def plan(templates, days, wanted):
    """What is planted, with the methods of these templates."""
    releases = [1 + round(days * at) for at in (0.25, 0.65)]
    out = []
    taken = set()

    def choice(template):
        return [m for m, share in sorted(template.app_cpu().items()) if JAVA.fullmatch(m) and share > 0.002]

    # Services with many methods first: a change can be one of many only there.
    templates = sorted(templates, key=lambda template: (-len(choice(template)), template.service))
    for what in wanted:
        what = dict(what)
        template = templates[what["service"] % len(templates)]
        what["service"] = template.service
        what["since"] = releases[what["release"] - 1] if "release" in what else round(days * what.get("at", 0))
        if "until" in what:
            what["until"] = round(days * what["until"])
        if what["kind"] == "category":
            ledger = template.tables["ledger"]
            app = [
                (ms, category)
                for role, category, ms in zip(*(ledger[c].to_pylist() for c in ("role", "category", "ms")))
                if role == "application threads" and category not in ("idle", "asleep")
            ]
            what["category"] = sorted(app)[-2 if len(app) > 1 else -1][1]
        else:
            shares = template.app_cpu()
            free = [m for m in choice(template) if (template.service, m) not in taken]
            nearest = sorted(free, key=lambda m: abs(shares[m] - what["share"]))
            what["method"] = nearest[0]
            what["share"] = round(float(shares[nearest[0]]), 5)
            taken.add((template.service, nearest[0]))
            if what["kind"] == "inlined":
                what["into"] = next(m for m in sorted(free, key=lambda m: -shares[m]) if (template.service, m) not in taken)
                taken.add((template.service, what["into"]))
        out.append(what)
    return out, releases


def constant(value, n):
    if isinstance(value, str):
        return pa.DictionaryArray.from_arrays(pa.array(np.zeros(n, np.int32)), pa.array([value]))
    return pa.array(np.full(n, value, np.int64))


def changed_frames(rows, service, host, day, minutes, planted, seed):
    """Own and total weights and samples of `minutes` minutes, and the names of the methods."""
    methods = rows["method"].to_pylist()
    own, total, samples = (rows[c].to_numpy().astype(float) for c in ("self_weight", "total_weight", "samples"))
    app = np.array([r == "app" for r in rows["role"].to_pylist()])
    factor = (
        factors(methods, HOST_SD, seed, service, "host", host)
        * factors(methods, DAY_SD, seed, service, "day", host, day)
        * factors(methods, MIX_SD, seed, service, "mix", day)
    )
    new_own = own * factor
    extra = np.zeros_like(total)
    for what in planted:
        if what["service"] != service or "method" not in what or day < what["since"] or day >= what.get("until", 1 << 30):
            continue
        if what.get("host", host) != host:
            continue
        at = app & np.array([m == what["method"] for m in methods])
        if what["kind"] in ("regression", "went-away", "one-host"):
            new_own[at] *= what["factor"]
        elif what["kind"] == "renamed":
            methods = [m + "Renamed" if m == what["method"] else m for m in methods]
        elif what["kind"] == "inlined":
            into = app & np.array([m == what["into"] for m in methods])
            kinds = np.array(rows["kind"].to_pylist())
            for kind in set(kinds[at]):
                moved = new_own[at & (kinds == kind)].sum()
                target = np.flatnonzero(into & (kinds == kind))
                if len(target):
                    new_own[target[0]] += moved
                    extra[target[0]] -= moved
            # The caller's total holds it before and after.
            new_own[at] = total[at] = 0
    ratio = new_own.sum() / max(own.sum(), 1.0)
    new_total = np.maximum(new_own, total * ratio + new_own - own * ratio + extra)
    new_total[total == 0] = new_own[total == 0]
    # A weight is a number of samples times what one stands for; counting them has noise.
    share = np.divide(new_own, own, out=np.ones_like(own), where=own > 0)
    drawn = seeded(seed, service, "count", host, day).poisson(np.maximum(samples * share, 0), (minutes, len(samples)))
    noise = np.divide(drawn, samples * share, out=np.ones(drawn.shape), where=samples * share > 0)
    own_drawn = new_own * noise
    total_drawn = np.maximum(new_total + own_drawn - new_own, own_drawn)
    kept = new_total > 0
    names = [np.array(methods, dtype=object)]
    result = [[own_drawn, total_drawn, drawn, kept]]
    for what in planted:
        if what["kind"] == "outlined" and what["service"] == service and day >= what["since"]:
            # Six tenths of it are a frame of their own from now on; its total is what it was.
            at = app & np.array([m == what["method"] for m in methods])
            part = own_drawn * 0.6 * at
            count = np.floor(drawn * 0.6).astype(np.int64) * at
            result[0][0] = own_drawn - part
            result[0][2] = drawn - count
            names.append(np.array([m + "Slow" for m in methods], dtype=object))
            result.append([part, part, count, kept & at])
    return names, result


def recording(template, host, day, seed, planted, version):
    """All tables of a recording."""
    service = template.service
    name = f"{service}-{host}"
    identity = hashlib.sha256(f"{seed} {service} {host} {day}".encode()).hexdigest()[:32]
    date = FIRST_DAY + datetime.timedelta(days=day)
    start = int(datetime.datetime(date.year, date.month, date.day, 10, tzinfo=datetime.timezone.utc).timestamp()) * 10**9
    common = {"recording": identity, "day": date.isoformat(), "service": service, "version": version, "host": name,
              "start_ns": start}
    out = {}
    for table, rows in template.tables.items():
        if table == "findings":
            # A cause is found in some recordings of a service, in half of them on some hosts.
            likely = 0.5 if host % 10 == 3 else 0.05
            keep = seeded(seed, service, "findings", host, day).random(rows.num_rows) < likely
            rows = rows.filter(pa.array(keep))
        n, minutes = rows.num_rows, 1
        columns = {c: rows[c].combine_chunks() for c in rows.column_names}
        if "minute_ns" in columns:
            minutes = template.minutes
            columns = {c: pa.concat_arrays([v] * minutes) if minutes > 1 else v for c, v in columns.items()}
            columns["minute_ns"] = pa.array(np.repeat(start + np.arange(minutes) * MINUTE_NS, n))
        if table == "frames":
            names, parts = changed_frames(rows, service, host, day, minutes, planted, seed)
            pieces = []
            for method, (own, total, samples, kept) in zip(names, parts):
                # Equal methods stand together, as fathom writes them: by method, then by minute.
                by_method = np.arange(n * minutes).reshape(minutes, n)[:, kept].T.ravel()
                piece = dict(columns)
                piece["method"] = pa.DictionaryArray.from_arrays(*encoded(np.tile(method, minutes)))
                for column, value in (("self_weight", own), ("total_weight", total), ("samples", samples)):
                    piece[column] = pa.array(np.rint(value).astype(np.int64).ravel())
                pieces.append(pa.table(piece).take(pa.array(by_method)))
            whole = pa.concat_tables(pieces).unify_dictionaries().combine_chunks()
            columns = {c: whole[c].combine_chunks() for c in whole.column_names}
            taken = int(columns["samples"].to_numpy().sum())
        elif table == "ledger":
            ms = np.tile(rows["ms"].to_numpy(), minutes)
            categories = rows["category"].to_pylist() * minutes
            ms = ms * factors(categories, HOST_SD, seed, service, "ledger host", host)
            ms = ms * factors(categories, DAY_SD, seed, service, "ledger day", host, day)
            ms = ms * factors(categories, MIX_SD, seed, service, "ledger mix", day)
            for what in planted:
                if what["kind"] == "category" and what["service"] == service and day >= what["since"]:
                    ms[np.array([h == what["category"] for h in categories])] *= what["factor"]
            columns["ms"] = pa.array(ms)
        elif table == "recordings":
            columns["end_ns"] = pa.array([start + template.minutes * MINUTE_NS])
            columns["samples"] = pa.array([taken])
        n = len(next(iter(columns.values())))
        columns.update({c: constant(v, n) for c, v in common.items()})
        out[table] = pa.table({c: columns[c] for c in template.tables[table].column_names})
    return identity, name, out, taken


def encoded(names):
    values = sorted(set(names))
    order = {name: i for i, name in enumerate(values)}
    return pa.array(np.array([order[name] for name in names], dtype=np.int32)), pa.array(values, pa.string())


def write(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    # As fathom writes them: zstd of level 1, statistics of columns, no schema of Arrow. Names are
    # texts again.
    pq.write_table(table, path, compression="zstd", compression_level=1, store_schema=False, write_page_index=False)


def service_day(arguments):
    """All recordings of a service on a day."""
    template, day, hosts, seed, planted, releases, place, packed = arguments
    service = template.service
    version = VERSIONS[sum(day >= at for at in releases)]
    date = (FIRST_DAY + datetime.timedelta(days=day)).isoformat()
    samples, gathered = 0, {table: [] for table in TABLES}
    for host in hosts:
        identity, name, tables, taken = recording(template, host, day, seed, planted, version)
        samples += taken
        for table, rows in tables.items():
            if packed:
                gathered[table].append(rows)
            else:
                write(rows, place / f"day={date}" / f"service={service}" / f"host={name}" / f"{identity}-{table}.parquet")
    if packed:
        for table, rows in gathered.items():
            whole = pa.concat_tables(rows).unify_dictionaries()
            write(whole, place / f"day={date}" / f"service={service}" / "host=all" / f"packed-{table}.parquet")
    return samples


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="templates", type=Path, required=True, help="a directory with a place for each service")
    parser.add_argument("--to", type=Path, required=True)
    parser.add_argument("--recordings", type=int, default=10_000)
    parser.add_argument("--samples", type=int, default=100_000, help="of a recording, about")
    parser.add_argument("--days", type=int, default=30)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--plant", choices=["all", "none"], default="all")
    parser.add_argument("--packed", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    if given.to.exists() and any(given.to.iterdir()):
        sys.exit(f"{given.to}: not empty; rows of two fleets in one place would be one fleet")
    places = sorted(place for place in given.templates.iterdir() if place.is_dir())
    templates = [Template(place, place.name, given.samples) for place in places]
    planted, releases = plan(templates, given.days, PLANTED if given.plant == "all" else [])
    # Hosts are shared out so that there are as many recordings as were asked for, to a day's.
    count, rest = divmod(given.recordings // given.days, len(templates))
    hosts = [range(count + (i < rest)) for i in range(len(templates))]
    given.to.mkdir(parents=True, exist_ok=True)
    (given.to / "planted.json").write_text(json.dumps({"seed": given.seed, "releases": releases, "planted": planted}, indent=1))
    work = [
        (template, day, hosts[i], given.seed, planted, releases, given.to, given.packed)
        for day in range(given.days)
        for i, template in enumerate(templates)
    ]
    with multiprocessing.Pool(given.jobs) as pool:
        samples = sum(pool.imap_unordered(service_day, work))
    made = given.days * sum(len(h) for h in hosts)
    print(f"{made} recordings of {len(templates)} services, {samples} samples, into {given.to}")


if __name__ == "__main__":
    main()
