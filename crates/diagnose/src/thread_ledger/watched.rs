//! When threads were watched at all: a collector is ready later than the recording begins.

use fathom_recording::Recording;
use fathom_recording::vocabulary::kind;

use crate::Window;

/// What tells of threads, and from when to when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Watched {
    /// "switches of threads", "samples", "records of threads".
    pub what: &'static str,
    /// From the first to the last moment of which it tells.
    pub window: Window,
}

/// When the threads of a recording were watched, by what tells most of them; `None` where nothing
/// tells of any.
pub fn watched(recording: &Recording) -> Option<Watched> {
    let extent = |moments: &mut dyn Iterator<Item = (i64, i64)>| {
        let (from_ns, to_ns) = moments.reduce(|a, b| (a.0.min(b.0), a.1.max(b.1)))?;
        Some(Window { from_ns, to_ns })
    };
    let switches = extent(&mut recording.spans_of(kind::SCHED_WATCHED).map(|s| (s.t0_ns(), s.t1_ns())));
    let sampled = || extent(&mut recording.samples.iter().map(|sample| (sample.t_ns, sample.t_ns)));
    let told = || {
        let spans = recording.kinds().into_iter().flat_map(|(kind, _)| recording.spans_of(kind));
        extent(&mut spans.filter(|s| s.thread().is_some()).map(|s| (s.t0_ns(), s.t1_ns())))
    };
    let named = |what: &'static str| move |window| Watched { what, window };
    switches
        .map(named("switches of threads"))
        .or_else(|| sampled().map(named("samples")))
        .or_else(|| told().map(named("records of threads")))
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
        let told = with(false);
        assert_eq!((told.what, told.window.from_ns), ("records of threads", 500_000_000));
        let window = Window { from_ns: 2_000_000_000, to_ns: 32_000_000_000 };
        assert_eq!(with(true), Watched { what: "switches of threads", window });
        assert_eq!(watched(&Built::jvm("17", "G1", 60.0).sealed()), None);
    }
}
