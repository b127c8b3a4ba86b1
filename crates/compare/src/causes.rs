//! What became of each cause that the diagnosis of one side finds: found again on the other side by
//! rule and culprit, ruled out there, or not to be seen.
//!
//! Limits. A cause is known again by its rule and its culprit: one that moved to another place is
//! gone there and new here.

use fathom_diagnose::facts::Value;
use fathom_diagnose::{Confidence, Diagnosis, Fact, Finding, Layer, Sight, Status, quantity};
use serde::Serialize;

/// Costs that differ by less than this, relatively, are the same: what a cause costs in two runs of
/// the same program with the same fault in it differs by a tenth to a fifth.
const ALIKE: f64 = 0.25;
/// Share of the time that something must be seen for, to be missed where it is not.
const SEEN: f64 = 0.8;

/// What became of a cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "CauseState"))]
#[serde(rename_all = "kebab-case")]
pub enum State {
    /// The other side could have shown it, and it is not there.
    Gone,
    /// It costs less.
    Smaller,
    /// It costs as much.
    Same,
    /// It costs more.
    Larger,
    /// The other side cannot tell.
    NotKnown,
}

impl State {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Gone => "gone",
            Self::Smaller => "smaller",
            Self::Same => "the same",
            Self::Larger => "larger",
            Self::NotKnown => "not known",
        }
    }
}

/// What a cause costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "CauseCost"))]
pub struct Cost {
    /// Lost milliseconds of each second that was recorded.
    pub ms_per_s: f64,
    /// Lost milliseconds for each operation; absent where they are not counted on both sides.
    pub ms_per_operation: Option<f64>,
    /// Lost milliseconds in all.
    pub ms: f64,
}

/// A finding of the first side, and what became of it on the second.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Cause {
    /// Its rule.
    pub rule: &'static str,
    /// Its title on the first side.
    pub title: String,
    /// Who.
    pub culprit: String,
    /// How sure the first side is.
    pub confidence: Confidence,
    /// What became of it.
    pub state: State,
    /// Why that is reported.
    pub why: String,
    /// What it cost; absent where that is not known.
    pub before: Option<Cost>,
    /// What it costs now; absent where it is not found, or that is not known.
    pub after: Option<Cost>,
}

/// A finding of the second side that the first has not.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "NewCause"))]
pub struct New {
    /// Its rule.
    pub rule: &'static str,
    /// Its title.
    pub title: String,
    /// Who.
    pub culprit: String,
    /// How sure.
    pub confidence: Confidence,
    /// What it costs, milliseconds of each second; absent where that is not known.
    pub ms_per_s: Option<f64>,
    /// Whether the first side was able to show it: it is new then, and else only seen for the first
    /// time.
    pub before_saw: bool,
}

/// Two diagnoses, and what their sides are called.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sides<'a> {
    pub(crate) diagnoses: [&'a Diagnosis; 2],
    pub(crate) names: [&'static str; 2],
    /// The time that each covers.
    pub(crate) covers_s: [f64; 2],
    /// Operations per second, where both have them.
    pub(crate) rates: Option<[f64; 2]>,
}

/// What became of the findings of the first side.
pub(crate) fn causes(sides: Sides<'_>) -> Vec<Cause> {
    let [before, after] = sides.diagnoses;
    let cost = |side: usize, ms: f64| cost(ms, sides.covers_s[side], sides.rates.map(|rates| rates[side]));
    let became = |found: &Finding| {
        let again: Vec<&Finding> = after.findings.iter().filter(|f| is_same(found, f)).collect();
        let (was, is) = (cost(0, found.cost_ms), cost(1, again.iter().map(|f| f.cost_ms).sum()));
        let (state, why) = match again.first() {
            Some(again) => (compared(was, is), format!("found again: {}", again.title)),
            None => not_found(found, sides),
        };
        Cause {
            rule: found.rule,
            title: found.title.to_string(),
            culprit: found.culprit.to_string(),
            confidence: found.confidence,
            state,
            why,
            before: was,
            after: is.filter(|_| !again.is_empty()),
        }
    };
    before.findings.iter().map(became).collect()
}

/// Findings of the second side that the first has not.
pub(crate) fn new_ones(sides: Sides<'_>) -> Vec<New> {
    let [before, after] = sides.diagnoses;
    let is_new = |found: &&Finding| !before.findings.iter().any(|old| is_same(old, found));
    let new = |found: &Finding| New {
        rule: found.rule,
        title: found.title.to_string(),
        culprit: found.culprit.to_string(),
        confidence: found.confidence,
        ms_per_s: cost(found.cost_ms, sides.covers_s[1], None).map(|cost| cost.ms_per_s),
        before_saw: blind(before, found).is_none(),
    };
    after.findings.iter().filter(is_new).map(new).collect()
}

/// `None` where nothing is known to be lost.
fn cost(ms: f64, covers_s: f64, rate: Option<f64>) -> Option<Cost> {
    if !(ms > 0.0 && covers_s > 0.0) {
        return None;
    }
    let ms_per_s = ms / covers_s;
    Some(Cost { ms_per_s, ms_per_operation: rate.filter(|rate| *rate > 0.0).map(|rate| ms_per_s / rate), ms })
}

fn compared(was: Option<Cost>, is: Option<Cost>) -> State {
    // By operation where they are counted: a program that does more has more occasions.
    let per = |cost: &Cost| cost.ms_per_operation.unwrap_or(cost.ms_per_s);
    match (was, is) {
        (Some(was), Some(is)) if per(&is) < per(&was) * (1.0 - ALIKE) => State::Smaller,
        (Some(was), Some(is)) if per(&is) * (1.0 - ALIKE) > per(&was) => State::Larger,
        (Some(_), None) => State::Smaller,
        (None, Some(_)) => State::Larger,
        _ => State::Same,
    }
}

/// Whether two findings are of one cause: the same rule and the same culprit.
fn is_same(a: &Finding, b: &Finding) -> bool {
    a.rule == b.rule && is_same_culprit(a.culprit.fact(), b.culprit.fact())
}

/// Whether two facts name the same, however much of it they state.
fn is_same_culprit(a: &Fact, b: &Fact) -> bool {
    a.metric == b.metric && names(a) == names(b)
}

/// The names in a fact without what of them holds a digit, as addresses and numbers of threads do.
fn names(of: &Fact) -> Vec<&str> {
    let mut all = Vec::new();
    for value in of.values() {
        match value {
            Value::Name(name) => all.extend(words(name)),
            Value::Category(category) => all.extend(words(category.words())),
            other => all.extend(other.parts().iter().flat_map(names)),
        }
    }
    all
}

fn words(name: &str) -> impl Iterator<Item = &str> {
    let parts = name.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '(' | ')'));
    parts.filter(|part| !part.is_empty() && !part.contains(|c: char| c.is_ascii_digit()))
}

/// A finding that the second side has not: gone where that side rules it out, or shows all that the
/// first did and loses nothing.
fn not_found(found: &Finding, sides: Sides<'_>) -> (State, String) {
    let ([before, after], [first, second]) = (sides.diagnoses, sides.names);
    if let Some(why) = blind(after, found) {
        return (State::NotKnown, why);
    }
    // Another culprit of the same rule: the rule looked, and did not find this one.
    if let Some(other) = after.findings.iter().find(|f| f.rule == found.rule) {
        return (State::Gone, format!("{second} finds the same cause with another culprit: {}", other.title));
    }
    let is_ruled_out = |rule: &str| rule == found.rule || (rule == "gc" && found.layer == Layer::Gc);
    if let Some(out) = after.ruled_out.iter().find(|out| is_ruled_out(&out.rule)) {
        return (State::Gone, format!("{second} rules it out: {}", out.figure));
    }
    if let Some(missing) = unseen(before, after) {
        return (State::NotKnown, format!("{second} does not show {missing}, which {first} does"));
    }
    let lost = after.loss.lost_ms;
    match after.status {
        Status::Healthy => (State::Gone, format!("{second} shows what {first} does, and lost nothing")),
        Status::Found if after.findings.iter().any(|f| f.share.is_some_and(|share| share >= SEEN)) => {
            (State::Gone, format!("other causes explain nearly all that {second} lost"))
        }
        _ if lost > 0.0 => (
            State::NotKnown,
            format!("{second} lost {}, not all of which is explained", quantity::millis(lost)),
        ),
        _ if !after.loss.measured_on.is_empty() => {
            (State::Gone, format!("{} shows no loss in {second}", after.loss.measured_on))
        }
        _ => (State::NotKnown, format!("{second} neither rules it out nor measures a loss")),
    }
}

/// Why a side cannot judge a finding's rule; `None` where it can.
fn blind(side: &Diagnosis, found: &Finding) -> Option<String> {
    if side.findings.iter().any(|f| f.rule == found.rule) {
        return None;
    }
    let spot = side.blind_spots.iter().find(|spot| spot.rules.iter().any(|rule| rule == found.rule))?;
    let remedy = if spot.remedy.is_empty() { String::new() } else { format!("; to see it: {}", spot.remedy) };
    Some(format!("not seen there: {}{remedy}", spot.what))
}

/// The first of what one side shows and the other does not.
fn unseen(before: &Diagnosis, after: &Diagnosis) -> Option<Sight> {
    let share = |side: &Diagnosis, what: Sight| {
        side.seen.sights.iter().find(|sight| sight.what == what).map_or(0.0, |sight| sight.share)
    };
    let seen = before.seen.sights.iter().filter(|sight| sight.share >= SEEN);
    seen.map(|sight| sight.what).find(|what| share(after, *what) < SEEN)
}
