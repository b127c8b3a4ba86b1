//! When a process stood as a whole because it was stopped from outside: by SIGSTOP, a debugger, or
//! the freezer of its cgroup.

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Role, Span};
use rustc_hash::FxHashSet;

use super::Heading;
use super::stack::ByStack;
use crate::intervals::Intervals;

/// Share of the application's threads that must stand: a debugger may hold a single one, and a
/// thread that nobody lets run is not stopped before it runs.
const MOST: f64 = 0.5;

/// A process' threads that were stopped from outside.
pub(crate) struct Frozen<'a> {
    /// When most of its application's threads were.
    pub(crate) moments: Intervals,
    /// The longest time that one of them was.
    pub(crate) longest: Option<Span<'a>>,
}

/// When a process was stopped from outside.
pub(crate) fn of<'a>(recording: &'a Recording, stacks: &ByStack, process: ProcessId) -> Frozen<'a> {
    let mut frozen = Frozen { moments: Intervals::default(), longest: None };
    if !stacks.has(Heading::Frozen) {
        return frozen;
    }
    let is_app = |span: &Span<'_>| {
        let thread = span.thread().and_then(|id| recording.threads.get(id.index()));
        span.process() == process && thread.is_some_and(|t| matches!(t.role, Role::App | Role::Other))
    };
    let stood = |span: &Span<'_>| stacks.heading(span.stack()) == Heading::Frozen;
    let mut ends: Vec<(i64, i64)> = Vec::new();
    for span in recording.spans_of(kind::SCHED_OFF).filter(|span| is_app(span) && stood(span)) {
        ends.extend([(span.t0_ns(), 1), (span.t1_ns(), -1)]);
        let longest = frozen.longest.as_ref().map_or(-1, Span::duration_ns);
        frozen.longest = if span.duration_ns() > longest { Some(span) } else { frozen.longest };
    }
    let watched = recording.spans_of(kind::SCHED_WATCHED).filter(is_app);
    let threads: FxHashSet<_> = watched.filter_map(|span| span.thread()).collect();
    let enough = ((threads.len() as f64 * MOST).ceil() as i64).max(1);
    ends.sort_unstable();
    let (mut standing, mut since, mut moments) = (0, None, Vec::new());
    for (t_ns, change) in ends {
        standing += change;
        match since {
            None if standing >= enough => since = Some(t_ns),
            Some(from) if standing < enough => {
                moments.push((from, t_ns));
                since = None;
            }
            _ => {}
        }
    }
    frozen.moments = Intervals::of(moments);
    frozen
}
