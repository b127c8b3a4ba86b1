//! The longest stops of a trace, cut into their parts with the threads behind each.
//!
//! What threads did in a stop is known after it, and a thread's switches are watched to the end of
//! the trace: so the parts are shown at the end. Rows near the longest stops are kept until then,
//! all others for as long as a stop may still be reported.

use fathom_diagnose::Window;
use fathom_diagnose::chain::{Chains, Stop};
use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Sink, SpanRow};

/// Stops that are shown.
const MOST: usize = 5;
/// What is kept of rows: the parts of a stop, what its threads did, how long they were watched.
const KINDS: [&str; 9] = [
    kind::SAFEPOINT,
    kind::SAFEPOINT_LATE,
    kind::VM_OPERATION,
    kind::SCHED_WATCHED,
    kind::SCHED_OFF,
    kind::SYSCALL,
    kind::PAGE_FAULT,
    kind::LOCK_MONITOR,
    kind::LOCK_NATIVE,
];
/// Rows from which old ones are dropped: a hundred thousand are some tens of megabytes.
const MANY: usize = 100_000;
/// Rows are old when they ended so long before the newest, nanoseconds: those of a wait come when
/// it is over.
const OLD_NS: i64 = 10_000_000_000;

/// Rows behind stops, kept with the names that they use.
#[derive(Default)]
pub struct Stops {
    rows: usize,
    newest_ns: i64,
    /// The longest so far.
    longest: Vec<(i64, i64)>,
}

impl Stops {
    /// Keeps a row, if it may be needed.
    pub fn keep(&mut self, row: &SpanRow<'_>, names: &mut Recording) {
        if !KINDS.contains(&row.kind) {
            return;
        }
        names.span(row);
        self.rows += 1;
        self.newest_ns = self.newest_ns.max(row.t1_ns);
        if row.kind == kind::SAFEPOINT {
            self.longest.push((row.t0_ns, row.t1_ns));
            self.longest.sort_by_key(|(from, to)| from.saturating_sub(*to));
            self.longest.truncate(MOST);
        }
        if self.rows >= MANY {
            let (newest_ns, longest) = (self.newest_ns, &self.longest);
            names.remove_spans(|span| {
                let is_old = span.t1_ns() < newest_ns.saturating_sub(OLD_NS);
                is_old && !longest.iter().any(|(from, to)| span.overlap_ns(*from, to.saturating_add(1)) > 0)
            });
            // Where more than that comes in ten seconds, the oldest half goes all the same.
            self.rows = if names.spans.len() < MANY / 2 { names.spans.len() } else { halve(names) };
        }
    }

    /// The longest stops of all JVMs, the longest first.
    pub fn longest(&self, names: &mut Recording) -> Vec<Stop> {
        names.seal();
        let chains = Chains::of(names);
        let all = Window { from_ns: i64::MIN, to_ns: i64::MAX };
        let jvms = (0..names.processes.len()).map(|i| ProcessId(i as u32));
        let mut stops: Vec<Stop> = jvms.flat_map(|jvm| chains.stops(jvm, all, MOST)).collect();
        stops.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        stops.truncate(MOST);
        stops
    }
}

/// Drops the older half of the rows; how many are left.
fn halve(names: &mut Recording) -> usize {
    let mut left = names.spans.len() / 2;
    names.remove_spans(|_| {
        let is_old = left > 0;
        left = left.saturating_sub(1);
        is_old
    });
    names.spans.len()
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Process, Source, SourceId};

    use super::*;

    #[test]
    fn however_many_rows_come_few_are_kept_and_the_longest_stop_is_shown() {
        let (mut stops, mut names) = (Stops::default(), Recording::new());
        let process = names.add_process(Process { jvm: true, ..Process::default() });
        names.add_source(Source::default());
        let mut row = |kind, t0_ns: i64, t1_ns: i64| {
            let row = SpanRow::new(kind, "Cleanup", (t0_ns, t1_ns), process, SourceId(0));
            stops.keep(&row, &mut names);
        };
        row(kind::SAFEPOINT, 1_000, 9_000_000);
        for i in 0..400_000 {
            row(kind::SCHED_OFF, i * 100_000, i * 100_000 + 50_000);
            if i % 1_000 == 0 {
                row(kind::SAFEPOINT, i * 100_000, i * 100_000 + 1_000);
            }
        }
        assert!(names.spans.len() <= MANY, "{}", names.spans.len());
        let longest = stops.longest(&mut names);
        assert_eq!((longest.len(), longest[0].operation.as_str()), (MOST, "Cleanup"));
    }
}
