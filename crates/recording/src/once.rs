//! Each fact once.
//!
//! A log says more of a collection than the JVM's probes do (phases, sizes, CPU time), the probes
//! more than a flight recording; where several are there, every sum over the table would count
//! twice. The record of the one that says most stays, with its own stamps, so that its phases fit
//! into it. It takes over what only the other knew, and names the other in the label `also_in`.

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::{kind, label, source};
use crate::{ProcessId, Recording, Source, SourceId, Span, SpanId, StrId, Strings, ThreadId};

/// The source format of the collector that reads the JVM's probes, and that of the collector of
/// locks.
const PROBES: &str = source::JVM_EVENTS;
const LOCKS: &str = source::LOCKS;
/// That of a flight recording.
const FLIGHT: &str = "jfr";
/// Formats of logs that a JVM writes.
const LOGS: [&str; 4] = ["unified-log", "jdk8-gc-log", "log-compilation", "print-compilation"];

/// What logs have all of, once they have any of it.
const WHOLE: [&str; 3] = [kind::GC_PAUSE, kind::SAFEPOINT, kind::JIT_COMPILE];
/// What else a flight recording has that logs or probes have as well.
const OF_FLIGHT: [&str; 2] = [kind::GC_CONCURRENT, kind::VM_OPERATION];
/// What a flight recording has that the collector of locks has as well.
const OF_LOCKS: [&str; 3] = [kind::LOCK_MONITOR, kind::LOCK_WAIT, kind::LOCK_PARK];

/// A stop that was longer than the log has it by as much stays as the probes saw it, and not as the
/// log has it: before JDK 13 the log's clock starts behind the first line of a stop and ends before
/// the last, and it is in writing those that the JVM may hang (`RuntimeService`,
/// runtimeService.cpp). Stamps and probes differ by less than a time slice.
const LONGER_NS: i64 = 20_000_000;
/// How far the stamps of one collection may be apart in two sources.
const STRAY_NS: i64 = 100_000_000;
/// How far the stamps of one stop may be apart, where a log counts milliseconds of a clock that is
/// known to within two.
const STAMP_NS: i64 = 5_000_000;
/// So many of the records that began last before the end of another are looked at for the one that
/// is the same.
const NEAR: usize = 64;

/// A span that may be in another source too.
pub(crate) struct Fact {
    id: SpanId,
    kind: &'static str,
    process: ProcessId,
    thread: Option<ThreadId>,
    source: SourceId,
    t0_ns: i64,
    t1_ns: i64,
    key: i64,
    figures: Vec<(StrId, f64)>,
    labels: Vec<(StrId, StrId)>,
}

/// What becomes of a span.
pub(crate) enum Change {
    /// Another has it.
    Remove,
    /// It takes over what only another knew.
    Extend(Vec<(StrId, f64)>, Vec<(StrId, StrId)>),
}

impl Recording {
    /// Puts the records that several sources have of the same collection, stop, compilation or wait
    /// together to one. Before [`Recording::seal`]; a no-op where no two sources can have the same.
    pub fn merge_duplicates(&mut self) {
        let kinds = kinds(&self.sources);
        if kinds.is_empty() {
            return;
        }
        let facts: Vec<Fact> = (0..self.spans.len())
            .filter_map(|i| Fact::of(&self.span_at(SpanId(i as u32)), i, &kinds))
            .collect();
        let changes = changes(&facts, &self.sources, &mut self.strings);
        self.amend_spans(|id| changes.get(&id));
    }
}

/// Kinds of which two sources may have the same facts; with them what says when a source watched.
pub(crate) fn kinds(sources: &[Source]) -> Vec<&'static str> {
    let has = |format: &str| sources.iter().any(|s| s.format == format);
    let (log, probes, flight) = (LOGS.iter().any(|f| has(f)), has(PROBES), has(FLIGHT));
    let mut kinds = Vec::new();
    if (probes && log) || (flight && (log || probes)) {
        kinds.extend(WHOLE);
        kinds.push(kind::RUN);
    }
    if flight && (log || probes) {
        kinds.extend(OF_FLIGHT);
    }
    if flight && has(LOCKS) {
        kinds.extend(OF_LOCKS);
    }
    kinds
}

/// Who is believed first. `None`: it says nothing of this sort, or is a source like any other.
fn rank(source: &Source) -> u8 {
    match source.format.as_str() {
        PROBES => 1,
        FLIGHT => 2,
        _ => 0,
    }
}

impl Fact {
    /// A span that is number `id` of all, when it is of one of the kinds.
    pub(crate) fn of(span: &Span<'_>, id: usize, kinds: &[&'static str]) -> Option<Self> {
        let kind = kinds.iter().find(|kind| **kind == span.kind())?;
        Some(Self {
            id: SpanId(id as u32),
            kind,
            process: span.process(),
            thread: span.thread(),
            source: span.source(),
            t0_ns: span.t0_ns(),
            t1_ns: span.t1_ns(),
            key: span.key(),
            figures: span.figures_by_id().collect(),
            labels: span.labels_by_id().collect(),
        })
    }

    /// Its number among all spans.
    #[cfg(feature = "disk")]
    pub(crate) fn id(&self) -> SpanId {
        self.id
    }

    /// The source that has it.
    #[cfg(feature = "disk")]
    pub(crate) fn source(&self) -> SourceId {
        self.source
    }

    fn length_ns(&self) -> i64 {
        self.t1_ns.saturating_sub(self.t0_ns)
    }

    fn shared_ns(&self, other: &Self) -> i64 {
        self.t1_ns.min(other.t1_ns).saturating_sub(self.t0_ns.max(other.t0_ns))
    }

    /// Whether both can be the same thing.
    fn is_like(&self, other: &Self) -> bool {
        let threads = !OF_LOCKS.contains(&self.kind) || self.thread == other.thread;
        let keys = self.kind != kind::JIT_COMPILE || self.key < 0 || other.key < 0 || self.key == other.key;
        // Stamps of logs stray; a collection's number does not, within one run.
        let collection = [kind::GC_PAUSE, kind::GC_CONCURRENT].contains(&self.kind);
        let numbered = collection && self.key >= 0 && self.key == other.key;
        let near = self.t0_ns.saturating_sub(other.t0_ns).saturating_abs() <= STRAY_NS;
        // A stop that is shorter than a step of the log's clock need not overlap itself in the log.
        let stops = [kind::GC_PAUSE, kind::SAFEPOINT].contains(&self.kind);
        let beside = stops && self.t0_ns.saturating_sub(other.t0_ns).saturating_abs() <= STAMP_NS;
        let share_half = 2 * self.shared_ns(other) >= self.length_ns().min(other.length_ns());
        threads && keys && (share_half || beside || (numbered && near))
    }
}

/// What becomes of the spans that two sources have.
pub(crate) fn changes(facts: &[Fact], sources: &[Source], strings: &mut Strings) -> BTreeMap<SpanId, Change> {
    let rank = |fact: &Fact| sources.get(fact.source.index()).map_or(0, rank);
    let mut watched: BTreeMap<(ProcessId, SourceId), Vec<(i64, i64)>> = BTreeMap::new();
    let mut groups: BTreeMap<(ProcessId, &str), Vec<&Fact>> = BTreeMap::new();
    for fact in facts {
        match fact.kind {
            kind::RUN => {
                watched.entry((fact.process, fact.source)).or_default().push((fact.t0_ns, fact.t1_ns))
            }
            _ => groups.entry((fact.process, fact.kind)).or_default().push(fact),
        }
    }
    let mut same: Vec<(&Fact, Option<&Fact>)> = Vec::new();
    for ((process, what), mut group) in groups {
        let ranks: BTreeSet<u8> = group.iter().map(|fact| rank(fact)).collect();
        if ranks.len() < 2 {
            continue;
        }
        group.sort_by_key(|fact| (fact.t0_ns, fact.id));
        let longer = if what == kind::SAFEPOINT { longer(&group, &rank) } else { Vec::new() };
        let mut taken: BTreeSet<SpanId> = BTreeSet::new();
        for (probed, logged) in longer {
            taken.insert(probed.id);
            for fact in logged {
                taken.insert(fact.id);
                same.push((fact, Some(probed)));
            }
        }
        let tellers: BTreeSet<(u8, SourceId)> = group.iter().map(|fact| (rank(fact), fact.source)).collect();
        for fact in group.iter().filter(|fact| rank(fact) > 0 && !taken.contains(&fact.id)) {
            let partner = partner(&group, fact, &|other| rank(other) < rank(fact));
            let middle = fact.t0_ns.saturating_add(fact.length_ns() / 2);
            let covers = |source: &SourceId| {
                let times = watched.get(&(process, *source)).into_iter().flatten();
                times.into_iter().any(|(from, to)| (*from..=*to).contains(&middle))
            };
            // What a log or the probes have any of they have all of, while they watched. A flight
            // recording has collections and compilations that a log need not have.
            let all = (what == kind::SAFEPOINT || (rank(fact) == 1 && WHOLE.contains(&what)))
                && tellers.iter().any(|(of, source)| *of < rank(fact) && covers(source));
            if partner.is_some() || all {
                same.push((fact, partner));
            }
        }
    }
    merged(&same, sources, strings)
}

/// The record of a more believed source that is the same thing.
fn partner<'f>(group: &[&'f Fact], fact: &Fact, better: &dyn Fn(&Fact) -> bool) -> Option<&'f Fact> {
    let latest_ns = fact.t1_ns.saturating_add(STRAY_NS);
    let end = group.partition_point(|other| other.t0_ns <= latest_ns);
    let near = group.get(end.saturating_sub(NEAR)..end).unwrap_or_default().iter();
    let like = near.filter(|other| better(other) && other.is_like(fact));
    like.max_by_key(|other| (other.shared_ns(fact), std::cmp::Reverse(other.id))).copied()
}

/// Stops that the probes saw last longer than a log of the same JVM has it, with what the log has
/// of each.
fn longer<'f>(group: &[&'f Fact], rank: &dyn Fn(&Fact) -> u8) -> Vec<(&'f Fact, Vec<&'f Fact>)> {
    let (probed, logged): (Vec<&Fact>, Vec<&Fact>) =
        group.iter().filter(|fact| rank(fact) < 2).partition(|fact| rank(fact) == 1);
    let of = |stop: &&'f Fact| {
        // A log's stops follow one another; one may begin a little before the probe's.
        let first = logged.partition_point(|other| other.t1_ns <= stop.t0_ns);
        let within = logged.iter().skip(first).take_while(|other| other.t0_ns < stop.t1_ns);
        let shared: i64 = within.clone().map(|other| stop.shared_ns(other).max(0)).sum();
        let inside: Vec<&Fact> =
            within.filter(|other| 2 * stop.shared_ns(other) > other.length_ns()).copied().collect();
        (stop.length_ns().saturating_sub(shared) >= LONGER_NS).then_some((*stop, inside))
    };
    probed.iter().filter_map(of).collect()
}

/// Removes the first of each pair, and gives the second what it lacks.
fn merged(
    same: &[(&Fact, Option<&Fact>)],
    sources: &[Source],
    strings: &mut Strings,
) -> BTreeMap<SpanId, Change> {
    let also_in = strings.intern(label::ALSO_IN);
    let mut changes: BTreeMap<SpanId, Change> = BTreeMap::new();
    for (gone, kept) in same {
        changes.insert(gone.id, Change::Remove);
        let Some(kept) = kept else { continue };
        let name = sources.get(gone.source.index()).map_or("", |source| &source.name);
        let Change::Extend(figures, labels) =
            changes.entry(kept.id).or_insert_with(|| Change::Extend(Vec::new(), Vec::new()))
        else {
            continue;
        };
        let figure_is_new = |key: StrId, more: &[(StrId, f64)]| {
            !kept.figures.iter().chain(more).any(|(known, _)| *known == key)
        };
        for (key, value) in &gone.figures {
            if figure_is_new(*key, figures) {
                figures.push((*key, *value));
            }
        }
        for (key, value) in gone.labels.iter().copied().chain([(also_in, strings.intern(name))]) {
            if !kept.labels.iter().chain(labels.iter()).any(|(known, _)| *known == key) {
                labels.push((key, value));
            }
        }
    }
    changes
}

#[cfg(test)]
mod tests;
