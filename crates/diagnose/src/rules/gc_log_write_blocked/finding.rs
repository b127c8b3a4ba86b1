//! What is said of stops that waited for the log.

use fathom_recording::vocabulary::{label, source};

use super::super::gc_case::{GcCase, cited, ranges, windows_of};
use super::super::log_write;
use super::gaps::{Seen, Wait};
use crate::confidence::Ground;
use crate::facts::{Value, checks, culprits, meanings, reasons, remedies, titles, written as facts};
use crate::{Finding, Remedy, Rule};

/// Findings cite as many pauses.
pub(super) const CITED: usize = 3;

pub(super) fn found(
    rule: &dyn Rule,
    gc: &GcCase<'_, '_>,
    mut waits: Vec<Wait<'_>>,
    cost_ms: f64,
    seen: &Seen<'_>,
) -> Finding {
    waits.sort_by(|a, b| b.ms.total_cmp(&a.ms));
    let timed = seen.write_ms >= cost_ms / 2.0;
    let why = &reasons::LOG_LINES_FIT;
    let sure = match timed {
        true => Ground::Itself.sure(gc.case, cost_ms, &reasons::WRITES_TIMED),
        false => Ground::Fits.because(gc.case, cost_ms, why),
    };
    let mut finding = gc.finding(rule, sure, cost_ms, &[]);
    finding.windows = ranges(waits.iter().map(|w| w.span));
    finding.acts = windows_of(waits.iter().map(|w| w.span));
    finding.stop = gc.case.longest_stop(gc.jvm, &finding.windows);
    let (first, log) = match waits.first() {
        Some(first) => (first.ms, gc.case.recording.sources.get(first.span.source().index())),
        None => (0.0, None),
    };
    // Stops that the JVM's probes show are in no log: its file is that of the writes.
    let file = seen.writes.iter().find_map(|(call, _)| call.label(label::PATH));
    let file = file.filter(|_| log.is_some_and(|source| source.format == source::JVM_EVENTS));
    let log = file.or(log.map(|source| source.name.as_str())).unwrap_or("the GC log");
    let title = if timed { &titles::GC_LOG_WRITE_BLOCKED } else { &titles::GC_LOG_WRITE_GAPS };
    let title = title.is(Value::ms(cost_ms)).with("stops", Value::count(waits.len()));
    finding.title = title.with("longest", Value::ms(first)).into();
    finding.culprit = culprits::WRITES.is(Value::name(log)).into();
    finding.meaning = meanings::LOG_WRITTEN_IN_STOP.fact().into();
    // The longest stop and the longest write come first; what is shorter follows.
    let mut stops = waits.iter().take(CITED).map(|w| cited(&w.span, w.how.clone()));
    let mut longest: Vec<_> = seen.writes.iter().collect();
    longest.sort_by_key(|(call, _)| std::cmp::Reverse(call.duration_ns()));
    let mut writes = longest.into_iter().take(CITED).map(|(call, fact)| cited(call, fact.clone()));
    finding.evidence.extend(stops.next());
    finding.evidence.extend(writes.next());
    let throttled = seen.writes.iter().any(|(_, fact)| fact.name("waited-for") == Some(log_write::THROTTLED));
    let throttled = throttled.then(|| log_write::throttled_meanwhile(gc.case, gc.jvm)).flatten();
    finding.evidence.extend(throttled);
    finding.evidence.extend(stops.chain(writes));
    finding.evidence.extend(mode(gc));
    finding.remedies = remedies(gc);
    finding.verify = vec![
        checks::STRACE_WRITES.fact().into(),
        checks::NO_GAPS.fact().into(),
        checks::GAPS_THAT_STAY.fact().into(),
    ];
    finding
}

pub(super) fn mode(gc: &GcCase<'_, '_>) -> Option<crate::Evidence> {
    let first = gc.all.first()?;
    let mode = match gc.jdk()? {
        jdk if jdk < 9.0 => return None,
        jdk if jdk >= 17.0 => &facts::SYNCHRONOUS,
        _ => &facts::ALWAYS_SYNCHRONOUS,
    };
    Some(cited(&first.span, mode.fact()).at(None))
}

pub(super) fn remedies(gc: &GcCase<'_, '_>) -> Vec<Remedy> {
    let mut remedies = Vec::new();
    if gc.jdk().is_some_and(|jdk| jdk >= 17.0) {
        remedies.push(remedies::ASYNC_LOG.remedy());
    }
    remedies.push(remedies::LOG_TO_MEMORY.remedy());
    remedies.push(remedies::NO_HSPERFDATA.remedy());
    remedies
}
