//! `cpu-throttled-by-cgroup`: threads can run and may not, because their control group has used up
//! its quota.

use fathom_recording::vocabulary::live;
use fathom_recording::{ProcessId, Recording};

use super::cpu_contention::CpuContention;
use super::gc_case::{WHOLE_RUN_SHARE, summed};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, remedies, ruled_out, titles, waits as facts};
use crate::series_within::values;
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Finding, Judgement, Layer, Rule, Window};

/// The rule.
pub struct CpuThrottledByCgroup;

impl Rule for CpuThrottledByCgroup {
    fn id(&self) -> &'static str {
        "cpu-throttled-by-cgroup"
    }

    fn layer(&self) -> Layer {
        Layer::Cpu
    }

    fn about(&self) -> &'static str {
        "A container with a CPU limit may run for its quota in each period (100 ms); once that is used up all of its threads \
         stand still until the next one, whether CPUs are free or not. Bursts (a collection with many threads, \
         compilers, a wave of requests) use a quota up in a few milliseconds, while the average looks harmless.\n\n\
         **Evidence.** How long application threads could have run while their control group had no quota left, thread by \
         thread, as `fathom record` sees it in the scheduler, beyond the baseline, and no longer than any of them was held back; where only the group's own counters were recorded \
         (`cpu.stat`), the share of the time in which its run queues were throttled.\n\n\
         **Confounders.** Threads that wait for a CPU while others run: `cpu-taken-by-others`. A group that was frozen, or a \
         process that was stopped, has no quota to run out of.\n\n\
         **Ruled out** by how long threads were throttled."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::Switches]
    }

    fn of_any_program(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let cpu = CpuContention::of(case, jvm);
        let group = Group::of(case, jvm);
        let by_thread = cpu.slow.active_ms > 0.0;
        if !by_thread && group.is_none() {
            return Judgement::NotApplicable;
        }
        let cost_ms = match by_thread {
            true => cpu.throttled_ms().max(case.attributed.ms(jvm, Category::Throttled)),
            false => group.as_ref().map_or(0.0, |group| case.excess_ms(group.slow_ms, group.base_ms)),
        };
        let unmeasured = case.whole_run && case.loss.lost_ms <= 0.0;
        let least_ms = if unmeasured { WHOLE_RUN_SHARE * cpu.slow.length_ms } else { 0.0 };
        if case.matters(cost_ms) && cost_ms >= least_ms {
            return Judgement::Found(Box::new(found(self, &cpu, group.as_ref(), by_thread, cost_ms)));
        }
        let figure = match by_thread {
            true => ruled_out::THROTTLED_LITTLE.is(Value::share(cpu.slow.throttled_share())),
            false => ruled_out::GROUP_HARDLY_THROTTLED.fact(),
        };
        Judgement::RuledOut {
            figure: figure.into(),
            source: if by_thread { cpu.source() } else { cpu.host() },
        }
    }
}

/// A control group that was throttled.
struct Group<'a> {
    path: &'a str,
    /// CPUs that its quota allows, where that was read.
    quota: Option<f64>,
    /// Time in which it was throttled, no more than the windows are long.
    slow_ms: f64,
    base_ms: f64,
    /// Periods in which the quota ran out, a second of the slow windows.
    periods_per_s: f64,
}

impl<'a> Group<'a> {
    /// The group that was throttled most, of a recording of one JVM; of many it is not known whose
    /// it is.
    fn of(case: &Case<'a>, jvm: ProcessId) -> Option<Self> {
        let recording: &'a Recording = case.recording;
        let others = recording.processes.iter().enumerate().any(|(i, p)| p.jvm && i != jvm.index());
        let throttled = recording.series.iter().filter(|s| s.info.name == live::CGROUP_THROTTLED.name);
        let group = |path: &'a str| {
            let sum = |word: live::Word, windows: &[Window]| -> f64 { sum(recording, word, path, windows) };
            let ms = |windows: &[Window]| sum(live::CGROUP_THROTTLED, windows).min(Case::length_ms(windows));
            let seconds = Case::length_ms(&case.slow) / 1e3;
            let quota = series(recording, live::CGROUP_CPU_QUOTA, path);
            Self {
                path,
                quota: quota.and_then(|s| s.value.last().copied()).filter(|cpus| *cpus > 0.0),
                slow_ms: ms(&case.slow),
                base_ms: ms(&case.base),
                periods_per_s: sum(live::CGROUP_THROTTLED_PERIODS, &case.slow)
                    / 1e3
                    / seconds.max(f64::MIN_POSITIVE),
            }
        };
        let groups =
            throttled.map(|s| group(&s.info.instance)).filter(|group| group.slow_ms > 0.0 && !others);
        groups.max_by(|a, b| a.slow_ms.total_cmp(&b.slow_ms))
    }
}

fn series<'a>(
    recording: &'a Recording,
    word: live::Word,
    path: &str,
) -> Option<&'a fathom_recording::Series> {
    recording.series.iter().find(|s| s.info.name == word.name && s.info.instance == path)
}

/// A group's value times the time in windows, milliseconds.
fn sum(recording: &Recording, word: live::Word, path: &str, windows: &[Window]) -> f64 {
    let values = series(recording, word, path).into_iter().flat_map(|series| values(series, windows));
    values.map(|(ns, value)| value * ns / 1e6).sum()
}

fn found(
    rule: &dyn Rule,
    cpu: &CpuContention<'_, '_>,
    group: Option<&Group<'_>>,
    by_thread: bool,
    cost_ms: f64,
) -> Finding {
    let case = cpu.case;
    let sure = match by_thread {
        true => Ground::Itself.sure(case, cost_ms, &reasons::HELD_BACK_BY_SCHEDULER),
        false => Ground::Incomplete.because(case, cost_ms, &reasons::COUNTED_BY_CGROUP),
    };
    let mut finding = case.finding(rule, cpu.jvm, sure, cost_ms);
    let quota = group.and_then(|group| group.quota).map(Value::cpus);
    let part = match by_thread {
        true => cpu.slow.throttled_share(),
        false => group.map_or(0.0, |group| group.slow_ms / cpu.slow.length_ms.max(f64::MIN_POSITIVE)),
    };
    let usual = cpu.base.as_ref().filter(|_| by_thread).map(|base| Value::share(base.throttled_share()));
    let title = titles::CPU_THROTTLED.is(Value::share(part)).over(usual);
    finding.title = title.with("quota", quota.clone()).into();
    let path = group.map(|group| Value::name(group.path));
    let culprit = Fact { value: path, ..culprits::QUOTA.fact() };
    finding.culprit = culprit.with("quota", quota.filter(|_| group.is_some())).into();
    finding.meaning = meanings::QUOTA_USED_UP.fact().into();
    finding.evidence = evidence(cpu, group, by_thread);
    finding.windows.clone_from(&case.slow);
    finding.remedies = vec![remedies::LARGER_QUOTA.remedy(), remedies::FEWER_THREADS_AT_ONCE.remedy()];
    finding.verify = vec![checks::NR_THROTTLED.fact().into(), checks::NOTHING_THROTTLED.fact().into()];
    finding
}

fn evidence(cpu: &CpuContention<'_, '_>, group: Option<&Group<'_>>, by_thread: bool) -> Vec<Evidence> {
    let mut evidence = Vec::new();
    if by_thread {
        let fact = facts::THROTTLED.is(Value::ms(cpu.slow.throttled_ms));
        let fact = fact
            .with("running", Value::ms(cpu.slow.running_ms))
            .with("waiting", Value::ms(cpu.slow.waiting_ms))
            .with("active", Value::ms(cpu.slow.active_ms));
        evidence.push(summed(cpu.source(), fact));
    }
    if let Some(group) = group {
        let fact = facts::QUOTA.is(Value::per_second(group.periods_per_s));
        let fact = fact.with("group", Value::name(group.path)).with("throttled", Value::ms(group.slow_ms));
        evidence.push(summed(cpu.host(), fact));
    }
    evidence
}

#[cfg(test)]
mod tests {
    use crate::Confidence;
    use fathom_recording::vocabulary::live;

    use super::*;
    use crate::built::{Built, judged, slow_and_base};

    /// Three workers that stand still for so many ms of each 100 ms.
    fn throttled(ms: f64) -> Built {
        let mut built = Built::jvm("17", "G1", 20.0);
        for worker in ["a", "b", "c"] {
            built.watched(worker, 20.0);
            for i in 0..200 {
                built.preempted(worker, f64::from(i) * 0.1, ms, ms, "");
            }
        }
        built
    }

    fn group(built: &mut Built) {
        built.gauge(live::CGROUP_THROTTLED, "cpu/box", None, &[(0.0, 20.0, 0.55)]);
        built.gauge(live::CGROUP_THROTTLED_PERIODS, "cpu/box", None, &[(0.0, 20.0, 9.0)]);
        built.gauge(live::CGROUP_CPU_QUOTA, "cpu/box", None, &[(0.0, 20.0, 0.2)]);
    }

    /// What of the time in which threads had work they were throttled.
    fn throttled_share(finding: &Finding) -> f64 {
        let threads = finding.fact(&facts::THROTTLED);
        threads.number("value").unwrap() / threads.number("active").unwrap()
    }

    #[test]
    fn threads_without_quota_are_found_with_the_group_and_its_quota() {
        let mut built = throttled(55.0);
        group(&mut built);
        let Judgement::Found(finding) = judged(&CpuThrottledByCgroup, &built.sealed()) else {
            panic!("not found")
        };
        assert!((finding.cost_ms - 11_000.0).abs() < 200.0, "{}", finding.cost_ms);
        finding.culprit.states(&culprits::QUOTA, &[("quota", "0.20"), ("value", "cpu/box")]);
        assert!((throttled_share(&finding) - 0.55).abs() < 0.005, "{:?}", finding.evidence);
        assert!(
            finding.facts(&facts::QUOTA).any(|quota| (quota.number("value").unwrap() - 9.0).abs() < 0.05),
            "{:?}",
            finding.evidence
        );
    }

    #[test]
    fn no_more_is_charged_than_the_time_in_which_any_thread_was_throttled() {
        // Workers that have work for four seconds of twenty, and are throttled for nine tenths of
        // it.
        let mut built = Built::jvm("17", "G1", 20.0);
        for worker in ["a", "b", "c"] {
            built.watched(worker, 20.0);
            built.on_thread(fathom_recording::vocabulary::kind::SCHED_OFF, worker, "sleeping", 4.0, 16_000.0);
            for i in 0..40 {
                built.preempted(worker, f64::from(i) * 0.1, 90.0, 90.0, "");
            }
        }
        let Judgement::Found(finding) = judged(&CpuThrottledByCgroup, &built.sealed()) else {
            panic!("not found")
        };
        assert!((finding.cost_ms - 3_600.0).abs() < 50.0, "{}", finding.cost_ms);
        assert!((throttled_share(&finding) - 0.9).abs() < 0.005, "{:?}", finding.evidence);
    }

    #[test]
    fn the_groups_figures_alone_are_enough_where_no_thread_was_watched() {
        let mut built = Built::jvm("17", "G1", 20.0);
        group(&mut built);
        let Judgement::Found(finding) = judged(&CpuThrottledByCgroup, &built.sealed()) else {
            panic!("not found")
        };
        assert_eq!(finding.confidence, Confidence::Likely);
        assert!((finding.cost_ms - 11_000.0).abs() < 200.0, "{}", finding.cost_ms);
    }

    #[test]
    fn what_is_throttled_in_the_base_too_is_not_what_makes_the_window_slow() {
        let recording = throttled(55.0).sealed();
        let case = slow_and_base(&recording, (5, 10), (10, 20), 0.5);
        assert!(matches!(CpuThrottledByCgroup.judge(&case, ProcessId(0)), Judgement::RuledOut { .. }));
        assert!(matches!(
            judged(&CpuThrottledByCgroup, &throttled(2.0).sealed()),
            Judgement::RuledOut { .. }
        ));
        let nobody = Built::jvm("17", "G1", 20.0).sealed();
        assert!(matches!(judged(&CpuThrottledByCgroup, &nobody), Judgement::NotApplicable));
    }
}
