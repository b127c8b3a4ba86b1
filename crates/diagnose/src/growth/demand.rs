//! Fewer operations, none of which took longer on average: less was asked for, or what asks waits
//! elsewhere. That is no slowness of this JVM.
//!
//! ```text
//! threads' time = what operations take + time without work ─▶ fewer operations, each as long as ever: the rest is time without work
//! latency of the operations, where a series has it         ─▶ the same, without the threads
//! ```

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Frame, ProcessId, Recording, ThreadId, Unseen};

use super::carriers::CARRIED;
use super::{Each, Growth, MORE};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, growth as facts, meanings, reasons, remedies, switch_on};
use crate::windows::progress::Progress;
use crate::{BlindSpot, Case, Evidence, Fact, Finding, Layer, Window, stats, thread_ledger};

/// The id of the finding.
pub const DEMAND_RULE: &str = "less-demand";

/// How many times of its usual time an operation may take and be as long as ever: throughput itself
/// is noisier.
const AS_EVER: f64 = 1.15;
/// What all operations together may take longer, as a share of the loss, for most of it to be no
/// slowness of theirs.
const HARDLY: f64 = 0.5;
/// Share of the ticks that must have a latency.
const NEARLY_ALL: f64 = 0.9;
/// What the rate of operations must fall to, of what is usual.
const FELL: f64 = 0.9;
/// Parts of the names of the threads that end the sleep of virtual threads: JDK 21 to 24, and from
/// JDK 25 on (java.lang.VirtualThread, java.util.concurrent.DelayScheduler).
const TIMERS: [&str; 2] = ["VirtualThread-unparker", "delayScheduler"];
/// How often such a thread must have woken up at least for an increase to be more than chance.
const FEW: f64 = 20.0;
/// Share of the threads' time that may go unseen: it could hold what operations waited for.
const UNSEEN: f64 = 0.1;

impl Growth<'_> {
    /// That less was asked for; `None` where operations are not counted, took longer, or too much
    /// of the time was not seen.
    pub(crate) fn less_demand(&self, case: &Case<'_>) -> Option<Finding> {
        let (slow, base) = self.worked().fold((0.0, 0.0), |sum, g| (sum.0 + g.slow, sum.1 + g.base));
        // Operations that hardly take any time may take 1.5 times as long without anybody waiting
        // for that.
        let hardly = self.most_share(case) < HARDLY;
        let as_ever = base > 0.0 && (slow <= AS_EVER * base || hardly);
        let seen = self.unseen <= UNSEEN
            && !hides_virtual_threads(case.recording)
            && unseen_sleeps(case, self.jvm).is_none();
        if self.per.each != Each::Operation || !as_ever || !seen {
            return None;
        }
        let took = facts::TOOK_OF_THREADS.is(Value::ms(slow)).over(Value::ms(base));
        let part = (slow > AS_EVER * base).then(|| Value::share(self.most_share(case)));
        let unseen = facts::UNSEEN.is(Value::share(self.unseen));
        finding(case, self.jvm, (part, took), unseen, "ledger of threads")
    }
}

/// Whether virtual threads were at work whose waits nobody saw: without their carriers the kernel
/// knows nothing of them.
fn hides_virtual_threads(recording: &Recording) -> bool {
    let mut unseen = recording.sources.iter().flat_map(|source| &source.unseen);
    let is_virtual = |frame: &Frame| recording.strings.get(frame.name).starts_with(CARRIED);
    unseen.any(Unseen::hides_virtual_threads) && recording.frames.iter().any(is_virtual)
}

/// That more virtual threads were woken after a time than usual, where their sleep is not recorded:
/// sleeping, they are on no thread of the kernel, and no record of a lock shows them; the thread
/// that ends their sleep does.
pub(crate) fn unseen_sleeps(case: &Case<'_>, jvm: ProcessId) -> Option<BlindSpot> {
    let (recording, chains) = (case.recording, case.chains());
    if sleeps_are_recorded(recording, jvm) {
        return None;
    }
    let is_timer = |name: &str| TIMERS.iter().any(|timer| name.contains(timer));
    let rate = |windows: &[Window]| {
        let all = recording.threads.iter().enumerate().filter(|(_, thread)| thread.process == jvm);
        let timers = all.filter(|(_, thread)| is_timer(recording.strings.get(thread.name)));
        let woken = timers.flat_map(|(id, _)| {
            let id = ThreadId(id as u32);
            windows.iter().map(move |w| chains.off_between(id, w.from_ns, w.to_ns).count())
        });
        woken.sum::<usize>() as f64 / Case::length_ms(windows).max(f64::MIN_POSITIVE)
    };
    let (slow, base) = (rate(&case.slow), rate(&case.base));
    let more = slow > MORE * base && slow * Case::length_ms(&case.slow) >= FEW;
    more.then(|| BlindSpot {
        what: facts::UNSEEN_SLEEPS
            .is(Value::per_second(slow * 1e3))
            .over(Value::per_second(base * 1e3))
            .with("jvm", Value::name(case.jvm_name(jvm)))
            .into(),
        rules: vec![DEMAND_RULE.to_owned()],
        remedy: switch_on::SLEEPS.fact().into(),
    })
}

/// Whether waits of virtual threads without a lock are recorded: sleep, and sockets.
fn sleeps_are_recorded(recording: &Recording, jvm: ProcessId) -> bool {
    let is_virtual = |thread: ThreadId| recording.threads[thread.index()].tid.is_none();
    let waits = recording.spans_of(kind::LOCK_PARK).filter(|span| span.process() == jvm);
    waits
        .filter(|span| span.label(label::ADDRESS).is_none() && span.stack().is_some())
        .any(|span| span.thread().is_some_and(is_virtual))
}

/// The same by the operations' latency, where a series has it; `None` where it rose, or where there
/// is none.
pub(crate) fn by_latency(case: &Case<'_>, process: ProcessId, latency: &Progress) -> Option<Finding> {
    // The typical tick: a single operation of a quiet second may take any time.
    let typical = |windows: &[Window]| {
        let took = latency.within(windows).flatten().filter(|speed| *speed > 0.0).map(|speed| 1.0 / speed);
        stats::median(&stats::sorted(took))
    };
    let (slow, base) = (typical(&case.slow)?, typical(&case.base)?);
    // A few that take long show in the mean; those that are not answered at all in no value.
    let mean = (latency.mean_shown(&case.slow)?, latency.mean_shown(&case.base)?);
    let with_latency = |windows: &[Window]| {
        let ticks: Vec<bool> = latency.within(windows).map(|tick| tick.is_some()).collect();
        ticks.iter().filter(|tick| **tick).count() as f64 / ticks.len().max(1) as f64
    };
    if slow > AS_EVER * base || mean.0 > AS_EVER * mean.1 || with_latency(&case.slow) < NEARLY_ALL {
        return None;
    }
    let took = facts::TOOK.is(Value::plain(slow)).over(Value::plain(base));
    let took = took.with("unit", Value::name(&latency.unit));
    finding(case, process, (None, took), facts::UNSEEN.fact(), &latency.measured_on)
}

/// Whether fewer operations were begun at all: where as many were, and more of them failed, no less
/// was asked for.
fn fell(case: &Case<'_>) -> bool {
    let rate = |windows: &[Window]| {
        let counted = windows.iter().map(|w| thread_ledger::operations(case.recording, *w).unwrap_or(0.0));
        counted.sum::<f64>() / Case::length_ms(windows).max(f64::MIN_POSITIVE)
    };
    rate(&case.slow) <= FELL * rate(&case.base)
}

/// `part`: of the loss, what operations took longer for, where they did; `took`: what each took.
fn finding(
    case: &Case<'_>,
    process: ProcessId,
    (part, took): (Option<Value>, Fact),
    unseen: Fact,
    source: &str,
) -> Option<Finding> {
    if !fell(case) {
        return None;
    }
    let (slow, base) = case.loss.slow_rate.zip(case.loss.base_rate).filter(|_| case.loss.lost_ms > 0.0)?;
    let lost_ms = case.loss.lost_ms;
    let why = &reasons::SENDER_UNSEEN;
    let sure = Ground::Fits.because(case, lost_ms, why);
    let mut finding = case.finding_by(DEMAND_RULE, Layer::Application, process, sure, lost_ms);
    let took = Value::from(took);
    finding.title = facts::LESS_DEMAND.fact().with("part", part).with("took", took.clone()).into();
    finding.culprit = culprits::CLIENTS.fact().into();
    finding.meaning = meanings::LESS_DEMAND.fact().into();
    let rates = facts::OPERATIONS.is(Value::plain(slow)).over(Value::plain(base));
    let rates = rates.with("unit", Value::name(&case.loss.unit)).with("took", took);
    finding.evidence = [rates, unseen].map(|fact| Evidence::summed(source, fact)).into();
    finding.remedies = vec![remedies::LOOK_AT_CLIENTS.remedy()];
    finding.verify = vec![checks::REQUESTS_FELL.fact().into()];
    finding.windows.clone_from(&case.slow);
    Some(finding)
}
