//! How long events took, as a histogram.

use std::fmt::Write;

use serde_json::json;

use super::{Json, Tally, took};

pub(super) fn histogram(out: &mut String, tally: &Tally) {
    let buckets = tally.histogram();
    let most = buckets.iter().map(|(_, _, count)| *count).max().unwrap_or(1).max(1);
    let _ = writeln!(out, "  {:>22}  {:>7}", "took", "count");
    let edge = |us: u64| {
        if us == 0 {
            "0".to_owned()
        } else {
            took(i64::try_from(us.saturating_mul(1_000)).unwrap_or(i64::MAX))
        }
    };
    for (from, to, count) in buckets {
        let bar = "#".repeat((count * 30).div_ceil(most) as usize);
        let _ = writeln!(out, "  {:>9} .. {:>9}  {count:>7}  {bar}", edge(from), edge(to));
    }
}

pub(super) fn histogram_json(tally: &Tally) -> Json {
    tally
        .histogram()
        .into_iter()
        .map(|(from, to, count)| json!({ "from": from, "to": to, "count": count }))
        .collect()
}
