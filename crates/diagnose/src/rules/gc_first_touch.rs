//! `gc-first-touch`: early collections are slow because the kernel hands out the heap's memory
//! while they run.

use fathom_recording::vocabulary::{fact, figure};

use super::gc_case::{GcCase, blind, most, summed};
use crate::collections::{CPU_MIN_REAL_S, Pause};
use crate::confidence::Ground;
use crate::facts::{
    Value, checks, culprits, meanings, pauses, reasons, remedies, ruled_out, scope, switch_on, titles,
};
use crate::{Case, Finding, Judgement, Layer, Rule};

/// Kernel time of a pause from which on it is no rounding (steps of 10 ms) and no bookkeeping,
/// seconds. Measured when huge pages were zeroed within pauses: 0.16 to 0.34 s.
const SYS_S: f64 = 0.1;
/// And as a share of the pause's length: of one that waits for memory from swap it is less than a
/// hundredth.
const SYS_SHARE: f64 = 0.1;
/// Share of the kernel-heavy pause time that must lie before the heap has been used once.
const EARLY: f64 = 0.8;
/// The heap counts as used once when its use before a collection first reached this share of its
/// highest.
const USED_ONCE: f64 = 0.9;
/// What of the pauses until then must have more kernel than user time: all of them copy into memory
/// that was never used, and a single one that is slow among many that are not has another reason.
const USUAL: f64 = 0.5;
/// Kernel share of the CPU time of later pauses up to which they are free of the trouble.
const LATER_SYS: f64 = 0.25;

/// The rule.
pub struct GcFirstTouch;

impl Rule for GcFirstTouch {
    fn id(&self) -> &'static str {
        "gc-first-touch"
    }

    fn layer(&self) -> Layer {
        Layer::Memory
    }

    fn about(&self) -> &'static str {
        "The kernel gives a page only when it is first written to, and zeroes it then. A collection that copies \
         survivors into memory never used before takes a page fault for each page, or zeroes 2 MB at a time with \
         transparent huge pages, while the application waits. It stops once the heap has been used through.\n\n\
         **Evidence.** Pauses with at least 0.1 s of kernel time and more kernel than user time, four fifths of them \
         before the heap in use first came near its later maximum, among pauses that have more kernel than user time for the \
         most part until then, and `Pre-touch: Disabled` in the log.\n\n\
         **Confounders.** Kernel-heavy pauses that go on afterwards have another reason (huge-page compaction, memory \
         given back and taken again, swap: `gc-kernel-time`) and rule this cause out. Little CPU of either kind is starvation.\n\n\
         Without the line on pre-touching (JDK 8 has none) the verdict is *consistent with*."
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
        if gc.fact(fact::PRETOUCH).is_some_and(|p| p.eq_ignore_ascii_case("enabled")) {
            return gc.ruled_out(ruled_out::PRETOUCHED.fact());
        }
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
        let kernel_ms: f64 = heavy.iter().map(kernel_part_ms).sum();
        if heavy.is_empty() {
            let worst = gc.slow.iter().filter_map(|p| p.cpu()).map(|c| c.sys_s).fold(0.0, f64::max);
            return gc.ruled_out(ruled_out::NO_KERNEL_TIME.is(Value::seconds(worst)));
        }
        let until = used_once_ns(&gc.all);
        let early = early(&heavy, until);
        let early_ms: f64 = early.iter().map(kernel_part_ms).sum();
        if early_ms < EARLY * kernel_ms {
            let kernel_s =
                |pauses: &[Pause<'_>]| pauses.iter().filter_map(Pause::cpu).map(|c| c.sys_s).sum::<f64>();
            let all_s = kernel_s(&heavy);
            let later = ruled_out::KERNEL_TIME_LATER.is(Value::seconds(all_s - kernel_s(&early)));
            return gc.ruled_out(later.with("all", Value::seconds(all_s)));
        }
        let (led, copied) = led_by_kernel(&gc.all, until);
        if (led as f64) < USUAL * copied as f64 {
            let led = ruled_out::LED_BY_KERNEL.is(Value::count(led));
            return gc.ruled_out(led.with("pauses", Value::count(copied)));
        }
        let longest = early.iter().map(Pause::ms).fold(0.0, f64::max);
        if !gc.matters(early_ms) && !gc.stands_out(longest, gc.usual_ms(|p| !kernel_heavy(p))) {
            return gc.ruled_out(ruled_out::FIRST_TOUCH_LITTLE.is(Value::ms(early_ms)));
        }
        Judgement::Found(Box::new(found(self, &gc, &early, early_ms, until)))
    }
}

/// Whether a pause is long because of the kernel's work: more than the collector's own, and not
/// next to nothing of its length, which would be a pause that waited.
pub(super) fn kernel_heavy(pause: &Pause<'_>) -> bool {
    pause.cpu().is_some_and(|c| c.sys_s >= SYS_S && c.sys_s > c.user_s && c.sys_s >= SYS_SHARE * c.real_s)
}

/// The part of a pause that the kernel took: its length by the kernel's share of its CPU time, and
/// no more than the kernel worked in it, all threads added up. Milliseconds.
pub(super) fn kernel_part_ms(pause: &Pause<'_>) -> f64 {
    let part = |c: crate::collections::Cpu| (pause.ms() * c.sys_s / c.cpu_s()).min(c.sys_s * 1e3);
    pause.cpu().filter(|c| c.cpu_s() > 0.0).map_or(0.0, part)
}

/// Those of some pauses that lie before the heap has been used through.
fn early<'a>(pauses: &[Pause<'a>], until: Option<i64>) -> Vec<Pause<'a>> {
    pauses.iter().filter(|p| until.is_none_or(|t| p.span.t0_ns() <= t)).copied().collect()
}

/// Whether most of the kernel time of some pauses may be the heap's first touch.
pub(super) fn is_first_touch(gc: &GcCase<'_, '_>, heavy: &[Pause<'_>]) -> bool {
    if gc.fact(fact::PRETOUCH).is_some_and(|p| p.eq_ignore_ascii_case("enabled")) {
        return false;
    }
    let part = |pauses: &[Pause<'_>]| pauses.iter().map(kernel_part_ms).sum::<f64>();
    let until = used_once_ns(&gc.all);
    let (led, copied) = led_by_kernel(&gc.all, until);
    part(&early(heavy, until)) >= EARLY * part(heavy) && led as f64 >= USUAL * copied as f64
}

/// How many pauses of 50 ms and more that copy lie before the heap has been used through, and in
/// how many of them the kernel worked more than the collector.
fn led_by_kernel(all: &[Pause<'_>], until: Option<i64>) -> (usize, usize) {
    let copies = |p: &&Pause<'_>| p.is_young() || p.is_mixed() || p.collected_old();
    let before = all.iter().filter(|p| until.is_none_or(|t| p.span.t0_ns() <= t)).filter(copies);
    let cpus = before.filter_map(Pause::cpu).filter(|cpu| cpu.real_s >= CPU_MIN_REAL_S);
    cpus.fold((0, 0), |(led, all), cpu| (led + usize::from(cpu.sys_s > cpu.user_s), all + 1))
}

/// When the heap had been used through for the first time, nanoseconds.
fn used_once_ns(all: &[Pause<'_>]) -> Option<i64> {
    let used = |p: &Pause<'_>| p.span.figure(figure::HEAP_BEFORE_BYTES);
    let most = all.iter().filter_map(used).fold(0.0, f64::max);
    let first = all.iter().find(|p| used(p).is_some_and(|u| u >= USED_ONCE * most));
    first.filter(|_| most > 0.0).map(|p| p.span.t1_ns())
}

fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    early: &[Pause<'_>],
    cost_ms: f64,
    until: Option<i64>,
) -> Finding {
    let later = gc.all.iter().filter(|p| until.is_some_and(|t| p.span.t0_ns() > t)).filter_map(|p| p.cpu());
    let (sys, cpu) = later.fold((0.0, 0.0), |(sys, cpu), c| (sys + c.sys_s, cpu + c.cpu_s()));
    let disabled = gc.fact(fact::PRETOUCH).is_some_and(|p| p.eq_ignore_ascii_case("disabled"));
    let ends = cpu > 0.0 && sys / cpu <= LATER_SYS;
    let (ground, why) = if disabled && ends {
        (Ground::Incomplete, &reasons::UNTOUCHED)
    } else {
        (Ground::Fits, &reasons::UNTOUCHED_NOT_SHOWN)
    };
    let mut finding = gc.finding(rule, ground.because(gc.case, cost_ms, why), cost_ms, early);
    finding.title = titles::GC_FIRST_TOUCH.is(Value::ms(cost_ms)).into();
    finding.culprit = culprits::FIRST_TOUCH.fact().into();
    finding.meaning = meanings::PAGES_ZEROED.fact().into();
    let total_sys: f64 = early.iter().filter_map(|p| p.cpu()).map(|c| c.sys_s).sum();
    let total_user: f64 = early.iter().filter_map(|p| p.cpu()).map(|c| c.user_s).sum();
    let in_all = pauses::FIRST_TOUCH.is(Value::seconds(total_sys)).with("user", Value::seconds(total_user));
    finding.evidence.push(summed(gc.source(), in_all.with("pauses", Value::count(early.len()))));
    finding.evidence.extend(most(early, kernel_part_ms).into_iter().map(pauses::with_cpu));
    if cpu > 0.0 {
        let later = pauses::LATER_KERNEL_SHARE.is(Value::share(sys / cpu));
        finding.evidence.push(summed(gc.source(), later));
    }
    if let Some(pages) = gc.fact(fact::LARGE_PAGES) {
        finding.evidence.push(summed(gc.source(), pauses::LARGE_PAGES.is(Value::name(pages))));
    }
    finding.remedies = vec![remedies::PRETOUCH_HEAP.remedy(), remedies::HEAP_WITHOUT_HUGE_PAGES.remedy()];
    finding.verify = vec![checks::PRETOUCH_ENABLED.fact().into(), checks::LITTLE_KERNEL_TIME.fact().into()];
    finding
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Confidence;
    use crate::built::{Built, judged};

    /// Ten pauses while the heap grows to 2 GB, thirty after it.
    fn log(early: (f64, f64), later: (f64, f64), seconds: f64) -> Built {
        let mut built = Built::jvm("17", "Parallel", seconds);
        for i in 0..40 {
            let (user, sys) = if i < 10 { early } else { later };
            let used = f64::from(i.min(10) + 1) * 2e8;
            let figures = [
                (figure::USER_S, user),
                (figure::SYS_S, sys),
                (figure::REAL_S, 0.4),
                (figure::WORKERS, 2.0),
                (figure::HEAP_BEFORE_BYTES, used),
            ];
            built.pause("Pause Young", "Allocation Failure", f64::from(i) * 0.7, 400.0, &figures);
        }
        built
    }

    #[test]
    fn kernel_time_until_the_heap_was_used_once_is_first_touch() {
        let mut built = log((0.04, 0.3), (0.6, 0.02), 30.0);
        built.fact(fact::PRETOUCH, "disabled");
        let Judgement::Found(finding) = judged(&GcFirstTouch, &built.sealed()) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::Likely);
        finding.remedies[0].change.states(&remedies::PRETOUCH_HEAP, &[]);
        let unsaid = log((0.04, 0.3), (0.6, 0.02), 30.0).sealed();
        let Judgement::Found(finding) = judged(&GcFirstTouch, &unsaid) else { panic!("not found") };
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
    }

    #[test]
    fn kernel_time_that_goes_on_is_something_else() {
        let built = log((0.04, 0.3), (0.04, 0.3), 45.0);
        let Judgement::RuledOut { figure, .. } = judged(&GcFirstTouch, &built.sealed()) else {
            panic!("found")
        };
        assert_eq!(figure.fact().metric, &ruled_out::KERNEL_TIME_LATER);
    }

    #[test]
    fn one_slow_pause_among_many_that_are_not_has_another_reason_than_first_touch() {
        let mut built = log((0.6, 0.02), (0.6, 0.02), 60.0);
        let figures = [
            (figure::USER_S, 0.0),
            (figure::SYS_S, 15.8),
            (figure::REAL_S, 15.1),
            (figure::HEAP_BEFORE_BYTES, 1e9),
        ];
        built.pause("CMS-remark", "CMS Final Remark", 6.5, 15_100.0, &figures);
        let recording = built.sealed();
        let Judgement::RuledOut { figure, .. } = judged(&GcFirstTouch, &recording) else { panic!("found") };
        figure.states(&ruled_out::LED_BY_KERNEL, &[("value", "0"), ("pauses", "10")]);
        let kernel = judged(&super::super::gc_kernel_time::GcKernelTime, &recording);
        assert!(matches!(kernel, Judgement::Found(_)), "{kernel:?}");
    }

    #[test]
    fn a_heap_touched_before_use_and_a_healthy_one_are_ruled_out() {
        let mut built = log((0.04, 0.3), (0.6, 0.02), 30.0);
        built.fact(fact::PRETOUCH, "enabled");
        assert!(matches!(judged(&GcFirstTouch, &built.sealed()), Judgement::RuledOut { .. }));
        let healthy = log((0.6, 0.02), (0.6, 0.02), 45.0);
        assert!(matches!(judged(&GcFirstTouch, &healthy.sealed()), Judgement::RuledOut { .. }));
    }

    #[test]
    fn an_early_stumble_in_a_long_run_does_not_matter() {
        let built = log((0.04, 0.11), (0.6, 0.02), 36_000.0);
        let judgement = judged(&GcFirstTouch, &built.sealed());
        assert!(matches!(judgement, Judgement::RuledOut { .. }), "{judgement:?}");
    }
}
