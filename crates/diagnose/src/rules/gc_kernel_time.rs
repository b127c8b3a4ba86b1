//! `gc-kernel-time`: collections spend their time in the kernel, and not because the heap is
//! touched for the first time.

use fathom_recording::vocabulary::fact;

use super::gc_case::{GcCase, blind, most, no_swap, summed};
use super::gc_first_touch::{is_first_touch, kernel_heavy, kernel_part_ms};
use crate::collections::Pause;
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, scope, switch_on, titles,
};
use crate::{Case, Finding, Judgement, Layer, Remedy, Rule};

/// The rule.
pub struct GcKernelTime;

impl Rule for GcKernelTime {
    fn id(&self) -> &'static str {
        "gc-kernel-time"
    }

    fn layer(&self) -> Layer {
        Layer::Memory
    }

    fn about(&self) -> &'static str {
        "While a collection runs, the kernel works more than the collector does: it puts huge pages together, fetches \
         memory from swap, or takes page faults in memory that was given back and is taken again.\n\n\
         **Evidence.** Pauses with at least 0.1 s of kernel time and more kernel than user time, of which a fifth or more \
         comes after the heap has been used once. What is attributed of such a pause is the kernel's share of its CPU time, and \
         no more than the kernel worked in it.\n\n\
         **Confounders.** Kernel time before the heap has been used once is its first touch (`gc-first-touch`). Pauses \
         with little CPU time of either kind are short of a CPU, or wait for swap (`gc-starved-of-cpu`).\n\n\
         **Ruled out** by the kernel time of pauses. A log says how long the kernel worked and not at what, so it stays \
         *consistent with*: stacks of the collector's threads (`fathom record`) show it."
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
            // ZGC and Shenandoah work concurrently with the application and log no CPU time of
            // their pauses.
            if matches!(gc.fact(fact::COLLECTOR), Some("Z" | "Shenandoah" | "Epsilon")) {
                return Judgement::NotApplicable;
            }
            return blind(self, scope::KERNEL_TIME.fact(), switch_on::GC_CPU.fact());
        }
        let heavy: Vec<Pause<'_>> = gc.slow.iter().filter(|p| kernel_heavy(p)).copied().collect();
        if !heavy.is_empty() && is_first_touch(&gc, &heavy) {
            return Judgement::NotApplicable;
        }
        let part = |pauses: &[Pause<'_>]| pauses.iter().map(kernel_part_ms).sum::<f64>();
        let cost_ms = case.excess_ms(part(&heavy), part(&gc.base_of(kernel_heavy)));
        let longest = heavy.iter().map(Pause::ms).fold(0.0, f64::max);
        if gc.matters(cost_ms) || gc.stands_out(longest, gc.usual_ms(|p| !kernel_heavy(p))) {
            return Judgement::Found(Box::new(found(self, &gc, &heavy, cost_ms)));
        }
        let worst = gc.slow.iter().filter_map(|p| p.cpu()).map(|c| c.sys_s).fold(0.0, f64::max);
        let fact = ruled_out::KERNEL_TIME_LITTLE.is(Value::ms(cost_ms)).with("most", Value::seconds(worst));
        gc.ruled_out(fact.with("pauses", Value::count(heavy.len())))
    }
}

fn found(rule: &dyn Rule, gc: &GcCase<'_, '_>, heavy: &[Pause<'_>], cost_ms: f64) -> Finding {
    let sure = Ground::Fits.because(gc.case, cost_ms, &reasons::KERNEL_NOT_AT_WHAT);
    let mut finding = gc.finding(rule, sure, cost_ms, heavy);
    let sum = |of: &dyn Fn(&crate::collections::Cpu) -> f64| -> f64 {
        heavy.iter().filter_map(Pause::cpu).map(|cpu| of(&cpu)).sum()
    };
    let (sys_s, user_s) = (sum(&|cpu| cpu.sys_s), sum(&|cpu| cpu.user_s));
    let title = titles::GC_KERNEL_TIME.is(Value::seconds(sys_s)).with("cpu", Value::seconds(sys_s + user_s));
    finding.title = title.with("collections", Value::count(heavy.len())).into();
    finding.culprit = culprits::KERNEL_MEMORY.fact().into();
    finding.meaning = meanings::COLLECTOR_IN_KERNEL.fact().into();
    let in_all = pauses::KERNEL_TIME.is(Value::seconds(sys_s)).with("user", Value::seconds(user_s));
    let in_all = in_all
        .with("pauses", Value::count(heavy.len()))
        .with("paused", Value::ms(heavy.iter().map(Pause::ms).sum()));
    finding.evidence.push(summed(gc.source(), in_all));
    finding.evidence.extend(most(heavy, kernel_part_ms).into_iter().map(pauses::with_cpu));
    if let Some(pages) = gc.fact(fact::LARGE_PAGES) {
        finding.evidence.push(summed(gc.source(), pauses::LARGE_PAGES.is(Value::name(pages))));
    }
    finding.remedies = remedies();
    finding.remedies.extend(no_swap(gc.case, gc.jvm));
    finding.verify = vec![checks::KERNEL_FUNCTIONS.fact().into(), checks::LITTLE_KERNEL_TIME.fact().into()];
    finding
}

fn remedies() -> Vec<Remedy> {
    vec![remedies::NO_COMPACTION.remedy(), remedies::KEEP_HEAP_TOUCHED.remedy()]
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use fathom_recording::vocabulary::figure;

    use super::*;
    use crate::built::{Built, judged};
    use crate::rules::gc_first_touch::GcFirstTouch;

    const MB: f64 = 1024.0 * 1024.0;

    /// Pauses of a second each ten; from `from` on the kernel takes most of their CPU time.
    fn log(from: usize, sys_s: f64) -> Built {
        let mut built = Built::jvm("8", "Parallel", 300.0);
        for i in 0..30 {
            let (user, sys) = if i >= from { (0.3, sys_s) } else { (3.0, 0.05) };
            let figures = [
                (figure::USER_S, user),
                (figure::SYS_S, sys),
                (figure::REAL_S, 1.0),
                (figure::HEAP_BEFORE_BYTES, 1_000.0 * MB),
                (figure::HEAP_AFTER_BYTES, 200.0 * MB),
            ];
            built.pause("GC", "Allocation Failure", i as f64 * 10.0, 1_000.0, &figures);
        }
        built
    }

    #[test]
    fn kernel_time_of_a_heap_that_has_been_used_is_named() {
        let recording = log(10, 3.0).sealed();
        let Judgement::Found(finding) = judged(&GcKernelTime, &recording) else { panic!("not found") };
        finding.title.states(&titles::GC_KERNEL_TIME, &[("collections", "20")]);
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
        let offers_swap = |finding: &Finding| finding.advises(&remedies::NO_SWAP);
        assert!(offers_swap(&finding));
        let in_all = finding.fact(&pauses::KERNEL_TIME);
        let seconds = ["value", "user", "paused"].map(|name| in_all.number(name).unwrap() / 1e3);
        assert_eq!(seconds.map(f64::round), [60.0, 6.0, 20.0]);
        let longest = &finding.evidence[1];
        assert_eq!((longest.metric(), longest.source.line), ("pause-cpu", Some(12)));
        assert_eq!(longest.at_ns, Some(100_000_000_000));
        // Nine tenths of the pauses' CPU time.
        assert!((finding.cost_ms - 20_000.0 * 3.0 / 3.3).abs() < 1.0, "{}", finding.cost_ms);
        assert!(!matches!(judged(&GcFirstTouch, &recording), Judgement::Found(_)));
        let mut without_swap = log(10, 3.0);
        without_swap.fact(fact::SWAP_TOTAL_BYTES, "0");
        let Judgement::Found(finding) = judged(&GcKernelTime, &without_swap.sealed()) else { panic!() };
        assert!(!offers_swap(&finding));
    }

    #[test]
    fn a_pause_that_mostly_waited_is_charged_with_no_more_than_the_kernel_worked() {
        let Judgement::Found(finding) = judged(&GcKernelTime, &log(10, 0.9).sealed()) else {
            panic!("not found")
        };
        assert!((finding.cost_ms - 20_000.0 * 0.75).abs() < 1.0, "{}", finding.cost_ms);
        // Swap: 0.35 s of the kernel in each second, and nothing of the collector's own work.
        let mut built = Built::jvm("8", "Parallel", 300.0);
        for i in 0..30 {
            let figures = [(figure::USER_S, 0.0), (figure::SYS_S, 0.35), (figure::REAL_S, 1.0)];
            built.pause("Full GC", "Ergonomics", f64::from(i) * 10.0, 1_000.0, &figures);
        }
        let used = [(figure::HEAP_BEFORE_BYTES, 10.0 * MB)];
        built.pause("GC", "", -1.0, 1.0, &used);
        let Judgement::Found(finding) = judged(&GcKernelTime, &built.sealed()) else { panic!("not found") };
        assert!((finding.cost_ms - 10_500.0).abs() < 1.0, "{}", finding.cost_ms);
    }

    #[test]
    fn kernel_time_that_stands_in_another_findings_evidence_is_not_said_to_have_no_finding() {
        // Full collections of a full heap, most of whose CPU time is the kernel's.
        let mut built = Built::jvm("17", "Parallel", 200.0);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        for i in 0..40 {
            let figures = [
                (figure::USER_S, 0.4),
                (figure::SYS_S, 0.8),
                (figure::REAL_S, 0.9),
                (figure::HEAP_BEFORE_BYTES, 1_000.0 * MB),
                (figure::HEAP_AFTER_BYTES, 900.0 * MB),
            ];
            built.pause("Pause Full", "Ergonomics", f64::from(i) * 5.0, 900.0, &figures);
        }
        let d = crate::diagnose(&built.sealed(), &crate::Options::default()).unwrap();
        let first = d.findings.first().expect("a finding");
        assert_eq!(first.rule, "gc-heap-too-small");
        let also = first.fact(&crate::facts::merged::ALSO_FITS);
        assert_eq!(also.detail("rule"), Some(&Value::name("gc-kernel-time")));
        let is_said = |w: &crate::Statement| w.fact().metric == &crate::facts::doubts::BAD;
        assert!(!d.warnings.iter().any(is_said), "{:?}", d.warnings);
    }

    #[test]
    fn pauses_of_a_collector_that_works_itself_are_ruled_out() {
        let Judgement::RuledOut { figure, .. } = judged(&GcKernelTime, &log(30, 3.0).sealed()) else {
            panic!("not ruled out")
        };
        assert_eq!(figure.fact().metric, &ruled_out::KERNEL_TIME_LITTLE);
        assert_eq!(["pauses", "most"].map(|name| figure.fact().number(name).unwrap()), [0.0, 50.0]);
    }

    #[test]
    fn a_first_touch_is_left_to_its_own_rule() {
        let mut built = Built::jvm("8", "Parallel", 300.0);
        for i in 0..30 {
            let (user, sys) = if i < 20 { (0.5, 3.0) } else { (3.0, 0.02) };
            let figures = [
                (figure::USER_S, user),
                (figure::SYS_S, sys),
                (figure::REAL_S, 1.0),
                (figure::HEAP_BEFORE_BYTES, 100.0 * (i as f64 + 1.0) * MB),
            ];
            built.pause("GC", "Allocation Failure", f64::from(i) * 10.0, 1_000.0, &figures);
        }
        let recording = built.sealed();
        assert!(matches!(judged(&GcKernelTime, &recording), Judgement::NotApplicable));
        assert!(matches!(judged(&GcFirstTouch, &recording), Judgement::Found(_)));
    }

    #[test]
    fn a_log_without_cpu_times_is_inconclusive() {
        let mut built = Built::jvm("8", "Parallel", 300.0);
        built.pause("GC", "", 1.0, 1_000.0, &[]);
        assert!(matches!(judged(&GcKernelTime, &built.sealed()), Judgement::Inconclusive(_)));
    }
}
