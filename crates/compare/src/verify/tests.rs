//! Verdicts on causes put together by hand; those on real logs are in
//! crates/cli/tests/jvm/verify.rs.

use fathom_diagnose::Confidence;

use super::*;
use crate::causes::Cost;

fn cause(state: State, ms_per_s: f64) -> Cause {
    let cost = (ms_per_s > 0.0).then_some(Cost { ms_per_s, ms_per_operation: None, ms: ms_per_s });
    Cause {
        rule: "gc-humongous",
        title: String::new(),
        culprit: String::new(),
        confidence: Confidence::Likely,
        state,
        why: String::new(),
        before: cost,
        after: None,
    }
}

fn new(ms_per_s: f64) -> New {
    New {
        rule: "dns-slow",
        title: String::new(),
        culprit: String::new(),
        confidence: Confidence::Likely,
        ms_per_s: Some(ms_per_s),
        before_saw: true,
    }
}

#[test]
fn the_causes_that_cost_most_decide() {
    let verdict = |causes: &[(State, f64)], new: &[New]| {
        verdict(&causes.iter().map(|(state, cost)| cause(*state, *cost)).collect::<Vec<_>>(), new)
    };
    use State as S;
    assert_eq!(verdict(&[], &[]), Verdict::CannotTell);
    assert_eq!(verdict(&[(S::Gone, 100.0)], &[]), Verdict::Fixed);
    assert_eq!(verdict(&[(S::Gone, 100.0), (S::Same, 19.0)], &[]), Verdict::Fixed);
    assert_eq!(verdict(&[(S::Gone, 100.0), (S::Same, 21.0)], &[]), Verdict::Smaller);
    assert_eq!(verdict(&[(S::NotKnown, 100.0), (S::Gone, 90.0)], &[]), Verdict::CannotTell);
    assert_eq!(verdict(&[(S::Same, 100.0), (S::Larger, 90.0)], &[]), Verdict::NotFixed);
    assert_eq!(verdict(&[(S::Smaller, 100.0)], &[]), Verdict::Smaller);
    // Another one that costs as much has taken its place.
    assert_eq!(verdict(&[(S::Gone, 100.0)], &[new(49.0)]), Verdict::Fixed);
    assert_eq!(verdict(&[(S::Gone, 100.0)], &[new(50.0)]), Verdict::NotFixed);
    // Costs are not known: the first decides.
    assert_eq!(verdict(&[(S::Gone, 0.0), (S::Same, 0.0)], &[]), Verdict::Fixed);
}

#[test]
fn who_does_half_as_much_had_no_occasion() {
    assert!(less_load(Some([100.0, 49.0])).is_some_and(|why| why.contains("49 operations")));
    assert_eq!(less_load(Some([100.0, 51.0])), None);
    assert_eq!(less_load(None), None);
}
