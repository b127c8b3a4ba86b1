//! `gc-allocation-stall`: threads wait for a concurrent collector that cannot free memory as fast
//! as they allocate.

use fathom_recording::Span;
use fathom_recording::vocabulary::{fact, kind};

use super::gc_case::{GcCase, cited, ranges, several_or_long, summed, windows_of};
use crate::collections::Pause;
use crate::facts::{Value, checks, culprits, meanings, pauses, remedies, ruled_out, titles};
use crate::failures::was_asked_for;
use crate::{Case, Finding, Judgement, Layer, Rule};

/// One stall from which on a request notices, milliseconds: ZGC and Shenandoah are chosen for
/// pauses below one.
const STALL_MS: f64 = 10.0;
/// Findings cite as many stalls.
const CITED: usize = 3;

/// The rule.
pub struct GcAllocationStall;

impl Rule for GcAllocationStall {
    fn id(&self) -> &'static str {
        "gc-allocation-stall"
    }

    fn layer(&self) -> Layer {
        Layer::Gc
    }

    fn about(&self) -> &'static str {
        "ZGC and Shenandoah free memory while the application runs. When it allocates faster than they free, ZGC lets \
         each thread that allocates wait (`Allocation Stall`), and Shenandoah finishes its cycle with the application \
         stopped (`Degenerated GC`). These stalls are no pauses: other threads run on, and no metric of pauses shows them.\n\n\
         **Evidence.** The stalls as the log prints them, thread by thread, the time in which at \
         least one thread waited is the cost. For Shenandoah the degenerated collections, and full ones that nobody asked \
         for. Where a series shows what was lost, one must last 10 ms and they must be a good part of it.\n\n\
         **Confounders.** No other cause prints the same lines. Why the collector is late is shown by the rest: the live set \
         fills the heap, or too few concurrent threads, or a burst of allocation.\n\n\
         **Ruled out** by the number and length of stalls."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        let concurrent = gc.fact(fact::COLLECTOR).is_none_or(|c| c == "Z" || c == "Shenandoah");
        let stalls: Vec<Span<'_>> = case.spans_in(kind::GC_STALL, jvm, &case.slow).collect();
        let sort = if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Shenandoah")) {
            is_late
        } else {
            is_degenerated
        };
        let degenerated: Vec<Pause<'_>> = gc.slow.iter().filter(|p| sort(p)).copied().collect();
        if stalls.is_empty() && degenerated.is_empty() {
            let none = ruled_out::NO_STALL.fact();
            return if concurrent { gc.ruled_out(none) } else { Judgement::NotApplicable };
        }
        let covered = |windows: &[crate::Window]| {
            let stalls = case.spans_in(kind::GC_STALL, jvm, windows).map(|s| (s.t0_ns(), s.t1_ns()));
            Case::union_ms(stalls, windows)
        };
        let stalled_ms = case.excess_ms(covered(&case.slow), covered(&case.base));
        let cost_ms = stalled_ms + gc.excess_ms(|p| sort(p));
        let longest = stalls.iter().map(|s| s.duration_ns()).max().unwrap_or(0) as f64 / 1e6;
        let longest = degenerated.iter().map(Pause::ms).fold(longest, f64::max);
        let usual = gc.usual_ms(|p| !sort(p));
        let few = stalls.is_empty() && !several_or_long(&degenerated);
        let weighs = longest >= STALL_MS && !few && (case.matters(cost_ms) || gc.stands_out(longest, usual));
        if !weighs && !gc.on_stops() {
            let fact = ruled_out::STALLS_LITTLE.is(Value::ms(cost_ms)).with("longest", Value::ms(longest));
            let fact = fact.with("stalls", Value::count(stalls.len()));
            return gc.ruled_out(fact.with("degenerated", Value::count(degenerated.len())));
        }
        Judgement::Found(Box::new(found(self, &gc, stalls, &degenerated, cost_ms)))
    }
}

/// Shenandoah finished a cycle, or did a whole collection, with the application stopped because it
/// ran out of room.
fn is_degenerated(pause: &Pause<'_>) -> bool {
    pause.span.name().contains("Degenerated")
}

/// Whether a pause of Shenandoah or ZGC did what should have been done concurrently with the
/// application: a degenerated collection, and a full one that nobody asked for.
fn is_late(pause: &Pause<'_>) -> bool {
    is_degenerated(pause) || (pause.labelled_full() && !was_asked_for(pause))
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    mut stalls: Vec<Span<'_>>,
    degenerated: &[Pause<'_>],
    cost_ms: f64,
) -> Finding {
    let mut finding = gc.finding(rule, gc.named(cost_ms), cost_ms, degenerated);
    finding.acts.extend(windows_of(stalls.iter().copied()));
    finding.windows.extend(ranges(stalls.iter().copied()));
    finding.windows.sort_by_key(|w| w.from_ns);
    stalls.sort_by_key(|s| std::cmp::Reverse(s.duration_ns()));
    let total_ms: f64 = stalls.iter().map(|s| s.duration_ns() as f64 / 1e6).sum();
    let mut threads: Vec<_> = stalls.iter().filter_map(Span::thread).collect();
    threads.sort_unstable();
    threads.dedup();
    finding.title = match stalls.is_empty() {
        true => {
            let n = Value::count(degenerated.len());
            let title = titles::GC_DEGENERATED.is(Value::ms(cost_ms));
            match degenerated.iter().any(is_degenerated) {
                true => title.with("degenerated", n),
                false => title.with("collections", n),
            }
        }
        false => {
            titles::GC_ALLOCATION_STALL.is(Value::ms(total_ms)).with("stalls", Value::count(stalls.len()))
        }
    }
    .into();
    finding.culprit = culprits::ALLOCATION.fact().into();
    finding.meaning = meanings::COLLECTOR_TOO_LATE.fact().into();
    if !stalls.is_empty() {
        let fact = pauses::STALLS.is(Value::ms(total_ms)).with("stalls", Value::count(stalls.len()));
        let fact = fact.with("threads", Value::count(threads.len())).with("throughout", Value::ms(cost_ms));
        finding.evidence.push(summed(gc.source(), fact));
    }
    finding.evidence.extend(stalls.iter().take(CITED).map(|s| {
        let thread = s.thread().and_then(|t| gc.case.recording.threads.get(t.index()));
        let thread = thread.map_or("a thread", |t| gc.case.recording.strings.get(t.name));
        let fact = pauses::STALL.is(Value::ms(s.duration_ns() as f64 / 1e6));
        cited(s, fact.with("stall", Value::name(s.name())).with("thread", Value::name(thread)))
    }));
    finding.evidence.extend(
        super::gc_case::most(degenerated, Pause::ms).into_iter().map(|p| cited(&p.span, pauses::pause(p))),
    );
    if let (Some(live), Some(heap)) = (live_bytes(gc), gc.heap_max_bytes()) {
        let fact = pauses::LIVE_SET_ABOUT.is(Value::bytes(live)).with("heap", Value::bytes(heap));
        finding.evidence.push(summed(gc.source(), fact));
    }
    finding.remedies = vec![
        remedies::ROOM_FOR_A_CYCLE.remedy(),
        remedies::MORE_CONCURRENT_THREADS.remedy(),
        remedies::EARLIER_CYCLES_OF_ZGC.remedy(),
        remedies::ALLOCATE_LESS.remedy(),
    ];
    finding.verify = vec![checks::NO_STALLS.fact().into()];
    finding
}

fn live_bytes(gc: &GcCase<'_, '_>) -> Option<f64> {
    let points = crate::collections::live_points(gc.case.recording, gc.jvm, None);
    points.iter().map(|p| p.bytes).reduce(f64::min)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};

    #[test]
    fn stalls_are_charged_with_the_time_in_which_any_thread_waited() {
        let mut built = Built::jvm("21", "Z", 10.0);
        built.pause("Pause Mark Start", "", 1.0, 0.02, &[]);
        for thread in ["worker-1", "worker-2", "worker-3"] {
            built.on_thread(kind::GC_STALL, thread, "Allocation Stall", 2.0, 400.0);
            built.on_thread(kind::GC_STALL, thread, "Allocation Stall", 3.1, 300.0);
        }
        let Judgement::Found(finding) = judged(&GcAllocationStall, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!(finding.cost_ms, 700.0);
        finding.title.states(&titles::GC_ALLOCATION_STALL, &[("stalls", "6"), ("value", "2.10 s")]);
        assert_eq!(finding.fact(&pauses::STALLS).number("threads"), Some(3.0));
    }

    #[test]
    fn a_short_stall_is_named_none_is_ruled_out_and_other_collectors_do_not_have_them() {
        let mut built = Built::jvm("21", "Z", 10.0);
        built.on_thread(kind::GC_STALL, "worker-1", "Allocation Stall", 2.0, 0.4);
        assert!(matches!(judged(&GcAllocationStall, &built.sealed()), Judgement::Found(_)));
        let mut quiet = Built::jvm("21", "Z", 10.0);
        quiet.pause("Pause Mark Start", "", 1.0, 0.02, &[]);
        assert!(matches!(judged(&GcAllocationStall, &quiet.sealed()), Judgement::RuledOut { .. }));
        let mut g1 = Built::jvm("21", "G1", 10.0);
        g1.pause("Pause Young (Normal)", "", 1.0, 2_000.0, &[]);
        assert_eq!(judged(&GcAllocationStall, &g1.sealed()), Judgement::NotApplicable);
    }

    #[test]
    fn degenerated_collections_are_shenandoahs_stalls() {
        let mut built = Built::jvm("17", "Shenandoah", 10.0);
        built.pause("Pause Init Mark", "", 1.0, 0.1, &[]);
        built.pause("Pause Degenerated GC (Mark)", "", 2.0, 900.0, &[]);
        let Judgement::Found(finding) = judged(&GcAllocationStall, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!(finding.cost_ms, 900.0);
    }
}
