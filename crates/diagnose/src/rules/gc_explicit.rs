//! `gc-explicit`: somebody asks for full collections: `System.gc()`, jcmd, a heap histogram or
//! dump, an agent.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Recording, StackId};
use rustc_hash::FxHashMap;

use super::gc_case::{GcCase, cited, most, several_or_long, summed};
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, titles};
use crate::{Case, Finding, Judgement, LONG_STOP_MS, Layer, Remedy, Rule};

/// Distance of the collections that RMI's distributed collector asks for
/// (`sun.rmi.dgc.server.gcInterval`, one hour by default), seconds, and how exactly they keep to
/// it.
const RMI_S: (f64, f64) = (3_600.0, 0.02);
/// Collections closer together than this follow the heap's filling and no timer, seconds.
const TIMER_S: f64 = 60.0;
/// Share of the gaps that must keep to the period.
const REGULAR: f64 = 0.75;
/// From how many on a period is reported.
const PERIODIC: usize = 3;
/// Calls as close as this that come in bunches are typical of direct memory running out:
/// `Bits.reserveMemory` calls `System.gc()` and sleeps 1, 2, 4 … ms up to 512 ms before it gives
/// up, seconds.
const BUNCHED_S: f64 = 2.0;

/// Frames below which somebody asks: the call itself, and the JDK's own when a direct buffer finds
/// no room.
const ASKS: [&str; 2] = ["java.lang.System.gc", "java.lang.Runtime.gc"];
const DIRECT: &str = "java.nio.Bits.reserveMemory";
/// The JDK's own methods on the way to a direct buffer: who wants one calls them.
const PLATFORM: [&str; 4] = ["java.", "jdk.internal.", "sun.nio.", "sun.misc."];

/// The rule.
pub struct GcExplicit;

impl Rule for GcExplicit {
    fn id(&self) -> &'static str {
        "gc-explicit"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "A collection that the heap did not need was asked for: by `System.gc()` in the application or a library, by \
         RMI once an hour, by `jcmd GC.run`, by a heap histogram or dump (monitoring agents take them), by an agent \
         through JVMTI. With most collectors each one is a full collection with the application stopped.\n\n\
         **Evidence.** The cause that the log prints. It names the initiator: `System.gc()`, `Diagnostic Command`, \
         `Heap Inspection Initiated GC`, `Heap Dump Initiated GC`, `JvmtiEnv ForceGarbageCollection`. A period of \
         3600 s is RMI's. Where the log names no causes, full collections that keep to a period of a minute or more within \
         2% are a timer's.\n\n\
         **Confounders.** Full collections for lack of room have causes of their own (`Ergonomics`, `Allocation \
         Failure`, `Metadata GC Threshold`). Direct memory that runs out asks for collections as well \
         (`java.nio.Bits.reserveMemory`): stacks of a live recording show it, and who allocates; from a log alone, calls \
         within two seconds of each other may be that, which is reported. Then `-XX:+DisableExplicitGC` would end in an \
         `OutOfMemoryError`, and is not advised."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        let timed = by_a_timer(&gc.all);
        let initiator =
            |p: &Pause<'_>| initiator(p).or_else(|| is_timed(p, timed).then_some(Initiator::Timer));
        let asked: Vec<Pause<'_>> = gc.slow.iter().filter(|p| initiator(p).is_some()).copied().collect();
        if asked.is_empty() {
            let fact = ruled_out::NOT_ASKED_FOR.is(Value::count(gc.slow.len()));
            return gc.ruled_out_among(gc.slow.len(), fact);
        }
        let cost_ms = gc.excess_ms(|p| initiator(p).is_some());
        let longest = asked.iter().map(Pause::ms).fold(0.0, f64::max);
        let adds_up = gc.matters(cost_ms) && several_or_long(&asked);
        let stands_out = gc.stands_out(longest, gc.usual_ms(|p| initiator(p).is_none()));
        let keeps_time = gc.on_stops() && longest >= LONG_STOP_MS && regular_s(&asked).is_some();
        // A heap dump that holds the JVM is a finding with the collection that it begins with.
        let in_operations = || {
            let asked: Vec<_> = asked.iter().map(|p| p.span).collect();
            super::safepoint_operation::explains(case, jvm, &asked)
        };
        if !(adds_up || stands_out || keeps_time) && in_operations() {
            return Judgement::NotApplicable;
        }
        if !(adds_up || stands_out || keeps_time) {
            let fact = ruled_out::ASKED_FOR_LITTLE.is(Value::ms(cost_ms));
            let fact = fact.with("collections", Value::count(asked.len()));
            return gc.ruled_out(fact.with("every", regular_s(&asked).map(Value::seconds)));
        }
        Judgement::Found(Box::new(found(self, &gc, &asked, cost_ms, initiator)))
    }
}

/// Who asks for collections of a cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Initiator {
    System,
    Direct,
    Command,
    Histogram,
    Dump,
    Agent,
    /// Nobody is named: the log has no causes, and they keep to a period.
    Timer,
}

/// Who asked, as stacks of the JVM's threads in the slow windows show it: whether direct memory had
/// run out, and whose code.
fn asker<'a>(gc: &GcCase<'_, 'a>) -> Option<(bool, Option<&'a str>)> {
    let recording: &'a Recording = gc.case.recording;
    ASKS.iter().chain([&DIRECT]).find_map(|name| recording.strings.find(name))?;
    let within = crate::intervals::Intervals::of_windows(&gc.case.slow);
    let mut known: FxHashMap<StackId, Option<(bool, Option<&'a str>)>> = FxHashMap::default();
    let mut by: BTreeMap<(bool, Option<&'a str>), usize> = BTreeMap::new();
    let mut count = |process: ProcessId, stack: Option<StackId>, from: i64, to: i64| {
        let Some(stack) = stack.filter(|_| process == gc.jvm && within.touches(from, to)) else { return };
        if let Some(who) = *known.entry(stack).or_insert_with(|| asks(recording, stack)) {
            *by.entry(who).or_default() += 1;
        }
    };
    for sample in recording.samples.iter() {
        count(sample.process, sample.stack, sample.t_ns, sample.t_ns.saturating_add(1));
    }
    for span in recording.spans_of(kind::SCHED_OFF) {
        count(span.process(), span.stack(), span.t0_ns(), span.t1_ns());
    }
    by.into_iter().max_by_key(|(_, times)| *times).map(|(who, _)| who)
}

/// Whether a stack asks for a collection: for lack of direct memory, and whose code that is.
fn asks(recording: &Recording, stack: StackId) -> Option<(bool, Option<&str>)> {
    let (mut found, mut direct) = (false, false);
    for name in recording.frames_of(stack).map(|frame| frame.name()) {
        direct |= name == DIRECT;
        found |= direct || ASKS.contains(&name);
        if found && name.contains('.') && !PLATFORM.iter().any(|of| name.starts_with(of)) {
            return Some((direct, Some(name)));
        }
    }
    found.then_some((direct, None))
}

impl Initiator {
    fn name(self) -> &'static str {
        match self {
            Self::System => "System.gc() called by the application or a library",
            Self::Direct => "direct memory that had run out (java.nio.Bits.reserveMemory)",
            Self::Command => "jcmd GC.run",
            Self::Histogram => "a heap histogram (jmap -histo, jcmd GC.class_histogram)",
            Self::Dump => "a heap dump",
            Self::Agent => "an agent through JVMTI",
            Self::Timer => "a timer (the log names no causes; RMI's asks for one every hour)",
        }
    }
}

/// Causes as gcCause.cpp words them; JDK 6 and 7 print "(System)".
fn initiator(pause: &Pause<'_>) -> Option<Initiator> {
    let cause = pause.cause()?;
    Some(match cause {
        _ if cause.starts_with("System") => Initiator::System,
        "Diagnostic Command" => Initiator::Command,
        _ if cause.starts_with("Heap Inspection") => Initiator::Histogram,
        _ if cause.starts_with("Heap Dump") => Initiator::Dump,
        _ if cause.contains("ForceGarbageCollection") => Initiator::Agent,
        _ => return None,
    })
}

/// The distance that collections keep to, seconds: most of their gaps are within [`RMI_S`] of their
/// median.
fn regular_s(pauses: &[Pause<'_>]) -> Option<f64> {
    let starts: Vec<f64> = pauses.iter().map(|p| p.span.t0_ns() as f64 / 1e9).collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let usual = period_s(pauses).filter(|s| *s >= TIMER_S)?;
    let kept = gaps.iter().filter(|gap| (*gap / usual - 1.0).abs() <= RMI_S.1).count();
    (kept as f64 >= REGULAR * gaps.len() as f64).then_some(usual)
}

/// The distance of full collections without a cause that keep to a period, seconds.
fn by_a_timer(all: &[Pause<'_>]) -> Option<f64> {
    let unnamed: Vec<Pause<'_>> = all.iter().filter(|p| is_unnamed(p)).copied().collect();
    regular_s(&unnamed)
}

fn is_unnamed(pause: &Pause<'_>) -> bool {
    pause.labelled_full() && pause.cause().is_none() && pause.span.label(label::FAILURE).is_none()
}

fn is_timed(pause: &Pause<'_>, timed: Option<f64>) -> bool {
    timed.is_some() && is_unnamed(pause)
}

/// The median distance between starts, seconds.
fn period_s(asked: &[Pause<'_>]) -> Option<f64> {
    let gaps = asked.windows(2).filter_map(|pair| match pair {
        [a, b] => Some(b.span.t0_ns().saturating_sub(a.span.t0_ns()) as f64 / 1e9),
        _ => None,
    });
    (asked.len() >= PERIODIC).then(|| super::gc_case::median(gaps)).filter(|s| *s > 0.0)
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    asked: &[Pause<'_>],
    cost_ms: f64,
    initiator: impl Fn(&Pause<'_>) -> Option<Initiator>,
) -> Finding {
    let mut by: BTreeMap<Initiator, Vec<Pause<'_>>> = BTreeMap::new();
    for pause in asked {
        if let Some(who) = initiator(pause) {
            by.entry(who).or_default().push(*pause);
        }
    }
    let total = |pauses: &[Pause<'_>]| pauses.iter().map(Pause::ms).sum::<f64>();
    let main =
        by.iter().max_by(|a, b| total(a.1).total_cmp(&total(b.1))).map_or(Initiator::System, |(who, _)| *who);
    let period = by.get(&main).and_then(|pauses| period_s(pauses));
    let asker = if main == Initiator::System { asker(gc) } else { None };
    let main = if asker.is_some_and(|(direct, _)| direct) { Initiator::Direct } else { main };
    let rmi = matches!(main, Initiator::System | Initiator::Timer)
        && period.is_some_and(|s| (s / RMI_S.0 - 1.0).abs() <= RMI_S.1);
    let concurrent = asked.iter().all(|p| !p.collected_old());
    let sure = match gc.named(cost_ms) {
        _ if main == Initiator::Timer => {
            let why = &reasons::PERIODIC;
            Ground::Fits.because(gc.case, cost_ms, why)
        }
        (confidence, _) if concurrent && Ground::Incomplete.at_most(confidence) < confidence => {
            let why = &reasons::MOSTLY_CONCURRENT;
            Ground::Incomplete.because(gc.case, cost_ms, why)
        }
        named => named,
    };
    let mut finding = gc.finding(rule, sure, cost_ms, asked);
    let who = if rmi { "RMI's hourly System.gc()" } else { main.name() };
    let title = titles::GC_EXPLICIT.is(Value::ms(total(asked))).with("by", Value::name(who));
    finding.title = title.with("collections", Value::count(asked.len())).into();
    finding.culprit = match asker {
        Some((true, Some(method))) => culprits::DIRECT_BUFFERS.is(Value::name(method)),
        Some((false, Some(method))) => culprits::SYSTEM_GC.is(Value::name(method)),
        _ => culprits::ASKED_BY.is(Value::name(who)),
    }
    .into();
    finding.meaning =
        if main == Initiator::Direct { &meanings::ASKED_FOR_BUFFERS } else { &meanings::ASKED_FOR }
            .fact()
            .into();
    for (who, of) in &by {
        let cause = of.first().and_then(Pause::cause).unwrap_or_default();
        let fact = pauses::ASKED_FOR.is(Value::ms(total(of))).with("by", Value::name(who.name()));
        let fact = fact.with("collections", Value::count(of.len())).with("cause", Value::name(cause));
        finding.evidence.push(summed(gc.source(), fact));
    }
    if let Some(s) = period {
        let bunched = main == Initiator::System && s <= BUNCHED_S;
        let every = if bunched { &pauses::ASKED_IN_BUNCHES } else { &pauses::ASKED_EVERY };
        finding.evidence.push(summed(gc.source(), every.is(Value::seconds(s))));
    }
    let longest = most(asked, Pause::ms).into_iter();
    finding.evidence.extend(longest.map(|p| cited(&p.span, pauses::with_cause(p))));
    let bunched = main == Initiator::System && asker.is_none() && period.is_some_and(|s| s <= BUNCHED_S);
    finding.remedies = remedies(main, rmi, bunched);
    finding.verify = vec![checks::NO_PAUSE_OF_CAUSE.fact().into()];
    if main == Initiator::System {
        finding.verify.insert(0, checks::JFR_SYSTEM_GC.fact().into());
    }
    finding
}

fn remedies(main: Initiator, rmi: bool, bunched: bool) -> Vec<Remedy> {
    let more_room = || remedies::MORE_DIRECT_MEMORY.remedy();
    let remove = match main {
        Initiator::System | Initiator::Timer if rmi => remedies::RMI_INTERVAL.remedy(),
        Initiator::Direct => remedies::REUSE_DIRECT_BUFFERS.remedy(),
        Initiator::System => remedies::NO_SYSTEM_GC.remedy(),
        Initiator::Command => remedies::NO_JCMD_GC_RUN.remedy(),
        Initiator::Histogram => remedies::HISTOGRAMS_WITHOUT_COLLECTION.remedy(),
        Initiator::Dump => remedies::DUMPS_WITHOUT_COLLECTION.remedy(),
        Initiator::Timer => remedies::FIND_THE_TIMER.remedy(),
        Initiator::Agent => remedies::CONFIGURE_AGENT.remedy(),
    };
    let mut remedies = vec![remove];
    if main == Initiator::Direct || bunched {
        remedies.push(more_room());
    }
    if main == Initiator::System && !bunched {
        remedies.push(remedies::EXPLICIT_GC_CONCURRENT.remedy());
        remedies.push(remedies::DISABLE_EXPLICIT_GC.remedy());
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    fn log(cause: &str, every_s: f64, ms: f64, run_s: f64) -> Built {
        let mut built = Built::jvm("17", "G1", run_s);
        let mut at = 1.0;
        while at < run_s {
            built.pause("Pause Full", cause, at, ms, &[]);
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", at + every_s / 2.0, 5.0, &[]);
            at += every_s;
        }
        built
    }

    #[test]
    fn full_collections_without_a_cause_that_keep_to_the_hour_are_a_timers() {
        let hours = |every_s: f64, jitter: f64| {
            let mut built = Built::jvm("6", "CMS", 90_000.0);
            for i in 0..24 {
                let at = f64::from(i) * every_s + if i % 2 == 0 { jitter } else { 0.0 };
                built.pause("Full GC", "", 10.0 + at, 450.0, &[]);
            }
            judged(&GcExplicit, &built.sealed())
        };
        let Judgement::Found(finding) = hours(3_602.0, 0.0) else { panic!("not found") };
        finding.title.states(&titles::GC_EXPLICIT, &[("by", "RMI's hourly System.gc()")]);
        finding.remedies[0].change.states(&remedies::RMI_INTERVAL, &[]);
        assert!(matches!(hours(3_602.0, 900.0), Judgement::RuledOut { .. }));
        assert!(matches!(hours(20.0, 0.0), Judgement::RuledOut { .. }), "the heap fills as regularly");
    }

    #[test]
    fn calls_of_system_gc_are_found_by_their_cause_with_their_period() {
        let Judgement::Found(finding) = judged(&GcExplicit, &log("System.gc()", 1.0, 150.0, 60.0).sealed())
        else {
            panic!("not found")
        };
        assert_eq!((finding.cost_ms, finding.confidence), (59.0 * 150.0, Confidence::Likely));
        assert!(
            finding.facts(&pauses::ASKED_IN_BUNCHES).any(|every| every.number("value") == Some(1_000.0)),
            "{:?}",
            finding.evidence
        );
    }

    #[test]
    fn direct_memory_that_runs_out_is_known_by_the_stacks_and_its_collections_must_not_be_switched_off() {
        use fathom_recording::FrameType::{C2, Interpreted};
        let mut built = log("System.gc()", 1.0, 150.0, 60.0);
        let frames = [
            ("java.lang.Runtime.gc", C2),
            (DIRECT, C2),
            ("java.nio.ByteBuffer.allocateDirect", C2),
            ("shop.Mail.send", Interpreted),
        ];
        built.on_cpu("worker", &frames, 5.0, 10.0);
        let Judgement::Found(finding) = judged(&GcExplicit, &built.sealed()) else { panic!("not found") };
        finding.culprit.states(&culprits::DIRECT_BUFFERS, &[("value", "shop.Mail.send")]);
        assert_eq!(finding.says(&titles::GC_EXPLICIT).name("by"), Some(Initiator::Direct.name()));
        assert!(finding.advises(&remedies::MORE_DIRECT_MEMORY), "{:?}", finding.remedies);
        assert!(!finding.advises(&remedies::DISABLE_EXPLICIT_GC), "{:?}", finding.remedies);

        let mut built = log("System.gc()", 5.0, 450.0, 60.0);
        built.on_cpu(
            "worker",
            &[("java.lang.Runtime.gc", C2), ("java.lang.System.gc", C2), ("shop.Tidy.up", C2)],
            5.0,
            10.0,
        );
        let Judgement::Found(finding) = judged(&GcExplicit, &built.sealed()) else { panic!("not found") };
        finding.culprit.states(&culprits::SYSTEM_GC, &[("value", "shop.Tidy.up")]);
    }

    #[test]
    fn an_hourly_call_is_rmis() {
        let Judgement::Found(finding) =
            judged(&GcExplicit, &log("System.gc()", 3601.0, 2_500.0, 40_000.0).sealed())
        else {
            panic!("not found")
        };
        finding.title.states(&titles::GC_EXPLICIT, &[("by", "RMI's hourly System.gc()")]);
        finding.remedies[0].change.states(&remedies::RMI_INTERVAL, &[]);
    }

    #[test]
    fn initiators_are_distinguished_by_the_cause() {
        for (cause, who) in [
            ("Diagnostic Command", Initiator::Command),
            ("Heap Inspection Initiated GC", Initiator::Histogram),
            ("Heap Dump Initiated GC", Initiator::Dump),
            ("JvmtiEnv ForceGarbageCollection", Initiator::Agent),
            ("System", Initiator::System),
        ] {
            let Judgement::Found(finding) = judged(&GcExplicit, &log(cause, 2.0, 300.0, 60.0).sealed())
            else {
                panic!("{cause} not found")
            };
            assert_eq!(finding.named(), who.name(), "{cause}");
        }
    }

    #[test]
    fn full_collections_for_lack_of_room_were_not_asked_for() {
        for cause in ["Ergonomics", "Allocation Failure", "Metadata GC Threshold", "G1 Compaction Pause"] {
            let judgement = judged(&GcExplicit, &log(cause, 1.0, 150.0, 60.0).sealed());
            assert!(matches!(judgement, Judgement::RuledOut { .. }), "{cause}");
        }
    }

    #[test]
    fn a_short_collection_now_and_then_does_not_matter() {
        let judgement = judged(&GcExplicit, &log("System.gc()", 600.0, 40.0, 7_200.0).sealed());
        let Judgement::RuledOut { figure, .. } = judgement else { panic!("found") };
        figure.states(&ruled_out::ASKED_FOR_LITTLE, &[("collections", "12")]);
    }
}
