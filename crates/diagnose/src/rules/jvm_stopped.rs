//! `jvm-stopped`: the JVM is stopped for a good part of the time, or for long, and this says where
//! that time went.

#[cfg(test)]
mod tests;
mod waited;
mod which;
mod young;

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::gc_case::{blind, cited, most, no_swap, ranges, summed};
use crate::burden::{self, Burden};
use crate::collections::{CPU_MIN_REAL_S, Pause};
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, scope, switch_on, titles,
};
use crate::intervals::Intervals;
use crate::limits::LONG_MS;
use crate::stops::{UNNAMED, name_of};
use crate::{Case, Evidence, Fact, Finding, Judgement, Layer, MATTERS_SHARE, Remedy, Rule};

use waited::{on_one_cpu, slow_pace};
use which::{Seen, in_windows, over_run};

/// What a stop for a collection takes beyond the collection's own pause.
const AROUND: &str = "safepoints around collections, beyond their pauses";
/// Sorts of stops, and phases, that are named.
const NAMED: usize = 3;
/// CPU time as a share of a pause below which the collector waited for most of it, however few
/// workers it had.
const WAITED: f64 = 0.5;
/// Kernel time as a share of the pauses from which on it matters to them.
const KERNEL: f64 = 0.1;
/// What of the pauses' time those whose CPU time is known must make up to say so of all.
const MOSTLY: f64 = 0.5;
/// The cause of collections that come by the clock (JEP 346).
const PERIODIC: &str = "G1 Periodic Collection";
/// What of it full collections must make up for the size of the heap to be a fix.
const FULL: f64 = 0.25;

/// The rule.
pub struct JvmStopped;

impl Rule for JvmStopped {
    fn id(&self) -> &'static str {
        "jvm-stopped"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "Collections and other safepoints stop the JVM for a good part of the time, or for a second at once. The \
         other rules name the causes that they know; this one reports the stops in any case, with where their time went: \
         sorts of collections, causes, phases, and CPU time. A full collection that went through less than 20 MB of heap \
         a second is reported to have waited rather than worked, where the log has no CPU times, and a remark or an initial mark \
         of CMS that ran on one CPU is reported as such.\n\n\
         **Evidence.** Over a run of 10 s or more (of 5 s where 20 stops or more were logged, of 1 s where 50 were), or over a part of it, stops take 5% of the time or more; or a stop \
         lasts a second or more; or stops stand out of a run of which they take 2% or more in all. Where slow windows are given or found on a series, stops must take 5% of what was lost \
         there, above what they take in the baseline; where they take less than 5% of the windows themselves and none lasts a second, \
         they are *consistent with* it at most.\n\n\
         **Confounders.** Findings that explain the same time are attributed first; what they leave is attributed here, and \
         where that is too little to matter the sum is in the evidence of the first of them.\n\n\
         **Ruled out** by the share of the time stopped and the longest stop. `fathom gc` grades by the same limits."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn yields(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let known = case.known.stops(jvm);
        let burden = &known.burden;
        let slow = Intervals::of_windows(&case.slow);
        if burden.stops.is_empty() || slow.is_empty() {
            return Judgement::NotApplicable;
        }
        let measured = !case.whole_run && !case.lost_by.is_empty();
        let found = if measured { in_windows(case, burden) } else { over_run(case, burden) };
        match found {
            Some(seen) => Judgement::Found(Box::new(finding(self, case, jvm, &seen))),
            // What takes that much is not ruled out because it was seen for a short time only.
            None if is_fragment(case, burden) => blind(
                self,
                scope::STOPS_OF_FRAGMENT
                    .fact()
                    .with("jvm", Value::name(case.jvm_name(jvm)))
                    .with("stopped", Value::from(stopped_for(&burden.stops.and(&slow), &slow))),
                switch_on::LONGER_LOG.fact(),
            ),
            // Stops that were picked are attributed by their causes, and as a share of the whole
            // run.
            None if !measured && burden.stops.and(&slow).length_ms() >= MATTERS_SHARE * slow.length_ms() => {
                Judgement::NotApplicable
            }
            None if super::safepoint_operation::explains(case, jvm, &[]) => Judgement::NotApplicable,
            None => Judgement::RuledOut {
                figure: stopped_for(&burden.stops.and(&slow), &slow).into(),
                source: source(case, jvm),
            },
        }
    }
}

/// Whether a JVM was logged for too short a time to know what share of its run stops take, and
/// they took much of that.
fn is_fragment(case: &Case<'_>, burden: &Burden) -> bool {
    let logged = &burden.logged;
    let is_much = burden.stops.and(logged).length_ms() >= MATTERS_SHARE * logged.length_ms();
    case.lost_by.is_empty()
        && is_much
        && !burden::shows_share(logged.length_ns(), burden.stops.ranges().len())
}

fn stopped_for(stops: &Intervals, slow: &Intervals) -> Fact {
    let longest = stops.ranges().iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
    let share = Value::share(stops.length_ms() / slow.length_ms().max(f64::MIN_POSITIVE));
    let stopped = ruled_out::STOPPED.is(share).with("of", Value::ms(slow.length_ms()));
    stopped.with("longest", Value::ms(longest as f64 / 1e6))
}

fn source(case: &Case<'_>, jvm: ProcessId) -> String {
    let spans = [kind::GC_PAUSE, kind::SAFEPOINT].into_iter().flat_map(|kind| case.recording.spans_of(kind));
    let first = spans.into_iter().find(|span| span.process() == jvm);
    let log = first.and_then(|span| case.recording.sources.get(span.source().index()));
    log.map_or(String::new(), |log| log.name.clone())
}

/// Stops of one sort.
#[derive(Default)]
struct Sort {
    count: usize,
    ms: f64,
    longest_ms: f64,
}

/// What stops are called, and what caused them.
type Of<'a> = (&'a str, Option<&'a str>);

/// Stops by name and cause, those that took longest together first. Safepoints are listed where no
/// collection fills them.
fn sorts<'a>(spans: impl Iterator<Item = Span<'a>>) -> Vec<(Of<'a>, Sort)> {
    let mut sorts: BTreeMap<Of<'a>, Sort> = BTreeMap::new();
    for span in spans {
        let cause = span.label(label::CAUSE).filter(|cause| !span.name().contains(cause));
        let name = cause.map_or_else(|| name_of(&span), |_| span.name());
        let ms = span.duration_ns() as f64 / 1e6;
        let sort = sorts.entry((name, cause)).or_default();
        *sort = Sort { count: sort.count + 1, ms: sort.ms + ms, longest_ms: sort.longest_ms.max(ms) };
    }
    let mut sorts: Vec<_> = sorts.into_iter().collect();
    sorts.sort_by(|a, b| b.1.ms.total_cmp(&a.1.ms));
    sorts
}

/// The intervals around collections, as one sort.
fn sort_of(ranges: &Intervals) -> Sort {
    let longest_ns = ranges.ranges().iter().map(|(from, to)| to.saturating_sub(*from)).max();
    Sort {
        count: ranges.ranges().len(),
        ms: ranges.length_ms(),
        longest_ms: longest_ns.unwrap_or(0) as f64 / 1e6,
    }
}

/// Safepoints that are not those of collections. A safepoint is a collection's where the middle of
/// a pause lies in it: merely to touch one is not enough, as another safepoint may follow a
/// collection so closely that the times of the log overlap by a few milliseconds.
fn without_collections<'a>(
    safepoints: impl Iterator<Item = Span<'a>>,
    pauses: &[Pause<'_>],
) -> Vec<Span<'a>> {
    let middle = |p: &Pause<'_>| p.span.t0_ns() + p.span.duration_ns() / 2;
    let mut middles: Vec<i64> = pauses.iter().map(middle).collect();
    middles.sort_unstable();
    let holds_one = |s: &Span<'_>| {
        let next = middles.partition_point(|middle| *middle < s.t0_ns());
        middles.get(next).is_some_and(|middle| *middle <= s.t1_ns())
    };
    safepoints.filter(|s| !holds_one(s)).collect()
}

fn finding(rule: &dyn Rule, case: &Case<'_>, jvm: ProcessId, seen: &Seen) -> Finding {
    let touches = |span: &Span<'_>| seen.stops.touches(span.t0_ns(), span.t1_ns());
    let known = case.known.stops(jvm);
    let pauses: Vec<Pause<'_>> = known.pauses.iter().filter(|p| touches(&p.span)).copied().collect();
    let collected = Intervals::of(pauses.iter().map(|p| (p.span.t0_ns(), p.span.t1_ns())));
    let safepoints = case.recording.spans_of(kind::SAFEPOINT).filter(|s| s.process() == jvm && touches(s));
    let other = without_collections(safepoints, &pauses);
    let mut by_sort = sorts(pauses.iter().map(|p| p.span).chain(other.iter().copied()));
    let collections_ms = collected.and(&seen.stops).length_ms();
    // A safepoint is longer than the collection in it: by the way there and back, and by what it
    // does besides.
    let others = Intervals::of(other.iter().map(|s| (s.t0_ns(), s.t1_ns())));
    let around = seen.stops.without(&collected).without(&others);
    let around_ms = around.length_ms();
    if around_ms >= MATTERS_SHARE * seen.stops.length_ms() && collections_ms > 0.0 {
        by_sort.push(((AROUND, None), sort_of(&around)));
        by_sort.sort_by(|a, b| b.1.ms.total_cmp(&a.1.ms));
    }

    // In slow windows, stops that are no burden by themselves may be there by chance.
    let slow_ms = Case::length_ms(&case.slow);
    let longest = seen.stops.ranges().iter().map(|(from, to)| to.saturating_sub(*from)).max();
    let is_burden =
        seen.stops.length_ms() >= MATTERS_SHARE * slow_ms || longest.unwrap_or(0) as f64 / 1e6 >= LONG_MS;
    let ground = if is_burden { Ground::Incomplete } else { Ground::Fits };
    let sure = ground.because(case, seen.cost_ms, &reasons::STOPS_NAMED);
    let mut finding = case.finding(rule, jvm, sure, seen.cost_ms);
    if collections_ms * 2.0 < seen.stops.length_ms() {
        finding.layer = Layer::Safepoint;
    }
    let ((main, cause), main_ms) = by_sort.first().map_or_else(Default::default, |(of, sort)| (*of, sort.ms));
    let main_share = main_ms / seen.stops.length_ms().max(f64::MIN_POSITIVE);
    let slow_pace = slow_pace(&pauses);
    let pace = slow_pace.as_ref().filter(|pace| pace.ms * 2.0 > seen.stops.length_ms());
    let title = titles::JVM_STOPPED.fact().with("stops", Value::from(seen.title.clone()));
    // A stop of which other findings explain a part is no share of what they leave.
    let is_share = by_sort.len() > 1 && main_share <= 1.0;
    let title = title.with("share", is_share.then(|| Value::share(main_share)));
    let title = title.with("sort", Value::name(main)).with("cause", cause.map(Value::name));
    finding.title = title.with("pace", pace.map(|pace| Value::bytes(pace.bytes_a_second()))).into();
    finding.culprit = culprits::STOPS.is(Value::name(main)).with("cause", cause.map(Value::name)).into();
    finding.meaning = meanings::STOPPED.fact().into();
    let source = source(case, jvm);
    finding.evidence.push(summed(&*source, where_it_went(&by_sort)));
    finding.evidence.extend(seen.delay.map(|delay| {
        let fact = pauses::REQUESTS_DELAYED.is(Value::ms(delay.slow_ms)).over(Value::ms(delay.base_ms));
        summed(&*source, fact.with("longer", Value::ms(case.loss.slow_rate.unwrap_or(0.0))))
    }));
    if collections_ms > 0.0 && !other.is_empty() {
        let some = |ms: f64| (ms >= 1.0).then(|| Value::ms(ms));
        let others_ms = seen.stops.and(&others).without(&collected).length_ms();
        let fact = pauses::IN_COLLECTIONS.is(Value::ms(collections_ms));
        let fact = fact.with("around", some(around_ms)).with("others", some(others_ms));
        finding.evidence.push(summed(&*source, fact.with("stopped", Value::ms(seen.stops.length_ms()))));
    }
    finding.evidence.extend(phases(&pauses).map(|fact| summed(&*source, fact)));
    let cpu = cpu(&pauses);
    finding.evidence.extend(cpu.iter().map(|cpu| summed(&*source, cpu.fact.clone())));
    let on_one_cpu = on_one_cpu(&pauses);
    finding.evidence.extend(on_one_cpu.iter().map(|seen| summed(&*source, seen.fact.clone())));
    finding.evidence.extend(slow_pace.iter().map(|pace| summed(&*source, pace.fact())));
    finding.evidence.extend(most(&pauses, Pause::ms).into_iter().map(|p| cited(&p.span, one(p))));
    let mut longest = other;
    longest.sort_by_key(|s| std::cmp::Reverse(s.duration_ns()));
    finding
        .evidence
        .extend(longest.iter().take(NAMED).filter(|_| finding.layer == Layer::Safepoint).map(evidence_of));
    if [UNNAMED, AROUND].contains(&main) {
        finding.remedies.push(remedies::LOG_SAFEPOINTS.remedy());
    }
    if slow_pace.is_some() || cpu.is_some_and(|cpu| cpu.waited || cpu.in_kernel) {
        finding.remedies.extend(no_swap(case, jvm));
    }
    if slow_pace.is_some() {
        finding.remedies.push(remedies::NO_LACK_OF_CPUS.remedy());
    }
    finding.remedies.extend(on_one_cpu.map(|seen| seen.remedy));
    finding.remedies.extend(remedies(&pauses));
    let less = checks::LESS_STOPPED.is(Value::share(MATTERS_SHARE));
    finding.verify = vec![less.with("longest", Value::ms(LONG_MS)).into()];
    let spans = pauses.iter().map(|p| p.span).chain(longest.iter().copied());
    finding.windows = ranges(spans);
    // A stop begins before its pause and ends after it: what it waits for threads is a part of the
    // cost.
    finding.acts = seen.stops.windows();
    finding.stop = case.longest_stop(jvm, &finding.windows);
    if finding.layer == Layer::Gc {
        super::collector_work::report(case, jvm, &collected, &mut finding);
    }
    finding
}

fn evidence_of(span: &Span<'_>) -> Evidence {
    let fact = pauses::STOP.is(Value::ms(span.duration_ns() as f64 / 1e6));
    cited(span, fact.with("operation", Value::name(name_of(span))))
}

/// "38 × Full GC, Ergonomics: 211 s, the longest 8.10 s; …".
fn where_it_went(sorts: &[(Of<'_>, Sort)]) -> Fact {
    let one = |((name, cause), sort): &(Of<'_>, Sort)| {
        let fact = pauses::STOPS_OF.is(Value::ms(sort.ms)).with("sort", Value::name(*name));
        let fact = fact.with("cause", cause.map(Value::name));
        fact.with("stops", Value::counted(sort.count as f64)).with("longest", Value::ms(sort.longest_ms))
    };
    let rest: f64 = sorts.iter().skip(NAMED).map(|(_, sort)| sort.ms).sum();
    let others = (rest > 0.0).then(|| pauses::STOPS_OF_OTHERS.is(Value::ms(rest)));
    let listed = sorts.iter().take(NAMED).map(one).chain(others);
    pauses::STOPS.fact().with("sorts", Value::list(listed))
}

/// One of the longest pauses, with what it found and left.
fn one(pause: &Pause<'_>) -> Fact {
    let size = |key| pause.span.figure(key).map(Value::bytes);
    let fact = pauses::PAUSE_SIZES.is(Value::ms(pause.ms())).with("pause", Value::name(pause.span.name()));
    let fact = fact.with("cause", pause.cause().map(Value::name));
    let fact =
        fact.with("before", size(figure::HEAP_BEFORE_BYTES)).with("after", size(figure::HEAP_AFTER_BYTES));
    fact.with("capacity", size(figure::HEAP_CAPACITY_BYTES))
}

/// The phases that took most of the pauses, where the log has any.
fn phases(of: &[Pause<'_>]) -> Option<Fact> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let mut with_ms = 0.0;
    for pause in of {
        let mut any = false;
        for (key, ms) in pause.span.figures() {
            if let Some(phase) = key.strip_prefix(figure::PHASE_MS_PREFIX) {
                *sums.entry(phase).or_default() += ms;
                any = true;
            }
        }
        with_ms += if any { pause.ms() } else { 0.0 };
    }
    let mut sums: Vec<_> = sums.into_iter().filter(|(_, ms)| *ms > 0.0).collect();
    sums.sort_by(|a, b| b.1.total_cmp(&a.1));
    let one = |(phase, ms): &(&str, f64)| {
        pauses::PHASE
            .is(Value::ms(*ms))
            .with("phase", Value::name(*phase))
            .with("share", Value::share(ms / with_ms))
    };
    let listed: Vec<Fact> = sums.iter().take(NAMED).map(one).collect();
    (!listed.is_empty()).then(|| pauses::PHASES.fact().with("phases", Value::list(listed)))
}

/// The CPU time of pauses.
struct CpuTime {
    fact: Fact,
    /// Whether they waited for most of their time.
    waited: bool,
    /// Whether the kernel worked more than the collector.
    in_kernel: bool,
}

/// The CPU time of the pauses that are long enough for the log's hundredths of a second to measure
/// it, and whether they waited rather than worked; that is reported only where these are most of
/// the time of all.
fn cpu(of: &[Pause<'_>]) -> Option<CpuTime> {
    let measured = of.iter().filter_map(Pause::cpu).filter(|cpu| cpu.real_s >= CPU_MIN_REAL_S);
    let (times, cpu_s, sys_s, real_s) = measured.fold((0, 0.0, 0.0, 0.0), |(n, c, s, r), cpu| {
        (n + 1, c + cpu.cpu_s(), s + cpu.sys_s, r + cpu.real_s)
    });
    let all_s = of.iter().map(Pause::ms).sum::<f64>() / 1e3;
    let most = real_s > 0.0 && real_s >= MOSTLY * all_s;
    let waited = most && cpu_s < WAITED * real_s;
    let fact = pauses::CPU_OF.is(Value::seconds(cpu_s)).with("pauses", Value::count(times));
    let fact = fact.with("least", Value::seconds(CPU_MIN_REAL_S)).with("kernel", Value::seconds(sys_s));
    let fact = fact.with("paused", Value::seconds(real_s));
    let fact = fact.with("waited", waited.then(|| Value::share(1.0 - cpu_s / real_s)));
    let in_kernel = most && 2.0 * sys_s > cpu_s && sys_s >= KERNEL * real_s;
    (real_s > 0.0).then_some(CpuTime { fact, waited, in_kernel })
}

fn remedies(pauses: &[Pause<'_>]) -> Vec<Remedy> {
    let ms =
        |which: &dyn Fn(&Pause<'_>) -> bool| pauses.iter().filter(|p| which(p)).map(Pause::ms).sum::<f64>();
    let all = ms(&|_| true);
    let mut remedies = Vec::new();
    if ms(&|p| p.cause() == Some(PERIODIC)) * 2.0 > all {
        remedies.push(remedies::NO_PERIODIC_COLLECTIONS.remedy());
    } else if ms(&|p| p.collected_old()) * 2.0 > all {
        remedies.push(remedies::ROOM_IN_OLD.remedy());
        remedies.push(remedies::CONCURRENT_COLLECTOR.remedy());
    } else if all > 0.0 {
        if ms(&|p| p.labelled_full()) >= FULL * all {
            remedies.push(remedies::LARGER_HEAP_FOR_FULL.remedy());
        }
        remedies.push(young::remedy(pauses));
    }
    if pauses.iter().all(|p| p.cpu().is_none() || p.cause().is_none()) {
        remedies.push(remedies::LOG_MORE.remedy());
    }
    remedies
}
