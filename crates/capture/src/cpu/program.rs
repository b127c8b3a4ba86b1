//! The program in the kernel: loaded, attached, read.

use std::cell::RefCell;
use std::os::fd::{AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::rc::Rc;

use libbpf_rs::{Link, MapHandle, RingBuffer, RingBufferBuilder};

use crate::bpf::kit::Kit;
use crate::bpf::losses::Losses;
use crate::bpf::object::skeleton;
use crate::unwind::{SharedUnwinder, share_tables};
use crate::{TargetEvent, Unavailable};

skeleton!("cpu");
use skeleton::{CpuSkel, CpuSkelBuilder};

/// What cannot be seen without it.
const WHAT: &str = "CPU samples";

/// Records that were read and wait to be taken.
#[derive(Default)]
struct Inbox {
    bytes: Vec<u8>,
    ends: Vec<usize>,
}

/// The loaded program. Fields are dropped in their order: links before what they run on.
pub struct Program {
    links: RefCell<Vec<Link>>,
    ring: RingBuffer<'static>,
    inbox: Rc<RefCell<Inbox>>,
    /// What the program looks up.
    pub unwinder: SharedUnwinder,
    targets: MapHandle,
    losses: Losses,
    skel: CpuSkel<'static>,
}

fn refused(step: &'static str) -> impl Fn(libbpf_rs::Error) -> Unavailable {
    move |error| crate::bpf::unavailable(WHAT, step, &error)
}

impl Program {
    /// Loads it onto the tables of an unwinder. `all`: every process is sampled, and not those in
    /// `targets` only (a map of its own without one).
    pub fn load(
        all: bool,
        unwinder: SharedUnwinder,
        targets: Option<&MapHandle>,
    ) -> Result<Self, Unavailable> {
        let kit =
            Kit::alone(WHAT).sees_all(all).shares(|object| share_tables(object, Some(&unwinder), targets));
        let mut open = kit.open(CpuSkelBuilder::default())?;
        let processors = libbpf_rs::num_possible_cpus().map_err(refused("counting CPUs for"))? as u32;
        let ring = ring_bytes(processors);
        // Three quarters: the rest is for samples that were walked at once.
        open.constants().most_kept_data = ring / 4 * 3;
        let maps = &mut open.skel.maps;
        let sized = [maps.kept_stacks.set_max_entries(processors), maps.samples.set_max_entries(ring)];
        sized.into_iter().collect::<Result<Vec<()>, _>>().map_err(refused("sizing a table of"))?;
        let loaded = open.load()?;
        let losses = loaded.losses()?;
        let skel = loaded.skel;
        let maps = &skel.maps;
        let inbox: Rc<RefCell<Inbox>> = Rc::default();
        let samples = handle(&maps.samples)?;
        let mut builder = RingBufferBuilder::new();
        let to = inbox.clone();
        builder
            .add(&samples, move |record: &[u8]| {
                let inbox = &mut *to.borrow_mut();
                inbox.bytes.extend_from_slice(record);
                inbox.ends.push(inbox.bytes.len());
                0
            })
            .map_err(refused("opening the ring buffer of"))?;
        let ring = builder.build().map_err(refused("opening the ring buffer of"))?;
        let targets = handle(&maps.targets)?;
        Ok(Self { links: RefCell::default(), ring, inbox, unwinder, targets, losses, skel })
    }

    /// Runs it at every tick of a perf event, until it is detached.
    pub fn attach(&self, event: OwnedFd) -> Result<(), Unavailable> {
        // libbpf closes the event with the link; when there is no link, nobody else does.
        let number = event.as_raw_fd();
        let link = self.skel.progs.cpu_sample.attach_perf_event(number).map_err(refused("attaching"))?;
        let _ = event.into_raw_fd();
        self.links.borrow_mut().push(link);
        Ok(())
    }

    /// Runs it no more.
    pub fn detach(&mut self) {
        self.links.get_mut().clear();
    }

    /// Samples a target, or no more.
    pub fn follow(&self, event: &TargetEvent) {
        event.mark(&self.targets);
    }

    /// Reads at most so many records: their bytes, and where each ends.
    pub fn read(&mut self, bytes: &mut Vec<u8>, ends: &mut Vec<usize>, most: usize) {
        {
            let inbox = &mut *self.inbox.borrow_mut();
            bytes.clear();
            ends.clear();
            std::mem::swap(&mut inbox.bytes, bytes);
            std::mem::swap(&mut inbox.ends, ends);
        }
        self.ring.consume_raw_n(most);
        let inbox = &mut *self.inbox.borrow_mut();
        std::mem::swap(&mut inbox.bytes, bytes);
        std::mem::swap(&mut inbox.ends, ends);
    }

    /// Samples that found no room in the ring buffer, since the last time.
    pub fn lost(&mut self) -> u64 {
        self.losses.take()
    }

    /// Readable when much waits, or something that should not.
    pub fn wake(&self) -> Option<BorrowedFd<'_>> {
        // SAFETY: the ring buffer owns the descriptor and lives as long as what is returned.
        Some(unsafe { BorrowedFd::borrow_raw(self.ring.epoll_fd()) })
    }
}

fn handle(map: &libbpf_rs::Map<'_>) -> Result<MapHandle, Unavailable> {
    MapHandle::try_from(map).map_err(refused("opening a map of"))
}

/// Room for samples between two rounds, in the kernel and mapped twice here: a power of two.
fn ring_bytes(processors: u32) -> u32 {
    processors.next_power_of_two().clamp(4, 64) << 20
}
