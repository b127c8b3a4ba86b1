//! The program that follows virtual threads, `bpf/virtual_locks.bpf.c`, and the functions of libjvm
//! that it hangs on.

use std::path::PathBuf;

use libbpf_rs::{Link, ProgramMut, UprobeOpts};

use crate::bpf::kit::Loaded;
use crate::bpf::object::skeleton;
use crate::clock::monotonic_ns;
use crate::jvm_events::budget::Budget;
use crate::probes::library;
use crate::{Context, Unavailable};

skeleton!("virtual_locks");
pub(super) use skeleton::VirtualLocksSkel;
use skeleton::VirtualLocksSkelBuilder;

/// What cannot be seen without it.
const WHAT: &str = "which locks virtual threads wait for";
/// Functions of libjvm, by how their mangled names begin
/// (src/hotspot/share/runtime/objectMonitor.hpp, continuation.hpp, continuationFreezeThaw.cpp, JDK
/// 25): freeze and thaw are templates, with an instance for each collector.
const MONITOR_FUNCTIONS: [&str; 5] = [
    "_ZN13ObjectMonitor21vthread_monitor_enterE",
    "_ZN13ObjectMonitor14vthread_epilogE",
    "_ZN13ObjectMonitor12vthread_waitE",
    "_ZN13ObjectMonitor20vthread_wait_reenterE",
    "_ZN12Continuation11try_preemptE",
];
pub(super) const YIELD_FUNCTIONS: [&str; 2] = ["_Z6freezeI6ConfigI", "_Z4thawI6ConfigI"];

/// Probes that are attached and taken off together.
pub(super) struct Group {
    pub(super) links: Vec<Link>,
    pub(super) budget: Budget,
    /// Since when they are on: waits that began before are not reported. Monotonic nanoseconds.
    pub(super) since_ns: u64,
    pub(super) hits: u64,
}

impl Group {
    pub(super) fn new() -> Self {
        Self { links: Vec::new(), budget: Budget::default(), since_ns: now_ns(), hits: 0 }
    }
}

/// Monotonic nanoseconds, as the programs' timestamps.
pub(super) fn now_ns() -> u64 {
    monotonic_ns().max(0).cast_unsigned()
}

/// Attaches a group of probes to a process.
pub(super) type Attach = fn(&VirtualLocksSkel<'static>, u32) -> Result<Vec<Link>, String>;

pub(super) fn attach_monitors(loaded: &VirtualLocksSkel<'static>, pid: u32) -> Result<Vec<Link>, String> {
    let programs = &loaded.progs;
    let [enter, epilog, wait, reenter, preempt] = [0, 1, 2, 3, 4];
    // Ends first, so that no wait begins whose end is missed.
    attach(
        pid,
        &MONITOR_FUNCTIONS,
        &[
            (epilog, &programs.virtual_acquired, false),
            (reenter, &programs.virtual_reenter, false),
            (wait, &programs.virtual_wait, false),
            (enter, &programs.virtual_entered, true),
            (enter, &programs.virtual_enter, false),
            (preempt, &programs.virtual_preempt, false),
        ],
    )
}

pub(super) fn attach_yields(loaded: &VirtualLocksSkel<'static>, pid: u32) -> Result<Vec<Link>, String> {
    let programs = &loaded.progs;
    attach(pid, &YIELD_FUNCTIONS, &[(1, &programs.virtual_thaw, false), (0, &programs.virtual_freeze, false)])
}

/// Attaches programs to functions, which are given by their index; on the return, or on the entry.
fn attach(
    pid: u32,
    functions: &[&str],
    programs: &[(usize, &ProgramMut<'_>, bool)],
) -> Result<Vec<Link>, String> {
    let (file, places) = places(pid, functions)?;
    let mut links = Vec::new();
    for (function, program, retprobe) in programs {
        for offset in &places[*function] {
            let opts = UprobeOpts { retprobe: *retprobe, ..UprobeOpts::default() };
            let link = program.attach_uprobe_with_opts(pid.cast_signed(), &file, *offset as usize, opts);
            links.push(link.map_err(|error| error.to_string())?);
        }
    }
    Ok(links)
}

/// The library, and where in it functions lie whose names begin so.
pub(super) fn places(pid: u32, functions: &[&str]) -> Result<(PathBuf, Vec<Vec<u64>>), String> {
    let file = library::find(pid.cast_signed(), "libjvm.so")?;
    let places = library::beginning_with(&file, functions)?;
    match functions.iter().zip(&places).find(|(_, places)| places.is_empty()) {
        None => Ok((file, places)),
        Some((function, _)) => Err(format!(
            "they leave their carriers meanwhile, and are followed through functions of libjvm; this one has none called \
             {function}…: it is stripped, or of a version that has no such function"
        )),
    }
}

/// Loads the program.
pub(super) fn load(min_ns: u64, cx: &Context<'_>) -> Result<Loaded<VirtualLocksSkel<'static>>, Unavailable> {
    let mut open = cx.kit(&super::ENTRY, WHAT).open(VirtualLocksSkelBuilder::default())?;
    open.constants().min_ns = min_ns;
    open.load()
}
