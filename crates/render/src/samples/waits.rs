//! Waits as a page holds them: the sums of the short ones as they were recorded, the long ones cut
//! where a screen would show it.

use fathom_diagnose::Window;
use fathom_diagnose::stacks::waits::{SHORT, WAITS, long, of_span};
use fathom_recording::Recording;
use fathom_recording::vocabulary::sample;

use super::{Row, Stacks, Threads};

/// Parts of a run that a long wait is cut at: a window that is brushed gets the parts that begin in
/// it.
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

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::{figure, kind};
    use fathom_recording::{FrameType, Process, Role, SampleRow, Sink, Source, SpanRow};

    use super::super::{SampleIndex, samples};
    use super::*;

    const S: i64 = 1_000_000_000;

    /// A thread that runs, waits shortly (2 s in sums) and once for long, for 40 s and 10 s more
    /// for a CPU.
    fn recording() -> Recording {
        let mut r = Recording::new();
        let source = r.add_source(Source::default());
        let process = r.add_process(Process { name: "shop".into(), jvm: true, ..Process::default() });
        let thread = Some(r.thread(process, Some(7), "worker", Role::App));
        let frame = r.frame("shop.Orders.book", "", FrameType::C2, -1);
        let stack = Some(r.stack(None, frame));
        for (kind, t_ns, weight) in
            [(sample::ALLOC, S, 64), (sample::CPU, S, S / 100), (SHORT, 2 * S, S), (SHORT, 3 * S, S)]
        {
            r.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
        }
        r.span(&SpanRow {
            thread,
            stack,
            line: 1,
            figures: &[(figure::RUNQ_NS, 10e9)],
            ..SpanRow::new(kind::SCHED_OFF, "", (10 * S, 60 * S), process, source)
        });
        r.seal();
        r
    }

    /// Kinds as the page offers them, with how many samples each has.
    fn kinds(recording: &Recording, within: Option<&[Window]>) -> Vec<(String, usize)> {
        let (stacks, threads) = (Stacks::new(recording), Threads::all(recording));
        let index = SampleIndex::of(recording);
        let page = samples(recording, &index, (0, 100 * S), within, stacks, threads);
        page.header.kinds.into_iter().map(|kind| (kind.kind, kind.samples)).collect()
    }

    #[test]
    fn a_page_offers_all_waits_in_place_of_the_short_ones_behind_what_ran() {
        let of = |kind: &str, samples| (kind.to_owned(), samples);
        assert_eq!(kinds(&recording(), None), [of("cpu", 1), of(WAITS, 3), of("alloc", 1)]);
    }

    #[test]
    fn waits_weigh_as_long_as_they_were_without_the_wait_for_a_cpu_and_a_window_gets_its_part() {
        let recording = recording();
        let weight = |within: Option<&[Window]>| {
            let (mut stacks, mut threads) = (Stacks::new(&recording), Threads::all(&recording));
            let short = Row { t: 2, node: 1, thread: 1, weight: 2 * S };
            let mut found = vec![(SHORT, 2, vec![short])];
            join(&recording, (0, 100 * S), 1_000, within, &mut stacks, &mut threads, &mut found);
            assert!(found.iter().all(|(kind, ..)| *kind == WAITS), "the sums are among them");
            let (_, _, rows) = found.remove(0);
            assert!(rows.is_sorted_by_key(|row| row.t));
            rows.iter().map(|row| row.weight).sum::<i64>()
        };
        assert_eq!(weight(None), 42 * S);
        assert_eq!(weight(Some(&[Window { from_ns: 45 * S, to_ns: 90 * S }])), 7 * S);
    }
}
