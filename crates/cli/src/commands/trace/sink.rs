//! The other end of the collectors: shows what the probe asks for as it comes, and passes all on
//! where it is recorded too.

use std::io;

use fathom_capture::Output;
use fathom_diagnose::chain::Stop;
use fathom_recording::{
    CountRow, FrameId, FrameType, Process, ProcessId, Recording, RecordingError, Role, SampleRow, SeriesId,
    SeriesInfo, Sink, Source, SourceId, SpanId, SpanRow, StackId, ThreadId, Writer,
};

use super::show::Show;
use super::stops::Stops;
use crate::stderr::Unread;

/// See the module.
pub struct TraceSink {
    /// Threads, frames and stacks with the ids that the collectors have for them; no rows but those
    /// behind stops.
    names: Recording,
    /// Where stops are traced: what is behind them.
    stops: Option<Stops>,
    /// The recording, where one is made. It hands out the same ids, as it is given the same rows in
    /// the same order.
    writer: Option<Writer>,
    /// What is shown.
    pub show: Show,
    /// What is shown and was not read yet.
    unread: Unread,
    /// The reader of standard output went away: nothing is shown any more.
    pub closed: bool,
}

impl TraceSink {
    /// One that shows, and perhaps records.
    pub fn new(show: Show, writer: Option<Writer>) -> Self {
        let stops = show.is_of_stops().then(Stops::default);
        Self { names: Recording::new(), stops, writer, show, unread: Unread::default(), closed: false }
    }

    /// Takes it apart: names, the longest stops, recording, what was shown, and what of it was not
    /// read yet.
    pub fn end(mut self) -> (Recording, Vec<Stop>, Option<Writer>, Show, Unread) {
        let stops = self.stops.map(|stops| stops.longest(&mut self.names)).unwrap_or_default();
        (self.names, stops, self.writer, self.show, self.unread)
    }

    /// Writes what is ready to standard output, as far as it is read.
    fn put_out(&mut self) -> io::Result<()> {
        self.unread.add(&self.show.take_text());
        self.unread.write()
    }
}

impl Output for TraceSink {
    fn checkpoint(&mut self) -> Result<(), RecordingError> {
        if let Err(cause) = self.put_out() {
            self.closed = true;
            return Err(RecordingError::Io { path: "standard output".into(), cause });
        }
        self.writer.as_mut().map_or(Ok(()), Writer::checkpoint)
    }
}

impl Sink for TraceSink {
    fn add_source(&mut self, source: Source) -> SourceId {
        if let Some(writer) = &mut self.writer {
            writer.add_source(source.clone());
        }
        self.names.add_source(source)
    }

    fn source_mut(&mut self, id: SourceId) -> &mut Source {
        match &mut self.writer {
            Some(writer) => writer.source_mut(id),
            None => self.names.source_mut(id),
        }
    }

    fn add_process(&mut self, process: Process) -> ProcessId {
        if let Some(writer) = &mut self.writer {
            writer.add_process(process.clone());
        }
        self.names.add_process(process)
    }

    fn process_mut(&mut self, id: ProcessId) -> &mut Process {
        match &mut self.writer {
            Some(writer) => writer.process_mut(id),
            None => self.names.process_mut(id),
        }
    }

    fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
        if let Some(writer) = &mut self.writer {
            writer.thread(process, tid, name, role);
        }
        self.names.thread(process, tid, name, role)
    }

    fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
        if let Some(writer) = &mut self.writer {
            writer.rename_thread(id, name, role);
        }
        self.names.rename_thread(id, name, role);
    }

    fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
        self.show.span(row, &self.names);
        if let Some(stops) = &mut self.stops {
            stops.keep(row, &mut self.names);
        }
        self.writer.as_mut().map_or(SpanId(0), |writer| writer.span(row))
    }

    fn count(&mut self, row: &CountRow<'_>) {
        if let Some(writer) = &mut self.writer {
            writer.count(row);
        }
    }

    fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
        match &mut self.writer {
            Some(writer) => writer.add_series(info),
            None => self.names.add_series(info),
        }
    }

    fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
        if let Some(writer) = &mut self.writer {
            writer.point(series, t_ns, dt_ns, value);
        }
    }

    fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
        if let Some(writer) = &mut self.writer {
            writer.frame(name, module, frame_type, line);
        }
        self.names.frame(name, module, frame_type, line)
    }

    fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
        if let Some(writer) = &mut self.writer {
            writer.stack(parent, frame);
        }
        self.names.stack(parent, frame)
    }

    fn sample(&mut self, row: &SampleRow<'_>) {
        self.show.sample(row, &self.names);
        if let Some(writer) = &mut self.writer {
            writer.sample(row);
        }
    }
}
