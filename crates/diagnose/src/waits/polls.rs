//! Whether threads look into a queue every so often, and have nothing to do where it is empty.
//!
//! ```text
//! worker   ├─ poll, 300 ms ─┤├─ poll, 300 ms ─┤├ poll ┤ task ├─ poll, 300 ms ─┤     the time runs out, and it waits again at once
//! request  ├─ take a connection ┤ query ├ answer ┤     ├─ take …                    where the time runs out, the request fails
//! ```
//!
//! Workers that hand work to each other wake each other like those who give back what others take.
//! That they also find nothing, all the time, shows that it is work they wait for.

use fathom_recording::ThreadId;
use rustc_hash::FxHashMap;

/// Time after which a thread that found nothing waits again, at most: it may wait for a CPU first.
const AT_ONCE_NS: i64 = 20_000_000;
/// Times that a wait was ended by its time limit and begun again which show a poll.
const LEAST: usize = 8;
/// What they must make up of all waits whose time ran out.
const MOSTLY: f64 = 0.8;
/// Parts of the time in each of which that must have happened: not only while something is missing.
const PARTS: i64 = 4;

/// The waits at a queue whose time ran out.
#[derive(Default)]
pub(super) struct Polls {
    /// When the time of a thread's last wait ran out.
    last: FxHashMap<ThreadId, i64>,
    timed_out: usize,
    /// When it ran out for threads that waited again at once.
    again: Vec<i64>,
    /// From the first wait to the last.
    seen: Option<(i64, i64)>,
}

impl Polls {
    /// A wait from when to when, in nanoseconds; those of a thread in order of time.
    pub(super) fn add(&mut self, thread: ThreadId, (from, to): (i64, i64), timed_out: bool) {
        let (first, last) = self.seen.unwrap_or((from, to));
        self.seen = Some((first.min(from), last.max(to)));
        if let Some(before) = self.last.remove(&thread)
            && (0..=AT_ONCE_NS).contains(&from.saturating_sub(before))
        {
            self.again.push(before);
        }
        if timed_out {
            self.timed_out += 1;
            self.last.insert(thread, to);
        }
    }

    /// Whether threads look into it all the time.
    pub(super) fn are_usual(&self) -> bool {
        let Some((first, last)) = self.seen else { return false };
        // The last time of each thread has no next one.
        let ended = self.timed_out.saturating_sub(self.last.len());
        let length = (last.saturating_sub(first) / PARTS).max(1);
        let part = |at: &i64| (at.saturating_sub(first) / length).min(PARTS - 1);
        let in_each = (0..PARTS).all(|one| self.again.iter().any(|at| part(at) == one));
        self.again.len() >= LEAST && self.again.len() as f64 >= MOSTLY * ended as f64 && in_each
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Two workers whose waits last `wait_ms` each and follow each other after `apart_ms`, within
    /// 10 s; their time runs out where `times_out` says so, of the time at which they begin in ms.
    fn polls(wait_ms: i64, apart_ms: i64, times_out: impl Fn(i64) -> bool) -> Polls {
        let mut polls = Polls::default();
        for thread in [ThreadId(1), ThreadId(2)] {
            let mut at = 0;
            while at < 10_000 {
                polls.add(thread, (at * MS, (at + wait_ms) * MS), times_out(at));
                at += wait_ms + apart_ms;
            }
        }
        polls
    }

    #[test]
    fn who_finds_nothing_and_waits_again_at_once_all_the_time_polls() {
        assert!(polls(300, 1, |_| true).are_usual());
        assert!(polls(300, 1, |at| at % 3 == 0).are_usual(), "now and then there is work");
    }

    #[test]
    fn who_finds_nothing_for_a_while_or_does_something_about_it_does_not_poll() {
        assert!(!polls(300, 1, |_| false).are_usual());
        assert!(!polls(300, 1, |at| (3_000..6_000).contains(&at)).are_usual(), "while something is missing");
        assert!(!polls(300, 100, |_| true).are_usual(), "what is done about it takes a while");
        assert!(!polls(3_000, 1, |_| true).are_usual(), "too few to decide");
    }
}
