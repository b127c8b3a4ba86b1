//! Chunks of a stream: each is read into memory alone, wherever it ends.
//!
//! ```text
//!  0  "FLR\0"   4 version   8 size   16 constant pool   24 metadata   32 start, ns   40 duration, ns
//! 48 start, ticks   56 ticks per second   64 state   66 features (1: compressed integers)   68 events …
//! ```
//!
//! A finished chunk has its size in the header. One that a JVM was still writing (copied from its
//! repository, or left by a JVM that was killed) has the size of its last flush, or none, and a
//! state that is not 0 (`ChunkHeader`, JDK 14 and later): it ends where its events end. The same
//! holds where the header's size is damaged.

use std::io::Read;

use super::bytes::Bytes;
use super::layout::Clock;
use crate::Lines;

/// The magic bytes of a chunk.
pub(super) const MAGIC: &[u8] = b"FLR\0";
/// Size of the header.
const HEADER: usize = 68;
/// The largest chunk that is read into memory. The JDK begins a new chunk after 12 MB and
/// async-profiler after 100 MB; what exceeds this is left out and reported.
const LARGEST: usize = 1 << 30;
/// How much more is read at a time.
const STEP: usize = 1 << 20;

/// A chunk's header.
#[derive(Clone, Copy, Debug)]
pub(super) struct Header {
    size: u64,
    /// The offset of the newest metadata event, according to the header.
    pub(super) metadata: u64,
    /// Nanoseconds since the epoch at its start, and its duration.
    pub(super) start_ns: i64,
    duration_ns: i64,
    start_ticks: i64,
    ticks_per_second: i64,
    /// Whether it was still being written.
    in_flight: bool,
    pub(super) compressed: bool,
}

impl Header {
    /// The header at the beginning of `data`. `None`: a JVM writes no such header.
    fn read(data: &[u8]) -> Option<Self> {
        let head: &[u8; HEADER] = data.get(..HEADER)?.try_into().ok()?;
        let long =
            |at: usize| head.get(at..at + 8).map_or(0, |b| b.iter().fold(0, |n, b| n << 8 | u64::from(*b)));
        let version = u16::from_be_bytes([head[4], head[5]]);
        let header = Self {
            size: long(8),
            metadata: long(24),
            start_ns: long(32) as i64,
            duration_ns: long(40) as i64,
            start_ticks: long(48) as i64,
            ticks_per_second: long(56) as i64,
            in_flight: head[64] != 0 || long(8) == 0,
            compressed: head[67] & 1 != 0,
        };
        let honest = head.starts_with(MAGIC) && (1..=2).contains(&version) && header.start_ns >= 0;
        honest.then_some(header)
    }

    /// When it ends, if it is finished.
    pub(super) fn end_ns(&self) -> Option<i64> {
        (!self.in_flight).then(|| self.start_ns.saturating_add(self.duration_ns.max(0)))
    }

    /// The conversion of its ticks to nanoseconds.
    pub(super) fn clock(&self) -> Clock {
        let per_second = if self.ticks_per_second > 0 { self.ticks_per_second } else { 1_000_000_000 };
        Clock { start_ns: self.start_ns, start_ticks: self.start_ticks, tick_ns: 1e9 / per_second as f64 }
    }
}

/// A chunk in memory.
pub(super) struct Chunk<'a> {
    pub(super) header: Header,
    /// All of it, including the header.
    pub(super) data: &'a [u8],
    /// Whether it is truncated.
    pub(super) truncated: bool,
}

/// The chunks of a stream.
pub(super) struct Chunks<'l> {
    lines: &'l mut Lines,
    /// What was read, and room for more, which is written over: it is not cleared for each chunk.
    buffer: Vec<u8>,
    /// How many bytes of the buffer were read.
    filled: usize,
    /// Bytes of the buffer that have been returned.
    done: usize,
    ended: bool,
    /// Bytes that belong to no chunk.
    pub(super) foreign: u64,
}

impl<'l> Chunks<'l> {
    pub(super) fn new(lines: &'l mut Lines) -> Self {
        Self { lines, buffer: Vec::new(), filled: 0, done: 0, ended: false, foreign: 0 }
    }

    /// Reads until `size` bytes are in the buffer. False: there are fewer.
    fn fill(&mut self, size: usize) -> bool {
        while self.filled < size && !self.ended {
            let to = size.min(self.filled + STEP);
            if self.buffer.len() < to {
                self.buffer.resize(to, 0);
            }
            match self.lines.content().read(&mut self.buffer[self.filled..to]) {
                Ok(0) | Err(_) => self.ended = true,
                Ok(read) => self.filled += read,
            }
        }
        self.filled >= size
    }

    /// What was read and not dropped.
    fn content(&self) -> &[u8] {
        self.buffer.get(..self.filled).unwrap_or_default()
    }

    /// Drops bytes from the beginning of the buffer.
    fn drop_first(&mut self, bytes: usize) {
        self.buffer.copy_within(bytes..self.filled, 0);
        self.filled -= bytes;
    }

    /// The next chunk.
    pub(super) fn next(&mut self) -> Option<Chunk<'_>> {
        self.drop_first(self.done);
        self.done = 0;
        let header = self.header()?;
        let size = usize::try_from(header.size).unwrap_or(usize::MAX);
        let whole = !header.in_flight && (HEADER..=LARGEST).contains(&size) && self.fill(size);
        // A complete chunk is followed by another or by the end; otherwise its size is trusted only
        // if an event ends there.
        let followed =
            |me: &mut Self| !me.fill(size + MAGIC.len()) || me.content()[size..].starts_with(MAGIC);
        let whole = whole && (followed(self) || ends_at(&self.content()[..size], header.compressed));
        let end = if whole {
            size
        } else {
            self.fill(LARGEST);
            end_of_events(self.content(), header.compressed)
        };
        self.done = end;
        Some(Chunk { header, data: self.content().get(..end).unwrap_or_default(), truncated: !whole })
    }

    /// The header of the next chunk, with the buffer beginning there.
    fn header(&mut self) -> Option<Header> {
        loop {
            if !self.fill(HEADER) {
                self.foreign += self.filled as u64;
                return None;
            }
            if let Some(header) = Header::read(self.content()) {
                return Some(header);
            }
            self.fill(STEP);
            let next = memchr::memmem::find(self.content().get(1..).unwrap_or_default(), MAGIC);
            let skipped = next.map_or(self.filled.saturating_sub(MAGIC.len() - 1), |at| at + 1);
            self.foreign += skipped as u64;
            self.drop_first(skipped);
        }
    }
}

/// Where the events of a chunk end whose size is unknown: at the next chunk, or at bytes that are
/// not an event.
fn end_of_events(data: &[u8], compressed: bool) -> usize {
    let mut at = HEADER;
    while let Some(next) = Event::at(data, at, compressed) {
        if Header::read(data.get(at..).unwrap_or_default()).is_some() {
            return at;
        }
        at = next.end;
    }
    // A truncated last event is lost; a chunk after it is not.
    let rest = data.get(at..).unwrap_or_default();
    let next = memchr::memmem::find_iter(rest, MAGIC);
    let next = next.into_iter().find(|from| Header::read(rest.get(*from..).unwrap_or_default()).is_some());
    next.map_or(data.len(), |from| at + from)
}

/// Whether the chunk ends exactly where an event ends.
fn ends_at(data: &[u8], compressed: bool) -> bool {
    let mut at = HEADER;
    while let Some(event) = Event::at(data, at, compressed) {
        at = event.end;
    }
    at == data.len()
}

/// The position of an event in a chunk.
#[derive(Clone, Copy, Debug)]
pub(super) struct Event {
    /// Numeric id of its type.
    pub(super) class: u64,
    /// Where its fields begin.
    pub(super) body: usize,
    /// Where it ends.
    pub(super) end: usize,
}

impl Event {
    /// The event that begins at an offset. `None`: there is none, or it is truncated.
    #[inline]
    fn at(data: &[u8], at: usize, compressed: bool) -> Option<Self> {
        let mut bytes = Bytes::new(data, at, compressed);
        let (size, class) = match bytes.two_short() {
            Some(both) => both,
            None => (bytes.int()?, bytes.long()?),
        };
        let end = at.checked_add(usize::try_from(size).ok()?)?;
        (bytes.at <= end && end <= data.len()).then_some(Self { class, body: bytes.at, end })
    }
}

/// Iterates over the events of a chunk.
pub(super) struct Events<'a> {
    data: &'a [u8],
    /// Where the next one begins; at the end, where the iteration stopped.
    pub(super) at: usize,
    compressed: bool,
}

impl<'a> Events<'a> {
    pub(super) fn of(chunk: &Chunk<'a>) -> Self {
        Self { data: chunk.data, at: HEADER, compressed: chunk.header.compressed }
    }
}

impl Iterator for Events<'_> {
    type Item = Event;

    #[inline]
    fn next(&mut self) -> Option<Event> {
        let event = Event::at(self.data, self.at, self.compressed)?;
        self.at = event.end;
        Some(event)
    }
}

/// The event that begins at an offset of a chunk.
pub(super) fn event_at(chunk: &Chunk<'_>, at: u64) -> Option<Event> {
    let at = usize::try_from(at).ok().filter(|at| *at >= HEADER)?;
    Event::at(chunk.data, at, chunk.header.compressed)
}
