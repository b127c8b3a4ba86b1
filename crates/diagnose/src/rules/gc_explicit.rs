//! `gc-explicit`: somebody asks for full collections: `System.gc()`, jcmd, a heap histogram or dump, an agent.

use std::collections::BTreeMap;

use super::gc_case::{GcCase, cited, most, remedy, several_or_long, summed};
use crate::collections::Pause;
use crate::{Case, Confidence, Finding, Judgement, Layer, Remedy, Rule, quantity};

/// Distance of the collections that RMI's distributed collector asks for (`sun.rmi.dgc.server.gcInterval`, one hour
/// by default), seconds, and how exactly they keep to it.
const RMI_S: (f64, f64) = (3_600.0, 0.02);
/// From how many on a period is told.
const PERIODIC: usize = 3;
/// Calls as close as this that come in bunches are typical of direct memory running out: `Bits.reserveMemory` calls
/// `System.gc()` and sleeps 1, 2, 4 … ms up to 512 ms before it gives up, seconds.
const BUNCHED_S: f64 = 2.0;

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
         3600 s is RMI's.\n\n\
         **Look-alikes.** Full collections for lack of room have causes of their own (`Ergonomics`, `Allocation \
         Failure`, `Metadata GC Threshold`). `System.gc()` calls within two seconds of each other may come from \
         direct memory running out, which is said."
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        let asked: Vec<Pause<'_>> = gc.slow.iter().filter(|p| initiator(p).is_some()).copied().collect();
        if asked.is_empty() {
            return gc.ruled_out(format!(
                "none of {} was asked for",
                quantity::plural(gc.slow.len(), "pause", "pauses")
            ));
        }
        let cost_ms = gc.excess_ms(|p| initiator(p).is_some());
        let longest = asked.iter().map(Pause::ms).fold(0.0, f64::max);
        let adds_up = case.matters(cost_ms) && several_or_long(&asked);
        if !(adds_up || gc.stands_out(longest, gc.usual_ms(|p| initiator(p).is_none()))) {
            return gc.ruled_out(format!(
                "{} asked for, {} above the base",
                quantity::plural(asked.len(), "collection was", "collections were"),
                quantity::millis(cost_ms)
            ));
        }
        Judgement::Found(Box::new(found(self, &gc, &asked, cost_ms)))
    }
}

/// Who asks for collections of a cause.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Initiator {
    System,
    Command,
    Histogram,
    Dump,
    Agent,
}

impl Initiator {
    fn name(self) -> &'static str {
        match self {
            Self::System => "System.gc() called by the application or a library",
            Self::Command => "jcmd GC.run",
            Self::Histogram => "a heap histogram (jmap -histo, jcmd GC.class_histogram)",
            Self::Dump => "a heap dump",
            Self::Agent => "an agent through JVMTI",
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

/// The median distance between starts, seconds.
fn period_s(asked: &[Pause<'_>]) -> Option<f64> {
    let gaps = asked.windows(2).filter_map(|pair| match pair {
        [a, b] => Some(b.span.t0_ns().saturating_sub(a.span.t0_ns()) as f64 / 1e9),
        _ => None,
    });
    (asked.len() >= PERIODIC).then(|| super::gc_case::median(gaps)).filter(|s| *s > 0.0)
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, asked: &[Pause<'_>], cost_ms: f64) -> Finding {
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
    let rmi = main == Initiator::System && period.is_some_and(|s| (s / RMI_S.0 - 1.0).abs() <= RMI_S.1);
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, asked);
    let who = if rmi { "RMI's hourly System.gc()" } else { main.name() };
    finding.title = format!(
        "{} asked for by {who}: {} of stops",
        quantity::plural(asked.len(), "collection", "collections"),
        quantity::millis(total(asked)),
    );
    finding.culprit = who.into();
    finding.meaning =
        "The heap did not need these collections. Each one looks at the whole heap, most of them while \
                       the application is stopped."
            .into();
    for (who, pauses) in &by {
        let text = format!(
            "{}: {}, {} in all, cause \"{}\"",
            who.name(),
            quantity::plural(pauses.len(), "collection", "collections"),
            quantity::millis(total(pauses)),
            pauses.first().and_then(Pause::cause).unwrap_or_default()
        );
        finding.evidence.push(summed(gc.source(), text));
    }
    if let Some(s) = period {
        let direct = if main == Initiator::System && s <= BUNCHED_S {
            "; so close together they may come from direct memory that runs out (-XX:MaxDirectMemorySize)"
        } else {
            ""
        };
        finding
            .evidence
            .push(summed(gc.source(), format!("one every {} (median){direct}", quantity::seconds(s))));
    }
    finding.evidence.extend(most(asked, Pause::ms).into_iter().map(|p| {
        cited(
            &p.span,
            format!("{} ({}) of {}", p.span.name(), p.cause().unwrap_or_default(), quantity::millis(p.ms())),
        )
    }));
    finding.remedies = remedies(main, rmi);
    finding.verify = vec!["fathom gc shows no pause of this cause under \"Pauses by cause\"".into()];
    if main == Initiator::System {
        finding
            .verify
            .insert(0, "the JFR event jdk.SystemGC (JDK 17 and later) has the stack of the caller".into());
    }
    if finding.confidence == Confidence::Proven && asked.iter().all(|p| !p.collected_old()) {
        finding.confidence = Confidence::Likely;
        finding.why_confidence =
            "the log names the cause; the collections asked for ran mostly beside the application".into();
    }
    finding
}

fn remedies(main: Initiator, rmi: bool) -> Vec<Remedy> {
    let remove = match main {
        Initiator::System if rmi => remedy(
            "-Dsun.rmi.dgc.server.gcInterval=… and -Dsun.rmi.dgc.client.gcInterval=… (milliseconds)",
            "any JDK",
            "remote objects that nobody uses are let go later",
        ),
        Initiator::System => remedy("remove the call from the application or library", "any JDK", ""),
        Initiator::Command => remedy("stop the script or tool that runs jcmd PID GC.run", "any JDK", ""),
        Initiator::Histogram => remedy(
            "take histograms rarely; jcmd PID GC.class_histogram -all does not collect first",
            "any JDK",
            "-all counts garbage too",
        ),
        Initiator::Dump => remedy(
            "take heap dumps when the application is idle; jcmd PID GC.heap_dump -all does not collect first",
            "any JDK",
            "the dump holds garbage too",
        ),
        Initiator::Agent => remedy("detach or configure the agent", "any JDK", ""),
    };
    let mut remedies = vec![remove];
    if main == Initiator::System {
        remedies.push(remedy(
            "-XX:+ExplicitGCInvokesConcurrent",
            "G1, CMS, Shenandoah; any JDK",
            "System.gc() starts a concurrent cycle instead; direct memory is freed later",
        ));
        remedies.push(remedy(
            "-XX:+DisableExplicitGC",
            "any JDK",
            "code that relies on it breaks: direct memory (NIO) is freed by System.gc() when it runs out",
        ));
    }
    remedies
}

#[cfg(test)]
mod tests {
    use super::*;
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
    fn calls_of_system_gc_are_found_by_their_cause_with_their_period() {
        let Judgement::Found(finding) = judged(&GcExplicit, &log("System.gc()", 1.0, 150.0, 60.0).sealed())
        else {
            panic!("not found")
        };
        assert_eq!((finding.cost_ms, finding.confidence), (59.0 * 150.0, Confidence::Likely));
        assert!(
            finding.evidence.iter().any(|e| e.text.contains("one every 1.00 s")),
            "{:?}",
            finding.evidence
        );
        assert!(finding.evidence.iter().any(|e| e.text.contains("direct memory")));
    }

    #[test]
    fn an_hourly_call_is_rmis() {
        let Judgement::Found(finding) =
            judged(&GcExplicit, &log("System.gc()", 3601.0, 2_500.0, 40_000.0).sealed())
        else {
            panic!("not found")
        };
        assert!(finding.title.contains("RMI"), "{}", finding.title);
        assert!(finding.remedies[0].change.contains("gcInterval"));
    }

    #[test]
    fn initiators_are_told_apart_by_the_cause() {
        for (cause, who) in [
            ("Diagnostic Command", "jcmd GC.run"),
            ("Heap Inspection Initiated GC", "histogram"),
            ("Heap Dump Initiated GC", "heap dump"),
            ("JvmtiEnv ForceGarbageCollection", "JVMTI"),
            ("System", "System.gc()"),
        ] {
            let Judgement::Found(finding) = judged(&GcExplicit, &log(cause, 2.0, 300.0, 60.0).sealed())
            else {
                panic!("{cause} not found")
            };
            assert!(finding.culprit.contains(who), "{cause}: {}", finding.culprit);
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
        assert!(figure.contains("12 collections"), "{figure}");
    }
}
