//! Unified logs of JDK 9 to 25: what `-Xlog:gc*`, `safepoint*`, `jit*`, `codecache*` and
//! `deoptimization` write.
//!
//! ```text
//! [2026-11-20T22:00:43.247+0000][50.277s][info][gc          ] GC(181) Pause Young (Normal) … 19875.187ms
//! └ decorations, any set: decorators                          └ body: record, heap, safepoint, init, compiler
//! ```
//!
//! A body is parsed by the form of its record, never by a pattern of the whole line: JDK releases
//! keep adding words, and a pause with an unknown word is still a pause.
//!
//! A file may hold several runs of a JVM, one after another: each becomes a source and a process of
//! its own ([`run`]). Nothing is allocated per line; a pause is assembled from its lines and
//! written once ([`collections`]).

mod checks;
mod clock;
mod collections;
mod compiler;
mod dates;
mod decorators;
mod heap;
mod ids;
mod init;
mod interest;
mod out;
mod pause;
mod record;
mod run;
mod safepoint;
mod scan;

use fathom_recording::{Process, Sink, Source};

use self::decorators::{Before, Decorated, take_apart};
use self::out::Out;
use self::run::{Belongs, Run};
use crate::{Confidence, Format, IngestError, Input, Lines, Tally};

/// The reader of unified logs.
pub(crate) struct UnifiedLog;

const ID: &str = "unified-log";

/// How many lines of the head are looked at to recognise the format.
const SNIFFED: usize = 400;

impl Format for UnifiedLog {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "unified logs of JDK 9 and later (-Xlog): collections of every collector, safepoints, code cache, \
         compilations, deoptimisations, warnings; any decorations"
    }

    fn rotates(&self) -> bool {
        true
    }

    fn written_by_jvms(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let mut before = Before::default();
        let (mut ours, mut all) = (0u32, 0u32);
        for line in head.split(|b| *b == b'\n').filter(|l| !l.is_empty()).take(SNIFFED) {
            all += 1;
            ours += u32::from(run::is_beyond_doubt(&take_apart(line, &mut before)));
        }
        // A few lines among much other output are enough, unless the rest is a table: what a JVM
        // prints on its standard output before an application writes its numbers there.
        match (ours, ours.saturating_mul(2) >= all) {
            (0, _) => Confidence(0),
            (_, true) => Confidence(90),
            (_, false) => Confidence(40),
        }
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut reader = Reader { before: Before::default(), carried: Vec::new(), runs: 0 };
        let mut tally = Tally::default();
        if !reader.find_begin(&mut input.lines, &mut tally) {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        }
        while !reader.carried.is_empty() {
            reader.run(&input.name, &mut input.lines, std::mem::take(&mut tally), sink);
        }
        Ok(())
    }
}

/// What is kept from run to run.
struct Reader {
    before: Before,
    /// Lines that were read and belong to the next run, with their numbers.
    carried: Vec<(u64, Vec<u8>)>,
    runs: u32,
}

/// How many lines at the beginning are kept until the decorations of this log are known. A JVM
/// prints some twenty lines about itself before its first collection.
const KEPT: usize = 64;

/// How much of each of them.
const KEPT_BYTES: usize = 1 << 10;

impl Reader {
    /// Finds the first line that is beyond doubt one of a unified log. Lines before it with the
    /// same decorations belong to the log as well. False: there is none.
    fn find_begin(&mut self, lines: &mut Lines, tally: &mut Tally) -> bool {
        while let Some(line) = lines.next() {
            let decorated = take_apart(line.bytes, &mut self.before);
            if run::is_beyond_doubt(&decorated) {
                let (set, number, bytes) = (decorated.set, line.number, line.bytes.to_vec());
                for (number, bytes) in std::mem::take(&mut self.carried) {
                    if set != 0 && take_apart(&bytes, &mut self.before).set == set {
                        self.carried.push((number, bytes));
                    } else {
                        tally.unknown(number, &bytes);
                    }
                }
                self.carried.push((number, bytes));
                return true;
            }
            if self.carried.len() < KEPT {
                let head = line.bytes.get(..KEPT_BYTES).unwrap_or(line.bytes);
                self.carried.push((line.number, head.to_vec()));
            } else {
                tally.unknown(line.number, line.bytes);
            }
        }
        false
    }

    /// Reads one run, beginning with the line carried over.
    fn run(&mut self, name: &str, lines: &mut Lines, tally: Tally, sink: &mut dyn Sink) {
        self.runs += 1;
        let mut out = begin(name, self.runs, tally, sink);
        let mut run = Run::default();
        for (number, bytes) in std::mem::take(&mut self.carried) {
            let line = take_apart(&bytes, &mut self.before);
            run.begin_with(line.set);
            run.line(&line, &bytes, number, &mut self.before, &mut out);
        }
        while let Some(line) = lines.next() {
            let decorated = take_apart(line.bytes, &mut self.before);
            match run.owns(&decorated, &out) {
                Belongs::Here => run.line(&decorated, line.bytes, line.number, &mut self.before, &mut out),
                belongs => {
                    let carried = (line.number, line.bytes.to_vec());
                    let ends = match belongs {
                        Belongs::NextUnlessLate => !self.is_late(&run, lines),
                        Belongs::NextIfOneBegins => {
                            self.ahead(lines, |ahead| run.is_followed_by_another(ahead))
                        }
                        Belongs::Next | Belongs::Here => true,
                    };
                    if ends {
                        self.carried.push(carried);
                        break;
                    }
                    let (number, bytes) = carried;
                    let decorated = take_apart(&bytes, &mut self.before);
                    run.line(&decorated, &bytes, number, &mut self.before, &mut out);
                }
            }
        }
        let ends_in_line = self.carried.is_empty() && lines.ends_in_line();
        run.finish(ends_in_line, out);
    }

    /// Whether the run continues within the next lines.
    fn is_late(&mut self, run: &Run, lines: &mut Lines) -> bool {
        self.ahead(lines, |ahead| run.goes_on_in(ahead))
    }

    /// Applies a function to the next lines.
    fn ahead(
        &mut self,
        lines: &mut Lines,
        ask: impl FnOnce(&mut dyn Iterator<Item = Decorated<'_>>) -> bool,
    ) -> bool {
        let ahead = lines.peek().split(|b| *b == b'\n').take(LOOKED_AHEAD);
        ask(&mut ahead.map(|line| take_apart(line, &mut self.before)))
    }
}

/// How many lines are looked at to distinguish a line that was written late from a JVM's restart.
/// While a write is blocked, each thread of the JVM may have one line waiting: a collector's few.
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
