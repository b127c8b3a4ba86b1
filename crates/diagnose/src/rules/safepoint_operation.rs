//! `safepoint-operation`: the JVM is held by an operation that somebody asked for and that is no
//! collection: a heap dump, a class histogram, a thread dump.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::gc_case::{cited, median, ranges, summed, windows_of};
use crate::burden;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, ruled_out, titles, waits as facts};
use crate::growth::handshakes;
use crate::intervals::Intervals;
use crate::limits::stands_out;
use crate::stops;
use crate::vm_operations::{self, Operation};
use crate::waits::log_write::log_writes;
use crate::{Case, Evidence, Fact, Finding, Judgement, LONG_STOP_MS, Layer, Rule};

/// Operations from which on short ones are worth a finding for what they take together.
const SEVERAL: usize = 3;
/// Sorts of operations, records and callers that are named.
const NAMED: usize = 3;
/// The JVM's thread that runs what tools ask for (attachListener.cpp).
const ATTACH: &str = "Attach Listener";

/// The rule.
pub struct SafepointOperation;

impl Rule for SafepointOperation {
    fn id(&self) -> &'static str {
        "safepoint-operation"
    }

    fn layer(&self) -> Layer {
        Layer::Safepoint
    }

    fn about(&self) -> &'static str {
        "The JVM is held by an operation that is no collection and that somebody asked for: a heap dump, a class \
         histogram, dumps of all threads' stacks, classes that an agent redefines. All threads are stopped until it is done.\n\n\
         **Evidence.** The operation as the safepoint log, the flight recorder or the probes name it, with its time but for \
         the time to safepoint, for leaving it and for writes of the JVM's log. A stop that the log does not name is a heap dump or a class histogram \
         where the collection in it has that cause. Found when these operations take a twentieth of the loss, or one \
         of them 200 ms and ten times the usual stop or half of the longest one. Who asked is the thread that the flight recorder names, or that woke the VM thread.\n\n\
         **Confounders.** The collection that a dump or a histogram begins with is attributed here, with its operation \
         (`gc-explicit` where the log has the collections alone). An operation that does next to nothing (a search for deadlocks, the \
         revocation of a bias) and takes long was held up by something else, a CPU above all: it is named, and \
         *consistent with*. Time to safepoint is `safepoint-slow-to-reach`.\n\n\
         **Ruled out** by the time of all such operations and the longest one."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Safepoints]
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        if !case.has(kind::SAFEPOINT, jvm) {
            return Judgement::NotApplicable;
        }
        let held = Held::of(case, jvm);
        if held.is_found(case, jvm) {
            return Judgement::Found(Box::new(found(self, case, jvm, &held)));
        }
        // Who asks for a handshake waits for an operation that no record of safepoints has.
        if handshakes::made_more(case, jvm).is_some() {
            return Judgement::NotApplicable;
        }
        Judgement::RuledOut { figure: held.figure(case).into(), source: held.source(case, jvm) }
    }
}

/// Whether operations that hold the JVM are a finding of their own, with some collections in them.
pub(super) fn explains(case: &Case<'_>, jvm: ProcessId, collections: &[Span<'_>]) -> bool {
    let held = Held::of(case, jvm);
    let all = Intervals::of(held.slow.iter().map(|one| (one.span.t0_ns(), one.span.t1_ns())));
    let is_in = |span: &Span<'_>| 2 * all.length_within_ns(span.t0_ns(), span.t1_ns()) > span.duration_ns();
    collections.iter().all(is_in) && held.is_found(case, jvm)
}

/// An operation that held the JVM.
struct One<'a> {
    span: Span<'a>,
    of: &'static Operation,
    /// HotSpot's name.
    name: &'a str,
    /// When it was at work: without the way to the safepoint and from it, and without writes of the
    /// JVM's log.
    acts: Intervals,
    /// What of it the collection took that it begins with, milliseconds.
    collecting_ms: f64,
}

impl One<'_> {
    fn ms(&self) -> f64 {
        self.acts.length_ms()
    }
}

/// The operations of a JVM.
struct Held<'a> {
    /// Those that touch a slow window.
    slow: Vec<One<'a>>,
    /// Their time in the slow windows above as much baseline time, milliseconds.
    cost_ms: f64,
}

impl<'a> Held<'a> {
    fn of(case: &Case<'a>, jvm: ProcessId) -> Self {
        let writes = log_writes(case.recording, jvm).into_iter().map(|write| (write.t0_ns(), write.t1_ns()));
        let writes = Intervals::of(writes);
        let begun = vm_operations::begun_with(case.recording, jvm);
        let mut named = vm_operations::Named::default();
        let one = |span: Span<'a>| {
            let (t0, t1) = (span.t0_ns(), span.t1_ns());
            // Most of a pause must lie within, because both are stamped in milliseconds.
            let is_its = |p: &Span<'_>| 2 * p.overlap_ns(t0, t1) > p.duration_ns();
            let inside = || begun.iter().filter(|(pause, _)| is_its(pause));
            let (of, name) = match stops::name_of(&span) {
                "" | stops::UNNAMED => inside().next().map(|(_, of)| (*of, of.name()))?,
                name => (named.of(&span)?, name),
            };
            let ns = |key| span.figure(key).filter(|ns| *ns > 0.0).map_or(0, |ns| ns as i64);
            let at_work = (
                t0.saturating_add(ns(figure::REACH_NS)).saturating_add(ns(figure::CLEANUP_NS)).min(t1),
                t1.saturating_sub(ns(figure::LEAVE_NS)).max(t0),
            );
            let acts = Intervals::of([at_work]).without(&writes);
            let collecting = Intervals::of(inside().map(|(p, _)| (p.t0_ns(), p.t1_ns()))).and(&acts);
            Some(One { span, of, name, acts, collecting_ms: collecting.length_ms() })
        };
        let own = case.recording.spans_of(kind::SAFEPOINT).filter(|s| s.process() == jvm);
        let all: Vec<One<'a>> = own.filter_map(one).collect();
        let within = |windows| {
            let windows = Intervals::of_windows(windows);
            all.iter().map(|one| one.acts.and(&windows).length_ms()).sum::<f64>()
        };
        let cost_ms = case.excess_ms(within(&case.slow), within(&case.base));
        let slow = Intervals::of_windows(&case.slow);
        let slow = all.into_iter().filter(|one| slow.touches(one.span.t0_ns(), one.span.t1_ns())).collect();
        Self { slow, cost_ms }
    }

    fn longest(&self) -> Option<&One<'a>> {
        self.slow.iter().max_by(|a, b| a.ms().total_cmp(&b.ms()))
    }

    fn is_found(&self, case: &Case<'_>, jvm: ProcessId) -> bool {
        let longest_ms = self.longest().map_or(0.0, One::ms);
        // Of a fragment of a log, few short ones show no share.
        let shown = || {
            let looked_at = Intervals::of_windows(&case.slow);
            !case.whole_run || burden::shows_share(looked_at.length_ns(), self.slow.len())
        };
        let several = self.slow.len() >= SEVERAL && shown();
        let adds_up = case.matters(self.cost_ms) && (several || longest_ms >= LONG_STOP_MS);
        let stops = stops::of_jvm(case.recording, jvm);
        let ms = |(from, to): &(i64, i64)| to.saturating_sub(*from) as f64 / 1e6;
        let usual = median(stops.ranges().iter().map(ms));
        // What stops the JVM for longest is noticed, in a run with few stops, too.
        let is_longest = || stops.ranges().iter().all(|stop| ms(stop) <= 2.0 * longest_ms);
        let long = longest_ms >= LONG_STOP_MS && (is_longest() || stands_out(longest_ms, usual));
        adds_up || (self.cost_ms > 0.0 && long)
    }

    fn figure(&self, case: &Case<'_>) -> Fact {
        let Some(longest) = self.longest() else {
            return ruled_out::NO_OPERATION.fact().with("in", case.judged_time());
        };
        let fact = ruled_out::OPERATIONS_LITTLE.is(Value::ms(self.cost_ms));
        let fact = fact.with("operations", Value::count(self.slow.len()));
        fact.with("longest", Value::ms(longest.ms())).with("operation", Value::name(longest.name))
    }

    fn source(&self, case: &Case<'_>, jvm: ProcessId) -> String {
        let mut own = case.recording.spans_of(kind::SAFEPOINT).filter(|s| s.process() == jvm);
        let first = own.next().map(|s| s.source().index());
        let log = first.and_then(|i| case.recording.sources.get(i));
        log.map_or(String::new(), |log| log.name.clone())
    }
}

/// Operations of one name.
#[derive(Default)]
struct Sort<'s, 'a> {
    all: Vec<&'s One<'a>>,
    ms: f64,
    longest_ms: f64,
    collecting_ms: f64,
}

/// By name, those that took longest together first.
fn sorts<'s, 'a>(held: &'s Held<'a>) -> Vec<(&'a str, Sort<'s, 'a>)> {
    let mut sorts: BTreeMap<&'a str, Sort<'s, 'a>> = BTreeMap::new();
    for one in &held.slow {
        let sort = sorts.entry(one.name).or_default();
        sort.all.push(one);
        sort.ms += one.ms();
        sort.longest_ms = sort.longest_ms.max(one.ms());
        sort.collecting_ms += one.collecting_ms;
    }
    let mut sorts: Vec<_> = sorts.into_iter().collect();
    sorts.sort_by(|a, b| b.1.ms.total_cmp(&a.1.ms));
    sorts
}

/// Who asked for operations, as their records name them, else as the switches show who woke the VM
/// thread for the longest one; who did most often first. `of`: operations of one name.
fn asked_by(case: &Case<'_>, jvm: ProcessId, of: &[&One<'_>]) -> Vec<Fact> {
    let intervals = Intervals::of(of.iter().map(|one| (one.span.t0_ns(), one.span.t1_ns())));
    let mut callers: BTreeMap<String, usize> = BTreeMap::new();
    let name = of.first().map_or("", |one| one.name);
    let operations = case.recording.spans_of(kind::VM_OPERATION);
    let operations = operations.filter(|op| op.process() == jvm && op.name() == name);
    for op in operations.filter(|op| intervals.touches(op.t0_ns(), op.t1_ns())) {
        if let Some(caller) = op.label(label::CALLER).filter(|caller| !caller.is_empty()) {
            *callers.entry(caller.to_owned()).or_default() += 1;
        }
    }
    if callers.is_empty() {
        let longest = of.iter().max_by(|a, b| a.ms().total_cmp(&b.ms()));
        let stop = longest.and_then(|one| case.longest_stop(jvm, &windows_of([one.span].into_iter())));
        callers.extend(stop.and_then(|stop| stop.asked_by).map(|who| (who, 1)));
    }
    let mut callers: Vec<_> = callers.into_iter().collect();
    callers.sort_by_key(|(_, times)| std::cmp::Reverse(*times));
    let asked = |(who, _): (String, usize)| match who.as_str() {
        ATTACH => facts::ASKED_BY_TOOL.is(Value::name(who)),
        _ => facts::ASKED_BY.is(Value::name(who)),
    };
    callers.into_iter().take(NAMED).map(asked).collect()
}

fn found(rule: &dyn Rule, case: &Case<'_>, jvm: ProcessId, held: &Held<'_>) -> Finding {
    let sorts = sorts(held);
    let source = held.source(case, jvm);
    let in_all: f64 = sorts.iter().map(|(_, sort)| sort.ms).sum();
    let (name, main) = &sorts[0];
    let of = main.all[0].of;
    let asked = asked_by(case, jvm, &main.all);
    let sure = match of.works_long {
        true => Ground::Itself.sure(case, held.cost_ms, &reasons::OPERATION_NAMED),
        false => Ground::Fits.because(case, held.cost_ms, &reasons::OPERATION_SMALL),
    };
    let mut finding = case.finding(rule, jvm, sure, held.cost_ms);
    let several = main.all.len() > 1;
    let noun = if several { of.words.1 } else { of.words.0 };
    let title = titles::SAFEPOINT_OPERATION.is(Value::ms(main.ms)).with("noun", Value::name(noun));
    let title = title.with("operations", Value::count(main.all.len()));
    let title = title.with("operation", of.name().is_empty().then(|| Value::name(*name)));
    let title = title.with("longest", several.then(|| Value::ms(main.longest_ms)));
    let others = in_all - main.ms;
    let title = title.with("others", (others >= 1.0).then(|| Value::ms(others)));
    let who = asked.first().cloned().map(Value::from);
    finding.title = title.with("asked-by", who.clone()).into();
    let by = Some(of.by).filter(|by| who.is_none() && !by.is_empty());
    let culprit = culprits::OPERATION.is(Value::name(*name)).with("asked-by", who);
    finding.culprit = culprit.with("by", by.map(Value::name)).into();
    finding.meaning = meanings::VM_OPERATION.fact().into();
    for (name, sort) in sorts.iter().take(NAMED) {
        let asked = asked_by(case, jvm, &sort.all);
        let fact = facts::VM_OPERATIONS.is(Value::ms(sort.ms)).with("operation", Value::name(*name));
        let fact = fact.with("operations", Value::counted(sort.all.len() as f64));
        let fact = fact.with("longest", Value::ms(sort.longest_ms));
        let collecting = (sort.collecting_ms >= 1.0).then(|| Value::ms(sort.collecting_ms));
        let asked = (!asked.is_empty()).then(|| Value::list(asked));
        let fact = fact.with("collections", collecting).with("asked-by", asked);
        finding.evidence.push(summed(&*source, fact));
    }
    let mut longest: Vec<&One<'_>> = held.slow.iter().collect();
    longest.sort_by(|a, b| b.ms().total_cmp(&a.ms()));
    finding.evidence.extend(longest.iter().take(NAMED).map(|one| evidence_of(one)));
    finding.remedies = of.remedies.iter().map(|remedy| remedy.remedy()).collect();
    if asked.is_empty() {
        finding.verify.push(checks::WHO_ASKS.fact().into());
    }
    let short = checks::NO_LONG_OPERATION.is(Value::ms(LONG_STOP_MS));
    finding.verify.push(short.with("operation", Value::name(*name)).into());
    finding.windows = ranges(held.slow.iter().map(|one| one.span));
    let acts = Intervals::of(held.slow.iter().flat_map(|one| one.acts.ranges().iter().copied()));
    finding.acts = acts.windows();
    finding.stop = case.longest_stop(jvm, &windows_of([longest[0].span].into_iter()));
    finding
}

fn evidence_of(one: &One<'_>) -> Evidence {
    cited(&one.span, facts::VM_OPERATION.is(Value::ms(one.ms())).with("operation", Value::name(one.name)))
}
