//! Marks: what people or their tools did while it was recorded, and the slow windows that begin
//! with one.
//!
//! That a window begins with a deploy is a fact and no cause. It is said where the mark may have
//! been at the window's beginning: they are no further apart than a tick of the series that the
//! window was found on and what the clocks of mark and series may be off, together. What is written
//! as 22:00 was at any time of that minute and at none before it: that puts it closer to windows
//! that begin later, and never to those that began before it.

use fathom_recording::vocabulary::{figure, kind, live, source};
use fathom_recording::{Recording, SeriesKind, Source};

use crate::{Began, Mark, Window};

/// The marks of a recording, in order of time. `tick_ns`: of the series that the windows were found
/// on; 0 where they are exact.
pub(crate) fn of(recording: &Recording, slow: &[Window], tick_ns: i64) -> Vec<Mark> {
    let clocks_ns = clocks_ns(recording, tick_ns > 0);
    let mark = |span: fathom_recording::Span<'_>| {
        let at_ns = span.t0_ns();
        let precision_ns = span.figure(figure::PRECISION_NS).unwrap_or(0.0).max(0.0) as i64;
        let both_ways_ns = tick_ns.saturating_add(clocks_ns);
        // How long before a window it is, and how long before and after it may be.
        let before = |window: &Window| window.from_ns.saturating_sub(at_ns);
        let within = |before_ns: i64| match before_ns {
            0.. => both_ways_ns.saturating_add(precision_ns),
            _ => both_ways_ns,
        };
        let may_be = |window: &&Window| before(window).saturating_abs() <= within(before(window));
        let nearest = slow.iter().filter(may_be).min_by_key(|window| before(window).saturating_abs());
        let ms = |ns: i64| ns as f64 / 1e6;
        let began = nearest.map(|window| Began {
            from_ns: window.from_ns,
            before_ms: ms(before(window)),
            within_ms: ms(within(before(window))),
        });
        Mark { at_ns, text: span.name().to_owned(), precision_ns, source: span.position(), began }
    };
    recording.spans_of(kind::MARK).map(mark).collect()
}

/// How far clocks may be off: of the sources of series that windows are found on, else of all that
/// are placed.
fn clocks_ns(recording: &Recording, on_series: bool) -> i64 {
    let of_series = |i: usize| {
        let shows_progress = |s: &fathom_recording::Series| {
            s.info.source.index() == i && s.info.kind != SeriesKind::Gauge && !live::is_live(&s.info.name)
        };
        recording.series.iter().any(shows_progress)
    };
    let counts =
        |(i, source): &(usize, &Source)| source.format != source::MARKS && (!on_series || of_series(*i));
    let all = recording.sources.iter().enumerate().filter(counts);
    all.filter_map(|(_, source)| source.placement.uncertainty_ns).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Placement, Process, SeriesInfo, Sink, SpanRow};

    use super::*;
    use crate::{Options, diagnose};

    const S: i64 = 1_000_000_000;

    /// A throughput of 100 a second with a fall from the 60th to the 70th, on a clock that may be
    /// half a second off, and marks.
    fn recording(marks: &[(i64, i64, &str)]) -> Recording {
        let mut recording = Recording::new();
        let placement = Placement { uncertainty_ns: Some(S / 2), ..Placement::default() };
        let source = recording.add_source(Source { placement, ..Source::default() });
        let info = SeriesInfo {
            name: "throughput".into(),
            unit: "ops/s".into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        };
        let series = recording.add_series(info);
        for i in 0..120 {
            let value = if (60..70).contains(&i) { 20.0 } else { 100.0 + (i % 3) as f64 };
            recording.point(series, i * S, S, value);
        }
        let placement = Placement { uncertainty_ns: Some(0), ..Placement::default() };
        let source =
            recording.add_source(Source { format: source::MARKS.into(), placement, ..Source::default() });
        let process = recording.add_process(Process::default());
        for (at_ns, precision_ns, text) in marks {
            recording.span(&SpanRow {
                figures: &[(figure::PRECISION_NS, *precision_ns as f64)],
                ..SpanRow::new(kind::MARK, text, (*at_ns, *at_ns), process, source)
            });
        }
        recording.seal();
        recording
    }

    #[test]
    fn a_window_begins_with_what_cannot_be_distinguished_from_its_beginning() {
        let marks = [
            (20 * S, S, "backup"),
            (58 * S, S, "deploy"),
            (61 * S, S / 1000, "restart"),
            (57 * S, S, "build"),
        ];
        let diagnosis = diagnose(&recording(&marks), &Options::default()).unwrap();
        assert_eq!(diagnosis.windows.slow[0].from_ns, 60 * S);
        let marks: Vec<_> = diagnosis.marks.iter().map(|m| (m.text.as_str(), m.began.clone())).collect();
        let began = |before_ms, within_ms| Some(Began { from_ns: 60 * S, before_ms, within_ms });
        assert_eq!(
            marks,
            [
                ("backup", None),
                // A tick, a second of the mark and half of one of the clock: 57 s is too far away.
                ("build", None),
                ("deploy", began(2000.0, 2500.0)),
                ("restart", began(-1000.0, 1500.0)),
            ]
        );
    }

    #[test]
    fn what_the_time_of_a_mark_leaves_open_lies_behind_it() {
        // Written as a minute: it was in the minute from then on.
        const MINUTE: i64 = 60 * S;
        let marks = [(20 * S, MINUTE, "deploy"), (62 * S, MINUTE, "rollback"), (61 * S, MINUTE, "restart")];
        let diagnosis = diagnose(&recording(&marks), &Options::default()).unwrap();
        let marks: Vec<_> = diagnosis.marks.iter().map(|m| (m.text.as_str(), m.began.clone())).collect();
        let began = |before_ms, within_ms| Some(Began { from_ns: 60 * S, before_ms, within_ms });
        // A tick and half a second of the clock are open both ways.
        assert_eq!(
            marks,
            [("deploy", began(40_000.0, 61_500.0)), ("restart", began(-1000.0, 1500.0)), ("rollback", None)]
        );
        // The window that it can have been at, and not one nearer by that began before it.
        let recording = recording(&[(100 * S, MINUTE, "deploy")]);
        let slow = [97, 130].map(|s| Window { from_ns: s * S, to_ns: (s + 1) * S });
        let mark = &of(&recording, &slow, S)[0];
        assert_eq!(mark.began.as_ref().map(|began| began.from_ns), Some(130 * S));
    }

    #[test]
    fn a_mark_is_no_record_of_a_jvm_and_makes_no_window() {
        let steady = diagnose(&recording(&[(10 * S, S, "deploy")]), &Options::default()).unwrap();
        let without = diagnose(&recording(&[]), &Options::default()).unwrap();
        assert_eq!((&steady.windows, &steady.headline), (&without.windows, &without.headline));
    }
}
