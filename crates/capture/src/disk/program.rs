//! The programs in the kernel: loaded, attached, read.

use libbpf_rs::btf::types::{FuncProto, Ptr, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};
use libbpf_rs::skel::OpenSkel;
use rustix::time::{ClockId, clock_getres};
use syscalls::Sysno;

use super::record::{Counts, WrittenBack};
use crate::bpf::attached::attached;
use crate::bpf::dispatcher::{Hook, Registered};
use crate::bpf::losses::Losses;
use crate::bpf::object::{Part, leave_out, skeleton};
use crate::bpf::ring::Ring;
use crate::bpf::{unavailable, whole};
use crate::{Context, TargetEvent, Unavailable};

skeleton!("disk");
use skeleton::DiskSkelBuilder;
use skeleton::types::{disk_key, disk_loss};

attached!(DiskSkel, DiskMaps, DiskLinks: targets, totals, written);

/// What cannot be seen without it.
const WHAT: &str = "requests to disks";
/// Slow requests reported one by one for each CPU and tenth of a second, and files: a disk that
/// is slow for everybody is reported by sums.
const MOST: u32 = 50;
/// A file of which as much is written back at once is reported by itself, however short it took:
/// the kernel hands requests over and waits for none of them.
const LARGE_BYTES: u64 = 4 << 20;
/// Records taken in one round; what is left waits in the kernel's buffers.
const MOST_RECORDS: usize = 20_000;

/// System calls that write a file's pages back.
pub(super) const SYNC_CALLS: [Sysno; 4] =
    [Sysno::fsync, Sysno::fdatasync, Sysno::sync_file_range, Sysno::syncfs];

/// Parts that a kernel may lack, with their tracepoint and what is not seen without it.
const PARTS: [Part; 7] = [
    Part {
        tracepoint: "block_io_start",
        programs: "on_start",
        what: "how long direct requests to disks wait before they are issued",
    },
    Part {
        tracepoint: "block_rq_insert",
        programs: "on_insert",
        what: "how long requests to disks wait in the scheduler's queue",
    },
    Part {
        tracepoint: "jbd2_start_commit",
        programs: "on_commit_",
        what: "commits of the file system's journal",
    },
    Part { tracepoint: "writeback_start", programs: "on_writeback_", what: "rounds of writeback" },
    Part {
        tracepoint: "writeback_single_inode_start",
        programs: "on_file_",
        what: "which files are written back",
    },
    Part {
        tracepoint: "writeback_dirty_inode",
        programs: "on_dirty_",
        what: "who wrote to the files that are written back",
    },
    Part {
        tracepoint: "balance_dirty_pages",
        programs: "on_throttle",
        what: "writers that are made to wait for writeback",
    },
];

/// The loaded programs. Fields are dropped in their order.
pub(super) struct Program {
    registered: Vec<Registered>,
    events: Ring<Record>,
    stacks: Ring<Record>,
    losses: Losses,
    loaded: Attached,
}

type Record = Box<[u8]>;

impl Program {
    /// Loads and attaches them, with what this kernel does not have.
    pub(super) fn start(min_ns: u64, cx: &Context<'_>) -> Result<(Self, Vec<Unavailable>), Unavailable> {
        let kernel = Btf::from_vmlinux()
            .map_err(|error| unavailable(WHAT, "reading the kernel's types for", &error))?;
        let calls = SYNC_CALLS.map(|call| call.id().cast_unsigned());
        let mut open = cx
            .kit(&super::ENTRY, WHAT)
            .hooked("on_return", Hook::Out, &calls)
            .hooked("on_call", Hook::In, &calls)
            .open(DiskSkelBuilder::default())?;
        let constants = open.constants();
        constants.config.min_ns = min_ns;
        constants.config.most = MOST;
        constants.config.page_bytes = rustix::param::page_size() as u64;
        constants.config.large_bytes = LARGE_BYTES;
        // The coarse clock moves at each tick.
        let tick = clock_getres(ClockId::MonotonicCoarse);
        constants.config.jiffy_ns = u64::try_from(tick.tv_nsec).unwrap_or(0);
        constants.pause_argument = pause_argument(&kernel);
        let remedy = "a kernel that was built with it, or the file system that has it";
        let unseen = leave_out(open.skel.open_object_mut(), &kernel, &PARTS, remedy);
        let mut loaded = open.load()?;
        let ring = |name| loaded.ring(name, |bytes| Some(bytes.into()), MOST_RECORDS);
        let (events, stacks, losses) = (ring("events")?, ring("samples")?, loaded.losses()?);
        let registered = loaded.attach()?;
        let loaded = loaded.keep(Attached::of)?;
        Ok((Self { registered, events, stacks, losses, loaded }, unseen))
    }

    /// Watches a target, or no more.
    pub(super) fn follow(&self, event: &TargetEvent) {
        event.mark(&self.loaded.maps.targets);
    }

    /// Counts no more; what was counted can still be read.
    pub(super) fn detach(&mut self) {
        self.registered.clear();
        self.loaded.links = skeleton::DiskLinks::default();
    }

    /// Events that came in since the last time.
    pub(super) fn events(&mut self) -> Vec<Record> {
        self.events.take()
    }

    /// Events with stacks.
    pub(super) fn stacks(&mut self) -> Vec<Record> {
        self.stacks.take()
    }

    /// Requests by device, kind and issuer.
    pub(super) fn totals(&self) -> Vec<(disk_key, Counts)> {
        let Ok(totals) = whole::entries(&self.loaded.maps.totals) else { return Vec::new() };
        totals.map(|(key, counts)| (key, Counts::of(&key, &counts))).collect()
    }

    /// What was written back by device and writer.
    pub(super) fn written_back(&self) -> Vec<WrittenBack> {
        let Ok(written) = whole::entries(&self.loaded.maps.written) else { return Vec::new() };
        written.map(|(key, bytes)| WrittenBack::of(&key, bytes)).collect()
    }

    /// What found no room since the last time.
    pub(super) fn lost(&mut self) -> u64 {
        self.losses.take()
    }

    /// So many were not reported one by one, as there were too many.
    pub(super) fn unreported(&self, which: disk_loss) -> u64 {
        self.losses.of(which.0)
    }
}

/// Where `pause` is among the arguments of the tracepoint `balance_dirty_pages`: kernels from 6.15
/// on have eight, behind the one of all tracepoints, and earlier ones twelve; 0: another number.
fn pause_argument(kernel: &Btf<'_>) -> u32 {
    let arguments = || {
        let name = kernel.type_by_name::<Typedef<'_>>("btf_trace_balance_dirty_pages")?;
        let pointer = Ptr::try_from(name.referenced_type()).ok()?;
        Some(FuncProto::try_from(pointer.referenced_type()).ok()?.iter().count())
    };
    match arguments() {
        Some(9) => 6,
        Some(13) => 10,
        _ => 0,
    }
}
