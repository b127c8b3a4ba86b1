//! `series`: what was measured over time, by minute.

use std::collections::BTreeMap;

use super::{Input, minute};
use crate::columns::Rows;

const COLUMNS: &[&str] = &["minute_ns", "name", "instance", "unit", "mean", "least", "most", "points"];

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let mut rows = Rows::new("series", COLUMNS);
    for series in &input.recording.series {
        let mut minutes: BTreeMap<i64, (f64, f64, f64, usize)> = BTreeMap::new();
        for (t, value) in series.t_ns.iter().zip(&series.value).filter(|(_, value)| value.is_finite()) {
            let none = (0.0, f64::INFINITY, f64::NEG_INFINITY, 0);
            let sum = minutes.entry(minute(*t)).or_insert(none);
            *sum = (sum.0 + value, sum.1.min(*value), sum.2.max(*value), sum.3 + 1);
        }
        for (minute, (sum, least, most, points)) in minutes {
            rows.push([
                minute.into(),
                series.info.name.as_str().into(),
                series.info.instance.as_str().into(),
                series.info.unit.as_str().into(),
                (sum / points as f64).into(),
                least.into(),
                most.into(),
                points.into(),
            ]);
        }
    }
    rows
}
