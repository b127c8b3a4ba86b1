//! Two rows in order of time gone through together: what touches what.
//!
//! A busy thread has millions of records and of intervals, and a category mostly has few of either:
//! what lies between two of the one is passed at once in the other.

use crate::intervals::Intervals;
use crate::nearest::passed;

/// Those of a row that touch some intervals, each with its place in the row and its parts that lie
/// in them. The row is in order of its beginnings; `ends_in_order`: in that of its ends, too.
pub(crate) fn touching<'r, T>(
    row: &'r [T],
    ends_in_order: bool,
    ends: impl Fn(&T) -> (i64, i64),
    intervals: &Intervals,
    mut each: impl FnMut(usize, &'r T, &[(i64, i64)]),
) {
    let ranges = intervals.ranges();
    let Some((_, last)) = ranges.last() else { return };
    let (mut at, mut near) = (0, 0);
    let mut parts: Vec<(i64, i64)> = Vec::new();
    while let (Some(one), Some(range)) = (row.get(at), ranges.get(near)) {
        let (from, to) = ends(one);
        if from >= *last {
            return;
        }
        if range.1 <= from {
            near += passed(&ranges[near..], |range| range.1 <= from);
            continue;
        }
        if to <= range.0 {
            at += if ends_in_order { passed(&row[at..], |one| ends(one).1 <= range.0) } else { 1 };
            continue;
        }
        parts.clear();
        let within = ranges[near..].iter().take_while(|range| range.0 < to);
        parts.extend(within.map(|(a, b)| ((*a).max(from), (*b).min(to))).filter(|(a, b)| a < b));
        if !parts.is_empty() {
            each(at, one, &parts);
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some() -> impl Strategy<Value = Vec<(i64, i64)>> {
        prop::collection::vec((0_i64..300, 0_i64..40).prop_map(|(from, len)| (from, from + len)), 0..30)
    }

    proptest! {
        /// The same as to look for each of the row by itself.
        #[test]
        fn the_parts_are_those_that_each_has_by_itself(mut row in some(), intervals in some()) {
            row.sort_unstable();
            let in_order = row.is_sorted_by_key(|(_, to)| *to);
            let intervals = Intervals::of(intervals);
            let mut found = Vec::new();
            touching(&row, in_order, |one| *one, &intervals, |at, _, parts| found.push((at, parts.to_vec())));
            let alone = row.iter().map(|(from, to)| intervals.within(*from, *to).collect::<Vec<_>>()).enumerate();
            let alone: Vec<_> = alone.filter(|(_, parts)| !parts.is_empty()).collect();
            prop_assert_eq!(found, alone);
        }
    }
}
