//! When a process was stopped as a whole because it was stopped from outside: by SIGSTOP, a
//! debugger, or the freezer of its cgroup.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Recording, Role, Span};
use rustc_hash::FxHashSet;

use super::Category;
use super::stack::ByStack;
use crate::intervals::Intervals;

/// Share of the application's threads that must stand: a debugger may hold a single one, and a
/// thread that nobody lets run is not stopped before it runs.
const MOST: f64 = 0.5;
/// The same of those that were ever stopped, where that lasts: of many threads without work it may
/// not be recorded that they were stopped, and a tracer stops one thread after the other, shortly.
const LASTS_NS: i64 = 50_000_000;

/// A process' threads that were stopped from outside.
pub(crate) struct Frozen<'a> {
    /// When most of its application's threads were.
    pub(crate) intervals: Intervals,
    /// The longest time that one of them was.
    pub(crate) longest: Option<Span<'a>>,
    /// Each time that one of them was, whether others were or not.
    each: Vec<(i64, i64)>,
    /// Who let them go, by how often: of a thread that is traced, the tracer.
    wakers: BTreeMap<&'a str, usize>,
}

impl<'a> Frozen<'a> {
    /// The program that let threads go most often: "strace".
    pub(crate) fn let_go_by(&self) -> Option<&'a str> {
        let (name, _) = self.wakers.iter().max_by_key(|(_, times)| **times)?;
        Some(name)
    }
}

/// When a process was stopped from outside.
pub(crate) fn of<'a>(recording: &'a Recording, stacks: &ByStack, process: ProcessId) -> Frozen<'a> {
    let mut frozen =
        Frozen { intervals: Intervals::default(), longest: None, each: Vec::new(), wakers: BTreeMap::new() };
    if !stacks.has(Category::Frozen) {
        return frozen;
    }
    let is_app = |span: &Span<'_>| {
        let thread = span.thread().and_then(|id| recording.threads.get(id.index()));
        span.process() == process && thread.is_some_and(|t| matches!(t.role, Role::App | Role::Other))
    };
    let stood = |span: &Span<'_>| stacks.category(span.stack()) == Category::Frozen;
    let mut ends: Vec<(i64, i64)> = Vec::new();
    let mut stopped: FxHashSet<_> = FxHashSet::default();
    for span in recording.spans_of(kind::SCHED_OFF).filter(|span| is_app(span) && stood(span)) {
        ends.extend([(span.t0_ns(), 1), (span.t1_ns(), -1)]);
        stopped.extend(span.thread());
        frozen.each.push((span.t0_ns(), span.t1_ns()));
        if let Some(waker) = span.label(label::WAKER) {
            *frozen.wakers.entry(waker.rsplit_once(" (").map_or(waker, |(name, _)| name)).or_default() += 1;
        }
        let longest = frozen.longest.as_ref().map_or(-1, Span::duration_ns);
        frozen.longest = if span.duration_ns() > longest { Some(span) } else { frozen.longest };
    }
    let watched = recording.spans_of(kind::SCHED_WATCHED).filter(is_app);
    let threads: FxHashSet<_> = watched.filter_map(|span| span.thread()).collect();
    let most = |threads: usize| (threads as f64 * MOST).ceil() as i64;
    ends.sort_unstable();
    let of_all = standing_together(&ends, most(threads.len()).max(1));
    let of_stopped = standing_together(&ends, most(stopped.len()).max(2));
    let lasts = |(from, to): &(i64, i64)| to.saturating_sub(*from) >= LASTS_NS;
    // Most stops of a tracer are short, even where it has to wait for a CPU now and then.
    let mostly_last = frozen.each.iter().filter(|stop| lasts(stop)).count() * 2 > frozen.each.len();
    let lasting = of_stopped.into_iter().filter(|timestamp| mostly_last && lasts(timestamp));
    frozen.intervals = Intervals::of(of_all.into_iter().chain(lasting));
    frozen
}

/// When so many threads or more were stopped, from the beginnings (1) and ends (-1) of their stops,
/// in order of time.
fn standing_together(ends: &[(i64, i64)], enough: i64) -> Vec<(i64, i64)> {
    let (mut standing, mut since, mut intervals) = (0, None, Vec::new());
    for (t_ns, change) in ends {
        standing += change;
        match since {
            None if standing >= enough => since = Some(*t_ns),
            Some(from) if standing < enough => {
                intervals.push((from, *t_ns));
                since = None;
            }
            _ => {}
        }
    }
    intervals
}
