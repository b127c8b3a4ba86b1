//! Page faults of a JVM in the slow windows compared with the baseline: how many, in which mapping,
//! by whom, how long.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{count, fault, figure, live, sample};
use fathom_recording::{FrameType, ProcessId, Recording, Role, Sample, StackId, ThreadId};

use super::cpu_case::sharing;
use crate::waits::Category;
use crate::waits::place::{is_of_jdk, java_method};
use crate::{Case, Window};

/// Bytes of a page.
pub(super) const PAGE: f64 = 4096.0;

/// Faults of a thread in a mapping.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Sum {
    pub(super) faults: f64,
    pub(super) major: f64,
    pub(super) protect: f64,
    pub(super) ms: f64,
}

impl Sum {
    fn add(&mut self, other: Self, part: f64) {
        self.faults += other.faults * part;
        self.major += other.major * part;
        self.protect += other.protect * part;
        self.ms += other.ms * part;
    }
}

/// Who faulted, and where. Threads with few faults are one.
type Place<'a> = (Option<ThreadId>, &'a str);

/// The page faults of a case.
pub(super) struct Faults<'c, 'a> {
    pub(super) case: &'c Case<'a>,
    jvm: ProcessId,
    slow: BTreeMap<Place<'a>, Sum>,
    base: BTreeMap<Place<'a>, Sum>,
    /// Whether each fault was counted and timed; otherwise samples of CPU time are used.
    pub(super) measured: bool,
}

impl<'c, 'a> Faults<'c, 'a> {
    /// Of a JVM. `None`: neither were faults counted, nor is there a CPU sample that shows the
    /// kernel.
    pub(super) fn of(case: &'c Case<'a>, jvm: ProcessId) -> Option<Self> {
        let recording: &'a Recording = case.recording;
        let measured = recording
            .counts_of(count::PAGE_FAULTS)
            .any(|faults| faults.process() == jvm && faults.total_ns().is_some_and(|ns| ns > 0));
        let parts = |windows: &[Window]| {
            if measured { counted(case, jvm, windows) } else { sampled(case, jvm, windows) }
        };
        let faults = Self { case, jvm, slow: parts(&case.slow), base: parts(&case.base), measured };
        (measured || shows_the_kernel(recording, jvm)).then_some(faults)
    }

    /// All of the slow windows.
    pub(super) fn total(&self) -> Sum {
        add_up(self.slow.values())
    }

    /// All of the baseline.
    pub(super) fn base_total(&self) -> Sum {
        add_up(self.base.values())
    }

    /// What the faults cost in wall time, milliseconds: for the application's threads and for the
    /// collector's the time above the baseline's, by as many threads as share it evenly. Threads of
    /// the one wait for those of the other, so that both costs add up.
    pub(super) fn cost_ms(&self) -> f64 {
        let cost = |collector: bool| {
            let of = |map: &BTreeMap<Place<'a>, Sum>| {
                let mut by_thread: BTreeMap<Option<ThreadId>, f64> = BTreeMap::new();
                for ((thread, _), sum) in map.iter().filter(|((t, _), _)| self.is_collectors(*t) == collector)
                {
                    *by_thread.entry(*thread).or_default() += sum.ms;
                }
                by_thread
            };
            let (slow, base) = (of(&self.slow), of(&self.base));
            self.case.excess_ms(slow.values().sum(), base.values().sum()) / sharing(slow.values())
        };
        let shared = (cost(false) + cost(true)).min(Case::length_ms(&self.case.slow));
        // What operations took longer for is known better than by how threads share the time
        // evenly.
        let by_operations = |category| self.case.attributed.ms(self.jvm, category);
        shared.max(by_operations(Category::KernelFault) + by_operations(Category::PageFault))
    }

    /// Mappings by the time above the baseline's that faults in them took, the most expensive
    /// first, with the sum of each.
    pub(super) fn mappings(&self) -> Vec<(&'a str, Sum, f64)> {
        let of = |map: &BTreeMap<Place<'a>, Sum>| {
            let mut by: BTreeMap<&'a str, Sum> = BTreeMap::new();
            map.iter().for_each(|((_, mapping), sum)| by.entry(mapping).or_default().add(*sum, 1.0));
            by
        };
        let base = of(&self.base);
        let excess = |mapping: &str, sum: &Sum| {
            self.case.excess_ms(sum.ms, base.get(mapping).map_or(0.0, |base| base.ms))
        };
        let mut all: Vec<(&'a str, Sum, f64)> =
            of(&self.slow).into_iter().map(|(mapping, sum)| (mapping, sum, excess(mapping, &sum))).collect();
        all.sort_by(|a, b| b.2.total_cmp(&a.2));
        all
    }

    /// Share of the time in faults of a mapping that threads of the collector took.
    pub(super) fn collectors_share(&self, mapping: &str) -> f64 {
        let of = |collector: Option<bool>| -> f64 {
            let wanted = |t: Option<ThreadId>| collector.is_none_or(|is| self.is_collectors(t) == is);
            self.slow.iter().filter(|((t, m), _)| *m == mapping && wanted(*t)).map(|(_, sum)| sum.ms).sum()
        };
        let all = of(None);
        if all > 0.0 { of(Some(true)) / all } else { 0.0 }
    }

    /// Threads that faulted, the one that lost most first.
    pub(super) fn threads(&self) -> Vec<(&'a str, f64)> {
        let mut by: BTreeMap<ThreadId, f64> = BTreeMap::new();
        for ((thread, _), sum) in &self.slow {
            if let Some(thread) = thread {
                *by.entry(*thread).or_default() += sum.ms;
            }
        }
        let recording: &'a Recording = self.case.recording;
        let name = |thread: ThreadId| recording.strings.get(recording.threads[thread.index()].name);
        let mut all: Vec<(&'a str, f64)> = by.into_iter().map(|(thread, ms)| (name(thread), ms)).collect();
        all.sort_by(|a, b| b.1.total_cmp(&a.1));
        all
    }

    /// Whose code touched a mapping (any, where that is not known), by sampled stacks: the
    /// application's method, else any Java method, else the function; the share of each, the
    /// largest first.
    pub(super) fn touched_by(&self, mapping: Option<&str>) -> Vec<(&'a str, f64)> {
        let recording: &'a Recording = self.case.recording;
        let stacks = self.case.known.stacks();
        let (faults, cpu) = (recording.strings.find(sample::PAGE_FAULT), recording.strings.find(sample::CPU));
        let has_own = recording.samples.iter().any(|s| Some(s.kind) == faults && s.process == self.jvm);
        let is_one = |s: &Sample| {
            if has_own {
                let leaf = s.stack.and_then(|stack| name(recording, stack)).and_then(fault::mapping_of);
                Some(s.kind) == faults && (mapping.is_none() || leaf == mapping)
            } else {
                Some(s.kind) == cpu && stacks.category(s.stack) == Category::PageFault
            }
        };
        let within = |s: &Sample| self.case.slow.iter().any(|w| (w.from_ns..w.to_ns).contains(&s.t_ns));
        let mut by: BTreeMap<&'a str, f64> = BTreeMap::new();
        let mut all = 0.0;
        for s in recording.samples.iter().filter(|s| s.process == self.jvm && within(s) && is_one(s)) {
            all += s.weight as f64;
            // The JDK's methods are nobody's own: what calls them decides what is touched.
            let method = java_method(recording, s.stack, is_of_jdk)
                .or_else(|| java_method(recording, s.stack, |_| false))
                .or_else(|| function(recording, s.stack));
            *by.entry(method.unwrap_or("code that was not seen")).or_default() += s.weight as f64;
        }
        let mut by: Vec<(&str, f64)> =
            by.into_iter().map(|(method, weight)| (method, weight / all)).collect();
        by.sort_by(|a, b| b.1.total_cmp(&a.1));
        by
    }

    /// Bytes that the JVM gave back to the kernel in the slow windows: unmapped, or advised away.
    pub(super) fn given_back_bytes(&self) -> f64 {
        let calls = ["munmap", "madvise: give back"];
        let series = self.case.recording.series.iter().filter(|s| {
            s.info.name == live::PROCESS_SPACE_BYTES.name
                && s.info.process == Some(self.jvm)
                && calls.contains(&s.info.instance.as_str())
        });
        let points = series.flat_map(|s| (0..s.t_ns.len()).map(move |i| (s.t_ns[i], s.dt_ns[i], s.value[i])));
        points
            .map(|(t, dt, value)| value * overlap(t, t.saturating_add(dt), &self.case.slow) * dt as f64 / 1e9)
            .sum()
    }

    /// Faults in a mapping over the whole recording.
    pub(super) fn ever_in(&self, mapping: &str) -> f64 {
        let recording = self.case.recording;
        let of_it = recording
            .counts_of(count::PAGE_FAULTS)
            .filter(|f| f.process() == self.jvm && f.name() == mapping);
        of_it.map(|faults| faults.count() as f64).sum()
    }

    /// Where the values come from.
    pub(super) fn source(&self) -> String {
        let recording = self.case.recording;
        let counts =
            || recording.counts_of(count::PAGE_FAULTS).find(|f| f.process() == self.jvm).map(|f| f.source());
        let cpu = recording.strings.find(sample::CPU);
        let samples = || {
            recording.samples.iter().find(|s| Some(s.kind) == cpu && s.process == self.jvm).map(|s| s.source)
        };
        let source = if self.measured { counts() } else { samples() };
        source.and_then(|id| recording.sources.get(id.index())).map_or(String::new(), |s| s.name.clone())
    }

    fn is_collectors(&self, thread: Option<ThreadId>) -> bool {
        thread.and_then(|id| self.case.recording.threads.get(id.index())).is_some_and(|t| t.role == Role::Gc)
    }
}

/// Faults as they were counted, each second in part where a window cuts it.
fn counted<'a>(case: &Case<'a>, jvm: ProcessId, windows: &[Window]) -> BTreeMap<Place<'a>, Sum> {
    let recording: &'a Recording = case.recording;
    let mut by: BTreeMap<Place<'a>, Sum> = BTreeMap::new();
    for faults in recording.counts_of(count::PAGE_FAULTS).filter(|faults| faults.process() == jvm) {
        let part = overlap(faults.t0_ns(), faults.t1_ns(), windows);
        if part > 0.0 {
            let number = |key: &str| faults.figure(key).filter(|n| n.is_finite() && *n >= 0.0).unwrap_or(0.0);
            let sum = Sum {
                faults: faults.count() as f64,
                major: number(figure::MAJOR),
                protect: number(figure::PROTECT),
                ms: faults.total_ns().unwrap_or(0) as f64 / 1e6,
            };
            by.entry((faults.thread(), faults.name())).or_default().add(sum, part);
        }
    }
    by
}

/// CPU time in the handling of faults, where samples show the kernel; the mapping is not known.
fn sampled<'a>(case: &Case<'a>, jvm: ProcessId, windows: &[Window]) -> BTreeMap<Place<'a>, Sum> {
    let (recording, stacks) = (case.recording, case.known.stacks());
    let cpu = recording.strings.find(sample::CPU);
    let mut by: BTreeMap<Place<'a>, Sum> = BTreeMap::new();
    let within = |s: &Sample| windows.iter().any(|w| (w.from_ns..w.to_ns).contains(&s.t_ns));
    for s in recording.samples.iter().filter(|s| Some(s.kind) == cpu && s.process == jvm && within(s)) {
        if stacks.category(s.stack) == Category::PageFault {
            by.entry((s.thread, "")).or_default().ms += s.weight.max(0) as f64 / 1e6;
        }
    }
    by
}

/// Whether CPU samples of the JVM have frames of the kernel at all.
fn shows_the_kernel(recording: &Recording, jvm: ProcessId) -> bool {
    let cpu = recording.strings.find(sample::CPU);
    let in_kernel = |stack: Option<StackId>| {
        recording.frames_of(stack).next().is_some_and(|frame| frame.frame_type() == FrameType::Kernel)
    };
    recording.samples.iter().any(|s| Some(s.kind) == cpu && s.process == jvm && in_kernel(s.stack))
}

fn add_up<'s>(sums: impl Iterator<Item = &'s Sum>) -> Sum {
    let mut all = Sum::default();
    sums.for_each(|sum| all.add(*sum, 1.0));
    all
}

/// The share of an interval that lies in windows.
fn overlap(from_ns: i64, to_ns: i64, windows: &[Window]) -> f64 {
    let length = to_ns.saturating_sub(from_ns);
    if length <= 0 {
        return 0.0;
    }
    let shared = |w: &Window| (to_ns.min(w.to_ns).saturating_sub(from_ns.max(w.from_ns))).max(0);
    windows.iter().map(shared).sum::<i64>() as f64 / length as f64
}

fn name(recording: &Recording, stack: StackId) -> Option<&str> {
    Some(recording.frames_of(stack).next()?.name())
}

/// The innermost function that is not the kernel's.
fn function(recording: &Recording, stack: Option<StackId>) -> Option<&str> {
    Some(recording.frames_of(stack).find(|frame| frame.frame_type() != FrameType::Kernel)?.name())
}
