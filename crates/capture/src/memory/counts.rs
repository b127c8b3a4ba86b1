//! What was counted in the kernel, written once a second.

use std::collections::HashMap;

use fathom_recording::vocabulary::{count, figure, live};
use fathom_recording::{CountRow, ProcessId, ThreadId};

use super::mappings::Mappings;
use super::program::Program;
use super::program::skeleton::types::{fault_key, space_call};
use super::record::{Numbers, What};
use crate::collector::Context;
use crate::growing_series::{Gauge, Points};

/// Faults of a thread in a mapping and second from which on they have a row of their own; those of
/// threads with fewer are put together, so that rows stay in proportion to what happens.
const OWN_ROW: u64 = 100;
/// Seconds without a fault after which a thread's count in a mapping is forgotten: mostly both are
/// gone.
const FORGOTTEN: u32 = 3;
/// Series at most.
const MOST_SERIES: usize = 4096;

/// Faults that were timed, which show how long the others took.
const ENOUGH_TIMED: u64 = 1000;
/// Mappings of which it is known how long their faults take.
const MOST_SHAPES: usize = 16_384;

/// A mapping of a process.
type Place = (ProcessId, String);

/// Counts as they were when written last.
#[derive(Default)]
pub(super) struct LastCounts {
    places: HashMap<fault_key, (Numbers, u32)>,
    /// Faults of a process in a mapping, of the intervals in which some of them were timed.
    timed: HashMap<Place, Numbers>,
    /// The same of all its mappings.
    timed_anywhere: HashMap<ProcessId, Numbers>,
    /// Faults that were not looked at, and ones that were not timed.
    unseen: [u64; 2],
    stalls: HashMap<(u32, u32), (u64, u64)>,
    calls: HashMap<(u32, u32), (u64, u64)>,
    foreign: HashMap<(u32, u32), (u64, u64)>,
    series: HashMap<(ProcessId, &'static str, String), (Gauge, f64)>,
}

/// An interval between two readings, monotonic nanoseconds.
#[derive(Clone, Copy)]
pub(super) struct Interval {
    pub(super) from_ns: i64,
    pub(super) to_ns: i64,
}

impl Interval {
    fn seconds(self) -> f64 {
        (self.to_ns - self.from_ns).max(1) as f64 / 1e9
    }
}

impl LastCounts {
    /// Writes what came since the last time; how many faults a second. `one_in`: how many a fault
    /// that was counted stands for.
    pub(super) fn write(
        &mut self,
        program: &Program,
        mappings: &mut Mappings,
        (interval, one_in): (Interval, u64),
        cx: &mut Context<'_>,
    ) -> f64 {
        let mut values: Vec<(ProcessId, live::Word, String, f64)> = Vec::new();
        let seconds = interval.seconds();
        let faults = self.faults(program, mappings, (interval, one_in), cx, &mut values);
        for (key, times, ns) in risen(&mut self.stalls, &program.stalls()) {
            let Some(what) = What::of(key.1).filter(|_| times > 0) else { continue };
            let process = cx.process(key.0.cast_signed());
            values.push((
                process,
                live::PROCESS_MEMORY_STALLS,
                what.name().to_owned(),
                ns as f64 / 1e9 / seconds,
            ));
        }
        for (key, times, bytes) in risen(&mut self.calls, &program.calls()) {
            let Some(call) = call_name(key.1).filter(|_| times > 0) else { continue };
            let process = cx.process(key.0.cast_signed());
            values.push((process, live::PROCESS_SPACE_CALLS, call.to_owned(), times as f64 / seconds));
            values.push((process, live::PROCESS_SPACE_BYTES, (*call).to_owned(), bytes as f64 / seconds));
        }
        let foreign = program.foreign();
        for (key, times, written) in risen(&mut self.foreign, &foreign) {
            let Some(by) = foreign.iter().find(|f| f.key == key).filter(|_| times > 0) else { continue };
            let process = cx.process(key.0.cast_signed());
            cx.sink.count(&CountRow {
                key: i64::from(key.1),
                figures: &[(figure::LOCKS_WRITTEN, written as f64)],
                ..counted(count::MEMORY_FOREIGN, &by.name, interval, process, times, cx)
            });
        }
        self.points(values, interval, cx);
        faults as f64 / seconds
    }

    /// Faults that others stand for, and ones that were counted and not timed.
    pub(super) fn unseen(&self) -> [u64; 2] {
        self.unseen
    }

    fn faults(
        &mut self,
        program: &Program,
        mappings: &mut Mappings,
        (interval, one_in): (Interval, u64),
        cx: &mut Context<'_>,
        values: &mut Vec<(ProcessId, live::Word, String, f64)>,
    ) -> u64 {
        let seconds = interval.seconds();
        let mut by_thread: HashMap<(u32, u32, String), Numbers> = HashMap::new();
        for (key, counts) in program.places() {
            let (before, quiet) = self.places.get(&key).copied().unwrap_or_default();
            let rise = counts.numbers.since(before);
            if rise.faults() == 0 {
                if quiet + 1 >= FORGOTTEN {
                    program.forget(&key);
                    self.places.remove(&key);
                } else {
                    self.places.insert(key, (counts.numbers, quiet + 1));
                }
                continue;
            }
            let unwinder = cx.services.unwinder().cloned();
            let name = mappings.name(counts.pid, &counts.mapping, counts.mapping.start, unwinder.as_ref());
            by_thread.entry((counts.pid, counts.tid, name)).or_default().add(rise);
            self.places.insert(key, (counts.numbers, 0));
        }
        let mut by_mapping: HashMap<Place, (Numbers, Numbers)> = HashMap::new();
        for ((pid, _, name), numbers) in &by_thread {
            let process = cx.process(pid.cast_signed());
            by_mapping.entry((process, name.clone())).or_default().0.add(*numbers);
        }
        self.remember(&by_mapping);
        for ((pid, tid, name), numbers) in by_thread {
            let process = cx.process(pid.cast_signed());
            let place = (process, name);
            if let Some((_, few)) = by_mapping.get_mut(&place).filter(|_| numbers.faults() < OWN_ROW) {
                few.add(numbers);
                continue;
            }
            let thread = cx.thread(pid.cast_signed(), tid.cast_signed());
            self.write_faults(numbers, &place, Some(thread), interval, cx);
        }
        let mut faults = 0;
        for (place, (all, few)) in by_mapping {
            let process = place.0;
            if few.faults() > 0 {
                self.write_faults(few, &place, None, interval, cx);
            }
            let ns = all.as_timed(self.shape(all, &place)).ns;
            faults += all.faults();
            self.unseen[0] += all.minor - all.minor / one_in;
            self.unseen[1] += all.faults().saturating_sub(all.timed);
            values.push((process, live::PROCESS_FAULTS, place.1.clone(), all.faults() as f64 / seconds));
            values.push((process, live::PROCESS_FAULT_TIME, place.1, ns as f64 / 1e9 / seconds));
        }
        cx.source_mut().records += faults;
        faults
    }

    /// Keeps what is known of faults that were timed, the newer the more, for intervals in which
    /// none is.
    fn remember(&mut self, by_mapping: &HashMap<Place, (Numbers, Numbers)>) {
        if self.timed.len() >= MOST_SHAPES {
            self.timed.clear();
            self.timed_anywhere.clear();
        }
        let mut by_process: HashMap<ProcessId, Numbers> = HashMap::new();
        for (place, (all, _)) in by_mapping.iter().filter(|(_, (all, _))| all.timed > 0) {
            self.timed.entry(place.clone()).or_default().renew(*all);
            by_process.entry(place.0).or_default().add(*all);
        }
        for (process, all) in by_process {
            self.timed_anywhere.entry(process).or_default().renew(all);
        }
    }

    /// What shows how long faults took: they themselves, if enough of them were timed; or what is
    /// known of those in their mapping, themselves among them; or, where none was ever timed, of
    /// those of their process.
    fn shape(&self, numbers: Numbers, place: &Place) -> Numbers {
        if numbers.timed >= numbers.faults().min(ENOUGH_TIMED) {
            return numbers;
        }
        let known = self.timed.get(place).or_else(|| self.timed_anywhere.get(&place.0));
        known.copied().unwrap_or_default()
    }

    /// Writes the faults of a thread in a mapping, or those of several threads.
    fn write_faults(
        &self,
        numbers: Numbers,
        place: &Place,
        thread: Option<ThreadId>,
        interval: Interval,
        cx: &mut Context<'_>,
    ) {
        let all = numbers.as_timed(self.shape(numbers, place));
        let mut figures = vec![
            (figure::MAJOR, all.major as f64),
            (figure::PROTECT, all.protect as f64),
            (figure::IN_KERNEL, all.in_kernel as f64),
        ];
        figures.extend((numbers.timed < numbers.faults()).then_some((figure::TIMED, numbers.timed as f64)));
        cx.sink.count(&CountRow {
            thread,
            total_ns: Some(all.ns),
            figures: &figures,
            ..counted(count::PAGE_FAULTS, &place.1, interval, place.0, all.faults(), cx)
        });
    }

    /// Points of the interval; a series that has none now and was not zero before falls to zero.
    fn points(
        &mut self,
        values: Vec<(ProcessId, live::Word, String, f64)>,
        interval: Interval,
        cx: &mut Context<'_>,
    ) {
        let mut points = Points::new(cx, Some(interval.from_ns), interval.to_ns);
        let length = interval.to_ns - interval.from_ns;
        let mut now: HashMap<(ProcessId, &'static str, String), f64> = HashMap::new();
        for (process, word, instance, value) in values {
            let key = (process, word.name, instance);
            if !self.series.contains_key(&key) {
                if self.series.len() >= MOST_SERIES {
                    continue;
                }
                let gauge = Gauge::of(word, &key.2, process);
                self.series.insert(key.clone(), (gauge, 0.0));
            }
            *now.entry(key).or_default() += value;
        }
        for (key, (gauge, last)) in &mut self.series {
            let value = now.get(key).copied().unwrap_or(0.0);
            if value != 0.0 || *last != 0.0 {
                points.point(gauge, length, value);
            }
            *last = value;
        }
    }
}

/// The name of a kind of calls on the address space.
fn call_name(call: u32) -> Option<&'static str> {
    Some(match space_call(call) {
        space_call::SPACE_MMAP => "mmap",
        space_call::SPACE_MUNMAP => "munmap",
        space_call::SPACE_MREMAP => "mremap",
        space_call::SPACE_BRK => "brk",
        space_call::SPACE_MPROTECT => "mprotect",
        space_call::SPACE_GIVE_BACK => "madvise: give back",
        space_call::SPACE_ADVISE => "madvise",
        _ => return None,
    })
}

/// How far counts have risen, and by how much.
fn risen(
    before: &mut HashMap<(u32, u32), (u64, u64)>,
    now: &[super::program::Counted],
) -> Vec<((u32, u32), u64, u64)> {
    let rise = |now: u64, before: u64| now.checked_sub(before).unwrap_or(now);
    let mut risen = Vec::new();
    for count in now {
        let last = before.insert(count.key, count.numbers).unwrap_or_default();
        risen.push((count.key, rise(count.numbers.0, last.0), rise(count.numbers.1, last.1)));
    }
    risen
}

/// How often something happened in a process.
pub(super) fn counted<'a>(
    kind: &'a str,
    name: &'a str,
    interval: Interval,
    process: ProcessId,
    count: u64,
    cx: &Context<'_>,
) -> CountRow<'a> {
    let ns = (cx.clock.epoch_ns(interval.from_ns), cx.clock.epoch_ns(interval.to_ns));
    CountRow::new(kind, name, ns, process, cx.source, count)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Faults of a second, of which some were timed and took so long each.
    fn faults(minor: u64, timed: u64, each_ns: u64) -> Numbers {
        Numbers { minor, timed, ns: timed * each_ns, ..Numbers::default() }
    }

    fn seen(counts: &mut LastCounts, place: &Place, numbers: Numbers) -> u64 {
        counts.remember(&HashMap::from([(place.clone(), (numbers, Numbers::default()))]));
        numbers.as_timed(counts.shape(numbers, place)).ns
    }

    #[test]
    fn faults_that_were_not_timed_took_as_long_as_those_before_in_their_mapping_or_else_in_their_process() {
        let mut counts = LastCounts::default();
        let place = |name: &str| (ProcessId(1), name.to_owned());
        assert_eq!(seen(&mut counts, &place("heap"), faults(10_000, 10_000, 700)), 7_000_000);
        assert_eq!(seen(&mut counts, &place("heap"), faults(2_000, 0, 0)), 1_400_000);
        assert_eq!(seen(&mut counts, &place("mapped since"), faults(3_000, 0, 0)), 2_100_000);
        assert_eq!(seen(&mut counts, &(ProcessId(2), "heap".to_owned()), faults(3_000, 0, 0)), 0);
    }

    #[test]
    fn a_few_odd_faults_do_not_stand_for_many() {
        let mut counts = LastCounts::default();
        let place = (ProcessId(1), "heap".to_owned());
        seen(&mut counts, &place, faults(10_000, 10_000, 700));
        let ns = seen(&mut counts, &place, faults(100_000, 2, 50_000));
        assert!((70_000_000..73_000_000).contains(&ns), "{ns}");
    }
}
