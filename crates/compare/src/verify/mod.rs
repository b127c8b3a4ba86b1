//! Whether a fix helped: the diagnosis of what was recorded before it, compared with that of what
//! was recorded after.
//!
//! ```text
//! before ─▶ diagnose ─▶ findings ─┐
//!                                 ├─▶ each: gone, smaller, the same, larger, not known (causes.rs) ─▶ the verdict
//! after ──▶ diagnose ─▶ findings, ruled out, blind spots                                                 ▲
//!        └─▶ recordings::compare ─▶ throughput, pauses: what was gained (gains.rs) ──────────────────────┘
//! ```
//!
//! A cause is gone only where AFTER was able to show it and rules it out; what AFTER did not look
//! at is not known.
//!
//! Limits. The result holds for these two runs.

mod gains;
#[cfg(test)]
mod tests;

use fathom_diagnose::{Diagnosis, Measure, Options, Status, WindowError, diagnose, quantity};
use fathom_recording::Recording;
use serde::Serialize;

pub use gains::{Change, Gain};

use crate::causes::{self, Cause, New, Sides, State};
use crate::recordings::{self, Asked, Differing, RecordingsReport};

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.verify/1";

/// A finding that costs less than this part of the most expensive one does not decide whether it is
/// fixed.
const DECIDES: f64 = 0.2;
/// What costs at least this part of the cause that is gone has taken its place.
const TOOK_ITS_PLACE: f64 = 0.5;
/// AFTER did less than this part of what BEFORE did: the cause may not have had the occasion to
/// act.
const LESS_LOAD: f64 = 0.5;

/// The one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The causes that decide are gone.
    Fixed,
    /// They cost less, or some of them are gone.
    Smaller,
    /// They cost as much, or more, or another one has taken their place.
    NotFixed,
    /// AFTER does not show it, or BEFORE has nothing to be fixed.
    CannotTell,
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Smaller => "smaller",
            Self::NotFixed => "not fixed",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// What a diagnosis came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Side {
    /// What was read.
    pub of: String,
    /// The time that it covers, seconds.
    pub covers_s: f64,
    /// What it comes to.
    pub status: Status,
    /// Its diagnosis in a sentence.
    pub headline: String,
    /// Lost time, milliseconds, and what it was measured on; empty: not measured.
    pub lost_ms: f64,
    /// See there.
    pub measured_on: String,
}

/// What came of a fix.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct VerifyReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// The one word.
    pub verdict: Verdict,
    /// The same in a sentence.
    pub sentence: String,
    /// Before the fix, and after.
    pub before: Side,
    /// See there.
    pub after: Side,
    /// What became of each finding of BEFORE, in its order.
    pub causes: Vec<Cause>,
    /// What is new.
    pub new: Vec<New>,
    /// What was gained, compared with what was to be expected.
    pub gains: Vec<Gain>,
    /// What is not the same on both sides apart from the fix, or is the fix.
    pub differing: Vec<Differing>,
    /// What cannot be judged, and why.
    pub not_known: Vec<String>,
}

/// Diagnoses both sides and compares them.
pub fn verify(of: [String; 2], [before, after]: [Recording; 2]) -> Result<VerifyReport, WindowError> {
    let diagnoses = [diagnose(&before, &Options::default())?, diagnose(&after, &Options::default())?];
    let compared = recordings::compare(of.clone(), [before, after], &Asked::default());
    Ok(judged(of, &diagnoses, &compared))
}

/// The report on two diagnoses.
fn judged(of: [String; 2], [before, after]: &[Diagnosis; 2], compared: &RecordingsReport) -> VerifyReport {
    let throughput = compared.measures.iter().find(|m| m.id == "throughput");
    let rates = throughput.map(|m| [m.first, m.second]);
    let sides =
        Sides { diagnoses: [before, after], names: ["BEFORE", "AFTER"], covers_s: compared.covers_s, rates };
    let mut causes = causes::causes(sides);
    let mut not_known = Vec::new();
    if let Some(why) = other_program(compared).or_else(|| less_load(rates)) {
        // What did not act may not have had the occasion.
        for cause in causes.iter_mut().filter(|cause| cause.state == State::Gone) {
            (cause.state, cause.why) = (State::NotKnown, format!("{why}; {}", cause.why));
        }
        not_known.push(why);
    }
    let unknown = causes.iter().filter(|cause| cause.state == State::NotKnown);
    not_known.extend(unknown.map(|cause| format!("what became of {}: {}", cause.rule, cause.why)));
    // Stops need no series: that AFTER has none that are long is what was hoped for.
    let on_series = before.loss.measure.is_some_and(|measure| measure != Measure::Stops);
    if on_series && after.loss.measure.is_none() {
        not_known.push(format!(
            "what AFTER lost: BEFORE was measured on {}, and AFTER on nothing",
            before.loss.measured_on
        ));
    }
    let new = causes::new_ones(sides);
    let gains = gains::gains(before, compared);
    let fell = fell(&gains);
    not_known.extend(fell.map(|why| why.to_owned()));
    let verdict = match verdict(&causes, &new) {
        // It is gone, and that was not worth anything: who does less has less occasion.
        Verdict::Fixed | Verdict::Smaller if fell.is_some() => Verdict::CannotTell,
        verdict => verdict,
    };
    let side = |i: usize, d: &Diagnosis| Side {
        of: of[i].clone(),
        covers_s: compared.covers_s[i],
        status: d.status,
        headline: d.headline.to_string(),
        lost_ms: d.loss.lost_ms,
        measured_on: d.loss.measured_on.clone(),
    };
    VerifyReport {
        schema: SCHEMA,
        verdict,
        sentence: sentence(verdict, &causes, &new, &gains),
        before: side(0, before),
        after: side(1, after),
        causes,
        new,
        gains,
        differing: compared.differing.clone(),
        not_known,
    }
}

/// Another main class is another program.
fn other_program(compared: &RecordingsReport) -> Option<String> {
    let main = compared.differing.iter().find(|d| d.what == "main class")?;
    let shown = |side: &Option<String>| side.clone().unwrap_or_else(|| "not known".into());
    Some(format!("AFTER is of another program ({} instead of {})", shown(&main.second), shown(&main.first)))
}

fn less_load(rates: Option<[f64; 2]>) -> Option<String> {
    let [before, after] = rates?;
    (before > 0.0 && after < LESS_LOAD * before).then(|| {
        format!(
            "AFTER did {} operations a second, and BEFORE {} with the cause in it: there may have been no occasion for it",
            quantity::count(after),
            quantity::count(before)
        )
    })
}

/// Whether AFTER does less than BEFORE with the cause in it, beyond noise.
fn fell(gains: &[Gain]) -> Option<&'static str> {
    let throughput = gains.iter().find(|gain| gain.id == "throughput")?;
    throughput.ratio.filter(|[_, _, high]| *high < 1.0)?;
    Some(
        "whether it helped: AFTER does fewer operations than BEFORE did with the cause in it, so the load or something else differs",
    )
}

/// The causes that decide: those that cost a good part of what the most expensive one costs.
fn deciding(causes: &[Cause]) -> impl Iterator<Item = &Cause> {
    let most = causes.iter().map(cost_of).fold(0.0, f64::max);
    // Where no cost is known, the first one: findings are in order.
    let decides = move |i: usize, cause: &Cause| match most > 0.0 {
        true => cost_of(cause) >= DECIDES * most,
        false => i == 0,
    };
    causes.iter().enumerate().filter(move |(i, cause)| decides(*i, cause)).map(|(_, cause)| cause)
}

fn cost_of(cause: &Cause) -> f64 {
    cause.before.map_or(0.0, |cost| cost.ms_per_s)
}

fn verdict(causes: &[Cause], new: &[New]) -> Verdict {
    let states: Vec<State> = deciding(causes).map(|cause| cause.state).collect();
    let is = |state: State| states.contains(&state);
    if states.is_empty() || states[0] == State::NotKnown {
        return Verdict::CannotTell;
    }
    if states.iter().all(|state| *state == State::Gone) {
        return if took_its_place(causes, new).is_some() { Verdict::NotFixed } else { Verdict::Fixed };
    }
    match () {
        () if matches!(states[0], State::Gone | State::Smaller) => Verdict::Smaller,
        () if is(State::Gone) || is(State::Smaller) => Verdict::Smaller,
        () => Verdict::NotFixed,
    }
}

/// What is new and costs a good part of what the cause did that is gone.
fn took_its_place<'n>(causes: &[Cause], new: &'n [New]) -> Option<&'n New> {
    let most = causes.iter().map(cost_of).fold(0.0, f64::max);
    new.iter().find(|new| most > 0.0 && new.ms_per_s.is_some_and(|ms| ms >= TOOK_ITS_PLACE * most))
}

fn sentence(verdict: Verdict, causes: &[Cause], new: &[New], gains: &[Gain]) -> String {
    let Some(lead) = deciding(causes).next() else {
        return "cannot tell: BEFORE has no finding that could be fixed".into();
    };
    let change = match (lead.state, lead.before, lead.after) {
        (State::Gone, Some(before), _) => {
            format!("{} is gone, which cost {} of each second", lead.rule, quantity::millis(before.ms_per_s))
        }
        (State::Gone, None, _) => format!("{} is gone", lead.rule),
        (State::NotKnown, ..) => format!("what became of {} is not known: {}", lead.rule, lead.why),
        (state, Some(before), Some(after)) => format!(
            "{} is {}: {} of each second, {} before",
            lead.rule,
            state.words(),
            quantity::millis(after.ms_per_s),
            quantity::millis(before.ms_per_s)
        ),
        (state, ..) => format!("{} is {}, what it costs is not known", lead.rule, state.words()),
    };
    let place = took_its_place(causes, new).filter(|_| lead.state == State::Gone);
    let place = place.map_or(String::new(), |new| {
        format!(
            "; {} is new and costs {} of each second",
            new.rule,
            quantity::millis(new.ms_per_s.unwrap_or(0.0))
        )
    });
    let gained = gains.first().map_or(String::new(), |gain| format!("; {}", gain.words));
    format!("{}: {change}{place}{gained}", verdict.words())
}
