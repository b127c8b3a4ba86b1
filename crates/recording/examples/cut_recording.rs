//! Copies an interval out of a recording, for fixtures that are small enough to be kept with a
//! test.
//!
//!     cargo run --release -p fathom-recording --example cut_recording -- run.fathom small.fathom
//!     10 24 \
//!         lock.wait syscall=1000 sched.off-cpu=200
//!
//! FROM and TO are seconds from the start of the recording; spans that extend beyond them are
//! truncated there. A kind that is named is left out, of spans, counts and samples; with `=US` only
//! its spans that are shorter than this many microseconds are. Series without a point in the
//! interval are left out, and so are stacks that nothing refers to. The fixture's README must say
//! what was left out: sums over the fixture are no longer those of the run.

use std::path::Path;
use std::process::ExitCode;

use fathom_recording::{
    CountRow, Overwrite, Recording, SampleRow, Sink, SpanId, SpanRow, StackId, ThreadId, Writer, open,
};
use rustc_hash::FxHashMap;

/// What is left out: kinds, with the length in microseconds from which their spans are kept.
type LeftOut = Vec<(String, Option<f64>)>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [from, to, from_s, to_s, left_out @ ..] = args.as_slice() else {
        eprintln!("usage: cut_recording NAME.fathom NEW.fathom FROM_S TO_S [KIND | KIND=US …]");
        return ExitCode::from(2);
    };
    let recording = open(Path::new(from)).expect("a recording");
    let writer = Writer::create(Path::new(to), Overwrite::Recording).expect("writable");
    let zero_ns = recording.sources.iter().filter_map(|source| source.covers_ns).map(|c| c.0).min();
    let zero_ns = zero_ns.or(recording.covers_ns().map(|c| c.0)).expect("something in it");
    let at = |text: &String| zero_ns + (text.parse::<f64>().expect("seconds") * 1e9) as i64;
    let left_out = left_out.iter().map(|text| match text.split_once('=') {
        Some((kind, us)) => (kind.to_owned(), Some(us.parse().expect("microseconds"))),
        None => (text.clone(), None),
    });
    let cut = Cut {
        recording: &recording,
        writer,
        window: (at(from_s), at(to_s)),
        left_out: left_out.collect(),
        stacks: FxHashMap::default(),
    };
    cut.write();
    ExitCode::SUCCESS
}

/// A recording while it is reduced to a smaller one.
struct Cut<'a> {
    recording: &'a Recording,
    writer: Writer,
    window: (i64, i64),
    left_out: LeftOut,
    /// Stacks that are referred to: their new ids by their old ones.
    stacks: FxHashMap<StackId, StackId>,
}

impl Cut<'_> {
    fn write(mut self) {
        let (from, to) = self.window;
        for process in &self.recording.processes {
            self.writer.add_process(process.clone());
        }
        for source in &self.recording.sources {
            let mut source = source.clone();
            source.covers_ns = source.covers_ns.map(|(a, b)| (a.clamp(from, to), b.clamp(from, to)));
            self.writer.add_source(source);
        }
        let text = |id| self.recording.strings.get(id);
        let threads = self.recording.threads.iter();
        let threads: Vec<_> =
            threads.map(|t| self.writer.thread(t.process, t.tid, text(t.name), t.role)).collect();
        for series in &self.recording.series {
            let points = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
            let mut within = points.filter(|((t, dt), _)| **t >= from && **t + **dt <= to).peekable();
            if within.peek().is_none() {
                continue;
            }
            let id = self.writer.add_series(series.info.clone());
            within.for_each(|((t, dt), value)| self.writer.point(id, *t, *dt, *value));
        }
        let (spans, counts, samples) = (self.spans(&threads), self.counts(&threads), self.samples(&threads));
        self.writer.finish().expect("written");
        println!("{:.1} s: {spans} spans, {counts} counts, {samples} samples", (to - from) as f64 / 1e9);
    }

    fn is_left_out(&self, kind: &str, ns: i64) -> bool {
        let mut named = self.left_out.iter().filter(|(name, _)| name == kind);
        named.any(|(_, us)| us.is_none_or(|us| (ns as f64) < us * 1e3))
    }

    fn spans(&mut self, threads: &[ThreadId]) -> u32 {
        let recording = self.recording;
        let (from, to) = self.window;
        let mut placed: FxHashMap<SpanId, SpanId> = FxHashMap::default();
        for i in 0..recording.spans.len() as u32 {
            let row = recording.span_at(SpanId(i));
            let is_outside = row.t1_ns() < from || row.t0_ns() > to;
            if is_outside || self.is_left_out(row.kind(), row.duration_ns()) {
                continue;
            }
            let (figures, labels): (Vec<_>, Vec<_>) = (row.figures().collect(), row.labels().collect());
            let stack = row.stack().map(|stack| self.stack(stack));
            self.writer.span(&SpanRow {
                kind: row.kind(),
                name: row.name(),
                t0_ns: row.t0_ns().clamp(from, to),
                t1_ns: row.t1_ns().clamp(from, to),
                process: row.process(),
                thread: row.thread().map(|thread| threads[thread.index()]),
                stack,
                source: row.source(),
                line: row.line(),
                key: row.key(),
                parent: row.parent().and_then(|parent| placed.get(&parent).copied()),
                figures: &figures,
                labels: &labels,
            });
            placed.insert(SpanId(i), SpanId(placed.len() as u32));
        }
        placed.len() as u32
    }

    /// Those of which the whole interval is within: counts of a part are not known.
    fn counts(&mut self, threads: &[ThreadId]) -> u32 {
        let recording = self.recording;
        let mut written = 0;
        for row in recording.count_kinds().into_iter().flat_map(|(kind, _)| recording.counts_of(kind)) {
            let is_within = row.t0_ns() >= self.window.0 && row.t1_ns() <= self.window.1;
            if !is_within || self.is_left_out(row.kind(), 0) {
                continue;
            }
            let figures: Vec<_> = row.figures().collect();
            let interval = (row.t0_ns(), row.t1_ns());
            self.writer.count(&CountRow {
                thread: row.thread().map(|thread| threads[thread.index()]),
                key: row.key(),
                total_ns: row.total_ns(),
                figures: &figures,
                ..CountRow::new(row.kind(), row.name(), interval, row.process(), row.source(), row.count())
            });
            written += 1;
        }
        written
    }

    fn samples(&mut self, threads: &[ThreadId]) -> u32 {
        let recording = self.recording;
        let mut written = 0;
        for sample in recording.samples.iter() {
            let kind = recording.strings.get(sample.kind);
            let is_within = (self.window.0..=self.window.1).contains(&sample.t_ns);
            if !is_within || self.is_left_out(kind, 0) {
                continue;
            }
            let stack = sample.stack.map(|stack| self.stack(stack));
            self.writer.sample(&SampleRow {
                kind,
                t_ns: sample.t_ns,
                process: sample.process,
                thread: sample.thread.map(|thread| threads[thread.index()]),
                stack,
                weight: sample.weight,
                source: sample.source,
            });
            written += 1;
        }
        written
    }

    /// A stack with its callers, which come first.
    fn stack(&mut self, stack: StackId) -> StackId {
        let mut nodes = Vec::new();
        let mut at = Some(stack);
        while let Some(id) = at.filter(|id| !self.stacks.contains_key(id)) {
            nodes.push(id);
            at = self.recording.stacks[id.index()].parent;
        }
        for id in nodes.into_iter().rev() {
            let node = &self.recording.stacks[id.index()];
            let frame = &self.recording.frames[node.frame.index()];
            let [name, module] = [frame.name, frame.module].map(|text| self.recording.strings.get(text));
            let frame = self.writer.frame(name, module, frame.frame_type, frame.line);
            let written = self.writer.stack(node.parent.map(|parent| self.stacks[&parent]), frame);
            self.stacks.insert(id, written);
        }
        self.stacks[&stack]
    }
}
