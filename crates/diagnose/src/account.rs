//! The account of a loss: which finding explains how much of it, and what is left.
//!
//! The charges add up to the loss: whatever no finding explains is a charge of its own, named after
//! what grew in it as far as the ledger of threads shows that, and "not known" for the rest. Where
//! the loss is time in which JVMs were stopped, the rest is not unknown: it is stops, of which
//! nothing explains why they take so long.

use crate::facts::{Value, account as facts};
use crate::growth::Left;
use crate::rules::yields;
use crate::waits::Category;
use crate::{Charge, ChargeKind, Fact, Finding, Loss, Measure, Statement};

/// Parts of what is left that are named at most.
const NAMED: usize = 3;
/// Share of the loss below which a part of what is left is not named.
const LEAST: f64 = 0.02;

/// Attributes a loss to findings, in their order, and to what is left; empty where no loss was
/// measured.
///
/// A finding without a share is one of other intervals than those in which the loss was measured:
/// nothing of it is attributed there.
pub(crate) fn of(loss: &Loss, findings: &[Finding], left: &[Left]) -> Vec<Charge> {
    let lost_ms = loss.lost_ms;
    if !(lost_ms > 0.0 && lost_ms.is_finite()) {
        return Vec::new();
    }
    let mut rest_ms = lost_ms;
    let mut charges = Vec::new();
    let mut charge =
        |to: Statement, kind: ChargeKind, category: Option<Category>, finding: Option<usize>, ms: f64| {
            let ms = ms.clamp(0.0, rest_ms);
            if ms > 0.0 {
                rest_ms -= ms;
                charges.push(Charge { to, kind, category, finding, ms, share: ms / lost_ms });
            }
        };
    for (i, finding) in findings.iter().enumerate().filter(|(_, finding)| finding.share.is_some()) {
        charge(finding.culprit.clone(), ChargeKind::Finding, None, Some(i), finding.cost_ms);
    }
    let named = left.iter().filter(|part| part.share >= LEAST).take(NAMED).count();
    for part in &left[..named.min(left.len())] {
        charge(part.what.clone().into(), ChargeKind::Grew, Some(part.category), None, part.share * lost_ms);
    }
    let more = &left[named.min(left.len())..];
    if !more.is_empty() {
        let share: f64 = more.iter().map(|part| part.share).sum();
        charge(
            facts::SMALLER.is(Value::count(more.len())).into(),
            ChargeKind::SmallerParts,
            None,
            None,
            share * lost_ms,
        );
    }
    let (rest, kind) = match loss.measure {
        Some(Measure::Stops) => (of_stops(findings), ChargeKind::OtherStops),
        _ => (facts::NOT_KNOWN.fact(), ChargeKind::NotKnown),
    };
    charge(rest.into(), kind, None, None, f64::INFINITY);
    charges
}

/// What is left of a loss that is stops; which finding lists them, where one does.
fn of_stops(findings: &[Finding]) -> Fact {
    let listed = findings.iter().position(|finding| finding.share.is_none() && yields(finding.rule));
    facts::OTHER_STOPS.fact().with("finding", listed.map(|i| Value::count(i + 1)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::{Confidence, Layer};

    fn findings(costs: &[(f64, bool)]) -> Vec<Finding> {
        let built = Built::jvm("17", "G1", 100.0);
        let (jvm, recording) = (built.jvm, built.sealed());
        let case = whole_run(&recording);
        let one = |(cost_ms, has_share): &(f64, bool)| {
            let mut finding =
                case.finding_by("a", Layer::Gc, jvm, (Confidence::Likely, Vec::new()), *cost_ms);
            finding.share = has_share.then_some(0.5);
            finding
        };
        costs.iter().map(one).collect()
    }

    fn left(shares: &[f64]) -> Vec<Left> {
        let what = |share: &f64| crate::facts::growth::DOING.is(Value::name(format!("{share}")));
        let part = |share: &f64| Left { category: Category::Monitor, what: what(share), share: *share };
        shares.iter().map(part).collect()
    }

    #[test]
    fn what_is_left_is_named_after_what_grew() {
        let loss = Loss { lost_ms: 1_000.0, ..Loss::default() };
        let charges =
            of(&loss, &findings(&[(600.0, true), (900.0, false)]), &left(&[0.3, 0.02, 0.02, 0.01, 0.01]));
        let rows: Vec<_> =
            charges.iter().map(|c| (c.to.fact().shows("value"), c.finding, c.ms.round())).collect();
        let named = [("0.3", None, 300.0), ("0.02", None, 20.0), ("0.02", None, 20.0)];
        let rest = [("2", None, 20.0), ("", None, 40.0)];
        let expected = [&[("", Some(0), 600.0)], &named[..], &rest[..]].concat();
        assert_eq!(
            rows,
            expected
                .into_iter()
                .map(|(value, finding, ms)| (value.to_owned(), finding, ms))
                .collect::<Vec<_>>()
        );
        let ids: Vec<_> = charges.iter().map(|c| (c.kind, c.category)).collect();
        let (grew, monitor) = (ChargeKind::Grew, Some(Category::Monitor));
        let rest = [(ChargeKind::SmallerParts, None), (ChargeKind::NotKnown, None)];
        assert_eq!(ids, [&[(ChargeKind::Finding, None)][..], &[(grew, monitor); 3], &rest].concat());
        assert!(of(&Loss::default(), &findings(&[(600.0, true)]), &[]).is_empty(), "no loss was measured");
    }

    #[test]
    fn what_is_left_of_stops_is_stops_and_not_unknown() {
        let loss = Loss { lost_ms: 1_000.0, measure: Some(Measure::Stops), ..Loss::default() };
        let mut both = findings(&[(900.0, false), (100.0, true)]);
        let rest =
            |findings: &[Finding]| of(&loss, findings, &[]).pop().map(|c| (c.to, c.finding, c.ms.round()));
        let stops = facts::OTHER_STOPS.fact();
        assert_eq!(rest(&both), Some((stops.clone().into(), None, 900.0)));
        both[0].rule = "jvm-stopped";
        let listed = stops.with("finding", Value::count(1));
        assert_eq!(rest(&both), Some((listed.into(), None, 900.0)));
    }

    proptest! {
        #[test]
        fn charges_add_up_to_the_loss(
            lost_ms in 0.001..1e9_f64,
            costs in prop::collection::vec((0.0..1e9_f64, any::<bool>()), 0..6),
            shares in prop::collection::vec(0.0..1.0_f64, 0..6),
        ) {
            let loss = Loss { lost_ms, ..Loss::default() };
            let charges = of(&loss, &findings(&costs), &left(&shares));
            let sum: f64 = charges.iter().map(|charge| charge.ms).sum();
            prop_assert!((sum - lost_ms).abs() <= 1e-6 * lost_ms, "{sum} of {lost_ms}");
            let shares: f64 = charges.iter().map(|charge| charge.share).sum();
            prop_assert!((shares - 1.0).abs() <= 1e-6, "{shares}");
        }
    }
}
