//! What the program in the kernel has counted: read as it grows, told as spans of a stretch of time.

use std::collections::HashMap;

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::{figure, kind};
use libbpf_rs::{MapCore, MapFlags};

use crate::bpf::{whole, words};
use crate::{Context, procfs};

use super::calls;

/// Counts of lengths: `CALL_LENGTHS`.
const LENGTHS: usize = 40;
/// Ways in which a call ends: `enum call_end`.
const ENDS: u16 = 3;
/// Bytes of `struct call_total`.
const TOTAL: usize = 48 + 4 * LENGTHS;
/// Entries, of the 65 536 that the kernel has room for, from which on threads that are gone are looked for.
const CROWDED: usize = 32_768;

/// A thread, a call, and how it ended: `struct call_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    tid: u32,
    number: u16,
    end: u16,
}

impl Key {
    fn parse(bytes: &[u8]) -> Option<Self> {
        Some(Self {
            tid: words::word(bytes, 0)?,
            number: words::short(bytes, 4)?,
            end: words::short(bytes, 6)?,
        })
    }

    fn bytes(self) -> [u8; 8] {
        let [a, b, c, d] = self.tid.to_ne_bytes();
        let ([e, f], [g, h]) = (self.number.to_ne_bytes(), self.end.to_ne_bytes());
        [a, b, c, d, e, f, g, h]
    }
}

/// All calls of a key so far: `struct call_total`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Total {
    calls: u64,
    timed: u64,
    ns: u64,
    longest_ns: u64,
    /// Of calls that only ticks told of.
    coarse_ns: u64,
    coarse: u32,
    pid: u32,
    lengths: [u32; LENGTHS],
}

impl Total {
    const NONE: Self = Self {
        calls: 0,
        timed: 0,
        ns: 0,
        longest_ns: 0,
        coarse_ns: 0,
        coarse: 0,
        pid: 0,
        lengths: [0; LENGTHS],
    };

    fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes = bytes.get(..TOTAL)?;
        let long = |at: usize| words::long(bytes, at);
        let word = |at: usize| words::word(bytes, at);
        let mut lengths = [0; LENGTHS];
        for (i, length) in lengths.iter_mut().enumerate() {
            *length = word(48 + 4 * i)?;
        }
        Some(Self {
            calls: long(0)?,
            timed: long(8)?,
            ns: long(16)?,
            longest_ns: long(24)?,
            coarse_ns: long(32)?,
            coarse: word(40)?,
            pid: word(44)?,
            lengths,
        })
    }
}

/// Adds the calls that processors have kept (`struct call_run` of `bpf/call_runs.h`) to their totals, when nothing is counted
/// any more.
pub(super) fn add_kept(runs: &impl MapCore, totals: &impl MapCore) {
    let kept = runs.lookup_percpu(&0_u32.to_ne_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
    for (key, pid, calls) in kept.iter().filter_map(|run| kept_of(run)) {
        let known = totals.lookup(&key.bytes(), MapFlags::ANY).ok().flatten();
        let mut total = known.unwrap_or_else(|| fresh_total(pid));
        let Some(count) = words::long(&total, 0) else { continue };
        total[..8].copy_from_slice(&(count + u64::from(calls)).to_ne_bytes());
        // A full map: the program has said so of others.
        let _ = totals.update(&key.bytes(), &total, MapFlags::ANY);
    }
}

/// Which calls a processor has kept, of which process, and how many; `None`: none.
fn kept_of(run: &[u8]) -> Option<(Key, u32, u32)> {
    let (word, short) = (|at| words::word(run, at), |at| words::short(run, at));
    let calls = word(36).filter(|calls| *calls > 0)?;
    Some((Key { tid: word(32)?, number: short(40)?, end: short(42)? }, word(28)?, calls))
}

/// `struct call_total` of calls that are none yet.
fn fresh_total(pid: u32) -> Vec<u8> {
    let mut total = vec![0; TOTAL];
    total[44..48].copy_from_slice(&pid.to_ne_bytes());
    total
}

/// Calls of a thread in a stretch, however they ended.
#[derive(Clone, Debug, PartialEq)]
struct Row {
    pid: u32,
    calls: u64,
    timed: u64,
    again: u64,
    failed: u64,
    ns: u64,
    coarse: u64,
    coarse_ns: u64,
    /// Known when the longest of all so far was within the stretch.
    longest_ns: Option<u64>,
    lengths: [u64; LENGTHS],
}

impl Row {
    const NONE: Self = Self {
        pid: 0,
        calls: 0,
        timed: 0,
        again: 0,
        failed: 0,
        ns: 0,
        coarse: 0,
        coarse_ns: 0,
        longest_ns: None,
        lengths: [0; LENGTHS],
    };

    /// Calls that were counted and no more.
    fn untimed(&self) -> u64 {
        self.calls.saturating_sub(self.timed + self.coarse)
    }

    /// How long those took that were timed.
    fn timed_ns(&self) -> f64 {
        (self.ns + self.coarse_ns) as f64
    }

    /// How long the others took: on average as long as those; where none was timed, as long as those before this stretch, `before`
    /// (calls, nanoseconds).
    fn untimed_ns(&self, before: (u64, u64)) -> f64 {
        let (timed, ns) = if self.timed > 0 { (self.timed, self.ns) } else { before };
        let mean_ns = if timed > 0 { ns as f64 / timed as f64 } else { 0.0 };
        self.untimed() as f64 * mean_ns
    }

    /// Adds what has come since.
    fn add(&mut self, end: u16, before: &Total, now: &Total) {
        let calls = now.calls.saturating_sub(before.calls);
        self.pid = now.pid;
        self.calls += calls;
        match end {
            1 => self.again += calls,
            2 => self.failed += calls,
            _ => {}
        }
        self.timed += now.timed.saturating_sub(before.timed);
        self.ns += now.ns.saturating_sub(before.ns);
        self.coarse += u64::from(now.coarse.wrapping_sub(before.coarse));
        self.coarse_ns += now.coarse_ns.saturating_sub(before.coarse_ns);
        if now.longest_ns > before.longest_ns {
            self.longest_ns = self.longest_ns.max(Some(now.longest_ns));
        }
        for (sum, (now, before)) in self.lengths.iter_mut().zip(now.lengths.iter().zip(&before.lengths)) {
            // The kernel's counts are of 32 bits and begin anew at their end.
            *sum += u64::from(now.wrapping_sub(*before));
        }
    }
}

/// What is left of the untimed calls' time for each thread, as a factor: in a stretch no thread is in calls for longer than the stretch. A
/// timed call within which its thread lost the CPU would else stand for a thousand such.
fn factors<'r>(rows: impl Iterator<Item = (u32, &'r Row, f64)>, stretch_ns: f64) -> HashMap<u32, f64> {
    let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
    for (tid, row, untimed_ns) in rows {
        let sum = sums.entry(tid).or_default();
        *sum = (sum.0 + row.timed_ns(), sum.1 + untimed_ns);
    }
    let factor = |(timed, untimed): (f64, f64)| match untimed > 0.0 && stretch_ns > 0.0 {
        true => ((stretch_ns - timed).max(0.0) / untimed).min(1.0),
        false => 1.0,
    };
    sums.into_iter().map(|(tid, sum)| (tid, factor(sum))).collect()
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Totals {
    last: HashMap<Key, Total>,
    /// Recording's clock.
    read_ns: Option<i64>,
    untimed: u64,
}

impl Totals {
    /// Begins the first stretch.
    pub(super) fn begin(&mut self, now_ns: i64) {
        self.read_ns = Some(now_ns);
    }

    /// Calls that were counted and not timed, as their threads made too many.
    pub(super) fn untimed(&self) -> u64 {
        self.untimed
    }

    /// Calls of a thread that were timed so far, however they ended, and how long they took, nanoseconds.
    fn timed(&self, tid: u32, number: u16) -> (u64, u64) {
        let of_end = |end| self.last.get(&Key { tid, number, end });
        (0..ENDS).filter_map(of_end).fold((0, 0), |(timed, ns), total| (timed + total.timed, ns + total.ns))
    }

    /// Reads what was counted and tells it, one span a thread and call that was made. `ended`: threads that are gone,
    /// with their names, of which the kernel's entries are given back. How many rows there were.
    pub(super) fn tell(
        &mut self,
        map: &impl MapCore,
        ended: &HashMap<u32, String>,
        cx: &mut Context<'_>,
    ) -> usize {
        let now_ns = cx.clock.epoch_now_ns();
        let since_ns = self.read_ns.replace(now_ns).unwrap_or(now_ns);
        let mut rows: HashMap<(u32, u16), Row> = HashMap::new();
        // An entry that was made while we read may be missed, or seen twice: it is told the next time, or not again.
        let Ok(read) = whole::entries(map) else { return 0 };
        for (key, value) in read {
            let (Some(key), Some(now)) = (Key::parse(&key), Total::parse(&value)) else { continue };
            let before = self.last.get(&key);
            if before.is_none_or(|before| before.calls < now.calls) {
                let row = rows.entry((key.tid, key.number)).or_insert(Row::NONE);
                row.add(key.end, before.unwrap_or(&Total::NONE), &now);
                self.last.insert(key, now);
            }
        }
        let mut sorted: Vec<((u32, u16), Row)> = rows.into_iter().collect();
        sorted.sort_unstable_by_key(|(key, _)| *key);
        let untimed_ns: Vec<f64> =
            sorted.iter().map(|((tid, number), row)| row.untimed_ns(self.timed(*tid, *number))).collect();
        let each =
            sorted.iter().zip(&untimed_ns).map(|(((tid, _), row), untimed_ns)| (*tid, row, *untimed_ns));
        let factors = factors(each, now_ns.saturating_sub(since_ns) as f64);
        for (((tid, number), row), untimed_ns) in sorted.iter().zip(&untimed_ns) {
            self.untimed += row.untimed();
            let total_ns = row.timed_ns() + untimed_ns * factors.get(tid).copied().unwrap_or(1.0);
            write(
                (*tid, ended.get(tid).map(String::as_str)),
                *number,
                (row, total_ns),
                (since_ns, now_ns),
                cx,
            );
        }
        // The end of a thread may be among what was lost; on a machine where thousands start, its entries would fill the map.
        let is_crowded = self.last.len() >= CROWDED;
        if !ended.is_empty() || is_crowded {
            let mut gone_of: HashMap<u32, bool> = ended.keys().map(|tid| (*tid, true)).collect();
            let mut is_gone = |tid: u32| {
                let looked = || is_crowded && !procfs::path(tid.cast_signed(), "stat").exists();
                *gone_of.entry(tid).or_insert_with(looked)
            };
            let gone: Vec<Key> = self.last.keys().filter(|key| is_gone(key.tid)).copied().collect();
            for key in gone {
                // Not there any more is as good as deleted.
                let _ = map.delete(&key.bytes());
                self.last.remove(&key);
            }
        }
        sorted.len()
    }
}

fn write(
    (tid, comm): (u32, Option<&str>),
    number: u16,
    (row, total_ns): (&Row, f64),
    (t0_ns, t1_ns): (i64, i64),
    cx: &mut Context<'_>,
) {
    let (pid, tid) = (row.pid.cast_signed(), tid.cast_signed());
    let process = cx.process(pid);
    let thread = match comm {
        Some(comm) => cx.thread_called(pid, tid, comm),
        None => cx.thread(pid, tid),
    };
    let lengths: Vec<(String, f64)> = (row.lengths.iter().enumerate())
        .filter(|(_, calls)| **calls > 0)
        .map(|(power, calls)| (figure::calls_from_ns(1 << power), *calls as f64))
        .collect();
    let mut figures = vec![(figure::CALLS, row.calls as f64), (figure::TOTAL_NS, total_ns)];
    figures.extend((row.timed < row.calls).then_some((figure::TIMED, row.timed as f64)));
    figures.extend(row.longest_ns.map(|ns| (figure::LONGEST_NS, ns as f64)));
    figures.extend((row.again > 0).then_some((figure::AGAIN, row.again as f64)));
    figures.extend((row.failed > 0).then_some((figure::FAILED, row.failed as f64)));
    figures.extend(lengths.iter().map(|(key, calls)| (key.as_str(), *calls)));
    cx.sink.span(&SpanRow {
        kind: kind::SYSCALL_TOTALS,
        name: &calls::name(number),
        t0_ns,
        t1_ns,
        process,
        thread: Some(thread),
        stack: None,
        source: cx.source,
        line: 0,
        key: -1,
        parent: None,
        figures: &figures,
        labels: &[],
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_the_difference_of_two_readings_and_the_longest_is_told_where_it_is_known() {
        let mut lengths = [0; LENGTHS];
        lengths[10] = u32::MAX;
        let before =
            Total { calls: 10, timed: 10, ns: 1000, longest_ns: 500, pid: 7, lengths, ..Total::NONE };
        let mut lengths = [0; LENGTHS];
        (lengths[10], lengths[12]) = (1, 3);
        let now = Total { calls: 15, timed: 15, ns: 9000, longest_ns: 500, pid: 7, lengths, ..Total::NONE };
        let mut row = Row::NONE;
        row.add(2, &before, &now);
        assert_eq!((row.calls, row.failed, row.again, row.ns, row.longest_ns), (5, 5, 0, 8000, None));
        assert_eq!((row.lengths[10], row.lengths[12]), (2, 3));
        row.add(0, &Total::NONE, &Total { longest_ns: 600, ..before });
        assert_eq!((row.calls, row.failed, row.longest_ns), (15, 5, Some(600)));
    }

    #[test]
    fn calls_that_were_not_timed_are_taken_to_be_as_long_as_the_others() {
        let mut row = Row::NONE;
        let now = Total { calls: 81, timed: 10, ns: 5000, coarse: 1, coarse_ns: 9_000_000, ..Total::NONE };
        row.add(0, &Total::NONE, &now);
        assert_eq!((row.timed_ns(), row.untimed_ns((1, 7))), (9_005_000.0, 70.0 * 500.0));
    }

    #[test]
    fn a_thread_is_in_calls_for_no_longer_than_the_stretch() {
        let row = |timed: u64, ns: u64, calls: u64| Row { calls, timed, ns, ..Row::NONE };
        // One of a thousand timed calls lost its CPU for 4 ms: a million calls would have taken 5 s.
        let (reads, writes) = (row(1_000, 5_000_000, 1_000_000), row(1_000, 1_000_000, 1_000_000));
        let each = |row: &Row| row.untimed_ns((0, 0));
        let rows = [(5, &reads, each(&reads)), (5, &writes, each(&writes)), (6, &writes, each(&writes))];
        let factors = factors(rows.into_iter(), 2e9);
        let in_calls = 6e6 + factors[&5] * (each(&reads) + each(&writes));
        assert!((in_calls - 2e9).abs() < 1.0, "{in_calls}");
        assert_eq!(factors[&6], 1.0);
    }

    #[test]
    fn calls_of_a_stretch_in_which_none_was_timed_are_as_long_as_those_before() {
        let timed = Total { calls: 60, timed: 1, ns: 900, ..Total::NONE };
        let failed = Total { calls: 2, timed: 2, ns: 600, ..Total::NONE };
        let mut totals = Totals::default();
        totals.last.insert(Key { tid: 5, number: 0, end: 0 }, timed.clone());
        totals.last.insert(Key { tid: 5, number: 0, end: 2 }, failed);
        let mut row = Row::NONE;
        row.add(0, &timed, &Total { calls: 70, ..timed.clone() });
        assert_eq!(row.untimed_ns(totals.timed(5, 0)), 10.0 * 500.0);
        assert_eq!(row.untimed_ns(totals.timed(6, 0)), 0.0, "of another thread nothing is known");
    }

    #[test]
    fn calls_that_a_processor_has_kept_are_read_by_their_places() {
        let mut run = [0_u8; 48];
        assert_eq!(kept_of(&run), None);
        for (at, value) in [(24, 9_u32), (28, 7), (32, 70_000), (36, 5)] {
            run[at..at + 4].copy_from_slice(&value.to_ne_bytes());
        }
        for (at, value) in [(40, 435_u16), (42, 2), (44, 1)] {
            run[at..at + 2].copy_from_slice(&value.to_ne_bytes());
        }
        assert_eq!(kept_of(&run), Some((Key { tid: 70_000, number: 435, end: 2 }, 7, 5)));
        let total = Total::parse(&fresh_total(7)).unwrap();
        assert_eq!(total, Total { pid: 7, ..Total::NONE });
    }

    #[test]
    fn a_key_is_read_as_it_is_written() {
        let key = Key { tid: 70_000, number: 435, end: 2 };
        assert_eq!(Key::parse(&key.bytes()), Some(key));
    }
}
