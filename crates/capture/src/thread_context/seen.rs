//! In which spans a thread was seen, made of single looks at it.
//!
//! ```text
//!   looks        A   A   B   B   A   –        C
//!   spans   A    ├───────────────┤
//!           B            ├───┤                       C: an event, seen once
//! ```
//!
//! A span lasts from the first to the last look that found the thread in it: it began earlier and
//! ended later, by up to the time between two looks. One that is found again behind others of the
//! same trace had these within it, as a program leaves spans in the reverse order in which it
//! entered them. A look that finds none, or another trace, ends all.

use fathom_recording::{ProcessId, ThreadId};
use rustc_hash::FxHashMap;

use super::{Seen, SpanIds};

/// Looks come from several buffers, each in order; those of the last second wait for the others.
const WAITS_NS: u64 = 1_000_000_000;
/// Spans of a thread that are open at a time. Beyond it the outermost ends: a thread that takes up
/// one part of a trace after the other never returns to the first.
const MOST_OPEN: usize = 64;
/// Threads that are followed.
const MOST_THREADS: usize = 65_536;

/// A thread, as the recording has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Whose {
    pub(crate) pid: u32,
    pub(crate) process: ProcessId,
    pub(crate) thread: ThreadId,
}

/// A span in which a thread was seen: monotonic nanoseconds, from the first look to the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SeenSpan {
    pub(crate) whose: Whose,
    pub(crate) ids: SpanIds,
    pub(crate) from_ns: u64,
    pub(crate) to_ns: u64,
}

/// A look, or an interval in which nothing can have changed.
#[derive(Clone, Copy, Debug)]
struct Look {
    from_ns: u64,
    to_ns: u64,
    ids: Option<SpanIds>,
}

#[derive(Debug, Default)]
struct Thread {
    waiting: Vec<Look>,
    /// Outermost first.
    open: Vec<SeenSpan>,
}

/// The spans of all threads.
#[derive(Debug, Default)]
pub(crate) struct SpansSeen {
    threads: FxHashMap<Whose, Thread>,
}

impl SpansSeen {
    /// Whether there is nothing to write.
    pub(crate) fn is_empty(&self) -> bool {
        self.threads.is_empty()
    }

    /// A thread was seen from one time to another.
    pub(crate) fn take_in(&mut self, whose: Whose, (from_ns, to_ns): (u64, u64), seen: Seen) {
        // A thread that has never been in a span need not be followed.
        let is_new = !self.threads.contains_key(&whose);
        let is_wanted = match seen {
            Seen::Unknown => false,
            Seen::Nothing => !is_new,
            Seen::In(_) => !is_new || self.threads.len() < MOST_THREADS,
        };
        if is_wanted {
            let look = Look { from_ns, to_ns: to_ns.max(from_ns), ids: seen.ids() };
            self.threads.entry(whose).or_default().waiting.push(look);
        }
    }

    /// The spans that are over, with what is known a second before `now_ns`.
    pub(crate) fn over(&mut self, now_ns: u64) -> Vec<SeenSpan> {
        let mut over = Vec::new();
        self.threads.retain(|whose, thread| {
            thread.advance(*whose, now_ns.saturating_sub(WAITS_NS), &mut over);
            !thread.open.is_empty() || !thread.waiting.is_empty()
        });
        over
    }

    /// All spans of a process, or of all: no more is to come of them.
    pub(crate) fn end(&mut self, pid: Option<u32>) -> Vec<SeenSpan> {
        let mut over = Vec::new();
        self.threads.retain(|whose, thread| {
            if pid.is_some_and(|pid| pid != whose.pid) {
                return true;
            }
            thread.advance(*whose, u64::MAX, &mut over);
            over.append(&mut thread.open);
            false
        });
        over
    }

    /// Those that are open, as far as they are known; they go on.
    pub(crate) fn unfinished(&mut self) -> Vec<SeenSpan> {
        let mut all = Vec::new();
        for (whose, thread) in &mut self.threads {
            thread.advance(*whose, u64::MAX, &mut all);
            all.extend_from_slice(&thread.open);
        }
        all
    }
}

impl Thread {
    /// Takes in the looks until a time.
    fn advance(&mut self, whose: Whose, until_ns: u64, over: &mut Vec<SeenSpan>) {
        if self.waiting.is_empty() {
            return;
        }
        let is_due = |look: &mut Look| look.to_ns <= until_ns;
        let mut due: Vec<Look> = self.waiting.extract_if(.., is_due).collect();
        due.sort_by_key(|look| look.from_ns);
        due.iter().for_each(|look| self.found(whose, look, over));
    }

    fn found(&mut self, whose: Whose, look: &Look, over: &mut Vec<SeenSpan>) {
        let Look { from_ns, to_ns, ids } = *look;
        let is_of_it = |open: &SeenSpan| ids.is_some_and(|ids| ids.trace == open.ids.trace);
        if self.open.last().is_some_and(|open| !is_of_it(open)) {
            over.append(&mut self.open);
        }
        let Some(ids) = ids else { return };
        if let Some(at) = self.open.iter().position(|open| open.ids == ids) {
            over.extend(self.open.drain(at + 1..));
            let open = &mut self.open[at];
            (open.from_ns, open.to_ns) = (open.from_ns.min(from_ns), open.to_ns.max(to_ns));
            return;
        }
        if self.open.len() == MOST_OPEN {
            over.push(self.open.remove(0));
        }
        self.open.push(SeenSpan { whose, ids, from_ns, to_ns });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WHOSE: Whose = Whose { pid: 7, process: ProcessId(0), thread: ThreadId(1) };

    fn ids(trace: u8, span: u8) -> SpanIds {
        SpanIds { trace: [trace; 16], span: [span; 8] }
    }

    fn looked(looks: &[(u64, Seen)]) -> SpansSeen {
        let mut seen = SpansSeen::default();
        looks.iter().for_each(|(at, what)| seen.take_in(WHOSE, (*at, *at), *what));
        seen
    }

    fn ends(of: &[SeenSpan]) -> Vec<(u8, u64, u64)> {
        let mut ends: Vec<_> = of.iter().map(|span| (span.ids.span[0], span.from_ns, span.to_ns)).collect();
        ends.sort_unstable();
        ends
    }

    #[test]
    fn a_span_has_those_within_it_that_were_entered_and_left_meanwhile() {
        let [a, b, other] = [ids(1, 0xa), ids(1, 0xb), ids(2, 0xc)].map(Seen::In);
        let mut seen = looked(&[
            (10, a),
            (20, b),
            (30, Seen::Unknown),
            (40, b),
            (50, a),
            (60, Seen::Nothing),
            (70, other),
        ]);
        assert_eq!(ends(&seen.end(None)), [(0xa, 10, 50), (0xb, 20, 40), (0xc, 70, 70)]);
        // Another trace ends it, and what comes then is another interval.
        let mut seen = looked(&[(10, a), (20, other), (30, a)]);
        assert_eq!(ends(&seen.end(None)), [(0xa, 10, 10), (0xa, 30, 30), (0xc, 20, 20)]);
    }

    #[test]
    fn looks_of_several_buffers_are_put_in_order() {
        let [a, b] = [ids(1, 0xa), ids(2, 0xb)].map(Seen::In);
        let mut seen = looked(&[(30, a), (40, b), (10, a), (20, a)]);
        assert!(seen.over(WAITS_NS + 5).is_empty());
        assert_eq!(ends(&seen.over(WAITS_NS + 50)), [(0xa, 10, 30)]);
        assert_eq!(ends(&seen.unfinished()), [(0xb, 40, 40)]);
        assert_eq!((ends(&seen.end(Some(8))), ends(&seen.end(Some(7)))), (vec![], vec![(0xb, 40, 40)]));
        assert!(seen.is_empty());
    }

    #[test]
    fn a_thread_that_is_in_no_span_is_not_followed_and_no_trace_grows_without_bound() {
        let mut seen = looked(&[(10, Seen::Nothing), (20, Seen::Unknown)]);
        assert!(seen.is_empty());
        for span in 0..200 {
            seen.take_in(WHOSE, (u64::from(span), u64::from(span)), Seen::In(ids(1, span)));
        }
        assert_eq!(seen.over(WAITS_NS + 300).len(), 200 - MOST_OPEN);
        assert_eq!(seen.end(None).len(), MOST_OPEN);
    }
}
