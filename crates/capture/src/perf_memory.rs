//! The counters that a JVM publishes in a file that it has mapped (`hsperfdata`), read in place.
//!
//! ```text
//!   prologue: magic cafec0c0 · byte order · version 2.0 · accessible · used · … · offset and number of entries
//!   entry:    length · offset of name · length of vector (0: one number) · type · … · offset of data
//! ```
//!
//! Layout: jdk/internal/perf, src/hotspot/share/runtime/perfMemory.hpp and perfData.hpp (version
//! 2.0 in JDK 8 to 25). Where each counter lies is found once; reading it every second is one
//! `pread` then. Values are updated without locks: numbers are whole, strings may be in the middle
//! of a change.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

use crate::procfs;

/// The file is 32 kB by default (`PerfDataMemorySize`); nobody needs more than this.
const MAX_BYTES: usize = 4 << 20;
/// Counters that are kept; HotSpot has about 250.
const MAX_ENTRIES: usize = 4096;
/// A string is read up to here.
const MAX_TEXT: usize = 4096;
/// Size of the prologue.
const PROLOGUE: usize = 32;
/// Size of an entry's head.
const ENTRY: usize = 20;

/// A JVM's counters.
#[derive(Debug)]
pub struct PerfMemory {
    file: File,
    /// Where the file is mapped in the JVM.
    base: u64,
    places: HashMap<String, Place>,
}

#[derive(Clone, Copy, Debug)]
struct Place {
    offset: usize,
    /// Length of a string's room; 0: a number.
    room: usize,
}

impl PerfMemory {
    /// Of a JVM. `None` when it publishes nothing, or has not finished making its counters.
    pub fn find(pid: i32) -> Option<Self> {
        let maps = procfs::read_to_string(procfs::path(pid, "maps"))?;
        let line = maps.lines().find(|line| line.contains("/hsperfdata_"))?;
        let range = line.split(' ').next()?;
        let base = u64::from_str_radix(range.split('-').next()?, 16).ok()?;
        // Through the map itself: the file may lie in a container, or be deleted.
        let through_map = File::open(procfs::path(pid, "map_files").join(range));
        let through_root = || {
            let path = line.get(line.find('/')?..)?;
            File::open(procfs::path(pid, "root").join(path.strip_prefix('/')?)).ok()
        };
        let file = through_map.ok().or_else(through_root)?;
        let mut bytes = vec![0; (file.metadata().ok()?.len() as usize).min(MAX_BYTES)];
        file.read_exact_at(&mut bytes, 0).ok()?;
        Some(Self { file, base, places: places(&bytes)? })
    }

    /// Where a counter's value lies in the JVM's memory.
    pub fn address(&self, name: &str) -> Option<u64> {
        Some(self.base + self.places.get(name)?.offset as u64)
    }

    /// Names of all counters.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.places.keys().map(String::as_str)
    }

    /// A number as it is now. `None` when there is no such counter, or it is a string.
    pub fn number(&self, name: &str) -> Option<i64> {
        let place = self.places.get(name).filter(|place| place.room == 0)?;
        let mut bytes = [0; 8];
        self.file.read_exact_at(&mut bytes, place.offset as u64).ok()?;
        Some(i64::from_ne_bytes(bytes))
    }

    /// A string as it is now.
    pub fn text(&self, name: &str) -> Option<String> {
        let place = self.places.get(name).filter(|place| place.room > 0)?;
        let mut bytes = vec![0; place.room.min(MAX_TEXT)];
        self.file.read_exact_at(&mut bytes, place.offset as u64).ok()?;
        let end = bytes.iter().position(|b| *b == 0).unwrap_or(bytes.len());
        Some(String::from_utf8_lossy(&bytes[..end]).into_owned())
    }
}

/// Where all counters lie. `None` when it is no file of counters, or not ready.
fn places(bytes: &[u8]) -> Option<HashMap<String, Place>> {
    let word = |at: usize| Some(u32::from_ne_bytes(bytes.get(at..at + 4)?.try_into().ok()?) as usize);
    let ready = bytes.get(..4)? == [0xca, 0xfe, 0xc0, 0xc0] && *bytes.get(5)? == 2 && *bytes.get(7)? == 1;
    if !ready || bytes.len() < PROLOGUE {
        return None;
    }
    let (mut at, entries) = (word(24)?, word(28)?);
    let mut places = HashMap::new();
    for _ in 0..entries.min(MAX_ENTRIES) {
        let (Some(length), Some(name_at)) = (word(at), word(at + 4)) else { break };
        let (Some(vector), Some(data_at)) = (word(at + 8), word(at + 16)) else { break };
        let kind = bytes.get(at + 12).copied();
        let end = at.checked_add(length).filter(|end| length >= ENTRY && *end <= bytes.len());
        let Some(end) = end else { break };
        let name = bytes.get(at.saturating_add(name_at)..end).unwrap_or_default();
        let name = name.split(|b| *b == 0).next().unwrap_or_default();
        let (offset, size) = (at.saturating_add(data_at), if vector == 0 { 8 } else { vector });
        let fits = offset.checked_add(size).is_some_and(|data_end| data_end <= end);
        // 'J' numbers and 'B' strings are all there are.
        if fits && matches!((kind, vector), (Some(b'J'), 0) | (Some(b'B'), 1..)) {
            places.insert(String::from_utf8_lossy(name).into_owned(), Place { offset, room: vector });
        }
        at = end;
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one number and one string.
    fn file() -> Vec<u8> {
        let mut bytes = vec![0xca, 0xfe, 0xc0, 0xc0, 1, 2, 0, 1];
        bytes.resize(PROLOGUE, 0);
        bytes[24..28].copy_from_slice(&32_u32.to_ne_bytes());
        bytes[28..32].copy_from_slice(&2_u32.to_ne_bytes());
        let mut entry = |name: &[u8], kind: u8, vector: u32, data: &[u8]| {
            let data_at = (ENTRY + name.len() + 1).next_multiple_of(8);
            let length = (data_at + data.len()).next_multiple_of(8);
            let start = bytes.len();
            for word in [length as u32, ENTRY as u32, vector] {
                bytes.extend(word.to_ne_bytes());
            }
            bytes.extend([kind, 0, 0, 0]);
            bytes.extend((data_at as u32).to_ne_bytes());
            bytes.extend(name);
            bytes.resize(start + data_at, 0);
            bytes.extend(data);
            bytes.resize(start + length, 0);
        };
        entry(b"sun.rt.safepoints", b'J', 0, &42_i64.to_ne_bytes());
        entry(b"sun.gc.cause", b'B', 8, b"No GC\0\0\0");
        bytes
    }

    #[test]
    fn numbers_and_strings_are_found_where_they_lie() {
        let bytes = file();
        let places = places(&bytes).unwrap();
        let number = places["sun.rt.safepoints"];
        assert_eq!((&bytes[number.offset..number.offset + 8], number.room), (&42_i64.to_ne_bytes()[..], 0));
        let text = places["sun.gc.cause"];
        assert_eq!((&bytes[text.offset..text.offset + 5], text.room), (&b"No GC"[..], 8));
    }

    #[test]
    fn a_file_cut_or_changed_anywhere_gives_places_within_it_and_no_panic() {
        let whole = file();
        for at in 0..whole.len() {
            let inside = |bytes: &[u8]| {
                let places = places(bytes).unwrap_or_default();
                places
                    .values()
                    .all(|p| p.offset + p.room.max(8) <= bytes.len() || p.offset + p.room <= bytes.len())
            };
            assert!(inside(&whole[..at]));
            for value in [0, 1, 0x7f, 0xff] {
                let mut changed = whole.clone();
                changed[at] = value;
                assert!(inside(&changed));
            }
        }
    }
}
