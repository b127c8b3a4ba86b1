//! Short waits of a thread, of which the kernel's side sends sums: when they were is known with
//! every event, where they were only now and then.
//!
//! ```text
//! long waits        ▐█████████▌       ▐█████████▌       ▐█████████▌
//! sums of short ones          ▏ 0.4 ms          ▏ 0.9 ms      ▏ 0.3 ms, and the stack of one of them
//! written                      ◀───── all three with that stack ─┘
//! ```

use fathom_recording::vocabulary::sample;
use fathom_recording::{SampleRow, StackId};

use super::Watched;
use super::event::Event;
use crate::collector::Context;

/// How long a sum waits for a stack, nanoseconds.
const WAITS_NS: u64 = 10_000_000_000;
/// Sums that wait for one stack at most.
const MOST: usize = 256;

/// What a thread waited in short waits up to a timestamp.
#[derive(Clone, Copy)]
pub(super) struct Sum {
    /// Until when, monotonic nanoseconds.
    pub(super) at_ns: u64,
    pub(super) blocked_ns: u64,
    pub(super) runq_ns: u64,
}

/// Sums of a thread whose place is not known yet, in order of time.
#[derive(Default)]
pub(super) struct Unplaced(Vec<Sum>);

impl Unplaced {
    /// Takes a sum in; gives those back that have waited too long for a stack.
    #[must_use]
    pub(super) fn add(&mut self, sum: Sum) -> Vec<Sum> {
        if sum.blocked_ns > 0 || sum.runq_ns > 0 {
            self.0.push(sum);
        }
        let is_old = |old: &Sum| sum.at_ns.saturating_sub(old.at_ns) > WAITS_NS;
        let old = self.0.partition_point(is_old).max(self.0.len().saturating_sub(MOST));
        self.0.drain(..old).collect()
    }

    /// Those that wait.
    pub(super) fn sums(&self) -> &[Sum] {
        &self.0
    }

    /// All of them; none is left.
    pub(super) fn take(&mut self) -> Vec<Sum> {
        std::mem::take(&mut self.0)
    }
}

/// Takes the sum of an event in, with the stack of the event where it has one.
pub(super) fn take(watched: &mut Watched, event: &Event, stack: Option<StackId>, cx: &mut Context<'_>) {
    let at_ns = if event.is_missed() { event.off_ns } else { event.on_ns };
    let sum = Sum { at_ns, blocked_ns: event.owed_ns, runq_ns: event.owed_runq_ns };
    let too_old = watched.unplaced.add(sum);
    write(watched, &too_old, None, cx);
    // The stack of a long wait says nothing of short ones.
    if event.off_ns == 0 && stack.is_some() {
        let placed = watched.unplaced.take();
        write(watched, &placed, stack, cx);
    }
}

/// Writes sums: blocked, and on the run queue.
pub(super) fn write(watched: &Watched, sums: &[Sum], stack: Option<StackId>, cx: &mut Context<'_>) {
    for sum in sums {
        let t_ns = cx.clock.epoch_ns(sum.at_ns.cast_signed());
        for (kind, ns) in [(sample::OFF_CPU, sum.blocked_ns), (sample::RUN_QUEUE, sum.runq_ns)] {
            let (process, thread) = (watched.process, Some(watched.thread));
            let (weight, source) = (ns.cast_signed(), cx.source);
            if ns > 0 {
                cx.sink.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(at_ns: u64) -> Sum {
        Sum { at_ns, blocked_ns: 1, runq_ns: 0 }
    }

    #[test]
    fn sums_wait_for_a_stack_for_so_long_and_no_more_than_so_many_do() {
        let mut unplaced = Unplaced::default();
        assert!(unplaced.add(Sum { blocked_ns: 0, ..sum(1) }).is_empty());
        assert!(unplaced.take().is_empty(), "nothing was waited");
        assert!(unplaced.add(sum(5)).is_empty());
        assert!(unplaced.add(sum(6)).is_empty());
        let old = unplaced.add(sum(6 + WAITS_NS));
        assert_eq!(old.iter().map(|sum| sum.at_ns).collect::<Vec<_>>(), [5]);
        let beyond: usize = (0..300).map(|i| unplaced.add(sum(7 + WAITS_NS + i)).len()).sum();
        assert_eq!((beyond, unplaced.take().len()), (300 + 2 - MOST, MOST));
        assert!(unplaced.take().is_empty());
    }
}
