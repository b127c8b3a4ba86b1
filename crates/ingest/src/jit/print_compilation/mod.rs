//! Output of `-XX:+PrintCompilation`, in a file of its own or among what the application printed.
//!
//! Lines report the start of a compilation, but neither its end nor its time in the queue:
//! `jit.compile` is an event here. Together with a LogCompilation log of the same run it is the
//! same compilation once more, with the same key.

mod line;

use fathom_recording::clock::ClockBasis;
use fathom_recording::quantity::whole;
use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Check, Process, Sink, Source, SpanRow};

pub(crate) use self::line::{CompilationLine, Said, parse_line};
use crate::{Confidence, Format, IngestError, Input, Tally};

/// Id of the format.
pub(super) const ID: &str = "print-compilation";

/// The reason given for code which calls a native method: it was not queued, and no compiler made
/// it.
pub(super) const NATIVE_WRAPPER: &str = "native wrapper";

/// Timestamps of compiler threads that print at once are out of order by less than this; another
/// run of a JVM falls back further, and its ids start again.
const OUT_OF_ORDER_MS: i64 = 1_000;

/// Writes a line as a span. `row`: when, where and of which process; the rest is filled in.
/// `false`: its message is unknown, and nothing was written.
pub(crate) fn record(line: &CompilationLine<'_>, row: &SpanRow<'_>, sink: &mut dyn Sink) -> bool {
    let is_native = line.flags.contains(&b'n');
    let reason = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (kind, reason) = match line.said {
        Said::Started if is_native => (kind::JIT_INSTALL, Some(NATIVE_WRAPPER.to_owned())),
        Said::Started => (kind::JIT_COMPILE, None),
        Said::NotEntrant(why) => (kind::JIT_INVALIDATE, why.map(reason)),
        Said::Zombie => (kind::JIT_INVALIDATE, Some("zombie".to_owned())),
        Said::Skipped(why) => (kind::JIT_FAILURE, Some(reason(why))),
        // The start of the same compilation was reported before.
        Said::Blocked => return true,
        Said::Other(_) => return false,
    };
    // Without tiered compilation a JVM has one compiler, and the line does not name it.
    let mut figures = vec![(figure::TIER, f64::from(line.tier.unwrap_or(0)))];
    figures.extend(line.osr_bci.filter(|bci| *bci >= 0).map(|bci| (figure::OSR_BCI, bci as f64)));
    figures.extend(line.bytecodes.map(|bytes| (figure::BYTECODES, bytes as f64)));
    let mut labels = Vec::new();
    labels.extend(reason.as_deref().map(|reason| (label::REASON, reason)));
    match line.tier {
        Some(1..=3) => labels.push((label::COMPILER, "c1")),
        Some(4) => labels.push((label::COMPILER, "c2")),
        _ => {}
    }
    let name = line.name();
    let key = line.id.unwrap_or(-1);
    sink.span(&SpanRow { kind, name: &name, key, figures: &figures, labels: &labels, ..*row });
    true
}

/// The format of `-XX:+PrintCompilation`.
pub(crate) struct PrintCompilation;

impl Format for PrintCompilation {
    fn id(&self) -> &'static str {
        ID
    }

    fn about(&self) -> &'static str {
        "PrintCompilation output of HotSpot 6 to 25, also among other output: starts of compilations with tier and \
         size, invalidations, compilations given up"
    }

    /// Never very sure: logs with such lines among others have readers of their own, which read
    /// these as well.
    fn written_by_jvms(&self) -> bool {
        true
    }

    fn sniff(&self, head: &[u8]) -> Confidence {
        let lines = head.split(|b| *b == b'\n').filter(|line| !line.trim_ascii().is_empty());
        let (mut all, mut known) = (0_u32, 0_u32);
        for line in lines {
            all += 1;
            known += u32::from(parse_line(line.trim_ascii_end()).is_some());
        }
        Confidence(match known {
            0 => 0,
            _ if known * 2 >= all => 40,
            1 | 2 => 0,
            _ => 20,
        })
    }

    fn read(&self, input: &mut Input, sink: &mut dyn Sink) -> Result<(), IngestError> {
        let mut run = Run::default();
        let mut runs = 0;
        while let Some(line) = input.lines.next() {
            let parsed = parse_line(line.bytes);
            if parsed.is_some_and(|parsed| run.is_followed_by(&parsed)) {
                runs += 1;
                std::mem::take(&mut run).finish(&input.name, runs, sink);
            }
            run.take(line.number, line.bytes, parsed, &input.name, runs + 1, sink);
        }
        if run.ids.is_some() {
            runs += 1;
            run.finish(&input.name, runs, sink);
        }
        if runs == 0 {
            Err(IngestError::Empty { path: input.name.clone().into(), format: ID })
        } else {
            Ok(())
        }
    }
}

/// One run of a JVM.
#[derive(Default)]
struct Run {
    ids: Option<(fathom_recording::SourceId, fathom_recording::ProcessId)>,
    tally: Tally,
    lines: u64,
    bytes: u64,
    /// First and last timestamp.
    covers_ms: Option<(i64, i64)>,
    last_ms: i64,
    last_id: i64,
    late: u64,
}

impl Run {
    /// Whether this line is the next JVM's: its clock and its ids start again.
    fn is_followed_by(&self, line: &CompilationLine<'_>) -> bool {
        let (Some(stamp_ms), Some(id)) = (line.stamp_ms, line.id) else { return false };
        stamp_ms.saturating_add(OUT_OF_ORDER_MS) < self.last_ms && id < self.last_id / 2
    }

    fn take(
        &mut self,
        number: u64,
        bytes: &[u8],
        line: Option<CompilationLine<'_>>,
        file: &str,
        run: u32,
        sink: &mut dyn Sink,
    ) {
        self.lines += 1;
        self.bytes += bytes.len() as u64 + 1;
        let is_full = is_code_cache_full(bytes);
        if line.is_none() && !is_full {
            // PrintInlining prints its trees between; an empty line holds nothing.
            let text = bytes.trim_ascii();
            if !text.starts_with(b"@ ") && !text.is_empty() {
                self.tally.unknown(number, bytes);
            }
            return;
        }
        let (source, process) = *self.ids.get_or_insert_with(|| add(file, run, sink));
        if let Some(line) = line {
            self.stamp(&line);
        }
        let t_ns = self.last_ms.saturating_mul(1_000_000);
        let row = SpanRow {
            line: number,
            figures: &[(figure::COMPILER_DISABLED, 1.0)],
            ..SpanRow::new(kind::JIT_CODE_CACHE_FULL, "code cache full", (t_ns, t_ns), process, source)
        };
        let is_taken = match line {
            Some(line) => record(&line, &row, sink),
            None => {
                sink.span(&row);
                true
            }
        };
        match is_taken {
            true => self.tally.records += 1,
            false => self.tally.unknown(number, bytes),
        }
    }

    fn stamp(&mut self, line: &CompilationLine<'_>) {
        self.last_id = line.id.unwrap_or(self.last_id);
        if let Some(stamp_ms) = line.stamp_ms {
            self.late += u64::from(stamp_ms.saturating_add(OUT_OF_ORDER_MS) < self.last_ms);
            self.last_ms = stamp_ms;
            let (from, to) = self.covers_ms.unwrap_or((stamp_ms, stamp_ms));
            self.covers_ms = Some((from.min(stamp_ms), to.max(stamp_ms)));
        }
    }

    fn finish(self, file: &str, run: u32, sink: &mut dyn Sink) {
        let (id, process) = self.ids.unwrap_or_else(|| add(file, run, sink));
        let source = sink.source_mut(id);
        source.lines = self.lines;
        source.bytes = self.bytes;
        source.clock = if self.covers_ms.is_some() { ClockBasis::JvmUptime } else { ClockBasis::None };
        source.covers_ns =
            self.covers_ms.map(|(from, to)| (from.saturating_mul(1_000_000), to.saturating_mul(1_000_000)));
        source.checks.push(Check {
            claim: "stamps go forward".to_owned(),
            holds: self.late == 0,
            detail: format!(
                "{} of {} lines are more than 1 s earlier than the one before",
                whole(self.late),
                whole(self.tally.records)
            ),
        });
        let covers_ns = source.covers_ns;
        let name = source.name.clone();
        self.tally.add_to(source);
        if let Some((t0_ns, t1_ns)) = covers_ns {
            sink.span(&SpanRow::new(kind::RUN, &name, (t0_ns, t1_ns), process, id));
        }
    }
}

/// "OpenJDK 64-Bit Server VM warning: CodeHeap 'profiled nmethods' is full. Compiler has been
/// disabled."
pub(crate) fn is_code_cache_full(line: &[u8]) -> bool {
    memchr::memmem::find(line, b" VM warning: Code").is_some()
        && memchr::memmem::find(line, b" is full. Compiler has been disabled").is_some()
}

/// Source and process of a run.
fn add(
    file: &str,
    run: u32,
    sink: &mut dyn Sink,
) -> (fathom_recording::SourceId, fathom_recording::ProcessId) {
    let name = if run == 1 { file.to_owned() } else { format!("{file} #{run}") };
    let process = sink.add_process(Process { name: name.clone(), jvm: true, ..Process::default() });
    let source = Source { name, format: ID.to_owned(), process: Some(process.0), ..Source::default() };
    (sink.add_source(source), process)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Lines;
    use fathom_recording::Recording;

    fn read(text: &str) -> Result<Recording, IngestError> {
        let mut recording = Recording::new();
        let lines = Lines::new(Box::new(std::io::Cursor::new(text.as_bytes().to_vec())));
        let mut input = Input { name: "out.txt".to_owned(), modified: None, lines };
        PrintCompilation.read(&mut input, &mut recording)?;
        recording.seal();
        Ok(recording)
    }

    const MIXED: &str = "Starting\n\
        \x20    20    1       3       java.lang.Object::<init> (1 bytes)\n\
        \x20    23    4     n 0       jdk.internal.misc.Unsafe::getReferenceVolatile (native)   \n\
        \x20                             @ 1   java.lang.Math::max (11 bytes)   inline (hot)\n\
        \x20    25    1       3       java.lang.Object::<init> (1 bytes)   made not entrant\n\
        \x20    26    7 %     4       Work::sum @ 9 (44 bytes)\n\
        \x20    27    8       4       Work::big (4444 bytes)   COMPILE SKIPPED: out of nodes (retry at different tier)\n\
        OpenJDK 64-Bit Server VM warning: CodeCache is full. Compiler has been disabled.\n\
        \x20    28    7 %     4       Work::sum @ 9 (44 bytes)   made magical\n\
        Done\n";

    #[test]
    fn compilations_are_taken_from_among_other_output() {
        let recording = read(MIXED).unwrap();
        let kinds = recording.kinds();
        let expected = [
            ("jit.code-cache-full", 1),
            ("jit.compile", 2),
            ("jit.failure", 1),
            ("jit.install", 1),
            ("jit.invalidate", 1),
            ("run", 1),
        ];
        assert_eq!(kinds, expected);
        let source = &recording.sources[0];
        assert_eq!((source.records, source.skipped, source.lines), (6, 3, 10));
        assert_eq!(source.covers_ns, Some((20_000_000, 28_000_000)));
        let osr = recording.spans_of(kind::JIT_COMPILE).next_back().unwrap();
        assert_eq!((osr.name(), osr.key(), osr.t0_ns(), osr.duration_ns()), ("Work.sum", 7, 26_000_000, 0));
        assert_eq!((osr.figure(figure::TIER), osr.figure(figure::OSR_BCI)), (Some(4.0), Some(9.0)));
    }

    #[test]
    fn two_jvms_in_one_file_are_two_processes() {
        let jvm = |ids: std::ops::Range<i64>| -> String {
            ids.map(|id| format!("{:7} {id:4}       3       A::b (1 bytes)\n", id * 100)).collect()
        };
        let recording = read(&(jvm(1..50) + &jvm(1..20))).unwrap();
        let names: Vec<_> = recording.sources.iter().map(|s| (s.name.as_str(), s.records)).collect();
        assert_eq!(names, [("out.txt", 49), ("out.txt #2", 19)]);
        assert_eq!(recording.processes.len(), 2);
    }

    #[test]
    fn output_without_a_compilation_is_refused() {
        assert!(matches!(read("Hello\nworld\n"), Err(IngestError::Empty { .. })));
        assert_eq!(PrintCompilation.sniff(b"Hello\nworld\n"), Confidence(0));
        assert_eq!(PrintCompilation.sniff(MIXED.as_bytes()), Confidence(40));
    }
}
