//! series_points: one row per value of a series. Rows of one series are in time order.

use std::ops::Range;

use arrow_array::ArrayRef;
use arrow_schema::Field;

use super::{Growth, Table};
use crate::disk::columns::{self, Columns, Damage, double, id, long};
use crate::{Recording, Series, SeriesId, Sink};

pub(super) struct SeriesPoints;

impl Table for SeriesPoints {
    fn name(&self) -> &'static str {
        "series_points"
    }

    fn growth(&self) -> Growth {
        Growth::Bulk
    }

    fn fields(&self) -> Vec<Field> {
        vec![id("series_id"), long("t_ns"), long("dt_ns"), double("value")]
    }

    fn rows(&self, recording: &Recording) -> usize {
        recording.series.iter().map(|s| s.t_ns.len()).sum()
    }

    fn encode(&self, recording: &Recording, rows: Range<usize>, _first_id: usize) -> Vec<ArrayRef> {
        let parts = parts(&recording.series, rows);
        let ids = parts.iter().flat_map(|(s, points)| std::iter::repeat_n(*s as u32, points.len()));
        let points = |of: fn(&Series) -> &Vec<i64>| {
            columns::longs(
                parts
                    .iter()
                    .flat_map(move |(s, points)| of(&recording.series[*s])[points.clone()].iter().copied()),
            )
        };
        let values = parts.iter().flat_map(|(s, points)| &recording.series[*s].value[points.clone()]);
        vec![columns::ids(ids), points(|s| &s.t_ns), points(|s| &s.dt_ns), columns::doubles(values.copied())]
    }

    fn decode(&self, columns: &Columns<'_>, recording: &mut Recording) -> Result<(), Damage> {
        let ids = columns.ids("series_id", recording.series.len())?;
        let (times, lengths) = (columns.longs("t_ns")?, columns.longs("dt_ns")?);
        let values = columns.doubles("value")?;
        for (((series, t_ns), dt_ns), value) in ids.into_iter().zip(times).zip(lengths).zip(values) {
            recording.point(SeriesId(series), *t_ns, *dt_ns, *value);
        }
        Ok(())
    }

    fn clear(&self, recording: &mut Recording) {
        for series in &mut recording.series {
            series.t_ns.clear();
            series.dt_ns.clear();
            series.value.clear();
        }
    }
}

/// For rows `rows` of the table: the series, and which of its points.
fn parts(series: &[Series], rows: Range<usize>) -> Vec<(usize, Range<usize>)> {
    let mut parts = Vec::new();
    let mut first = 0;
    for (i, series) in series.iter().enumerate() {
        let end = first + series.t_ns.len();
        let (from, to) = (rows.start.max(first), rows.end.min(end));
        if from < to {
            parts.push((i, from - first..to - first));
        }
        first = end;
    }
    parts
}
