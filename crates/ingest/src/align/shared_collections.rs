//! Matches the collections and safepoints that several sources recorded of one JVM.
//!
//! A flight recording and a GC log count collections by the same ids, and their pauses have the
//! same durations. That shows which JVM a log without a process id is of; it places a log that has
//! only uptimes; and it shows which pauses would count twice. The log's are kept, because it has
//! more details of each.

use fathom_recording::quantity::whole;
use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::kind;
use fathom_recording::{Anchor, ClockBasis, ProcessId, Recording, Sink, SourceId, SpanId};

/// The format whose records are dropped in favour of those of a log.
const RECORDING: &str = "jfr";
/// Collections in common that are enough evidence.
const IN_COMMON: usize = 3;
/// The most collections of a process that are compared.
const LOOKED_AT: usize = 2_000;
/// How far the durations of one pause may differ in two sources: each measures around the other's
/// clock reading.
const LENGTH_NS: i64 = 500_000;
/// How far the timestamps of one pause may be off the offset of the others: log lines are
/// timestamped when they are written.
const STRAY_NS: i64 = 100_000_000;

/// Collection → start and length.
type Pauses = BTreeMap<i64, (i64, i64)>;

/// Pauses of each source of a process, by their ids.
fn pauses(recording: &Recording, wanted: impl Fn(SourceId) -> bool) -> BTreeMap<SourceId, Pauses> {
    let mut found: BTreeMap<SourceId, Pauses> = BTreeMap::new();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if span.key() < 0 || !wanted(span.source()) || span.kind() != kind::GC_PAUSE {
            continue;
        }
        let of = found.entry(span.source()).or_default();
        if of.len() < LOOKED_AT {
            of.entry(span.key()).or_insert((span.t0_ns(), span.duration_ns()));
        }
    }
    found
}

/// How much later the first source's timestamps are than the second's, by the pauses that they have
/// in common, and how many those are. `None`: too few of them match.
fn offset(a: &Pauses, b: &Pauses) -> Option<(i64, usize)> {
    let common: Vec<_> = a.iter().filter_map(|(id, of_a)| Some((*of_a, *b.get(id)?))).collect();
    let same_length =
        |x: i64, y: i64| x.saturating_sub(y).saturating_abs() <= LENGTH_NS.saturating_add(x.max(y) / 20);
    let mut offsets: Vec<i64> = common
        .iter()
        .filter(|((_, x), (_, y))| same_length(*x, *y))
        .map(|((x, _), (y, _))| x.saturating_sub(*y))
        .collect();
    offsets.sort_unstable();
    let median = *offsets.get(offsets.len() / 2)?;
    let near = offsets.iter().filter(|o| o.saturating_sub(median).saturating_abs() <= STRAY_NS).count();
    (near >= IN_COMMON && near * 10 >= common.len() * 9).then_some((median, near))
}

/// Processes that have their collections in common: the later, the earlier.
pub(super) fn pairs(recording: &Recording, first_new: usize) -> Vec<(ProcessId, ProcessId)> {
    let sources = pauses(recording, |source| source.index() >= first_new);
    let of = |source: &SourceId| recording.sources.get(source.index()).and_then(|s| s.process).map(ProcessId);
    let is_recording =
        |source: &SourceId| recording.sources.get(source.index()).is_some_and(|s| s.format == RECORDING);
    let mut pairs = Vec::new();
    for (a, in_a) in sources.iter().filter(|(source, _)| is_recording(source)) {
        for (b, in_b) in sources.iter().filter(|(source, _)| !is_recording(source)) {
            let (Some(of_a), Some(of_b)) = (of(a), of(b)) else { continue };
            if of_a != of_b && offset(in_a, in_b).is_some() {
                pairs.push((of_a.max(of_b), of_a.min(of_b)));
            }
        }
    }
    pairs
}

/// Gives logs that count from the start of their JVM, and do not know when that was, the time of a
/// flight recording of the same collections.
pub(super) fn anchor(recording: &mut Recording, first_new: usize) {
    let new = |source: SourceId| source.index() >= first_new;
    let is_open = |s: &fathom_recording::Source| s.clock == ClockBasis::JvmUptime && s.anchor.is_none();
    let any = |wanted: &dyn Fn(&fathom_recording::Source) -> bool| {
        recording.sources.iter().skip(first_new).any(|s| s.process.is_some() && wanted(s))
    };
    if !any(&is_open) || !any(&|s| s.clock == ClockBasis::Epoch) {
        return;
    }
    let sources = pauses(recording, new);
    let mut anchors: Vec<(SourceId, Anchor)> = Vec::new();
    for (log, of_log) in &sources {
        let Some(source) = recording.sources.get(log.index()).filter(|s| is_open(s)) else { continue };
        let wall = |other: &SourceId| {
            recording.sources.get(other.index()).filter(|o| {
                o.clock == ClockBasis::Epoch && o.process == source.process && o.process.is_some()
            })
        };
        for (other, of_other) in &sources {
            let (Some(reference), Some((zero_epoch_ns, common))) = (wall(other), offset(of_other, of_log))
            else {
                continue;
            };
            let how = format!(
                "{} collections are those of {}, which has wall-clock time",
                whole(common),
                reference.name
            );
            anchors.push((*log, Anchor { zero_epoch_ns, uncertainty_ns: STRAY_NS / 10, how }));
            break;
        }
    }
    for (log, anchor) in anchors {
        recording.source_mut(log).anchor = Some(anchor);
    }
}

/// Drops the collections and safepoints of a flight recording that a log of the same JVM has as
/// well. Called once everything is on the clock.
pub(super) fn drop_repeated(recording: &mut Recording, first_new: usize) {
    let is_recording: Vec<bool> = recording.sources.iter().map(|s| s.format == RECORDING).collect();
    if !is_recording.iter().skip(first_new).any(|is| *is) {
        return;
    }
    let recorded = |source: SourceId| is_recording.get(source.index()).copied().unwrap_or(false);
    let mut logged = Logged::default();
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        if recorded(span.source()) || span.source().index() < first_new {
            continue;
        }
        let process = span.process();
        match span.kind() {
            kind::GC_PAUSE => {
                logged.pauses.insert((process, span.key()));
                logged.intervals.entry(process).or_default().push((span.t0_ns(), span.t1_ns()));
            }
            kind::GC_CONCURRENT => {
                logged.cycles.insert((process, span.key()));
            }
            kind::SAFEPOINT => {
                logged.safepoints.insert(span.source());
            }
            _ => {}
        }
    }
    if logged.is_empty() {
        return;
    }
    let mut covered: BTreeMap<ProcessId, Vec<(i64, i64)>> = BTreeMap::new();
    for source in &logged.safepoints {
        let Some(source) = recording.sources.get(source.index()) else { continue };
        if let (Some(process), Some(covers)) = (source.process, source.covers_ns) {
            covered.entry(ProcessId(process)).or_default().push(covers);
        }
    }
    logged.intervals.values_mut().for_each(|intervals| intervals.sort_unstable());
    recording.remove_spans(|span| {
        if !recorded(span.source()) || span.source().index() < first_new {
            return false;
        }
        let process = span.process();
        match span.kind() {
            kind::GC_PAUSE => {
                logged.pauses.contains(&(process, span.key()))
                    || logged.has_pause(process, span.t0_ns(), span.t1_ns())
            }
            kind::GC_CONCURRENT => logged.cycles.contains(&(process, span.key())),
            kind::SAFEPOINT => covered
                .get(&process)
                .is_some_and(|all| all.iter().any(|(from, to)| (*from..=*to).contains(&span.t0_ns()))),
            _ => false,
        }
    });
}

/// What logs have, by process.
#[derive(Default)]
struct Logged {
    pauses: BTreeSet<(ProcessId, i64)>,
    cycles: BTreeSet<(ProcessId, i64)>,
    intervals: BTreeMap<ProcessId, Vec<(i64, i64)>>,
    /// Sources that have safepoints: they have all of them.
    safepoints: BTreeSet<SourceId>,
}

impl Logged {
    fn is_empty(&self) -> bool {
        self.pauses.is_empty() && self.cycles.is_empty() && self.safepoints.is_empty()
    }

    /// Whether there is a pause that shares half of its time with this one: logs of JDK 8 often
    /// have no ids.
    fn has_pause(&self, process: ProcessId, t0_ns: i64, t1_ns: i64) -> bool {
        let Some(intervals) = self.intervals.get(&process) else { return false };
        let length = t1_ns.saturating_sub(t0_ns);
        let first = intervals.partition_point(|(_, to)| *to <= t0_ns);
        let near = intervals.get(first.saturating_sub(1)..).unwrap_or_default();
        near.iter()
            .take_while(|(from, _)| *from < t1_ns)
            .any(|(from, to)| (*to).min(t1_ns).saturating_sub((*from).max(t0_ns)) > length / 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pauses_of(pauses: &[(i64, i64, i64)]) -> Pauses {
        pauses.iter().map(|(id, t0_ms, ms)| (*id, (t0_ms * 1_000_000, ms * 1_000_000))).collect()
    }

    #[test]
    fn the_offset_is_that_of_most_pauses_which_are_as_long() {
        let log = pauses_of(&[(1, 100, 5), (2, 200, 7), (3, 300, 9), (4, 400, 11)]);
        let jfr = pauses_of(&[(1, 10_100, 5), (2, 10_201, 7), (3, 10_300, 9), (4, 10_400, 11)]);
        assert_eq!(offset(&jfr, &log), Some((10_000_000_000, 4)));
        // Other pauses with the same ids.
        let other = pauses_of(&[(1, 10_100, 50), (2, 10_900, 2), (3, 11_300, 99), (4, 20_400, 1)]);
        assert_eq!(offset(&other, &log), None);
        // The same duration by chance, at other times.
        let stray = pauses_of(&[(1, 10_100, 5), (2, 12_000, 7), (3, 19_000, 9), (4, 30_400, 11)]);
        assert_eq!(offset(&stray, &log), None);
        assert_eq!(offset(&pauses_of(&[(1, 1, 1)]), &log), None);
    }
}
