//! CPU time of a JVM in the slow windows compared with the baseline, by what a rule looks for in
//! sampled stacks.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{sample, source};
use fathom_recording::{FrameType, ProcessId, Recording, Sample, SourceId, StackFrame, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::cpu_contention::CpuContention;
use super::gc_case::{WHOLE_RUN_SHARE, blind};
use crate::facts::{Value, ruled_out, scope, switch_on};
use crate::sight::left_out;
use crate::waits::place::{is_of_jdk, java_method};
use crate::{Case, Fact, Judgement, Rule, Window, quantity};

/// Wall time that is so many times the CPU time needs a word: most of it is waiting for a CPU.
const MOSTLY_WAITS: f64 = 2.0;

/// A frame as a rule sees it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen<'a> {
    /// "java.math.BigInteger.modPow".
    pub(super) name: &'a str,
    /// What compiled the code that ran: for a method that was inlined, that of the method which it
    /// is part of.
    pub(super) by: FrameType,
}

/// CPU time by thread and by what was found in its stacks.
type Sums<'a> = BTreeMap<(Option<ThreadId>, &'a str), f64>;

/// The CPU samples of a case.
pub(super) struct Cpu<'c, 'a> {
    pub(super) case: &'c Case<'a>,
    jvm: ProcessId,
    slow: Sums<'a>,
    base: Sums<'a>,
    /// CPU time of the JVM in the slow windows, whatever ran, milliseconds.
    all_ms: f64,
    /// Samples of the JVM in the slow windows.
    samples: usize,
    /// Samples in the slow windows by what was found in their stacks.
    counted: BTreeMap<&'a str, usize>,
    found: FxHashMap<StackId, Option<&'a str>>,
    source: SourceId,
}

impl<'c, 'a> Cpu<'c, 'a> {
    /// Of a JVM. `find` gets the frames of a stack, the innermost first, and says what of it
    /// counts. `None`: no sample shows which Java code ran.
    pub(super) fn of(
        case: &'c Case<'a>,
        jvm: ProcessId,
        find: impl Fn(&[Seen<'a>]) -> Option<&'a str>,
    ) -> Option<Self> {
        let recording: &'a Recording = case.recording;
        let kind = recording.strings.find(sample::CPU)?;
        let of_it = |s: &Sample| s.kind == kind && s.process == jvm;
        let shows_java = |s: &Sample| java_method(recording, s.stack, |_| false).is_some();
        let source = recording.samples.iter().find(|s| of_it(s) && shows_java(s))?.source;
        let mut cpu = Self {
            case,
            jvm,
            slow: Sums::new(),
            base: Sums::new(),
            all_ms: 0.0,
            samples: 0,
            counted: BTreeMap::new(),
            found: FxHashMap::default(),
            source,
        };
        let mut frames = Vec::new();
        for sample in recording.samples.iter().filter(of_it) {
            let within =
                |windows: &[Window]| windows.iter().any(|w| (w.from_ns..w.to_ns).contains(&sample.t_ns));
            let ms = sample.weight.max(0) as f64 / 1e6;
            let (slow, base) = (within(&case.slow), within(&case.base));
            if slow {
                cpu.all_ms += ms;
                cpu.samples += 1;
            }
            let Some(stack) = sample.stack.filter(|_| slow || base) else { continue };
            let found = *cpu.found.entry(stack).or_insert_with(|| {
                unroll(recording, stack, &mut frames);
                find(&frames)
            });
            if let Some(found) = found {
                *cpu.counted.entry(found).or_default() += usize::from(slow);
                let sums = if slow { &mut cpu.slow } else { &mut cpu.base };
                *sums.entry((sample.thread, found)).or_default() += ms;
            }
        }
        Some(cpu)
    }

    /// CPU time of what `which` picks in the slow windows, milliseconds.
    pub(super) fn ms(&self, which: impl Fn(&str) -> bool) -> f64 {
        add_up(&self.slow, which)
    }

    /// That as a share of all CPU time of the JVM.
    pub(super) fn share(&self, which: impl Fn(&str) -> bool) -> f64 {
        if self.all_ms > 0.0 { self.ms(which) / self.all_ms } else { 0.0 }
    }

    /// In how many samples of the slow windows it was found.
    pub(super) fn samples_of(&self, which: impl Fn(&str) -> bool) -> usize {
        self.counted.iter().filter(|(found, _)| which(found)).map(|(_, samples)| samples).sum()
    }

    /// What it costs in wall time, milliseconds: the time above the baseline's, by as many threads
    /// as share it evenly. Where threads wait for CPUs all along, what runs takes as many times
    /// as long; where they do so in the slow windows only, that is another cause.
    pub(super) fn cost_ms(&self, which: impl Fn(&str) -> bool) -> f64 {
        let mut by_thread: BTreeMap<Option<ThreadId>, f64> = BTreeMap::new();
        for ((thread, _), ms) in self.slow.iter().filter(|((_, found), _)| which(found)) {
            *by_thread.entry(*thread).or_default() += ms;
        }
        let processors = CpuContention::of(self.case, self.jvm);
        let range = processors.base.as_ref().unwrap_or(&processors.slow).range();
        let slow = by_thread.values().sum::<f64>() * range;
        let base = add_up(&self.base, which) * range;
        let cost = self.case.excess_ms(slow, base) / sharing(by_thread.values());
        cost.min(Case::length_ms(&self.case.slow))
    }

    /// A title with what its cost is made of, where most of it is waiting for a CPU.
    pub(super) fn with_waits(&self, title: Fact, cost_ms: f64, which: impl Fn(&str) -> bool) -> Fact {
        let ms = self.ms(which);
        match cost_ms < MOSTLY_WAITS * ms {
            true => title,
            false => title.with("cpu", Value::ms(ms)).with("elapsed", Value::ms(cost_ms)),
        }
    }

    /// What `which` picks costs, milliseconds of wall time, where that is worth a finding; else the
    /// value that rules it out, begun with `what` it is that took CPU time.
    pub(super) fn worth(&self, what: Fact, which: impl Fn(&str) -> bool + Copy) -> Result<f64, Judgement> {
        let (case, cost_ms) = (self.case, self.cost_ms(which));
        let measured_loss = !case.whole_run || case.loss.lost_ms > 0.0;
        let least_ms = if measured_loss { 0.0 } else { WHOLE_RUN_SHARE * Case::length_ms(&case.slow) };
        if case.matters(cost_ms) && cost_ms >= least_ms {
            return Ok(cost_ms);
        }
        let took = ruled_out::TOOK_CPU.is(Value::ms(self.ms(which))).with("what", Value::from(what));
        let above = (!case.base.is_empty()).then(|| Value::ms(cost_ms));
        Err(Judgement::RuledOut { figure: took.with("above", above).into(), source: self.source() })
    }

    /// What was found, the most expensive first, with its CPU time in milliseconds.
    pub(super) fn by(&self) -> Vec<(&'a str, f64)> {
        let mut by: BTreeMap<&'a str, f64> = BTreeMap::new();
        self.slow.iter().for_each(|((_, found), ms)| *by.entry(found).or_default() += ms);
        most_expensive_first(by)
    }

    /// Whose code leads there: the application's methods, else any Java, with the share of each.
    pub(super) fn callers(&self, which: impl Fn(&str) -> bool) -> Vec<(&'a str, f64)> {
        let recording: &'a Recording = self.case.recording;
        let kind = recording.strings.find(sample::CPU);
        let within = |s: &Sample| self.case.slow.iter().any(|w| (w.from_ns..w.to_ns).contains(&s.t_ns));
        let mut by: BTreeMap<&'a str, f64> = BTreeMap::new();
        let mut all = 0.0;
        for s in
            recording.samples.iter().filter(|s| Some(s.kind) == kind && s.process == self.jvm && within(s))
        {
            let found = s.stack.and_then(|stack| self.found.get(&stack).copied().flatten());
            if !found.is_some_and(&which) {
                continue;
            }
            // The JDK's methods are nobody's own: what calls them decides what is done.
            if let Some(method) = java_method(recording, s.stack, is_of_jdk) {
                *by.entry(method).or_default() += s.weight as f64;
            }
            all += s.weight as f64;
        }
        by.values_mut().for_each(|weight| *weight /= all);
        most_expensive_first(by)
    }

    /// Where the values come from, and from how many samples: a share of n of them is sure to
    /// about its 1/√n.
    pub(super) fn source(&self) -> String {
        let name = self.case.recording.sources.get(self.source.index()).map_or("", |s| s.name.as_str());
        format!("{name} ({})", quantity::plural(self.samples, "sample", "samples"))
    }
}

/// What ran was not recorded. One wording for all rules, so that it is one row.
pub(super) fn unseen(rule: &dyn Rule, case: &Case<'_>) -> Judgement {
    let remedy = left_out(case.recording, source::CPU).unwrap_or_else(|| switch_on::CPU_PROFILE.fact());
    blind(rule, scope::JAVA_CODE.fact(), remedy)
}

/// How many threads share something evenly: (Σx)² / Σx², so that n that have as much each are n,
/// and one that has nearly all is one.
pub(crate) fn sharing<'s>(parts: impl Iterator<Item = &'s f64> + Clone) -> f64 {
    let (all, squares): (f64, f64) = (parts.clone().sum(), parts.map(|part| part * part).sum());
    if squares > 0.0 { (all * all / squares).max(1.0) } else { 1.0 }
}

/// The frames of a stack, the innermost first.
fn unroll<'a>(recording: &'a Recording, stack: StackId, frames: &mut Vec<Seen<'a>>) {
    frames.clear();
    let seen = |frame: StackFrame<'a>| Seen { name: frame.name(), by: frame.frame_type() };
    frames.extend(recording.frames_of(stack).map(seen));
    let mut by = FrameType::Unknown;
    for frame in frames.iter_mut().rev() {
        if frame.by != FrameType::Inlined {
            by = frame.by;
        }
        frame.by = by;
    }
}

fn add_up(sums: &Sums<'_>, which: impl Fn(&str) -> bool) -> f64 {
    sums.iter().filter(|((_, found), _)| which(found)).map(|(_, ms)| ms).sum()
}

fn most_expensive_first(by: BTreeMap<&str, f64>) -> Vec<(&str, f64)> {
    let mut all: Vec<_> = by.into_iter().collect();
    all.sort_by(|a, b| b.1.total_cmp(&a.1));
    all
}
