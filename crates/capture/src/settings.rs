//! What a user may ask of all collectors.

use crate::capture_engine::CaptureEngine;
use crate::cpu_event::CpuEvent;
use crate::probe_spec::Spec;

/// What a user may ask of all collectors.
#[derive(Clone, Debug)]
pub struct Settings {
    /// CPU samples per second per CPU.
    pub frequency_hz: u32,
    /// What takes them.
    pub cpu_event: CpuEvent,
    /// Waits, system calls and faults of at least this length are reported one by one,
    /// nanoseconds; `None`: each collector's own default.
    pub min_ns: Option<u64>,
    /// Waits of at least this length are reported one by one however many there are
    /// (`bpf/pace.h`), nanoseconds.
    pub always_ns: u64,
    /// System calls that are reported one by one, by name, also those in which a thread waits by
    /// choice (futex, epoll_wait); empty: all others.
    pub syscalls: Vec<String>,
    /// Functions, USDT probes and tracepoints that are asked for; seen by the collector `probes`.
    pub probes: Vec<Spec>,
    /// Calls of those functions of at least this length are reported, nanoseconds; `None`: as
    /// `min_ns`, or all.
    pub probes_min_ns: Option<u64>,
    /// The engine to use; `None`: the best that works here.
    pub engine: Option<CaptureEngine>,
    /// Ids of collectors in addition to those that run by default.
    pub with: Vec<String>,
    /// Ids of collectors that are to be left out.
    pub without: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            frequency_hz: 99,
            cpu_event: CpuEvent::CpuClock,
            min_ns: None,
            always_ns: 1_000_000_000,
            syscalls: Vec::new(),
            probes: Vec::new(),
            probes_min_ns: None,
            engine: None,
            with: Vec::new(),
            without: Vec::new(),
        }
    }
}
