//! What was gained, compared with what BEFORE's findings promised.

use fathom_diagnose::{Diagnosis, quantity};
use serde::Serialize;

use crate::recordings::{Measure, RecordingsReport};

/// Whether a metric became better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Change {
    /// It is better in AFTER.
    Better,
    /// It is worse.
    Worse,
    /// Its interval holds both; or, where it has none, it differs by less than two runs do.
    NotSure,
}

/// A metric of both sides.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gain {
    /// Its id: "throughput", "gc.stopped".
    pub id: &'static str,
    /// "throughput", "stopped by collections", "longest pause".
    pub what: String,
    /// Unit of both.
    pub unit: &'static str,
    /// Before.
    pub before: f64,
    /// After.
    pub after: f64,
    /// After divided by before, with the ends of its interval of 95%; absent where segments of the
    /// two cannot be tested.
    pub ratio: Option<[f64; 3]>,
    /// Whether that is better.
    pub change: Change,
    /// What the findings of BEFORE promise for it, after divided by before; absent where they say
    /// nothing of it.
    pub predicted: Option<f64>,
    /// The same in words.
    pub words: String,
}

/// By how many times a metric without an interval may differ between two runs of the same program
/// (docs/verify.md).
const ALIKE: f64 = 1.25;
/// Metrics that are shown, in this order.
const SHOWN: [&str; 5] = ["throughput", "gc.stopped", "gc.longest", "gc.total", "gc.median"];

pub(super) fn gains(before: &Diagnosis, compared: &RecordingsReport) -> Vec<Gain> {
    let found = |id: &&'static str| Some((*id, compared.measures.iter().find(|m| m.id == **id)?));
    let covers_s = compared.covers_s[0];
    SHOWN.iter().filter_map(found).map(|(id, m)| gain(id, m, predicted(before, m, covers_s))).collect()
}

/// By how much operations would rise without the causes: they would go on at the usual rate in the
/// time that was lost to them. Stops would take less by what the most expensive cause of the
/// collector costs: causes of stops may share the same ones.
fn predicted(before: &Diagnosis, measure: &Measure, covers_s: f64) -> Option<f64> {
    if measure.id == "gc.stopped" {
        // Rules about collections, whichever layer holds them up: a disk, a CPU.
        let of_gc = before.findings.iter().filter(|f| f.rule.starts_with("gc-")).map(|f| f.cost_ms);
        let cost_ms = of_gc.fold(0.0, f64::max);
        let stopped_ms = measure.first * covers_s * 1e3;
        return (cost_ms > 0.0 && stopped_ms > 0.0).then(|| (1.0 - cost_ms / stopped_ms).max(0.0));
    }
    let usual =
        before.loss.base_rate.filter(|_| measure.id == "throughput" && before.loss.slow_rate.is_some())?;
    // A latency is no rate: its loss promises nothing that can be counted here.
    let is_rate = before.loss.unit.ends_with("/s");
    let explained: f64 = before.findings.iter().filter_map(|f| f.share).sum::<f64>().min(1.0);
    let done = measure.first * covers_s;
    (is_rate && done > 0.0 && before.loss.lost_ms > 0.0)
        .then(|| 1.0 + usual * explained * before.loss.lost_ms / 1e3 / done)
}

/// `ratio` and `values`: after to before, and before and after.
fn changed(id: &str, ratio: Option<[f64; 3]>, (before, after): (f64, f64)) -> Change {
    let (low, high) = match ratio {
        Some([_, low, high]) => (low, high),
        None => (after / before / ALIKE, after / before * ALIKE),
    };
    // More operations are better, and less of all else.
    let more_is_better = id == "throughput";
    match (low > 1.0, high < 1.0) {
        (true, _) if more_is_better => Change::Better,
        (_, true) if !more_is_better => Change::Better,
        (false, false) => Change::NotSure,

        _ => Change::Worse,
    }
}

fn gain(id: &'static str, measure: &Measure, predicted: Option<f64>) -> Gain {
    let ratio = measure.held.and_then(|held| held.ratio).map(|e| [e.ratio, e.low, e.high]);
    let becomes = changed(id, ratio, (measure.first, measure.second));
    let change = |ratio: f64| {
        let sign = if ratio >= 1.0 { "+" } else { "-" };
        format!("{sign}{}", quantity::share((ratio - 1.0).abs()))
    };
    let what = measure.name.clone();
    let changed = match (measure.unit, ratio) {
        (_, Some([ratio, low, high])) => {
            format!("{what} {} ({} to {})", change(ratio), change(low), change(high))
        }
        ("share", None) => {
            format!(
                "{what} {} of the time instead of {}",
                quantity::share(measure.second),
                quantity::share(measure.first)
            )
        }
        ("ms", None) => {
            format!(
                "{what} {} instead of {}",
                quantity::millis(measure.second),
                quantity::millis(measure.first)
            )
        }
        (unit, None) => {
            format!(
                "{what} {} instead of {} {unit}",
                quantity::count(measure.second),
                quantity::count(measure.first)
            )
        }
    };
    let promised =
        predicted.map_or(String::new(), |ratio| format!(", where the findings promised {}", change(ratio)));
    Gain {
        id,
        what,
        unit: measure.unit,
        before: measure.first,
        after: measure.second,
        ratio,
        change: becomes,
        predicted,
        words: format!("{changed}{promised}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn more_operations_are_better_and_longer_stops_are_worse() {
        let of = |id, ratio| changed(id, Some(ratio), (1.0, 1.0));
        assert_eq!(of("throughput", [1.2, 1.1, 1.3]), Change::Better);
        assert_eq!(of("throughput", [0.8, 0.7, 0.9]), Change::Worse);
        assert_eq!(of("throughput", [1.2, 0.9, 1.5]), Change::NotSure);
        assert_eq!(of("gc.stopped", [0.8, 0.7, 0.9]), Change::Better);
        let plain = |before, after| changed("gc.longest", None, (before, after));
        assert_eq!((plain(10.0, 30.0), plain(30.0, 10.0)), (Change::Worse, Change::Better));
        assert_eq!((plain(10.0, 11.0), plain(0.0, 0.0)), (Change::NotSure, Change::NotSure));
        assert_eq!(plain(0.0, 5.0), Change::Worse);
    }
}
