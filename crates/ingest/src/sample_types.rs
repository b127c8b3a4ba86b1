//! What profilers call the values of their samples, as kinds of samples.

use fathom_recording::vocabulary::{kind, sample};

/// The kind of samples that a type of values is, and how many of the kind's unit one of its own is.
///
/// Names are those of Go, Pyroscope, Parca, async-profiler and its converter, OpenTelemetry's
/// profiler, and of `fathom export` (crates/render/src/export/otlp).
pub(crate) fn kind_of(name: &str, unit: &str) -> Option<(&'static str, i64)> {
    let is = |names: &[&str]| names.contains(&name);
    let scale = match unit {
        "nanoseconds" | "ns" => 1,
        "microseconds" | "us" => 1_000,
        "milliseconds" | "ms" => 1_000_000,
        "seconds" | "s" => 1_000_000_000,
        "bytes" | "By" => return of_bytes(name).map(|kind| (kind, 1)),
        "cycles" if name == sample::CYCLES => return Some((sample::CYCLES, 1)),
        "count" if is(&["page_fault", sample::PAGE_FAULT]) => return Some((sample::PAGE_FAULT, 1)),
        _ => return None,
    };
    let of_time = if is(&["cpu", "process_cpu", "itimer", "ctimer", "perf_events", "on_cpu"]) {
        sample::CPU
    } else if is(&["wall", "wallclock", "wall_clock"]) {
        sample::WALL
    } else if is(&[
        kind::LOCK_MONITOR,
        kind::LOCK_PARK,
        "delay",
        "lock",
        "lock_duration",
        "contention",
        "mutex_duration",
    ]) {
        sample::LOCK
    } else if is(&["off_cpu", sample::OFF_CPU]) {
        sample::OFF_CPU
    } else if is(&["run_queue", sample::RUN_QUEUE]) {
        sample::RUN_QUEUE
    } else if name == sample::NATIVE {
        sample::NATIVE
    } else {
        return None;
    };
    Some((of_time, scale))
}

fn of_bytes(name: &str) -> Option<&'static str> {
    match name {
        "alloc_space"
        | "allocated_space"
        | "alloc"
        | "allocations"
        | "alloc_in_new_tlab_bytes"
        | "object_sampler" => Some(sample::ALLOC),
        "inuse_space" | "live" | "space" => Some(sample::LIVE),
        "malloc" | "nativemem" => Some(sample::MALLOC),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_type_is_known_by_its_name_and_its_unit_together() {
        assert_eq!(kind_of("cpu", "nanoseconds"), Some((sample::CPU, 1)));
        assert_eq!(kind_of("cpu", "milliseconds"), Some((sample::CPU, 1_000_000)));
        assert_eq!(kind_of("off_cpu", "nanoseconds"), Some((sample::OFF_CPU, 1)));
        assert_eq!(kind_of("lock.monitor", "nanoseconds"), Some((sample::LOCK, 1)));
        assert_eq!(kind_of("cpu", "count"), None);
        assert_eq!(kind_of("alloc_space", "bytes"), Some((sample::ALLOC, 1)));
        assert_eq!(kind_of("alloc_objects", "count"), None);
    }
}
