//! One run of a JVM: passes its lines to the readers of their kinds.
//!
//! A line is classified by its body, and by its tags only where the body is ambiguous. What no
//! reader takes is known to be of no interest ([`interest`]) or counted as unknown, as is what has
//! neither the decorations of this log nor a known body: the application's own output on standard
//! output.

use fathom_recording::ClockBasis;
use fathom_recording::vocabulary::{fact, kind};

use super::clock::Clock;
use super::collections::{self, Collections, GcLine};
use super::compiler::Compiler;
use super::decorators::{Before, Decorated, Level, set, take_apart};
use super::init;
use super::interest;
use super::out::{Entry, Out};
use super::pause::At;
use super::safepoint::Safepoints;
use super::scan;
use crate::jvm_warnings;

/// At how many brackets within a line to look for a log line that application output runs into.
const BRACKETS: usize = 8;

/// The state of a run.
#[derive(Default)]
pub(crate) struct Run {
    clock: Clock,
    gcs: Collections,
    safepoints: Safepoints,
    compiler: Compiler,
    /// The decorations of this log's lines.
    set: u16,
    set_known: bool,
    pid: Pid,
    banner_seen: bool,
    warnings: u64,
    /// Bytes and lines of the run.
    pub(crate) bytes: u64,
    /// See `bytes`.
    pub(crate) lines: u64,
}

/// The process id: the first of two numbers, or the only one when it never changes (a thread id
/// would).
#[derive(Default)]
struct Pid {
    first: Option<i64>,
    varies: bool,
    lines: u64,
    two: bool,
}

impl Pid {
    fn take(&mut self, numbers: [Option<i64>; 2]) {
        let Some(number) = numbers[0] else { return };
        self.lines += 1;
        self.two |= numbers[1].is_some();
        self.varies |= self.first.is_some_and(|first| first != number);
        self.first.get_or_insert(number);
    }

    /// One line alone could be either.
    fn get(&self) -> Option<i64> {
        self.first.filter(|_| !self.varies && (self.two || self.lines > 1))
    }
}

/// What a line shows of where the runs of a file end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Belongs {
    /// It belongs to this run.
    Here,
    /// It belongs to the next one.
    Next,
    /// It belongs to the next one, unless what follows continues this run: a line that was written
    /// late.
    NextUnlessLate,
    /// It belongs to the next one if a JVM begins in the following lines: some JVMs print a line or
    /// two before their collector, and the first run may be too short for its timestamps to show
    /// it.
    NextIfOneBegins,
}

impl Run {
    /// Whether a line is still of this run.
    pub(crate) fn owns(&self, line: &Decorated<'_>, out: &Out<'_>) -> Belongs {
        if self.clock.went_back(&line.stamps) {
            return if line.stamps.wall_ns.is_some() || is_banner(line.body) {
                Belongs::Next
            } else {
                Belongs::NextUnlessLate
            };
        }
        let begun = self.banner_seen || out.evidence.has_begun();
        if begun && is_banner(line.body) {
            Belongs::Next
        } else if begun && self.clock.is_earlier(&line.stamps) {
            Belongs::NextIfOneBegins
        } else {
            Belongs::Here
        }
    }

    /// Whether the lines that follow one with an earlier timestamp are a JVM's first ones: up to
    /// its banner none of them continues this run.
    pub(crate) fn is_followed_by_another<'a>(&self, lines: impl Iterator<Item = Decorated<'a>>) -> bool {
        let mut early = lines.take_while(|line| self.clock.is_earlier(&line.stamps));
        early.any(|line| is_banner(line.body))
    }

    /// Whether one of some lines continues this run.
    pub(crate) fn goes_on_in<'a>(&self, mut lines: impl Iterator<Item = Decorated<'a>>) -> bool {
        lines.any(|line| self.clock.continues_with(&line.stamps))
    }

    /// Sets the decorations of this log's lines.
    pub(crate) fn begin_with(&mut self, set: u16) {
        self.set_known = true;
        self.set = set;
    }

    /// Takes a line.
    pub(crate) fn line(
        &mut self,
        line: &Decorated<'_>,
        raw: &[u8],
        number: u64,
        before: &mut Before,
        out: &mut Out<'_>,
    ) {
        self.lines += 1;
        self.bytes += raw.len() as u64 + 1;
        if !self.fits(line) {
            self.foreign(raw, number, before, out);
            return;
        }
        self.own(line, number, raw, out);
    }

    fn own(&mut self, line: &Decorated<'_>, number: u64, raw: &[u8], out: &mut Out<'_>) {
        self.set = line.set;
        if line.set & set::NUMBER != 0 {
            self.pid.take(line.numbers);
        }
        if line.set & set::TIMESTAMPS == 0 {
            self.pass(line.body);
        }
        let at = At { ns: self.clock.at(&line.stamps), line: number };
        out.evidence.begins(if line.set & set::TIMESTAMPS == 0 { 0 } else { at.ns });
        let collection = gc_id(line.body);
        let known = match collection {
            Some((id, body)) => self.collection(id, body, line, at, out),
            None => {
                self.other(line, at, out) || (line.level < Level::Warning && self.in_trouble(line, at, out))
            }
        };
        if line.level >= Level::Warning {
            self.warning(line.body, at, out);
        } else if !known {
            let of_collection = collection.map(|(_, said)| said);
            if interest::is_of_none(line, of_collection) {
            } else if line.tags.is_empty() {
                self.unknown(raw, number, out);
            } else {
                out.tally.unknown_of(&interest::sort(line, of_collection), number, raw);
            }
        }
    }

    /// Whether a line has this log's decorations, or is beyond doubt a line of a unified log.
    fn fits(&self, line: &Decorated<'_>) -> bool {
        (line.set == self.set && self.set_known) || is_beyond_doubt(line)
    }

    fn collection(&mut self, id: u64, body: &[u8], line: &Decorated<'_>, at: At, out: &mut Out<'_>) -> bool {
        let level = (line.set & set::LEVEL != 0).then_some(line.level);
        self.gcs.line(&GcLine { id, body, at, level, tags: line.tags }, out)
    }

    /// Without timestamps, records follow one another: time advances by the length of each pause.
    fn pass(&mut self, body: &[u8]) {
        if let Some((_, body)) = gc_id(body)
            && body.starts_with(b"Pause")
            && let Some(timed) = super::heap::timed(body)
        {
            self.clock.passes(timed.ns);
        }
    }

    fn other(&mut self, line: &Decorated<'_>, at: At, out: &mut Out<'_>) -> bool {
        let body = line.body;
        if self.safepoints.line(body, at, &mut self.gcs, out) {
            return true;
        }
        if collections::is_stall(body) {
            return collections::stall(body, at, out);
        }
        if self.gcs.failure(body, at) {
            return true;
        }
        if is_banner(body) {
            self.banner_seen = true;
        }
        match line.tags {
            b"safepoint,stats" => self.safepoints.table_row(body, at, &mut self.gcs, out),
            b"gc" | b"gc,init" | b"gc,heap" | b"gc,heap,coops" => init::line(body, &mut self.gcs, out),
            b"arguments" => init::arguments(body, out),
            tags if compiles(tags) => self.compiler.line(tags, body, at, out),
            b"" => {
                self.dropped(body, out)
                    || init::line(body, &mut self.gcs, out)
                    || self.compiler.line(b"", body, at, out)
                    || self.safepoints.table_row(body, at, &mut self.gcs, out)
            }
            _ => self.dropped(body, out),
        }
    }

    /// `     5 messages dropped due to async logging`: the buffer of the asynchronous log was full.
    fn dropped(&mut self, body: &[u8], out: &mut Out<'_>) -> bool {
        let Some((count, rest)) = scan::integer(body.trim_ascii_start()) else { return false };
        let dropped = rest.starts_with(b" messages dropped due to async logging");
        if dropped {
            out.tally.lost = out.tally.lost.saturating_add(count);
            out.fact_anew(fact::LOG_MODE, "async");
        }
        dropped
    }

    /// Complaints of the JVM at a level that does not show them as such.
    fn in_trouble(&mut self, line: &Decorated<'_>, at: At, out: &mut Out<'_>) -> bool {
        let may_say = line.tags.is_empty() || line.tags.starts_with(b"gc") || line.tags == b"exceptions";
        let Some(said) = may_say.then(|| jvm_warnings::said_in(line.body)).flatten() else { return false };
        self.trouble(&said, at, out);
        true
    }

    fn warning(&mut self, body: &[u8], at: At, out: &mut Out<'_>) {
        let of_code_cache = body.starts_with(b"CodeCache is full") || body.starts_with(b"CodeHeap '");
        if !of_code_cache {
            self.trouble(&jvm_warnings::text(body), at, out);
        }
    }

    fn trouble(&mut self, text: &str, at: At, out: &mut Out<'_>) {
        self.warnings += 1;
        if self.warnings <= jvm_warnings::MOST {
            out.span(&Entry::event(kind::JVM_WARNING, text, at.ns, at.line));
        }
    }

    /// A line that is not of this log: other output. A log line may begin in the middle of it.
    fn foreign(&mut self, raw: &[u8], number: u64, before: &mut Before, out: &mut Out<'_>) {
        let brackets = memchr::memchr_iter(b'[', raw).skip_while(|at| *at == 0).take(BRACKETS);
        for at in brackets {
            let Some(tail) = raw.get(at..) else { break };
            let line = take_apart(tail, before);
            if line.set == self.set && line.set & (set::LEVEL | set::TAGS) != 0 {
                self.own(&line, number, tail, out);
                return;
            }
        }
        self.unknown(raw, number, out);
    }

    /// An unknown line, unless it is a warning that the JVM writes bypassing its log.
    fn unknown(&mut self, raw: &[u8], number: u64, out: &mut Out<'_>) {
        if interest::continues(raw) {
            return;
        }
        if let Some(at) = memchr::memmem::find(raw, b" VM warning: ")
            && let Some(body) = raw.get(at + 13..)
        {
            let at = At { ns: self.clock.now_ns(), line: number };
            self.compiler.line(b"codecache", body, at, out);
            self.warning(body, at, out);
        } else if let Some(said) = jvm_warnings::said_in(raw) {
            let at = At { ns: self.clock.now_ns(), line: number };
            self.trouble(&said, at, out);
        } else if !raw.trim_ascii().is_empty() && !self.old_table(raw, number, out) {
            out.tally.unknown(number, raw);
            out.tally.lost += u64::from(names_a_collection(raw));
        }
    }

    fn old_table(&mut self, raw: &[u8], number: u64, out: &mut Out<'_>) -> bool {
        let uptime = self.clock.basis() == ClockBasis::JvmUptime;
        self.safepoints.old_table(raw, number, uptime, out)
    }

    /// The run's log ends: writes what is open and completes source and process.
    pub(crate) fn finish(mut self, ends_in_line: bool, mut out: Out<'_>) {
        let open = self.gcs.finish(&mut out);
        self.safepoints.finish(&mut out);
        let covers_ns = self.covers_ns(&out);
        let (from, to) = covers_ns.unwrap_or_default();
        out.span(&Entry { t0_ns: from, ..Entry::event(kind::RUN, "run", to, 0) });
        let process = out.sink.process_mut(out.process);
        process.pid = self.pid.get();
        let source = out.sink.source_mut(out.source);
        source.clock = self.clock.basis();
        source.anchor = self.clock.anchor();
        source.bytes = self.bytes;
        source.lines = self.lines;
        source.cut |= ends_in_line || open;
        source.checks = out.evidence.checks(covers_ns);
        source.covers_ns = covers_ns;
        out.tally.add_to(source);
    }

    fn covers_ns(&self, out: &Out<'_>) -> Option<(i64, i64)> {
        let (from, to) = self.clock.covers_ns()?;
        // The first pause may have begun before the first line that is left of the log.
        Some((out.evidence.begins_ns().map_or(from, |begins| begins.min(from)), to))
    }
}

fn compiles(tags: &[u8]) -> bool {
    [b"jit".as_slice(), b"codecache", b"compilation", b"deoptimization"].iter().any(|t| tags.starts_with(t))
}

/// The first line of a JVM's log.
fn is_banner(body: &[u8]) -> bool {
    init::collector(body).is_some()
}

/// `GC(181) rest`.
pub(crate) fn gc_id(body: &[u8]) -> Option<(u64, &[u8])> {
    let (id, rest) = scan::integer(body.strip_prefix(b"GC(")?)?;
    let rest = rest.strip_prefix(b")")?;
    Some((id, rest.strip_prefix(b" ").unwrap_or(rest)))
}

/// Whether a line that could not be read is one of a collection: a log of many such lines does not
/// show its pauses.
fn names_a_collection(raw: &[u8]) -> bool {
    raw.starts_with(b"[")
        && memchr::memmem::find(raw, b"] GC(").is_some_and(|at| gc_id(&raw[at + 2..]).is_some())
}

/// Whether a line is one of a unified log whatever came before it.
pub(crate) fn is_beyond_doubt(line: &Decorated<'_>) -> bool {
    const LEVEL_AND_TAGS: u16 = set::LEVEL | set::TAGS;
    if line.set & LEVEL_AND_TAGS == LEVEL_AND_TAGS {
        return true;
    }
    let body = line.body;
    match body.first() {
        Some(b'G') => gc_id(body).is_some(),
        Some(b'S') => body.starts_with(b"Safepoint \""),
        Some(b'E') => body.starts_with(b"Entering safepoint region"),
        Some(b'L') => body.starts_with(b"Leaving safepoint region"),
        // JDK 8 has these two as well, after its own timestamps.
        Some(b'T') => {
            line.set & set::TIMESTAMPS != 0 && body.starts_with(b"Total time for which application threads")
        }
        Some(b'A') => {
            body.starts_with(b"Allocation Stall (")
                || (line.set & set::TIMESTAMPS != 0 && body.starts_with(b"Application time: "))
        }
        Some(b'U') => is_banner(body),
        _ => false,
    }
}
