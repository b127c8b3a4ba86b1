//! Records by their brackets: `[GC 0.3: [ParNew: 43008K->4706K(43008K), 0.03 secs] …, 0.03 secs]`.
//!
//! ```text
//!   depth 0                1                2                   1                0
//!   stamps  [  GC stamps   [  ParNew: …     ]  heap, seconds    ]   [Times: …]
//! ```
//!
//! A record is recognised by its nesting and never by the form of a line, because lines do not hold
//! it together: tenuring tables, heap dumps, free-list statistics and whole records of the
//! concurrent threads are printed into the middle of it. What stands between two brackets is a
//! *text*, and a text is searched for the few forms that mean something: timestamps before a
//! bracket, "a->b(c)", "0.1 secs", a word in parentheses.
//!
//! One record may hold another: a CMS remark with CMSScavengeBeforeRemark. Any other start of a
//! record inside an open one means that the open one was truncated (a killed JVM, a lost piece of a
//! rotated log).

use memchr::{memchr, memchr2};

use super::numbers::{Change, exact_ns, last_change, number_after, seconds_ns, trailing_decimal};
use super::pause::{Collector, Pause, Times};
use super::timestamp::Timestamp;

/// How deep brackets nest: a scavenge before remark with reference processing has four levels.
const MAX_DEPTH: usize = 12;

/// How many lines a record may stay open. The longest legitimate content is a class histogram
/// before a full collection, one line per class; 50,000 classes are more than any heap that we
/// know.
const MAX_OPEN_LINES: u64 = 50_000;

/// What `-XX:+PrintClassHistogramAfterFullGC` prints.
const COUNT_AFTER: &[u8] = b"Class Histogram (after";

/// Part names are kept to this length ("ASCMS-concurrent-abortable-preclean-start" has 41).
const NAME_LEN: usize = 48;

/// What was completed.
#[derive(Debug)]
pub(super) enum Event {
    /// A record begins that lies in no other. Only these come in the order of their timestamps:
    /// what is printed within a record is later than the record's own start ("200.0: [Full GC
    /// 200.0: [CMS210.5: [CMS-concurrent-sweep: …").
    Begins(Timestamp),
    /// A stop-the-world record. Its CPU times and details may follow.
    Pause(Box<Pause>),
    /// A concurrent phase has ended: its timestamp is its end.
    Concurrent(Concurrent),
    /// The CPU times of the pause that closed last.
    Times(Times),
    /// G1 reports that the next cycle is started for a humongous allocation.
    HumongousRequest,
    /// Something with a GC id began: a record, a concurrent phase, a collection of the old
    /// generation inside a record.
    Identified(Timestamp),
    /// G1 has counted the objects of each class after a full collection, with the time that it
    /// took: the stop that it was part of ends with it, and the collection's own record does not
    /// contain it.
    CountedObjects(i64),
    /// A record was truncated; the pause as far as it was read, if it is one.
    Truncated(Option<Box<Pause>>),
}

/// A concurrent phase that ended or was aborted.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Concurrent {
    pub line: u64,
    pub stamp: Timestamp,
    pub name: String,
    /// Wall time; absent for an event.
    pub wall_ns: Option<i64>,
    pub change: Option<Change>,
    pub collector: Collector,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Pause,
    Concurrent,
    Times,
    Ergonomics,
    Part,
    /// Known and of no interest: class loading and unloading, references at depth 0.
    Ignored,
    Unknown,
}

/// What `text`, the bytes after a bracket, begins.
fn kind_of(text: &[u8]) -> Kind {
    const CONCURRENT: &[&[u8]] = &[b"CMS-concurrent", b"ASCMS-concurrent", b"GC concurrent", b"Concurrent "];
    // Phases of a G1 remark and details whose names begin with "GC".
    const PARTS: &[&[u8]] = &[b"GC ref-proc", b"GC Worker"];
    const IGNORED: &[&[u8]] =
        &[b"Loaded ", b"Unloading class ", b"Opened ", b"YG occupancy", b"Preclean ", b"Class Histogram"];
    // "Pause Init Mark" is the Shenandoah of 8u forks.
    let pause = |text: &[u8]| match text {
        [b'G', b'C', rest @ ..] => !rest.first().is_some_and(u8::is_ascii_lowercase),
        text => text.starts_with(b"Full GC") || text.starts_with(b"Pause "),
    };
    let starts = |names: &[&[u8]]| names.iter().any(|n| text.starts_with(n));
    match text.first() {
        Some(b'G' | b'F' | b'P' | b'C' | b'A') if starts(CONCURRENT) => Kind::Concurrent,
        Some(b'G') if text.starts_with(b"G1Ergonomics") => Kind::Ergonomics,
        Some(b'G') if starts(PARTS) => Kind::Part,
        Some(b'G' | b'F' | b'P') if pause(text) => Kind::Pause,
        Some(b'T') if text.starts_with(b"Times:") => Kind::Times,
        Some(_)
            if starts(IGNORED) || text.get(..32).unwrap_or(text).windows(11).any(|w| w == b"Reference, ") =>
        {
            Kind::Ignored
        }
        _ => Kind::Unknown,
    }
}

/// Whether `text`, the bytes after a bracket, begins a pause or a concurrent phase.
pub(super) fn begins_record(text: &[u8]) -> bool {
    matches!(kind_of(text), Kind::Pause | Kind::Concurrent)
}

struct Frame {
    kind: Kind,
    name: [u8; NAME_LEN],
    name_len: Option<usize>,
    change: Option<Change>,
    secs_ns: Option<i64>,
    stamp: Timestamp,
    line: u64,
}

impl Frame {
    fn name(&self) -> &[u8] {
        self.name.get(..self.name_len.unwrap_or(0)).unwrap_or_default()
    }

    fn set_name(&mut self, text: &[u8]) {
        let end = text.iter().position(|b| b":,".contains(b)).unwrap_or(text.len());
        let name = text.get(..end).unwrap_or_default().trim_ascii();
        let len = name.len().min(NAME_LEN);
        self.name[..len].copy_from_slice(&name[..len]);
        self.name_len = Some(len);
    }
}

/// Assembles records, line by line.
#[derive(Default)]
pub(super) struct Brackets {
    frames: Vec<Frame>,
    /// The pauses among the frames, outermost first.
    pauses: Vec<Pause>,
    /// Whether the record that closed last is a concurrent one: the next times are its.
    times_are_concurrent: bool,
    /// What was completed, in order; the reader drains it after every line.
    pub events: Vec<Event>,
}

impl Brackets {
    /// Whether a record is open.
    pub fn is_open(&self) -> bool {
        !self.frames.is_empty()
    }

    /// The innermost open pause.
    pub fn open_pause(&mut self) -> Option<&mut Pause> {
        self.pauses.last_mut()
    }

    /// Drops an open record, and reports it as truncated.
    pub fn abandon(&mut self) {
        if !self.frames.is_empty() {
            self.frames.clear();
            let mut pauses = self.pauses.drain(..);
            let mut outer = pauses.next();
            if let Some(outer) = &mut outer {
                pauses.for_each(|inner| outer.fails_with(&inner));
            } else {
                drop(pauses);
            }
            self.events.push(Event::Truncated(outer.map(Box::new)));
        }
    }

    /// Takes a line. False when, outside of a record, it holds nothing that is known.
    pub fn feed(&mut self, number: u64, line: &[u8]) -> bool {
        if self.frames.first().is_some_and(|f| number.saturating_sub(f.line) > MAX_OPEN_LINES) {
            self.abandon();
        }
        let was_open = self.is_open();
        let (mut rest, mut known) = (line, was_open);
        while let Some(at) = memchr2(b'[', b']', rest) {
            let (text, from) = rest.split_at(at);
            rest = from.get(1..).unwrap_or_default();
            if from.first() == Some(&b']') {
                self.text(text);
                known |= self.close();
                continue;
            }
            if rest.starts_with(b"0x") {
                // An address range of a heap dump: "[0x…, 0x…)".
                let end = memchr(b')', rest).map_or(rest.len(), |i| i + 1);
                rest = rest.get(end..).unwrap_or_default();
                continue;
            }
            let (before, stamp) = Timestamp::trailing(text);
            self.text(before);
            known |= self.open(number, stamp, rest);
        }
        self.text(rest);
        known
    }

    /// Starts what `head` begins with. False when that cannot begin at depth 0.
    fn open(&mut self, line: u64, stamp: Timestamp, head: &[u8]) -> bool {
        let mut kind = kind_of(head);
        if kind == Kind::Pause && self.is_open() && !self.may_nest(line) {
            self.abandon();
        }
        if kind == Kind::Unknown {
            if !self.is_open() {
                return false;
            }
            kind = Kind::Part;
        }
        if self.frames.len() >= MAX_DEPTH {
            self.abandon();
            return false;
        }
        if !self.is_open() && matches!(kind, Kind::Pause | Kind::Concurrent) {
            self.events.push(Event::Begins(stamp));
        }
        if stamp.id.is_some() {
            self.events.push(Event::Identified(stamp));
        }
        if kind == Kind::Pause {
            self.pauses.push(Pause { line, stamp, ..Pause::default() });
        }
        if kind == Kind::Ignored
            && head.starts_with(b"YG occupancy")
            && let Some(pause) = self.pauses.last_mut()
        {
            pause.remark = true;
        }
        if kind == Kind::Ergonomics && memchr::memmem::find(head, b"source: concurrent humongous").is_some() {
            self.events.push(Event::HumongousRequest);
        }
        let name = [0; NAME_LEN];
        self.frames.push(Frame { kind, name, name_len: None, change: None, secs_ns: None, stamp, line });
        true
    }

    /// Whether a pause may start inside the open record: a scavenge inside a remark, once.
    fn may_nest(&self, line: u64) -> bool {
        match self.pauses.as_slice() {
            [outer] => outer.nested.is_empty() && (outer.remark || (outer.line == line && !outer.full)),
            _ => false,
        }
    }

    /// Takes the text between two brackets.
    fn text(&mut self, text: &[u8]) {
        let Some(frame) = self.frames.last_mut() else { return };
        if text.is_empty() {
            return;
        }
        let first = frame.name_len.is_none();
        if first {
            frame.set_name(text);
        }
        match frame.kind {
            Kind::Ignored if frame.name().starts_with(COUNT_AFTER) => {
                frame.secs_ns = seconds_ns(text).or(frame.secs_ns);
                return;
            }
            Kind::Ergonomics | Kind::Ignored | Kind::Unknown => return,
            Kind::Times => {
                if let (Some(user_s), Some(sys_s), Some(real_s)) =
                    (number_after(text, b"user="), number_after(text, b"sys="), number_after(text, b"real="))
                {
                    let times = Times { user_s, sys_s, real_s };
                    if !self.times_are_concurrent {
                        self.take_times(times);
                    }
                }
                self.times_are_concurrent = false;
                return;
            }
            Kind::Pause | Kind::Part | Kind::Concurrent => {}
        }
        let own = frame.kind == Kind::Pause;
        let seconds = seconds_ns(text);
        // Shenandoah's records, and no others, end in milliseconds.
        let lasts_ns = seconds.or_else(|| text.strip_suffix(b" ms").and_then(milliseconds_ns));
        frame.secs_ns = lasts_ns.or(frame.secs_ns);
        if let Some(change) = last_change(text) {
            frame.change = Some(change);
        }
        let Some(pause) = self.pauses.last_mut() else { return };
        if own && first {
            pause.open(text.trim_ascii_start());
        }
        if own && has_failure_mark(text) {
            pause.fail_to_move();
        }
        if frame.kind != Kind::Concurrent {
            for group in Parentheses(text) {
                pause.qualify(group, own);
            }
        }
    }

    /// Times go to the pause that closed last: a nested one while its outer one is open.
    fn take_times(&mut self, times: Times) {
        match self.pauses.last_mut() {
            Some(open) => {
                if let Some(nested) = open.nested.last_mut() {
                    nested.times.get_or_insert(times);
                }
            }
            None => self.events.push(Event::Times(times)),
        }
    }

    /// Ends the innermost frame. False when nothing was open.
    fn close(&mut self) -> bool {
        let Some(frame) = self.frames.pop() else { return false };
        match frame.kind {
            Kind::Pause => self.close_pause(&frame),
            Kind::Concurrent => self.close_concurrent(&frame),
            Kind::Part => {
                let outermost = self.frames.last().is_some_and(|f| f.kind == Kind::Pause);
                if let Some(pause) = self.pauses.last_mut() {
                    pause.part(strip_failure(frame.name()), frame.change, frame.secs_ns, outermost);
                }
            }
            Kind::Ignored if self.frames.is_empty() && frame.name().starts_with(COUNT_AFTER) => {
                self.events.extend(frame.secs_ns.map(Event::CountedObjects));
            }
            Kind::Times | Kind::Ergonomics | Kind::Ignored | Kind::Unknown => {}
        }
        true
    }

    fn close_pause(&mut self, frame: &Frame) {
        let Some(mut pause) = self.pauses.pop() else { return };
        pause.duration_ns = frame.secs_ns;
        pause.heap = frame.change;
        self.times_are_concurrent = false;
        match self.pauses.last_mut() {
            _ if pause.duration_ns.is_none() => {
                // "[Pause Init Mark, start]" announces a pause that is reported when it ends.
                if pause.collector != Some(Collector::Shenandoah) {
                    self.events.push(Event::Truncated(Some(Box::new(pause))));
                }
            }
            Some(outer) => {
                outer.remark = true;
                outer.fails_with(&pause);
                pause.is_scavenge_of_remark();
                outer.nested.push(pause);
            }
            None => self.events.push(Event::Pause(Box::new(pause))),
        }
    }

    fn close_concurrent(&mut self, frame: &Frame) {
        self.times_are_concurrent = true;
        let name = frame.name();
        let name = name.strip_prefix(b"GC ").unwrap_or(name);
        let starts =
            name.ends_with(b"-start") || (frame.secs_ns.is_none() && name.starts_with(b"Concurrent "));
        if starts {
            self.times_are_concurrent = false;
            return;
        }
        let collector = match name {
            [b'c', ..] => Collector::G1,
            [b'C', b'o', ..] => Collector::Shenandoah,
            _ => Collector::Cms,
        };
        let name = name.strip_suffix(b"-end").unwrap_or(name);
        // "Concurrent cleanup 84078K->26953K(98304K)": the name ends where the sizes begin.
        let name = name.split(u8::is_ascii_digit).next().unwrap_or(name).trim_ascii_end();
        self.events.push(Event::Concurrent(Concurrent {
            line: frame.line,
            stamp: frame.stamp,
            name: String::from_utf8_lossy(name).into_owned(),
            wall_ns: frame.secs_ns,
            change: frame.change,
            collector,
        }));
    }
}

/// The milliseconds that `text` ends with, as nanoseconds.
fn milliseconds_ns(text: &[u8]) -> Option<i64> {
    exact_ns(trailing_decimal(text)).map(|ns| ns / 1000)
}

/// "GC--[PSYoungGen", "(Allocation Failure) --[PSYoungGen", "GC pause (young)-- 120M->116M(128M)":
/// objects could not be moved (`psScavenge.cpp` and `g1CollectedHeap.cpp` print "--" then, before
/// the sizes).
fn has_failure_mark(text: &[u8]) -> bool {
    memchr::memmem::find_iter(text, b"--")
        .any(|at| matches!(text.get(at + 2), None | Some(b' ')) && text.get(at + 2) != Some(&b'-'))
}

/// "CMS (concurrent mode failure)" is the part "CMS".
fn strip_failure(name: &[u8]) -> &[u8] {
    let end = memchr::memmem::find(name, b"(concurrent mode").or(memchr::memmem::find(name, b"(promotion"));
    end.and_then(|at| name.get(..at)).unwrap_or(name).trim_ascii_end()
}

/// The groups in parentheses of a text that are words: "(young)", "(System.gc())"; not "(138624K)".
struct Parentheses<'a>(&'a [u8]);

impl<'a> Iterator for Parentheses<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        loop {
            let at = memchr(b'(', self.0)?;
            let rest = self.0.get(at + 1..)?;
            let mut end = memchr(b')', rest)?;
            // "System.gc()" carries its own.
            if rest.get(..end).is_some_and(|inner| inner.contains(&b'(')) {
                end += memchr(b')', rest.get(end + 1..)?)? + 1;
            }
            self.0 = rest.get(end + 1..)?;
            let group = rest.get(..end)?;
            if group.first().is_some_and(u8::is_ascii_alphabetic) && group.len() <= 64 {
                return Some(group);
            }
        }
    }
}
