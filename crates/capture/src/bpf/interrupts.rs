//! What interrupts a CPU, remembered by programs on the tracepoints of interrupts: without
//! them, whoever a timer, the disk or the network interrupted would pass for the waker of the
//! thread that they woke (`bpf/interrupts.h`).
//!
//! Each of the programs stores a word; what one costs is in `docs/benchmarks.md`. They are loaded
//! apart from those that ask, which go on where a kernel lacks a tracepoint or refuses them.

use std::os::fd::AsFd;
use std::rc::Rc;

use libbpf_rs::btf::Btf;
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{OpenObject, Result};

use super::attached::attached;
use super::kit::Kit;
use super::object::{Part, leave_out, skeleton};
use super::unavailable;
use crate::Unavailable;

skeleton!("interrupts");
use skeleton::InterruptsSkelBuilder;
use skeleton::types::{interrupt_kind, waker};

attached!(InterruptsSkel, InterruptsMaps, InterruptsLinks: interrupts);

const NO_THREAD: u32 = waker::NO_THREAD.0;
/// What is not seen where the programs cannot be loaded.
const WHAT: &str = "what woke threads where no thread did: whoever was interrupted is named";

/// What a kernel may lack. Without the last one, packets that this host sends to itself count
/// as packets from the network.
const PARTS: [Part; 5] = [
    Part {
        tracepoint: "hrtimer_expire_entry",
        programs: "timer_",
        what: "timers that woke threads: whoever they interrupted is named",
    },
    Part {
        tracepoint: "irq_handler_entry",
        programs: "device_",
        what: "interrupts of devices that woke threads: whoever they interrupted is named",
    },
    Part {
        tracepoint: "softirq_entry",
        programs: "softirq_",
        what: "the disk and the network where they woke threads: whoever they interrupted is named",
    },
    Part {
        tracepoint: "irq_work_entry",
        programs: "work_",
        what: "interrupts of a CPU by itself that woke threads: whoever they interrupted is named",
    },
    Part {
        tracepoint: "netif_rx",
        programs: "packet_",
        what: "threads that woke others through connections of this host: the network is named",
    },
];

/// The programs, attached for as long as this lives.
pub(crate) struct Interrupts {
    attached: Attached,
    unseen: Vec<Unavailable>,
}

impl Interrupts {
    /// Loads and attaches them.
    pub(crate) fn start() -> std::result::Result<Rc<Self>, Unavailable> {
        let kernel = Btf::from_vmlinux()
            .map_err(|error| unavailable(WHAT, "reading the kernel's types for", &error))?;
        let mut open = Kit::alone(WHAT).open(InterruptsSkelBuilder::default())?;
        let remedy = "a kernel from 5.17 on that was built with it";
        let unseen = leave_out(open.skel.open_object_mut(), &kernel, &PARTS, remedy);
        let mut loaded = open.load()?;
        loaded.attach()?;
        let attached = loaded.keep(Attached::of)?;
        Ok(Rc::new(Self { attached, unseen }))
    }

    /// Lets an object that is not loaded yet see what they remember.
    pub(crate) fn share(&self, object: &mut OpenObject) -> Result<()> {
        for mut map in object.maps_mut().filter(|map| map.name() == "interrupts") {
            map.reuse_fd(self.attached.maps.interrupts.as_fd())?;
        }
        Ok(())
    }

    /// What this kernel has no tracepoint for.
    pub(crate) fn unseen(&self) -> &[Unavailable] {
        &self.unseen
    }
}

/// Who woke a thread, as the programs report it (`waker_of`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Waker {
    /// Nobody that is known.
    Nobody,
    /// A thread by its id.
    Thread(u32),
    Timer,
    /// A device, by the number of its interrupt.
    Device(u16),
    /// A device of storage.
    Disk,
    /// A softirq by its number.
    Softirq(u16),
    /// Another interrupt.
    Other,
}

impl Waker {
    /// From the word in which the programs report it.
    pub(crate) fn parse(word: u32) -> Self {
        if word & NO_THREAD == 0 {
            return if word == 0 { Self::Nobody } else { Self::Thread(word) };
        }
        let number = (word & 0xffff) as u16;
        match interrupt_kind((word & !NO_THREAD) >> 24) {
            interrupt_kind::BY_TIMER => Self::Timer,
            interrupt_kind::BY_DEVICE => Self::Device(number),
            interrupt_kind::BY_DISK => Self::Disk,
            interrupt_kind::BY_SOFTIRQ => Self::Softirq(number),
            _ => Self::Other,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_a_thread_or_an_interrupt_with_its_number() {
        assert_eq!(Waker::parse(0), Waker::Nobody);
        assert_eq!(Waker::parse(4_194_304), Waker::Thread(4_194_304));
        assert_eq!(Waker::parse(0x8100_0000), Waker::Timer);
        assert_eq!(Waker::parse(0x8200_0024), Waker::Device(36));
        assert_eq!(Waker::parse(0x8400_0003), Waker::Softirq(3));
        assert_eq!(Waker::parse(u32::MAX), Waker::Other);
    }
}
