//! JVMs whose threads are put together by hand.

mod running;
mod stops;
mod sums;
mod waits;

use super::*;
use fathom_recording::vocabulary::frame::RECORDER_MODULE;
use fathom_recording::vocabulary::{figure, kind, label, live, sample};
use fathom_recording::{
    FrameType, Process, ProcessId, Recording, Role, SampleRow, Sampling, SeriesInfo, SeriesKind, Sink,
    Source, SourceId, SpanRow, StackId, ThreadId,
};

pub(super) const MS: i64 = 1_000_000;

/// A JVM whose threads are put together by hand; times in milliseconds.
pub(super) struct Watched {
    pub(super) recording: Recording,
    pub(super) process: ProcessId,
    pub(super) source: SourceId,
}

impl Watched {
    pub(super) fn new() -> Self {
        let mut recording = Recording::new();
        let process = recording.add_process(Process { name: "App".into(), jvm: true, ..Process::default() });
        let source = recording.add_source(Source { name: "scheduler".into(), ..Source::default() });
        Self { recording, process, source }
    }

    pub(super) fn thread(&mut self, name: &str, role: Role) -> ThreadId {
        self.recording.thread(self.process, None, name, role)
    }

    pub(super) fn stack(&mut self, frames: &[(FrameType, &str)]) -> Option<StackId> {
        let mut at = None;
        for (frame_type, name) in frames {
            let module = if name.starts_with("fathom: ") { RECORDER_MODULE } else { "" };
            let frame = self.recording.frame(name, module, *frame_type, -1);
            at = Some(self.recording.stack(at, frame));
        }
        at
    }

    pub(super) fn span(
        &mut self,
        kind: &str,
        thread: Option<ThreadId>,
        ends: (i64, i64),
        stack: Option<StackId>,
        runq_ms: i64,
    ) {
        self.measured(kind, thread, ends, stack, &[(figure::RUNQ_NS, (runq_ms * MS) as f64)]);
    }

    /// A wait for a CPU, which for a part was one for quota.
    pub(super) fn queued(&mut self, thread: ThreadId, ends: (i64, i64), runq_ms: i64, throttled_ms: i64) {
        let figures = [(figure::RUNQ_NS, runq_ms), (figure::THROTTLED_NS, throttled_ms)];
        let figures = figures.map(|(key, ms)| (key, (ms * MS) as f64));
        self.measured(kind::SCHED_OFF, Some(thread), ends, None, &figures);
    }

    /// A record with values.
    pub(super) fn measured(
        &mut self,
        kind: &str,
        thread: Option<ThreadId>,
        (from, to): (i64, i64),
        stack: Option<StackId>,
        figures: &[(&str, f64)],
    ) {
        self.recording.span(&SpanRow {
            thread,
            stack,
            figures,
            ..SpanRow::new(kind, "", (from * MS, to * MS), self.process, self.source)
        });
    }

    /// A record of what the thread waited for.
    pub(super) fn record(
        &mut self,
        kind: &str,
        name: &str,
        thread: ThreadId,
        (from, to): (i64, i64),
        labels: &[(&str, &str)],
    ) {
        self.recording.span(&SpanRow {
            thread: Some(thread),
            labels,
            ..SpanRow::new(kind, name, (from * MS, to * MS), self.process, self.source)
        });
    }

    pub(super) fn sample(
        &mut self,
        kind: &str,
        thread: ThreadId,
        at_ms: i64,
        stack: Option<StackId>,
        weight_ms: i64,
    ) {
        let (process, source) = (self.process, self.source);
        let (t_ns, weight) = (at_ms * MS, weight_ms * MS);
        self.recording.sample(&SampleRow {
            kind,
            t_ns,
            process,
            thread: Some(thread),
            stack,
            weight,
            source,
        });
    }

    pub(super) fn ledger(mut self, window_ms: (i64, i64), by: By) -> ThreadLedger {
        self.recording.seal();
        let window = Window { from_ns: window_ms.0 * MS, to_ns: window_ms.1 * MS };
        thread_ledger(&self.recording, Some(window), None, by)
    }
}

pub(super) fn ms(group: &GroupLedger, category: Category) -> f64 {
    group.spent.iter().find(|s| s.category == category).map_or(0.0, |s| s.ms)
}

impl Watched {
    /// CPU samples were taken every 10 ms, in the second that is recorded.
    pub(super) fn sampled(&mut self) {
        let sampling = Sampling {
            event: "cpu-clock".into(),
            unit: "ns".into(),
            rate_hz: 100,
            period: Some((10 * MS).cast_unsigned()),
        };
        let covers_ns = Some((0, 1000 * MS));
        self.recording.add_source(Source { sampling: Some(sampling), covers_ns, ..Source::default() });
    }

    /// The machine has so many CPUs.
    pub(super) fn cpus(&mut self, count: usize) {
        for i in 0..count {
            self.series(live::HOST_CPU_BUSY, &format!("cpu{i}"), None, 1.0);
        }
    }

    /// A series with one value, of the second that is recorded.
    pub(super) fn series(
        &mut self,
        word: live::Word,
        instance: &str,
        process: Option<ProcessId>,
        value: f64,
    ) {
        let info = SeriesInfo {
            name: word.name.into(),
            unit: word.unit.into(),
            instance: instance.into(),
            kind: word.kind,
            process,
            source: self.source,
        };
        let series = self.recording.add_series(info);
        self.recording.point(series, 0, 1000 * MS, value);
    }
}

pub(super) fn running(group: &GroupLedger) -> f64 {
    group.spent.iter().filter(|s| s.category.is_running()).map(|s| s.ms).sum()
}
