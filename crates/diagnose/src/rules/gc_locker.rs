//! `gc-locker`: native code holds arrays, and collections have to wait for it or to leave regions
//! in place.

use fathom_recording::vocabulary::{fact, figure, kind, source};
use fathom_recording::{ProcessId, Recording, Span, StackId, ThreadId};

use super::gc_case::{GcCase, SEVERAL, cited, marked, most, summed};
use super::gc_first_touch::{kernel_heavy, kernel_part_ms};
use crate::collections::Pause;
use crate::facts::{Value, checks, culprits, meanings, pauses, remedies, ruled_out, titles, written};
use crate::failures::only_pinned;
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule, Window};

/// Share of collections that must be initiated by the locker. Now and then one is usual wherever
/// compression or native I/O runs; in a test built for it 90% were.
const SHARE: f64 = 0.05;
/// Since then G1 pins regions instead of holding collections back (JEP 423).
const PINNING_JDK: f64 = 22.0;
/// Since then a collection of Parallel and Serial waits for native code before it stops the JVM,
/// and `GCLocker Initiated GC` is gone (JDK-8192647).
const WAITING_JDK: f64 = 25.0;
/// HotSpot's functions in which a thread waits for native code that holds arrays: the beginnings of
/// their names (JDK 8's with an underscore).
const WAITING_IN: [&str; 2] = ["GCLocker::", "GC_locker::"];
/// A collection that the locker initiated came too early by as much of eden as was empty, next to
/// the fullest of the run; where that is not in the log, all of it counts.
fn early(pause: &Pause<'_>, fullest: f64) -> f64 {
    eden_share(pause).filter(|_| fullest > 0.0).map_or(1.0, |share| (1.0 - share / fullest).clamp(0.0, 1.0))
}

/// How full collections of the run find eden at most, as a share of the young generation. Where the
/// locker initiated all of them none shows how full it gets: at least [`EDEN`].
fn fullest(gc: &GcCase<'_, '_>) -> f64 {
    let most = gc.all.iter().filter_map(eden_share).fold(0.0, f64::max);
    let by_others = gc.all.iter().any(|p| p.is_young() && !held(p) && eden_share(p).is_some());
    if by_others || most <= 0.0 { most } else { most.max(EDEN) }
}

/// What the kernel took of a pause that is long because of it ([`super::gc_kernel_time`]),
/// milliseconds.
fn of_the_kernel_ms(pause: &Pause<'_>) -> f64 {
    if kernel_heavy(pause) { kernel_part_ms(pause) } else { 0.0 }
}

/// The least part of the young generation that is eden, rather than survivors: Parallel begins with
/// six eighths of it (`InitialSurvivorRatio=8`), Serial has eight tenths (`SurvivorRatio=8`).
const EDEN: f64 = 0.75;
/// Eden as full as this before a collection that the locker initiated means that there was nothing
/// to collect.
const EMPTY: f64 = 0.1;

/// The rule.
pub struct GcLocker;

impl Rule for GcLocker {
    fn id(&self) -> &'static str {
        "gc-locker"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "Native code that works on a Java array directly (JNI `GetPrimitiveArrayCritical`: compression, image and \
         crypto libraries) must not have it moved. Until JDK 21 no collection can start meanwhile: threads that need \
         memory wait, and when the last one leaves, a collection follows (`GCLocker Initiated GC`), often right after \
         another. G1 of JDK 22 and later leaves such regions in place instead (`Evacuation Failure: Pinned`).\n\n\
         **Evidence.** The cause in at least 5% of collections, or pinned failures, and what these collections cost. \
         A collection that finds eden full was due anyway; what is attributed is the part of it by which eden was empty, with the \
         waits, and without what the kernel took of it (`gc-kernel-time`). Where threads' switches were recorded with \
         stacks, the time for which threads were off the CPU below HotSpot's `GCLocker`, as a mean over these threads: it is \
         most of the cost.\n\n\
         **Confounders.** Other causes name themselves. The time for which threads waited for the native code itself is \
         not in the log: `fathom record` has it, and `-Xlog:gc+jni=debug` names the threads."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Epsilon")) {
            return Judgement::NotApplicable;
        }
        let young = gc.slow.iter().filter(|p| p.is_young() || held(p)).count();
        let by_locker: Vec<Pause<'_>> = gc.slow.iter().filter(|p| held(p)).copied().collect();
        let share = if young > 0 { by_locker.len() as f64 / young as f64 } else { 0.0 };
        let usual = gc.usual_ms(|p| p.is_young() && !held(p));
        let fullest = fullest(&gc);
        // One that found eden full, or objects pinned, was due anyway; only what came too early or
        // took longer is lost. What the kernel takes of a pause it takes whoever asked for the
        // collection. One in which an allocation failed for it was not.
        let gave_up: Vec<_> =
            case.recording.spans_of(kind::JVM_WARNING).filter(|w| gave_up(w, jvm)).collect();
        let cost = |pauses: &[Pause<'_>]| -> f64 {
            let lost = |p: &Pause<'_>| match only_pinned(p) {
                true => (p.ms() - usual).max(0.0),
                false => {
                    (p.ms() - of_the_kernel_ms(p)) * if gave_up.is_empty() { early(p, fullest) } else { 1.0 }
                }
            };
            pauses.iter().map(lost).sum()
        };
        let blocked = Blocked::of(case, jvm);
        let cost_ms = case.excess_ms(cost(&by_locker), cost(&gc.base_of(held))) + blocked.cost_ms(case);
        let often = share >= SHARE && by_locker.len() >= SEVERAL && gc.matters(cost_ms);
        let waited = case.matters(blocked.cost_ms(case));
        if often || waited || (gc.on_stops() && !gave_up.is_empty()) {
            let mut finding = found(self, &gc, &by_locker, share, cost_ms);
            if waited {
                blocked.add_to(&mut finding, case);
            }
            if let Some(first) = gave_up.first() {
                let title = titles::GC_LOCKER_FAILED.is(Value::count(gave_up.len()));
                finding.title = title.with("said", Value::name(first.name())).into();
                finding.evidence.push(cited(first, written::LINE.is(Value::name(first.name()))));
            }
            return Judgement::Found(Box::new(finding));
        }
        if young == 0 {
            return gc.none(&ruled_out::NO_YOUNG);
        }
        let fact = ruled_out::LOCKER_LITTLE.is(Value::ms(cost_ms)).with("young", Value::count(young));
        let fact = fact.with("collections", Value::count(by_locker.len()));
        let waited = !blocked.threads.is_empty();
        let fact = fact.with("threads", waited.then(|| Value::count(blocked.threads.len())));
        gc.ruled_out(fact.with("waited", waited.then(|| Value::ms(blocked.ms))))
    }
}

/// Time for which application threads were off the CPU below [`WAITING_IN`], without stops of the
/// JVM.
#[derive(Default)]
struct Blocked {
    threads: Vec<(ThreadId, f64)>,
    /// Added up over the threads, milliseconds.
    ms: f64,
    base_ms: f64,
    windows: Vec<Window>,
}

impl Blocked {
    fn of(case: &Case<'_>, jvm: ProcessId) -> Self {
        let recording = case.recording;
        let name = |frame: &fathom_recording::Frame| recording.strings.get(frame.name);
        if !recording.frames.iter().any(|frame| waits_in(name(frame))) {
            return Self::default();
        }
        let (slow, base) = (Intervals::of_windows(&case.slow), Intervals::of_windows(&case.base));
        let mut blocked = Self::default();
        for thread in case.chains().application_threads(jvm) {
            let Some(stalled) = case.chains().under(thread, Category::AllocationStall) else { continue };
            let ms = |intervals: &Intervals| -> f64 {
                let stacks = case.chains().stacks_under(thread, Category::AllocationStall, intervals);
                let own = stacks.iter().filter(|(stack, _)| is_below(recording, *stack));
                own.map(|(_, ns)| *ns as f64 / 1e6).sum()
            };
            let (within, before) = (stalled.and(&slow), stalled.and(&base));
            let slow_ms = ms(&within);
            blocked.base_ms += ms(&before);
            if slow_ms > 0.0 {
                blocked.threads.push((thread, slow_ms));
                blocked.ms += slow_ms;
                blocked.windows.extend(within.windows());
            }
        }
        blocked.threads.sort_by(|a, b| b.1.total_cmp(&a.1));
        blocked
    }

    /// Wall time above as much baseline time: a mean over the threads that waited, which wait
    /// next to one another.
    fn cost_ms(&self, case: &Case<'_>) -> f64 {
        case.excess_ms(self.ms, self.base_ms) / self.threads.len().max(1) as f64
    }

    fn add_to(self, finding: &mut Finding, case: &Case<'_>) {
        let Some((thread, longest_ms)) = self.threads.first() else { return };
        let recording = case.recording;
        let named = recording.threads.get(thread.index()).map_or("", |row| recording.strings.get(row.name));
        let (waited, threads) = (Value::ms(self.ms), Value::count(self.threads.len()));
        finding.title = titles::GC_LOCKER_WAITED.is(waited.clone()).with("threads", threads.clone()).into();
        let fact = pauses::LOCKER_WAITS.is(waited).with("threads", threads);
        let fact = fact.with("thread", Value::name(named)).with("longest", Value::ms(*longest_ms));
        let mut evidence = summed(source::SCHED, fact);
        evidence.thread = Some(*thread);
        finding.evidence.insert(0, evidence);
        finding.acts.extend(self.windows);
        finding.windows = marked(finding.acts.clone());
    }
}

fn waits_in(name: &str) -> bool {
    WAITING_IN.iter().any(|prefix| name.starts_with(prefix))
}

fn is_below(recording: &Recording, stack: Option<StackId>) -> bool {
    recording.frames_of(stack).any(|frame| waits_in(frame.name()))
}

/// Whether the JVM says that it could not allocate because of native code: it collects everything,
/// or gives up.
fn gave_up(warning: &Span<'_>, jvm: ProcessId) -> bool {
    let words = ["GC locker: Trying a full collection", "Retried waiting for GCLocker too often"];
    warning.process() == jvm && words.iter().any(|words| warning.name().contains(words))
}

fn held(pause: &Pause<'_>) -> bool {
    pause.cause().is_some_and(|c| c.starts_with("GCLocker"))
        || (pause.flag(figure::EVACUATION_FAILURE) && only_pinned(pause))
}

/// How full a collection of the young generation found it; `None` where that is not in the log, or
/// the whole heap was collected.
fn eden_share(pause: &Pause<'_>) -> Option<f64> {
    let f = |key| pause.span.figure(key);
    let eden = f(figure::EDEN_BEFORE_BYTES).or(f(figure::YOUNG_BEFORE_BYTES));
    let capacity = f(figure::YOUNG_CAPACITY_BYTES).filter(|bytes| *bytes > 0.0 && !pause.collected_old());
    Some(eden? / capacity?)
}

/// Whether a collection found next to nothing to collect.
fn found_nothing(pause: &Pause<'_>) -> bool {
    eden_share(pause).is_some_and(|share| share <= EMPTY)
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, by_locker: &[Pause<'_>], share: f64, cost_ms: f64) -> Finding {
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, by_locker);
    let pinned = by_locker.iter().filter(|p| only_pinned(p)).count();
    let title = if pinned * 2 > by_locker.len() { &titles::GC_LOCKER_PINNED } else { &titles::GC_LOCKER };
    finding.title = title.is(Value::share(share)).with("collections", Value::count(by_locker.len())).into();
    finding.culprit = culprits::CRITICAL_SECTIONS.fact().into();
    finding.meaning = meanings::ARRAY_HELD.fact().into();
    let empty = by_locker.iter().filter(|p| found_nothing(p)).count();
    let fact = pauses::LOCKER_SHARE.is(Value::share(share)).with("empty", Value::count(empty));
    finding.evidence.push(summed(gc.source(), fact.with("limit", Value::share(EMPTY))));
    finding.evidence.extend(most(by_locker, Pause::ms).into_iter().map(|p| {
        let cause = p.cause().unwrap_or("no cause logged");
        cited(&p.span, pauses::pause(p).with("cause", Value::name(cause)))
    }));
    finding.remedies = remedies(gc);
    finding.verify = vec![checks::NO_LOCKER_CAUSE.fact().into(), checks::LOG_JNI.fact().into()];
    finding
}

/// What helps depends on the collector: only some can leave in place what native code holds.
fn remedies(gc: &GcCase<'_, '_>) -> Vec<Remedy> {
    let shorter = remedies::SHORTER_CRITICAL_SECTIONS.remedy();
    let before = |jdk: f64| gc.jdk().is_none_or(|of| of < jdk);
    match gc.collector() {
        Some("G1") if before(PINNING_JDK) => {
            vec![remedies::PINNING_JDK.remedy(), shorter]
        }
        Some("Parallel" | "Serial" | "CMS") => {
            let rarer = remedies::LARGER_YOUNG_FOR_LOCKER.remedy();
            let mut remedies = vec![shorter, rarer];
            if gc.collector() != Some("CMS") && before(WAITING_JDK) {
                remedies.push(remedies::LOCKER_THAT_WAITS.remedy());
            }
            let pinning = match before(PINNING_JDK) {
                true => &remedies::PINNING_G1_OF_LATER_JDK,
                false => &remedies::PINNING_G1,
            };
            remedies.push(pinning.remedy());
            remedies
        }
        _ => vec![shorter],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    fn log(by_locker: u32, of: u32, ms: f64) -> Built {
        log_of("17", "G1", by_locker, of, ms)
    }

    fn log_of(jdk: &str, collector: &str, by_locker: u32, of: u32, ms: f64) -> Built {
        let mut built = Built::jvm(jdk, collector, f64::from(of));
        for i in 0..of {
            let cause = if i < by_locker { "GCLocker Initiated GC" } else { "G1 Evacuation Pause" };
            let full = if i < by_locker { 0.9e6 } else { 90e6 };
            let eden = [(figure::EDEN_BEFORE_BYTES, full), (figure::YOUNG_CAPACITY_BYTES, 1e8)];
            built.pause("Pause Young (Normal)", cause, f64::from(i), ms, &eden);
        }
        built
    }

    #[test]
    fn collections_after_critical_sections_are_found_by_their_cause() {
        let Judgement::Found(finding) = judged(&GcLocker, &log(60, 100, 100.0).sealed()) else {
            panic!("not found")
        };
        // All but the hundredth of eden that was full.
        assert!((finding.cost_ms - 5_940.0).abs() < 1e-6, "{}", finding.cost_ms);
        assert_eq!(finding.fact(&pauses::LOCKER_SHARE).number("empty"), Some(60.0));
        finding.remedies[0].change.states(&remedies::PINNING_JDK, &[]);
    }

    #[test]
    fn what_the_kernel_takes_of_a_collection_is_not_charged_to_native_code() {
        let mut built = Built::jvm("8", "Parallel", 100.0);
        for i in 0..100 {
            let figures = [(figure::USER_S, 0.1), (figure::SYS_S, 0.9), (figure::REAL_S, 1.0)];
            built.pause("GC", "GCLocker Initiated GC", f64::from(i), 1_000.0, &figures);
        }
        let Judgement::Found(finding) = judged(&GcLocker, &built.sealed()) else { panic!("not found") };
        assert!((finding.cost_ms - 10_000.0).abs() < 1e-3, "{}", finding.cost_ms);
    }

    #[test]
    fn an_allocation_that_failed_for_native_code_is_charged_with_its_collections_however_full_eden_was() {
        let mut built = Built::jvm("7", "CMS", 60.0);
        built.span(
            kind::JVM_WARNING,
            "GC locker: Trying a full collection because scavenge failed",
            10.0,
            0.0,
            &[],
            &[],
        );
        let eden = [(figure::EDEN_BEFORE_BYTES, 90e6), (figure::YOUNG_CAPACITY_BYTES, 1e8)];
        built.pause("GC", "GCLocker Initiated GC", 10.0, 400.0, &eden);
        built.pause("Full GC", "GCLocker Initiated GC", 10.5, 23_000.0, &[]);
        let Judgement::Found(finding) = judged(&GcLocker, &built.sealed()) else { panic!("not found") };
        finding.title.states(&titles::GC_LOCKER_FAILED, &[("value", "1")]);
        assert!((finding.cost_ms - 23_400.0).abs() < 1e-3, "{}", finding.cost_ms);
    }

    #[test]
    fn collections_that_were_due_anyway_are_not_charged_to_native_code() {
        let mut built = Built::jvm("8", "Parallel", 100.0);
        for i in 0..100 {
            let eden = [(figure::EDEN_BEFORE_BYTES, 85e6), (figure::YOUNG_CAPACITY_BYTES, 1e8)];
            built.pause("GC", "GCLocker Initiated GC", f64::from(i), 100.0, &eden);
        }
        let Judgement::RuledOut { figure, .. } = judged(&GcLocker, &built.sealed()) else { panic!("found") };
        figure.states(&ruled_out::LOCKER_LITTLE, &[("collections", "100"), ("young", "100")]);
    }

    #[test]
    fn collections_that_all_found_eden_empty_are_charged_though_none_shows_how_full_it_gets() {
        let mut built = Built::jvm("17", "Parallel", 60.0);
        for i in 0..60 {
            let eden = [(figure::EDEN_BEFORE_BYTES, 3e6), (figure::YOUNG_CAPACITY_BYTES, 1e8)];
            built.pause("Pause Young", "GCLocker Initiated GC", f64::from(i), 200.0, &eden);
        }
        let Judgement::Found(finding) = judged(&GcLocker, &built.sealed()) else { panic!("not found") };
        // All but the twenty-fifth of eden that was full.
        assert!((finding.cost_ms - 11_520.0).abs() < 1e-3, "{}", finding.cost_ms);
    }

    #[test]
    fn what_is_charged_to_native_code_is_charged_to_no_other_finding() {
        // Sixty stops, which are one interval on the timeline, and thirty of them, which are not.
        let mut built = Built::jvm("17", "Parallel", 60.0);
        for i in 0..60 {
            let (cause, eden) = match i % 2 {
                0 => ("Allocation Failure", 75e6),
                _ => ("GCLocker Initiated GC", 3e6),
            };
            let eden = [(figure::EDEN_BEFORE_BYTES, eden), (figure::YOUNG_CAPACITY_BYTES, 1e8)];
            built.pause("Pause Young", cause, f64::from(i), 200.0, &eden);
        }
        let d = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
        let rules: Vec<_> = d.findings.iter().map(|finding| finding.rule).collect();
        assert_eq!(rules, ["gc-locker", "jvm-stopped"]);
        let all_ms: f64 = d.findings.iter().map(|finding| finding.cost_ms).sum();
        assert!((all_ms - 12_000.0).abs() < 1.0, "{all_ms}");
    }

    #[test]
    fn the_remedy_fits_the_collector_and_the_release() {
        let advised = |jdk: &str, collector: &str| -> Vec<&'static crate::facts::Metric> {
            let recording = log_of(jdk, collector, 60, 100, 100.0).sealed();
            let Judgement::Found(finding) = judged(&GcLocker, &recording) else { panic!("not found") };
            finding.remedies.iter().map(|remedy| remedy.change.fact().metric).collect()
        };
        for collector in ["Parallel", "Serial", "CMS"] {
            let old = advised("8", collector);
            assert_eq!(old[..2], [&remedies::SHORTER_CRITICAL_SECTIONS, &remedies::LARGER_YOUNG_FOR_LOCKER]);
            assert_eq!(old.contains(&&remedies::LOCKER_THAT_WAITS), collector != "CMS", "{old:?}");
        }
        assert_eq!(advised("23", "Parallel").last(), Some(&&remedies::PINNING_G1));
        assert_eq!(advised("21", "G1")[0], &remedies::PINNING_JDK);
    }

    #[test]
    fn what_threads_waited_for_native_code_is_the_cost_however_short_the_collections_are() {
        use fathom_recording::FrameType::Native;
        let waiting = |ms: f64| {
            // Two collections of 4 ms, and six workers that wait for memory all the time between.
            let mut built = log(2, 60, 4.0);
            let frames = [("pthread_cond_wait", Native), ("GCLocker::stall_until_clear()", Native)];
            for worker in ["w1", "w2", "w3", "w4", "w5", "w6"] {
                built.watched(worker, 60.0);
                for i in 0..10 {
                    let at = (10.0 + f64::from(i), ms);
                    built.with_stack((kind::SCHED_OFF, "sleeping"), worker, &frames, &[], at);
                }
            }
            judged(&GcLocker, &built.sealed())
        };
        let Judgement::Found(finding) = waiting(600.0) else { panic!("not found") };
        assert!((finding.cost_ms - 6_008.0).abs() < 30.0, "{}", finding.cost_ms);
        finding.title.states(&titles::GC_LOCKER_WAITED, &[("threads", "6"), ("value", "36.00 s")]);
        assert_eq!(finding.evidence[0].metric(), pauses::LOCKER_WAITS.id);
        assert!(matches!(waiting(0.5), Judgement::RuledOut { .. }));
    }

    #[test]
    fn pinned_regions_cost_what_the_collection_took_longer() {
        let mut built = Built::jvm("25", "G1", 100.0);
        for i in 0..50 {
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i), 20.0, &[]);
            let name = "Pause Young (Normal) (Evacuation Failure: Pinned)";
            let failed = [(figure::EVACUATION_FAILURE, 1.0)];
            built.pause(name, "G1 Evacuation Pause", f64::from(i) + 0.5, 320.0, &failed);
        }
        let Judgement::Found(finding) = judged(&GcLocker, &built.sealed()) else { panic!("not found") };
        assert!((finding.cost_ms - 50.0 * 300.0).abs() < 1e-6);
        assert!(!finding.advises(&remedies::PINNING_JDK), "{:?}", finding.remedies);
    }

    #[test]
    fn nothing_is_said_of_young_collections_where_there_are_none() {
        let mut built = Built::jvm("8", "CMS", 60.0);
        built.pause("Full GC", "Allocation Failure", 5.0, 900.0, &[]);
        let Judgement::RuledOut { figure, .. } = judged(&GcLocker, &built.sealed()) else { panic!("found") };
        assert_eq!(figure.fact().metric, &ruled_out::NO_YOUNG);
    }

    #[test]
    fn a_few_or_short_ones_are_ruled_out() {
        assert!(matches!(judged(&GcLocker, &log(4, 100, 300.0).sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(judged(&GcLocker, &log(60, 100, 2.0).sealed()), Judgement::RuledOut { .. }));
        assert!(matches!(judged(&GcLocker, &log(0, 100, 20.0).sealed()), Judgement::RuledOut { .. }));
    }
}
