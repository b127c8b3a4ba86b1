//! The time that a recording is of: from when everything is attached until its end, whatever
//! attaching and taking down take.
//!
//! ```text
//!   attaching ──▶ begin ──▶ what was asked for (-d) ──▶ end ──▶ taking down
//!   rows: left out      as they are, cut at both ends      left out
//! ```

use fathom_recording::{
    CountRow, FrameId, FrameType, Process, ProcessId, Role, SampleRow, SeriesId, SeriesInfo, Sink, Source,
    SourceId, SpanId, SpanRow, StackId, ThreadId,
};

use super::output::Output;

/// Values that a collector has written while others were attached, kept at most: the numbers of a
/// host and of some JVMs.
const MOST_HELD: usize = 65_536;

/// From when to when rows are of the recording, nanoseconds of its clock.
#[derive(Debug)]
pub(super) struct Window {
    from_ns: i64,
    until_ns: i64,
    /// Values at timestamps before the window, which hold when it begins: what was written once may
    /// not be written again.
    held: Vec<(SeriesId, f64)>,
}

impl Window {
    /// One that has not begun.
    pub(super) fn closed() -> Self {
        Self { from_ns: i64::MAX, until_ns: i64::MAX, held: Vec::new() }
    }

    /// Begins it.
    pub(super) fn begin(&mut self, from_ns: i64, to: &mut dyn Output) {
        self.from_ns = from_ns;
        let mut last: Vec<(SeriesId, f64)> = Vec::new();
        for (series, value) in self.held.drain(..) {
            match last.iter_mut().find(|(known, _)| *known == series) {
                Some((_, known)) => *known = value,
                None => last.push((series, value)),
            }
        }
        last.into_iter().for_each(|(series, value)| to.point(series, from_ns, 0, value));
    }

    /// Ends it.
    pub(super) fn end(&mut self, until_ns: i64) {
        self.until_ns = until_ns.max(self.from_ns);
    }

    /// What of an interval is within; `None`: nothing.
    fn within(&self, t0_ns: i64, t1_ns: i64) -> Option<(i64, i64)> {
        let t1_ns = t1_ns.max(t0_ns);
        let is_within = t1_ns >= self.from_ns && t0_ns <= self.until_ns;
        is_within.then(|| (t0_ns.max(self.from_ns), t1_ns.min(self.until_ns)))
    }
}

/// Writes what is within a window.
pub(super) struct Within<'a> {
    pub(super) to: &'a mut dyn Output,
    pub(super) window: &'a mut Window,
}

impl Sink for Within<'_> {
    fn add_source(&mut self, source: Source) -> SourceId {
        self.to.add_source(source)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        self.to.source_mut(id)
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        self.to.add_process(process)
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        self.to.process_mut(id)
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        self.to.thread(process, tid, name, role)
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        self.to.rename_thread(id, name, role);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        match self.window.within(row.t0_ns, row.t1_ns) {
            Some((t0_ns, t1_ns)) => self.to.span(&SpanRow { t0_ns, t1_ns, ..*row }),
            // No live row names another as its parent.
            None => SpanId(u32::MAX),
        }
    }

    fn count(&mut self, row: &CountRow<'_>) {
        if let Some((t0_ns, t1_ns)) = self.window.within(row.t0_ns, row.t1_ns) {
            self.to.count(&CountRow { t0_ns, t1_ns, ..*row });
        }
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        self.to.add_series(info)
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        match self.window.within(t_ns, t_ns.saturating_add(dt_ns)) {
            Some((t0_ns, t1_ns)) => self.to.point(series, t0_ns, t1_ns - t0_ns, value),
            None if dt_ns == 0 && t_ns < self.window.from_ns && self.window.held.len() < MOST_HELD => {
                self.window.held.push((series, value));
            }
            None => {}
        }
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        self.to.frame(name, module, frame_type, line)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        self.to.stack(parent, frame)
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        if self.window.within(row.t_ns, row.t_ns).is_some() {
            return self.to.sample(row);
        }
        // The records of a sampler are its samples: one that is left out is none.
        let source = self.to.source_mut(row.source);
        if source.sampling.is_some() {
            source.records = source.records.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Recording, RecordingError, Sampling, SeriesKind};

    use super::*;

    impl Output for Recording {
        fn checkpoint(&mut self) -> Result<(), RecordingError> {
            Ok(())
        }
    }

    #[test]
    fn a_sample_that_is_left_out_is_no_record_of_its_sampler() {
        let mut recording = Recording::default();
        let sampling = Sampling { event: "e".into(), unit: "ns".into(), period: None, rate_hz: 99 };
        let sampler = Source { sampling: Some(sampling), records: 2, ..Source::default() };
        let [sampler, other] =
            [sampler, Source { records: 2, ..Source::default() }].map(|source| recording.add_source(source));
        let process = recording.add_process(Process::default());
        let mut window = Window::closed();
        window.begin(100, &mut recording);
        let mut within = Within { to: &mut recording, window: &mut window };
        for (source, t_ns) in [(sampler, 90), (sampler, 110), (other, 90), (other, 110)] {
            let (thread, stack) = (None, None);
            within.sample(&SampleRow { kind: "k", t_ns, process, thread, stack, weight: 1, source });
        }
        assert_eq!((recording.samples.len(), recording.source_mut(sampler).records), (2, 1));
        // What others count are not their samples alone.
        assert_eq!(recording.source_mut(other).records, 2);
    }

    fn span(sink: &mut dyn Sink, t0_ns: i64, t1_ns: i64) {
        let (process, source) = (ProcessId(0), SourceId(0));
        sink.span(&SpanRow::new("k", "", (t0_ns, t1_ns), process, source));
    }

    #[test]
    fn what_lies_outside_is_left_out_and_what_lasts_over_an_end_is_cut() {
        let mut recording = Recording::default();
        let mut window = Window::closed();
        let (source, process) =
            (recording.add_source(Source::default()), recording.add_process(Process::default()));
        let info = SeriesInfo {
            name: "n".into(),
            unit: String::new(),
            instance: String::new(),
            kind: SeriesKind::Gauge,
            process: Some(process),
            source,
        };
        let series = recording.add_series(info);
        let mut within = Within { to: &mut recording, window: &mut window };
        span(&mut within, 10, 90);
        within.point(series, 50, 0, 1.0);
        within.point(series, 60, 0, 2.0);
        within.point(series, 60, 10, 3.0);
        window.begin(100, &mut recording);
        let mut within = Within { to: &mut recording, window: &mut window };
        span(&mut within, 80, 95);
        span(&mut within, 80, 120);
        within.point(series, 90, 30, 4.0);
        within.window.end(200);
        span(&mut within, 150, 250);
        span(&mut within, 210, 250);
        within.point(series, 190, 20, 5.0);
        let spans = (0..recording.spans.len()).map(|i| recording.span_at(SpanId(i as u32)));
        let spans: Vec<(i64, i64)> = spans.map(|span| (span.t0_ns(), span.t1_ns())).collect();
        assert_eq!(spans, [(100, 120), (150, 200)]);
        let points = &recording.series[0];
        assert_eq!(
            (points.t_ns.as_slice(), points.dt_ns.as_slice()),
            ([100, 100, 190].as_slice(), [0, 20, 10].as_slice())
        );
        assert_eq!(points.value, [2.0, 4.0, 5.0]);
    }
}
