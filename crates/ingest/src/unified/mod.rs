//! Unified logs of JDK 9 to 25: what `-Xlog:gc*`, `safepoint*`, `jit*`, `codecache*` and `deoptimization` write.
//!
//! ```text
//! [2026-11-20T22:00:43.247+0000][50.277s][info][gc          ] GC(181) Pause Young (Normal) … 19875.187ms
//! └ decorations, any set: decorators                          └ body: record, heap, safepoint, init, compiler
//! ```
//!
//! A body is read by the shape of the record that it is, never by a pattern of the whole line: JDK releases keep
//! adding words, and a pause with a word that nobody knows is still a pause.
//!
//! A file may hold several runs of a JVM, one after another: each becomes a source and a process of its own ([`run`]).
//! Nothing is allocated per line; a pause is put together from its lines and written once ([`collections`]).

mod checks;
mod clock;
mod collections;
mod compiler;
mod dates;
mod decorators;
mod heap;
mod ids;
mod init;
mod out;
mod pause;
mod record;
mod run;
mod safepoint;
mod scan;

use fathom_recording::{Process, Sink, Source};

use self::dates::Dates;
use self::decorators::take_apart;
use self::out::Out;
use self::run::{Belongs, Run};
use crate::{Confidence, Format, IngestError, Input, Lines, Tally};

/// The reader of unified logs.
pub(crate) struct UnifiedLog;

const ID: &str = "unified-log";

/// How many lines of the head are looked at to tell the format.
const SNIFFED: usize = 400;

impl Format for UnifiedLog {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "unified logs of JDK 9 and later (-Xlog): collections of every collector, safepoints, code cache, \
         compilations, deoptimisations, warnings; any decorations"
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let mut dates = Dates::default();
        let (mut ours, mut all) = (0u32, 0u32);
        for line in head.split(|b| *b == b'\n').filter(|l| !l.is_empty()).take(SNIFFED) {
            all += 1;
            ours += u32::from(run::is_beyond_doubt(&take_apart(line, &mut dates)));
        }
        // A few lines among much other output are enough: no other format has lines like these.
        match (ours, ours.saturating_mul(2) >= all) {
            (0, _) => Confidence(0),
            (_, true) => Confidence(90),
            (_, false) => Confidence(60),
        }
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut reader = Reader { dates: Dates::default(), carried: None, runs: 0 };
        let mut tally = Tally::default();
        if !reader.find_begin(&mut input.lines, &mut tally) {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        }
        while reader.carried.is_some() {
            reader.run(&input.name, &mut input.lines, std::mem::take(&mut tally), sink);
        }
        Ok(())
    }
}

/// What stays from run to run.
struct Reader {
    dates: Dates,
    /// A line that was read and belongs to the run to come.
    carried: Option<(u64, Vec<u8>)>,
    runs: u32,
}

impl Reader {
    /// Skips to the first line that is beyond doubt one of a unified log. False: there is none.
    fn find_begin(&mut self, lines: &mut Lines, tally: &mut Tally) -> bool {
        while let Some(line) = lines.next() {
            if run::is_beyond_doubt(&take_apart(line.bytes, &mut self.dates)) {
                self.carried = Some((line.number, line.bytes.to_vec()));
                return true;
            }
            tally.unknown(line.number, line.bytes);
        }
        false
    }

    /// Reads one run, beginning with the line carried over.
    fn run(&mut self, name: &str, lines: &mut Lines, tally: Tally, sink: &mut dyn Sink) {
        self.runs += 1;
        let mut out = begin(name, self.runs, tally, sink);
        let mut run = Run::default();
        if let Some((number, bytes)) = self.carried.take() {
            run.line(&take_apart(&bytes, &mut self.dates), &bytes, number, &mut self.dates, &mut out);
        }
        while let Some(line) = lines.next() {
            let decorated = take_apart(line.bytes, &mut self.dates);
            match run.owns(&decorated, &out) {
                Belongs::Here => run.line(&decorated, line.bytes, line.number, &mut self.dates, &mut out),
                belongs => {
                    let carried = (line.number, line.bytes.to_vec());
                    if belongs == Belongs::Next || !self.is_late(&run, lines) {
                        self.carried = Some(carried);
                        break;
                    }
                    let (number, bytes) = carried;
                    let decorated = take_apart(&bytes, &mut self.dates);
                    run.line(&decorated, &bytes, number, &mut self.dates, &mut out);
                }
            }
        }
        let ends_in_line = self.carried.is_none() && lines.ends_in_line();
        run.finish(ends_in_line, out);
    }

    /// Whether the run goes on within the lines to come.
    fn is_late(&mut self, run: &Run, lines: &mut Lines) -> bool {
        let ahead = lines.peek().split(|b| *b == b'\n').take(LOOKED_AHEAD);
        ahead.map(|line| take_apart(line, &mut self.dates)).any(|line| run.continues_with(&line))
    }
}

/// How many lines are looked at to tell a line that was written late from a JVM's restart. While a write is blocked,
/// each thread of the JVM may have one line waiting: a collector's few.
const LOOKED_AHEAD: usize = 32;

/// Adds the source and the process of a run.
fn begin<'s>(name: &str, run: u32, tally: Tally, sink: &'s mut dyn Sink) -> Out<'s> {
    let name = if run == 1 { name.to_owned() } else { format!("{name} #{run}") };
    let process = sink.add_process(Process { name: name.clone(), jvm: true, ..Process::default() });
    let source = sink.add_source(Source {
        name,
        format: ID.to_owned(),
        process: Some(process.0),
        ..Source::default()
    });
    Out { sink, source, process, tally, evidence: Default::default() }
}

#[cfg(test)]
mod tests;
