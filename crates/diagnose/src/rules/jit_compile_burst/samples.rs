//! What samples and switches show of a burst: code that ran before it was compiled, and compilers
//! that took the CPUs.
//!
//! New code is hot in every new fault, and is compiled then. What of the loss is the compilers' is
//! what threads ran in the interpreter or in C1's code of methods that were compiled later, and
//! what they waited for CPUs that compiler threads had; in both, what the baseline has as well is
//! usual.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{sample, source};
use fathom_recording::{FrameType, ProcessId, Recording, Role, Sample, StackId};
use rustc_hash::FxHashMap;

use super::Burst;
use super::uncompiled::{Uncompiled, saved};
use crate::chain::spent::Spent;
use crate::facts::{Value, compile, scope};
use crate::intervals::Intervals;
use crate::rules::cpu_case::sharing;
use crate::rules::cpu_contention::CpuContention;
use crate::rules::gc_case::{blind, summed};
use crate::rules::jit_case::JitCase;
use crate::{Case, Evidence, Judgement, Rule, Window, thread_ledger};

/// Samples of application threads in the slow windows from which on their shares are reliable: of a
/// hundred, one of a twentieth is off by half of itself at most, two times in three.
const ENOUGH: usize = 100;
/// JVMs whose compilers are listed one by one.
const NAMED: usize = 5;

/// Code that ran before it was compiled, and other code, milliseconds of CPU time of application
/// threads.
#[derive(Clone, Copy, Debug, Default)]
struct Ran {
    all_ms: f64,
    interpreted_ms: f64,
    c1_ms: f64,
}

impl Ran {
    fn uncompiled_ms(&self) -> f64 {
        self.interpreted_ms + self.c1_ms
    }

    /// What of it ran interpreted, and in C1's code, as shares.
    fn shares(&self) -> [Value; 2] {
        let part = |ms: f64| Value::share(if self.all_ms > 0.0 { ms / self.all_ms } else { 0.0 });
        [part(self.interpreted_ms), part(self.c1_ms)]
    }
}

/// Waiting for a CPU, as a share of the time in which application threads had work: slow, baseline.
type Waiting = (f64, Option<f64>);

/// What speaks for a burst as the cause.
pub(super) struct Support<'a> {
    slow: Ran,
    base: Ran,
    /// CPU time of compiler threads by JVM: slow, baseline, milliseconds; the most first.
    compilers: Vec<(ProcessId, f64, f64)>,
    /// Known where the threads' switches are.
    waiting: Option<Waiting>,
    /// Of the loss: code that ran before it was compiled, milliseconds of wall time.
    run_ms: f64,
    /// Of the loss: CPUs that compilers took.
    taken_ms: f64,
    /// The windows that are looked at, and the baseline's.
    windows: (Vec<Window>, Vec<Window>),
    source: &'a str,
}

impl<'a> Support<'a> {
    /// Of some bursts, in the windows of a case. `None`: too few samples were taken, or they do not
    /// distinguish interpreted code.
    pub(super) fn of(jit: &JitCase<'_, 'a>, case: &Case<'a>, bursts: &[Burst<'a>]) -> Option<Self> {
        let recording: &'a Recording = case.recording;
        let cpu_time = recording.strings.find(sample::CPU)?;
        recording.frames.iter().find(|frame| frame.frame_type == FrameType::Interpreted)?;
        let uncompiled = Uncompiled::of_bursts(jit, bursts)?;
        let mut by: FxHashMap<StackId, Option<FrameType>> = FxHashMap::default();
        let (mut slow, mut base) = (Ran::default(), Ran::default());
        let mut threads: BTreeMap<_, f64> = BTreeMap::new();
        let mut compilers: BTreeMap<ProcessId, (f64, f64)> = BTreeMap::new();
        let (mut taken, mut source) = (0, None);
        let mut all_app_ms = 0.0;
        let within = |windows: &[Window], s: &Sample| {
            let first = windows.partition_point(|w| w.to_ns <= s.t_ns);
            windows.get(first).is_some_and(|w| w.from_ns <= s.t_ns)
        };
        for s in recording.samples.iter().filter(|s| s.kind == cpu_time) {
            let (is_slow, is_base) = (within(&case.slow, &s), within(&case.base, &s));
            let Some(thread) = s.thread.filter(|_| is_slow || is_base) else { continue };
            let ms = s.weight.max(0) as f64 / 1e6;
            match recording.threads.get(thread.index()).map(|t| t.role) {
                Some(Role::Jit) => {
                    let sum = compilers.entry(s.process).or_default();
                    *(if is_slow { &mut sum.0 } else { &mut sum.1 }) += ms;
                }
                Some(Role::App) => {
                    all_app_ms += if is_slow { ms } else { 0.0 };
                    if s.process != jit.jvm {
                        continue;
                    }
                    let stack = s.stack;
                    let before =
                        stack.and_then(|stack| *by.entry(stack).or_insert_with(|| uncompiled.ran_as(stack)));
                    let ran = if is_slow { &mut slow } else { &mut base };
                    ran.all_ms += ms;
                    match before {
                        Some(FrameType::Interpreted) => ran.interpreted_ms += ms,
                        Some(_) => ran.c1_ms += ms,
                        None => {}
                    }
                    if is_slow {
                        taken += 1;
                        source = Some(s.source);
                        *threads.entry(thread).or_default() += ms * before.map_or(0.0, saved);
                    }
                }
                _ => {}
            }
        }
        if taken < ENOUGH {
            return None;
        }
        // Slow threads run their usual code before it is compiled for as long in fewer operations:
        // what is usual is usual for an operation.
        let as_much = Some(slow.all_ms / base.all_ms).filter(|_| base.all_ms > 0.0);
        let usual = base.uncompiled_ms() * operations(case).or(as_much).unwrap_or(0.0);
        let beyond_ms = (slow.uncompiled_ms() - usual).max(0.0);
        let cpu = Some(CpuContention::of(case, jit.jvm)).filter(|cpu| cpu.slow.active_ms > 0.0);
        let run_ms = match &cpu {
            Some(cpu) => {
                let range = cpu.base.as_ref().map_or(f64::MAX, |base| base.range());
                let range = range.min(cpu.slow.range());
                let beyond = beyond_ms / slow.uncompiled_ms().max(f64::MIN_POSITIVE);
                let of = |id, _: &_| threads.get(&id).copied().unwrap_or(0.0) * range * beyond;
                cpu.slow.part(of) * cpu.slow.length_ms
            }
            None => beyond_ms / sharing(threads.values()),
        };
        let all = |of: fn(&(f64, f64)) -> f64| compilers.values().map(of).sum::<f64>();
        let compiling_ms = case.excess_ms(all(|c| c.0), all(|c| c.1));
        let mut compilers: Vec<_> =
            compilers.into_iter().map(|(jvm, (slow, base))| (jvm, slow, base)).collect();
        compilers.sort_by(|a, b| b.1.total_cmp(&a.1));
        Some(Self {
            slow,
            base,
            compilers,
            waiting: cpu
                .as_ref()
                .map(|cpu| (cpu.slow.waiting_share(), cpu.base.as_deref().map(Spent::waiting_share))),
            run_ms,
            taken_ms: cpu
                .as_ref()
                .map_or(0.0, |cpu| cpu.lost_to_ms(compiling_ms, all_app_ms) * cpu.part_of_more(compiling_ms)),
            windows: (case.slow.clone(), case.base.clone()),
            source: source.and_then(|id| recording.sources.get(id.index())).map_or("", |s| s.name.as_str()),
        })
    }

    /// The slow windows, or the parts of them, that were looked at.
    pub(super) fn slow_windows(&self) -> &[Window] {
        &self.windows.0
    }

    /// What it explains, milliseconds of wall time.
    pub(super) fn cost_ms(&self) -> f64 {
        self.run_ms + self.taken_ms
    }

    /// Whether the CPUs that were taken cost more than the code that was not compiled yet.
    pub(super) fn is_mostly_processors(&self) -> bool {
        self.taken_ms > self.run_ms
    }

    /// A burst that costs too little to be a cause; where nobody saw who waited for CPUs,
    /// that is not known.
    pub(super) fn too_little(&self, rule: &dyn Rule, jit: &JitCase<'_, '_>) -> Judgement {
        if self.waiting.is_none() {
            let what = scope::COMPILERS_AND_CPUS.is(Value::name(jit.case.jvm_name(jit.jvm)));
            return blind(rule, what, crate::Sight::Switches.remedy(jit.case.recording));
        }
        let [interpreted, c1] = self.slow.shares();
        let figure = compile::AS_NEW_CODE
            .is(Value::per_second(jit.per_s(&self.windows.0)))
            .with("interpreted", interpreted)
            .with("c1", c1)
            .with("taken", Value::ms(self.taken_ms));
        Judgement::RuledOut { figure: figure.into(), source: self.source.to_owned() }
    }

    pub(super) fn evidence(&self, jit: &JitCase<'_, '_>) -> Vec<Evidence> {
        let case = jit.case;
        let mut all = Vec::new();
        let (slow_windows, base_windows) = &self.windows;
        let has_base = !base_windows.is_empty();
        let cpus =
            |ms: f64, windows: &[Window]| Value::cpus(ms / Case::length_ms(windows).max(f64::MIN_POSITIVE));
        if !self.compilers.is_empty() {
            let total = |of: fn(&(ProcessId, f64, f64)) -> f64| self.compilers.iter().map(of).sum::<f64>();
            let (slow, base) = (total(|c| c.1), total(|c| c.2));
            let usual = |ms: f64| has_base.then(|| cpus(ms, base_windows));
            let one = |(jvm, slow_ms, base_ms): &(ProcessId, f64, f64)| {
                let fact = compile::CPUS_OF.is(cpus(*slow_ms, slow_windows)).over(usual(*base_ms));
                let fact = fact.with("share", Value::share(slow_ms / slow.max(f64::MIN_POSITIVE)));
                fact.with("jvm", Value::name(named(case.recording, *jvm)))
            };
            let several = self.compilers.len() > 1;
            let each = several.then(|| Value::list(self.compilers.iter().take(NAMED).map(one)));
            let fact = compile::CPUS.is(cpus(slow, slow_windows)).over(usual(base)).with("jvms", each);
            all.push(summed(self.source, fact));
        }
        if let Some((slow, base)) = self.waiting {
            let waits = compile::CPU_WAITS.is(Value::share(slow)).over(base.map(Value::share));
            all.push(summed(source::SCHED, waits.with("taken", Value::ms(self.taken_ms))));
        }
        let [interpreted, c1] = self.slow.shares();
        let ran = compile::UNCOMPILED.is(Value::ms(self.run_ms));
        let mut ran = ran.with("interpreted", interpreted).with("c1", c1);
        if has_base {
            let [interpreted, c1] = self.base.shares();
            ran = ran.with("baseline-interpreted", interpreted).with("baseline-c1", c1);
        }
        all.push(summed(self.source, ran));
        all
    }
}

/// What bursts can have cost at most in the windows of a case, milliseconds, where too few samples
/// were taken for [`Support`]: the compilers' work, and what the few show of code that ran before
/// it was compiled. `None` where no samples of the JVM distinguish compiled code, or nothing shows
/// how long compilers worked.
pub(super) fn at_most_ms(jit: &JitCase<'_, '_>, case: &Case<'_>, bursts: &[Burst<'_>]) -> Option<f64> {
    let recording = case.recording;
    let cpu_time = recording.strings.find(sample::CPU)?;
    let is_java = |kind| matches!(kind, FrameType::Interpreted | FrameType::C1 | FrameType::C2);
    recording.frames.iter().find(|frame| is_java(frame.frame_type)).filter(|_| jit.lengths_known)?;
    let uncompiled = Uncompiled::of_bursts(jit, bursts)?;
    let own = |s: &Sample| s.kind == cpu_time && s.process == jit.jvm;
    recording.samples.iter().find(own)?;
    let near = Intervals::of_windows(&case.slow);
    let before = |s: &Sample| s.stack.is_some_and(|stack| uncompiled.ran_as(stack).is_some());
    let ran = recording.samples.iter().filter(|s| own(s) && near.touches(s.t_ns, s.t_ns) && before(s));
    let ran_ms: f64 = ran.map(|s| s.weight.max(0) as f64 / 1e6).sum();
    Some(compilers_ms(jit, case) + ran_ms)
}

/// How long compilers worked in the slow windows of a case, milliseconds. One that gets no CPU is
/// at a task for longer than it works: where its samples were taken, it is no more than these show.
pub(super) fn compilers_ms(jit: &JitCase<'_, '_>, case: &Case<'_>) -> f64 {
    let recording = case.recording;
    let cpu_time = recording.strings.find(sample::CPU);
    let busy_ms = case.compile_ms(jit.jvm, &case.slow);
    let near = Intervals::of_windows(&case.slow);
    let is_compiler = |s: &Sample| {
        let thread = s.thread.and_then(|id| recording.threads.get(id.index()));
        Some(s.kind) == cpu_time && s.process == jit.jvm && thread.is_some_and(|t| t.role == Role::Jit)
    };
    let (mut taken, mut ran_ms) = (false, 0.0);
    for s in recording.samples.iter().filter(is_compiler) {
        taken = true;
        ran_ms += if near.touches(s.t_ns, s.t_ns) { s.weight.max(0) as f64 / 1e6 } else { 0.0 };
    }
    if taken { busy_ms.min(ran_ms) } else { busy_ms }
}

/// How many operations were done in the slow windows for one in the baseline; `None` where nothing
/// counts them.
fn operations(case: &Case<'_>) -> Option<f64> {
    let of = |windows: &[Window]| -> Option<f64> {
        let each = windows.iter().filter_map(|w| thread_ledger::operations(case.recording, *w));
        Some(each.sum::<f64>()).filter(|n| *n >= 1.0)
    };
    Some(of(&case.slow)? / of(&case.base)?)
}

/// A JVM by name and id: several may run the same program.
fn named(recording: &Recording, jvm: ProcessId) -> String {
    let Some(process) = recording.processes.get(jvm.index()) else { return String::new() };
    match process.pid {
        Some(pid) => format!("{} ({pid})", process.name),
        None => process.name.clone(),
    }
}
