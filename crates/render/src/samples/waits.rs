//! Waits as a page holds them: the sums of the short ones as they were told, the long ones cut where a screen would show it.

use fathom_diagnose::Window;
use fathom_diagnose::stacks::waits::{SHORT, WAITS, long, of_span};
use fathom_recording::Recording;
use fathom_recording::vocabulary::sample;

use super::{Row, Stacks, Threads};

/// Parts of a run that a long wait is cut at: a window that is brushed gets the parts that begin in it.
const PARTS: i64 = 240;

/// Puts all waits in place of the sums of the short ones, behind what ran.
pub(super) fn join<'a>(
    recording: &'a Recording,
    (origin_ns, end_ns): (i64, i64),
    unit_ns: i64,
    within: Option<&[Window]>,
    stacks: &mut Stacks<'a>,
    threads: &mut Threads<'a>,
    found: &mut Vec<(&'a str, usize, Vec<Row>)>,
) {
    let whole = [Window { from_ns: origin_ns, to_ns: end_ns }];
    let step = (end_ns.saturating_sub(origin_ns) / PARTS).max(1);
    let (mut rows, mut count) = (Vec::new(), 0);
    for span in long(recording) {
        let (from, to) = of_span(&span);
        count += usize::from(from < to);
        let (node, thread) = (stacks.node(span.stack()), threads.number(span.thread()));
        for window in within.unwrap_or(&whole) {
            let (mut at, end) = (from.max(window.from_ns), to.min(window.to_ns));
            while at < end {
                let part = at.saturating_sub(origin_ns).div_euclid(step);
                let next = origin_ns.saturating_add(part.saturating_add(1).saturating_mul(step)).min(end);
                let next = if next > at { next } else { end };
                let t = at.saturating_sub(origin_ns) / unit_ns;
                rows.push(Row { t, node, thread, weight: next.saturating_sub(at) });
                at = next;
            }
        }
    }
    if rows.is_empty() {
        return;
    }
    if let Some(at) = found.iter().position(|(kind, ..)| *kind == SHORT) {
        let (_, short, mut short_rows) = found.remove(at);
        count += short;
        rows.append(&mut short_rows);
    }
    rows.sort_by_key(|row| row.t);
    let ran = [sample::CPU, sample::CYCLES, sample::WALL];
    let place = found.iter().position(|(kind, ..)| !ran.contains(kind)).unwrap_or(found.len());
    found.insert(place, (WAITS, count, rows));
}
