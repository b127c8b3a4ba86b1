//! The ledger: each JVM's wall time of the slow and the baseline windows, attributed to one
//! category each, without overlap and without a remainder. What a stop is called is what the ledger
//! of threads calls it ([`Category`]).
//!
//! ```text
//! window ─┬─ not covered by a log that records stops ──▶ unknown, or the JVM's counters of stops ([`counted`])
//!         └─ covered ─┬─ stopped, and the VM thread writes the log ──▶ stopped: log write
//!                     ├─ in a collection, or in the VM operation for it ──▶ stopped: GC
//!                     ├─ from the request of a safepoint until the last thread stopped ──▶ stopped: time to safepoint
//!                     ├─ after the operation until threads ran again ──▶ stopped: leaving
//!                     ├─ the rest of safepoints ──▶ stopped: other VM operations
//!                     ├─ stopped from outside as a whole ──▶ stopped: by a signal, or frozen
//!                     └─ the rest ──▶ not stopped
//! ```
//!
//! Time that two records claim goes to the first of these lines, so the parts are sets without
//! overlap and add up to the window to the nanosecond. Time of compiler threads and the
//! application's progress are not part of the sum. On JDK 13 to 17.0.7 the time to reach a
//! safepoint includes its cleanup (JDK-8297154).

mod counted;

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Recording, Span};

use crate::intervals::Intervals;
use crate::ledger_row::LedgerCategory;
use crate::split_time::{Parts, ends};
use crate::waits::frozen;
use crate::waits::stack::ByStack;
use crate::{LedgerRow, Loss, Window};

/// Categories that make up the sum. Writes of the log claim time first, then the others in this
/// order.
const STOPPED: [LedgerCategory; 5] = [
    LedgerCategory::StoppedByGc,
    LedgerCategory::StoppedToReach,
    LedgerCategory::StoppedToLeave,
    LedgerCategory::Stopped,
    LedgerCategory::StoppedByLog,
];

/// The ledger of some JVMs over slow and baseline windows.
pub(crate) fn ledger(
    recording: &Recording,
    stacks: &ByStack,
    jvms: &[ProcessId],
    slow: &[Window],
    base: &[Window],
    loss: &Loss,
) -> Vec<LedgerRow> {
    let (slow, base) = (Intervals::of_windows(slow), Intervals::of_windows(base));
    let mut rows = Vec::new();
    for jvm in jvms {
        let process = recording.process_name(*jvm);
        let pid = recording.processes.get(jvm.index()).and_then(|process| process.pid);
        let basis = RowBasis { recording, process, process_id: Some(*jvm), pid, slow: &slow, base: &base };
        let parts = Parts::of(recording, *jvm);
        for (category, part) in STOPPED.into_iter().zip(&parts.stopped) {
            // Few logs have the time to leave; a row of zeroes for the others would claim to know.
            // A log write is seen only where system calls or switches were watched.
            let rarely_recorded = [STOPPED[2], STOPPED[4]].contains(&category);
            if !parts.is_covered() || (rarely_recorded && part.is_empty()) {
                continue;
            }
            let seen = category == STOPPED[0] || parts.safepoints_seen;
            rows.push(if seen { basis.row(category, part) } else { basis.unseen(category) });
        }
        let frozen = frozen::of(recording, stacks, *jvm).intervals.and(&parts.running);
        rows.extend((!frozen.is_empty()).then(|| basis.row(LedgerCategory::Frozen, &frozen)));
        let running = parts.running.without(&frozen);
        rows.extend(parts.is_covered().then(|| basis.row(LedgerCategory::NotStopped, &running)));
        let counted = if parts.is_covered() { Vec::new() } else { counted::rows(recording, *jvm, &basis) };
        let unknown = slow.or(&base).without(&parts.covered);
        let is_unknown = counted.is_empty() && !unknown.is_empty();
        rows.extend(counted);
        rows.extend(is_unknown.then(|| basis.row(LedgerCategory::Unknown, &unknown)));
        rows.extend(compilers(recording, *jvm, &basis));
    }
    rows.extend(progress(recording, loss, &slow, &base));
    rows
}

/// What a row is written with.
struct RowBasis<'a> {
    recording: &'a Recording,
    process: &'a str,
    process_id: Option<ProcessId>,
    pid: Option<i64>,
    slow: &'a Intervals,
    base: &'a Intervals,
}

impl RowBasis<'_> {
    fn row(&self, category: LedgerCategory, part: &Intervals) -> LedgerRow {
        let within = |windows: &Intervals| part.and(windows).length_ms();
        self.figures(category, true, within(self.slow), within(self.base))
    }

    fn recording(&self) -> Option<String> {
        self.recording.recording_of(self.process_id?).map(str::to_owned)
    }

    /// A category that the logs do not record: its time, if there is any, is in "not stopped".
    fn unseen(&self, category: LedgerCategory) -> LedgerRow {
        LedgerRow {
            process: self.process.to_owned(),
            process_id: self.process_id,
            recording: self.recording(),
            pid: self.pid,
            category_id: category,
            compiler: None,
            category: category.words().to_owned(),
            in_sum: true,
            slow_ms: None,
            base_ms: None,
            slow_share: None,
            base_share: None,
        }
    }

    fn figures(&self, category: LedgerCategory, in_sum: bool, slow_ms: f64, base_ms: f64) -> LedgerRow {
        let known = |ms: f64, windows: &Intervals| (!windows.is_empty()).then_some(ms);
        let share = |ms: f64, windows: &Intervals| (!windows.is_empty()).then(|| ms / windows.length_ms());
        LedgerRow {
            process: self.process.to_owned(),
            process_id: self.process_id,
            recording: self.recording(),
            pid: self.pid,
            category_id: category,
            compiler: None,
            category: category.words().to_owned(),
            in_sum,
            slow_ms: known(slow_ms, self.slow),
            base_ms: known(base_ms, self.base),
            slow_share: share(slow_ms, self.slow),
            base_share: share(base_ms, self.base),
        }
    }
}

/// Rows of the compiler threads' time by compiler, not part of the sum. Only where the log records
/// how long tasks took.
fn compilers(recording: &Recording, jvm: ProcessId, basis: &RowBasis<'_>) -> Vec<LedgerRow> {
    // A source that has only the longest tasks does not show how busy the threads were.
    let all = |s: &Span<'_>| s.figure(figure::THRESHOLD_NS).is_none();
    let own = |s: &Span<'_>| s.process() == jvm && s.duration_ns() > 0 && all(s);
    let tasks = recording.spans_of(kind::JIT_COMPILE).filter(own);
    let mut threads: BTreeMap<(&str, _), Vec<(i64, i64)>> = BTreeMap::new();
    for task in tasks {
        let compiler = task.label(label::COMPILER).unwrap_or(match task.figure(figure::TIER) {
            Some(4.0) => "c2",
            Some(tier) if tier >= 1.0 => "c1",
            _ => "",
        });
        threads.entry((compiler, task.thread())).or_default().push(ends(task));
    }
    let mut busy: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
    for ((compiler, _), tasks) in threads {
        let tasks = Intervals::of(tasks);
        let sum = busy.entry(compiler).or_default();
        sum.0 += tasks.and(basis.slow).length_ms();
        sum.1 += tasks.and(basis.base).length_ms();
    }
    let row = |(compiler, (slow, base)): (&str, (f64, f64))| {
        let row = basis.figures(LedgerCategory::Compilers, false, slow, base);
        let named = format!("{}: {}", row.category, compiler.to_uppercase());
        let category = if compiler.is_empty() { row.category } else { named };
        LedgerRow { compiler: Some(compiler.to_owned()).filter(|c| !c.is_empty()), category, ..row }
    };
    busy.into_iter().map(row).collect()
}

/// The application's progress as time: what of the windows would have been enough at the baseline's
/// rate.
fn progress(recording: &Recording, loss: &Loss, slow: &Intervals, base: &Intervals) -> Option<LedgerRow> {
    let _rates = (loss.slow_rate?, loss.base_rate?);
    let basis = RowBasis { recording, process: &loss.measured_on, process_id: None, pid: None, slow, base };
    let done_ms = (slow.length_ms() - loss.lost_ms).max(0.0);
    Some(basis.figures(LedgerCategory::Progress, false, done_ms, base.length_ms()))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::built::Built;

    const S: i64 = 1_000_000_000;

    fn window(from_s: i64, to_s: i64) -> Window {
        Window { from_ns: from_s * S, to_ns: to_s * S }
    }

    fn rows(built: Built, slow: &[Window], base: &[Window]) -> Vec<LedgerRow> {
        let (jvm, recording) = (built.jvm, built.sealed());
        ledger(&recording, &ByStack::by_frames(&recording), &[jvm], slow, base, &Loss::default())
    }

    fn slow_ms(rows: &[LedgerRow], category: LedgerCategory) -> Option<f64> {
        rows.iter().find(|r| r.category_id == category)?.slow_ms
    }

    /// Any pauses and safepoints, nested, overlapping, outside of the windows.
    fn stops() -> impl Strategy<Value = Vec<(bool, f64, f64, f64, f64)>> {
        let stop = (any::<bool>(), 0.0..100.0_f64, 0.0..4_000.0_f64, 0.0..1.0_f64, 0.0..1.0_f64);
        prop::collection::vec(stop, 0..40)
    }

    proptest! {
        #[test]
        fn the_parts_add_up_to_the_window(stops in stops(), from in 0_i64..90, len in 1_i64..40, log_s in 10.0..120.0_f64) {
            let mut built = Built::jvm("17", "G1", log_s * 1.0);
            for (gc, at_s, ms, reach, leave) in stops {
                if gc {
                    built.pause("Pause Young (Normal)", "", at_s, ms, &[]);
                } else {
                    let figures = [(figure::REACH_NS, ms * reach * 1e6), (figure::LEAVE_NS, ms * leave * 1e6)];
                    built.span(kind::SAFEPOINT, "Cleanup", at_s, ms, &figures, &[]);
                }
            }
            let (slow, base) = ([window(from, from + len)], [window(140, 150), window(from + len, from + len + 3)]);
            let rows = rows(built, &slow, &base);
            let sum = |of: fn(&LedgerRow) -> Option<f64>| rows.iter().filter(|r| r.in_sum).filter_map(of).sum::<f64>();
            prop_assert!((sum(|r| r.slow_ms) - len as f64 * 1e3).abs() < 1e-3, "{:?}", rows);
            prop_assert!((sum(|r| r.base_ms) - 13e3).abs() < 1e-3, "{:?}", rows);
            prop_assert!((sum(|r| r.slow_share) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_safepoint_is_charged_by_its_parts_and_a_pause_within_it_once() {
        let mut built = Built::jvm("21", "G1", 100.0);
        built.pause("Pause Young (Normal)", "", 10.02, 100.0, &[]);
        let figures = [(figure::REACH_NS, 20e6), (figure::LEAVE_NS, 5e6)];
        built.span(kind::SAFEPOINT, "G1CollectForAllocation", 10.0, 130.0, &figures, &[]);
        built.span(kind::SAFEPOINT, "ThreadDump", 11.0, 40.0, &[(figure::REACH_NS, 10e6)], &[]);
        let rows = rows(built, &[window(10, 20)], &[]);
        let figures = [STOPPED[0], STOPPED[1], STOPPED[2]];
        assert_eq!(figures.map(|h| slow_ms(&rows, h)), [Some(105.0), Some(30.0), Some(5.0)]);
        assert_eq!(slow_ms(&rows, LedgerCategory::Stopped), Some(30.0));
        assert_eq!(slow_ms(&rows, LedgerCategory::NotStopped), Some(9_830.0));
        assert_eq!(rows.iter().find(|r| r.category_id == STOPPED[0]).map(|r| r.base_ms), Some(None));
    }

    #[test]
    fn what_no_log_covers_is_unknown_and_unlogged_safepoints_are_not_zero() {
        let mut built = Built::jvm("17", "G1", 15.0);
        built.pause("Pause Young (Normal)", "", 12.0, 100.0, &[]);
        let rows = rows(built, &[window(10, 20)], &[]);
        assert_eq!(slow_ms(&rows, LedgerCategory::Unknown), Some(5_000.0));
        assert_eq!(slow_ms(&rows, LedgerCategory::Stopped), None);
        assert_eq!(slow_ms(&rows, LedgerCategory::NotStopped), Some(4_900.0));
    }

    #[test]
    fn compiler_threads_are_not_in_the_sum() {
        let mut built = Built::jvm("17", "G1", 100.0);
        for (thread, at) in [("C2 CompilerThread0", 10.0), ("C2 CompilerThread1", 10.0)] {
            let id = built.on_thread(kind::JIT_COMPILE, thread, "a.B.c()", at, 6_000.0);
            assert!(id.index() > 0);
        }
        let rows = rows(built, &[window(10, 20)], &[]);
        let busy: Vec<_> = rows.iter().filter(|r| r.category_id == LedgerCategory::Compilers).collect();
        assert_eq!((busy.len(), busy[0].slow_ms, busy[0].in_sum), (1, Some(12_000.0), false));
        assert_eq!(busy[0].compiler, None, "the log does not say which");
    }
}
