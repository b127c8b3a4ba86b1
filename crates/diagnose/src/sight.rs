//! What can be seen in a recording, of which JVM and when: what a rule must have seen before it may
//! rule its cause out.
//!
//! A rule declares its needs ([`crate::Rule::needs`]); the pipeline finds out here how much of the
//! slow windows the sources cover that show them. A source covers the runs that it describes, else
//! the time that it says it covers. One that lost many of its records covers nothing: what is
//! missing may be the very thing that is looked for.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use fathom_recording::vocabulary::{count, kind, sample, source};
use fathom_recording::{ProcessId, Recording, Source, SourceId};
use rustc_hash::{FxHashMap, FxHashSet};
use serde::ser::{Serialize, Serializer};

use crate::facts::{Metric, Value, scope, switch_on};
use crate::intervals::Intervals;
use crate::{Fact, MATTERS_SHARE, stats};

/// Share of the slow windows that must be covered for a cause to be ruled out. What acted in the
/// fifth that is left could explain a fifth of the loss, which is what a dip is at least; with more
/// left it could be the main cause.
pub const COVERED: f64 = 0.8;
/// Records lost, as a share of all, from which on a source covers nothing: as many as could hide
/// what matters.
pub const LOST: f64 = MATTERS_SHARE;
/// Samples without a hit from which "less than one in as many, by a third" follows with 95% (the
/// rule of three).
const NONE_IN: f64 = 3.0;

/// Something that a source may show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sight {
    /// Garbage collections that stop the JVM.
    Collections,
    /// Safepoints.
    Safepoints,
    /// Compilations.
    Compilations,
    /// Compiled code that is thrown away.
    Deoptimisations,
    /// Waits for monitors and locks of `java.util.concurrent`.
    Locks,
    /// Look-ups of names.
    Lookups,
    /// Which code ran, by samples of the CPU.
    CpuSamples,
    /// Page faults.
    PageFaults,
    /// Starts of threads.
    ThreadStarts,
    /// Switches of threads: when each ran, waited for a CPU, and was off it.
    Switches,
    /// System calls.
    Calls,
}

/// Where a sight comes from.
struct From {
    words: &'static str,
    /// Spans that show it.
    kinds: &'static [&'static str],
    /// Counts that show it.
    counts: &'static [&'static str],
    /// Samples that show it.
    samples: &'static [&'static str],
    /// Sources that would have shown it, had there been any, by format: collectors of
    /// `fathom record`, and files that always hold it.
    formats: &'static [&'static str],
    remedy: &'static Metric,
}

/// Collectors of `fathom record` that need eBPF and run unless they are left out.
const COLLECTORS: [&str; 7] = [
    source::CONNECTIONS,
    source::CPU,
    source::LOCKS,
    source::MEMORY,
    source::NETWORK,
    source::SCHED,
    source::SYSCALLS,
];

/// What shows the sight of a collector that a recording was made without, where others of its kind
/// were at work: another recording alike would not.
pub(crate) fn left_out(recording: &Recording, collector: &str) -> Option<Fact> {
    let has = |collector: &str| recording.sources.iter().any(|source| source.format == collector);
    let is_left_out =
        COLLECTORS.contains(&collector) && !has(collector) && COLLECTORS.iter().any(|other| has(other));
    is_left_out.then(|| switch_on::COLLECTOR.is(Value::name(collector)))
}

/// In words.
impl fmt::Display for Sight {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}

impl Serialize for Sight {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.words())
    }
}

impl Sight {
    /// All of them, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Collections,
        Self::Safepoints,
        Self::Compilations,
        Self::Deoptimisations,
        Self::Locks,
        Self::CpuSamples,
        Self::Switches,
        Self::Calls,
        Self::PageFaults,
        Self::ThreadStarts,
        Self::Lookups,
    ];

    /// In words: "waits for locks".
    pub fn words(self) -> &'static str {
        self.from().words
    }

    /// What would show it, next to what was recorded.
    pub(crate) fn remedy(self, recording: &Recording) -> Fact {
        let from = self.from();
        let left_out = from.formats.iter().find_map(|format| left_out(recording, format));
        left_out.unwrap_or_else(|| from.remedy.fact())
    }

    fn from(self) -> From {
        let (words, kinds, samples, formats, remedy): (_, &[_], &[_], &[_], _) = match self {
            Self::Collections => (
                "collections",
                &[kind::GC_PAUSE, kind::GC_CONCURRENT, kind::GC_STALL],
                &[],
                &[],
                &switch_on::GC_LOG_OF_ALL,
            ),
            Self::Safepoints => ("safepoints", &[kind::SAFEPOINT], &[], &[], &switch_on::GC_LOG_OF_ALL),
            Self::Compilations => (
                "compilations",
                &[kind::JIT_COMPILE, kind::JIT_QUEUE, kind::JIT_INSTALL],
                &[],
                &["log-compilation"],
                &switch_on::JIT_LOG_OF_ALL,
            ),
            Self::Deoptimisations => (
                "deoptimisations",
                &[kind::JIT_INVALIDATE, kind::JIT_TRAP],
                &[],
                &["log-compilation"],
                &switch_on::JIT_LOG_OR_DEOPTIMISATIONS,
            ),
            Self::Locks => (
                "waits for locks",
                &[kind::LOCK_MONITOR, kind::LOCK_PARK],
                &[],
                &[source::LOCKS],
                &switch_on::PROFILE_OF_ALL,
            ),
            Self::Lookups => {
                ("name look-ups", &[kind::NET_DNS], &[], &[source::NETWORK], &switch_on::LOOKUPS)
            }
            Self::CpuSamples => {
                ("CPU samples", &[], &sample::ON_CPU, &[source::CPU], &switch_on::PROFILE_OF_ALL)
            }
            // Samples of the CPU show faults by the kernel's frames; whether they have any is for
            // the rule to see.
            Self::PageFaults => (
                "page faults",
                &[kind::PAGE_FAULT],
                &[sample::CPU, sample::CYCLES, sample::PAGE_FAULT],
                &[source::MEMORY],
                &switch_on::FAULTS_OF_ALL,
            ),
            Self::ThreadStarts => {
                ("starts of threads", &[kind::THREAD_STARTUP], &[], &[source::SCHED], &switch_on::RECORD)
            }
            Self::Switches => (
                "context switches",
                &[kind::SCHED_WATCHED, kind::SCHED_OFF],
                &[sample::OFF_CPU],
                &[source::SCHED],
                &switch_on::RECORD_WITH_EBPF,
            ),
            Self::Calls => ("system calls", &[kind::SYSCALL], &[], &[source::SYSCALLS], &switch_on::CALLS),
        };
        let counts: &[_] = match self {
            Self::PageFaults => &[count::PAGE_FAULTS],
            Self::Calls => &[count::SYSCALL_TOTALS],
            _ => &[],
        };
        From { words, kinds, counts, samples, formats, remedy }
    }

    fn index(self) -> usize {
        self as usize
    }
}

/// How much of some windows a sight covers.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Coverage {
    /// The intervals, within the windows or not.
    pub(crate) intervals: Intervals,
    /// Sources that show it, by name.
    pub sources: Vec<String>,
    /// Sources that would show it, but lost too much, each with its losses in words.
    pub lossy: Vec<Fact>,
}

/// What the sources of a recording let be seen.
pub(crate) struct Sights<'a> {
    recording: &'a Recording,
    /// Sources that have a record of a sight, by sight and process.
    with_records: FxHashMap<(usize, ProcessId), FxHashSet<SourceId>>,
    /// Runs that a source covers.
    runs: FxHashMap<(SourceId, ProcessId), Vec<(i64, i64)>>,
    /// Sources that have runs of any process.
    with_runs: FxHashSet<SourceId>,
    /// What was asked for before.
    known: RefCell<FxHashMap<(Sight, ProcessId), Rc<Coverage>>>,
}

impl<'a> Sights<'a> {
    pub(crate) fn of(recording: &'a Recording) -> Self {
        let mut with_records: FxHashMap<(usize, ProcessId), FxHashSet<SourceId>> = FxHashMap::default();
        let mut runs: FxHashMap<(SourceId, ProcessId), Vec<(i64, i64)>> = FxHashMap::default();
        for span in recording.spans_of(kind::RUN) {
            runs.entry((span.source(), span.process())).or_default().push((span.t0_ns(), span.t1_ns()));
        }
        let mut of_sample: FxHashMap<_, Vec<usize>> = FxHashMap::default();
        for sight in Sight::ALL {
            let from = sight.from();
            let spans = from.kinds.iter().flat_map(|kind| recording.spans_of(kind));
            let counts = from.counts.iter().flat_map(|kind| recording.counts_of(kind));
            let spans = spans.map(|span| (span.process(), span.source()));
            // Neighbours are most often of one source and process: the last is remembered.
            let mut last = None;
            for this in spans.chain(counts.map(|count| (count.process(), count.source()))) {
                if last != Some(this) {
                    with_records.entry((sight.index(), this.0)).or_default().insert(this.1);
                    last = Some(this);
                }
            }
            for kind in from.samples {
                if let Some(id) = recording.strings.find(kind) {
                    of_sample.entry(id).or_default().push(sight.index());
                }
            }
        }
        let mut last = None;
        for sample in recording.samples.iter() {
            let this = (sample.kind, sample.process, sample.source);
            if last != Some(this) {
                for sight in of_sample.get(&sample.kind).into_iter().flatten() {
                    with_records.entry((*sight, sample.process)).or_default().insert(sample.source);
                }
                last = Some(this);
            }
        }
        let with_runs = runs.keys().map(|(source, _)| *source).collect();
        Self { recording, with_records, runs, with_runs, known: RefCell::default() }
    }

    /// When a sight of a JVM is covered, and by which sources.
    pub(crate) fn coverage(&self, sight: Sight, jvm: ProcessId) -> Rc<Coverage> {
        if let Some(known) = self.known.borrow().get(&(sight, jvm)) {
            return Rc::clone(known);
        }
        let coverage = Rc::new(self.find(sight, jvm));
        self.known.borrow_mut().insert((sight, jvm), Rc::clone(&coverage));
        coverage
    }

    fn find(&self, sight: Sight, jvm: ProcessId) -> Coverage {
        let formats = sight.from().formats;
        let with_records = self.with_records.get(&(sight.index(), jvm));
        let mut coverage = Coverage::default();
        let mut intervals: Vec<(i64, i64)> = Vec::new();
        // What stops a JVM is logged for its runs, whether it was stopped in them or not.
        let stops = matches!(sight, Sight::Collections | Sight::Safepoints)
            .then(|| crate::split_time::covered(self.recording, jvm));
        let stops_seen = |stops: &Intervals| {
            !stops.is_empty()
                && (sight == Sight::Collections || crate::split_time::safepoints_seen(self.recording, jvm))
        };
        for (i, source) in self.recording.sources.iter().enumerate() {
            let id = SourceId(i as u32);
            let shows = with_records.is_some_and(|sources| sources.contains(&id));
            let of_jvm = source.process.is_none_or(|process| process == jvm.0);
            let watched = !self.with_runs.contains(&id) || self.runs.contains_key(&(id, jvm));
            let writes = of_jvm && watched && formats.contains(&source.format.as_str());
            if !shows && !writes {
                continue;
            }
            if let Some(lost) = too_lossy(source) {
                coverage.lossy.push(lost);
                continue;
            }
            coverage.sources.push(source.name.clone());
            match (self.runs.get(&(id, jvm)), source.covers_ns) {
                (Some(runs), _) => intervals.extend(runs),
                (None, Some(covers)) => intervals.push(covers),
                (None, None) => intervals.extend(self.extent(sight, jvm, id)),
            }
        }
        coverage.intervals = Intervals::of(intervals);
        if let Some(stops) = stops.filter(|stops| coverage.lossy.is_empty() && stops_seen(stops)) {
            coverage.intervals = coverage.intervals.or(&stops);
        }
        coverage
    }

    /// From the first to the last record of a source: all that is known of what it covers.
    fn extent(&self, sight: Sight, jvm: ProcessId, source: SourceId) -> Option<(i64, i64)> {
        let from = sight.from();
        let spans = from.kinds.iter().flat_map(|kind| self.recording.spans_of(kind));
        let spans =
            spans.filter(|s| s.process() == jvm && s.source() == source).map(|s| (s.t0_ns(), s.t1_ns()));
        let counts = from.counts.iter().flat_map(|kind| self.recording.counts_of(kind));
        let counts =
            counts.filter(|c| c.process() == jvm && c.source() == source).map(|c| (c.t0_ns(), c.t1_ns()));
        let samples = self.recording.samples.iter().filter(|s| {
            s.process == jvm
                && s.source == source
                && from.samples.contains(&self.recording.strings.get(s.kind))
        });
        let samples = samples.map(|s| (s.t_ns, s.t_ns.saturating_add(1)));
        spans.chain(counts).chain(samples).reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))
    }

    /// CPU time, milliseconds, that may have passed between two samples of a JVM without any of
    /// them seeing it, with 95%: three times what a sample stands for. `None` without samples that
    /// stand for time.
    pub(crate) fn unsampled_ms(&self, jvm: ProcessId) -> Option<f64> {
        let cpu = self.recording.strings.find(sample::CPU)?;
        let weights = |mine: bool| {
            let all = self.recording.samples.iter().filter(move |s| s.kind == cpu && s.weight > 0);
            stats::sorted(all.filter(move |s| !mine || s.process == jvm).map(|s| s.weight as f64))
        };
        // Without one of its own, those of other processes do: the same clock takes them.
        let median = stats::median(&weights(true)).or_else(|| stats::median(&weights(false)));
        median.map(|ns| NONE_IN * ns / 1e6)
    }
}

/// What a source lost, in words, where that is too much for it to rule anything out.
pub(crate) fn too_lossy(source: &Source) -> Option<Fact> {
    (source.lost > 0 && source.lost as f64 >= LOST * records_of(source) as f64).then(|| losses(source))
}

/// "sched lost 103,569 of 134,336 records (77%)".
pub(crate) fn losses(source: &Source) -> Fact {
    let all = records_of(source);
    let fact = scope::LOST.is(Value::counted(source.lost as f64)).with("source", Value::name(&source.name));
    let fact = fact.with("all", Value::counted(all as f64));
    fact.with("share", Value::share(source.lost as f64 / all.max(1) as f64))
}

/// Records that there were, lost ones included. What a log lost it counts in lines, of which a
/// record may have many.
fn records_of(source: &Source) -> u64 {
    source.records.max(source.lines).saturating_add(source.lost)
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Process, Sink};

    use super::*;

    #[test]
    fn a_recording_that_left_a_collector_out_is_not_told_to_be_made_again_alike() {
        let mut recording = Recording::new();
        assert_eq!(Sight::Locks.remedy(&recording), switch_on::PROFILE_OF_ALL.fact());
        let format = source::SCHED.to_owned();
        recording.add_source(Source { format, ..Source::default() });
        let left_out = switch_on::COLLECTOR.is(Value::name(source::LOCKS));
        assert_eq!(Sight::Locks.remedy(&recording), left_out);
        // What no collector has, and what this recording has and lost, another source shows.
        assert_eq!(Sight::Deoptimisations.remedy(&recording), Sight::Deoptimisations.from().remedy.fact());
        assert_eq!(Sight::Switches.remedy(&recording), Sight::Switches.from().remedy.fact());
    }

    #[test]
    fn what_a_collector_looked_for_is_seen_though_there_was_nothing_of_it() {
        for sight in Sight::ALL {
            for format in sight.from().formats {
                let mut recording = Recording::new();
                let jvm = recording.add_process(Process { jvm: true, ..Process::default() });
                let (name, format) = ((*format).to_owned(), (*format).to_owned());
                recording.add_source(Source { name, format, covers_ns: Some((0, 100)), ..Source::default() });
                recording.seal();
                let coverage = Sights::of(&recording).coverage(sight, jvm);
                assert_eq!(coverage.intervals, Intervals::of([(0, 100)]), "{sight:?}");
                for other in Sight::ALL.iter().filter(|other| other.from().formats != sight.from().formats) {
                    let seen = Sights::of(&recording).coverage(*other, jvm).sources.len();
                    assert_eq!(seen, 0, "{other:?} by the collector of {sight:?}");
                }
            }
        }
    }
}
