//! The text that `perf script` prints, with any fields (`-F`) that include the time.
//!
//! Symbols are those that perf found: for compiled Java code from `/tmp/perf-PID.map` (`jcmd PID
//! Compiler.perfmap` just before the recording ends) or an agent. perf's timestamps are of the
//! kernel's clock since boot: use `--align` to place them among other inputs, unless they were
//! recorded with `-k CLOCK_REALTIME`.

mod frame;
mod header;

use fathom_recording::quantity::whole;
use std::collections::BTreeMap;

use fathom_recording::vocabulary::sample;
use fathom_recording::{
    Check, ClockBasis, FrameId, FrameType, Process, ProcessId, Role, SampleRow, Sink, Source, SourceId,
    StackId,
};

use self::header::Header;
use crate::{Confidence, Format, IngestError, Input, Tally};

/// The reader of `perf script`'s output.
pub(crate) struct PerfScript;

const ID: &str = "perf-script";

/// How many lines of the head are looked at to recognise the format.
const SNIFFED: usize = 400;
/// Frames of a stack that are kept, the innermost ones. perf itself stops at 127, at more only on
/// request.
const DEEPEST: usize = 4096;
/// Timestamps from here on are seconds since the epoch: no machine is up for 30 years.
const SINCE_EPOCH_NS: i64 = 1_000_000_000_000_000_000;

impl Format for PerfScript {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "perf script: samples of any event with their stacks, Java frames by perf-PID.map; on perf's own clock"
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let (mut headers, mut frames, mut others) = (0u32, 0u32, 0u32);
        for line in head.split(|b| *b == b'\n').filter(|l| !l.trim_ascii().is_empty()).take(SNIFFED) {
            let text = String::from_utf8_lossy(line);
            if text.starts_with('#') {
                continue;
            }
            match header::parse(&text) {
                Some(header) if !header.event.is_empty() || header.rest.is_empty() => headers += 1,
                _ if text.starts_with(['\t', ' ']) && frame::parse(&text).is_some() => frames += 1,
                _ => others += 1,
            }
        }
        let surely = headers > 0 && headers + frames >= 3 * others;
        Confidence(match (surely, frames > 0) {
            (true, true) => 85,
            (true, false) => 50,
            (false, _) => 0,
        })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut out: Option<Out<'_>> = None;
        let mut sink = Some(sink);
        let mut tally = Tally::default();
        while let Some(line) = input.lines.next() {
            let text = String::from_utf8_lossy(line.bytes);
            if text.trim().is_empty() || text.starts_with('#') {
                if let Some(out) = &mut out {
                    out.write();
                }
                continue;
            }
            if let Some(header) = header::parse(&text) {
                if let Some(sink) = sink.take() {
                    out = Some(Out::new(sink, &input.name));
                }
                if let Some(out) = &mut out {
                    out.begin(&header);
                }
            } else if let (Some(out), true) = (&mut out, text.starts_with(['\t', ' '])) {
                // Lines of source between the frames are known and not used.
                if let Some(frame) = frame::parse(&text) {
                    out.frame(&frame);
                }
            } else {
                tally.unknown(line.number, line.bytes);
            }
        }
        let Some(out) = out else {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        };
        out.finish(tally, input.lines.ends_in_line());
        Ok(())
    }
}

/// A sample whose frames are still coming, the innermost first.
struct Open {
    comm: String,
    pid: Option<i64>,
    tid: Option<i64>,
    t_ns: i64,
    kind: &'static str,
    weight: i64,
    frames: Vec<FrameId>,
    deeper: bool,
}

/// Writes samples.
struct Out<'s> {
    sink: &'s mut dyn Sink,
    source: SourceId,
    name: String,
    /// By process id, where it is known; all others are under `None`.
    processes: BTreeMap<Option<i64>, ProcessId>,
    open: Option<Open>,
    covers_ns: Option<(i64, i64)>,
    /// Processes whose maps of compiled code name frames.
    maps: BTreeMap<i64, u64>,
    samples: u64,
    frames: u64,
    unknown: u64,
}

impl<'s> Out<'s> {
    fn new(sink: &'s mut dyn Sink, name: &str) -> Self {
        let source =
            sink.add_source(Source { name: name.to_owned(), format: ID.to_owned(), ..Source::default() });
        Self {
            sink,
            source,
            name: name.to_owned(),
            processes: BTreeMap::new(),
            open: None,
            covers_ns: None,
            maps: BTreeMap::new(),
            samples: 0,
            frames: 0,
            unknown: 0,
        }
    }

    fn begin(&mut self, header: &Header<'_>) {
        self.write();
        let (kind, weight) = kind_of(header);
        self.open = Some(Open {
            comm: header.comm.to_owned(),
            pid: header.pid,
            tid: header.tid,
            t_ns: header.t_ns,
            kind,
            weight,
            frames: Vec::new(),
            deeper: false,
        });
        if let Some(frame) = frame::parse(header.rest).filter(|_| !header.rest.is_empty()) {
            self.frame(&frame);
        }
    }

    fn frame(&mut self, frame: &frame::Read<'_>) {
        let Some(open) = &mut self.open else { return };
        self.frames += 1;
        self.unknown += u64::from(frame.name == "[unknown]");
        if let Some(pid) = frame.pid {
            *self.maps.entry(pid).or_default() += 1;
            open.pid = open.pid.or(Some(pid));
        }
        if open.frames.len() < DEEPEST {
            open.frames.push(self.sink.frame(&frame.name, frame.module, frame.frame_type, -1));
        } else {
            open.deeper = true;
        }
    }

    fn write(&mut self) {
        let Some(open) = self.open.take() else { return };
        self.samples += 1;
        let process = self.process(open.pid);
        let role = Role::of_named(&open.comm, Some(false));
        let thread = Some(self.sink.thread(process, open.tid.filter(|tid| *tid > 0), &open.comm, role));
        let mut stack: Option<StackId> = None;
        if open.deeper {
            let truncated = fathom_recording::vocabulary::frame::cut("depth");
            let truncated = self.sink.frame(&truncated, "", FrameType::Unknown, -1);
            stack = Some(self.sink.stack(stack, truncated));
        }
        for frame in open.frames.into_iter().rev() {
            stack = Some(self.sink.stack(stack, frame));
        }
        let (from, to) = self.covers_ns.unwrap_or((open.t_ns, open.t_ns));
        self.covers_ns = Some((from.min(open.t_ns), to.max(open.t_ns)));
        self.sink.sample(&SampleRow {
            kind: open.kind,
            t_ns: open.t_ns,
            process,
            thread,
            stack,
            weight: open.weight,
            source: self.source,
        });
    }

    fn process(&mut self, pid: Option<i64>) -> ProcessId {
        if let Some(known) = self.processes.get(&pid) {
            return *known;
        }
        let name = pid.map_or_else(|| self.name.clone(), |pid| format!("pid {pid}"));
        let process = self.sink.add_process(Process { pid, name, ..Process::default() });
        self.processes.insert(pid, process);
        process
    }

    fn finish(mut self, tally: Tally, truncated: bool) {
        self.write();
        // The process that the file is of: the one whose compiled code occurred most, otherwise the
        // only one.
        let main = self.maps.iter().max_by_key(|(_, frames)| **frames).map(|(pid, _)| Some(*pid));
        let only = || (self.processes.len() == 1).then(|| self.processes.keys().next().copied()).flatten();
        let main = main.or_else(only).and_then(|pid| self.processes.get(&pid).copied());
        for (pid, process) in &self.processes {
            let is_jvm = pid.is_some_and(|pid| self.maps.contains_key(&pid));
            self.sink.process_mut(*process).jvm = is_jvm;
        }
        let epoch = self.covers_ns.is_some_and(|(from, _)| from >= SINCE_EPOCH_NS);
        let check = Check {
            claim: "frames have names".to_owned(),
            holds: self.unknown * 10 <= self.frames,
            detail: format!("{} of {} frames are [unknown]", whole(self.unknown), whole(self.frames)),
        };
        let source = self.sink.source_mut(self.source);
        source.process = main.map(|process| process.0);
        source.clock = if epoch { ClockBasis::Epoch } else { ClockBasis::SinceStart };
        source.covers_ns = self.covers_ns;
        source.cut = truncated;
        source.checks = vec![check];
        tally.add_to(source);
        source.records += self.samples;
    }
}

/// The kind and weight of a sample: perf's software clocks count nanoseconds, everything else
/// events.
fn kind_of(header: &Header<'_>) -> (&'static str, i64) {
    let period = header.period.filter(|n| *n > 0);
    match (header.event, period) {
        ("cpu-clock" | "task-clock", Some(ns)) => (sample::CPU, ns),
        // With the modifiers that perf appends: ":u" for user mode, ":P" for as precise as
        // possible.
        (event, Some(n)) if matches!(event.split(':').next(), Some("cycles" | "cpu-cycles")) => {
            (sample::CYCLES, n)
        }
        ("page-faults" | "faults" | "minor-faults" | "major-faults", period) => {
            (sample::PAGE_FAULT, period.unwrap_or(1))
        }
        (_, period) => (sample::EVENT, period.unwrap_or(1)),
    }
}

#[cfg(test)]
mod tests;
