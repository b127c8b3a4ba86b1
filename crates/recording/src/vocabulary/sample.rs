//! Kinds of samples, with the unit of their weight.

/// A thread on a CPU. Weight: the nanoseconds of CPU time that the sample represents.
pub const CPU: &str = "cpu";
/// A thread on a CPU, sampled by counted cycles. Weight: the cycles that the sample represents.
pub const CYCLES: &str = "cycles";
/// A thread, whether it ran or not. Weight: nanoseconds of wall time.
pub const WALL: &str = "wall";
/// A thread in native code, where the source does not show whether it ran or waited. Weight:
/// nanoseconds of wall time.
pub const NATIVE: &str = "native";
/// A thread blocked off-CPU, with the stack at which it was switched out; may represent several
/// times. Weight: nanoseconds, without those on the run queue.
pub const OFF_CPU: &str = "off-cpu";
/// A thread that could run and had no CPU, with its stack. Weight: nanoseconds on the run queue.
pub const RUN_QUEUE: &str = "run-queue";
/// An allocation on the Java heap. Weight: bytes.
pub const ALLOC: &str = "alloc";
/// An object that was still live. Weight: bytes.
pub const LIVE: &str = "live";
/// An allocation by the C library. Weight: bytes.
pub const MALLOC: &str = "malloc";
/// A wait for a lock. Weight: nanoseconds.
pub const LOCK: &str = "lock";
/// A page fault. Weight: count.
pub const PAGE_FAULT: &str = "page-fault";
/// Any other event that a profiler counted (a tracepoint, a hardware counter). Weight: count.
pub const EVENT: &str = "event";

/// Kinds that show what ran on CPUs, the better first: where a recording has the first, the other
/// is not needed.
pub const ON_CPU: [&str; 2] = [CPU, CYCLES];

/// The unit of a kind's weight: "ns", "bytes", "cycles", or "count", also for unknown kinds.
pub fn unit(kind: &str) -> &'static str {
    match kind {
        CPU | WALL | NATIVE | OFF_CPU | RUN_QUEUE | LOCK => "ns",
        ALLOC | LIVE | MALLOC => "bytes",
        CYCLES => "cycles",
        _ => "count",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Process, Recording, SampleRow, Sink, Source};

    /// A recording with a sample of each of these kinds.
    fn of_kinds(kinds: &[&str]) -> Recording {
        let mut recording = Recording::new();
        let source = recording.add_source(Source::default());
        let process = recording.add_process(Process::default());
        for kind in kinds {
            let row = SampleRow { kind, t_ns: 1, process, thread: None, stack: None, weight: 1, source };
            recording.sample(&row);
        }
        recording.seal();
        recording
    }

    #[test]
    fn what_ran_is_shown_by_time_where_there_is_any_and_by_cycles_otherwise() {
        let chosen = |kinds: &[&str]| {
            let recording = of_kinds(kinds);
            recording.on_cpu_kind().map(|kind| recording.strings.get(kind).to_owned())
        };
        assert_eq!(chosen(&[CYCLES, OFF_CPU]).as_deref(), Some(CYCLES));
        assert_eq!(chosen(&[CYCLES, CPU]).as_deref(), Some(CPU));
        assert_eq!(chosen(&[WALL]), None);
        assert_eq!((unit(CYCLES), unit(CPU), unit(EVENT)), ("cycles", "ns", "count"));
    }
}
