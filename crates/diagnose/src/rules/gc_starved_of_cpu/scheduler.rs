//! What the scheduler shows of the collector's threads: for pauses whose record has no CPU times,
//! as that of a live recording.

use super::PAUSES;
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, titles};
use crate::limits::LONG_MS;
use crate::rules::gc_case::{GcCase, cited, most};
use crate::rules::gc_cpu::Ready;
use crate::rules::gc_heap_too_small::GcHeapTooSmall;
use crate::{Case, Finding, Judgement, MATTERS_SHARE, Rule};

/// By how much longer a pause was for the waiting of the collector's threads, milliseconds.
fn wasted_ms<'a>(gc: &GcCase<'_, 'a>, pause: &Pause<'a>) -> f64 {
    Ready::of(gc, std::iter::once(pause)).map_or(0.0, |ready| pause.ms() * ready.waited_share())
}

/// What the scheduler says of a JVM whose pauses have no CPU times; `None` where it was not
/// watched.
pub(super) fn judge(rule: &dyn Rule, gc: &GcCase<'_, '_>) -> Option<Judgement> {
    let ready = Ready::of(gc, gc.slow.iter())?;
    let wasted: f64 = gc.slow.iter().map(|p| wasted_ms(gc, p)).sum();
    let usual: f64 = gc.base_of(|_| true).iter().map(|p| wasted_ms(gc, p)).sum();
    let cost_ms = gc.case.excess_ms(wasted, usual).min(most_ms(gc, &ready));
    let longest = gc.slow.iter().map(Pause::ms).fold(0.0, f64::max);
    let enough = gc.slow.len() >= PAUSES || longest >= LONG_MS;
    if !enough || !ready.is_starved() || !gc.matters(cost_ms) {
        let fact = ruled_out::COLLECTOR_GOT_CPUS.is(Value::share(ready.waited_share()));
        return Some(gc.ruled_out(fact.with("cost", Value::ms(cost_ms))));
    }
    Some(Judgement::Found(Box::new(found(rule, gc, &ready, cost_ms))))
}

/// What of the pauses beyond those of the baseline the waiting can explain at most, milliseconds:
/// by how many times it made pauses longer than usual, of how many times they take more of the
/// time.
/// Work that grows waits for as much longer, where CPUs are as scarce as ever.
fn most_ms(gc: &GcCase<'_, '_>, ready: &Ready) -> f64 {
    let base = gc.base_of(|_| true);
    let length = |windows| Case::length_ms(windows).max(f64::MIN_POSITIVE);
    let share = |pauses: &[Pause<'_>], windows| pauses.iter().map(Pause::ms).sum::<f64>() / length(windows);
    let (slow_share, base_share) = (share(&gc.slow, &gc.case.slow), share(&base, &gc.case.base));
    let Some(usual) = Ready::of(gc, base.iter()).filter(|_| base_share > 0.0) else {
        return f64::INFINITY;
    };
    let times = |ready: &Ready| 1.0 / (1.0 - ready.waited_share()).max(f64::MIN_POSITIVE);
    let (longer, more) = ((times(ready) / times(&usual)).max(1.0).ln(), (slow_share / base_share).ln());
    let beyond_ms = (slow_share - base_share) * length(&gc.case.slow);
    if more <= longer { f64::INFINITY } else { beyond_ms * longer / more }
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, ready: &Ready, cost_ms: f64) -> Finding {
    // Where the collections themselves are too many, CPUs that are short make each of them longer.
    let too_many = matches!(GcHeapTooSmall.judge(gc.case, gc.jvm), Judgement::Found(_));
    let longest = gc.slow.iter().map(Pause::ms).fold(0.0, f64::max);
    // Where only the stops show what was slow, they must be much of the whole run: a part of it in
    // which more work is done has more collections.
    let is_much = !gc.on_stops() || longest >= LONG_MS || cost_ms >= MATTERS_SHARE * gc.logged_ms();
    let (ground, why) = match (too_many, is_much) {
        (true, _) => (Ground::Fits, &reasons::COLLECTIONS_EXPLAINED),
        (_, false) => (Ground::Fits, &reasons::LITTLE_OF_THE_RUN),
        _ => (Ground::Incomplete, &reasons::COLLECTOR_TIMED),
    };
    let mut finding = gc.finding(rule, ground.because(gc.case, cost_ms, why), cost_ms, &gc.slow);
    let paused = Value::ms(gc.slow.iter().map(Pause::ms).sum());
    let title = titles::GC_WAITED_FOR_CPU.is(Value::share(ready.waited_share()));
    finding.title = title.with("paused", paused).into();
    finding.culprit = culprits::TAKEN_CPUS.fact().into();
    finding.meaning = meanings::COLLECTOR_WAITED.fact().into();
    finding.evidence.push(ready.evidence(&gc.slow));
    let longest = most(&gc.slow, |pause| wasted_ms(gc, pause));
    finding.evidence.extend(longest.into_iter().map(|p| cited(&p.span, pauses::pause(p))));
    finding.remedies = vec![remedies::CPUS_FOR_COLLECTOR.remedy(), remedies::WORKERS_BY_CPUS.remedy()];
    finding.verify = vec![checks::COLLECTOR_GETS_CPUS.fact().into()];
    finding
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::{figure, kind};
    use fathom_recording::{Role, Sampling, Sink, Source, SourceId, SpanRow};

    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};
    use crate::rules::gc_starved_of_cpu::GcStarvedOfCpu;

    /// Forty pauses of 300 ms of a JVM whose two collector threads waited for a CPU for so long in
    /// each.
    fn pauses(waited_ms: i64) -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        let threads = [11, 12].map(|tid| built.recording.thread(built.jvm, Some(tid), "GC Thread", Role::Gc));
        for i in 0..40 {
            let at = f64::from(i) * 1.4;
            built.pause("Pause Young", "G1 Evacuation Pause", at, 300.0, &[]);
            let from = (at * 1e9) as i64;
            for thread in threads {
                let mut row = |kind: &'static str, ends: (i64, i64), figures: &[(&str, f64)]| {
                    let thread = Some(thread);
                    let row =
                        SpanRow { thread, figures, ..SpanRow::new(kind, "", ends, built.jvm, SourceId(0)) };
                    built.recording.span(&row);
                };
                let waited_ns = waited_ms * 1_000_000;
                row(kind::SCHED_WATCHED, (from, from + 1_400_000_000), &[]);
                row(kind::SCHED_OFF, (from, from + waited_ns), &[(figure::RUNQ_NS, waited_ns as f64)]);
                row(kind::SCHED_OFF, (from + 300_000_000, from + 1_400_000_000), &[]);
            }
        }
        built
    }

    #[test]
    fn a_collector_whose_threads_waited_for_a_cpu_is_starved_without_cpu_times_in_the_log() {
        let Judgement::Found(finding) = judged(&GcStarvedOfCpu, &pauses(270).sealed()) else { panic!() };
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!((finding.cost_ms - 40.0 * 270.0).abs() < 100.0, "{}", finding.cost_ms);
    }

    #[test]
    fn one_whose_threads_ran_is_not() {
        let judgement = judged(&GcStarvedOfCpu, &pauses(60).sealed());
        let Judgement::RuledOut { figure, .. } = judgement else { panic!("{judgement:?}") };
        assert_eq!(figure.fact().metric, &ruled_out::COLLECTOR_GOT_CPUS);
    }

    /// By samples of the CPUs, the threads ran for none of the time in which no switch was seen.
    #[test]
    fn of_a_collector_that_nobody_saw_it_is_not_known() {
        let mut built = pauses(1);
        let sampling =
            Sampling { event: "cpu-clock".into(), unit: "ns".into(), rate_hz: 100, period: Some(10_000_000) };
        let covers_ns = Some((0, 60_000_000_000));
        built.recording.add_source(Source { sampling: Some(sampling), covers_ns, ..Source::default() });
        let judgement = judged(&GcStarvedOfCpu, &built.sealed());
        assert!(matches!(judgement, Judgement::Inconclusive(_)), "{judgement:?}");
    }
}
