//! `jvm-stopped`: the JVM is stopped for a good part of the time, or for long, and this says where that time went.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span};

use super::gc_case::{cited, most, remedy, stretches, summed};
use crate::burden::{Burden, LONG_MS};
use crate::collections::{self, CPU_MIN_REAL_S, Pause};
use crate::intervals::Intervals;
use crate::windows::stops::name_of;
use crate::{
    Case, Confidence, Evidence, Finding, Judgement, Layer, MATTERS_SHARE, Remedy, Rule, Window, quantity,
};

/// Sorts of stops, and phases, that are named.
const NAMED: usize = 3;
/// Slow windows that are stops for as much of their time were picked for that: a share of them says nothing.
const PICKED: f64 = 0.8;
/// Stops below a second that are told for standing out: of one or two of them nobody can tell whether they will come again.
const SEVERAL: usize = 3;
/// CPU time as a share of a pause below which the collector waited for most of it, however few workers it had.
const WAITED: f64 = 0.5;

/// Full collections of a second and more go through a hundred megabytes of heap a second and more: of 1 078 in public logs
/// that tell their CPU time all but 9. Bytes a second below which the collector waited rather than worked; of those logs 3 of
/// 4 such collections used less than half a processor.
const SLOW_PACE: f64 = 20.0 * 1024.0 * 1024.0;
/// Processors at work in a pause up to which it was one.
const ONE_CPU: f64 = 1.1;

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
        "Collections and other safepoints stop the JVM for a good part of the time, or for a second at a stretch. The \
         other rules name the causes that they know; this one tells the stops in any case, with where their time went: \
         sorts of collections, causes, phases, and processor time. A full collection that went through less than 20 MB of heap \
         a second is said to have waited rather than worked, where the log has no CPU times, and a remark of CMS that ran on \
         one processor is said to have done so.\n\n\
         **Evidence.** Over a run of 10 s or more, or over a part of it, stops take 5 % of the time or more; or a stop \
         lasts a second or more; or stops stand out of a run of which they take 2 % or more in all. Where slow windows are given or found on a series, stops must take 5 % of what was lost \
         there, above what they take in the base.\n\n\
         **Look-alikes.** Findings that explain the same time are charged first; what they leave is charged here, and \
         where that is too little to matter the sum stands in the evidence of the first of them.\n\n\
         **Ruled out** by the share of the time stopped and the longest stop. `fathom gc` grades by the same limits."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn yields(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let burden = Burden::of(case.recording, jvm);
        let slow = Intervals::of_windows(&case.slow);
        if burden.stops.is_empty() || slow.is_empty() {
            return Judgement::NotApplicable;
        }
        let measured = !case.whole_run && !case.lost_by.is_empty();
        let found = if measured { in_windows(case, &burden) } else { over_run(case, &burden) };
        match found {
            Some(seen) => Judgement::Found(Box::new(finding(self, case, jvm, &seen))),
            None => Judgement::RuledOut {
                figure: ruled_out(&burden.stops.and(&slow), &slow),
                source: source(case, jvm),
            },
        }
    }
}

/// Stops that are to be told.
struct Seen {
    stops: Intervals,
    cost_ms: f64,
    title: String,
}

/// What a series shows as lost, so far as stops took it.
fn in_windows(case: &Case<'_>, burden: &Burden) -> Option<Seen> {
    let stops = burden.stops.and(&Intervals::of_windows(&case.slow));
    let base_ms = burden.stops.and(&Intervals::of_windows(&case.base)).length_ms();
    let cost_ms = case.excess_ms(stops.length_ms(), base_ms);
    let length_ms = Case::length_ms(&case.slow);
    case.matters(cost_ms).then(|| Seen {
        title: format!(
            "the JVM was stopped for {} of the {} that were slow",
            quantity::millis(stops.length_ms()),
            quantity::millis(length_ms)
        ),
        stops,
        cost_ms,
    })
}

/// What stands out in absolute terms.
fn over_run(case: &Case<'_>, burden: &Burden) -> Option<Seen> {
    let slow = Intervals::of_windows(&case.slow);
    let within = |window: &Window| burden.stops.and(&Intervals::of_windows(&[*window])).and(&slow);
    let all = burden.stops.and(&slow);
    if let Some(heavy) = burden.heavy.filter(|heavy| !within(&heavy.window).is_empty()) {
        // Of a few stops it is not to be told: the whole run is looked at as well.
        if heavy.whole && !case.whole_run && all.length_ms() >= PICKED * slow.length_ms() {
            return None;
        }
        let stops = if heavy.whole { all } else { within(&heavy.window) };
        let part = if heavy.whole { "" } else { "in the part of the run that it is stopped most, " };
        let title = format!(
            "{part}the JVM is stopped for {} of {}",
            quantity::share(heavy.share),
            quantity::millis(heavy.ms)
        );
        return Some(Seen { cost_ms: stops.length_ms(), stops, title });
    }
    // Of very many stops only the longest are windows: all are counted.
    let touches = |(from, to): &(i64, i64)| slow.touches(*from, *to);
    let long: Vec<(i64, i64)> = burden.long().filter(|stop| case.found_on_stops || touches(stop)).collect();
    if long.iter().any(touches) {
        let longest = long.iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
        let (n, longest) = (long.len(), quantity::millis(longest as f64 / 1e6));
        let long = Intervals::of(long);
        // Stops below a second that stand out of the run are as much of what was lost.
        let shorter = all.without(&long);
        let with_shorter = case.found_on_stops
            && shorter.stretches().len() >= SEVERAL
            && shorter.length_ms() >= MATTERS_SHARE * slow.length_ms()
            && all.length_ms() >= PICKED * slow.length_ms();
        let title = match (n, with_shorter) {
            (1, false) => format!("one stop of {longest}"),
            (_, false) => format!(
                "{} of {} or more, the longest {longest}",
                quantity::plural(n, "stop", "stops"),
                quantity::millis(LONG_MS)
            ),
            (_, true) => format!(
                "{} of {} or more and {} shorter ones that stand out of {}, the longest {longest}",
                quantity::plural(n, "stop", "stops"),
                quantity::millis(LONG_MS),
                quantity::count(shorter.stretches().len() as f64),
                quantity::count(burden.stops.stretches().len() as f64)
            ),
        };
        let stops = if with_shorter { all } else { long.and(&slow) };
        return Some(Seen { cost_ms: stops.length_ms(), stops, title });
    }
    let quiet = case.found_on_stops && burden.quiet;
    let (stopped_ms, length_ms) = (all.length_ms(), slow.length_ms());
    if quiet || case.whole_run || stopped_ms < MATTERS_SHARE * length_ms {
        return None;
    }
    let title = if stopped_ms < PICKED * length_ms {
        // Stretches that were found for being stopped more than usual, and are more than the stops themselves.
        format!(
            "the JVM is stopped for {} of {} that stand out of its run",
            quantity::share(stopped_ms / length_ms.max(f64::MIN_POSITIVE)),
            quantity::millis(length_ms)
        )
    } else if case.found_on_stops && all.stretches().len() >= SEVERAL {
        // Stops that stand out are what was lost, however short each is.
        let longest = all.stretches().iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
        format!(
            "{} that stand out of {}, the longest {}",
            quantity::plural(all.stretches().len(), "stop", "stops"),
            quantity::count(burden.stops.stretches().len() as f64),
            quantity::millis(longest as f64 / 1e6)
        )
    } else {
        return None;
    };
    Some(Seen { cost_ms: stopped_ms, stops: all, title })
}

fn ruled_out(stops: &Intervals, slow: &Intervals) -> String {
    let longest = stops.stretches().iter().map(|(from, to)| to.saturating_sub(*from)).max().unwrap_or(0);
    format!(
        "the JVM was stopped for {} of {}, the longest stop {}",
        quantity::share(stops.length_ms() / slow.length_ms().max(f64::MIN_POSITIVE)),
        quantity::millis(slow.length_ms()),
        quantity::millis(longest as f64 / 1e6)
    )
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

/// Stops by name and cause, those that took longest together first. Safepoints are told where no collection fills them.
fn sorts<'a>(spans: impl Iterator<Item = Span<'a>>) -> Vec<(String, Sort)> {
    let mut sorts: BTreeMap<String, Sort> = BTreeMap::new();
    for span in spans {
        let cause = span.label(label::CAUSE).filter(|cause| !span.name().contains(cause));
        let name = match cause {
            Some(cause) => format!("{}, {cause}", span.name()),
            None => name_of(&span).to_owned(),
        };
        let ms = span.duration_ns() as f64 / 1e6;
        let sort = sorts.entry(name).or_default();
        *sort = Sort { count: sort.count + 1, ms: sort.ms + ms, longest_ms: sort.longest_ms.max(ms) };
    }
    let mut sorts: Vec<_> = sorts.into_iter().collect();
    sorts.sort_by(|a, b| b.1.ms.total_cmp(&a.1.ms));
    sorts
}

fn finding(rule: &dyn Rule, case: &Case<'_>, jvm: ProcessId, seen: &Seen) -> Finding {
    let touches = |span: &Span<'_>| seen.stops.touches(span.t0_ns(), span.t1_ns());
    let all = collections::pauses(case.recording, jvm, None);
    let pauses: Vec<Pause<'_>> = all.into_iter().filter(|p| touches(&p.span)).collect();
    let collected = Intervals::of(pauses.iter().map(|p| (p.span.t0_ns(), p.span.t1_ns())));
    let other = case
        .recording
        .spans_of(kind::SAFEPOINT)
        .filter(|s| s.process() == jvm && touches(s) && !collected.touches(s.t0_ns(), s.t1_ns()));
    let other: Vec<Span<'_>> = other.collect();
    let by_sort = sorts(pauses.iter().map(|p| p.span).chain(other.iter().copied()));
    let collections_ms = collected.and(&seen.stops).length_ms();

    let mut finding = case.finding(rule, jvm, Confidence::Likely, seen.cost_ms);
    if collections_ms * 2.0 < seen.stops.length_ms() {
        finding.layer = Layer::Safepoint;
    }
    finding.why_confidence =
        "the log shows the stops and what they were; why they take so long it does not name".into();
    let main = by_sort.first().map(|(name, _)| name.clone()).unwrap_or_default();
    finding.title = format!("{}, most of it in {main}", seen.title);
    if by_sort.len() == 1 {
        finding.title = format!("{}: {main}", seen.title);
    }
    let slow_pace = slow_pace(&pauses);
    if let Some(pace) = slow_pace.as_ref().filter(|pace| pace.ms * 2.0 > seen.stops.length_ms()) {
        finding.title += &format!(", through {} of heap a second", quantity::bytes(pace.bytes_a_second()));
    }
    finding.culprit = main;
    finding.meaning =
        "While a collection or another safepoint holds the JVM, no thread of the application runs.".into();
    let source = source(case, jvm);
    finding.evidence.push(summed(&*source, where_it_went(&by_sort)));
    if collections_ms > 0.0 && !other.is_empty() {
        let text = format!(
            "{} of {} in collections, the rest at other safepoints",
            quantity::millis(collections_ms),
            quantity::millis(seen.stops.length_ms())
        );
        finding.evidence.push(summed(&*source, text));
    }
    finding.evidence.extend(phases(&pauses).map(|text| summed(&*source, text)));
    finding.evidence.extend(cpu(&pauses).map(|text| summed(&*source, text)));
    let remarks = on_one_cpu(&pauses);
    finding.evidence.extend(remarks.iter().map(|text| summed(&*source, text)));
    finding.evidence.extend(slow_pace.iter().map(|pace| summed(&*source, pace.words())));
    finding.evidence.extend(most(&pauses, Pause::ms).into_iter().map(|p| cited(&p.span, one(p))));
    let mut longest = other;
    longest.sort_by_key(|s| std::cmp::Reverse(s.duration_ns()));
    finding
        .evidence
        .extend(longest.iter().take(NAMED).filter(|_| finding.layer == Layer::Safepoint).map(told));
    if slow_pace.is_some() {
        finding.remedies.push(remedy(
            "no swap and no lack of processors for the JVM: vmstat 1 while it collects shows si and so at 0 and idle \
             processors; -XX:+PrintGCDetails (-Xlog:gc+cpu) tells the CPU time of each collection",
            "Linux",
            "memory, or fewer programs beside it",
        ));
    }
    if remarks.is_some() {
        finding.remedies.push(remedy(
            "-XX:+ParallelRefProcEnabled and -XX:+CMSScavengeBeforeRemark, with -XX:+CMSParallelRemarkEnabled left on",
            "CMS (JDK 13 and before)",
            "a young collection before each remark",
        ));
    }
    finding.remedies.extend(remedies(&pauses));
    finding.verify = vec![format!(
        "fathom gc shows less than {} of the time stopped and no pause of {}",
        quantity::share(MATTERS_SHARE),
        quantity::millis(LONG_MS)
    )];
    let spans = pauses.iter().map(|p| p.span).chain(longest.iter().copied());
    finding.windows = stretches(spans);
    finding.stop = case.longest_stop(jvm, &finding.windows);
    finding
}

fn told(span: &Span<'_>) -> Evidence {
    cited(span, format!("{} of {}", name_of(span), quantity::millis(span.duration_ns() as f64 / 1e6)))
}

/// "38 × Full GC, Ergonomics: 211 s, the longest 8.10 s; …".
fn where_it_went(sorts: &[(String, Sort)]) -> String {
    let one = |(name, sort): &(String, Sort)| {
        format!(
            "{} × {name}: {}, the longest {}",
            quantity::count(sort.count as f64),
            quantity::millis(sort.ms),
            quantity::millis(sort.longest_ms)
        )
    };
    let mut told: Vec<String> = sorts.iter().take(NAMED).map(one).collect();
    let rest: f64 = sorts.iter().skip(NAMED).map(|(_, sort)| sort.ms).sum();
    if rest > 0.0 {
        told.push(format!("others: {}", quantity::millis(rest)));
    }
    told.join("; ")
}

/// One of the longest pauses, with what it found and left.
fn one(pause: &Pause<'_>) -> String {
    let f = |key| pause.span.figure(key);
    let cause = pause.cause().map_or(String::new(), |cause| format!(" ({cause})"));
    let sizes =
        match (f(figure::HEAP_BEFORE_BYTES), f(figure::HEAP_AFTER_BYTES), f(figure::HEAP_CAPACITY_BYTES)) {
            (Some(before), Some(after), Some(of)) => format!(
                ", heap {} before, {} after, of {}",
                quantity::bytes(before),
                quantity::bytes(after),
                quantity::bytes(of)
            ),
            _ => String::new(),
        };
    format!("{}{cause} of {}{sizes}", pause.span.name(), quantity::millis(pause.ms()))
}

/// The phases that took most of the pauses, where the log has any.
fn phases(pauses: &[Pause<'_>]) -> Option<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let mut with_ms = 0.0;
    for pause in pauses {
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
        format!("{phase} {} ({})", quantity::millis(*ms), quantity::share(ms / with_ms))
    };
    let told: Vec<String> = sums.iter().take(NAMED).map(one).collect();
    (!told.is_empty()).then(|| format!("phases of these pauses: {}", told.join(", ")))
}

/// The processor time of the pauses, and whether they waited rather than worked.
fn cpu(pauses: &[Pause<'_>]) -> Option<String> {
    let told = pauses.iter().filter_map(Pause::cpu).filter(|cpu| cpu.real_s >= CPU_MIN_REAL_S);
    let (cpu_s, sys_s, real_s) =
        told.fold((0.0, 0.0, 0.0), |(c, s, r), cpu| (c + cpu.cpu_s(), s + cpu.sys_s, r + cpu.real_s));
    (real_s > 0.0).then(|| {
        let waited = match cpu_s < WAITED * real_s {
            true => {
                ": for most of it the collector waited, for a processor, for memory from swap, or for a disk"
            }
            false => "",
        };
        format!(
            "they used {} of CPU ({} of it in the kernel) in {}{waited}",
            quantity::seconds(cpu_s),
            quantity::seconds(sys_s),
            quantity::seconds(real_s)
        )
    })
}

/// Full collections that went through little of the heap a second, in a log that does not tell their CPU time.
struct Pace<'p, 'a> {
    pauses: Vec<&'p Pause<'a>>,
    ms: f64,
    bytes: f64,
}

fn slow_pace<'p, 'a>(pauses: &'p [Pause<'a>]) -> Option<Pace<'p, 'a>> {
    let bytes = |p: &Pause<'_>| p.span.figure(figure::HEAP_BEFORE_BYTES);
    let crept = |p: &&Pause<'_>| {
        let full = p.collected_old() && p.ms() >= LONG_MS && p.cpu().is_none();
        full && bytes(p).is_some_and(|bytes| bytes < SLOW_PACE * p.ms() / 1e3)
    };
    let pauses: Vec<&Pause<'_>> = pauses.iter().filter(crept).collect();
    let ms = pauses.iter().map(|p| p.ms()).sum();
    let bytes = pauses.iter().filter_map(|p| bytes(p)).sum();
    (!pauses.is_empty()).then_some(Pace { pauses, ms, bytes })
}

impl Pace<'_, '_> {
    fn bytes_a_second(&self) -> f64 {
        self.bytes / (self.ms / 1e3)
    }

    fn words(&self) -> String {
        format!(
            "{} went through {} of heap in {}, {} a second; a collector that works goes through 100 MB and more: for most \
             of it this one waited, for memory from swap, for a processor, or for a disk",
            quantity::plural(self.pauses.len(), "full collection", "full collections"),
            quantity::bytes(self.bytes),
            quantity::millis(self.ms),
            quantity::bytes(self.bytes_a_second())
        )
    }
}

/// Remarks of CMS, whose work is parallel but for some phases, that ran on one processor, where they are what matters.
fn on_one_cpu(pauses: &[Pause<'_>]) -> Option<String> {
    let remarks: Vec<&Pause<'_>> = pauses.iter().filter(|p| p.span.name().contains("CMS-remark")).collect();
    let all: f64 = pauses.iter().map(Pause::ms).sum();
    if remarks.iter().map(|p| p.ms()).sum::<f64>() * 2.0 < all {
        return None;
    }
    let seen = collections::Worked::of(remarks.into_iter())?;
    let cpus = seen.cpu.cpu_s() / seen.cpu.real_s;
    (WAITED..=ONE_CPU).contains(&cpus).then(|| {
        format!(
            "{} ran on one processor ({} of CPU in {}): references, class unloading and the cleaning of tables are the \
             work of a single thread unless told otherwise",
            quantity::plural(seen.pauses, "remark", "remarks"),
            quantity::seconds(seen.cpu.cpu_s()),
            quantity::seconds(seen.cpu.real_s)
        )
    })
}

fn remedies(pauses: &[Pause<'_>]) -> Vec<Remedy> {
    let ms =
        |which: &dyn Fn(&Pause<'_>) -> bool| pauses.iter().filter(|p| which(p)).map(Pause::ms).sum::<f64>();
    let all = ms(&|_| true);
    let mut remedies = Vec::new();
    if ms(&|p| p.collected_old()) * 2.0 > all {
        remedies.push(remedy(
            "more room in the old generation: a larger -Xmx, or less kept in use (jcmd PID GC.class_histogram)",
            "any JDK",
            "memory",
        ));
        remedies.push(remedy(
            "a collector that collects the old generation beside the application: G1, or ZGC",
            "G1: JDK 8 on; ZGC: JDK 15 on, generational since 21",
            "takes processors from the application while it runs",
        ));
    } else if all > 0.0 {
        remedies.push(remedy(
            "where survivors take the time: larger survivor spaces or young generation; where their number does: a larger one",
            "any JDK",
            "longer young pauses, memory",
        ));
    }
    if pauses.iter().all(|p| p.cpu().is_none() || p.cause().is_none()) {
        remedies.push(remedy(
            "a log that says more: -Xlog:gc*,safepoint:file=gc.log (JDK 8: -XX:+PrintGCDetails -XX:+PrintGCCause \
             -XX:+PrintGCApplicationStoppedTime)",
            "any JDK",
            "a larger log",
        ));
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};
    use crate::{Options, Status, diagnose};

    fn log(every_s: f64, ms: f64) -> Built {
        let mut built = Built::jvm("8", "Parallel", 120.0);
        for i in 0..(120.0 / every_s) as usize {
            built.pause("Full GC", "Ergonomics", i as f64 * every_s, ms, &[]);
        }
        built
    }

    #[test]
    fn stops_of_a_twentieth_are_told_with_where_they_went() {
        let Judgement::Found(finding) = judged(&JvmStopped, &log(2.0, 120.0).sealed()) else {
            panic!("not found")
        };
        assert!(finding.title.contains("6.0 % of 120"), "{}", finding.title);
        assert!(finding.title.contains("Full GC, Ergonomics"), "{}", finding.title);
        assert!(
            finding.evidence[0].text.starts_with("60 × Full GC, Ergonomics: 7.20 s"),
            "{:?}",
            finding.evidence
        );
        assert!(!finding.remedies.is_empty());
    }

    #[test]
    fn a_stop_of_a_second_is_told_whatever_share_it_is() {
        let mut built = Built::jvm("17", "G1", 36_000.0);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 9_000.0, 1_200.0, &[]);
        built.pause("Pause Young (Normal)", "G1 Evacuation Pause", 9_100.0, 20.0, &[]);
        let diagnosis = diagnose(&built.sealed(), &Options::default()).unwrap();
        assert_eq!(diagnosis.status, Status::Found, "{}", diagnosis.headline);
        assert!(diagnosis.headline.contains("one stop of 1.20 s"), "{}", diagnosis.headline);
    }

    #[test]
    fn all_long_stops_are_counted_though_only_the_longest_are_windows() {
        let mut built = Built::jvm("6", "Parallel", 36_000.0);
        for i in 0..1_300 {
            let ms = if i % 10 == 0 { 1_200.0 } else { 20.0 };
            built.pause("Full GC", "", f64::from(i) * 27.0, ms, &[]);
        }
        let diagnosis = diagnose(&built.sealed(), &Options::default()).unwrap();
        assert!(diagnosis.headline.contains("130 stops of 1.00 s or more"), "{}", diagnosis.headline);
    }

    #[test]
    fn stops_that_stand_out_are_named_where_they_are_what_was_lost() {
        let mut built = Built::jvm("7", "G1", 1_000.0);
        for i in 0..1_000 {
            let (name, ms) = match i % 50 {
                0 => ("GC pause (young)", 400.0),
                1 => ("GC pause (young) (initial-mark)", 300.0),
                _ => ("GC remark", 20.0),
            };
            built.pause(name, "G1 Evacuation Pause", f64::from(i), ms, &[]);
        }
        let d = diagnose(&built.sealed(), &Options::default()).unwrap();
        assert_eq!(d.status, Status::Found, "{}", d.headline);
        let finding = &d.findings[0];
        assert_eq!(finding.rule, "jvm-stopped");
        assert!(
            finding
                .title
                .starts_with("40 stops that stand out of 1 000, the longest 400 ms, most of it in GC pause"),
            "{}",
            finding.title
        );
        assert!(
            finding.evidence[0].text.starts_with("20 × GC pause (young), G1 Evacuation Pause: 8"),
            "{:?}",
            finding.evidence[0]
        );
    }

    #[test]
    fn shorter_stops_that_stand_out_are_counted_with_the_long_ones() {
        let mut built = Built::jvm("8", "G1", 10_000.0);
        for i in 0..2_000 {
            let (cause, ms) = match i % 40 {
                0 => ("G1 Evacuation Pause", 400.0),
                _ => ("G1 Evacuation Pause", 4.0),
            };
            built.pause("GC pause (young)", cause, f64::from(i) * 5.0, ms, &[]);
        }
        built.span(kind::SAFEPOINT, "stopped", 2_001.0, 3_600.0, &[], &[]);
        built.pause("Full GC", "Metadata GC Threshold", 4_002.0, 1_300.0, &[]);
        let d = diagnose(&built.sealed(), &Options::default()).unwrap();
        let first = &d.findings[0];
        assert_eq!(first.rule, "jvm-stopped", "{}", d.headline);
        assert!(
            first.title.starts_with(
                "2 stops of 1.00 s or more and 50 shorter ones that stand out of 2 002, the longest 3.60 s"
            ),
            "{}",
            first.title
        );
        // All of them, without what a usual stop takes.
        assert!((23_500.0..=23_600.0).contains(&first.cost_ms), "{}", first.cost_ms);
        let sorts = &first.evidence[0].text;
        assert!(sorts.contains("1 × unnamed VM operations: 3.60 s"), "{sorts}");
    }

    #[test]
    fn a_full_collection_that_creeps_is_said_to_have_waited() {
        let full = |ms: f64, more: &[(&str, f64)]| {
            let mut built = Built::jvm("6", "Parallel", 36_000.0);
            let sizes = [(figure::HEAP_BEFORE_BYTES, 917.0 * 1024.0 * 1024.0)];
            built.pause("Full GC", "", 9_000.0, ms, &[&sizes, more].concat());
            diagnose(&built.sealed(), &Options::default()).unwrap()
        };
        let d = full(332_000.0, &[]);
        assert!(
            d.headline.contains("one stop of 332.00 s: Full GC, through 2.8 MB of heap a second"),
            "{}",
            d.headline
        );
        let said = |d: &crate::Diagnosis| {
            let first = &d.findings[0];
            let waited = first.evidence.iter().any(|e| e.text.contains("waited, for memory from swap"));
            (waited, first.remedies[0].change.contains("vmstat"))
        };
        assert_eq!(said(&d), (true, true), "{:?}", d.findings[0]);
        // The same heap in three seconds is work, and where there are CPU times these tell.
        assert_eq!(said(&full(3_000.0, &[])), (false, false));
        let busy = [(figure::USER_S, 331.0), (figure::SYS_S, 0.5), (figure::REAL_S, 332.0)];
        assert_eq!(said(&full(332_000.0, &busy)), (false, false));
    }

    #[test]
    fn a_remark_on_one_processor_is_said_to_be_one_and_one_on_four_is_not() {
        let remark = |user_s: f64| {
            let mut built = Built::jvm("8", "CMS", 36_000.0);
            let cpu = [(figure::USER_S, user_s), (figure::SYS_S, 0.01), (figure::REAL_S, 2.66)];
            built.pause("CMS-remark", "", 9_000.0, 2_660.0, &cpu);
            diagnose(&built.sealed(), &Options::default()).unwrap().findings.remove(0)
        };
        let one = remark(2.68);
        let told = one
            .evidence
            .iter()
            .any(|e| e.text.starts_with("1 remark ran on one processor (2.69 s of CPU in 2.66 s)"));
        assert!(told && one.remedies[0].change.contains("ParallelRefProcEnabled"), "{one:?}");
        let four = remark(9.0);
        assert!(four.evidence.iter().all(|e| !e.text.contains("on one processor")), "{four:?}");
    }

    #[test]
    fn a_quiet_run_is_ruled_out_by_its_figures() {
        let Judgement::RuledOut { figure, .. } = judged(&JvmStopped, &log(2.0, 30.0).sealed()) else {
            panic!()
        };
        assert!(figure.contains("1.5 % of 120") && figure.contains("30"), "{figure}");
    }

    #[test]
    fn safepoints_that_are_no_collections_count_as_well() {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..60 {
            built.span(kind::SAFEPOINT, "ThreadDump", f64::from(i), 100.0, &[], &[]);
        }
        let Judgement::Found(finding) = judged(&JvmStopped, &built.sealed()) else { panic!("not found") };
        assert!(finding.culprit == "ThreadDump" && finding.layer == Layer::Safepoint, "{}", finding.title);
    }

    #[test]
    fn what_another_rule_explains_is_charged_there_and_the_sum_is_told_in_its_evidence() {
        let mut built = Built::jvm("8", "Parallel", 120.0);
        for i in 0..60 {
            built.pause("Full GC", "System.gc()", f64::from(i) * 2.0, 400.0, &[]);
        }
        let d = diagnose(&built.sealed(), &Options::default()).unwrap();
        assert_eq!(d.findings.iter().map(|f| f.rule).collect::<Vec<_>>(), ["gc-explicit"], "{}", d.headline);
        assert!(
            d.findings[0].evidence.iter().any(|e| e.text.contains("stopped for 20 %")),
            "{:?}",
            d.findings[0]
        );
    }
}
