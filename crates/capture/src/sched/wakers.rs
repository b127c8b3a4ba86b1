//! Who woke a thread, in words: the name of a thread, or what a timer, a device or a softirq is
//! called.

use std::collections::HashMap;
use std::fs;
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{interrupt, label};

use crate::bpf::interrupts::Waker;
use crate::procfs;

/// Names of threads that wake others are remembered for so long: names change, and a waker wakes a
/// thousand times a second.
const NAMES_FOR: Duration = Duration::from_secs(1);
/// Names remembered at most.
const MOST_NAMES: usize = 4096;
/// How the kernel's own threads that handle the interrupt of a device are called
/// (kernel/irq/manage.c): "irq/36-nvme0q1".
const INTERRUPT_THREAD: &str = "irq/";

/// Label and text of a waker.
type Named = (&'static str, String);

/// Names of those that woke others.
pub(super) struct Wakers {
    names: HashMap<Waker, Option<Named>>,
    since: Instant,
}

impl Default for Wakers {
    fn default() -> Self {
        Self { names: HashMap::new(), since: Instant::now() }
    }
}

impl Wakers {
    /// How a waker stands at a wait; `None` when nobody is known, or the thread is gone.
    pub(super) fn name(&mut self, waker: Waker) -> Option<Named> {
        if self.since.elapsed() > NAMES_FOR || self.names.len() >= MOST_NAMES {
            self.names.clear();
            self.since = Instant::now();
        }
        self.names.entry(waker).or_insert_with(|| named(waker)).clone()
    }
}

fn named(waker: Waker) -> Option<Named> {
    let interrupt = |words: &str| Some((label::INTERRUPT, words.to_owned()));
    match waker {
        Waker::Nobody => None,
        Waker::Thread(tid) => thread(tid),
        Waker::Timer => interrupt(interrupt::TIMER),
        Waker::Disk => interrupt(interrupt::DISK),
        Waker::Device(number) => interrupt(&device(&actions(number))),
        Waker::Softirq(number) => interrupt(&softirq(number)),
        Waker::Other => interrupt(interrupt::OTHER),
    }
}

/// Name and number of a thread. Where a kernel handles interrupts in threads, those stand for their
/// device.
fn thread(tid: u32) -> Option<Named> {
    let name = procfs::read_to_string(procfs::path(tid.cast_signed(), "comm"))?;
    let name = name.trim_end();
    // Of the kernel's own threads alone there is no command line.
    let is_kernels = || {
        procfs::read_to_string(procfs::path(tid.cast_signed(), "cmdline")).is_some_and(|line| line.is_empty())
    };
    let of_interrupt = name.strip_prefix(INTERRUPT_THREAD).filter(|_| is_kernels());
    Some(match of_interrupt.and_then(|name| name.split_once('-')) {
        Some((_, device_name)) => (label::INTERRUPT, device(device_name)),
        None => (label::WAKER, format!("{name} ({tid})")),
    })
}

/// The drivers that an interrupt belongs to.
fn actions(number: u16) -> String {
    let names = fs::read_to_string(format!("/sys/kernel/irq/{number}/actions"));
    names.map(|names| names.trim().to_owned()).unwrap_or_default()
}

fn device(name: &str) -> String {
    if name.is_empty() { interrupt::DEVICE.to_owned() } else { format!("{} ({name})", interrupt::DEVICE) }
}

/// What a softirq stands for (include/linux/interrupt.h).
fn softirq(number: u16) -> String {
    match number {
        // TIMER and HRTIMER: timers of the kernel's coarse clock, and those that may be late.
        1 | 8 => interrupt::TIMER.to_owned(),
        2 | 3 => interrupt::NETWORK.to_owned(),
        // BLOCK and IRQ_POLL: requests that are done.
        4 | 5 => interrupt::DISK.to_owned(),
        0 | 6 => "softirq TASKLET".to_owned(),
        7 => "softirq SCHED".to_owned(),
        9 => "softirq RCU".to_owned(),
        other => format!("softirq {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_thread_is_named_by_what_it_stands_for() {
        let mut wakers = Wakers::default();
        let mut words = |waker| wakers.name(waker).unwrap();
        assert_eq!(words(Waker::Timer), (label::INTERRUPT, "a timer".to_owned()));
        assert_eq!(words(Waker::Softirq(1)), words(Waker::Timer));
        assert_eq!(words(Waker::Softirq(3)), (label::INTERRUPT, "the network".to_owned()));
        assert_eq!(words(Waker::Softirq(4)), words(Waker::Disk));
        assert_eq!(words(Waker::Softirq(9)), (label::INTERRUPT, "softirq RCU".to_owned()));
        // No interrupt has this number.
        assert_eq!(words(Waker::Device(u16::MAX)), (label::INTERRUPT, "a device".to_owned()));
        let own = words(Waker::Thread(std::process::id()));
        assert!(own.0 == label::WAKER && own.1.ends_with(&format!("({})", std::process::id())), "{own:?}");
        assert_eq!(wakers.name(Waker::Nobody), None);
    }
}
