//! GC logs of JDK 6 to 8: what `-verbose:gc`, `-Xloggc` and the Print… flags write. JDK 1.4 and 5
//! mostly as well.
//!
//! ```text
//!   line ─▶ header? ─▶ stop? ─▶ detail of the last pause? ─▶ dump? ─▶ brackets ─▶ events ─▶ run ─▶ recording
//! ```
//!
//! | file | purpose |
//! |---|---|
//! | `brackets` | records by their nesting, across lines |
//! | `pause` | what a record's words mean |
//! | `details` | the phases that G1 prints after a record |
//! | `timestamp`, `numbers` | timestamps, seconds, sizes |
//! | `safepoints` | stopped lines and safepoint statistics |
//! | `header` | version, memory, flags |
//! | `dumps` | lines that are known and dropped |
//! | `run` | one JVM run: clock, spans, self-checks |
//!
//! Times: a timestamp before a pause is its start; before a concurrent phase or a stopped line it
//! is the end. With uptime in the log, its clock is the JVM's uptime, anchored where dates stand
//! next to it; with dates alone it is wall-clock time; without timestamps the rows are in order but
//! not in time: one follows the other.
//!
//! Lines of PrintCompilation in between are read as in PrintCompilation's own logs; warnings of the
//! JVM as well.
//!
//! Limits: sizes of free lists and heap dumps are not kept. Restarts are detected by uptime falling
//! back; in a log without uptime only by a second header.

mod brackets;
mod details;
pub(crate) mod dumps;
mod header;
mod numbers;
mod pause;
mod run;
pub(crate) mod safepoints;
pub(crate) mod timestamp;

use fathom_recording::{ClockBasis, Sink};
use memchr::memmem;

use self::brackets::{Brackets, Event};
use self::details::Details;
use self::header::Header;
use self::pause::Pause;
use self::run::Run;
use self::safepoints::{Row, StoppedLine, application_ns};
use self::timestamp::Timestamp;
use crate::jit::print_compilation::parse_line;
use crate::{Confidence, Format, IngestError, Input, Tally, jvm_warnings};

const ID: &str = "jdk8-gc-log";

/// The reader.
pub(crate) struct Jdk8GcLog;

impl Format for Jdk8GcLog {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "GC logs of JDK 6 to 8 (-verbose:gc, PrintGCDetails and related flags) of Serial, Parallel, CMS and G1, with \
         stopped times and safepoint statistics"
    }

    fn rotates(&self) -> bool {
        true
    }

    fn written_by_jvms(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let lines = head.split(|b| *b == b'\n').take(2000);
        lines.map(|line| sniff_line(line.trim_ascii())).max().unwrap_or(Confidence(0))
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut reader = Reader::new(&input.name, basis_of(input.lines.peek()));
        while let Some(line) = input.lines.next() {
            let (number, truncated) = (line.number, line.truncated);
            if reader.line(sink, number, line.bytes) == Known::No || truncated {
                reader.unknown(number, line.bytes);
            }
            reader.bytes_seen = input.lines.bytes();
        }
        let truncated =
            input.lines.ends_in_line() && reader.brackets.is_open() || input.lines.failure().is_some();
        let position = (input.lines.number(), input.lines.bytes());
        if reader.finish(sink, position, truncated) {
            Ok(())
        } else {
            Err(IngestError::Empty { path: input.name.clone().into(), format: ID })
        }
    }
}

/// How sure one line makes us.
fn sniff_line(line: &[u8]) -> Confidence {
    let (_, rest) = Timestamp::leading(line);
    let rest = rest
        .strip_prefix(b"#")
        .map_or(rest, |r| r.get(r.iter().position(|b| *b == b'[').unwrap_or(0)..).unwrap_or(r));
    let record = [&b"[GC"[..], b"[Full GC", b"[CMS-concurrent", b"[ParNew", b"[ASCMS-concurrent"];
    if record.iter().any(|start| rest.starts_with(start)) {
        return Confidence(90);
    }
    // "[Pause Init Mark, 3.3 ms]" of Shenandoah in forks of JDK 8.
    if rest.len() < line.len() && (rest.starts_with(b"[Pause ") || rest.starts_with(b"[Concurrent ")) {
        return Confidence(80);
    }
    if rest.starts_with(b"Total time for which application threads were stopped: ") {
        return Confidence(85);
    }
    if Row::parse(line).is_some() || line.starts_with(b"CommandLine flags: -XX:") {
        return Confidence(70);
    }
    if Header::starts(line) {
        return Confidence(50);
    }
    Confidence(0)
}

/// The clock of the first timestamps.
fn basis_of(head: &[u8]) -> ClockBasis {
    let mut found = ClockBasis::None;
    for line in head.split(|b| *b == b'\n').take(5000) {
        let stamp = Timestamp::leading(line).0;
        if stamp.uptime_ns.is_some() {
            return ClockBasis::JvmUptime;
        }
        if stamp.date_ns.is_some() {
            found = ClockBasis::Epoch;
        }
    }
    found
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Known {
    Yes,
    No,
}

impl From<bool> for Known {
    fn from(known: bool) -> Self {
        if known { Self::Yes } else { Self::No }
    }
}

struct Reader {
    name: String,
    basis: ClockBasis,
    run: Option<Run>,
    runs: u32,
    records: bool,
    brackets: Brackets,
    details: Details,
    /// The last completed pause, waiting for its times and details.
    pending: Option<Box<Pause>>,
    header: Option<Header>,
    /// A rotated file begins: its header is not a restart.
    rotated: bool,
    humongous_asked: bool,
    /// Lines not understood before the first run.
    early: Tally,
    /// Line being read, and bytes read when the current run began.
    at: (u64, u64),
    bytes_seen: u64,
}

impl Reader {
    fn new(name: &str, basis: ClockBasis) -> Self {
        Self {
            name: name.to_owned(),
            basis,
            run: None,
            runs: 0,
            records: false,
            brackets: Brackets::default(),
            details: Details::default(),
            pending: None,
            header: None,
            rotated: false,
            humongous_asked: false,
            early: Tally::default(),
            at: (1, 0),
            bytes_seen: 0,
        }
    }

    fn line(&mut self, sink: &mut dyn Sink, number: u64, line: &[u8]) -> Known {
        self.at.0 = number;
        let text = line.trim_ascii_start();
        let Some(&first) = text.first() else { return Known::Yes };
        if first == b'['
            && !self.brackets.is_open()
            && let Some(pause) = self.pending.as_deref_mut()
            && !text.starts_with(b"[Times")
            && self.details.line(pause, line)
        {
            return Known::Yes;
        }
        if let Some(known) = self.side_line(sink, number, text, first) {
            return known;
        }
        if self.brackets.is_open() {
            if let Some(pause) = self.brackets.open_pause()
                && pause.tenuring_line(text)
            {
                return Known::Yes;
            }
            if self.trouble(sink, number, text)
                || dumps::is_dump(text)
                || self.compiler_line(sink, number, line)
            {
                return Known::Yes;
            }
        }
        let known = self.brackets.feed(number, line);
        if !self.brackets.events.is_empty() {
            self.drain(sink);
        }
        if let Some(said) = jvm_warnings::limit_in(text) {
            self.this_run(sink).trouble(sink, number, &said);
        }
        if text.ends_with(b"seconds") && self.glued_stop(sink, number, text) || known {
            return Known::Yes;
        }
        self.leftover(sink, number, line, text)
    }

    /// A stopped line after something else on its line: "[CMS-concurrent-mark: …]Total time …", or
    /// after the timestamps of two threads that wrote at once.
    fn glued_stop(&mut self, sink: &mut dyn Sink, number: u64, text: &[u8]) -> bool {
        let Some(at) = memmem::find(text, b"Total time for which application") else {
            // Where there are timestamps, nothing is taken from the time between stops; but it is
            // not an unknown line.
            let at = memmem::find(text, b"Application time:");
            return at.is_some_and(|at| application_ns(&text[at..]).is_some());
        };
        let (before, rest) = text.split_at(at);
        let Some(stopped) = StoppedLine::parse(rest) else { return false };
        let leading = Timestamp::leading(before).0;
        let stamp = if leading.uptime_ns.is_some() { leading } else { Timestamp::trailing(before).1 };
        self.flush(sink);
        self.stopped(sink, number, stamp, stopped);
        true
    }

    fn stopped(&mut self, sink: &mut dyn Sink, number: u64, stamp: Timestamp, stopped: StoppedLine) {
        let run = self.run_for(sink, stamp);
        run.stopped(number, stamp, stopped);
        run.write_stops(sink);
        self.records = true;
    }

    /// Lines that are complete in themselves, whether a record is open or not.
    fn side_line(&mut self, sink: &mut dyn Sink, number: u64, text: &[u8], first: u8) -> Option<Known> {
        // Most lines begin with a bracket, a timestamp or spaces before a bracket and hold no such
        // word.
        match first {
            b'[' | b']' | b':' | b',' | b'(' => return None,
            b'C' | b'M' | b'O' | b'J' | b'Z' if !self.brackets.is_open() => {
                if Header::starts(text) && self.pending_restart_without_uptime() {
                    self.end_run(sink);
                }
                let mut header = self.header.clone().unwrap_or_default();
                if header.line(text) {
                    self.header = Some(header);
                    return Some(Known::Yes);
                }
            }
            _ => {}
        }
        let (stamp, rest) = match first {
            b'T' | b'A' | b'G' => (Timestamp::default(), text),
            b'0'..=b'9' => Timestamp::leading(text),
            _ => return None,
        };
        // "2016-04-14 22:37:22 GC log file created gc.log.1", in local time and without a zone.
        if rest.get(20..).is_some_and(|r| r.starts_with(b"GC log ")) || rest.starts_with(b"GC log file") {
            self.rotated = true;
            return Some(Known::Yes);
        }
        match rest.first() {
            Some(b'T') => {
                let stopped = StoppedLine::parse(rest)?;
                self.flush(sink);
                self.stopped(sink, number, stamp, stopped);
            }
            Some(b'A') => {
                let ns = application_ns(rest)?;
                self.flush(sink);
                let run = self.run_for(sink, stamp);
                match run.place(stamp) {
                    Some(_) => _ = run.time(stamp),
                    None => run.pass(ns),
                }
            }
            Some(b'[') | None => return None,
            Some(_) if !stamp.is_empty() && !self.brackets.is_open() => {
                let row = Row::parse(text)?;
                let run = self.run_for(sink, Timestamp::default());
                if !run.statistics(number, row) {
                    return None;
                }
                self.records = true;
            }
            Some(_) => return None,
        }
        Some(Known::Yes)
    }

    /// Whether a header at this point begins another run, in a log where uptime cannot show it.
    fn pending_restart_without_uptime(&mut self) -> bool {
        let restart = self.basis != ClockBasis::JvmUptime
            && !self.rotated
            && self.run.as_ref().is_some_and(Run::has_records);
        self.rotated = false;
        restart
    }

    /// PrintCompilation and warnings of the JVM, which share standard output with the GC log.
    fn compiler_line(&mut self, sink: &mut dyn Sink, number: u64, line: &[u8]) -> bool {
        if let Some(compilation) = parse_line(line) {
            let known = self.run_for(sink, Timestamp::default()).compilation(sink, number, &compilation);
            self.records |= known;
            return known;
        }
        let warning = memmem::find(line, b" VM warning: ").is_some();
        if warning {
            self.run_for(sink, Timestamp::default()).warning(sink, number, line);
        }
        warning
    }

    /// Warnings of the JVM, without a timestamp. Lines of records and timestamps are not searched
    /// for them.
    fn trouble(&mut self, sink: &mut dyn Sink, number: u64, text: &[u8]) -> bool {
        let said = text.first().filter(|b| b.is_ascii_alphabetic() || **b == b'#');
        let Some(said) = said.and_then(|_| jvm_warnings::said_in(text)) else { return false };
        self.flush(sink);
        self.this_run(sink).trouble(sink, number, &said);
        true
    }

    /// A line that no record took: a dump, a compilation, or an unknown line.
    fn leftover(&mut self, sink: &mut dyn Sink, number: u64, line: &[u8], text: &[u8]) -> Known {
        // Details may follow the timestamp of another thread: "371.856:    [Parallel Time: 268.0
        // ms]".
        let spaces = |at: &usize| line.get(..*at).map_or(0, |head| head.len() - head.trim_ascii_end().len());
        let detail = memchr::memchr(b'[', line).and_then(|at| line.get(at - spaces(&at)..)).unwrap_or(line);
        let known = self.trouble(sink, number, Timestamp::stripped(text))
            || dumps::is_dump(text)
            || dumps::is_dump(Timestamp::stripped(text))
            || self.pending.as_deref_mut().is_some_and(|pause| self.details.line(pause, detail))
            || self.compiler_line(sink, number, line)
            || Row::parse(text).is_some();
        known.into()
    }

    fn drain(&mut self, sink: &mut dyn Sink) {
        for event in std::mem::take(&mut self.brackets.events) {
            match event {
                Event::Begins(stamp) => self.end_run_unless_it_holds(sink, stamp),
                Event::Pause(mut pause) => {
                    self.flush(sink);
                    self.details.reset();
                    let run = self.this_run(sink);
                    if pause.stamp.is_empty() {
                        // Another thread wrote into it: "0.1830.183: : [Full GC". Later lines may
                        // have later times.
                        pause.stamp = run.current_timestamp();
                    }
                    run.reached(pause.stamp);
                    self.pending = Some(pause);
                }
                Event::Concurrent(phase) => {
                    let run = self.this_run(sink);
                    run.concurrent(sink, &phase);
                    self.records = true;
                }
                Event::Times(times) => {
                    if let Some(pause) = self.pending.as_deref_mut() {
                        pause.times.get_or_insert(times);
                    }
                }
                Event::Identified(stamp) => {
                    let run = self.this_run(sink);
                    stamp.id.into_iter().for_each(|id| run.id(id));
                }
                Event::CountedObjects(ns) => {
                    if let Some(pause) = self.pending.as_deref_mut().filter(|pause| pause.full) {
                        pause.goes_on_for(ns, "Class Histogram (after full gc)");
                    }
                }
                Event::HumongousRequest => self.humongous_asked = true,
                Event::Truncated(pause) => {
                    if let Some(pause) = pause.filter(|pause| pause.full || !pause.failures.is_empty()) {
                        self.this_run(sink).truncated(sink, &pause);
                    }
                    if let Some(run) = &mut self.run {
                        run.tally.lost += 1;
                    }
                }
            }
        }
    }

    /// Writes the pause that waited for its details.
    fn flush(&mut self, sink: &mut dyn Sink) {
        let Some(mut pause) = self.pending.take() else { return };
        if self.humongous_asked && pause.cause.is_none() && pause.name.contains("initial-mark") {
            // JDK 7 without PrintGCCause: the policy gives the reason for a cycle.
            pause.cause = Some("G1 Humongous Allocation");
        }
        if pause.name.contains("initial-mark") {
            self.humongous_asked = false;
        }
        if let Some(run) = &mut self.run {
            run.pause(sink, &pause);
            self.records = true;
        }
    }

    /// The run that a record with this timestamp belongs to; a new one when there is none or the
    /// JVM was restarted.
    fn run_for(&mut self, sink: &mut dyn Sink, stamp: Timestamp) -> &mut Run {
        self.end_run_unless_it_holds(sink, stamp);
        self.this_run(sink)
    }

    /// Ends the run if a record with this timestamp cannot belong to it.
    fn end_run_unless_it_holds(&mut self, sink: &mut dyn Sink, stamp: Timestamp) {
        let after_header = self.header.is_some();
        if self.run.as_ref().is_some_and(|run| !run.holds(stamp, after_header)) {
            self.end_run(sink);
        }
    }

    /// The run that the log is in; a new one when there is none.
    fn this_run(&mut self, sink: &mut dyn Sink) -> &mut Run {
        if self.run.is_none() {
            self.runs += 1;
            let name = match self.runs {
                1 => self.name.clone(),
                n => format!("{} #{n}", self.name),
            };
            let first_line = if self.runs == 1 { 1 } else { self.at.0 };
            let mut run = Run::new(sink, &name, self.basis, (first_line, self.at.1));
            run.tally = std::mem::take(&mut self.early);
            self.run = Some(run);
        }
        let header = self.header.take();
        let run = self.run.as_mut().expect("a run was made above");
        if let Some(header) = header {
            run.take_header(header);
        }
        run
    }

    fn end_run(&mut self, sink: &mut dyn Sink) {
        self.flush(sink);
        if let Some(run) = self.run.take() {
            let end = (self.at.0.saturating_sub(1), self.bytes_seen);
            run.finish(sink, end, false);
            self.at.1 = self.bytes_seen;
        }
    }

    fn unknown(&mut self, number: u64, line: &[u8]) {
        let tally = self.run.as_mut().map_or(&mut self.early, |run| &mut run.tally);
        tally.unknown(number, line);
    }

    /// Ends the last run. False when there was no record.
    fn finish(mut self, sink: &mut dyn Sink, end: (u64, u64), truncated: bool) -> bool {
        self.brackets.abandon();
        self.drain(sink);
        self.flush(sink);
        if let (Some(run), Some(header)) = (&mut self.run, self.header.take()) {
            run.take_header(header);
        }
        if let Some(run) = self.run.take() {
            run.finish(sink, end, truncated);
        }
        self.records
    }
}
