//! Counts for formats that have lines but no rows of that sort: how often a second.

use std::collections::BTreeMap;

use fathom_recording::{ProcessId, Recording, Series, SeriesInfo, SeriesKind, SourceId};

/// Counts as series, one for each kind, name and process, of all threads together.
pub(super) fn as_series(recording: &Recording) -> Vec<Series> {
    /// Length of an interval and rate, by its start.
    type Points = BTreeMap<i64, (i64, f64)>;
    let mut all: BTreeMap<(&str, &str, ProcessId), (SourceId, Points)> = BTreeMap::new();
    let kinds = recording.count_kinds().into_iter();
    for count in kinds.flat_map(|(kind, _)| recording.counts_of(kind)).filter(|c| c.count() > 0) {
        let of = (count.kind(), count.name(), count.process());
        let (_, points) = all.entry(of).or_insert_with(|| (count.source(), Points::new()));
        let seconds = count.interval_ns().max(1) as f64 / 1e9;
        let point = points.entry(count.t0_ns()).or_default();
        *point = (count.interval_ns().max(point.0), point.1 + count.count() as f64 / seconds);
    }
    let made = all.into_iter().map(|((kind, name, process), (source, points))| Series {
        info: SeriesInfo {
            name: kind.into(),
            unit: "1/s".into(),
            instance: name.into(),
            kind: SeriesKind::Rate,
            process: Some(process),
            source,
        },
        t_ns: points.keys().copied().collect(),
        dt_ns: points.values().map(|(dt_ns, _)| *dt_ns).collect(),
        value: points.values().map(|(_, rate)| *rate).collect(),
    });
    made.collect()
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::count;
    use fathom_recording::{CountRow, Process, Role, Sink, Source};

    use super::*;

    #[test]
    fn what_threads_of_a_process_did_in_an_interval_is_one_rate() {
        const S: i64 = 1_000_000_000;
        let mut recording = Recording::new();
        let source = recording.add_source(Source::default());
        let process = recording.add_process(Process::default());
        for (tid, name, t0_s, length_s, calls) in
            [(1, "read", 0, 1, 10), (2, "read", 0, 1, 30), (1, "read", 1, 2, 10), (1, "write", 1, 2, 0)]
        {
            let thread = Some(recording.thread(process, Some(tid), "", Role::App));
            let interval = (t0_s * S, (t0_s + length_s) * S);
            let row = CountRow::new(count::SYSCALL_TOTALS, name, interval, process, source, calls);
            recording.count(&CountRow { thread, ..row });
        }
        recording.seal();
        let made = as_series(&recording);
        let [reads] = made.as_slice() else { panic!("{made:?}") };
        assert_eq!((&*reads.info.name, &*reads.info.instance), ("syscall.totals", "read"));
        assert_eq!(
            (&*reads.t_ns, &*reads.dt_ns, &*reads.value),
            (&[0, S][..], &[S, 2 * S][..], &[40.0, 5.0][..])
        );
    }
}
