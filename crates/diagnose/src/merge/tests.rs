//! Findings that share time, and rules that see a part of it.

use proptest::prelude::*;

use fathom_recording::vocabulary::source::SESSION;

use super::*;
use crate::built::Built;
use crate::facts::{Metric, Value, merged, reasons, scope, switch_on};
use crate::known::Known;
use crate::{Confidence, Layer, Loss, Sight, Window};

struct Named(&'static str);

impl Rule for Named {
    fn id(&self) -> &'static str {
        self.0
    }
    fn layer(&self) -> Layer {
        Layer::Gc
    }
    fn about(&self) -> &'static str {
        ""
    }
    fn needs(&self) -> &'static [Sight] {
        match self.0 {
            "needs-locks" => &[Sight::Locks],
            "needs-samples" => &[Sight::CpuSamples],
            _ => &[],
        }
    }
    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        match self.0 {
            "blind-a" | "blind-b" => Judgement::Inconclusive(BlindSpot {
                what: STOPS_OF.is(Value::name(case.jvm_name(jvm))).into(),
                rules: vec![self.0.into()],
                remedy: switch_on::SAFEPOINTS.fact().into(),
            }),
            _ => Judgement::RuledOut {
                figure: NUMBER.is(Value::counted(f64::from(jvm.0))).into(),
                source: "gc.log".into(),
            },
        }
    }
}

static STOPS_OF: Metric = Metric::new("test-stops", "stops of {value}");
static NUMBER: Metric = Metric::new("test-number", "{value}");

fn with_case<T>(lost_ms: f64, test: impl FnOnce(&Case<'_>, ProcessId) -> T) -> T {
    let mut built = Built::jvm("17", "G1", 100.0);
    built.pause("Pause Young (Normal)", "", 5.0, 100.0, &[]);
    let (jvm, recording) = (built.jvm, built.sealed());
    let slow = vec![Window { from_ns: 0, to_ns: 100_000_000_000 }];
    let loss = Loss { lost_ms, ..Loss::default() };
    test(
        &Case {
            recording: &recording,
            slow,
            base: Vec::new(),
            whole_run: true,
            loss,
            found_on_stops: false,
            warm_up: None,
            lost_by: Vec::new(),
            exchanges: None,
            attributed: std::rc::Rc::default(),
            known: Known::shared(&recording),
        },
        jvm,
    )
}

fn finding(case: &Case<'_>, jvm: ProcessId, rule: &'static str, cost_ms: f64, s: &[(i64, i64)]) -> Finding {
    let mut finding = case.finding(&Named(rule), jvm, (Confidence::Likely, Vec::new()), cost_ms);
    let window = |(from, to): &(i64, i64)| Window { from_ns: from * 1_000_000, to_ns: to * 1_000_000 };
    finding.windows = s.iter().map(window).collect();
    finding
}

#[test]
fn a_sum_of_stops_stands_with_what_explains_a_part_of_it_before_what_costs_less() {
    with_case(10_000.0, |case, jvm| {
        let order = |grown_ms: f64| {
            let costs = [(crate::growth::RULE, grown_ms), ("jvm-stopped", 2_000.0), ("gc-explicit", 500.0)];
            let findings = costs.map(|(rule, cost_ms)| finding(case, jvm, rule, cost_ms, &[]));
            let mut findings = Vec::from(findings);
            order::by_cost(&mut findings);
            findings.iter().map(|f| f.rule).collect::<Vec<_>>()
        };
        assert_eq!(order(1_500.0), ["gc-explicit", "jvm-stopped", crate::growth::RULE]);
        assert_eq!(order(2_500.0), [crate::growth::RULE, "gc-explicit", "jvm-stopped"]);
    });
}

#[test]
fn the_same_pause_is_charged_to_one_finding() {
    with_case(2_000.0, |case, jvm| {
        let mut surer = finding(case, jvm, "b", 1_000.0, &[(0, 1_000)]);
        surer.confidence = Confidence::Proven;
        let ranked = rank(vec![finding(case, jvm, "a", 1_000.0, &[(0, 1_000)]), surer], case);
        assert_eq!((ranked.len(), ranked[0].rule, ranked[0].cost_ms), (1, "b", 1_000.0));
        let also = ranked[0].fact(&merged::ALSO_FITS);
        assert_eq!(["rule", "confidence"].map(|name| also.name(name)), [Some("a"), Some("likely")]);
    });
}

#[test]
fn what_may_be_usual_takes_no_time_from_a_surer_cause_where_nothing_is_compared() {
    with_case(20_000.0, |case, jvm| {
        let first = |confidence: Confidence| {
            let mut taken = finding(case, jvm, "cpu-taken-by-others", 16_000.0, &[(0, 20_000)]);
            taken.confidence = confidence;
            let lock = finding(case, jvm, "lock-contended-juc", 15_000.0, &[(0, 20_000)]);
            rank(vec![taken, lock], case)[0].rule
        };
        assert_eq!(first(Confidence::ConsistentWith), "lock-contended-juc");
        assert_eq!(first(Confidence::Likely), "cpu-taken-by-others");
    });
}

#[test]
fn the_same_cause_in_another_jvm_is_added_from_the_other_frame_and_in_the_same_one_it_is_not() {
    with_case(2_000.0, |case, jvm| {
        let replica = ProcessId(jvm.0 + 1);
        let of = |jvms: &[ProcessId]| Merged {
            findings: jvms.iter().map(|jvm| finding(case, *jvm, "a", 1_000.0, &[(0, 1_000)])).collect(),
            ..Merged::default()
        };
        let merged = with_others(of(&[jvm]), of(&[jvm, replica]), &reasons::FOUND_IN_RUN);
        assert_eq!(merged.findings.iter().map(|f| f.process_id).collect::<Vec<_>>(), [jvm, replica]);
    });
}

#[test]
fn a_sum_of_stops_is_added_from_the_other_frame_only_where_they_are_not_explained() {
    with_case(1_000.0, |case, jvm| {
        let ranked = |rule: &'static str, cost_ms: f64, range: (i64, i64)| {
            let of = |finding: Finding| Merged { findings: vec![finding], ..Merged::default() };
            let sum = finding(case, jvm, "jvm-stopped", 1_000.0, &[(0, 1_000)]);
            let explains = finding(case, jvm, rule, cost_ms, &[range]);
            with_others(of(explains), of(sum), &reasons::FOUND_IN_RUN).findings.len()
        };
        assert_eq!(ranked("gc-explicit", 900.0, (0, 900)), 1);
        assert_eq!(ranked("gc-explicit", 400.0, (0, 400)), 2, "less than half of them");
        assert_eq!(ranked("gc-explicit", 900.0, (2_000, 2_900)), 2, "other stops");
        assert_eq!(ranked("gc-explicit", 90.0, (0, 900)), 2, "a tenth of each");
        assert_eq!(ranked("jit-compile-burst", 900.0, (0, 900)), 2, "nothing about stops");
    });
}

#[test]
fn a_pause_within_a_long_interval_keeps_what_the_interval_does_not_claim() {
    with_case(10_000.0, |case, jvm| {
        let burst = finding(case, jvm, "a", 5_000.0, &[(0, 10_000)]);
        let pause = finding(case, jvm, "b", 1_000.0, &[(2_000, 3_000)]);
        let ranked = rank(vec![pause, burst], case);
        assert_eq!([ranked[0].cost_ms, ranked[1].cost_ms], [5_000.0, 500.0]);
    });
}

#[test]
fn a_sum_of_stops_gives_way_to_what_explains_stops_alone() {
    with_case(1_000.0, |case, jvm| {
        let first = |rule: &'static str| {
            let mut findings =
                vec![finding(case, jvm, "jvm-stopped", 600.0, &[]), finding(case, jvm, rule, 300.0, &[])];
            by_cost(&mut findings);
            findings[0].rule
        };
        assert_eq!(first("gc-heap-too-small"), "gc-heap-too-small");
        assert_eq!(first("jit-compile-burst"), "jvm-stopped");
    });
}

proptest! {
    #[test]
    fn shares_never_add_up_to_more_than_the_loss(
        costs in prop::collection::vec((0.0..9_000.0_f64, 0_i64..100, 1_i64..50), 0..8),
    ) {
        with_case(6_000.0, |case, jvm| {
            let all = costs.iter().map(|(c, at, len)| finding(case, jvm, "a", *c, &[(*at, at + len)]));
            let ranked = rank(all.collect(), case);
            let sum: f64 = ranked.iter().filter_map(|f| f.share).sum();
            prop_assert!(sum <= 1.0 + 1e-9, "{}", sum);
            prop_assert!(ranked.is_sorted_by(|a, b| a.cost_ms >= b.cost_ms));
            Ok(())
        })?;
    }
}

/// A JVM's log of 100 s, and a collector of lock waits that covers some of it.
fn with_locks<T>(covers_s: (i64, i64), lost: u64, test: impl FnOnce(&Case<'_>, ProcessId) -> T) -> T {
    let mut built = Built::jvm("17", "G1", 100.0);
    built.pause("Pause Young (Normal)", "", 5.0, 100.0, &[]);
    built.recording.sources.push(fathom_recording::Source {
        name: "locks".into(),
        format: "locks".into(),
        covers_ns: Some((covers_s.0 * 1_000_000_000, covers_s.1 * 1_000_000_000)),
        records: 100,
        lost,
        ..Default::default()
    });
    let (jvm, recording) = (built.jvm, built.sealed());
    test(&crate::built::whole_run(&recording), jvm)
}

fn says(case: &Case<'_>, jvm: ProcessId, rule: &'static str) -> Judgement {
    judge(case, &Sights::of(case.recording), &Named(rule), jvm)
}

#[test]
fn a_cause_is_ruled_out_only_where_what_shows_it_covers_most_of_the_time() {
    let judged = |covers_s| with_locks(covers_s, 0, |case, jvm| says(case, jvm, "needs-locks"));
    assert!(matches!(judged((0, 100)), Judgement::RuledOut { .. }));
    assert!(matches!(judged((10, 95)), Judgement::RuledOut { .. }));
    let Judgement::Inconclusive(spot) = judged((10, 40)) else { panic!() };
    let covered = spot.what.fact().find(&scope::COVERED).unwrap_or_else(|| panic!("{spot:?}"));
    assert_eq!((covered.number("value"), covered.name("process")), (Some(0.3), Some("App")));
    assert_eq!(spot.rules, ["needs-locks"]);
    let Judgement::Inconclusive(spot) = judged((200, 300)) else { panic!() };
    assert!(spot.what.fact().find(&scope::NOT_COVERED).is_some(), "{spot:?}");
}

#[test]
fn a_source_that_lost_a_twentieth_of_its_records_rules_nothing_out() {
    let judged = |lost| with_locks((0, 100), lost, |case, jvm| says(case, jvm, "needs-locks"));
    assert!(matches!(judged(4), Judgement::RuledOut { .. }));
    let Judgement::Inconclusive(spot) = judged(50) else { panic!() };
    let lost = spot.what.fact().find(&scope::LOST).unwrap_or_else(|| panic!("{spot:?}"));
    assert_eq!(["value", "all"].map(|name| lost.number(name)), [Some(50.0), Some(150.0)]);
}

#[test]
fn three_samples_of_the_cpu_rule_nothing_out() {
    let judged = |samples: usize, seconds: f64| {
        let mut built = Built::jvm("17", "G1", seconds);
        for i in 0..samples {
            let at = seconds * (i as f64 + 0.5) / samples as f64;
            built.on_cpu("worker", &[("app.Main.run", fathom_recording::FrameType::C2)], at, 10.0);
        }
        let (jvm, recording) = (built.jvm, built.sealed());
        says(&crate::built::whole_run(&recording), jvm, "needs-samples")
    };
    assert!(matches!(judged(3, 0.3), Judgement::Inconclusive(_)), "30 ms may go unseen, 15 ms matter");
    assert!(matches!(judged(3, 10.0), Judgement::RuledOut { .. }), "30 ms of 10 s do not matter");
}

#[test]
fn what_is_no_jvm_is_not_asked_for_what_only_a_jvm_has() {
    let judged = |jvm: bool| {
        let mut built = Built::jvm("17", "G1", 10.0);
        built.recording.sources[0].format = SESSION.into();
        built.recording.processes[built.jvm.index()].jvm = jvm;
        let (process, recording) = (built.jvm, built.sealed());
        says(&crate::built::whole_run(&recording), process, "gc-x")
    };
    assert!(matches!(judged(true), Judgement::RuledOut { .. }));
    assert_eq!(judged(false), Judgement::NotApplicable);
}

#[test]
fn rows_are_merged_by_rule_and_by_what_to_switch_on() {
    with_case(0.0, |case, jvm| {
        let rules: [&dyn Rule; 3] = [&Named("blind-b"), &Named("gc-x"), &Named("blind-a")];
        let merged = judge_all(case, &Sights::of(case.recording), &[jvm, jvm], &rules);
        assert_eq!(merged.blind_spots.len(), 1);
        assert_eq!(merged.blind_spots[0].rules, ["blind-a", "blind-b"]);
        assert_eq!(merged.ruled_out.len(), 1);
        let figure = merged.ruled_out[0].figure.fact();
        assert_eq!(figure.find(&scope::OTHER_JVMS).and_then(|of| of.number("value")), Some(1.0));
    });
}

#[test]
fn a_burst_that_explains_about_as_much_and_is_as_sure_comes_before_what_only_grew() {
    with_case(0.0, |case, jvm| {
        let first = |growth: Confidence, burst: Confidence, burst_ms: f64| {
            let finding = |rule: &'static str, confidence, cost_ms| Finding {
                rule,
                ..case.finding(&Named(rule), jvm, (confidence, Vec::new()), cost_ms)
            };
            let mut both = [
                finding(crate::growth::RULE, growth, 1_000.0),
                finding("jit-compile-burst", burst, burst_ms),
            ];
            by_cost(&mut both);
            both[0].rule
        };
        use Confidence::{ConsistentWith, Likely};
        assert_eq!(first(ConsistentWith, Likely, 900.0), "jit-compile-burst");
        assert_eq!(first(Likely, Likely, 900.0), "jit-compile-burst");
        assert_eq!(first(ConsistentWith, Likely, 700.0), crate::growth::RULE);
        // New code is always compiled: where that is but possible, what it does is the answer.
        assert_eq!(first(ConsistentWith, ConsistentWith, 1_200.0), crate::growth::RULE);
        assert_eq!(first(ConsistentWith, ConsistentWith, 1_400.0), "jit-compile-burst");
    });
}

#[test]
fn what_a_leak_brings_about_stands_behind_it() {
    with_case(0.0, |case, jvm| {
        let finding = |rule: &'static str, confidence, cost_ms| {
            let mut finding = case.finding(&Named(rule), jvm, (confidence, Vec::new()), cost_ms);
            finding.rule = rule;
            finding
        };
        let order = |follows: &'static str, leak: Confidence| {
            let mut all = [
                finding("lock-contended-juc", Confidence::Likely, 9_000.0),
                finding(follows, Confidence::Proven, 5_000.0),
                finding("heap-leak", leak, 2_000.0),
            ];
            by_cost(&mut all);
            all.map(|finding| finding.rule)
        };
        let others = "lock-contended-juc";
        for follows in ["gc-evacuation-failure", "gc-starved-of-cpu"] {
            assert_eq!(order(follows, Confidence::Likely), [others, "heap-leak", follows]);
            assert_eq!(order(follows, Confidence::ConsistentWith), [others, follows, "heap-leak"]);
        }
    });
}
