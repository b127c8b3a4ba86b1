//! Rotated sets: one log in several files.
//!
//! | who rotates | files | newest |
//! |---|---|---|
//! | JDK 6–8 `-XX:+UseGCLogFileRotation` | `gc.log.0` … `gc.log.N`, `.current` after the name of
//! the one being written | `.current` |
//! | JDK 9+ `-Xlog:…:filecount=` | `gc.log`, and a ring `gc.log.0` … `.k` that is overwritten around | `gc.log` |
//! | logrotate | `gc.log`, `gc.log.1` … `.k`, each moved up by one | `gc.log`, then `.1` |
//!
//! Names show which files may belong together, and only their timestamps in which order: the
//! unified ring may well be 3, 4, 0, 1, 2 and then the baseline. Dates decide where all files have
//! them. Uptimes fall back to zero when the JVM was restarted, so the order that falls back the
//! least is used.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::sync::{Arc, Mutex};

use fathom_recording::Segment;

use super::{Item, Opener};

/// Lines of a file that are searched for a first timestamp: JDK 8 begins with its flags, unified
/// logs with a timestamp.
const STAMP_WITHIN_LINES: usize = 200;

/// Which part of a set a file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Part {
    Number(u32),
    /// The numbered file that is being written (JDK 8).
    Current(u32),
    /// The file without a number.
    Base,
}

/// The name that the files of a set share, and which part this one is.
pub(crate) fn part_of(name: &str) -> (&str, Part) {
    let unpacked =
        [".gz", ".zst", ".bz2"].iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
    let (numbered, current) = match unpacked.strip_suffix(".current") {
        Some(numbered) => (numbered, true),
        None => (unpacked, false),
    };
    let number = |(base, digits): (&'_ str, &str)| {
        let short = (1..=4).contains(&digits.len()) && digits.bytes().all(|b| b.is_ascii_digit());
        let named = !base.is_empty() && !base.ends_with('/');
        (short && named).then(|| digits.parse::<u32>().ok()).flatten()
    };
    match numbered.rsplit_once('.').and_then(number) {
        Some(n) => {
            let base = numbered.rsplit_once('.').map_or(numbered, |(base, _)| base);
            (base, if current { Part::Current(n) } else { Part::Number(n) })
        }
        None => (unpacked, Part::Base),
    }
}

/// The first timestamp in a file.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub(crate) enum Timestamp {
    /// Nanoseconds since the epoch.
    Date(i128),
    /// Seconds since the start of the JVM.
    Uptime(f64),
}

/// The first timestamp in `head`: a date if there is one.
pub(crate) fn first_timestamp(head: &[u8]) -> Option<Timestamp> {
    let lines = head.split(|b| *b == b'\n').take(STAMP_WITHIN_LINES);
    lines
        .filter_map(|line| std::str::from_utf8(line.get(..line.len().min(120))?).ok())
        .find_map(stamp_of)
        .or_else(|| crate::access_log::first_timestamp_ns(head).map(|ns| Timestamp::Date(i128::from(ns))))
}

/// `[2026-11-20T22:02:12.784+0000][0.043s][info]…` or `2026-11-20T21:50:12.809+0000: 0.509: [GC…`.
fn stamp_of(line: &str) -> Option<Timestamp> {
    let words: Vec<&str> = match line.starts_with('[') {
        true => line.split(']').map_while(|word| word.strip_prefix('[')).map(str::trim).take(12).collect(),
        false => line.split(": ").take(2).collect(),
    };
    let date = words.iter().find_map(|word| word.parse::<jiff::Timestamp>().ok());
    let uptime = || words.iter().find_map(|word| uptime_of(word, line.starts_with('[')));
    date.map(|date| Timestamp::Date(date.as_nanosecond())).or_else(|| uptime().map(Timestamp::Uptime))
}

fn uptime_of(word: &str, decoration: bool) -> Option<f64> {
    let (number, unit) = match (decoration, word) {
        (true, word) if word.ends_with("ms") => (word.strip_suffix("ms")?, 1e3),
        (true, word) if word.ends_with("ns") => (word.strip_suffix("ns")?, 1e9),
        (true, word) => (word.strip_suffix('s')?, 1.0),
        (false, word) if word.contains(['.', ',']) => (word, 1.0),
        (false, _) => return None,
    };
    let number = number.replace(',', ".");
    let digits = number.bytes().all(|b| b.is_ascii_digit() || b == b'.');
    number.parse::<f64>().ok().filter(|_| digits).map(|n| n / unit)
}

/// The order in which the parts of a set were written, as indexes into `parts`.
pub(crate) fn order(parts: &[(Part, Option<Timestamp>)]) -> Vec<usize> {
    let dates: Option<Vec<i128>> = parts.iter().map(|(_, stamp)| date(*stamp)).collect();
    let mut by_number: Vec<usize> = (0..parts.len()).collect();
    by_number.sort_by_key(|i| match parts[*i].0 {
        Part::Number(n) | Part::Current(n) => (0, n),
        Part::Base => (1, 0),
    });
    if let Some(dates) = dates {
        // Stable: files of equal dates stay in order of number.
        by_number.sort_by_key(|i| dates[*i]);
        return by_number;
    }
    let (ring, newest): (Vec<usize>, Vec<usize>) =
        by_number.into_iter().partition(|i| !matches!(parts[*i].0, Part::Base));
    let mut candidates: Vec<Vec<usize>> = (0..ring.len().max(1)).map(|by| turned(&ring, by)).collect();
    let written_last = |i: &usize| matches!(parts[*i].0, Part::Current(_));
    if ring.iter().any(written_last) {
        candidates.retain(|order| order.last().is_some_and(written_last));
    } else {
        candidates.push(ring.iter().rev().copied().collect());
    }
    for candidate in &mut candidates {
        candidate.extend(&newest);
    }
    // Fewest falls first; of equals the one with the deepest fall, as a new run starts near zero.
    let falls = |order: &Vec<usize>| {
        let stamps: Vec<f64> = order.iter().filter_map(|i| uptime(parts[*i].1)).collect();
        let fallen: Vec<f64> =
            stamps.windows(2).filter(|pair| pair[1] < pair[0]).map(|pair| pair[1]).collect();
        (fallen.len(), fallen.iter().sum::<f64>())
    };
    let fewest = |a: &Vec<usize>, b: &Vec<usize>| {
        let ((a, to_a), (b, to_b)) = (falls(a), falls(b));
        a.cmp(&b).then(to_a.total_cmp(&to_b))
    };
    candidates.into_iter().min_by(fewest).unwrap_or_default()
}

fn turned(ring: &[usize], by: usize) -> Vec<usize> {
    let (head, tail) = ring.split_at(by.min(ring.len()));
    [tail, head].concat()
}

fn date(stamp: Option<Timestamp>) -> Option<i128> {
    match stamp? {
        Timestamp::Date(date) => Some(date),
        Timestamp::Uptime(_) => None,
    }
}

fn uptime(stamp: Option<Timestamp>) -> Option<f64> {
    match stamp? {
        Timestamp::Uptime(uptime) => Some(uptime),
        Timestamp::Date(_) => None,
    }
}

/// What happened to the files of a set while they were read as one.
#[derive(Debug, Default)]
pub(crate) struct JoinedFiles {
    pub(crate) segments: Vec<Segment>,
    /// What was wrong with one of them; the next ones were read all the same.
    pub(crate) failures: Vec<String>,
}

/// The files of a set as one stream. Each is opened when the one before has ended; a file that does
/// not end in a line break gets one, so that no two lines are joined.
pub(crate) struct Joined {
    opener: Opener,
    waiting: VecDeque<Item>,
    open: Option<(String, Box<dyn Read + Send>)>,
    lines: u64,
    in_line: bool,
    report: Arc<Mutex<JoinedFiles>>,
}

impl Joined {
    /// The stream of `items` in this order, and the report about them.
    pub(crate) fn new(opener: Opener, items: Vec<Item>) -> (Self, Arc<Mutex<JoinedFiles>>) {
        let report = Arc::new(Mutex::new(JoinedFiles::default()));
        let waiting = VecDeque::from(items);
        (Self { opener, waiting, open: None, lines: 0, in_line: false, report: report.clone() }, report)
    }

    fn record(&self, record: impl FnOnce(&mut JoinedFiles)) {
        if let Ok(mut report) = self.report.lock() {
            record(&mut report);
        }
    }

    /// Opens the next file; false when there is none.
    fn advance(&mut self) -> bool {
        while let Some(item) = self.waiting.pop_front() {
            match self.opener.stream(&item) {
                Ok(stream) => {
                    let segment = Segment { name: item.name.clone(), first_line: self.lines + 1 };
                    self.record(|report| report.segments.push(segment));
                    self.open = Some((item.name, stream));
                    return true;
                }
                Err(error) => self.record(|report| report.failures.push(format!("{}: {error}", item.name))),
            }
        }
        false
    }
}

impl Read for Joined {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if self.open.is_none() && !self.advance() {
                return Ok(0);
            }
            let Some((name, stream)) = &mut self.open else { return Ok(0) };
            match stream.read(buffer) {
                Ok(n @ 1..) => {
                    let read = buffer.get(..n).unwrap_or_default();
                    self.lines += memchr::memchr_iter(b'\n', read).count() as u64;
                    self.in_line = read.last() != Some(&b'\n');
                    return Ok(n);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => {
                    let failure = format!("{name}: {error}");
                    self.record(|report| report.failures.push(failure));
                }
                Ok(_) => {}
            }
            self.open = None;
            if self.in_line && !self.waiting.is_empty() {
                self.in_line = false;
                self.lines += 1;
                buffer[0] = b'\n';
                return Ok(1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(parts: &[(&str, Option<Timestamp>)]) -> Vec<String> {
        let parsed: Vec<_> = parts.iter().map(|(name, stamp)| (part_of(name).1, *stamp)).collect();
        order(&parsed).into_iter().map(|i| parts[i].0.to_owned()).collect()
    }

    #[test]
    fn names_show_the_part() {
        assert_eq!(part_of("d/gc.log"), ("d/gc.log", Part::Base));
        assert_eq!(part_of("d/gc.log.3"), ("d/gc.log", Part::Number(3)));
        assert_eq!(part_of("d/gc.log.03.gz"), ("d/gc.log", Part::Number(3)));
        assert_eq!(part_of("gc.log.10.current"), ("gc.log", Part::Current(10)));
        assert_eq!(part_of("gc.log.gz"), ("gc.log", Part::Base));
        assert_eq!(part_of("jit0.xml"), ("jit0.xml", Part::Base));
        assert_eq!(part_of("d/.3"), ("d/.3", Part::Base));
        assert_eq!(part_of("gc.20261120"), ("gc.20261120", Part::Base));
    }

    #[test]
    fn the_first_timestamp_is_read_from_either_kind_of_log() {
        let date =
            Timestamp::Date("2026-11-20T22:02:12.784Z".parse::<jiff::Timestamp>().unwrap().as_nanosecond());
        assert_eq!(
            first_timestamp(b"[2026-11-20T22:02:12.784+0000][0.043s][info][gc] Using G1\n"),
            Some(date)
        );
        assert_eq!(first_timestamp(b"[0.043s][info][gc] Using G1"), Some(Timestamp::Uptime(0.043)));
        assert_eq!(first_timestamp(b"[info][gc] x\n[gc][43ms] y"), Some(Timestamp::Uptime(0.043)));
        let jdk8 =
            b"OpenJDK 64-Bit Server VM\nMemory: 4k page\n2026-11-20T22:02:12.784+0000: 0.509: [GC pause";
        assert_eq!(first_timestamp(jdk8), Some(date));
        assert_eq!(
            first_timestamp(b"Memory\n0,509: [GC 1K->2K(3K), 0.1 secs]"),
            Some(Timestamp::Uptime(0.509))
        );
        assert_eq!(first_timestamp(b"nothing\n[x] here"), None);
    }

    #[test]
    fn a_unified_ring_is_ordered_by_its_timestamps_and_the_base_is_the_newest() {
        let up = |s| Some(Timestamp::Uptime(s));
        let names = |stamps: [f64; 6]| {
            let files = ["gc.log", "gc.log.0", "gc.log.1", "gc.log.2", "gc.log.3", "gc.log.4"];
            ordered(&files.into_iter().zip(stamps).map(|(name, s)| (name, up(s))).collect::<Vec<_>>())
        };
        let expected = ["gc.log.3", "gc.log.4", "gc.log.0", "gc.log.1", "gc.log.2", "gc.log"];
        assert_eq!(names([60.0, 30.0, 40.0, 50.0, 10.0, 20.0]), expected);
        // A restart in the middle: the timestamps fall once more, whatever the order.
        assert_eq!(names([20.0, 500.0, 600.0, 10.0, 300.0, 400.0]), expected);
        let straight = ["gc.log.0", "gc.log.1", "gc.log.2", "gc.log.3", "gc.log.4", "gc.log"];
        assert_eq!(names([60.0, 10.0, 20.0, 30.0, 40.0, 50.0]), straight);
        let moved_up = ["gc.log.4", "gc.log.3", "gc.log.2", "gc.log.1", "gc.log.0", "gc.log"];
        assert_eq!(names([60.0, 50.0, 40.0, 30.0, 20.0, 10.0]), moved_up);
    }

    #[test]
    fn the_current_file_of_jdk_8_is_the_newest_and_dates_beat_numbers() {
        let none: Vec<_> = ["gc.log.0", "gc.log.1.current", "gc.log.2", "gc.log.3"].map(|n| (n, None)).into();
        assert_eq!(ordered(&none), ["gc.log.2", "gc.log.3", "gc.log.0", "gc.log.1.current"]);
        let dated = |d| Some(Timestamp::Date(d));
        let parts = [
            ("gc.log.0", dated(5)),
            ("gc.log.1", dated(2)),
            ("gc.log.2.current", dated(9)),
            ("gc.log", dated(1)),
        ];
        assert_eq!(ordered(&parts), ["gc.log", "gc.log.1", "gc.log.0", "gc.log.2.current"]);
    }
}
