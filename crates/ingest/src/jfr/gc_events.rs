//! Assembles collections from their events: the collection, its pauses and phases, the heap before
//! and after it.
//!
//! ```text
//! GarbageCollection ├───────────────── gcId 4, "G1Old", sum of pauses ────────────────┤
//! GCPhasePause                          ├ Pause Remark ┤        ├ Pause Cleanup ┤
//! GCPhaseConcurrent ├─ Concurrent Mark ─┤
//! GCHeapSummary     ▲ Before GC                                                        ▲ After GC
//! ```
//!
//! A pause is one `GCPhasePause`. Where those are switched off, a collection whose pauses add up to
//! its whole length is one pause; for any other it is known that there were pauses, but not when.
//! Pauses have the names of `-Xlog:gc`, so that one name means one thing in a recording.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};

use super::run_writer::{Entry, RunWriter};

/// The most collections that wait for more of their events.
const WAITING: usize = 100_000;
/// The most pauses and phases of one collection. Shenandoah has four pauses, G1 some twenty phases.
const MOST: usize = 256;

/// A named interval of a collection.
#[derive(Debug)]
struct Phase {
    name: String,
    t0_ns: i64,
    t1_ns: i64,
}

/// What is known of a collection.
#[derive(Debug, Default)]
struct Collection {
    /// `jdk.GarbageCollection`: collector ("G1New"), cause, times, sum of its pauses.
    whole: Option<Whole>,
    /// From the events that only some collectors have: "Normal", "Mixed".
    sort: Option<String>,
    pauses: Vec<Phase>,
    phases: Vec<Phase>,
    concurrent: Vec<Phase>,
    /// How it failed.
    failures: Vec<&'static str>,
    figures: Vec<(&'static str, f64)>,
    /// The chunk of its last event.
    chunk: u64,
}

#[derive(Debug)]
struct Whole {
    name: String,
    cause: String,
    t0_ns: i64,
    t1_ns: i64,
    pauses_ns: Option<i64>,
}

/// The kind of a phase.
#[derive(Clone, Copy, Debug)]
pub(super) enum Level {
    /// `jdk.GCPhasePause`: a stop-the-world pause.
    Pause,
    /// `jdk.GCPhasePauseLevel1`: a part of one.
    Part,
    /// `jdk.GCPhaseConcurrent`.
    Concurrent,
}

/// The collections that are not written yet, by their ids.
#[derive(Debug, Default)]
pub(super) struct Collections {
    waiting: BTreeMap<i64, Collection>,
    chunk: u64,
}

impl Collections {
    fn of(&mut self, id: i64) -> &mut Collection {
        let chunk = self.chunk;
        let collection = self.waiting.entry(id).or_default();
        collection.chunk = chunk;
        collection
    }

    /// `jdk.GarbageCollection`.
    pub(super) fn whole(
        &mut self,
        id: i64,
        (name, cause): (&str, &str),
        (t0_ns, t1_ns): (i64, i64),
        pauses_ns: Option<i64>,
    ) {
        let (name, cause) = (name.to_owned(), cause.to_owned());
        self.of(id).whole = Some(Whole { name, cause, t0_ns, t1_ns, pauses_ns });
    }

    /// A pause or a phase.
    pub(super) fn phase(&mut self, id: i64, level: Level, name: &str, t0_ns: i64, t1_ns: i64) {
        let of = self.of(id);
        let list = match level {
            Level::Pause => &mut of.pauses,
            Level::Part => &mut of.phases,
            Level::Concurrent => &mut of.concurrent,
        };
        if list.len() < MOST {
            list.push(Phase { name: name.to_owned(), t0_ns, t1_ns });
        }
    }

    /// `jdk.G1GarbageCollection`: the kind of young collection.
    pub(super) fn sort(&mut self, id: i64, sort: &str) {
        self.of(id).sort = Some(sort.to_owned());
    }

    /// A figure of a collection; the last one counts.
    pub(super) fn figure(&mut self, id: i64, key: &'static str, value: f64) {
        let figures = &mut self.of(id).figures;
        match figures.iter().position(|(known, _)| *known == key) {
            Some(at) => figures[at].1 = value,
            None if figures.len() < MOST => figures.push((key, value)),
            None => {}
        }
    }

    /// A failure of a collection.
    pub(super) fn failed(&mut self, id: i64, word: &'static str) {
        let failures = &mut self.of(id).failures;
        if !failures.contains(&word) {
            failures.push(word);
        }
    }

    /// A chunk ends, or everything does: writes the collections that are complete.
    pub(super) fn write(&mut self, writer: &mut RunWriter<'_>, all: bool) {
        let (chunk, crowded) = (self.chunk, self.waiting.len() > WAITING);
        self.chunk += 1;
        for (id, collection) in std::mem::take(&mut self.waiting) {
            if all || crowded || collection.chunk < chunk {
                collection.write(id, writer);
            } else {
                self.waiting.insert(id, collection);
            }
        }
    }
}

impl Collection {
    fn write(mut self, id: i64, writer: &mut RunWriter<'_>) {
        self.pauses.sort_by_key(|pause| pause.t0_ns);
        let whole_is_pause = self.whole.as_ref().is_some_and(Whole::is_one_pause);
        if let (true, true, Some(whole)) = (self.pauses.is_empty(), whole_is_pause, &self.whole) {
            self.pauses.push(Phase { name: "GC Pause".to_owned(), t0_ns: whole.t0_ns, t1_ns: whole.t1_ns });
        }
        let cause = self.whole.as_ref().map(|whole| whole.cause.clone()).unwrap_or_default();
        let mut labels = vec![(label::CAUSE, cause.as_str())];
        labels.retain(|(_, text)| !text.is_empty());
        // The figures are of the collection; with several pauses they belong to none of them.
        let single = self.pauses.len() == 1 && self.concurrent.is_empty();
        // A cycle that was not done in time was finished in its longest pause.
        let length = |pause: &Phase| pause.t1_ns.saturating_sub(pause.t0_ns);
        let longest = (0..self.pauses.len()).max_by_key(|i| self.pauses.get(*i).map(length));
        let of_longest: Vec<_> =
            labels.iter().copied().chain(self.failures.iter().map(|word| (label::FAILURE, *word))).collect();
        for (i, pause) in self.pauses.iter().enumerate() {
            let failed = longest == Some(i) && !self.failures.is_empty();
            let labels = if failed { &of_longest } else { &labels };
            let name = self.name_of(pause);
            let mut figures: Vec<(&str, f64)> = if single { self.figures.clone() } else { Vec::new() };
            let phases = self.phases_within(pause);
            if failed {
                figures.push((figure::EVACUATION_FAILURE, 1.0));
            }
            // Not their sum: events time only a few of the parts, and a rule would take the rest
            // for idle.
            if name.contains("Full") {
                figures.push((figure::FULL, 1.0));
            }
            figures.extend(phases.iter().map(|(key, ms)| (key.as_str(), *ms)));
            let (t0_ns, t1_ns) = (pause.t0_ns, pause.t1_ns);
            let entry = Entry::new(kind::GC_PAUSE, &name, t0_ns, t1_ns);
            writer.span(&Entry { key: id, figures: &figures, labels, ..entry });
        }
        for phase in &self.concurrent {
            let entry = Entry::new(kind::GC_CONCURRENT, &phase.name, phase.t0_ns, phase.t1_ns);
            writer.span(&Entry { key: id, labels: &labels, ..entry });
        }
        if let (false, Some(whole)) = (single, &self.whole) {
            let name = whole.cycle_name();
            let entry = Entry::new(kind::GC_CONCURRENT, name, whole.t0_ns, whole.t1_ns);
            writer.span(&Entry { key: id, figures: &self.figures, labels: &labels, ..entry });
        }
    }

    /// The name of a pause in `-Xlog:gc`. Pauses of concurrent cycles have theirs already.
    fn name_of(&self, pause: &Phase) -> String {
        if pause.name.starts_with("Pause") {
            return pause.name.clone();
        }
        let Some(whole) = &self.whole else { return pause.name.clone() };
        match &*whole.name {
            "G1New" => match self.sort.as_deref().map(g1_sort) {
                Some(sort) => format!("Pause Young ({sort})"),
                None => "Pause Young".to_owned(),
            },
            "ParallelScavenge" | "DefNew" | "ParNew" => "Pause Young".to_owned(),
            "G1Full" | "ParallelOld" | "SerialOld" | "PSMarkSweep" => "Pause Full".to_owned(),
            _ => pause.name.clone(),
        }
    }

    /// The parts of a pause, with their keys, summed by name. None when they overlap: then their
    /// sum means nothing.
    fn phases_within(&self, pause: &Phase) -> Vec<(String, f64)> {
        let within = self.phases.iter().filter(|p| p.t0_ns >= pause.t0_ns && p.t1_ns <= pause.t1_ns);
        let mut sums: BTreeMap<&str, i64> = BTreeMap::new();
        for phase in within {
            *sums.entry(&phase.name).or_default() += phase.t1_ns.saturating_sub(phase.t0_ns);
        }
        let all: i64 = sums.values().sum();
        if all > pause.t1_ns.saturating_sub(pause.t0_ns) {
            return Vec::new();
        }
        let key = |name: &str| format!("{}{name}", figure::PHASE_MS_PREFIX);
        sums.into_iter().map(|(name, ns)| (key(name), ns as f64 / 1e6)).collect()
    }
}

impl Whole {
    /// Whether the collection is one stop-the-world pause. The sum of pauses and the collection are
    /// measured separately, some microseconds apart.
    fn is_one_pause(&self) -> bool {
        let length = self.t1_ns.saturating_sub(self.t0_ns);
        self.pauses_ns
            .is_some_and(|pauses| length.saturating_sub(pauses).saturating_abs() <= length / 20 + 1_000)
    }

    /// The name of a cycle in logs, so that rules find it.
    fn cycle_name(&self) -> &str {
        match &*self.name {
            "G1Old" => "Concurrent Mark Cycle",
            "Z" => "Garbage Collection",
            "ZGC Minor" => "Minor Collection",
            "ZGC Major" => "Major Collection",
            name => name,
        }
    }
}

/// Kinds of young collections as JDK 8 to 25 name them in events, with the log's names.
fn g1_sort(sort: &str) -> &str {
    match sort {
        "Initial Mark" => "Concurrent Start",
        "During Marking" => "Normal",
        sort => sort,
    }
}
