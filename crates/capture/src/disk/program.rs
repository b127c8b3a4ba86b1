//! The programs in the kernel: loaded, attached, read.

use std::os::fd::AsFd;
use std::rc::Rc;

use libbpf_rs::btf::types::{FuncProto, Ptr, Typedef};
use libbpf_rs::btf::{Btf, ReferencesType};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, MapHandle};
use rustix::time::{ClockId, clock_getres};

use super::record::{Counts, WrittenBack};
use crate::Unavailable;
use crate::bpf::attached::attached;
use crate::bpf::dispatcher::{Dispatcher, Hook, Registered};
use crate::bpf::object::{Part, leave_out, place, skeleton};
use crate::bpf::ring::Ring;
use crate::bpf::{counted, pid_namespace, silence, unavailable, whole};
use crate::unwind::SharedUnwinder;
use crate::unwind::share_tables;

skeleton!("disk");
use skeleton::DiskSkelBuilder;
use skeleton::types::disk_key;

attached!(DiskSkel, DiskMaps, DiskLinks: counts, losses, targets, totals, written);

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

/// fsync, fdatasync, sync_file_range, syncfs (x86-64), as bpf/disk.bpf.c names them.
const SYNC_CALLS: [u32; 4] = [74, 75, 277, 306];

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
    loaded: Attached,
}

type Record = Box<[u8]>;

fn failed(step: &'static str) -> impl Fn(libbpf_rs::Error) -> Unavailable {
    move |error| unavailable(WHAT, step, &error)
}

impl Program {
    /// Loads and attaches them, with what this kernel does not have. With an unwinder they walk by
    /// its tables; `targets`: the map of them that all programs of the recording share.
    pub(super) fn start(
        whole_host: bool,
        min_ns: u64,
        (unwinder, targets): (Option<&SharedUnwinder>, Option<&MapHandle>),
        dispatcher: Option<Rc<Dispatcher>>,
    ) -> Result<(Self, Vec<Unavailable>), Unavailable> {
        silence();
        let kernel = Btf::from_vmlinux().map_err(failed("reading the kernel's types for"))?;
        let mut open = DiskSkelBuilder::default().open(place()).map_err(failed("opening"))?;
        if let Some(data) = open.maps.rodata_data.as_deref_mut() {
            data.config.min_ns = min_ns;
            data.config.most = MOST;
            data.config.page_bytes = rustix::param::page_size() as u64;
            data.config.large_bytes = LARGE_BYTES;
            // The coarse clock moves at each tick.
            let tick = clock_getres(ClockId::MonotonicCoarse);
            data.config.jiffy_ns = u64::try_from(tick.tv_nsec).unwrap_or(0);
            data.pause_argument = pause_argument(&kernel);
            data.own_pid = std::process::id();
            data.all_processes = u8::from(whole_host);
            data.pidns_ino = pid_namespace();
        }
        let object = open.open_object_mut();
        share_tables(object, unwinder, targets).map_err(failed("sharing the tables of"))?;
        let remedy = "a kernel that was built with it, or the file system that has it";
        let unseen = leave_out(object, &kernel, &PARTS, remedy);
        if let Some(dispatcher) = &dispatcher {
            dispatcher
                .take_over(object, &["on_call", "on_return"])
                .map_err(failed("sharing the dispatcher of"))?;
        }
        let mut loaded = open.load().map_err(failed("loading"))?;
        let ring = |map: &dyn MapCore| {
            let ring = Ring::over(map, |bytes| Some(bytes.into()), MOST_RECORDS);
            ring.map_err(failed("mapping a ring buffer of"))
        };
        let (events, stacks) = (ring(&loaded.maps.events)?, ring(&loaded.maps.samples)?);
        loaded.attach().map_err(failed("attaching"))?;
        let mut registered = Vec::new();
        if let Some(dispatcher) = dispatcher {
            let hooks =
                [(loaded.progs.on_return.as_fd(), Hook::Out), (loaded.progs.on_call.as_fd(), Hook::In)];
            for (program, hook) in hooks {
                registered
                    .push(dispatcher.register(program, hook, &SYNC_CALLS).map_err(failed("attaching"))?);
            }
        }
        let loaded = Attached::of(loaded).map_err(failed("opening a map of"))?;
        Ok((Self { registered, events, stacks, loaded }, unseen))
    }

    /// Watches a process.
    pub(super) fn watch(&self, pid: i32) {
        let _ = self.loaded.maps.targets.update(&pid.to_ne_bytes(), &[1], MapFlags::ANY);
    }

    /// Watches it no more.
    pub(super) fn unwatch(&self, pid: i32) {
        let _ = self.loaded.maps.targets.delete(&pid.to_ne_bytes());
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

    /// What was not reported or counted.
    pub(super) fn losses(&self) -> Losses {
        let losses = &self.loaded.maps.losses;
        // Syncs come with their stacks, by a ring of their own.
        let no_room = counted(losses, 1) + counted(&self.loaded.maps.counts, 1);
        Losses { requests: counted(losses, 0), no_room, files: counted(losses, 2) }
    }
}

/// `enum disk_loss`.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Losses {
    /// Slow requests that were not reported one by one, as there were too many.
    pub(super) requests: u64,
    /// What found no room.
    pub(super) no_room: u64,
    /// Files written back that were not reported one by one.
    pub(super) files: u64,
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
