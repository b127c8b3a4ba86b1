//! Detects a clock that was set back: lines are written when requests end, so that timestamps that
//! fall by much and stay there are of a clock that was set back, as at the end of summer time where
//! timestamps are local and their zone is not written or does not change.

use fathom_recording::clock::{SECOND_NS, seconds};
use fathom_recording::quantity::whole;

/// Requests of one server seldom last longer: lines that are timestamped with the start of their
/// request fall by as much.
const LEAST_NS: i64 = 1800 * SECOND_NS;
/// Lines in a row that must be this far behind: a single one may be of a request that lasted for
/// hours.
const FEWEST: u32 = 20;

/// Watches timestamps, in the order of their lines.
#[derive(Debug, Default)]
pub(super) struct ClockSetBack {
    latest_ns: Option<i64>,
    /// The first of the lines in a row that are behind, the difference, and the number of these
    /// lines.
    behind: Option<(u64, i64, u32)>,
    /// The first time that it was set back: the line and the difference, nanoseconds.
    first: Option<(u64, i64)>,
    times: u32,
}

impl ClockSetBack {
    /// Takes the timestamp of a line.
    pub(super) fn stamp(&mut self, line: u64, at_ns: i64) {
        let latest_ns = *self.latest_ns.get_or_insert(at_ns);
        let by_ns = latest_ns.saturating_sub(at_ns);
        if by_ns < LEAST_NS {
            self.latest_ns = Some(latest_ns.max(at_ns));
            self.behind = None;
            return;
        }
        let (from, by_ns, count) = self.behind.unwrap_or((line, by_ns, 0));
        self.behind = Some((from, by_ns, count + 1));
        if count + 1 >= FEWEST {
            self.first = self.first.or(Some((from, by_ns)));
            self.times += 1;
            (self.latest_ns, self.behind) = (Some(at_ns), None);
        }
    }

    /// The message about it; `None` when the clock only went forward.
    pub(super) fn message(&self) -> Option<String> {
        let (line, by_ns) = self.first?;
        let more = match self.times {
            1 => String::new(),
            times => format!(", and {} times more further on", whole(times - 1)),
        };
        Some(format!(
            "from line {line} on timestamps are {:.0} s earlier than those before{more}: the clock was set back (the end of summer \
             time, where the zone is not written), or the log was put together from several; requests from there on \
             are counted into a time that was covered before",
            seconds(by_ns)
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(stamps_s: impl Iterator<Item = i64>) -> Option<String> {
        let mut back = ClockSetBack::default();
        (1..).zip(stamps_s).for_each(|(line, at)| back.stamp(line, at * SECOND_NS));
        back.message()
    }

    #[test]
    fn timestamps_that_fall_and_stay_there_are_a_clock_that_was_set_back() {
        let fell = message((0..5000).chain(1400..3000)).unwrap();
        assert!(
            fell.starts_with("from line 5001 on timestamps are 3599 s earlier") && !fell.contains("more"),
            "{fell}"
        );
        let twice = message((0..5000).chain(1400..5000).chain(1000..1100)).unwrap();
        assert!(twice.contains("and 1 times more"), "{twice}");
        // Requests that lasted for hours, some of them in a row, and a clock that only goes on.
        assert_eq!(message((0..9000).map(|s| if s % 100 < 19 { s - 5000 } else { s })), None);
        assert_eq!(message((0..5000).chain(4000..5000)), None);
        assert_eq!(message([i64::MAX / SECOND_NS, i64::MIN / SECOND_NS].into_iter()), None);
    }
}
