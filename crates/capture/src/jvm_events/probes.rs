//! The probes, and the program that they all run.

use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use libbpf_rs::{Link, UprobeOpts, UsdtOpts};

use super::functions::{self, Function};
use super::record::Record;
use crate::Unavailable;
use crate::bpf::kit::Kit;
use crate::bpf::object::skeleton;
use crate::bpf::record::{self, read};
use crate::bpf::ring::Ring;
use crate::perf_memory::PerfMemory;
use crate::procfs;
use crate::target::jvm_library;

skeleton!("jvm_events");
use skeleton::types::cause_places;
use skeleton::{JvmEventsSkel, JvmEventsSkelBuilder};

/// What a probe reports. The values are in its cookie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    GcBegin,
    GcEnd,
    PoolBegin,
    PoolEnd,
    SafepointBegin,
    SafepointEnd,
    OperationBegin,
    OperationEnd,
    CompileBegin,
    CompileEnd,
    ClassLoaded,
    ClassUnloaded,
    ThreadStart,
    ThreadStop,
    StartCalled,
    StartReturned,
}

/// A probe of libjvm: its arguments are strings first (address and length each), then numbers.
struct Probe {
    kind: Kind,
    provider: &'static str,
    name: &'static str,
    strings: u64,
    numbers: u64,
}

const fn probe(kind: Kind, provider: &'static str, name: &'static str, strings: u64, numbers: u64) -> Probe {
    Probe { kind, provider, name, strings, numbers }
}

/// Probes that are attached and taken off together.
pub struct Group {
    /// What they report.
    pub what: &'static str,
    /// What else reports it, when they are hit too often.
    pub instead: &'static str,
    probes: &'static [Probe],
    /// Functions that every libjvm exports, where there is no probe.
    functions: &'static [Function],
}

impl Group {
    /// Whether it has no probe and is reported by functions alone.
    pub fn is_of_functions(&self) -> bool {
        self.probes.is_empty()
    }
}

/// How many of the first groups report stops: without them, an interval without a stop says
/// nothing.
pub const STOPS: usize = 2;
/// The group of safepoints and VM operations.
pub const OPERATIONS: usize = 1;
/// The group of compilations.
pub const COMPILATIONS: usize = 3;
/// The group of classes.
pub const CLASSES: usize = 4;
/// The group of threads that get to Java, and of those that end.
pub const THREADS: usize = 5;
/// The group of calls that start threads.
pub const STARTS: usize = 6;

/// All groups (hotspot.d, hs_private.d: the same in JDK 11 to 25).
pub const GROUPS: [Group; 7] = [
    Group {
        what: "collections",
        instead: "a GC log: -Xlog:gc*:file=gc.log",
        probes: &[
            // is_full
            probe(Kind::GcBegin, "hotspot", "gc__begin", 0, 1),
            probe(Kind::GcEnd, "hotspot", "gc__end", 0, 0),
        ],
        functions: &[],
    },
    Group {
        what: "safepoints and VM operations",
        instead: "a safepoint log: -Xlog:safepoint:file=safepoint.log",
        probes: &[
            probe(Kind::SafepointBegin, "hs_private", "safepoint__begin", 0, 0),
            probe(Kind::SafepointEnd, "hs_private", "safepoint__end", 0, 0),
            // name; mode of evaluation
            probe(Kind::OperationBegin, "hotspot", "vmops__begin", 1, 1),
            probe(Kind::OperationEnd, "hotspot", "vmops__end", 1, 1),
        ],
        functions: &[],
    },
    // Hit once for every space of the heap, some thirty times a collection: the first to go.
    Group {
        what: "sizes of the heap's spaces at collections",
        instead: "a GC log: -Xlog:gc*:file=gc.log",
        probes: &[
            // manager, pool; initial, used, committed, maximum
            probe(Kind::PoolBegin, "hotspot", "mem__pool__gc__begin", 2, 4),
            probe(Kind::PoolEnd, "hotspot", "mem__pool__gc__end", 2, 4),
        ],
        functions: &[],
    },
    Group {
        what: "compilations",
        instead: "a JIT log: -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation -XX:LogFile=jit.xml",
        probes: &[
            // compiler, class, method, signature; success
            probe(Kind::CompileBegin, "hotspot", "method__compile__begin", 4, 0),
            probe(Kind::CompileEnd, "hotspot", "method__compile__end", 4, 1),
        ],
        functions: &[],
    },
    Group {
        what: "loaded and unloaded classes",
        instead: "a log: -Xlog:class+load:file=classes.log",
        probes: &[
            // class; loader, shared
            probe(Kind::ClassLoaded, "hotspot", "class__loaded", 1, 2),
            probe(Kind::ClassUnloaded, "hotspot", "class__unloaded", 1, 2),
        ],
        functions: &[],
    },
    Group {
        what: "started and ended threads",
        instead: "the sampled threads",
        probes: &[
            // name; Java id, id at the kernel, daemon
            probe(Kind::ThreadStart, "hotspot", "thread__start", 1, 3),
            probe(Kind::ThreadStop, "hotspot", "thread__stop", 1, 3),
        ],
        functions: &[],
    },
    Group {
        what: "calls of Thread.start",
        instead: "the kernel's part of thread starts, and CPU samples",
        probes: &[],
        functions: &functions::START_FUNCTIONS,
    },
];

/// Every kind of probe, to read a kind back.
const KINDS: [Kind; 16] = [
    Kind::GcBegin,
    Kind::GcEnd,
    Kind::PoolBegin,
    Kind::PoolEnd,
    Kind::SafepointBegin,
    Kind::SafepointEnd,
    Kind::OperationBegin,
    Kind::OperationEnd,
    Kind::CompileBegin,
    Kind::CompileEnd,
    Kind::ClassLoaded,
    Kind::ClassUnloaded,
    Kind::ThreadStart,
    Kind::ThreadStop,
    Kind::StartCalled,
    Kind::StartReturned,
];

impl Kind {
    /// Of the byte in a record.
    pub fn of(byte: u8) -> Option<Self> {
        KINDS.get(usize::from(byte)).copied()
    }
}

/// The group of a kind, an index of [`GROUPS`].
pub fn group_of(kind: Kind) -> usize {
    let reports = |group: &Group| {
        group.probes.iter().any(|probe| probe.kind == kind)
            || group.functions.iter().any(|function| function.kind == kind)
    };
    GROUPS.iter().position(reports).unwrap_or(usize::MAX)
}

/// The program in the kernel, with its maps. Dropping it takes everything down.
pub struct Loaded {
    ring: Ring<Record>,
    loaded: JvmEventsSkel<'static>,
}

/// Records taken in one round: all that the buffer holds.
const MOST_RECORDS: usize = 100_000;

impl Loaded {
    /// Loads it.
    pub fn load(kit: Kit<'_>) -> Result<Self, Unavailable> {
        let loaded = kit.open(JvmEventsSkelBuilder::default())?.load()?;
        let ring = loaded.ring("events", |bytes| Record::of(&read(bytes)?), MOST_RECORDS)?;
        Ok(Self { ring, loaded: loaded.skel })
    }

    /// What came in since the last time.
    pub fn records(&mut self) -> Vec<Record> {
        self.ring.take()
    }

    /// Sends the program where the causes of a JVM's collections stand; whether they are known.
    pub fn send_causes(&self, slot: u32, memory: Option<&PerfMemory>) -> bool {
        let address = |name| memory.and_then(|memory| memory.address(name)).unwrap_or(0);
        let places = cause_places { now: address("sun.gc.cause"), last: address("sun.gc.lastCause") };
        let sent = record::put(&self.loaded.maps.causes, &slot, &places).is_ok();
        sent && places.now != 0 && places.last != 0
    }

    /// Events that found no room so far.
    pub fn lost(&self, slot: u32) -> u64 {
        record::value(&self.loaded.maps.lost, &slot).unwrap_or(0)
    }

    /// Attaches a group to a process. Nothing stays attached after an error; the error says which
    /// probe.
    pub fn attach(&mut self, group: &Group, pid: i32, slot: u32) -> Result<Vec<Link>, String> {
        let library = library_of(pid).ok_or("it has no libjvm")?;
        let program = &self.loaded.progs.jvm_probe;
        let attach = |probe: &Probe| {
            let causes = u64::from(probe.kind == Kind::GcEnd);
            let counts = probe.strings << 8 | probe.numbers << 12 | causes << 16;
            let cookie = probe.kind as u64 | counts | u64::from(slot) << 32;
            let opts = UsdtOpts { cookie, ..UsdtOpts::default() };
            let attached = program.attach_usdt_with_opts(pid, &library, probe.provider, probe.name, opts);
            attached.map_err(|error| format!("{}: {error}", probe.name))
        };
        let mut links = group.probes.iter().map(attach).collect::<Result<Vec<Link>, String>>()?;
        if !group.functions.is_empty() {
            links.extend(self.attach_functions(group.functions, pid, slot)?);
        }
        Ok(links)
    }
}

impl Loaded {
    /// Attaches to functions of a JVM whose library has no probes. Nothing stays attached after an
    /// error.
    pub fn attach_functions(
        &mut self,
        functions: &[Function],
        pid: i32,
        slot: u32,
    ) -> Result<Vec<Link>, String> {
        let library = library_of(pid).ok_or("it has no libjvm")?;
        let program = &self.loaded.progs.jvm_function;
        let attach = |function: &Function| {
            let opts = UprobeOpts {
                cookie: function.kind as u64 | function.payload.cookie() | u64::from(slot) << 32,
                retprobe: function.returns,
                func_name: Some(function.symbol.to_owned()),
                ..UprobeOpts::default()
            };
            let attached = program.attach_uprobe_with_opts(pid, &library, 0, opts);
            attached.map_err(|error| format!("{}: {error}", function.symbol))
        };
        functions.iter().map(attach).collect()
    }
}

/// The library as this process can open it: through the target's root, as it may live in a
/// container, or through its map when the file was replaced since.
pub fn library_of(pid: i32) -> Option<PathBuf> {
    let path = jvm_library(pid)?;
    let inside = procfs::path(pid, "root").join(path.strip_prefix("/").ok()?);
    if same_as_mapped(pid, &path, &inside) {
        return Some(inside);
    }
    let maps = procfs::read_to_string(procfs::path(pid, "maps"))?;
    let line = maps.lines().find(|line| line.contains("/libjvm.so"))?;
    Some(procfs::path(pid, "map_files").join(line.split(' ').next()?))
}

/// Whether a file is the one that is mapped, by its inode.
fn same_as_mapped(pid: i32, path: &std::path::Path, file: &std::path::Path) -> bool {
    let maps = procfs::read_to_string(procfs::path(pid, "maps")).unwrap_or_default();
    let name = path.to_string_lossy();
    let inode = maps
        .lines()
        .find(|line| line.ends_with(name.as_ref()))
        .and_then(|line| line.split_ascii_whitespace().nth(4)?.parse::<u64>().ok());
    inode.is_some() && std::fs::metadata(file).ok().map(|info| info.ino()) == inode
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_reads_back_and_has_its_group() {
        for (i, kind) in KINDS.into_iter().enumerate() {
            assert_eq!(kind as usize, i);
            assert_eq!(Kind::of(i as u8), Some(kind));
            assert!(group_of(kind) < GROUPS.len());
        }
        assert_eq!(Kind::of(KINDS.len() as u8), None);
    }
}
