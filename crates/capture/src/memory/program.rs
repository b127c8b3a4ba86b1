//! The programs in the kernel: loaded, attached, read.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use libbpf_rs::btf::Btf;
use libbpf_rs::skel::OpenSkel;
use libbpf_rs::{Link, MapCore};
use syscalls::Sysno;
use zerocopy::{FromBytes, IntoBytes};

use super::pace::{Look, Pace, SOON_NS};
use super::record::Counts;
use crate::bpf::dispatcher::{Hook, Registered};
use crate::bpf::losses::Losses;
use crate::bpf::object::{Part, leave_out, skeleton};
use crate::bpf::record::{self, text};
use crate::bpf::ring::Ring;
use crate::bpf::{unavailable, whole};
use crate::clock::monotonic_ns;
use crate::perf_event::{self, SoftwareEvent};
use crate::{Context, TargetEvent, Unavailable};

skeleton!("memory");
use skeleton::types::{
    fault_key, foreign_counts, foreign_key, sampling, space_counts, space_key, stall_counts, stall_key,
};
use skeleton::{MemorySkel, MemorySkelBuilder};

/// What cannot be seen without it.
pub(super) const WHAT: &str = "page faults";
/// Samples of faults for each CPU and tenth of a second: 200 stacks a second take some 0.3%
/// of it.
const SAMPLES_A_WINDOW: u32 = 20;
/// Records taken in one round; what is left waits in the kernel's buffer.
const MOST_RECORDS: usize = 50_000;

/// System calls that change the address space.
const SPACE_CALLS: [Sysno; 6] =
    [Sysno::mmap, Sysno::mprotect, Sysno::munmap, Sysno::brk, Sysno::mremap, Sysno::madvise];

/// Parts that a kernel may lack, with their tracepoint and what is not seen without it.
const PARTS: [Part; 6] = [
    Part {
        tracepoint: "page_fault_user",
        programs: "on_fault_",
        what: "how long page faults take, and which are writes to protected pages",
    },
    Part {
        tracepoint: "mm_vmscan_direct_reclaim_begin",
        programs: "on_reclaim_",
        what: "threads that reclaim memory before they get some",
    },
    Part {
        tracepoint: "mm_vmscan_memcg_reclaim_begin",
        programs: "on_group_reclaim_",
        what: "threads that reclaim memory of their control group",
    },
    Part {
        tracepoint: "mm_compaction_begin",
        programs: "on_compaction_",
        what: "threads that compact memory for large pages",
    },
    Part {
        tracepoint: "mmap_lock_start_locking",
        programs: "on_map_lock",
        what: "waits for the lock of the address space, and who else takes it",
    },
    Part { tracepoint: "mark_victim", programs: "on_oom", what: "processes killed for lack of memory" },
];

/// A count of the maps `stalls`, `calls` and `foreign`.
pub(super) struct Counted {
    /// The two words of its key.
    pub(super) key: (u32, u32),
    /// Its two numbers.
    pub(super) numbers: (u64, u64),
    /// The name in it, of `foreign` only.
    pub(super) name: String,
}

/// The loaded programs. Fields are dropped in their order: links before what they run on.
pub(super) struct Program {
    links: Vec<Link>,
    /// Minor faults of each CPU, as perf events.
    minor: Vec<OwnedFd>,
    look: Look,
    /// Whether the kernel reports when a fault begins.
    times: bool,
    registered: Vec<Registered>,
    ring: Ring<Box<[u8]>>,
    losses: Losses,
    loaded: MemorySkel<'static>,
}

impl Program {
    /// Loads and attaches them, with what this kernel does not have.
    pub(super) fn start(min_ns: u64, cx: &Context<'_>) -> Result<(Self, Vec<Unavailable>), Unavailable> {
        let kernel = Btf::from_vmlinux()
            .map_err(|error| unavailable(WHAT, "reading the kernel's types for", &error))?;
        let mut open = cx
            .kit(&super::ENTRY, WHAT)
            .hooked("on_call", Hook::In, &SPACE_CALLS.map(|call| call.id().cast_unsigned()))
            .open(MemorySkelBuilder::default())?;
        let config = &mut open.constants().config;
        (config.min_ns, config.samples_a_window) = (min_ns, SAMPLES_A_WINDOW);
        let remedy = "a kernel from 5.17 on that was built with it";
        let unseen = leave_out(open.skel.open_object_mut(), &kernel, &PARTS, remedy);
        let mut loaded = open.load()?;
        let ring = loaded.ring("samples", |bytes| Some(bytes.into()), MOST_RECORDS)?;
        let losses = loaded.losses()?;
        let registered = loaded.attach()?;
        let (failed, loaded) = (loaded.failed("attaching"), loaded.skel);
        let (mut links, mut minor) = (Vec::new(), Vec::new());
        for cpu in perf_event::online() {
            let events = [
                (SoftwareEvent::MinorFaults, &loaded.progs.on_minor),
                (SoftwareEvent::MajorFaults, &loaded.progs.on_major),
            ];
            for (event, program) in events {
                let fd = perf_event::each(event, cpu).map_err(|error| Unavailable {
                    scope: None,
                    what: WHAT.into(),
                    why: format!("perf_event_open for CPU {cpu}: {error}"),
                    remedy: "run fathom as root, or lower kernel.perf_event_paranoid".into(),
                })?;
                if event == SoftwareEvent::MinorFaults {
                    minor.extend(fd.try_clone());
                }
                // libbpf closes the event with the link; when there is no link, nobody else does.
                links.push(program.attach_perf_event(fd.as_raw_fd()).map_err(&failed)?);
                let _ = fd.into_raw_fd();
            }
        }
        let times = loaded.links.on_fault_user.is_some();
        Ok((Self { links, minor, look: Pace::EACH, times, registered, ring, losses, loaded }, unseen))
    }

    /// Watches a target, or no more; `false`: as many as can be watched are watched already.
    pub(super) fn follow(&self, event: &TargetEvent) -> bool {
        event.mark(&self.loaded.maps.targets)
    }

    /// Counts no more; what was counted can still be read.
    pub(super) fn detach(&mut self) {
        self.links.clear();
        self.minor.clear();
        self.registered.clear();
        self.loaded.links = skeleton::MemoryLinks::default();
    }

    /// Faults a second of the last window of each CPU (`struct sampling` of
    /// `bpf/memory_faults.h`), or fewer.
    pub(super) fn rate_now(&self, now_ns: i64) -> f64 {
        let map = &self.loaded.maps.samplings;
        let rate = |sampled: sampling| {
            let length_ns = (now_ns - sampled.window_ns.cast_signed()).max(SOON_NS) as f64;
            f64::from(sampled.faults) * 1e9 / length_ns
        };
        record::of_cpus(map, 0).into_iter().map(rate).sum()
    }

    /// How many a fault that is counted stands for.
    pub(super) fn one_in(&self) -> u64 {
        self.look.one_in
    }

    /// Looks at faults as `look` says; where the kernel refuses, as before.
    pub(super) fn look(&mut self, look: Look) {
        let Some(shared) = self.loaded.maps.bss_data.as_deref_mut() else { return };
        if look.one_in != self.look.one_in
            && self.minor.iter().all(|event| perf_event::every(event.as_fd(), look.one_in).is_ok())
        {
            shared.look.one_in = look.one_in;
            self.look.one_in = look.one_in;
        }
        if look.timed != self.look.timed && self.times {
            let (programs, links) = (&self.loaded.progs, &mut self.loaded.links);
            if look.timed {
                (links.on_fault_user, links.on_fault_kernel) =
                    (programs.on_fault_user.attach().ok(), programs.on_fault_kernel.attach().ok());
                shared.look.timed_from_ns = monotonic_ns().cast_unsigned();
            } else {
                shared.look.timed_from_ns = u64::MAX;
                (links.on_fault_user, links.on_fault_kernel) = (None, None);
            }
            self.look.timed = look.timed;
        }
    }

    /// Readable when much waits.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.ring.wake()
    }

    /// Records that came in since the last time.
    pub(super) fn records(&mut self) -> Vec<Box<[u8]>> {
        self.ring.take()
    }

    /// All faults by thread and mapping, each with its key in the map.
    pub(super) fn places(&self) -> Vec<(fault_key, Counts)> {
        let Ok(places) = whole::entries(&self.loaded.maps.places) else { return Vec::new() };
        places.map(|(key, counts)| (key, Counts::of(&counts))).collect()
    }

    /// Forgets faults of a thread in a mapping.
    pub(super) fn forget(&self, key: &fault_key) {
        let _ = self.loaded.maps.places.delete(key.as_bytes());
    }

    /// Stalls: pid and kind, how many and nanoseconds.
    pub(super) fn stalls(&self) -> Vec<Counted> {
        counted(&self.loaded.maps.stalls, |key: stall_key, counts: stall_counts| Counted {
            key: (key.pid, key.what),
            numbers: (counts.count, counts.ns),
            name: String::new(),
        })
    }

    /// Calls on the address space: pid and which, how many and bytes.
    pub(super) fn calls(&self) -> Vec<Counted> {
        counted(&self.loaded.maps.calls, |key: space_key, counts: space_counts| Counted {
            key: (key.pid, key.call),
            numbers: (counts.count, counts.bytes),
            name: String::new(),
        })
    }

    /// Locks of a target's address space by others: pid and by whom, how many and how many to
    /// write.
    pub(super) fn foreign(&self) -> Vec<Counted> {
        counted(&self.loaded.maps.foreign, |key: foreign_key, counts: foreign_counts| Counted {
            key: (key.pid, key.by),
            numbers: (counts.count, counts.written),
            name: text(&counts.comm),
        })
    }

    /// Samples that found no room, and counts that found none, since the last time.
    pub(super) fn lost(&mut self) -> u64 {
        self.losses.take()
    }
}

fn counted<K: FromBytes, V: FromBytes>(
    map: &libbpf_rs::MapMut<'_>,
    one: impl Fn(K, V) -> Counted,
) -> Vec<Counted> {
    let Ok(entries) = whole::entries(map) else { return Vec::new() };
    entries.map(|(key, counts)| one(key, counts)).collect()
}
