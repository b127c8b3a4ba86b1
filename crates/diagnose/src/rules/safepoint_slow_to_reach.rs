//! `safepoint-slow-to-reach`: threads take long to stop when the JVM asks them to, or long to be
//! let go.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, source};
use fathom_recording::{ProcessId, Span};

use super::gc_case::no_swap;
use super::gc_cpu::waited;
use super::gc_first_touch::kernel_heavy;
use crate::chain::{Link, Part};
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, reasons, remedies, scope, switch_on, titles, waits as facts,
};
use crate::intervals::Intervals;
use crate::limits::stands_out;
use crate::quantity::plural;
use crate::stops::name_of;
use crate::waits::Category;
use crate::waits::log_write::log_writes;
use crate::{BlindSpot, Case, Evidence, Fact, Finding, Judgement, Layer, Rule, Statement, Window, stats};

/// Slow to stop, milliseconds: compiled code polls within microseconds, a descheduled thread is
/// back within a time slice or two of the scheduler (4 to 20 ms).
const REACH_MS: f64 = 20.0;
/// Slow to be resumed, milliseconds. Waking the threads takes microseconds each (JDK-8350313).
const LEAVE_MS: f64 = 10.0;
/// Operations that do nothing of note themselves: when they are slow to reach too, it is not their
/// doing.
const TRIVIAL: [&str; 4] = ["Cleanup", "G1PauseCleanup", "ICBufferFull", "Halt"];
/// Share of all safepoints that are slow to reach, from which it is the machine and not a loop in
/// one thread.
const THROUGHOUT: f64 = 0.3;
/// Waits for a CPU end after a few time slices, milliseconds: with two busy loops for each
/// CPU as well as the JVM nearly all threads stopped within 30 ms, the latest within 124 ms.
/// Where slow ones are usually slower than this, code runs on that does not poll.
const SLICES_MS: f64 = 150.0;
/// Waits that a thread's own code rarely makes: a loop or a copy of seconds. Milliseconds.
const VERY_LATE_MS: f64 = 1_000.0;
/// So many late safepoints are no chance.
const AGAIN: usize = 3;
/// What keeps a thread from going on to its poll, whatever its code: the cause is that, and has
/// rules of its own.
const HELD_BACK: [Category; 7] = [
    Category::RunQueue,
    Category::Throttled,
    Category::PageFault,
    Category::MapLock,
    Category::MemoryStall,
    Category::Disk,
    Category::KernelFault,
];
/// A thread that runs for as long as counts as late after it was asked to stop, milliseconds, is
/// late by its code, however long it waited for a CPU in between: compiled code polls within
/// microseconds of running.
const RAN_MS: f64 = REACH_MS;
/// Share of the lateness from which on what held threads back is its cause.
const MOSTLY: f64 = 0.8;
/// Waits that are followed to the thread that came last: the longest.
const FOLLOWED: usize = 20;
/// Records cited.
const CITED: usize = 3;
/// Intervals marked on the timeline.
const MARKED: usize = 200;

/// See the module.
pub(crate) struct SafepointSlowToReach;

impl Rule for SafepointSlowToReach {
    fn id(&self) -> &'static str {
        "safepoint-slow-to-reach"
    }

    fn layer(&self) -> Layer {
        Layer::Safepoint
    }

    fn about(&self) -> &'static str {
        "To collect, deoptimise or dump threads the JVM stops all Java threads; the ones that have stopped wait for the \
         last. A thread is late when it runs a counted loop without a poll, copies a large array, takes a page fault on \
         a slow disk, or does not get a CPU.\n\n\
         **Evidence.** *Reaching safepoint* of 20 ms or more, *Leaving safepoint* of 10 ms or more. The cost is the \
         time that these took in the slow windows above as much baseline time. Found when it is a twentieth of the loss, \
         or when a single wait is 200 ms or more and ten times the usual.\n\n\
         **Confounders.** When trivial operations are slow to reach as well, or a third of all by less than 150 ms, no \
         thread's code is to blame: the threads do not get a CPU, or the process is stopped from outside (`gc-starved-of-cpu`). A \
         few among many fast ones point at one thread in a loop, a copy or a fault. A log write that blocks can land \
         here too, when it blocks in the line before (`gc-log-write-blocked`). Where a live recording shows that the \
         thread which came last waited for a CPU, was throttled, or was in a page fault for most of the time, and ran for less than 20 ms \
         meanwhile, that is the cause and this is ruled out (`cpu-taken-by-others`, `cpu-throttled-by-cgroup`, `page-fault-storm`). Where threads were late \
         by a second and collections of the same run waited at least as long, or spent it in the kernel, the machine is the better \
         explanation. The log does not \
         name the late thread, so the verdict on why is never more than *likely*; that the time was lost here is in the log itself. On JDK 13 \
         to 17.0.7 the value contains the cleanup (JDK-8297154).\n\n\
         **Needs** `-Xlog:safepoint` (JDK 8: `-XX:+PrintGCApplicationStoppedTime` or `PrintSafepointStatistics`)."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Safepoints]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let waits = Waits::of(case, jvm);
        if waits.all.is_empty() {
            let came_to_one = case.has(kind::SAFEPOINT, jvm);
            if !came_to_one && crate::split_time::safepoints_seen(case.recording, jvm) {
                return Judgement::RuledOut {
                    figure: facts::NO_SAFEPOINT.fact().with("jvm", Value::name(case.jvm_name(jvm))).into(),
                    source: "jvm-events".into(),
                };
            }
            return Judgement::Inconclusive(BlindSpot {
                what: scope::TIME_TO_STOP.is(Value::name(case.jvm_name(jvm))).into(),
                rules: vec![self.id().to_owned()],
                remedy: switch_on::SAFEPOINTS.fact().into(),
            });
        }
        let slow: Vec<&Wait<'_>> = waits.slow.iter().filter(|w| w.is_long()).collect();
        let cost_ms = waits.excess_ms(case);
        let longest = slow.iter().copied().max_by(|a, b| a.ms().total_cmp(&b.ms()));
        let outstanding = longest.is_some_and(|w| stands_out(w.ms(), waits.usual_ms));
        match longest {
            Some(longest) if case.matters(cost_ms) || (outstanding && cost_ms > 0.0) => {
                let late = Late::of(case, jvm, &slow);
                // What held the late ones back from running is not their code's.
                let cost_ms = cost_ms * (1.0 - late.as_ref().map_or(0.0, Late::held_share));
                match late.as_ref().and_then(Late::held_back) {
                    Some(held_back) => {
                        Judgement::RuledOut { figure: held_back.into(), source: waits.source(case) }
                    }
                    None => Judgement::Found(Box::new(found(
                        self,
                        case,
                        jvm,
                        (&waits, &slow, longest),
                        late.as_ref(),
                        cost_ms,
                    ))),
                }
            }
            _ => Judgement::RuledOut { figure: waits.figure(case).into(), source: waits.source(case) },
        }
    }
}

/// What the late ones did, as their switches show it: the last thread until it had stopped, the VM
/// thread until it let go.
struct Late {
    /// What was looked at, milliseconds.
    ms: f64,
    /// Of it, held back from running: by what, milliseconds, the most first.
    held: Vec<(Category, f64)>,
    /// Whether the last thread of any ran on for [`RAN_MS`].
    ran_on: bool,
    /// The last thread of the longest one, of those that ran on where any did, and what it did.
    last: Option<(String, Statement)>,
}

impl Late {
    /// Of the longest waits. `None` where no switches were recorded.
    fn of(case: &Case<'_>, jvm: ProcessId, slow: &[&Wait<'_>]) -> Option<Self> {
        if !case.has(kind::SCHED_WATCHED, jvm) {
            return None;
        }
        let mut order = slow.to_vec();
        order.sort_by(|a, b| b.ms().total_cmp(&a.ms()));
        let mut held: BTreeMap<Category, f64> = BTreeMap::new();
        let (mut ms, mut last, mut ran_on) = (0.0, None, None);
        for wait in order.iter().take(FOLLOWED) {
            let window = Window { from_ns: wait.span.t0_ns(), to_ns: wait.span.t1_ns() };
            let stops = case.chains().stops(jvm, window, 1);
            let Some(stop) = stops.first() else { continue };
            let parts = stop.parts.iter().filter(|part| matches!(part.part, Part::Reach | Part::Leave));
            for part in parts {
                ms += part.ms;
                let running = |link: &&Link| link.category.is_some_and(Category::is_running);
                let ran_ms: f64 = part.links.iter().filter(running).map(|link| link.ms).sum();
                if part.part == Part::Reach && ran_ms >= RAN_MS {
                    let did = part.links.iter().find(running).zip(stop.last_in.clone());
                    ran_on = ran_on.or(did.map(|(link, who)| (who, link.what.clone())));
                    continue;
                }
                for link in &part.links {
                    if let Some(category) = link.category.filter(|category| HELD_BACK.contains(category)) {
                        *held.entry(category).or_default() += link.ms;
                    }
                }
                let most = part.links.first().filter(|_| part.part == Part::Reach && last.is_none());
                last = last.or(most.zip(stop.last_in.clone()).map(|(link, who)| (who, link.what.clone())));
            }
        }
        let mut held: Vec<_> = held.into_iter().collect();
        held.sort_by(|a, b| b.1.total_cmp(&a.1));
        (ms > 0.0).then(|| Self { ms, held, ran_on: ran_on.is_some(), last: ran_on.or(last) })
    }

    /// Share of the lateness for which they were held back from running.
    fn held_share(&self) -> f64 {
        (self.held.iter().map(|(_, ms)| ms).sum::<f64>() / self.ms).clamp(0.0, 1.0)
    }

    /// What kept the late ones from stopping, where that is not their code.
    fn held_back(&self) -> Option<Fact> {
        let (most, _) = self.held.first().filter(|_| self.held_share() >= MOSTLY)?;
        let fact = facts::HELD_BACK.is(Value::share(self.held_share())).with("by", Value::Category(*most));
        Some(fact.with("looked-at", Value::ms(self.ms)))
    }
}

/// The wait at one safepoint.
struct Wait<'a> {
    span: Span<'a>,
    reach_ms: f64,
    leave_ms: f64,
}

impl Wait<'_> {
    fn is_long(&self) -> bool {
        self.reach_ms >= REACH_MS || self.leave_ms >= LEAVE_MS
    }

    /// What was waited at its beginning and at its end, as far as either is long.
    fn ms(&self) -> f64 {
        let long = |ms: f64, limit: f64| if ms >= limit { ms } else { 0.0 };
        long(self.reach_ms, REACH_MS) + long(self.leave_ms, LEAVE_MS)
    }

    fn ranges(&self) -> impl Iterator<Item = (i64, i64)> {
        let (t0, t1) = (self.span.t0_ns(), self.span.t1_ns());
        let ns = |ms: f64| (ms * 1e6) as i64;
        let reach = (self.reach_ms >= REACH_MS).then(|| (t0, t0.saturating_add(ns(self.reach_ms)).min(t1)));
        let leave = (self.leave_ms >= LEAVE_MS).then(|| (t1.saturating_sub(ns(self.leave_ms)).max(t0), t1));
        reach.into_iter().chain(leave)
    }

    fn is_trivial(&self) -> bool {
        TRIVIAL.contains(&self.span.name())
    }
}

/// All safepoints of a JVM that the log has the time to safepoint of.
struct Waits<'a> {
    all: Vec<Wait<'a>>,
    /// Those that touch a slow window.
    slow: Vec<Wait<'a>>,
    /// The median time to stop of the run.
    usual_ms: f64,
}

impl<'a> Waits<'a> {
    fn of(case: &Case<'a>, jvm: ProcessId) -> Self {
        // What the VM thread spends in writing the log is no thread's lateness.
        let writes = log_writes(case.recording, jvm).into_iter().map(|write| (write.t0_ns(), write.t1_ns()));
        let writes = Intervals::of(writes);
        let wait = |span: Span<'a>| {
            let ns = |key| span.figure(key).map(|ns| ns.max(0.0));
            let (reach, leave) = (ns(figure::REACH_NS)?, ns(figure::LEAVE_NS).unwrap_or(0.0));
            let written = |from: i64, to: i64| writes.length_within_ns(from, to) as f64;
            let reach = reach - written(span.t0_ns(), span.t0_ns().saturating_add(reach as i64));
            let leave = leave - written(span.t1_ns().saturating_sub(leave as i64), span.t1_ns());
            Some(Wait { span, reach_ms: reach.max(0.0) / 1e6, leave_ms: leave.max(0.0) / 1e6 })
        };
        let own = case.recording.spans_of(kind::SAFEPOINT).filter(|s| s.process() == jvm);
        let all: Vec<Wait<'a>> = own.filter_map(wait).collect();
        let usual = stats::median(&stats::sorted(all.iter().map(|w| w.reach_ms)));
        let slow = case.spans_in(kind::SAFEPOINT, jvm, &case.slow).filter_map(wait).collect();
        Self { usual_ms: usual.unwrap_or(0.0), all, slow }
    }

    /// Time waited long in the slow windows, above as much baseline time.
    fn excess_ms(&self, case: &Case<'_>) -> f64 {
        let long = Intervals::of(self.all.iter().filter(|w| w.is_long()).flat_map(Wait::ranges));
        let within = |windows| long.and(&Intervals::of_windows(windows)).length_ms();
        case.excess_ms(within(&case.slow), within(&case.base))
    }

    fn figure(&self, case: &Case<'_>) -> Fact {
        let reach = crate::metrics::Distribution::of(self.slow.iter().map(|w| w.reach_ms));
        let long = self.slow.iter().filter(|w| w.is_long()).count();
        let fact = facts::REACHED.is(Value::ms(reach.max)).with("p99", Value::ms(reach.p99));
        let fact = fact.with("safepoints", Value::count(self.slow.len())).with("slow", Value::count(long));
        fact.with("lost", Value::ms(self.excess_ms(case)))
    }

    fn source(&self, case: &Case<'_>) -> String {
        let first = self.all.first().map(|w| w.span.source().index());
        let log = first.and_then(|i| case.recording.sources.get(i));
        let safepoints = plural(self.all.len(), "safepoint", "safepoints");
        log.map_or(String::new(), |log| format!("{} ({safepoints})", log.name))
    }
}

fn found(
    rule: &dyn Rule,
    case: &Case<'_>,
    jvm: ProcessId,
    (waits, slow, longest): (&Waits<'_>, &[&Wait<'_>], &Wait<'_>),
    late: Option<&Late>,
    cost_ms: f64,
) -> Finding {
    let trivial = slow.iter().filter(|w| w.is_trivial()).count();
    let part = slow.len() as f64 / waits.slow.len().max(1) as f64;
    let usually = stats::median(&stats::sorted(slow.iter().map(|w| w.ms()))).unwrap_or(0.0);
    let trivially = trivial >= 2 && trivial * 2 >= slow.len();
    let machine = trivially || (part >= THROUGHOUT && usually < SLICES_MS);
    let leaving = longest.leave_ms > longest.reach_ms;
    let very_late = longest.reach_ms >= VERY_LATE_MS && late.is_none();
    // Without the switches of the threads, one that gets no CPU for a while looks like one whose
    // code runs on: that happens now and then, and not again and again.
    let is_seen = late.is_some_and(|late| late.last.is_some());
    let is_chance = part >= THROUGHOUT && slow.len() < AGAIN && !very_late && !is_seen;
    let (culprit, ground, why) = match (leaving, machine) {
        (false, false) if very_late && collections_were_held_up(case, jvm) => {
            (&culprits::HELD_UP, Ground::Fits, &reasons::HELD_UP)
        }
        (true, _) => (&culprits::VM_THREAD, Ground::Incomplete, &reasons::VM_THREAD_WITHOUT_CPU),
        (_, true) => (&culprits::NO_CPU, Ground::Fits, &reasons::TRIVIAL_ARE_SLOW),
        _ if is_chance => (&culprits::LATE_THREAD, Ground::Fits, &reasons::FEW_WERE_LATE),
        _ if part >= THROUGHOUT => (&culprits::NO_POLL, Ground::Incomplete, &reasons::TIME_LOST_HERE),
        _ => (&culprits::LATE_THREAD, Ground::Incomplete, &reasons::ONE_LATE_THREAD),
    };
    let mut finding = case.finding(rule, jvm, ground.because(case, cost_ms, why), cost_ms);
    // A stop that its window was made around is all of that window, and may be next to nothing of
    // the run.
    let run_ms = case.recording.covers_ns().map_or(0.0, |(from, to)| to.saturating_sub(from) as f64 / 1e6);
    let of_run = (run_ms > 0.0).then(|| Value::share(cost_ms / run_ms));
    let title = match leaving {
        true => titles::SAFEPOINT_SLOW_TO_LEAVE.is(Value::ms(longest.leave_ms)),
        false => titles::SAFEPOINT_SLOW_TO_REACH.is(Value::ms(longest.reach_ms)),
    };
    finding.title = title.with("of-run", of_run).into();
    finding.culprit = culprit.fact().into();
    let last = late.and_then(|late| late.last.as_ref()).filter(|_| !leaving);
    if let Some((who, did)) = last {
        finding.culprit = culprits::LAST_IN.is(Value::name(who)).with("did", Value::from(did)).into();
        let ran_on = late.is_some_and(|late| late.ran_on);
        let reason = if ran_on { &reasons::RAN_ON } else { &reasons::NOT_HELD_BACK };
        finding.why_confidence = vec![reason.fact().into()];
    }
    finding.meaning = meanings::LAST_THREAD.fact().into();
    finding.evidence = evidence(case, waits, slow, longest, part, trivial);
    if let Some((who, did)) = last {
        let fact = facts::LAST_IN.is(Value::name(who)).with("did", Value::from(did));
        finding.evidence.push(Evidence::summed(source::SCHED, fact));
    }
    let ranges = Intervals::of(slow.iter().flat_map(|w| w.ranges()));
    finding.windows = ranges.windows();
    finding.windows.sort_by_key(|w| std::cmp::Reverse(w.length_ns()));
    finding.windows.truncate(MARKED);
    finding.windows.sort_by_key(|w| w.from_ns);
    finding.stop = case.longest_stop(jvm, &finding.windows);
    // Where the last thread is known it was not the machine.
    finding.remedies = remedies((machine && late.is_none()) || leaving);
    finding.remedies.extend(no_swap(case, jvm).filter(|_| very_late));
    let soon = checks::SOON_AT_SAFEPOINT.is(Value::ms(REACH_MS)).with("leaving", Value::ms(LEAVE_MS));
    finding.verify = vec![soon.into()];
    finding
}

/// Whether collections of a run took seconds in which they waited, or in which the kernel worked:
/// what held them up may have held up others.
fn collections_were_held_up(case: &Case<'_>, jvm: ProcessId) -> bool {
    let held_up = |p: &Pause<'_>| p.ms() >= VERY_LATE_MS && (kernel_heavy(p) || waited(p));
    case.known.stops(jvm).pauses.iter().any(held_up)
}

fn evidence(
    case: &Case<'_>,
    waits: &Waits<'_>,
    slow: &[&Wait<'_>],
    longest: &Wait<'_>,
    part: f64,
    trivial: usize,
) -> Vec<Evidence> {
    let summed = |fact: Fact| Evidence::summed(waits.source(case), fact);
    let fact = facts::SLOW_SAFEPOINTS.is(Value::count(slow.len())).with("share", Value::share(part));
    let fact = fact.with("safepoints", Value::counted(waits.slow.len() as f64));
    let fact = fact.with("usual", Value::ms(waits.usual_ms)).with("trivial", Value::count(trivial));
    let mut evidence = vec![summed(fact)];
    let mut operations: BTreeMap<&str, usize> = BTreeMap::new();
    for wait in slow {
        *operations.entry(name_of(&wait.span)).or_default() += 1;
    }
    let mut operations: Vec<_> = operations.into_iter().collect();
    operations.sort_by_key(|(_, n)| std::cmp::Reverse(*n));
    let named = operations
        .iter()
        .take(CITED)
        .map(|(name, n)| facts::SLOW_OPERATION.is(Value::count(*n)).with("operation", Value::name(*name)));
    evidence.push(summed(facts::SLOW_FOR.fact().with("operations", Value::list(named))));
    let mut worst = slow.to_vec();
    worst.sort_by(|a, b| b.ms().total_cmp(&a.ms()));
    evidence.extend(worst.iter().take(CITED).map(|w| {
        let fact = facts::REACH.is(Value::ms(w.reach_ms)).with("operation", Value::name(name_of(&w.span)));
        let fact = fact.with("leave", Value::ms(w.leave_ms));
        Evidence::cited(&w.span, fact.with("total", Value::ms(w.span.duration_ns() as f64 / 1e6)))
    }));
    if longest.span.figure(figure::REACH_INCLUDES_CLEANUP) == Some(1.0) {
        evidence.push(summed(facts::REACH_HAS_CLEANUP.fact()));
    }
    evidence
}

fn remedies(machine: bool) -> Vec<crate::Remedy> {
    if machine {
        return vec![remedies::GIVE_CPUS.remedy(), remedies::FEWER_RUNNABLE_THREADS.remedy()];
    }
    vec![
        remedies::NAME_LATE_THREAD.remedy(),
        remedies::COUNTED_LOOP.remedy(),
        remedies::COPY_IN_PIECES.remedy(),
    ]
}
