//! Fewer rows with the same sum: samples of one thread and one stack that lie close together become
//! one.

use std::collections::HashMap;

use super::Row;

/// Rows on which a step is tried.
const PROBE: usize = 100_000;

/// Brings rows (in order of time) down to `most`, and says how; an empty note when nothing was
/// needed.
pub(super) fn thin(rows: &mut Vec<Row>, most: usize, unit_ns: i64) -> String {
    let total = rows.len();
    if total <= most {
        return String::new();
    }
    let mut step = first_step(rows, most);
    loop {
        step = step.saturating_mul(10);
        *rows = merged(rows, step);
        if rows.len() <= most {
            let ms = (step.saturating_mul(unit_ns)) as f64 / 1e6;
            return format!(
                "{total} samples; those of one stack within {ms} ms are one, with the sum of their weights"
            );
        }
        let span = rows.last().map_or(0, |row| row.t.saturating_sub(rows[0].t));
        if step > span {
            break;
        }
    }
    // More stacks than rows may be had: the lightest go, and how much they were is reported.
    let whole: i128 = rows.iter().map(|row| i128::from(row.weight)).sum();
    rows.select_nth_unstable_by_key(most, |row| std::cmp::Reverse(row.weight));
    rows.truncate(most);
    rows.sort_by_key(|row| row.t);
    let kept: i128 = rows.iter().map(|row| i128::from(row.weight)).sum();
    let left = 100.0 * (whole - kept) as f64 / whole.max(1) as f64;
    format!("{total} samples, without their times; the rarest stacks, {left:.1}% of the weight, are left out")
}

/// A tenth of the step that brings the beginning of the rows down as far as all of them have to
/// come: each step that fails on millions of rows costs as long as the one that does not.
fn first_step(rows: &[Row], most: usize) -> i64 {
    let probe = &rows[..rows.len().min(PROBE)];
    let most = (most as u128 * probe.len() as u128 / rows.len() as u128) as usize;
    let span = probe.last().map_or(0, |row| row.t.saturating_sub(probe[0].t));
    let mut step = 1_i64;
    while step.saturating_mul(10) <= span && merged(probe, step.saturating_mul(10)).len() > most {
        step = step.saturating_mul(10);
    }
    step
}

/// Rows of one thread and node within a step as one, at the time of the first.
fn merged(rows: &[Row], step: i64) -> Vec<Row> {
    let mut out: Vec<Row> = Vec::new();
    let mut here: HashMap<(u32, u32), usize> = HashMap::new();
    let mut bin = None;
    for row in rows {
        let now = row.t.div_euclid(step);
        if bin != Some(now) {
            here.clear();
            bin = Some(now);
        }
        match here.entry((row.thread, row.node)) {
            std::collections::hash_map::Entry::Occupied(at) => {
                let first: &mut Row = &mut out[*at.get()];
                first.weight = first.weight.saturating_add(row.weight);
            }
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(out.len());
                out.push(*row);
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(n: i64, stacks: i64) -> Vec<Row> {
        (0..n).map(|i| Row { t: i, node: (i % stacks) as u32, thread: 1, weight: 3 }).collect()
    }

    #[test]
    fn thinning_keeps_the_sum_and_the_order_and_says_so() {
        let mut thinned = rows(100_000, 5);
        let note = thin(&mut thinned, 1_000, 1_000_000);
        assert!(thinned.len() <= 1_000 && thinned.is_sorted_by_key(|row| row.t));
        assert_eq!(thinned.iter().map(|row| row.weight).sum::<i64>(), 300_000);
        assert!(note.contains("100000 samples") && note.contains("1000 ms"), "{note}");
        assert_eq!(thin(&mut thinned, 1_000, 1), "");
    }

    #[test]
    fn many_rows_are_thinned_no_coarser_than_it_takes() {
        // Two stacks alternately, a row each millisecond: ten milliseconds hold five of each, which
        // become two rows.
        let mut many = rows(400_000, 2);
        let note = thin(&mut many, 200_000, 1_000_000);
        assert!(many.len() <= 200_000 && many.len() > 50_000, "{}", many.len());
        assert!(note.contains("10 ms"), "{note}");
        assert_eq!(many.iter().map(|row| row.weight).sum::<i64>(), 1_200_000);
    }

    #[test]
    fn more_stacks_than_rows_lose_the_lightest_and_it_is_said() {
        let mut many = rows(10_000, i64::MAX);
        many[7].weight = 1_000_000;
        let note = thin(&mut many, 100, 1);
        assert_eq!(many.len(), 100);
        assert!(many.iter().any(|row| row.weight == 1_000_000));
        assert!(note.contains("left out"), "{note}");
    }
}
