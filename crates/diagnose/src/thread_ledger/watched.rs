//! When threads were watched at all: a collector is ready later than the recording begins.

use fathom_recording::Recording;
use fathom_recording::vocabulary::kind;

use crate::Window;

/// What recorded threads, and from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// "context switches", "samples", "records of threads".
    pub what: &'static str,
    /// From its first to its last record.
    pub window: Window,
}

/// When the threads of a recording were watched, by the source that shows most of them; `None`
/// where no source recorded a thread.
pub fn watched(recording: &Recording) -> Option<Watched> {
    let extent = |intervals: &mut dyn Iterator<Item = (i64, i64)>| {
        let (from_ns, to_ns) = intervals.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(Window { from_ns, to_ns })
    };
    let switches = extent(&mut recording.spans_of(kind::SCHED_WATCHED).map(|s| (s.t0_ns(), s.t1_ns())));
    let sampled = || extent(&mut recording.samples.iter().map(|sample| (sample.t_ns, sample.t_ns)));
    let recorded = || {
        let spans = recording.kinds().into_iter().flat_map(|(kind, _)| recording.spans_of(kind));
        extent(&mut spans.filter(|s| s.thread().is_some()).map(|s| (s.t0_ns(), s.t1_ns())))
    };
    let named = |what: &'static str| move |window| Watched { what, window };
    switches
        .map(named("context switches"))
        .or_else(|| sampled().map(named("samples")))
        .or_else(|| recorded().map(named("records of threads")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::Built;

    #[test]
    fn threads_are_watched_from_when_their_switches_are() {
        let with = |collector: bool| {
            let mut built = Built::jvm("17", "G1", 60.0);
            built.on_thread(kind::LOCK_MONITOR, "worker", "shop.Cart", 0.5, 10.0);
            for thread in ["worker", "other"].iter().filter(|_| collector) {
                built.on_thread(kind::SCHED_WATCHED, thread, "", 2.0, 30_000.0);
            }
            watched(&built.sealed()).unwrap()
        };
        let watched_by_records = with(false);
        assert_eq!(
            (watched_by_records.what, watched_by_records.window.from_ns),
            ("records of threads", 500_000_000)
        );
        let window = Window { from_ns: 2_000_000_000, to_ns: 32_000_000_000 };
        assert_eq!(with(true), Watched { what: "context switches", window });
        assert_eq!(watched(&Built::jvm("17", "G1", 60.0).sealed()), None);
    }
}
