//! Lines of the JIT compilers, the code cache and deoptimisation in unified logs.
//!
//! Limits: `-Xlog:jit+compilation` reports when a compilation starts and never when it ends, so it
//! is written as an event of the start; how long tasks wait and take is in LogCompilation only.

use fathom_recording::vocabulary::{figure, kind, label, series};
use fathom_recording::{SeriesId, SeriesInfo, SeriesKind};

use super::out::{Entry, Out};
use super::pause::At;
use super::scan;
use crate::jit::print_compilation::{CompilationLine, parse_line, record};

/// The state between lines.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compiler {
    used: Option<SeriesId>,
    /// Heaps of a segmented code cache that were printed since the last point, with their use.
    segments: Vec<(Vec<u8>, f64)>,
    sweep: Option<At>,
}

/// A segmented code cache has three heaps.
const SEGMENTS: usize = 4;

impl Compiler {
    /// Takes a line with tags of the compilers or the code cache, or recognised by its text. False:
    /// it is of no interest.
    pub(crate) fn line(&mut self, tags: &[u8], body: &[u8], at: At, out: &mut Out<'_>) -> bool {
        if body.starts_with(b"CodeCache is full") || body.starts_with(b"CodeHeap '") && ends_full(body) {
            return full(body, at, out);
        }
        if body.starts_with(b"CodeCache: ") || body.starts_with(b"CodeHeap '") {
            if tags == b"codecache,sweep" {
                self.swept(at, out);
            }
            return self.code_cache(body, at, out);
        }
        if body.starts_with(b"CodeCache flushing") {
            self.sweep = Some(at);
            return true;
        }
        if body.starts_with(b"cid=") {
            return trap(body, at, out);
        }
        if tags == b"jit,compilation" || tags.is_empty() {
            return parse_line(body).is_some_and(|line| compilation(&line, at, out));
        }
        false
    }

    /// `CodeHeap 'profiled nmethods': size=…Kb used=…Kb max_used=…Kb free=…Kb`: one line per heap,
    /// whose sum is a point.
    fn code_cache(&mut self, body: &[u8], at: At, out: &mut Out<'_>) -> bool {
        let Some(used) = amount(body, b" used=") else { return false };
        let name = body.split(|b| *b == b':').next().unwrap_or_default();
        if let Some((_, known)) = self.segments.iter_mut().find(|(segment, _)| segment == name) {
            *known = used;
        } else if self.segments.len() < SEGMENTS {
            self.segments.push((name.to_vec(), used));
        }
        let last = name == b"CodeCache" || name.starts_with(b"CodeHeap 'non-profiled");
        if last {
            let sum = self.segments.iter().map(|(_, used)| used).sum();
            let id = *self.used.get_or_insert_with(|| {
                out.sink.add_series(SeriesInfo {
                    name: series::CODE_CACHE_USED.into(),
                    unit: "bytes".into(),
                    instance: String::new(),
                    kind: SeriesKind::Gauge,
                    process: Some(out.process),
                    source: out.source,
                })
            });
            out.sink.point(id, at.ns, 0, sum);
        }
        true
    }

    fn swept(&mut self, at: At, out: &mut Out<'_>) {
        let start = self.sweep.take().unwrap_or(at);
        out.span(&Entry {
            t0_ns: start.ns.min(at.ns),
            ..Entry::event(kind::JIT_SWEEP, "CodeCache flushing", at.ns, start.line)
        });
    }
}

/// A warning names the heap and the consequence: `CodeHeap 'profiled nmethods' is full. Compiler
/// has been disabled.`
fn ends_full(body: &[u8]) -> bool {
    memchr::memmem::find(body, b"' is full").is_some()
}

fn full(body: &[u8], at: At, out: &mut Out<'_>) -> bool {
    let end = memchr::memmem::find(body, b" is full").unwrap_or(body.len());
    let segment = String::from_utf8_lossy(body.get(..end).unwrap_or_default());
    let disabled = memchr::memmem::find(body, b"Compiler has been disabled").is_some();
    let figures = [(figure::COMPILER_DISABLED, if disabled { 1.0 } else { 0.0 })];
    out.span(&Entry {
        figures: &figures,
        labels: &[(label::SEGMENT, segment.as_ref())],
        ..Entry::event(kind::JIT_CODE_CACHE_FULL, "code cache full", at.ns, at.line)
    });
    true
}

/// `size=5120Kb`, in bytes.
fn amount(body: &[u8], word: &[u8]) -> Option<f64> {
    let at = memchr::memmem::find(body, word)?;
    scan::bytes(body.get(at + word.len()..)?).map(|(bytes, _)| bytes)
}

/// `cid=  53     level=4 java.lang.String.hashCode()I trap_bci=13 unstable_if reinterpret pc=0x… relative_pc=0x…`.
fn trap(body: &[u8], at: At, out: &mut Out<'_>) -> bool {
    let mut id = -1;
    let mut figures = Vec::with_capacity(2);
    let mut words = Vec::with_capacity(3);
    let mut rest = body;
    while !rest.is_empty() {
        rest = rest.trim_ascii_start();
        let end = rest.iter().position(|b| *b == b' ').unwrap_or(rest.len());
        let (word, after) = rest.split_at_checked(end).unwrap_or((rest, b""));
        rest = after;
        let number = |text: &[u8]| scan::integer(text).and_then(|(n, _)| i64::try_from(n).ok());
        if let Some(value) = word.strip_prefix(b"cid=") {
            // The number is padded: it may be the next word.
            let value = if value.is_empty() { rest.trim_ascii_start() } else { value };
            id = number(value).unwrap_or(-1);
        } else if let Some(level) = word.strip_prefix(b"level=").and_then(number) {
            figures.push((figure::TIER, level as f64));
        } else if let Some(bci) = word.strip_prefix(b"trap_bci=").and_then(number) {
            figures.push((figure::BCI, bci as f64));
        } else if !word.contains(&b'=') && !word.iter().all(u8::is_ascii_digit) && words.len() < 3 {
            words.push(String::from_utf8_lossy(word));
        }
    }
    let [method, reason, action] = words.as_slice() else { return false };
    let method = method.split('(').next().unwrap_or_default();
    let labels = [(label::REASON, reason.as_ref()), (label::ACTION, action.as_ref())];
    out.span(&Entry {
        key: id,
        figures: &figures,
        labels: &labels,
        ..Entry::event(kind::JIT_TRAP, method, at.ns, at.line)
    });
    true
}

fn compilation(line: &CompilationLine<'_>, at: At, out: &mut Out<'_>) -> bool {
    let row = out.row(&Entry::event("", "", at.ns, at.line));
    let written = record(line, &row, out.sink);
    out.tally.records += u64::from(written);
    // An unknown line of a future JVM is still known to be about a compilation.
    true
}
