//! Rows of any table with any values, and a recording as text to compare what came of them.

use proptest::prelude::*;

use super::super::Writer;
use crate::*;

/// Everything in a recording as text, whatever the ids of its strings.
pub(super) fn rows_of(recording: &Recording) -> Vec<String> {
    let mut lines = Vec::new();
    let text = |id: StrId| recording.strings.get(id);
    lines.extend(recording.processes.iter().map(|p| format!("{p:?}")));
    lines.extend(recording.sources.iter().map(|s| format!("{s:?}")));
    lines.extend(recording.threads.iter().map(|t| format!("{t:?} {}", text(t.name))).map(without_ids));
    let frame = |f: &Frame| format!("{:?} {} {} {}", f.frame_type, text(f.name), text(f.module), f.line);
    lines.extend(recording.frames.iter().map(frame));
    lines.extend(recording.stacks.iter().map(|s| format!("{s:?}")));
    lines.extend(recording.series.iter().map(|s| format!("{s:?}")));
    for i in 0..recording.spans.len() {
        let span = recording.span_at(SpanId(i as u32));
        lines.push(format!(
            "{} {} {} {} {:?} {:?} {:?} {} {} {:?} {:?} {:?}",
            span.kind(),
            span.name(),
            span.t0_ns(),
            span.t1_ns(),
            span.process(),
            span.thread(),
            span.source(),
            span.line(),
            span.key(),
            span.parent(),
            span.figures().collect::<Vec<_>>(),
            span.labels().collect::<Vec<_>>(),
        ));
    }
    for (kind, _) in recording.count_kinds() {
        lines.extend(recording.counts_of(kind).map(|count| format!("{count:?}")));
    }
    for s in recording.samples.iter() {
        let row = (s.t_ns, text(s.kind), s.process, s.thread, s.stack, s.weight, s.source);
        lines.push(format!("{row:?}"));
    }
    lines.push(format!("{:?} {:?}", recording.kinds(), recording.covers_ns()));
    lines
}

fn without_ids(line: String) -> String {
    let digits = |c: char| !c.is_ascii_digit();
    match line.split_once("StrId(") {
        Some((head, tail)) => format!("{head}{}", tail.trim_start_matches(|c| !digits(c))),
        None => line,
    }
}

/// One row for any table; numbers are taken modulo the rows that there are.
#[derive(Clone, Debug)]
pub(super) enum Row {
    Process(Option<i64>, String, bool, Vec<(String, String)>),
    Source(String, Option<i64>, u64),
    Thread(u32, Option<i64>, String),
    Frame(String, i32),
    Stack(Option<u32>, u32),
    Series(String, Option<u32>),
    Point(u32, i64, f64),
    Sample(i64, Option<u32>, Option<u32>, i64),
    Span(i64, i64, u64, Option<u32>, Vec<(u8, f64)>, Vec<(u8, String)>),
    Count(i64, i64, u64, Option<u64>, Option<u32>, Vec<f64>),
}

pub(super) fn row() -> impl Strategy<Value = Row> {
    use proptest::option::of;
    let figures = prop::collection::vec((any::<u8>(), -1e300..1e300), 0..4);
    let labels = prop::collection::vec((any::<u8>(), ".{0,8}"), 0..3);
    let number = 0..=i64::MAX as u64;
    let numbers = prop::collection::vec(-1e300..1e300, 0..4);
    let facts = prop::collection::vec(("[a-z]{1,4}", ".{0,8}"), 0..4);
    prop_oneof![
        1 => (of(any::<i64>()), ".{0,8}", any::<bool>(), facts).prop_map(|(a, b, c, d)| Row::Process(a, b, c, d)),
        1 => (".{0,8}", of(any::<i64>()), any::<u64>()).prop_map(|(a, b, c)| Row::Source(a, b, c)),
        2 => (any::<u32>(), of(any::<i64>()), ".{0,8}").prop_map(|(a, b, c)| Row::Thread(a, b, c)),
        3 => ("[a-z.]{0,9}", any::<i32>()).prop_map(|(a, b)| Row::Frame(a, b)),
        3 => (of(any::<u32>()), any::<u32>()).prop_map(|(a, b)| Row::Stack(a, b)),
        1 => (".{0,8}", of(any::<u32>())).prop_map(|(a, b)| Row::Series(a, b)),
        4 => (any::<u32>(), any::<i64>(), any::<f64>()).prop_map(|(a, b, c)| Row::Point(a, b, c)),
        5 => (any::<i64>(), of(any::<u32>()), of(any::<u32>()), any::<i64>())
            .prop_map(|(a, b, c, d)| Row::Sample(a, b, c, d)),
        8 => (any::<i64>(), any::<i64>(), 0..i64::MAX as u64, of(any::<u32>()), figures, labels)
            .prop_map(|(a, b, c, d, e, f)| Row::Span(a, b, c, d, e, f)),
        6 => (any::<i64>(), any::<i64>(), number.clone(), of(number), of(any::<u32>()), numbers)
            .prop_map(|(a, b, c, d, e, f)| Row::Count(a, b, c, d, e, f)),
    ]
}

/// How many rows of each table there are, so that references can be made valid.
#[derive(Default)]
struct Sizes {
    threads: u32,
    frames: u32,
    stacks: u32,
    series: u32,
    spans: u32,
}

const WORDS: [&str; 5] = ["gc.pause", "safepoint", "jit.compile", "", "ünïcode"];

/// Plays rows into a sink that has a process and a source.
fn play(rows: &[Row], sink: &mut dyn Sink) {
    let process = sink.add_process(Process { name: "Main".into(), jvm: true, ..Process::default() });
    let source = sink.add_source(Source { name: "gc.log".into(), process: Some(0), ..Source::default() });
    let mut n = Sizes::default();
    let modulo = |id: Option<u32>, rows: u32| id.filter(|_| rows > 0).map(|id| id % rows);
    for row in rows {
        match row {
            Row::Process(pid, name, jvm, facts) => {
                let facts = facts.iter().cloned().collect();
                sink.add_process(Process { pid: *pid, name: name.clone(), jvm: *jvm, facts });
            }
            Row::Source(name, offset, count) => add_source(sink, name, *offset, *count),
            Row::Thread(role, tid, name) => {
                let role = [Role::App, Role::Gc, Role::Jit, Role::Vm, Role::Other][*role as usize % 5];
                n.threads = n.threads.max(sink.thread(process, *tid, name, role).0 + 1);
            }
            Row::Frame(name, line) => {
                n.frames = n.frames.max(sink.frame(name, "libjvm.so", FrameType::C2, *line).0 + 1);
            }
            Row::Stack(parent, frame) => {
                if let Some(frame) = modulo(Some(*frame), n.frames) {
                    let parent = modulo(*parent, n.stacks).map(StackId);
                    n.stacks = n.stacks.max(sink.stack(parent, FrameId(frame)).0 + 1);
                }
            }
            Row::Series(name, of) => {
                let process = of.map(|_| process);
                let (unit, instance) = ("ops/s".into(), "1".into());
                let info = SeriesInfo {
                    name: name.clone(),
                    unit,
                    instance,
                    kind: SeriesKind::Rate,
                    process,
                    source,
                };
                n.series = sink.add_series(info).0 + 1;
            }
            Row::Point(series, t_ns, value) => {
                if let Some(series) = modulo(Some(*series), n.series) {
                    sink.point(SeriesId(series), *t_ns, 1000, *value);
                }
            }
            Row::Sample(t_ns, thread, stack, weight) => sink.sample(&SampleRow {
                kind: "cpu",
                t_ns: *t_ns,
                process,
                thread: modulo(*thread, n.threads).map(ThreadId),
                stack: modulo(*stack, n.stacks).map(StackId),
                weight: *weight,
                source,
            }),
            Row::Count(t0_ns, t1_ns, number, total_ns, thread, figures) => {
                let names: Vec<String> = (0..4).map(|i| format!("key{i}")).collect();
                let figures: Vec<_> = figures.iter().zip(&names).map(|(f, k)| (k.as_str(), *f)).collect();
                sink.count(&CountRow {
                    kind: WORDS[*number as usize % WORDS.len()],
                    name: WORDS[*t0_ns as usize % WORDS.len()],
                    t0_ns: *t0_ns,
                    t1_ns: *t1_ns,
                    process,
                    thread: modulo(*thread, n.threads).map(ThreadId),
                    source,
                    key: *t1_ns % 7 - 1,
                    count: *number,
                    total_ns: *total_ns,
                    figures: &figures,
                });
            }
            Row::Span(t0_ns, t1_ns, line, link, figures, labels) => {
                let names: Vec<String> = (0..4).map(|i| format!("key{i}")).collect();
                let figures: Vec<_> = figures.iter().zip(&names).map(|(f, k)| (k.as_str(), f.1)).collect();
                let labels: Vec<_> =
                    labels.iter().zip(&names).map(|(l, k)| (k.as_str(), l.1.as_str())).collect();
                n.spans =
                    sink.span(&SpanRow {
                        kind: WORDS[*line as usize % WORDS.len()],
                        name: WORDS[*t0_ns as usize % WORDS.len()],
                        t0_ns: *t0_ns,
                        t1_ns: *t1_ns,
                        process,
                        thread: modulo(*link, n.threads).map(ThreadId),
                        stack: modulo(*link, n.stacks).map(StackId),
                        source,
                        line: *line,
                        key: *t1_ns % 7 - 1,
                        parent: modulo(*link, n.spans).map(SpanId),
                        figures: &figures,
                        labels: &labels,
                    })
                    .0 + 1;
            }
        }
    }
}

fn add_source(sink: &mut dyn Sink, name: &str, offset: Option<i64>, count: u64) {
    let checks = vec![Check { claim: name.into(), holds: count > 7, detail: "\"quoted\"".into() }];
    let unknown = vec![UnknownLine { line: count, text: name.into(), alike: count }];
    let anchor = offset.map(|zero_epoch_ns| Anchor { zero_epoch_ns, uncertainty_ns: 1, how: name.into() });
    let how = format!("how {name}");
    let id = sink.add_source(Source {
        name: name.into(),
        format: "unified-log".into(),
        clock: ClockBasis::JvmUptime,
        placement: Placement { wall: true, offset_ns: offset.unwrap_or(0), uncertainty_ns: offset, how },
        segments: vec![Segment { name: name.into(), first_line: 1 }],
        cut: offset.is_some(),
        covers_ns: offset.map(|o| (o, o)),
        ..Source::default()
    });
    let source = sink.source_mut(id);
    (source.records, source.checks, source.unknown, source.anchor) = (count >> 1, checks, unknown, anchor);
}

pub(super) fn recording_of(rows: &[Row]) -> Recording {
    let mut recording = Recording::new();
    play(rows, &mut recording);
    recording.seal();
    recording
}

/// Plays rows and flushes after every few of them and at the end.
pub(super) fn play_flushing(rows: &[Row], writer: &mut Writer, every: usize) {
    struct Flushing<'a>(&'a mut Writer, usize, usize);
    impl Flushing<'_> {
        fn added(&mut self) {
            self.1 += 1;
            if self.1.is_multiple_of(self.2) {
                self.0.flush().unwrap();
            }
        }
    }
    impl Sink for Flushing<'_> {
        fn add_source(&mut self, source: Source) -> SourceId {
            self.0.add_source(source)
        }
        fn source_mut(&mut self, id: SourceId) -> &mut Source {
            self.0.source_mut(id)
        }
        fn add_process(&mut self, process: Process) -> ProcessId {
            self.0.add_process(process)
        }
        fn process_mut(&mut self, id: ProcessId) -> &mut Process {
            self.0.process_mut(id)
        }
        fn thread(&mut self, process: ProcessId, tid: Option<i64>, name: &str, role: Role) -> ThreadId {
            self.0.thread(process, tid, name, role)
        }
        fn rename_thread(&mut self, id: ThreadId, name: &str, role: Role) {
            self.0.rename_thread(id, name, role);
        }
        fn span(&mut self, row: &SpanRow<'_>) -> SpanId {
            self.added();
            self.0.span(row)
        }
        fn count(&mut self, row: &CountRow<'_>) {
            self.added();
            self.0.count(row);
        }
        fn add_series(&mut self, info: SeriesInfo) -> SeriesId {
            self.0.add_series(info)
        }
        fn point(&mut self, series: SeriesId, t_ns: i64, dt_ns: i64, value: f64) {
            self.added();
            self.0.point(series, t_ns, dt_ns, value);
        }
        fn frame(&mut self, name: &str, module: &str, frame_type: FrameType, line: i32) -> FrameId {
            self.0.frame(name, module, frame_type, line)
        }
        fn stack(&mut self, parent: Option<StackId>, frame: FrameId) -> StackId {
            self.0.stack(parent, frame)
        }
        fn sample(&mut self, row: &SampleRow<'_>) {
            self.added();
            self.0.sample(row);
        }
    }
    play(rows, &mut Flushing(writer, 0, every));
    writer.flush().unwrap();
}
