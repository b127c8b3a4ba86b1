//! Repeats a recording with its rows shifted in time, to measure what an hour of the same service
//! costs.
//!
//!     cargo run --release -p fathom-recording --example repeat_recording -- run.fathom 55
//!     hour.fathom
//!
//! Processes, threads, stacks and series are the same ones in each repetition, and spans that last
//! longer than the recording are truncated at its end, so that the rows are those of one service
//! that goes on. Clocks and facts stay as they are.

use std::path::Path;
use std::process::ExitCode;

use fathom_recording::{
    CountRow, Overwrite, Recording, SampleRow, Sink, SpanId, SpanRow, StackId, Writer, open,
};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, times, to] = args.as_slice() else {
        eprintln!("usage: repeat_recording NAME.fathom TIMES NEW.fathom");
        return ExitCode::from(2);
    };
    let times: i64 = times.parse().expect("how often");
    let recording = open(Path::new(from)).expect("a recording");
    let mut writer = Writer::create(Path::new(to), Overwrite::Recording).expect("writable");
    let (first_ns, last_ns) = recording.covers_ns().expect("something in it");
    let each_ns = last_ns - first_ns;
    for process in &recording.processes {
        writer.add_process(process.clone());
    }
    for source in &recording.sources {
        let mut source = source.clone();
        source.covers_ns = source.covers_ns.map(|(from, to)| (from, to + (times - 1) * each_ns));
        writer.add_source(source);
    }
    let text = |id| recording.strings.get(id);
    let threads: Vec<_> =
        (recording.threads.iter()).map(|t| writer.thread(t.process, t.tid, text(t.name), t.role)).collect();
    let mut stacks: Vec<StackId> = Vec::new();
    for node in &recording.stacks {
        let frame = &recording.frames[node.frame.index()];
        let frame = writer.frame(text(frame.name), text(frame.module), frame.frame_type, frame.line);
        stacks.push(writer.stack(node.parent.map(|parent| stacks[parent.index()]), frame));
    }
    let series: Vec<_> =
        recording.series.iter().map(|series| writer.add_series(series.info.clone())).collect();
    let mut spans_written = 0_u32;
    for time in 0..times {
        let shift_ns = time * each_ns;
        rows(&recording, &mut writer, (&threads, &stacks), (shift_ns, last_ns), &mut spans_written);
        for (id, series) in series.iter().zip(&recording.series) {
            let points = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
            for ((t_ns, dt_ns), value) in points {
                writer.point(*id, t_ns + shift_ns, *dt_ns, *value);
            }
        }
        writer.checkpoint().expect("written");
    }
    let samples = times as usize * recording.samples.len();
    writer.finish().expect("written");
    println!("{:.0} s: {spans_written} spans, {samples} samples", (times * each_ns) as f64 / 1e9);
    ExitCode::SUCCESS
}

/// Spans, counts and samples of one repetition.
fn rows(
    recording: &Recording,
    writer: &mut Writer,
    (threads, stacks): (&[fathom_recording::ThreadId], &[StackId]),
    (shift_ns, last_ns): (i64, i64),
    spans_written: &mut u32,
) {
    let before = *spans_written;
    for i in 0..recording.spans.len() as u32 {
        let row = recording.span_at(SpanId(i));
        let (figures, labels): (Vec<_>, Vec<_>) = (row.figures().collect(), row.labels().collect());
        writer.span(&SpanRow {
            kind: row.kind(),
            name: row.name(),
            t0_ns: row.t0_ns().min(last_ns) + shift_ns,
            t1_ns: row.t1_ns().min(last_ns) + shift_ns,
            process: row.process(),
            thread: row.thread().map(|thread| threads[thread.index()]),
            stack: row.stack().map(|stack| stacks[stack.index()]),
            source: row.source(),
            line: row.line(),
            key: row.key(),
            parent: row.parent().filter(|parent| parent.0 < i).map(|parent| SpanId(before + parent.0)),
            figures: &figures,
            labels: &labels,
        });
        *spans_written += 1;
    }
    for row in recording.count_kinds().into_iter().flat_map(|(kind, _)| recording.counts_of(kind)) {
        let figures: Vec<_> = row.figures().collect();
        let interval = (row.t0_ns() + shift_ns, row.t1_ns() + shift_ns);
        writer.count(&CountRow {
            thread: row.thread().map(|thread| threads[thread.index()]),
            key: row.key(),
            total_ns: row.total_ns(),
            figures: &figures,
            ..CountRow::new(row.kind(), row.name(), interval, row.process(), row.source(), row.count())
        });
    }
    for sample in recording.samples.iter() {
        writer.sample(&SampleRow {
            kind: recording.strings.get(sample.kind),
            t_ns: sample.t_ns + shift_ns,
            process: sample.process,
            thread: sample.thread.map(|thread| threads[thread.index()]),
            stack: sample.stack.map(|stack| stacks[stack.index()]),
            weight: sample.weight,
            source: sample.source,
        });
    }
}
