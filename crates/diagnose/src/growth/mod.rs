//! A finding without a rule: what of an operation's time grew, where no rule explains the loss.
//!
//! ```text
//! slow windows ─┐                     ┌─ per operation, or per second where none are counted
//!               ├─ parts of the time ─┤
//! baseline windows ─┘   (parts.rs)        └─ what grew, the most first ─┬─ a resource (network, disk, CPU …): the cause
//!                                                                  └─ another thread: who waits behind it
//! ```
//!
//! Threads that wait for each other multiply a delay: of 24 workers that share four connections, 20
//! wait for those that wait for the peer. So a wait for a thread is attributed to what the thread
//! that ended it did meanwhile ([`crate::attribution`]). Where the recording does not say who ended
//! the waits and they grew most, the resource that some thread waited for during nearly all of the
//! slow time is the cause, and the others wait behind it. Where no resource is, the wait itself is
//! reported.
//!
//! Limits. The baseline must be there and seen by the same sources. Of several JVMs only that in
//! which most grew is looked at.

mod answers;
mod attributed;
mod below_method;
pub(crate) mod busy_pools;
pub(crate) mod busy_stage;
mod callers;
mod calls;
pub(crate) mod carriers;
mod classes;
mod connection;
mod credit;
pub(crate) mod demand;
mod each;
mod extras;
mod failing;
mod fewer_at_a_time;
mod finding;
pub(crate) mod handshakes;
pub(crate) mod held;
mod io_limit;
mod joined_waits;
mod lead;
pub(crate) mod meanwhile;
mod measured;
mod mechanism;
pub(crate) mod parts;
mod pools_own;
pub(crate) mod reclaim;
mod second_changes;
mod sending;
mod spread_cpu;
#[cfg(test)]
pub(crate) mod tests;
pub(crate) mod threads_begun;
mod threads_ended;
mod time_limit;
pub(crate) mod words;
pub(crate) mod work;

use fathom_recording::ProcessId;

use crate::attribution::Key;
use crate::attribution::Path;
use crate::confidence::Ground;
use crate::facts::{Value, growth as facts, reasons};
use crate::sight::Sights;
use crate::waits::Category;
use crate::{Case, Fact, Finding, Measure, Rule, RuledOut};
use calls::Calls;
use each::{Each, Per};
use lead::lead;
use measured::grown;
use parts::{BASE, Cause, FRAMES, Part};

/// The id of such a finding.
pub const RULE: &str = "largest-growth";
/// The id where that is sleep which was there before: a pace more than a fault.
pub const PACE_RULE: &str = "slower-pace";

/// The id where operations make more calls of the kernel, each of which takes as long as ever.
pub const CALLS_RULE: &str = "more-calls";

/// What an operation must have grown by to be reported, as a share of what it takes in the
/// baseline: below, it is the noise that throughput itself has.
const GREW: f64 = 0.2;
/// What of the growth a part must make up to be called the cause.
const LEADS: f64 = 0.25;
/// Threads at a time that a part must have grown by where operations are not counted.
const LEAST_THREADS: f64 = 0.1;
/// What of the growth it must make up, with who waits behind it, to be likely.
const MOST: f64 = 0.5;
/// Share of the slow time during which some thread waits for a resource that others queue behind.
const THROUGHOUT: f64 = 0.5;
/// How many times of its usual time a part must take to be likely, in both halves of the slow time.
const TIMES: f64 = 1.5;
/// What sleeping must usually take of what it takes now to be the pace of the work, and not a delay
/// that came.
const PACE: f64 = 0.25;
/// How many times of its usual CPU time an operation must need for its waiting for a CPU to follow
/// from that.
const MORE_CPU: f64 = 1.3;
/// How many times of its usual share of the wall time code must run to run more.
const MORE: f64 = 1.1;
/// What the half of the slow time with less of a part must have of the other half's.
const FAIR: f64 = 0.2;
/// Parts that are shown as evidence.
const SHOWN: usize = 5;

/// A part of an operation's time, or of a second's.
struct Grown<'a> {
    key: Key<'a>,
    cause: Cause<'a>,
    part: Part<'a>,
    /// Milliseconds an operation in the slow windows, or an average number of threads.
    slow: f64,
    /// The same in the baseline.
    base: f64,
    /// What it is credited with in addition to its own growth, in the same unit; negative where
    /// another part is credited with it.
    credit: f64,
    /// Whether it takes [`TIMES`] as long in each half of the slow time.
    holds: bool,
    /// Whether it takes more of the wall time than in the baseline, whatever the operations do.
    runs_more: bool,
    /// What it was put together of, with the share of each; empty where it is one.
    several: Vec<(String, f64)>,
}

impl Grown<'_> {
    fn by(&self) -> f64 {
        (self.slow - self.base + self.credit).max(0.0)
    }
}

impl<'a> Grown<'a> {
    /// The way on which most of it came in the slow time; `None` where most of it are times of
    /// threads that waited for no other one.
    fn way(&self) -> Option<Path<'a>> {
        way_of(&self.part)
    }
}

/// The way on which most of a part came in the slow time; `None` where most of it are times of
/// threads that waited for no other one.
fn way_of<'a>(part: &Part<'a>) -> Option<Path<'a>> {
    let slow = |ms: &[f64; FRAMES]| ms[0] + ms[1];
    let ways = part.ways.iter();
    let (way, ms) = ways.max_by(|a, b| slow(a.1).total_cmp(&slow(b.1)).then_with(|| b.0.cmp(a.0)))?;
    (way.len() > 1 && slow(ms) >= MOST * slow(&part.ms)).then(|| way.clone())
}

/// A part of what no finding explains, as a share of what all parts grew by.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Left {
    /// On what the time is spent.
    pub(crate) category: Category,
    /// What it is: "waiting for a CPU in shop.Orders.book".
    pub(crate) what: Fact,
    /// Its share, 0 to 1.
    pub(crate) share: f64,
}

/// Findings without a rule, and what grew that no finding explains.
pub(crate) struct Explained {
    pub(crate) findings: Vec<Finding>,
    pub(crate) left: Vec<Left>,
    /// Share of the growth that is what the holder of a lock did meanwhile, which a finding about
    /// the lock reports.
    pub(crate) of_holders: f64,
}

/// What an operation's time grew by in the JVM in which it grew most.
pub(crate) struct Growth<'a> {
    jvm: ProcessId,
    grown: Vec<Grown<'a>>,
    per: Per,
    /// Threads that did anything with operations in the slow windows.
    threads: usize,
    /// Length of the frames, milliseconds.
    lengths_ms: [f64; FRAMES],
    /// Share of the application threads' slow time that nobody saw.
    unseen: f64,
    /// Calls of the kernel that operations make more of.
    calls: Vec<Calls<'a>>,
    /// Of what grew, what findings about locks are credited with.
    of_holders: f64,
    /// Of what grew, what findings about code that was not compiled are credited with.
    of_code: f64,
    /// The rules whose findings it is compared with.
    rules: &'static [&'static dyn Rule],
}

impl<'a> Growth<'a> {
    /// The JVM whose operations took longer.
    pub(crate) fn jvm(&self) -> ProcessId {
        self.jvm
    }

    /// `None`: there is no baseline, or the context switches were not seen.
    pub(crate) fn of(
        case: &Case<'a>,
        sights: &Sights<'_>,
        jvms: &[ProcessId],
        rules: &'static [&'static dyn Rule],
    ) -> Option<Self> {
        if case.base.is_empty() {
            return None;
        }
        let of_each = jvms.iter().filter_map(|jvm| grown(case, sights, *jvm, rules));
        of_each.max_by(|a, b| a.all().total_cmp(&b.all()))
    }

    /// Whether operations took longer by more than noise does, and by enough to be why there were
    /// fewer.
    pub(crate) fn grew(&self, case: &Case<'_>) -> bool {
        self.took_longer(case, least_growth(case)) && self.most_ms(case) >= LEADS * lost_ms(case)
    }

    /// What of the loss the growth can explain at most, milliseconds: while operations are lost,
    /// somebody waits for one that takes longer, so that what all of them took longer is no less
    /// than the time that was lost. Where the loss is that of a latency, it is what of that the
    /// growth of an operation explains.
    fn most_ms(&self, case: &Case<'_>) -> f64 {
        match latencies_ms(case) {
            Some((slow, base)) if self.per.each == Each::Operation => {
                lost_ms(case) * (self.all() / (slow - base).max(f64::MIN_POSITIVE)).min(1.0)
            }
            _ => lost_ms(case).min(self.all() * (self.per.by[0] + self.per.by[1])),
        }
    }

    /// The same as a share of the loss.
    pub(crate) fn most_share(&self, case: &Case<'_>) -> f64 {
        self.most_ms(case) / lost_ms(case).max(f64::MIN_POSITIVE)
    }

    /// Whether operations took longer by more than a share. Sleep that is as long as ever, and
    /// longer than an operation takes, lies between them.
    fn took_longer(&self, case: &Case<'_>, least: f64) -> bool {
        let latency_ms = latencies_ms(case).map_or(f64::INFINITY, |(_, base)| base);
        let is_between = |g: &&Grown<'_>| {
            g.key.category == Category::Sleep && g.base > latency_ms && g.slow <= MORE * g.base
        };
        // Threads that wait between operations make none of them longer: its latency is what one
        // usually takes.
        let usual: f64 = self.worked().filter(|g| !is_between(g)).map(|g| g.base).sum();
        let usual = if self.per.each == Each::Operation { usual.min(latency_ms) } else { usual };
        // Work that only moved from one method or peer to another made no operation longer. Where
        // operations are not counted, the parts of threads' time always add up to the same; where
        // their latency is known to have grown, what threads do less of may lie between them.
        let grew = match self.per.each.is_counted() && latency_ms.is_infinite() {
            true => self.worked().map(|g| g.slow - g.base).sum(),
            false => self.all(),
        };
        grew > 0.0 && grew >= least * usual
    }

    /// A thread without work costs no operation anything, however long it has none.
    fn worked(&self) -> impl Iterator<Item = &Grown<'a>> {
        self.grown.iter().filter(|g| worked(g))
    }

    /// What all of an operation grew by.
    fn all(&self) -> f64 {
        self.worked().map(Grown::by).sum::<f64>() + self.of_holders + self.of_code
    }

    /// What waits for resources grew by: what lies behind all waits for other threads, too.
    fn resources(&self) -> f64 {
        let own: f64 = self.worked().filter(|g| !on_threads(g.key.category)).map(Grown::by).sum();
        own + self.of_holders + self.of_code
    }

    /// Cuts findings about resources to what the resource's part of an operation grew by: that
    /// application threads waited long for a CPU, or were long in page faults, explains a loss only
    /// as far as they did so more than usual for each operation.
    ///
    /// Returns what is left with too little to matter, with the metric that says so.
    pub(crate) fn limit(&self, case: &Case<'_>, findings: &mut Vec<Finding>) -> Vec<RuledOut> {
        let resources = self.resources();
        if resources <= 0.0 {
            return Vec::new();
        }
        let mut too_small: Vec<RuledOut> = Vec::new();
        for finding in findings.iter_mut().filter(|finding| finding.process_id == self.jvm) {
            let own = |g: &&Grown<'_>| words::is_resource_of(g.key.category, finding.rule);
            if !Category::ALL.iter().any(|category| words::is_resource_of(*category, finding.rule)) {
                continue;
            }
            let share = self.worked().filter(own).map(Grown::by).sum::<f64>() / resources;
            let most_ms = share.min(1.0) * case.yardstick_ms();
            if finding.cost_ms <= most_ms {
                continue;
            }
            let limit = reasons::PART_OF_GROWTH.is(Value::share(share));
            finding.why_confidence.push(limit.with("whose", Value::name(self.whose())).into());
            finding.cost_ms = most_ms;
            finding.share = case.share(most_ms);
            finding.confidence = Ground::Incomplete.at_most(finding.confidence);
            if !case.matters(most_ms) {
                too_small.push(RuledOut {
                    rule: finding.rule.into(),
                    process_id: finding.process_id,
                    recording: finding.recording.clone(),
                    figure: facts::OF_GROWTH
                        .is(Value::share(share))
                        .with("whose", Value::name(self.whose()))
                        .with("title", Value::from(&finding.title))
                        .into(),
                    source: "ledger of threads".into(),
                });
            }
        }
        let kept = |f: &Finding| f.process_id != self.jvm || too_small.iter().all(|row| row.rule != f.rule);
        findings.retain(kept);
        too_small
    }

    /// Whether so much growth is worth a word: where operations are not counted, it is threads at a
    /// time.
    fn is_enough(&self, by: f64) -> bool {
        self.per.each.is_counted() || by >= LEAST_THREADS
    }

    fn whose(&self) -> &'static str {
        match self.per.each {
            Each::Operation => "an operation's time",
            Each::Request => "a request's time",
            Each::Exchange => "an exchange's time",
            Each::Turn => "a turn's time",
            Each::Wall => "the threads' time",
        }
    }

    /// Whether a finding of a rule reports a part.
    fn is_reported(&self, grown: &Grown<'_>, findings: &[Finding]) -> bool {
        let of_rule = |rule: &str| {
            words::is_of(grown.key.category, rule)
                || (grown.cause.by_lock && words::is_of(Category::Lock, rule))
        };
        let key = &grown.key;
        let reports = |finding: &Finding| {
            let rule = self.rules.iter().find(|rule| rule.id() == finding.rule);
            rule.is_some_and(|rule| rule.reports(finding, key.category, key.place))
        };
        findings
            .iter()
            .any(|finding| finding.process_id == self.jvm && (of_rule(finding.rule) || reports(finding)))
    }

    /// `most` findings of what grew most at most, where findings of rules explain `explained` of
    /// the loss. `by_change`: the slow windows are those in which threads spent their time
    /// differently, and whether that was a loss is not known.
    pub(crate) fn findings(
        &self,
        case: &Case<'a>,
        findings: &[Finding],
        explained: f64,
        by_change: bool,
        most: usize,
    ) -> Explained {
        // A series on which nothing was lost leaves nothing to explain.
        if case.loss.lost_ms <= 0.0 && case.loss.measure.is_some() {
            return Explained { findings: Vec::new(), left: Vec::new(), of_holders: 0.0 };
        }
        let known = |g: &&Grown<'_>| !self.is_reported(g, findings);
        // What the recorder took is said, and is no cause of anything.
        let (recorder, mut left): (Vec<_>, Vec<_>) =
            self.grown.iter().filter(known).partition(|g| g.key.category == Category::Recorder);
        let (lost_ms, all_ms) = (self.most_ms(case), lost_ms(case));
        let mut rest_ms = all_ms * (1.0 - explained.clamp(0.0, 1.0));
        let mut found = Vec::new();
        let made_by = |calls: &Calls<'_>| -> (Vec<&Grown<'_>>, f64) {
            let made: Vec<_> = left.iter().copied().filter(|g| calls.make(case.recording, g)).collect();
            let by = made.iter().map(|g| g.by()).sum();
            (made, by)
        };
        let more = self.calls.iter().filter(|calls| calls.more_a_second);
        let calls = more.map(|calls| (calls, made_by(calls)));
        if let Some((calls, (made, by))) = calls.max_by(|a, b| a.1.1.total_cmp(&b.1.1)).filter(|_| most > 0) {
            let share = by / self.all().max(f64::MIN_POSITIVE);
            let worked = left.iter().filter(|g| g.key.category != Category::Idle);
            if share >= LEADS && by >= worked.map(|g| g.by()).fold(0.0, f64::max) {
                let cost_ms = (lost_ms * share).min(rest_ms);
                rest_ms -= cost_ms;
                found.push(self.more_calls(case, calls, &made, share, cost_ms, by_change));
                left.retain(|g| made.iter().all(|m| m.cause != g.cause));
            }
        }
        if let Some(spread) = self.spread(case, &left).filter(|_| found.len() < most) {
            let share = spread.by() / self.all().max(f64::MIN_POSITIVE);
            let worked = left.iter().filter(|g| g.key.category != Category::Idle);
            let is_most = spread.by() >= worked.map(|g| g.by()).fold(0.0, f64::max);
            if share >= LEADS && is_most && self.is_enough(spread.by()) {
                let cost_ms = (lost_ms * share).min(rest_ms);
                rest_ms -= cost_ms;
                found.push(self.spread_finding(case, &spread, share, cost_ms, by_change));
                left.retain(|g| spread.parts.iter().all(|m| m.cause != g.cause));
            }
        }
        if let Some(stage) = busy_stage::find(case, self.jvm).filter(|_| found.len() < most) {
            let behind = self.behind(&stage, &left);
            let by: f64 = behind.iter().map(|g| g.by()).sum();
            let share = by / self.all().max(f64::MIN_POSITIVE);
            let others = left.iter().filter(|g| worked(g) && behind.iter().all(|b| b.cause != g.cause));
            if share >= LEADS && by >= others.map(|g| g.by()).fold(0.0, f64::max) {
                let cost_ms = (lost_ms * share).min(rest_ms);
                rest_ms -= cost_ms;
                found.push(self.stage_finding(case, &stage, &behind, cost_ms));
                left.retain(|g| behind.iter().all(|b| b.cause != g.cause));
            }
        }
        let below = self.below(case, &left).filter(|below| self.is_enough(below.by()));
        if let Some(below) = below.filter(|_| most > 0 && found.is_empty()) {
            let share = below.by() / self.all().max(f64::MIN_POSITIVE);
            let cost_ms = (lost_ms * share).min(rest_ms);
            rest_ms -= cost_ms;
            found.push(self.below_finding(case, &below, share, cost_ms, by_change));
            left.retain(|g| !below.has(g));
        }
        let (meanwhile, mut left) = self.split_meanwhile(case, left);
        let own = 1.0 - meanwhile.iter().map(|g| g.by()).sum::<f64>() / self.all().max(f64::MIN_POSITIVE);
        while found.len() < most {
            let Some(lead) = lead(case, &left) else { break };
            // The same, which others wait for: it is one cause.
            let same = |g: &&Grown<'_>| g.key == lead.part.key && g.key.category != Category::Idle;
            let by: f64 = left.iter().copied().filter(same).map(Grown::by).sum();
            let share = match lead.behind.is_empty() {
                true => by / self.all(),
                false => by / self.resources(),
            };
            if share < LEADS * own || !self.is_enough(lead.part.by()) {
                break;
            }
            let cost_ms = (lost_ms * share).min(rest_ms);
            rest_ms -= cost_ms;
            found.push(self.finding(case, &lead, &left, share, cost_ms, by_change));
            let (key, is_resource) = (lead.part.key, !lead.behind.is_empty());
            left.retain(|g| g.key != key && !(is_resource && on_threads(g.key.category)));
        }
        // What is small compared with the cause and new: a second change, which stays when the
        // first is undone.
        if self.per.each.is_counted() && case.loss.lost_ms > 0.0 && !by_change {
            let second = self.second_changes(case, (findings, &found), &mut left, lost_ms, rest_ms);
            found.extend(second);
        }
        threads_ended::add(case, self.jvm, &mut found);
        let all = self.all().max(f64::MIN_POSITIVE);
        let part = |g: &&Grown<'_>| Left {
            category: g.key.category,
            what: words::does(&g.key),
            share: g.by() / all,
        };
        let worked = left.iter().filter(|g| g.key.category != Category::Idle);
        let worked = worked.chain(&recorder).chain(&meanwhile).filter(|g| g.by() > 0.0);
        Explained { left: worked.map(part).collect(), findings: found, of_holders: self.of_holders / all }
    }
}

/// By which share operations must have taken longer: [`GREW`], or half of what made them fewer
/// where that is less than a dip. Fewer by a sixth took longer by a fifth, where somebody always
/// waits for one.
fn least_growth(case: &Case<'_>) -> f64 {
    let lost = case.loss.lost_ms / Case::length_ms(&case.slow).max(f64::MIN_POSITIVE);
    match lost > 0.0 && lost < GREW {
        true => 0.5 * lost / (1.0 - lost),
        false => GREW,
    }
}

/// What an operation took by a series of latency on which the loss was measured, slow and in the
/// baseline, milliseconds.
fn latencies_ms(case: &Case<'_>) -> Option<(f64, f64)> {
    let is_latency = case.loss.measure == Some(Measure::Latency) && case.loss.unit == "ms";
    case.loss.slow_rate.zip(case.loss.base_rate).filter(|(slow, base)| is_latency && slow > base)
}

/// What was lost. In windows that the user gave, or that were found on what threads do, that is not
/// known, but at most all of their time.
fn lost_ms(case: &Case<'_>) -> f64 {
    if case.loss.lost_ms > 0.0 { case.loss.lost_ms } else { Case::length_ms(&case.slow) }
}

fn worked(grown: &Grown<'_>) -> bool {
    grown.key.category != Category::Idle
}

/// Whether what ends such a wait is a thread.
fn on_threads(category: Category) -> bool {
    matches!(
        category,
        Category::Monitor
            | Category::Lock
            | Category::NativeLock
            | Category::Waiting
            | Category::Blocked
            | Category::Idle
    )
}
