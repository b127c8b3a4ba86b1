//! A JVM's compilations as the JIT rules weigh them.

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};
use rustc_hash::FxHashMap;

use crate::facts::{Value, scope, switch_on};
use crate::intervals::Intervals;
use crate::metrics::Distribution;
use crate::{BlindSpot, Case, Evidence, Fact, Judgement, Origin, Rule, Statement, Window};

/// What shows compilations.
/// The first so many nanoseconds of a JVM are its start-up, in which everything is compiled for the
/// first time. Measured: a server of 23 MB of LogCompilation was done with most of it after 6 CPU
/// seconds; on a busy machine with two CPUs that is half a minute.
pub(crate) const START_UP_NS: i64 = 30_000_000_000;
/// The usual level kept for this long, nanoseconds: what the application does all the time is
/// compiled by then.
const SETTLED_NS: i64 = 5_000_000_000;

/// A compile task: when it was asked for, started and done, as far as the log records it.
#[derive(Clone, Copy)]
pub(crate) struct Task<'a> {
    /// The record it is known from first.
    pub(crate) span: Span<'a>,
    pub(crate) queued_ns: i64,
    /// Start of its compilation, when known.
    pub(crate) started_ns: Option<i64>,
    pub(crate) done_ns: i64,
    /// 1 to 3 are C1's, 4 is C2's; `None` where it is not in the log.
    pub(crate) tier: Option<u8>,
    pub(crate) osr: bool,
}

impl<'a> Task<'a> {
    pub(crate) fn method(&self) -> &'a str {
        self.span.name()
    }

    /// How long it waited for a compiler thread, milliseconds.
    pub(crate) fn wait_ms(&self) -> Option<f64> {
        Some(self.started_ns?.saturating_sub(self.queued_ns) as f64 / 1e6)
    }

    pub(crate) fn is_top_tier(&self) -> bool {
        self.tier == Some(4)
    }
}

/// "org.shop.Cart.add" of "org.shop.Cart.add(I)V".
pub(crate) fn name_of(method: &str) -> &str {
    method.split(['(', ' ']).next().unwrap_or(method)
}

/// HotSpot's name of the operation that redefines classes (vmOperation.hpp).
pub(crate) const REDEFINITION: &str = "RedefineClasses";

/// The compilations of one JVM of a case, in the order in which they were asked for.
pub(crate) struct JitCase<'c, 'a> {
    pub(crate) case: &'c Case<'a>,
    pub(crate) jvm: ProcessId,
    pub(crate) tasks: Vec<Task<'a>>,
    /// Whether the log records when tasks were queued.
    pub(crate) queue_known: bool,
    /// Whether it records how long compilations took.
    pub(crate) lengths_known: bool,
    /// Whether it records tiers and on-stack replacements; a JVM's probes name the compiler alone.
    pub(crate) tiers_known: bool,
}

impl<'c, 'a> JitCase<'c, 'a> {
    /// The compilations of a JVM; the judgement is inconclusive where none was logged.
    pub(crate) fn of(case: &'c Case<'a>, jvm: ProcessId, rule: &dyn Rule) -> Result<Self, Judgement> {
        let jit = Self::read(case, jvm);
        if jit.tasks.is_empty() {
            return Err(Judgement::Inconclusive(BlindSpot {
                what: scope::COMPILATIONS.is(Value::name(case.jvm_name(jvm))).into(),
                rules: vec![rule.id().to_owned()],
                remedy: switch_on::JIT_LOG.fact().into(),
            }));
        }
        Ok(jit)
    }

    /// The compilations of a JVM; none where none was logged.
    pub(crate) fn read(case: &'c Case<'a>, jvm: ProcessId) -> Self {
        let own = |kind: &'static str| case.recording.spans_of(kind).filter(move |s| s.process() == jvm);
        let compiled: FxHashMap<i64, Span<'a>> = own(kind::JIT_COMPILE).map(|s| (s.key(), s)).collect();
        let mut tasks: Vec<Task<'a>> = own(kind::JIT_QUEUE)
            .map(|queued| {
                let compile = compiled.get(&queued.key());
                let known = queued.figure(figure::WAIT_KNOWN) != Some(0.0);
                let started = compile.map(Span::t0_ns).or(known.then(|| queued.t1_ns()));
                task(queued, started, compile.map_or(queued.t1_ns(), Span::t1_ns))
            })
            .collect();
        let queue_known = !tasks.is_empty();
        if !queue_known {
            tasks = own(kind::JIT_COMPILE).map(|s| task(s, Some(s.t0_ns()), s.t1_ns())).collect();
        }
        if tasks.is_empty() {
            tasks = own(kind::JIT_INSTALL).map(|s| task(s, None, s.t1_ns())).collect();
        }
        let lengths_known = compiled.values().any(|s| s.duration_ns() > 0);
        let tiers_known = tasks.iter().all(|task| task.span.figure(figure::TIER).is_some());
        Self { case, jvm, tasks, queue_known, lengths_known, tiers_known }
    }

    pub(crate) fn asked_in(&self, windows: &[Window]) -> impl Iterator<Item = &Task<'a>> {
        let windows = windows.to_vec();
        self.tasks.iter().filter(move |t| windows.iter().any(|w| (w.from_ns..w.to_ns).contains(&t.queued_ns)))
    }

    /// Redefinitions of classes within some windows. Each throws away the code that depends on
    /// them, the first one that of all methods (VM_RedefineClasses::flush_dependent_code in
    /// jvmtiRedefineClasses.cpp, JDK 8 to 25).
    pub(crate) fn redefinitions(&self, windows: &[Window]) -> Vec<Span<'a>> {
        let is_in = |span: &Span<'_>| windows.iter().any(|w| (w.from_ns..w.to_ns).contains(&span.t0_ns()));
        let of = |kind: &'static str| -> Vec<Span<'a>> {
            let own = self.case.recording.spans_of(kind).filter(|span| span.process() == self.jvm);
            own.filter(|span| span.name() == REDEFINITION && is_in(span)).collect()
        };
        // A log of safepoints has the operation without who asked for it.
        let named = of(kind::VM_OPERATION);
        if named.is_empty() { of(kind::SAFEPOINT) } else { named }
    }

    /// Tasks per second of windows.
    pub(crate) fn per_s(&self, windows: &[Window]) -> f64 {
        let seconds = Case::length_ms(windows) / 1e3;
        if seconds > 0.0 { self.asked_in(windows).count() as f64 / seconds } else { 0.0 }
    }

    /// When the JVM started, as far as its logs show it.
    pub(crate) fn start_ns(&self) -> Option<i64> {
        let runs = self.case.recording.spans_of(kind::RUN).filter(|s| s.process() == self.jvm);
        runs.map(|s| s.t0_ns()).min()
    }

    /// When its start-up had ended for certain: [`START_UP_NS`] after the start, or once a series
    /// of progress has been at its usual level for [`SETTLED_NS`].
    pub(crate) fn warm_ns(&self) -> Option<i64> {
        let start = self.start_ns()?;
        let mut left_ns = SETTLED_NS;
        let mut settled = i64::MAX;
        let series = self.case.loss.base_rate.is_some();
        for base in self.case.base.iter().filter(|w| series && w.to_ns > start) {
            let from = base.from_ns.max(start);
            let length = base.to_ns.saturating_sub(from);
            if length >= left_ns {
                settled = from.saturating_add(left_ns);
                break;
            }
            left_ns -= length;
        }
        Some(start.saturating_add(START_UP_NS).min(settled))
    }

    /// Share of windows in which threads of a compiler ("c1", "c2") were at work, of as many
    /// threads as were seen.
    pub(crate) fn busy_share(&self, compiler: &str, windows: &[Window]) -> f64 {
        let mut threads: FxHashMap<_, Vec<(i64, i64)>> = FxHashMap::default();
        let spans = self.case.recording.spans_of(kind::JIT_COMPILE).filter(|s| s.process() == self.jvm);
        for span in spans.filter(|s| compiler_of(s) == compiler) {
            threads.entry(span.thread()).or_default().push((span.t0_ns(), span.t1_ns()));
        }
        let whole = Case::length_ms(windows) * threads.len().max(1) as f64;
        let windows = Intervals::of_windows(windows);
        let busy: f64 = threads.into_values().map(|t| Intervals::of(t).and(&windows).length_ms()).sum();
        if whole > 0.0 { busy / whole } else { 0.0 }
    }

    /// The log of the compilations, with their number.
    pub(crate) fn source(&self) -> Origin {
        let first = self.tasks.first().map(|t| t.span.source().index());
        let log = first.and_then(|i| self.case.recording.sources.get(i));
        let records = Some((self.tasks.len(), "compile task", "compile tasks"));
        log.map_or_else(Origin::default, |log| Origin { name: log.name.clone(), line: None, records })
    }

    /// Not there, for this value.
    pub(crate) fn ruled_out(&self, figure: impl Into<Statement>) -> Judgement {
        Judgement::RuledOut { figure: figure.into(), source: self.source().to_string() }
    }

    /// A value taken over the log.
    pub(crate) fn evidence(&self, fact: impl Into<Fact>) -> Evidence {
        Evidence::summed(self.source(), fact)
    }
}

fn task<'a>(span: Span<'a>, started_ns: Option<i64>, done_ns: i64) -> Task<'a> {
    Task {
        span,
        queued_ns: span.t0_ns(),
        started_ns,
        done_ns: done_ns.max(span.t0_ns()),
        tier: span.figure(figure::TIER).filter(|t| (1.0..=4.0).contains(t)).map(|t| t as u8),
        osr: span.figure(figure::OSR_BCI).is_some(),
    }
}

/// The compiler of a task: "c1", "c2".
pub(crate) fn compiler_of<'a>(span: &Span<'a>) -> &'a str {
    span.label(label::COMPILER).unwrap_or(match span.figure(figure::TIER) {
        Some(4.0) => "c2",
        _ => "c1",
    })
}

/// Waits of tasks, milliseconds; `None` when no wait is known.
pub(crate) fn waits<'t, 'a: 't>(tasks: impl Iterator<Item = &'t Task<'a>>) -> Option<Distribution> {
    let waits = Distribution::of(tasks.filter_map(Task::wait_ms));
    (waits.count > 0).then_some(waits)
}

/// The longest the queue got: tasks asked for and not started.
pub(crate) fn deepest<'t, 'a: 't>(tasks: impl Iterator<Item = &'t Task<'a>>) -> usize {
    let mut steps: Vec<(i64, i64)> = Vec::new();
    for task in tasks {
        if let Some(started) = task.started_ns.filter(|s| *s > task.queued_ns) {
            steps.extend([(task.queued_ns, 1), (started, -1)]);
        }
    }
    steps.sort_unstable();
    let (mut depth, mut deepest) = (0_i64, 0_i64);
    for (_, step) in steps {
        depth += step;
        deepest = deepest.max(depth);
    }
    usize::try_from(deepest).unwrap_or(0)
}
