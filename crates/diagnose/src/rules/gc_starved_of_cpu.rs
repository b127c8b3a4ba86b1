//! `gc-starved-of-cpu`: collections last long because their workers get no CPU.

mod scheduler;

use fathom_recording::vocabulary::{fact, figure, kind};

use super::gc_case::{GcCase, blind, cited, most, no_swap, summed};
use super::gc_cpu::{STARVED, waited};
use crate::collections::{CPU_MIN_REAL_S, Cpu, Pause, Worked};
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, scope, switch_on, titles,
};
use crate::intervals::Intervals;
use crate::limits::LONG_MS;
use crate::waits::log_write::log_writes;
use crate::{Case, Evidence, Fact, Finding, Judgement, Layer, Rule};

/// What the workers would have reached on a quiet machine: the lower end of what was measured
/// there, so that the cost is not overstated.
const USUAL: f64 = 0.6;
/// Fewer long pauses than this are chance, unless they amount to something.
const PAUSES: usize = 5;
/// An interval of a pause outside its phases that is as large is not work slowed down but a stall
/// of the VM thread (`gc-log-write-blocked`), milliseconds and share of the pause.
const OUTSIDE: (f64, f64) = (200.0, 0.5);
/// Part of a pause that writes of the log may take for its CPU time to still show whether
/// CPUs were missing.
const WRITTEN: f64 = 0.2;
/// Time to reach a safepoint for an operation that is no collection: threads that poll within
/// microseconds are late only when they have no CPU. In milliseconds, and in how many
/// operations.
const LATE: (f64, usize) = (10.0, 3);
/// Share of swap left free below which swapping is a likely reason too.
const SWAP_FREE: f64 = 0.95;

/// The rule.
pub struct GcStarvedOfCpu;

impl Rule for GcStarvedOfCpu {
    fn id(&self) -> &'static str {
        "gc-starved-of-cpu"
    }

    fn layer(&self) -> Layer {
        Layer::Cpu
    }

    fn about(&self) -> &'static str {
        "The collector's workers want to run and other threads, other processes, a quota of the container or the \
         hypervisor keep the CPUs from them. The same work then takes several times as long.\n\n\
         **Evidence.** Over the pauses of 50 ms or more (CPU times come in steps of 10 ms), CPU time is less than \
         half of wall time × workers, while the work phases fill the pause; where the log does not print how many workers \
         there were, pauses that used less than half a CPU, which is too little for one. Five of them, or one of a \
         second or more. In a recording of the scheduler, without CPU times in the log: the collector's threads waited for a CPU \
         for longer than they ran.\n\n\
         **Confounders.** A blocked log write leaves a gap *outside* the phases: such pauses are left out. Memory \
         touched for the first time costs *kernel* time: such pauses are left out too. A heap that was swapped out \
         prints the same figures; the log alone cannot distinguish it, so the verdict is *consistent with*, unless \
         something else points to the CPUs: operations that have nothing to do are late to reach their \
         safepoint as well, ZGC prints the machine's load, or the JVM has more workers than CPUs. The \
         scheduler's record of the workers distinguishes it. Where there are too many collections for another reason as well, \
         it is *consistent with* at most."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Collections]
    }

    fn is_about_stops(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: fathom_recording::ProcessId) -> Judgement {
        let gc = match GcCase::of(case, jvm, self) {
            Ok(gc) => gc,
            Err(judgement) => return judgement,
        };
        if gc.slow.is_empty() {
            return gc.none(&ruled_out::NO_PAUSE);
        }
        if gc.slow.iter().all(|p| p.cpu().is_none()) {
            if let Some(judgement) = scheduler::judge(self, &gc) {
                return judgement;
            }
            // ZGC and Shenandoah work concurrently with the application and log no CPU time of
            // their pauses.
            if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Shenandoah" | "Epsilon")) {
                return Judgement::NotApplicable;
            }
            return blind(self, scope::CPU_TIME.fact(), switch_on::GC_CPU.fact());
        }
        // A pause in which the log's own write blocked had no use for CPUs meanwhile.
        let writes = log_writes(case.recording, jvm).into_iter().map(|write| (write.t0_ns(), write.t1_ns()));
        let writes = Intervals::of(writes);
        let is_work = |p: &Pause<'_>| is_work(p) && !is_written(p, &writes);
        let long: Vec<Pause<'_>> = gc.slow.iter().filter(|p| is_work(p)).copied().collect();
        let Some(all) = Worked::of(gc.slow.iter()).filter(|_| !long.is_empty()) else {
            return gc.ruled_out(no_long_pause(&gc));
        };
        // Pauses that worked on many CPUs do not make up for those that waited for one.
        let low = Worked::of(long.iter()).and_then(|w| w.efficiency).is_some_and(|share| share < STARVED);
        let starved: Vec<Pause<'_>> = long.into_iter().filter(|p| low || waited(p)).collect();
        let wasted: f64 = starved.iter().map(wasted_ms).sum();
        // What the baseline windows waste as well is not what makes the slow ones slow.
        let usual: f64 = gc.base_of(|p| is_work(p) && (low || waited(p))).iter().map(wasted_ms).sum();
        let cost_ms = case.excess_ms(wasted, usual);
        let longest = starved.iter().map(Pause::ms).fold(0.0, f64::max);
        let enough = starved.len() >= PAUSES || longest >= LONG_MS;
        if let Some(seen) = Worked::of(starved.iter())
            && enough
            && (case.matters(cost_ms) || (gc.on_stops() && longest >= LONG_MS))
        {
            return Judgement::Found(Box::new(found(self, &gc, &starved, &seen, cost_ms)));
        }
        let fact = ruled_out::STARVED_LITTLE.is(Value::ms(cost_ms)).with("pauses", Value::count(all.pauses));
        let fact = fact.with("cpu", Value::seconds(all.cpu.cpu_s()));
        let fact = fact.with("paused", Value::seconds(all.cpu.real_s));
        gc.ruled_out(fact.with("efficiency", all.efficiency.map(Value::share)))
    }
}

/// Whether a pause is long enough to judge, and its time went into the collector's own work.
fn is_work(pause: &Pause<'_>) -> bool {
    if pause.cpu().is_none_or(|c| c.real_s < CPU_MIN_REAL_S) {
        return false;
    }
    let outside = pause.span.figure(figure::PHASES_SUM_MS).map(|sum| pause.ms() - sum);
    let gap = pause.span.figure(figure::IDLE_GAP_MS).or(outside).unwrap_or(0.0);
    let stalled = gap >= OUTSIDE.0 || gap >= OUTSIDE.1 * pause.ms();
    let kernel = super::gc_first_touch::kernel_heavy(pause);
    !stalled && !kernel
}

/// What is said where no pause is long enough to judge: what the CPU times were, and why nothing
/// follows from them.
fn no_long_pause(gc: &GcCase<'_, '_>) -> Fact {
    let none = ruled_out::NO_LONG_PAUSE.fact();
    let figures: Vec<Cpu> = gc.slow.iter().filter_map(Pause::cpu).collect();
    if figures.iter().any(|cpu| cpu.real_s >= CPU_MIN_REAL_S) {
        return none;
    }
    let sum = |of: fn(&Cpu) -> f64| Value::seconds(figures.iter().map(of).sum());
    let used = none.with("pauses", Value::count(figures.len())).with("cpu", sum(Cpu::cpu_s));
    used.with("paused", sum(|cpu| cpu.real_s))
}

/// Whether writes of the log took so much of a pause that what is left would not be short of CPU
/// time.
fn is_written(pause: &Pause<'_>, writes: &Intervals) -> bool {
    let written_ms = writes.length_within_ns(pause.span.t0_ns(), pause.span.t1_ns()) as f64 / 1e6;
    written_ms > WRITTEN * pause.ms()
}

/// Workers that could have run at once, as the log says; one where it says nothing, which can only
/// understate the waiting.
fn workers(pause: &Pause<'_>) -> f64 {
    pause.cpu().and_then(|c| c.workers).unwrap_or(1.0)
}

/// How much longer a pause took than its CPU time would have taken on a quiet machine,
/// milliseconds.
fn wasted_ms(pause: &Pause<'_>) -> f64 {
    let cpu_s = pause.cpu().map_or(0.0, |c| c.cpu_s());
    (pause.ms() - cpu_s * 1e3 / (workers(pause) * USUAL)).max(0.0)
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, long: &[Pause<'_>], seen: &Worked, cost_ms: f64) -> Finding {
    let support = support(gc);
    let swapped = swapped(gc);
    let (ground, why) = match (support.is_empty(), &swapped) {
        (false, None) => (Ground::Incomplete, &reasons::CPUS_BUSY_TOO),
        _ => (Ground::Fits, &reasons::MAY_BE_SWAPPED),
    };
    let mut finding = gc.finding(rule, ground.because(gc.case, cost_ms, why), cost_ms, long);
    let title = titles::GC_STARVED_OF_CPU.is(Value::seconds(seen.cpu.cpu_s()));
    let title = title.with("efficiency", seen.efficiency.map(Value::share));
    finding.title = title.with("paused", Value::seconds(seen.cpu.real_s)).into();
    finding.culprit = culprits::NO_CPU_OR_SWAP.fact().into();
    finding.meaning = meanings::COLLECTOR_HARDLY_RAN.fact().into();
    let fact = pauses::STARVED.is(Value::seconds(seen.cpu.cpu_s())).with("pauses", Value::count(seen.pauses));
    let fact = fact.with("least", Value::ms(50.0)).with("kernel", Value::seconds(seen.cpu.sys_s));
    let fact = fact.with("paused", Value::seconds(seen.cpu.real_s)).with("usual", Value::share(USUAL));
    finding.evidence.push(summed(gc.source(), fact.with("efficiency", seen.efficiency.map(Value::share))));
    finding.evidence.extend(most(long, wasted_ms).into_iter().map(pauses::with_cpu));
    // Where nothing else points to busy CPUs, memory from swap is as likely.
    if support.is_empty() || swapped.is_some() {
        finding.remedies.extend(no_swap(gc.case, gc.jvm));
    }
    finding.evidence.extend(support);
    finding.evidence.extend(swapped);
    finding.remedies.extend([remedies::CPUS_FOR_COLLECTOR.remedy(), remedies::WORKERS_BY_CPUS.remedy()]);
    finding.verify =
        vec![checks::CPU_IN_PAUSES.fact().into(), checks::RUN_QUEUE_IN_COLLECTIONS.fact().into()];
    finding
}

/// What else points to busy CPUs.
fn support(gc: &GcCase<'_, '_>) -> Vec<Evidence> {
    let mut support = Vec::new();
    let cpus = gc.fact_number(fact::CPUS).filter(|c| *c >= 1.0);
    let cycles = gc.case.spans_in(kind::GC_CONCURRENT, gc.jvm, &gc.case.slow);
    let loads =
        cycles.chain(gc.slow.iter().map(|p| p.span)).filter_map(|s| Some((s.figure(figure::HOST_LOAD)?, s)));
    if let (Some((load, span)), Some(cpus)) = (loads.max_by(|a, b| a.0.total_cmp(&b.0)), cpus)
        && load > cpus
    {
        let fact = pauses::HOST_LOAD.is(Value::plain(load)).with("cpus", Value::counted(cpus));
        support.push(cited(&span, fact));
    }
    let stops = gc.case.spans_in(kind::SAFEPOINT, gc.jvm, &gc.case.slow);
    let holds_pause = |s: &fathom_recording::Span<'_>| {
        gc.slow_during(s.t0_ns(), s.t1_ns()).any(|p| s.overlap_ns(p.span.t0_ns(), p.span.t1_ns()) > 0)
    };
    let reach_ms = |s: &fathom_recording::Span<'_>| s.figure(figure::REACH_NS).unwrap_or(0.0) / 1e6;
    let late: Vec<_> = stops.filter(|s| reach_ms(s) >= LATE.0 && !holds_pause(s)).collect();
    let worst = late.iter().max_by(|a, b| reach_ms(a).total_cmp(&reach_ms(b)));
    if let Some(worst) = worst.filter(|_| late.len() >= LATE.1) {
        let fact = pauses::LATE_SAFEPOINTS.is(Value::count(late.len()));
        let fact =
            fact.with("longest", Value::ms(reach_ms(worst))).with("operation", Value::name(worst.name()));
        support.push(cited(worst, fact));
    }
    if let (Some(workers), Some(cpus)) = (gc.fact_number(fact::GC_WORKERS), cpus)
        && workers > cpus
    {
        let fact = pauses::WORKERS.is(Value::counted(workers)).with("cpus", Value::counted(cpus));
        support.push(summed(gc.source(), fact));
    }
    support
}

/// Whether the machine had swapped, where the log shows it (JDK 8's header).
fn swapped(gc: &GcCase<'_, '_>) -> Option<Evidence> {
    let total = gc.fact_number(fact::SWAP_TOTAL_BYTES).filter(|t| *t > 0.0)?;
    let free = gc.fact_number(fact::SWAP_FREE_BYTES)? / total;
    (free < SWAP_FREE).then(|| summed(gc.source(), pauses::SWAP_FREE.is(Value::share(free))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    fn cpu(user: f64, sys: f64, real: f64) -> Vec<(&'static str, f64)> {
        vec![(figure::USER_S, user), (figure::SYS_S, sys), (figure::REAL_S, real), (figure::WORKERS, 2.0)]
    }

    fn log(user: f64, sys: f64, more: &[(&'static str, f64)]) -> Built {
        let mut built = Built::jvm("17", "G1", 60.0);
        for i in 0..30 {
            let figures = [cpu(user, sys, 0.3), more.to_vec()].concat();
            built.pause("Pause Young (Normal)", "G1 Evacuation Pause", f64::from(i) * 2.0, 300.0, &figures);
        }
        built
    }

    #[test]
    fn little_cpu_in_phases_that_fill_the_pause_is_consistent_with_starvation() {
        let built = log(0.08, 0.01, &[(figure::PHASES_SUM_MS, 295.0), (figure::IDLE_GAP_MS, 0.5)]);
        let Judgement::Found(finding) = judged(&GcStarvedOfCpu, &built.sealed()) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
        assert!((finding.cost_ms - 30.0 * (300.0 - 90.0 / 1.2)).abs() < 1.0, "{}", finding.cost_ms);
        finding.remedies[0].change.states(&remedies::NO_SWAP, &[]);
    }

    #[test]
    fn safepoints_late_for_trivial_operations_make_it_likely() {
        let mut built = log(0.08, 0.01, &[]);
        for i in 0..4 {
            let reach = [(figure::REACH_NS, 40e6)];
            built.span(kind::SAFEPOINT, "Cleanup", 1.0 + f64::from(i) * 2.0, 41.0, &reach, &[]);
        }
        let Judgement::Found(finding) = judged(&GcStarvedOfCpu, &built.sealed()) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!(!finding.advises(&remedies::NO_SWAP), "{:?}", finding.remedies);
    }

    #[test]
    fn swap_in_use_keeps_it_at_consistent_with() {
        let mut built = log(0.08, 0.01, &[]);
        built.fact(fact::GC_WORKERS, "8").fact(fact::CPUS, "2");
        built.fact(fact::SWAP_TOTAL_BYTES, "1000").fact(fact::SWAP_FREE_BYTES, "400");
        let Judgement::Found(finding) = judged(&GcStarvedOfCpu, &built.sealed()) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
    }

    #[test]
    fn pauses_that_hardly_ran_are_found_among_others_that_ran_on_many_processors() {
        let mut built = Built::jvm("8", "Parallel", 600.0);
        for i in 0..30 {
            let (user, real) = if i % 2 == 0 { (8.0, 1.0) } else { (0.1, 4.0) };
            let figures = [(figure::USER_S, user), (figure::SYS_S, 0.2), (figure::REAL_S, real)];
            built.pause("GC", "", f64::from(i) * 20.0, real * 1e3, &figures);
        }
        let Judgement::Found(finding) = judged(&GcStarvedOfCpu, &built.sealed()) else { panic!("not found") };
        finding.title.states(&titles::GC_STARVED_OF_CPU, &[("value", "4.50 s"), ("paused", "60.00 s")]);
        assert_eq!(finding.culprit.fact().metric, &culprits::NO_CPU_OR_SWAP);
        assert!(finding.cost_ms > 50_000.0, "{}", finding.cost_ms);
    }

    #[test]
    fn a_short_pause_with_less_cpu_than_its_length_is_reported_as_too_short_to_judge() {
        let mut built = Built::jvm("7", "G1", 60.0);
        built.pause("GC pause (young)", "GCLocker Initiated GC", 5.3, 17.7, &cpu(0.01, 0.0, 0.02));
        let Judgement::RuledOut { figure, .. } = judged(&GcStarvedOfCpu, &built.sealed()) else {
            panic!("found")
        };
        figure.states(&ruled_out::NO_LONG_PAUSE, &[("pauses", "1"), ("cpu", "10 ms"), ("paused", "20 ms")]);
    }

    #[test]
    fn one_pause_of_a_second_that_hardly_ran_is_found() {
        let mut built = Built::jvm("17", "G1", 600.0);
        built.pause("Pause Young (Normal)", "", 10.0, 1_320.0, &cpu(0.01, 0.02, 1.32));
        let Judgement::Found(finding) = judged(&GcStarvedOfCpu, &built.sealed()) else { panic!("not found") };
        finding.title.states(&titles::GC_STARVED_OF_CPU, &[("value", "30 ms"), ("paused", "1.32 s")]);
    }

    #[test]
    fn a_gap_outside_the_phases_or_kernel_time_belongs_to_another_rule() {
        let gap = log(0.04, 0.0, &[(figure::PHASES_SUM_MS, 40.0), (figure::IDLE_GAP_MS, 255.0)]);
        assert!(matches!(judged(&GcStarvedOfCpu, &gap.sealed()), Judgement::RuledOut { .. }));
        let kernel = log(0.02, 0.16, &[]);
        assert!(matches!(judged(&GcStarvedOfCpu, &kernel.sealed()), Judgement::RuledOut { .. }));
    }

    #[test]
    fn healthy_workers_are_ruled_out_with_their_efficiency() {
        let Judgement::RuledOut { figure, .. } = judged(&GcStarvedOfCpu, &log(0.5, 0.02, &[]).sealed())
        else {
            panic!("found")
        };
        figure.states(&ruled_out::STARVED_LITTLE, &[("efficiency", "87%")]);
    }
}
