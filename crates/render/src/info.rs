//! `fathom info`: what is in a recording, where it comes from, and what is missing from it.

use std::collections::{BTreeMap, BTreeSet};

use fathom_diagnose::quantity;
use fathom_recording::clock::seconds;
use fathom_recording::vocabulary::{kind, label, sample};
use fathom_recording::{Identity, Placement, Process, ProcessId, Recording, Source, StackCensus};
use serde_json::{Value, json};

use crate::tables::{Sheet, section, shortened, table};
use crate::{printable, units};

/// Version of the JSON.
pub const SCHEMA: &str = "fathom.info/1";

/// Columns for names of files and series.
const NAME: usize = 28;
/// Characters of a fact: honest JVM arguments have some hundreds.
const FACT: usize = 4_000;
/// Names of a family of series that are listed.
const FAMILY_NAMES: usize = 6;

/// The recording described, as text of at most so many columns, 100 at most; with `all` series one
/// by one, else by family.
pub fn text(recording: &Recording, columns: usize, all: bool) -> String {
    let mut out = Sheet::new(columns);
    out.push_str(&summary(recording));
    identity(&mut out, &recording.identity);
    kept_for(&mut out, recording);
    trouble(&mut out, recording);
    sources(&mut out, recording);
    placements(&mut out, recording);
    processes(&mut out, recording);
    spans(&mut out, recording);
    counts(&mut out, recording);
    match all {
        true => series(&mut out, recording),
        false => families(&mut out, recording),
    }
    samples(&mut out, recording);
    out.push_str(&not_understood(recording));
    out.finish()
}

fn summary(recording: &Recording) -> String {
    let wall = recording.sources.iter().any(|s| s.placement.wall);
    let covers = match recording.covers_ns() {
        None => "nothing with a time".to_owned(),
        Some((from, to)) => {
            let length = quantity::seconds(seconds(to.saturating_sub(from)));
            format!("{length}, {}", period((from, to), wall))
        }
    };
    let rows = [
        quantity::plural(recording.spans.len(), "span", "spans"),
        quantity::plural(recording.counts.len(), "count", "counts"),
        quantity::plural(recording.series.len(), "series", "series"),
        quantity::plural(recording.samples.len(), "sample", "samples"),
    ];
    let from = quantity::plural(recording.sources.len(), "source", "sources");
    format!("{covers}\n{} from {from}\n", rows.join(", "))
}

/// What it is of, where anything of that is known: recordings of the first fathoms and files say
/// nothing.
fn identity(out: &mut Sheet, identity: &Identity) {
    if *identity == Identity::default() {
        return;
    }
    let derived = identity.service_from.map_or(String::new(), |from| format!(" ({})", from.words()));
    let service = identity.service.as_ref().map(|name| format!("{name}{derived}"));
    let mut rows = table(&["of", "is"], &[1]);
    let facts = [
        ("service", &service),
        ("version", &identity.version),
        ("host", &identity.host),
        ("boot", &identity.boot),
        ("container", &identity.container),
        ("control group", &identity.cgroup),
        ("recording", &identity.recording),
    ];
    for (what, value) in facts {
        let value = value.as_deref().map_or("not known".into(), |value| shortened(value, FACT));
        rows.add_row([what.to_owned(), value]);
    }
    for (key, value) in &identity.labels {
        rows.add_row([format!("label {}", shortened(key, NAME)), shortened(value, FACT)]);
    }
    section(out, "Identity", &rows);
}

/// From when to when: on the wall clock, or in seconds of a clock of its own.
fn period((from, to): (i64, i64), wall: bool) -> String {
    match (units::wall_clock(from), units::wall_clock(to)) {
        (Some(from), Some(to)) if wall => format!("{from} to {to}"),
        _ => format!("{} to {}", units::timestamp(from, 0), units::timestamp(to, 0)),
    }
}

/// Slow things that are listed; a flood of them is one thing.
const SLOW_LISTED: usize = 20;

/// What was slow, of a recording that was kept for it.
fn kept_for(out: &mut Sheet, recording: &Recording) {
    let slow = recording.spans_of(kind::SLOW);
    let (all, from_ns) = (slow.len(), recording.covers_ns().map_or(0, |covers| covers.0));
    let mut rows = table(&["kept for", "at", "lasted", "what"], &[3]);
    for span in slow.take(SLOW_LISTED) {
        let at = quantity::seconds(seconds(span.t0_ns().saturating_sub(from_ns)));
        let lasted = quantity::seconds(seconds(span.duration_ns()));
        let what = shortened(span.label(label::WHAT).unwrap_or_default(), FACT);
        rows.add_row([shortened(span.name(), NAME), at, lasted, what]);
    }
    section(out, "Slow", &rows);
    if all > SLOW_LISTED {
        out.push_str(&format!("  and {} more\n", all - SLOW_LISTED));
    }
}

/// What a reader must know before anything else: it is cut, lines are lost, a check failed.
fn trouble(out: &mut Sheet, recording: &Recording) {
    if recording.cut {
        out.push_str("\n! The recording is TRUNCATED: its writer was killed before it finished.\n");
    }
    for source in &recording.sources {
        let name = printable(&source.name);
        let mut say = |what: String| out.push_str(&format!("\n! {name}: {what}\n"));
        if source.cut {
            say("its last line has no end, or its last record is truncated: what came last may be missing"
                .into());
        }
        if source.lost > 0 {
            say(format!("{} LOST", quantity::plural(source.lost as usize, "record", "records")));
        }
        for check in source.checks.iter().filter(|check| !check.holds) {
            let (claim, detail) = (printable(&check.claim), printable(&check.detail));
            say(format!("CHECK FAILED: {claim} ({detail})"));
        }
        for unseen in &source.unseen {
            if fathom_diagnose::is_summed(unseen) {
                let [what, why] = [&unseen.what, &unseen.why].map(|text| printable(text));
                say(format!("summed, not listed: {what} ({why}); nothing is missing from sums"));
                continue;
            }
            let [what, why, remedy] = [&unseen.what, &unseen.why, &unseen.remedy].map(|text| printable(text));
            let remedy = if remedy.is_empty() { String::new() } else { format!("; to see it: {remedy}") };
            say(format!("NOT SEEN: {what}: {why}{remedy}"));
        }
    }
}

fn sources(out: &mut Sheet, recording: &Recording) {
    let header = ["source", "format", "records", "skipped", "lost", "lines", "size", "checks"];
    let mut rows = table(&header, &[1]);
    for source in &recording.sources {
        let held = source.checks.iter().filter(|check| check.holds).count();
        let [records, skipped, lost, lines] =
            [source.records, source.skipped, source.lost, source.lines].map(|n| quantity::count(n as f64));
        let size = quantity::bytes(source.bytes as f64);
        let checks = format!("{held} of {}", source.checks.len());
        let format = printable(&source.format).into_owned();
        rows.add_row([shortened(&source.name, NAME), format, records, skipped, lost, lines, size, checks]);
    }
    section(out, "Sources", &rows);
}

fn placements(out: &mut Sheet, recording: &Recording) {
    let mut rows = table(&["source", "covers", "placed"], &[1, 2]);
    for source in &recording.sources {
        let covers = source.covers_ns.map_or("–".into(), |covers| period(covers, source.placement.wall));
        rows.add_row([shortened(&source.name, NAME), covers, placed(&source.placement)]);
    }
    section(out, "Time alignment", &rows);
}

fn placed(placement: &Placement) -> String {
    let how = printable(&placement.how);
    let sure = placement.uncertainty_ns.map(|ns| format!("± {}", quantity::seconds(seconds(ns))));
    match (placement.wall, how.is_empty(), sure) {
        (true, _, Some(sure)) => format!("{sure}: {how}"),
        (true, false, None) => format!("{how} (error not known)"),
        (true, true, None) => "in wall-clock time".into(),
        (false, false, _) => format!("not in wall-clock time: {how}"),
        (false, true, _) => "not in wall-clock time".into(),
    }
}

fn processes(out: &mut Sheet, recording: &Recording) {
    for (id, process) in recording.processes.iter().enumerate() {
        // A process that was merged into another has no facts left and nothing that points to it.
        if !is_told_of(recording, ProcessId(id as u32), process) {
            continue;
        }
        let pid = process.pid.map(|pid| format!(", pid {pid}")).unwrap_or_default();
        let kind = if process.jvm { "JVM" } else { "Process" };
        let mut rows = table(&["fact", "value"], &[1]);
        for (key, value) in &process.facts {
            rows.add_row([printable(key).into_owned(), shortened(value, FACT)]);
        }
        section(out, &format!("{kind} {}{pid}", printable(&process.name)), &rows);
    }
}

fn is_told_of(recording: &Recording, id: ProcessId, process: &Process) -> bool {
    !process.facts.is_empty() || recording.sources.iter().any(|s| s.process == Some(id.0))
}

fn spans(out: &mut Sheet, recording: &Recording) {
    let mut rows = table(&["kind of span", "count", "total", "longest"], &[]);
    for (kind, count) in recording.kinds() {
        let (total, longest) = lengths(recording, kind);
        let [total, longest] = [total, longest].map(|ns| quantity::seconds(seconds(ns)));
        rows.add_row([printable(kind).into_owned(), quantity::count(count as f64), total, longest]);
    }
    section(out, "Spans", &rows);
}

/// Sum and maximum of the lengths of all spans of a kind, nanoseconds.
fn lengths(recording: &Recording, kind: &str) -> (i64, i64) {
    let each = recording.spans_of(kind).map(|span| span.duration_ns());
    each.fold((0, 0), |(total, longest), ns| (i64::saturating_add(total, ns), longest.max(ns)))
}

fn counts(out: &mut Sheet, recording: &Recording) {
    let mut rows = table(&["kind of count", "rows", "how often", "total"], &[]);
    for (kind, count) in recording.count_kinds() {
        let (often, total_ns) = sums(recording, kind);
        let total = total_ns.map_or("not known".into(), |ns| quantity::seconds(ns as f64 / 1e9));
        let numbers = [count as u64, often].map(|n| quantity::count(n as f64));
        rows.add_row([&[printable(kind).into_owned()], &numbers[..], &[total]].concat());
    }
    section(out, "Counts", &rows);
}

/// How often, and how long in all, nanoseconds, by all counts of a kind.
fn sums(recording: &Recording, kind: &str) -> (u64, Option<u64>) {
    recording.counts_of(kind).fold((0, None), |(often, total), count| {
        let more = count.total_ns().map(|ns| total.unwrap_or(0_u64).saturating_add(ns));
        (count.count().saturating_add(often), more.or(total))
    })
}

fn series(out: &mut Sheet, recording: &Recording) {
    let mut rows = table(&["series", "of", "unit", "points"], &[1, 2]);
    for series in &recording.series {
        let info = &series.info;
        let points = quantity::count(series.t_ns.len() as f64);
        let unit = printable(&info.unit).into_owned();
        rows.add_row([shortened(&info.name, NAME), shortened(&info.instance, NAME), unit, points]);
    }
    section(out, "Series", &rows);
}

/// Series of one family.
#[derive(Default)]
struct Family<'a> {
    names: BTreeSet<&'a str>,
    /// Disks, processes, spaces of the heap.
    instances: BTreeSet<&'a str>,
    count: usize,
    points: usize,
}

/// Series by the first word of their names ("disk.io.read" is of disk), with how many there are of
/// what.
fn families(out: &mut Sheet, recording: &Recording) {
    let mut families: BTreeMap<&str, Family<'_>> = BTreeMap::new();
    for series in &recording.series {
        let name = series.info.name.as_str();
        let family = name.split_once('.').map_or(name, |(family, _)| family);
        let family = families.entry(family).or_default();
        family.names.insert(name);
        family.instances.insert(&series.info.instance);
        family.count += 1;
        family.points += series.t_ns.len();
    }
    let mut rows = table(&["series of", "series", "points", "of", "names"], &[4]);
    for (family, Family { names, instances, count, points }) in families {
        let of = match instances.len() {
            1 => instances.first().map_or(String::new(), |one| shortened(one, NAME / 2)),
            n => format!("{n} things"),
        };
        let short = |name: &&str| {
            name.strip_prefix(family).map_or(*name, |rest| rest.trim_start_matches('.')).to_owned()
        };
        let names: Vec<String> = names.iter().map(short).filter(|name| !name.is_empty()).collect();
        let named = names.iter().take(FAMILY_NAMES).cloned().collect::<Vec<_>>().join(", ");
        let more = names.len().saturating_sub(FAMILY_NAMES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        let [count, points] = [count, points].map(|n| quantity::count(n as f64));
        rows.add_row([
            shortened(family, NAME),
            count,
            points,
            of,
            printable(&format!("{named}{more}")).into_owned(),
        ]);
    }
    section(out, "Series by family (--all lists them)", &rows);
}

fn samples(out: &mut Sheet, recording: &Recording) {
    let mut rows = table(&["kind of sample", "count", "weight"], &[]);
    for (kind, count, total) in weights(recording) {
        let weight = crate::flame::weight(total as f64, sample::unit(kind));
        rows.add_row([printable(kind).into_owned(), quantity::count(count as f64), weight]);
    }
    section(out, "Samples", &rows);
    for source in &recording.sources {
        let Some(sampling) = &source.sampling else { continue };
        let unit = &sampling.unit;
        let period = match sampling.period {
            Some(period) => format!("every {}", crate::flame::weight(period as f64, unit)),
            None => "a period that the kernel adapts".to_owned(),
        };
        out.push_str(&format!(
            "\n{}: taken by {}, {period}, {} Hz per CPU; a weight is of {}\n",
            printable(&source.name),
            printable(&sampling.event),
            sampling.rate_hz,
            printable(unit)
        ));
    }
    stacks(out, &StackCensus::of(recording));
}

/// Each kind of samples with their count and the sum of their weights.
fn weights(recording: &Recording) -> Vec<(&str, usize, i64)> {
    let sum = |kind: &str| {
        let kind = recording.strings.find(kind);
        let of_kind = recording.samples.iter().filter(|row| Some(row.kind) == kind);
        of_kind.fold(0_i64, |sum, row| sum.saturating_add(row.weight))
    };
    recording.sample_kinds().into_iter().map(|(kind, count)| (kind, count, sum(kind))).collect()
}

/// How many stacks reach the roots of their threads; nothing where there are no CPU samples with
/// stacks.
fn stacks(out: &mut Sheet, census: &StackCensus) {
    if census.samples == 0 {
        return;
    }
    if let Some(share) = census.whole_share() {
        out.push_str(&format!(
            "\nStacks of Java threads: {} of {} CPU samples whole ({:.2}%)\n",
            quantity::count(census.java_whole as f64),
            quantity::count(census.java_samples as f64),
            share * 100.0
        ));
    }
    let mut rows = table(&["stacks truncated due to", "Java", "other"], &[1, 2]);
    let reasons: BTreeSet<&String> =
        census.cut_by_reason.keys().chain(census.other_cut_by_reason.keys()).collect();
    for reason in reasons {
        let count = |counts: &BTreeMap<String, u64>| {
            quantity::count(counts.get(reason).copied().unwrap_or_default() as f64)
        };
        let (java, other) = (count(&census.cut_by_reason), count(&census.other_cut_by_reason));
        rows.add_row([printable(reason).into_owned(), java, other]);
    }
    section(out, "Stacks that do not reach their root", &rows);
}

/// What no reader understood: how many lines of each source, with examples. Empty where everything
/// was understood.
pub fn not_understood(recording: &Recording) -> String {
    let mut out = String::new();
    for source in recording.sources.iter().filter(|s| !s.unknown.is_empty()) {
        let lines = quantity::plural(source.skipped as usize, "line", "lines");
        out.push_str(&format!("\nNot understood in {} ({lines}), for example\n", printable(&source.name)));
        for line in &source.unknown {
            let alike = match line.alike {
                0 | 1 => String::new(),
                alike => format!(" (one of {} such lines)", quantity::count(alike as f64)),
            };
            let (position, text) = (source.position(line.line), printable(&line.text));
            out.push_str(&format!("  {}{alike}: {text}\n", printable(&position)));
        }
    }
    out
}

/// The recording described, for machines: schema [`SCHEMA`].
pub fn to_json(recording: &Recording) -> Value {
    let sources = &recording.sources;
    let sum = |of: fn(&Source) -> u64| sources.iter().map(of).fold(0, u64::saturating_add);
    let census = StackCensus::of(recording);
    json!({
        "schema": SCHEMA,
        "cut": recording.cut,
        "identity": recording.identity,
        "covers_ns": recording.covers_ns(),
        "wall": sources.iter().any(|s| s.placement.wall),
        "losses": {
            "skipped": sum(|s| s.skipped),
            "lost": sum(|s| s.lost),
            "cut_sources": sources.iter().filter(|s| s.cut).count(),
            "failed_checks": sources.iter().flat_map(|s| &s.checks).filter(|c| !c.holds).count(),
        },
        "rows": {
            "spans": recording.spans.len(),
            "counts": recording.counts.len(),
            "samples": recording.samples.len(),
            "series": recording.series.len(),
            "series_points": recording.series.iter().map(|s| s.t_ns.len()).sum::<usize>(),
            "threads": recording.threads.len(),
            "frames": recording.frames.len(),
            "stacks": recording.stacks.len(),
        },
        "slow": recording.spans_of(kind::SLOW).map(|span| json!({
            "trigger": span.name(), "t0_ns": span.t0_ns(), "t1_ns": span.t1_ns(), "what": span.label(label::WHAT),
        })).collect::<Vec<_>>(),
        "sources": sources.iter().map(source_json).collect::<Vec<_>>(),
        "processes": recording.processes,
        "spans": recording.kinds().into_iter().map(|(kind, count)| {
            let (total_ns, longest_ns) = lengths(recording, kind);
            json!({"kind": kind, "count": count, "total_ns": total_ns, "longest_ns": longest_ns})
        }).collect::<Vec<_>>(),
        "counts": recording.count_kinds().into_iter().map(|(kind, rows)| {
            let (count, total_ns) = sums(recording, kind);
            json!({"kind": kind, "rows": rows, "count": count, "total_ns": total_ns})
        }).collect::<Vec<_>>(),
        "series": recording.series.iter().map(|s| json!({
            "name": s.info.name, "instance": s.info.instance, "unit": s.info.unit, "kind": s.info.kind,
            "source": s.info.source, "process": s.info.process, "points": s.t_ns.len(),
        })).collect::<Vec<_>>(),
        "samples": recording.sample_kinds().into_iter().collect::<BTreeMap<_, _>>(),
        "sample_kinds": weights(recording).into_iter().map(|(kind, count, weight)| {
            json!({"kind": kind, "count": count, "weight": weight, "unit": sample::unit(kind)})
        }).collect::<Vec<_>>(),
        "stacks": {
            "samples": census.samples,
            "java_samples": census.java_samples,
            "whole_share": census.whole_share(),
            "cut_by_reason": census.cut_by_reason,
            "other_cut_by_reason": census.other_cut_by_reason,
        },
    })
}

/// A source with every field that it has, lists also when they are empty.
fn source_json(source: &Source) -> Value {
    let mut value = json!(source);
    if let Some(fields) = value.as_object_mut() {
        for list in ["segments", "unseen"] {
            fields.entry(list).or_insert_with(|| json!([]));
        }
    }
    value
}

#[cfg(test)]
mod tests;
