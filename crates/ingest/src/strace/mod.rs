//! What `strace` writes: `-f -ttt -T` at best, with `-y`/`-yy`, `-tt`, `-t`, `-r`, to a file (`-o`)
//! or to the terminal.
//!
//! Each call becomes a span `syscall` from its entry, with the length of `-T`, its result and the
//! file or connection of its descriptor ([`files`]). DNS queries become `net.dns` ([`lookups`]),
//! connections being established `net.connect`. Calls that another thread's line splits are joined.
//!
//! Limits: without `-T` the end of a call is unknown, so that it has no length, unless it was
//! split. Threads are those of one process until a call creates another one.

mod files;
mod line;
mod lookups;
mod run;

use fathom_recording::Sink;

use self::line::{Line, What, parse};
use self::run::Run;
use crate::{Confidence, Format, IngestError, Input, Tally};

/// The reader of strace's output.
pub(crate) struct Strace;

const ID: &str = "strace";

/// How many lines of the head are looked at to recognise the format.
const SNIFFED: usize = 200;

impl Format for Strace {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "strace -f -ttt -T (also -tt, -t, -r, -y, -yy): system calls with their time, result, file or peer; look-ups of \
         names, connections"
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let (mut ours, mut all) = (0u32, 0u32);
        for line in head.split(|b| *b == b'\n').filter(|l| !l.is_empty()).take(SNIFFED) {
            all += 1;
            let text = std::str::from_utf8(line).unwrap_or_default();
            ours += u32::from(parse(text).is_some_and(|line| is_beyond_doubt(&line)));
        }
        match (ours, ours.saturating_mul(2) >= all) {
            (0, _) => Confidence(0),
            (_, true) => Confidence(80),
            // Mixed with what the traced program writes itself.
            (_, false) => Confidence(20),
        }
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut run: Option<Run<'_>> = None;
        let mut tally = Tally::default();
        let mut sink = Some(sink);
        while let Some(line) = input.lines.next() {
            let text = String::from_utf8_lossy(line.bytes);
            let Some(parsed) = parse(&text).filter(|_| !line.truncated) else {
                if !text.trim().is_empty() {
                    tally.unknown(line.number, line.bytes);
                }
                continue;
            };
            if run.is_none() && !is_beyond_doubt(&parsed) {
                continue;
            }
            if let Some(sink) = sink.take() {
                run = Some(Run::new(sink, &input.name));
            }
            if let Some(run) = &mut run {
                run.line(&parsed, line.number);
            }
        }
        let Some(run) = run else {
            return Err(IngestError::Empty { path: input.name.clone().into(), format: ID });
        };
        run.finish(tally, input.lines.ends_in_line());
        Ok(())
    }
}

/// A call with its result is one of strace's whatever surrounds it; a signal or a message might be
/// from any program.
fn is_beyond_doubt(line: &Line<'_>) -> bool {
    let named = line.tid.is_some() || line.stamp.is_some();
    match line.what {
        What::Call { end, .. } => named || end.took_ns.is_some() || end.error.is_some(),
        What::Unfinished { .. } | What::Resumed { .. } => named,
        What::Signal(_) | What::Exit => named && line.stamp.is_some(),
        What::Note => false,
    }
}

#[cfg(test)]
mod tests;
