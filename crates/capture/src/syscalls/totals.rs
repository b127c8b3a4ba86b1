//! What the program in the kernel has counted: read as it grows, written as spans of an interval of
//! time.
//!
//! Where there is much of it, threads that end add what they counted to their process
//! (`bpf/call_folds.h`), which is written as calls of [`ENDED_THREADS`]. What was written of such a
//! thread before is taken off there: a sum may be read before what was added to it, or the other
//! way round, and is written by the next reading then.

use std::collections::{HashMap, HashSet};

use fathom_recording::vocabulary::{count, figure};
use fathom_recording::{CountRow, ProcessId, Role, ThreadId};
use libbpf_rs::MapCore;
use zerocopy::IntoBytes;

use super::skeleton::types::{call_end, call_entries, call_key, call_limit, call_run, call_total};
use crate::bpf::{record, whole};
use crate::{Context, procfs};

use super::calls;

const LENGTHS: usize = call_limit::CALL_LENGTHS.0 as usize;
/// Entries, of the 65,536 that the kernel has room for, from which on threads that are gone are
/// looked for.
const CROWDED: usize = 32_768;

const OF_ENDED: u32 = call_limit::OF_ENDED.0;
/// The name that those have in the recording.
const ENDED_THREADS: &str = "threads that have ended";
/// A quarter of what there is room for.
const MANY_ENTRIES: i64 = 16_384;
/// Threads that end in a second from which on all of them are put together: of some ten calls each,
/// their rows would be most of a recording.
const MANY_ENDED: f64 = 200.0;

/// A thread, a call, and how it ended: `struct call_key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Key {
    tid: u32,
    number: u16,
    end: u16,
}

impl Key {
    fn of(key: call_key) -> Self {
        Self { tid: key.tid, number: key.nr, end: key.end }
    }

    /// The process whose threads that have ended it stands for.
    fn ended_of(self) -> Option<u32> {
        ended_of(self.tid)
    }

    fn sent(self) -> call_key {
        call_key { tid: self.tid, nr: self.number, end: self.end }
    }
}

fn ended_of(tid: u32) -> Option<u32> {
    (tid & OF_ENDED != 0).then_some(tid & !OF_ENDED)
}

/// All calls of a key so far: `struct call_total`.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Total {
    calls: u64,
    timed: u64,
    ns: u64,
    longest_ns: u64,
    /// Of calls that only ticks timed.
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

    fn of(total: &call_total) -> Self {
        Self {
            calls: total.count,
            timed: total.timed,
            ns: total.ns,
            longest_ns: total.longest_ns,
            coarse_ns: total.coarse_ns,
            coarse: total.coarse,
            pid: total.pid,
            lengths: total.length,
        }
    }
}

impl Total {
    /// Adds those of a thread that has ended, as the kernel does.
    fn add(&mut self, other: &Self) {
        self.calls += other.calls;
        self.timed += other.timed;
        self.ns += other.ns;
        self.longest_ns = self.longest_ns.max(other.longest_ns);
        self.coarse_ns += other.coarse_ns;
        self.coarse = self.coarse.wrapping_add(other.coarse);
        for (sum, more) in self.lengths.iter_mut().zip(&other.lengths) {
            *sum = sum.wrapping_add(*more);
        }
    }
}

/// Writes a number of `entries`. One that cannot be written keeps the kernel from putting threads
/// together, or has it do so sooner.
fn put(entries: &impl MapCore, which: call_entries, number: i64) {
    let _ = record::put(entries, &which.0, &number);
}

/// Adds the calls that CPUs have kept (`struct call_run` of `bpf/call_runs.h`) to their
/// totals, when nothing is counted any more.
pub(super) fn add_kept(runs: &impl MapCore, totals: &impl MapCore) {
    for run in record::of_cpus::<call_run>(runs, 0).into_iter().filter(|run| run.kept > 0) {
        let key = call_key { tid: run.tid, nr: run.nr, end: run.end };
        let fresh = || call_total { pid: run.pid, ..call_total::default() };
        let mut total: call_total = record::value(totals, &key).unwrap_or_else(fresh);
        total.count += u64::from(run.kept);
        // A full map: the program has said so of others.
        let _ = record::put(totals, &key, &total);
    }
}

/// Calls of a thread in an interval, however they ended.
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
    /// Known when the longest of all so far was within the interval.
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

    /// How long the others took: on average as long as those; where none was timed, as long as
    /// those before this interval, `before` (calls, nanoseconds).
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

/// What is left of the untimed calls' time for each thread, as a factor: in an interval no thread
/// is in calls for longer than the interval. A timed call within which its thread lost the CPU
/// would else stand for a thousand such.
fn factors<'r>(rows: impl Iterator<Item = (u32, &'r Row, f64)>, interval_ns: f64) -> HashMap<u32, f64> {
    let mut sums: HashMap<u32, (f64, f64)> = HashMap::new();
    // Those that have ended are many, one after the other and side by side.
    for (tid, row, untimed_ns) in rows.filter(|(tid, ..)| ended_of(*tid).is_none()) {
        let sum = sums.entry(tid).or_default();
        *sum = (sum.0 + row.timed_ns(), sum.1 + untimed_ns);
    }
    let factor = |(timed, untimed): (f64, f64)| match untimed > 0.0 && interval_ns > 0.0 {
        true => ((interval_ns - timed).max(0.0) / untimed).min(1.0),
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
    /// Entries of the kernel's that were deleted.
    given_back: i64,
    /// Threads that the kernel has put together with others of their process.
    folded: i64,
    /// Rows of threads that have ended, by process.
    ended_rows: HashMap<ProcessId, ThreadId>,
}

impl Totals {
    /// Begins the first interval.
    pub(super) fn begin(&mut self, entries: &impl MapCore, now_ns: i64) {
        self.read_ns = Some(now_ns);
        put(entries, call_entries::FOLDS_FROM, MANY_ENTRIES);
    }

    /// Gives the kernel the number of entries that were given back, and from how many entries on it
    /// is to put threads that end together.
    fn set_limits(&mut self, entries: &impl MapCore, ended: usize, (since_ns, now_ns): (i64, i64)) {
        let folded = record::value::<i64>(entries, &call_entries::THREADS_FOLDED.0).unwrap_or(0);
        let ended = ended as f64 + folded.saturating_sub(self.folded) as f64;
        self.folded = folded;
        let seconds = now_ns.saturating_sub(since_ns).max(1) as f64 / 1e9;
        let from = if ended >= MANY_ENDED * seconds.max(1.0) { 0 } else { MANY_ENTRIES };
        put(entries, call_entries::FOLDS_FROM, from);
        put(entries, call_entries::ENTRIES_GIVEN_BACK, self.given_back);
    }

    /// Calls that were counted and not timed, as their threads made too many.
    pub(super) fn untimed(&self) -> u64 {
        self.untimed
    }

    /// Calls of a thread that were timed so far, however they ended, and how long they took,
    /// nanoseconds.
    fn timed(&self, tid: u32, number: u16) -> (u64, u64) {
        let of_end = |end| self.last.get(&Key { tid, number, end });
        (0..call_end::CALL_ENDS.0 as u16)
            .filter_map(of_end)
            .fold((0, 0), |(timed, ns), total| (timed + total.timed, ns + total.ns))
    }

    /// Reads what was counted and writes it, one span a thread and call that was made. `ended`:
    /// threads that are gone, with their names, of which the kernel's entries are given back. How
    /// many rows there were, and how many of them were of threads that live.
    pub(super) fn write(
        &mut self,
        (map, entries): (&impl MapCore, &impl MapCore),
        ended: &HashMap<u32, String>,
        cx: &mut Context<'_>,
    ) -> (usize, usize) {
        let now_ns = cx.clock.epoch_now_ns();
        let since_ns = self.read_ns.replace(now_ns).unwrap_or(now_ns);
        let mut rows: HashMap<(u32, u16), Row> = HashMap::new();
        // An entry that was made while we read may be missed, or seen twice: it is written the
        // next time, or not again.
        let Ok(read) = whole::entries(map) else { return (0, 0) };
        let read: Vec<(Key, Total)> = read.map(|(key, total)| (Key::of(key), Total::of(&total))).collect();
        self.take_folded(&read);
        for (key, now) in read {
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
            let process = cx.process(row.pid.cast_signed());
            let thread = self.thread(process, (row.pid, *tid), ended.get(tid).map(String::as_str), cx);
            write((process, thread), *number, (row, total_ns), (since_ns, now_ns), cx);
        }
        // The end of a thread may be among what was lost; on a machine where thousands start, its
        // entries would fill the map.
        let is_crowded = self.last.len() >= CROWDED;
        if !ended.is_empty() || is_crowded {
            let mut gone_of: HashMap<u32, bool> = ended.keys().map(|tid| (*tid, true)).collect();
            let mut is_gone = |tid: u32| {
                let exists = |id: u32| procfs::path(id.cast_signed(), "stat").exists();
                let looked = || match ended_of(tid) {
                    // Its first thread may be the one that has ended.
                    Some(pid) => (is_crowded || ended.contains_key(&pid)) && !exists(pid),
                    None => is_crowded && !exists(tid),
                };
                *gone_of.entry(tid).or_insert_with(looked)
            };
            let gone: Vec<Key> = self.last.keys().filter(|key| is_gone(key.tid)).copied().collect();
            for key in gone {
                // Not there any more is as good as deleted.
                self.given_back += i64::from(map.delete(key.sent().as_bytes()).is_ok());
                self.last.remove(&key);
            }
        }
        self.set_limits(entries, ended.len(), (since_ns, now_ns));
        let of_living = sorted.iter().filter(|((tid, _), _)| !ended.contains_key(tid)).count();
        (sorted.len(), of_living)
    }

    /// Threads that have ended are among those of their process now, with what was written of them.
    fn take_folded(&mut self, read: &[(Key, Total)]) {
        let there: HashSet<Key> = read.iter().map(|(key, _)| *key).collect();
        let folds = |key: &Key, _: &mut Total| key.ended_of().is_none() && !there.contains(key);
        let folded: Vec<(Key, Total)> = self.last.extract_if(folds).collect();
        for (key, written) in folded {
            let of_process = Key { tid: written.pid | OF_ENDED, ..key };
            let fresh = || Total { pid: written.pid, ..Total::NONE };
            self.last.entry(of_process).or_insert_with(fresh).add(&written);
        }
    }

    /// The recording's row of a thread; of those that have ended, one a process.
    fn thread(
        &mut self,
        process: ProcessId,
        (pid, tid): (u32, u32),
        comm: Option<&str>,
        cx: &mut Context<'_>,
    ) -> ThreadId {
        let (pid, tid, is_of_ended) = (pid.cast_signed(), tid.cast_signed(), ended_of(tid).is_some());
        if is_of_ended {
            let is_jvm = cx.targets.get(pid).is_some_and(|target| target.jvm);
            let role = if is_jvm { Role::App } else { Role::Other };
            let row = || cx.sink.thread(process, None, ENDED_THREADS, role);
            return *self.ended_rows.entry(process).or_insert_with(row);
        }
        match comm {
            Some(comm) => cx.thread_called(pid, tid, comm),
            None => cx.thread(pid, tid),
        }
    }
}

fn write(
    (process, thread): (ProcessId, ThreadId),
    number: u16,
    (row, total_ns): (&Row, f64),
    (t0_ns, t1_ns): (i64, i64),
    cx: &mut Context<'_>,
) {
    let lengths: Vec<(String, f64)> = (row.lengths.iter().enumerate())
        .filter(|(_, calls)| **calls > 0)
        .map(|(power, calls)| (figure::calls_from_ns(1 << power), *calls as f64))
        .collect();
    let mut figures = Vec::new();
    figures.extend((row.timed < row.calls).then_some((figure::TIMED, row.timed as f64)));
    figures.extend(row.longest_ns.map(|ns| (figure::LONGEST_NS, ns as f64)));
    figures.extend((row.again > 0).then_some((figure::AGAIN, row.again as f64)));
    figures.extend((row.failed > 0).then_some((figure::FAILED, row.failed as f64)));
    figures.extend(lengths.iter().map(|(key, calls)| (key.as_str(), *calls)));
    let (name, interval) = (calls::name(number), (t0_ns, t1_ns));
    cx.sink.count(&CountRow {
        thread: Some(thread),
        total_ns: Some(total_ns as u64),
        figures: &figures,
        ..CountRow::new(count::SYSCALL_TOTALS, &name, interval, process, cx.source, row.calls)
    });
}

#[cfg(test)]
mod tests;
