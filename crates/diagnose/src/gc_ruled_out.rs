//! The collector as a whole, ruled out by one metric: whoever sees a slow JVM asks about GC first,
//! and the metrics of single rules do not answer that.

use std::rc::Rc;

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::kind;

use crate::facts::Value;
use crate::facts::scope::OF_THE_LOSS;
use crate::intervals::Intervals;
use crate::sight::Sights;
use crate::{COVERED, Case, LedgerCategory, LedgerRow, RuledOut, Sight};

/// The name of the row: no rule, but all of the collector's together.
const ROW: &str = "gc";

/// The metric that rules the collector out, of the JVM that it stopped longest; `None` where no
/// loss was measured against a baseline, where no log records collections, or where they explain
/// enough of the loss to matter.
pub(crate) fn of(
    case: &Case<'_>,
    sights: &Sights<'_>,
    jvms: &[ProcessId],
    ledger: &[LedgerRow],
) -> Option<RuledOut> {
    if case.base.is_empty() || case.loss.lost_ms <= 0.0 {
        return None;
    }
    let rows = ledger.iter().filter(|row| row.category_id == LedgerCategory::StoppedByGc);
    let seen = rows.filter_map(|row| Some((row, row.slow_ms?, row.base_ms?)));
    let (row, slow_ms, base_ms) = seen.max_by(|a, b| a.1.total_cmp(&b.1))?;
    let excess_ms = case.excess_ms(slow_ms, base_ms);
    let jvm = jvms.iter().copied().find(|jvm| case.jvm_name(*jvm) == row.process)?;
    let slow = Intervals::of_windows(&case.slow);
    let seen = sights.coverage(Sight::Collections, jvm).intervals.and(&slow).length_ns() as f64;
    if seen < COVERED * slow.length_ns() as f64 || case.matters(excess_ms) || !case.has(kind::GC_PAUSE, jvm) {
        return None;
    }
    let pauses = Rc::clone(&case.known.stops(jvm).pauses);
    let log = pauses.first().and_then(|p| case.recording.sources.get(p.span.source().index()));
    Some(RuledOut {
        rule: ROW.to_owned(),
        process_id: jvm,
        recording: case.recording.recording_of(jvm).map(str::to_owned),
        figure: OF_THE_LOSS
            .is(Value::ms(excess_ms))
            .with("process", Value::name(&row.process))
            .with("stopped", Value::share(row.slow_share?))
            .with("baseline-stopped", Value::share(row.base_share?))
            .with("lost", Value::ms(case.loss.lost_ms))
            .into(),
        source: log.map_or(String::new(), |log| log.name.clone()),
    })
}
