//! The decorations before a unified log line:
//! `[2026-11-20T21:59:52.977+0000][0.008s][info][gc,start    ] body`.
//!
//! Any set of them may be chosen (`-Xlog:…:FILE:time,uptime,level,tags`), so each is recognised by
//! its own form and not by its position. HotSpot writes them in a fixed order (`LogDecorations`,
//! JDK 9 to 25): time, utctime, uptime, timemillis, uptimemillis, timenanos, uptimenanos, hostname,
//! pid, tid, level, tags; that order decides where two look alike.
//!
//! Limits: `timenanos` alone cannot be distinguished from `uptimenanos` alone by its form; its
//! value decides (see [`Timestamps::nanos`]).

use fathom_recording::same;

use super::dates::Dates;
use super::scan;

/// The severity of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Level {
    /// `trace`.
    Trace,
    /// `debug`.
    Debug,
    /// `info`.
    Info,
    /// `warning`.
    Warning,
    /// `error`.
    Error,
}

/// Which decorations a line has, as a set of bits: all lines of one output have the same.
pub(crate) mod set {
    pub(crate) const TIME: u16 = 1;
    pub(crate) const UPTIME: u16 = 1 << 1;
    pub(crate) const MILLIS: u16 = 1 << 2;
    pub(crate) const NANOS: u16 = 1 << 3;
    pub(crate) const HOSTNAME: u16 = 1 << 4;
    pub(crate) const NUMBER: u16 = 1 << 5;
    pub(crate) const LEVEL: u16 = 1 << 6;
    pub(crate) const TAGS: u16 = 1 << 7;
    /// Any time.
    pub(crate) const TIMESTAMPS: u16 = TIME | UPTIME | MILLIS | NANOS;
}

/// The times in a line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Timestamps {
    /// Nanoseconds since the epoch, from `time`, `utctime` or `timemillis`.
    pub(crate) wall_ns: Option<i64>,
    /// Nanoseconds since the JVM's start, from the finest of `uptime`, `uptimemillis`,
    /// `uptimenanos`.
    pub(crate) uptime_ns: Option<i64>,
    /// The first value in nanoseconds. With a second one it was `timenanos`, a clock of the
    /// machine, and the second is the uptime; alone it is either.
    pub(crate) nanos: Option<i64>,
}

/// A parsed line. Slices are of the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Decorated<'a> {
    /// Its times.
    pub(crate) stamps: Timestamps,
    /// Which decorations it has: bits of [`set`].
    pub(crate) set: u16,
    /// Its level; info when it prints none.
    pub(crate) level: Level,
    /// Its tags without padding: "gc,start"; empty when it prints none.
    pub(crate) tags: &'a [u8],
    /// The integer decorations in order: pid, tid.
    pub(crate) numbers: [Option<i64>; 2],
    /// The message.
    pub(crate) body: &'a [u8],
}

/// Levels and tags with their brackets, as they were on some lines: a log has a few dozen of them
/// and millions of lines. A line that continues with the same bytes has the same ones, as their
/// meaning depends on nothing before them.
#[derive(Clone, Debug)]
struct Endings {
    kept: [Ending; ENDINGS],
    /// Where the last one closed: HotSpot pads tags to one width.
    close: usize,
}

/// How many are cached, each in a slot given by some of its bytes, or in a neighbouring one when
/// others have taken that.
const ENDINGS: usize = 128;
/// How many slots are tried for one. Those of the lines of one pause must not evict each other.
const NEIGHBOURS: usize = 4;
/// The longest that is cached; HotSpot allows five tags and has none that are longer together.
const ENDING: usize = 64;
/// After this byte the first bracket that closes is that of the tags: `[info][gc]`.
const LEVEL_LEAST: usize = 9;

#[derive(Clone, Copy, Debug)]
struct Ending {
    text: [u8; ENDING],
    /// Its length in `text`; 0 when there is none.
    len: usize,
    level: Level,
    /// Where its tags start and end in `text`.
    tags: (usize, usize),
}

impl Default for Endings {
    fn default() -> Self {
        let none = Ending { text: [0; ENDING], len: 0, level: Level::Info, tags: (0, 0) };
        Self { kept: [none; ENDINGS], close: LEVEL_LEAST }
    }
}

/// The slot of an ending that closes at `close`: given by its level, and by how its tags begin and
/// end, so that "safepoint", "safepoint,stats" and "gc,start" with their padding are distinguished.
#[inline]
fn place(text: &[u8], close: usize) -> Option<usize> {
    let word = |at: usize| Some(u64::from_le_bytes(*text.get(at..)?.first_chunk()?));
    let first = if close < 16 { 0 } else { word(8)? };
    // The lower bits of a product depend on the lower bits of its factors alone: they are mixed
    // with the upper ones.
    let mix = |mixed: u64, word: u64| (mixed ^ mixed >> 32 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = mix(mix(mix(0, word(0)?), first), word(close.checked_sub(8)?)?);
    Some((mixed >> 57) as usize)
}

impl Endings {
    /// The level and the tags that a text begins with, and what follows them, if they are cached.
    #[inline]
    fn find<'a>(&mut self, text: &'a [u8]) -> Option<(Level, &'a [u8], &'a [u8])> {
        if let Some(found) = self.closing_at(self.close, text) {
            return Some(found);
        }
        let head = text.get(..ENDING).unwrap_or(text);
        self.close = LEVEL_LEAST + memchr::memchr(b']', head.get(LEVEL_LEAST..)?)?;
        self.closing_at(self.close, text)
    }

    #[inline]
    fn closing_at<'a>(&self, close: usize, text: &'a [u8]) -> Option<(Level, &'a [u8], &'a [u8])> {
        let place = place(text, close)?;
        let (ending, rest) = text.split_at_checked(close + 1)?;
        let at = |place: usize| {
            let known = self.kept.get(place)?;
            same(known.text.get(..known.len)?, ending).then_some(known)
        };
        let known = at(place).or_else(|| (1..NEIGHBOURS).find_map(|other| at(place ^ other)))?;
        Some((known.level, ending.get(known.tags.0..known.tags.1)?, rest))
    }

    /// Caches the level and the tags that a text begins with: its first `len` bytes.
    fn keep(&mut self, text: &[u8], len: usize, level: Level, tags: &[u8]) {
        let Some(close) = len.checked_sub(1) else { return };
        let Some(place) = place(text, close) else { return };
        let is_free = |place: &usize| self.kept.get(*place).is_some_and(|kept| kept.len == 0);
        let place = (0..NEIGHBOURS).map(|other| place ^ other).find(is_free).unwrap_or(place);
        let Some(kept) = self.kept.get_mut(place) else { return };
        let Some((ending, to)) = text.get(..len).zip(kept.text.get_mut(..len)) else { return };
        let start = ending.iter().rposition(|b| *b == b'[').map_or(0, |open| open + 1);
        to.copy_from_slice(ending);
        (kept.len, kept.level, kept.tags) = (len, level, (start, start + tags.len()));
    }
}

/// What was parsed of the lines before, which the next one mostly repeats.
#[derive(Clone, Debug, Default)]
pub(crate) struct Before {
    dates: Dates,
    /// What the last line began with: most lines of a pause have the same timestamps.
    beginning: Beginning,
}

/// The decorations before the level and the tags, as they were on some line. A line that begins
/// with the same bytes has the same ones: they are whole groups, and the meaning of a group depends
/// on nothing but those before it.
#[derive(Clone, Debug, Default)]
struct Beginning {
    text: Vec<u8>,
    stamps: Timestamps,
    set: u16,
    numbers: [Option<i64>; 2],
    endings: Endings,
}

/// Epoch milliseconds are beyond this, uptimes below: 10¹¹ ms is March 1973, or three years of
/// uptime.
const EPOCH_MILLIS_FROM: i64 = 100_000_000_000;

/// Removes the decorations from a line. What does not look like one begins the body.
#[inline]
pub(crate) fn take_apart<'a>(line: &'a [u8], known: &mut Before) -> Decorated<'a> {
    known.beginning.as_before(line).unwrap_or_else(|| take_each(line, known))
}

/// Removes the decorations from a line one by one.
fn take_each<'a>(line: &'a [u8], known: &mut Before) -> Decorated<'a> {
    let mut found = Decorated {
        stamps: Timestamps::default(),
        set: 0,
        level: Level::Info,
        tags: b"",
        numbers: [None; 2],
        body: line,
    };
    // What stood before the level or the tags, once that is known.
    let mut before = None;
    let last = &known.beginning;
    if let Some((beginning, rest)) = line.split_at_checked(last.text.len())
        && same(beginning, &last.text)
    {
        (found.stamps, found.set, found.numbers, found.body) = (last.stamps, last.set, last.numbers, rest);
    }
    while let [b'[', rest @ ..] = found.body {
        if before.is_none()
            && !rest.first().is_some_and(u8::is_ascii_digit)
            && let Some((level, tags, rest)) = known.beginning.endings.find(found.body)
        {
            known.beginning.keep(line.get(..line.len() - found.body.len()).unwrap_or_default(), &found);
            (found.level, found.tags, found.body) = (level, tags, rest);
            found.set |= set::LEVEL | set::TAGS;
            break;
        }
        let Some(end) = memchr::memchr(b']', rest) else { break };
        let Some((group, after)) = rest.split_at_checked(end) else { break };
        if !found.take(group, &mut known.dates) {
            break;
        }
        let at = line.len() - found.body.len();
        found.body = after.get(1..).unwrap_or_default();
        if before.is_none() && found.set & (set::LEVEL | set::TAGS) != 0 {
            before = Some(at);
            known.beginning.keep(line.get(..at).unwrap_or_default(), &found);
        }
        if found.set & set::TAGS != 0 {
            let ending = before.and_then(|at| line.get(at..)).filter(|_| found.set & set::LEVEL != 0);
            if let Some(ending) = ending {
                known.beginning.endings.keep(
                    ending,
                    ending.len() - found.body.len(),
                    found.level,
                    found.tags,
                );
            }
            break;
        }
    }
    found.body = found.body.strip_prefix(b" ").unwrap_or(found.body);
    found
}

impl Beginning {
    /// Parses a line that has the same timestamps as the one before it, and a cached level and
    /// tags: most lines.
    #[inline]
    fn as_before<'a>(&mut self, line: &'a [u8]) -> Option<Decorated<'a>> {
        let rest = match line.split_at_checked(self.text.len()) {
            Some((beginning, rest)) if same(beginning, &self.text) => rest,
            _ if self.set == set::UPTIME => self.next_uptime(line)?,
            _ => return None,
        };
        let (level, tags, rest) = self.endings.find(rest)?;
        let body = if let [b' ', body @ ..] = rest { body } else { rest };
        let set = self.set | set::LEVEL | set::TAGS;
        Some(Decorated { stamps: self.stamps, set, level, tags, numbers: self.numbers, body })
    }

    /// Parses another uptime of a line, and caches it: `[12.345s]`, the only timestamp unless more
    /// are requested. Returns what follows it.
    fn next_uptime<'a>(&mut self, line: &'a [u8]) -> Option<&'a [u8]> {
        let (seconds_ns, rest) = scan::billionths(line.strip_prefix(b"[")?)?;
        let rest = rest.strip_prefix(b"s]")?;
        // Another timestamp follows it: a line of another kind.
        if rest.get(1)?.is_ascii_digit() {
            return None;
        }
        self.text.clear();
        self.text.extend_from_slice(line.get(..line.len() - rest.len())?);
        self.stamps.uptime_ns = Some(seconds_ns);
        Some(rest)
    }

    /// Caches what stands before the level or the tags of a line, which are the only things that
    /// were parsed since.
    fn keep(&mut self, text: &[u8], line: &Decorated<'_>) {
        if self.text == text {
            return;
        }
        self.text.clear();
        self.text.extend_from_slice(text);
        (self.stamps, self.numbers) = (line.stamps, line.numbers);
        self.set = line.set & !(set::LEVEL | set::TAGS);
    }
}

impl<'a> Decorated<'a> {
    /// Parses one bracketed group. False: it is not a decoration here.
    fn take(&mut self, group: &'a [u8], dates: &mut Dates) -> bool {
        match group.first() {
            Some(b'0'..=b'9') if self.set & (set::LEVEL | set::TAGS) == 0 => self.take_number(group, dates),
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.take_word(group),
            // The asynchronous log's own messages have no tag, only its padding.
            Some(b' ') if self.set & set::LEVEL != 0 && group.trim_ascii().is_empty() => {
                self.set |= set::TAGS;
                true
            }
            _ => false,
        }
    }

    fn take_number(&mut self, group: &'a [u8], dates: &mut Dates) -> bool {
        // HotSpot pads a decoration to the widest that it has written of it: ids of threads differ
        // in length.
        let group = group.trim_ascii_end();
        let Some((whole, unit)) = scan::integer(group) else { return false };
        let whole = i64::try_from(whole).unwrap_or(i64::MAX);
        match unit {
            b"ms" => self.take_millis(whole),
            b"ns" => self.take_nanos(whole),
            b"" => self.take_id(whole),
            _ => {
                if let Some((seconds_ns, b"s")) = scan::billionths(group) {
                    self.set |= set::UPTIME;
                    self.stamps.uptime_ns.get_or_insert(seconds_ns);
                } else if let Some(ns) = dates.epoch_ns(group) {
                    self.set |= set::TIME;
                    self.stamps.wall_ns.get_or_insert(ns);
                } else {
                    return self.take_host(group);
                }
            }
        }
        true
    }

    fn take_millis(&mut self, value: i64) {
        self.set |= set::MILLIS;
        let ns = value.saturating_mul(1_000_000);
        if value >= EPOCH_MILLIS_FROM {
            self.stamps.wall_ns.get_or_insert(ns);
        } else {
            self.stamps.uptime_ns.get_or_insert(ns);
        }
    }

    fn take_nanos(&mut self, value: i64) {
        self.set |= set::NANOS;
        match self.stamps.nanos {
            None => self.stamps.nanos = Some(value),
            Some(_) => self.stamps.uptime_ns = Some(value),
        }
    }

    fn take_id(&mut self, value: i64) {
        self.set |= set::NUMBER;
        if let Some(free) = self.numbers.iter_mut().find(|n| n.is_none()) {
            *free = Some(value);
        }
    }

    fn take_word(&mut self, group: &'a [u8]) -> bool {
        let word = group.trim_ascii_end();
        if self.set & set::LEVEL == 0
            && let Some(level) = level(word)
        {
            self.set |= set::LEVEL;
            self.level = level;
            return true;
        }
        if self.set & set::LEVEL != 0 || begins_with_a_known_tag(word) {
            if !word.iter().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b',' | b'_'))
            {
                return false;
            }
            self.set |= set::TAGS;
            self.tags = word;
            return true;
        }
        self.take_host(group)
    }

    /// A host name has no blanks; it comes after the times and before the level.
    fn take_host(&mut self, group: &'a [u8]) -> bool {
        let name = |b: &u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'.' | b'_');
        let fits =
            self.set & (set::HOSTNAME | set::NUMBER | set::LEVEL | set::TAGS) == 0 && group.iter().all(name);
        if fits {
            self.set |= set::HOSTNAME;
        }
        fits
    }
}

fn level(word: &[u8]) -> Option<Level> {
    Some(match word {
        b"info" => Level::Info,
        b"debug" => Level::Debug,
        b"trace" => Level::Trace,
        b"warning" => Level::Warning,
        b"error" => Level::Error,
        _ => return None,
    })
}

/// First tags of lines of interest, for outputs that print tags and no level. Any other word there
/// is taken for a host name.
fn begins_with_a_known_tag(word: &[u8]) -> bool {
    let first = word.split(|b| *b == b',').next().unwrap_or_default();
    matches!(
        first,
        b"gc"
            | b"safepoint"
            | b"codecache"
            | b"compilation"
            | b"jit"
            | b"deoptimization"
            | b"logging"
            | b"os"
            | b"class"
            | b"module"
            | b"startuptime"
            | b"cds"
            | b"aot"
            | b"biasedlocking"
            | b"monitorinflation"
            | b"handshake"
            | b"pagesize"
            | b"metaspace"
            | b"nmethod"
            | b"thread"
            | b"stringdedup"
            | b"exceptions"
            | b"arguments"
            | b"container"
            | b"jfr"
    )
}

#[cfg(test)]
mod tests;
