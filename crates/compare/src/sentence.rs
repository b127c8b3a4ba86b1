//! A verdict in one sentence: what was compared, the ratio with its interval, the word, and what
//! would help where that cannot be known.

use fathom_recording::quantity;

use crate::interval::{Estimate, FEWEST_PAIRS, runs_needed};
use crate::metric::{Measurement, Metric};
use crate::verdict::{Comparison, Verdict};

/// Two commands, and what their ratio is of.
pub(crate) struct Compared<'a> {
    /// Baseline and other.
    pub(crate) names: [String; 2],
    /// Runs of each.
    pub(crate) runs: usize,
    /// What is compared.
    pub(crate) measurement: &'a Measurement,
    /// How a ratio of it is reported.
    pub(crate) words: Words,
}

/// How a ratio is said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Words {
    /// "takes 1.04 times as long as".
    Time,
    /// "takes 1.04 times the CPU time of".
    Cpu,
    /// "does 1.04 times as much per second as".
    Work,
    /// "gives 1.04 times the value of".
    Value,
    /// "is stopped 1.04 times as long as".
    Stopped,
}

impl Words {
    /// Those of a metric.
    pub(crate) fn of(metric: &Metric, measurement: &Measurement) -> Self {
        match metric {
            Metric::Wall => Self::Time,
            Metric::Cpu => Self::Cpu,
            Metric::Throughput { .. } | Metric::Specjvm => Self::Work,
            Metric::Number { .. } => Self::Value,
            Metric::Jmh { .. } => Self::of_unit(measurement),
        }
    }

    /// Those of a benchmark of JMH: "ns/op" is time, "ops/s" is work.
    pub(crate) fn of_unit(measurement: &Measurement) -> Self {
        match (measurement.higher_is_better, measurement.unit.ends_with("/op")) {
            (true, _) => Self::Work,
            (false, true) => Self::Time,
            (false, false) => Self::Value,
        }
    }

    fn said(self, ratio: &str, baseline: &str) -> String {
        match self {
            Self::Time => format!("takes {ratio} times as long as {baseline}"),
            Self::Cpu => format!("takes {ratio} times the CPU time of {baseline}"),
            Self::Work => format!("does {ratio} times as much in the same time as {baseline}"),
            Self::Value => format!("gives {ratio} times the value of {baseline}"),
            Self::Stopped => format!("is stopped by collections {ratio} times as long as {baseline}"),
        }
    }
}

impl Compared<'_> {
    /// The verdict with its sentence.
    pub(crate) fn judged(self, estimate: Option<Estimate>, margin: f64, alpha: f64) -> Comparison {
        let higher_is_better = self.measurement.higher_is_better;
        let verdict = estimate
            .as_ref()
            .map_or(Verdict::CannotTell, |estimate| Verdict::of(estimate, margin, higher_is_better));
        let needed = estimate.filter(|_| verdict == Verdict::CannotTell);
        let needed = needed.map(|e| runs_needed(e.sigma, margin, alpha).max(self.runs + 1));
        let sentence = self.sentence(estimate.as_ref(), verdict, margin, needed);
        let [baseline, other] = self.names;
        Comparison {
            base: baseline,
            other,
            figure: self.measurement.name.clone(),
            higher_is_better,
            estimate,
            verdict,
            runs_needed: needed,
            sentence,
        }
    }

    /// The same of two recordings, whose segments are not runs: that more of them would show more
    /// is not promised.
    pub(crate) fn judged_segments(self, estimate: Option<Estimate>, margin: f64, alpha: f64) -> Comparison {
        let segments = self.runs;
        let mut comparison = self.judged(estimate, margin, alpha);
        // Words of the sentence that speak of runs.
        comparison.runs_needed = None;
        let first_part = comparison.sentence.split("; ").next().unwrap_or("");
        let sentence =
            first_part.replace(&format!("{segments} runs each"), &format!("{segments} segments of each"));
        // The caller knows why there is no estimate, and says so.
        comparison.sentence = match estimate {
            Some(_) => sentence,
            None => format!("B against A: {}", Verdict::CannotTell.said()),
        };
        comparison
    }

    /// The same of two sides whose units are forks of JMH.
    pub(crate) fn judged_forks(self, estimate: Option<Estimate>, margin: f64, alpha: f64) -> Comparison {
        let mut comparison = self.judged(estimate, margin, alpha);
        comparison.sentence =
            comparison.sentence.replace("runs each", "forks each").replace("runs of each", "forks of each");
        comparison
    }

    fn sentence(
        &self,
        estimate: Option<&Estimate>,
        verdict: Verdict,
        margin: f64,
        needed: Option<usize>,
    ) -> String {
        let [baseline, other] = &self.names;
        let of = if self.measurement.name.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.measurement.name)
        };
        let Some(e) = estimate else {
            let why = match self.runs {
                few if few < FEWEST_PAIRS => {
                    format!("{few} runs of each, at least {FEWEST_PAIRS} are needed")
                }
                _ => "a value is not greater than zero, so there is no ratio".to_owned(),
            };
            return format!("{of}{other} against {baseline}: {}; {why}", verdict.said());
        };
        let digits = digits(e);
        let number = |value: f64| format!("{value:.digits$}");
        let percent = percent(margin);
        let end = match (verdict, needed) {
            (Verdict::NoDifference, _) => format!(" (whatever it is lies within {percent})"),
            (Verdict::CannotTell, Some(needed)) => {
                let needed = quantity::whole(round(needed) as u64);
                format!("; some {needed} runs each would show a difference of {percent}")
            }
            _ => String::new(),
        };
        format!(
            "{of}{other} {} ({} to {}, {} runs each): {}{end}",
            self.words.said(&number(e.ratio), baseline),
            number(e.low),
            number(e.high),
            self.runs,
            verdict.said()
        )
    }
}

/// Digits behind the point with which the ends of an interval differ.
fn digits(estimate: &Estimate) -> usize {
    let width = estimate.high - estimate.low;
    let wanted = (-width.log10()).ceil() + 1.0;
    if wanted.is_finite() { wanted.clamp(2.0, 6.0) as usize } else { 3 }
}

/// A share in per cent with the digits that it has: "1%", "0.5%".
pub fn percent(share: f64) -> String {
    let text = format!("{:.3}", share * 100.0);
    format!("{}%", text.trim_end_matches('0').trim_end_matches('.'))
}

/// A number of which two digits are known.
fn round(runs: usize) -> usize {
    let scale = 10_usize.pow((runs.max(1).ilog10()).saturating_sub(1));
    runs.div_ceil(scale) * scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_what_is_known_of_them() {
        assert_eq!([3, 48, 481, 12_345].map(round), [3, 48, 490, 13_000]);
        assert_eq!([0.01, 0.005, 0.125].map(percent), ["1%", "0.5%", "12.5%"]);
    }
}
