//! The writer of one run of a JVM: the sink, with the run's source and process.

use fathom_recording::clock::ClockBasis;
use fathom_recording::vocabulary::kind;
use fathom_recording::vocabulary::series::CODE_CACHE_USED;
use fathom_recording::{
    Process, ProcessId, Role, SeriesId, SeriesInfo, SeriesKind, Sink, Source, SourceId, SpanId, SpanRow,
    ThreadId,
};

/// The sink of one run. Source and process are created with the first record, so that a file
/// without records leaves nothing behind.
pub(super) struct Out<'s> {
    sink: &'s mut dyn Sink,
    file: String,
    /// The number of the run in the file, 1-based.
    run: u32,
    ids: Option<(SourceId, ProcessId)>,
    /// First and last timestamp of a record.
    covers_ns: Option<(i64, i64)>,
    /// Records written.
    pub(super) records: u64,
}

impl<'s> Out<'s> {
    pub(super) fn new(sink: &'s mut dyn Sink, file: &str) -> Self {
        Self { sink, file: file.to_owned(), run: 1, ids: None, covers_ns: None, records: 0 }
    }

    /// Prepares for the next run of the JVM in the same file.
    pub(super) fn next_run(&mut self) {
        self.run += u32::from(self.ids.is_some());
        self.ids = None;
        self.covers_ns = None;
        self.records = 0;
    }

    /// Whether there is a source for this run.
    pub(super) fn has_source(&self) -> bool {
        self.ids.is_some()
    }

    fn ids(&mut self) -> (SourceId, ProcessId) {
        if let Some(ids) = self.ids {
            return ids;
        }
        let name = if self.run == 1 { self.file.clone() } else { format!("{} #{}", self.file, self.run) };
        let process = Process { name: name.clone(), jvm: true, ..Process::default() };
        let process = self.sink.add_process(process);
        let source = self.sink.add_source(Source {
            name,
            format: super::ID.to_owned(),
            process: Some(process.0),
            clock: ClockBasis::JvmUptime,
            ..Source::default()
        });
        self.ids = Some((source, process));
        (source, process)
    }

    pub(super) fn source(&mut self) -> &mut Source {
        let id = self.ids().0;
        self.sink.source_mut(id)
    }

    pub(super) fn process(&mut self) -> &mut Process {
        let id = self.ids().1;
        self.sink.process_mut(id)
    }

    pub(super) fn thread(&mut self, tid: i64, name: &str, role: Role) -> ThreadId {
        let process = self.ids().1;
        self.sink.thread(process, Some(tid), name, role)
    }

    /// A row of this run without content, to be filled.
    pub(super) fn row(&mut self) -> SpanRow<'static> {
        let (source, process) = self.ids();
        SpanRow::new("", "", (0, 0), process, source)
    }

    pub(super) fn put(&mut self, row: &SpanRow<'_>) -> SpanId {
        let (from, to) = self.covers_ns.unwrap_or((row.t0_ns, row.t1_ns));
        self.covers_ns = Some((from.min(row.t0_ns), to.max(row.t1_ns)));
        self.records += 1;
        self.sink.span(row)
    }

    /// A point of the code cache in use, bytes.
    pub(super) fn code_cache_used(&mut self, series: &mut Option<SeriesId>, t_ns: i64, bytes: f64) {
        let (source, process) = self.ids();
        let series = *series.get_or_insert_with(|| {
            self.sink.add_series(SeriesInfo {
                name: CODE_CACHE_USED.to_owned(),
                unit: "bytes".to_owned(),
                instance: String::new(),
                kind: SeriesKind::Gauge,
                process: Some(process),
                source,
            })
        });
        self.sink.point(series, t_ns, 0, bytes);
    }

    /// Sets the interval that the source covers: up to `last_ns`, from its first record on.
    pub(super) fn cover(&mut self, last_ns: i64) {
        let (from, to) = self.covers_ns.unwrap_or((last_ns, last_ns));
        let covers = (from, to.max(last_ns));
        self.source().covers_ns = Some(covers);
        let row = self.row();
        let name = self.source().name.clone();
        self.sink.span(&SpanRow { kind: kind::RUN, name: &name, t0_ns: covers.0, t1_ns: covers.1, ..row });
    }
}
