//! Series while they grow: a gauge is a number, a counter a number that only rises and whose rate
//! is written.

use fathom_recording::vocabulary::live::Word;
use fathom_recording::{ProcessId, SeriesId, SeriesInfo};

use crate::Context;

/// A series whose value is written as it is read. Its row in the recording is made with its first
/// point.
#[derive(Debug)]
pub struct Gauge {
    word: Word,
    instance: String,
    process: Option<ProcessId>,
    id: Option<SeriesId>,
}

impl Gauge {
    /// Of the machine.
    pub fn new(word: Word, instance: &str) -> Self {
        Self { word, instance: instance.to_owned(), process: None, id: None }
    }

    /// Of a process.
    pub fn of(word: Word, instance: &str, process: ProcessId) -> Self {
        Self { process: Some(process), ..Self::new(word, instance) }
    }
}

/// A series that shows how fast a counter rises.
#[derive(Debug)]
pub struct Counter {
    gauge: Gauge,
    /// What one step of the counter is in the unit of the series.
    step: f64,
    last: Option<u64>,
}

impl Counter {
    /// Of a gauge whose value is `step` × the counter's rise a second.
    pub fn new(gauge: Gauge, step: f64) -> Self {
        Self { gauge, step, last: None }
    }

    /// Takes the counter's value without writing it; its rise since the last time. A counter that
    /// fell (it was reset) rose by what it shows.
    pub fn rise(&mut self, value: u64) -> Option<u64> {
        let last = self.last.replace(value)?;
        Some(value.checked_sub(last).unwrap_or(value))
    }
}

/// Where one reading's points go.
pub struct Points<'c, 'a> {
    cx: &'c mut Context<'a>,
    now_ns: i64,
    /// Since the reading before; `None` at the first one.
    dt_ns: Option<i64>,
    written: u64,
}

impl<'c, 'a> Points<'c, 'a> {
    /// Of a reading at `now_ns`, the one before it at `last_ns` (monotonic time).
    pub fn new(cx: &'c mut Context<'a>, last_ns: Option<i64>, now_ns: i64) -> Self {
        Self { cx, now_ns, dt_ns: last_ns.map(|last| (now_ns - last).max(1)), written: 0 }
    }

    /// Points written so far.
    pub fn written(&self) -> u64 {
        self.written
    }

    /// The recording's row of a process.
    pub fn process(&mut self, pid: i32) -> ProcessId {
        self.cx.process(pid)
    }

    /// The name of a process in the recording.
    pub fn name(&mut self, process: ProcessId) -> String {
        self.cx.sink.process_mut(process).name.clone()
    }

    /// Writes a level.
    pub fn gauge(&mut self, gauge: &mut Gauge, value: f64) {
        let dt_ns = self.dt_ns;
        self.point(gauge, dt_ns.unwrap_or(0), value);
    }

    /// Writes a counter, once it is known from where it rose.
    pub fn counter(&mut self, counter: &mut Counter, value: u64) {
        let rise = counter.rise(value);
        if let (Some(rise), Some(dt_ns)) = (rise, self.dt_ns) {
            let rate = rise as f64 * counter.step / (dt_ns as f64 / 1e9);
            self.point(&mut counter.gauge, dt_ns, rate);
        }
    }

    /// Writes a value over an interval that ends now.
    pub fn point(&mut self, gauge: &mut Gauge, dt_ns: i64, value: f64) {
        let (sink, source) = (&mut *self.cx.sink, self.cx.source);
        let id = *gauge.id.get_or_insert_with(|| {
            sink.add_series(SeriesInfo {
                name: gauge.word.name.to_owned(),
                unit: gauge.word.unit.to_owned(),
                instance: gauge.instance.clone(),
                kind: gauge.word.kind,
                process: gauge.process,
                source,
            })
        });
        sink.point(id, self.cx.clock.epoch_ns(self.now_ns - dt_ns), dt_ns, value);
        self.written += 1;
    }
}
