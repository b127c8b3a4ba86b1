//! Removes duplicates: events that several sources recorded.
//!
//! A log has more of a collection than the JVM's probes do (phases, sizes, CPU time), the probes
//! more than a flight recording; where several are there, every sum over the table would count
//! twice. The record of the source with the most detail stays, with its own timestamps, so that its
//! phases fit into it. It takes over what only the other one has, and names the other in the label
//! `also_in`.

use std::collections::{BTreeMap, BTreeSet};

use crate::vocabulary::{kind, label, source};
use crate::{ProcessId, Recording, Source, SourceId, Span, SpanId, StrId, Strings, ThreadId};

/// The source format of the collector that reads the JVM's probes, and that of the collector of
/// locks.
const PROBES: &str = source::JVM_EVENTS;
const LOCKS: &str = source::LOCKS;
/// The format of a flight recording.
const FLIGHT: &str = "jfr";
/// Formats of logs that a JVM writes.
const LOGS: [&str; 4] = ["unified-log", "jdk8-gc-log", "log-compilation", "print-compilation"];

/// Logs that have any of these kinds have all events of them.
const WHOLE: [&str; 3] = [kind::GC_PAUSE, kind::SAFEPOINT, kind::JIT_COMPILE];
/// Further kinds of a flight recording that logs or probes have as well.
const OF_FLIGHT: [&str; 2] = [kind::GC_CONCURRENT, kind::VM_OPERATION];
/// Kinds of a flight recording that the collector of locks has as well.
const OF_LOCKS: [&str; 3] = [kind::LOCK_MONITOR, kind::LOCK_WAIT, kind::LOCK_PARK];

/// A stop that is longer by at least this much than the log reports is kept as the probes saw it:
/// before JDK 13 the log's clock starts after the first line of a stop and ends before the last,
/// and it is in writing those that the JVM may hang (`RuntimeService`, runtimeService.cpp).
/// Timestamps and probes differ by less than a time slice.
const LONGER_NS: i64 = 20_000_000;
/// How far the timestamps of one collection may be apart in two sources.
const STRAY_NS: i64 = 100_000_000;
/// How far the timestamps of one stop may be apart, where a log counts milliseconds of a clock that
/// is known to within two.
const STAMP_NS: i64 = 5_000_000;
/// The number of records with the latest start before the end of another that are searched for the
/// same event.
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

/// What happens to a span.
pub(crate) enum Change {
    /// It is a duplicate.
    Remove,
    /// It takes over what only its duplicate has.
    Extend(Vec<(StrId, f64)>, Vec<(StrId, StrId)>),
}

impl Recording {
    /// Merges the records of the same collection, stop, compilation or wait in several sources.
    /// Call it before [`Recording::seal`]; it does nothing where no two sources can have the same
    /// events.
    pub fn merge_duplicates(&mut self) {
        let kinds = kinds(&self.sources);
        if kinds.is_empty() {
            return;
        }
        let facts: Vec<Fact> = (0..self.spans.len())
            .filter_map(|i| Fact::of(&self.span_at(SpanId(i as u32)), i, &kinds))
            .collect();
        let changes = changes(&facts, &self.sources, &mut self.strings);
        self.edit_spans(|id| changes.get(&id));
    }
}

/// Kinds of which two sources may have the same events, and the kind that records when a source
/// watched.
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

/// The precedence of a source. `None`: it has no such events, or is a source like any other.
fn rank(source: &Source) -> u8 {
    match source.format.as_str() {
        PROBES => 1,
        FLIGHT => 2,
        _ => 0,
    }
}

impl Fact {
    /// A span that is number `id` of all, if it is of one of the kinds.
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

    /// Whether both can be the same event.
    fn is_like(&self, other: &Self) -> bool {
        let threads = !OF_LOCKS.contains(&self.kind) || self.thread == other.thread;
        let keys = self.kind != kind::JIT_COMPILE || self.key < 0 || other.key < 0 || self.key == other.key;
        // Timestamps of logs are imprecise; a collection's number is exact within one run.
        let collection = [kind::GC_PAUSE, kind::GC_CONCURRENT].contains(&self.kind);
        let numbered = collection && self.key >= 0 && self.key == other.key;
        let near = self.t0_ns.saturating_sub(other.t0_ns).saturating_abs() <= STRAY_NS;
        // A stop that is shorter than a step of the log's clock need not overlap itself in the log.
        let stops = [kind::GC_PAUSE, kind::SAFEPOINT].contains(&self.kind);
        let close = stops && self.t0_ns.saturating_sub(other.t0_ns).saturating_abs() <= STAMP_NS;
        let share_half = 2 * self.shared_ns(other) >= self.length_ns().min(other.length_ns());
        threads && keys && (share_half || close || (numbered && near))
    }
}

/// Decides for the spans that two sources have.
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
        let reporters: BTreeSet<(u8, SourceId)> =
            group.iter().map(|fact| (rank(fact), fact.source)).collect();
        for fact in group.iter().filter(|fact| rank(fact) > 0 && !taken.contains(&fact.id)) {
            let partner = partner(&group, fact, &|other| rank(other) < rank(fact));
            let middle = fact.t0_ns.saturating_add(fact.length_ns() / 2);
            let covers = |source: &SourceId| {
                let times = watched.get(&(process, *source)).into_iter().flatten();
                times.into_iter().any(|(from, to)| (*from..=*to).contains(&middle))
            };
            // Logs and probes that have any event of a kind have all of them, while they watched. A
            // flight recording has collections and compilations that a log need not have.
            let all = (what == kind::SAFEPOINT || (rank(fact) == 1 && WHOLE.contains(&what)))
                && reporters.iter().any(|(of, source)| *of < rank(fact) && covers(source));
            if partner.is_some() || all {
                same.push((fact, partner));
            }
        }
    }
    merged(&same, sources, strings)
}

/// The record of the same event by a source with precedence.
fn partner<'f>(group: &[&'f Fact], fact: &Fact, better: &dyn Fn(&Fact) -> bool) -> Option<&'f Fact> {
    let latest_ns = fact.t1_ns.saturating_add(STRAY_NS);
    let end = group.partition_point(|other| other.t0_ns <= latest_ns);
    let near = group.get(end.saturating_sub(NEAR)..end).unwrap_or_default().iter();
    let like = near.filter(|other| better(other) && other.is_like(fact));
    like.max_by_key(|other| (other.shared_ns(fact), std::cmp::Reverse(other.id))).copied()
}

/// Stops that the probes saw last longer than a log of the same JVM reports, with the log's record
/// of each.
fn longer<'f>(group: &[&'f Fact], rank: &dyn Fn(&Fact) -> u8) -> Vec<(&'f Fact, Vec<&'f Fact>)> {
    let (probed, logged): (Vec<&Fact>, Vec<&Fact>) =
        group.iter().filter(|fact| rank(fact) < 2).partition(|fact| rank(fact) == 1);
    let of = |stop: &&'f Fact| {
        // A log's stops follow one another; one may begin shortly before the probe's.
        let first = logged.partition_point(|other| other.t1_ns <= stop.t0_ns);
        let within = logged.iter().skip(first).take_while(|other| other.t0_ns < stop.t1_ns);
        let shared: i64 = within.clone().map(|other| stop.shared_ns(other).max(0)).sum();
        let inside: Vec<&Fact> =
            within.filter(|other| 2 * stop.shared_ns(other) > other.length_ns()).copied().collect();
        (stop.length_ns().saturating_sub(shared) >= LONGER_NS).then_some((*stop, inside))
    };
    probed.iter().filter_map(of).collect()
}

/// Removes the first of each pair, and adds to the second what it lacks.
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
