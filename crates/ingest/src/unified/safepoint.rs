//! Safepoint lines of every generation.
//!
//! ```text
//! JDK 9–12    Entering safepoint region: NAME
//!             Leaving safepoint region
//!             Total time for which application threads were stopped: 0.0744827 seconds, Stopping threads took: 0.0000599 seconds
//! JDK 13–     Safepoint "NAME", Time since last: … ns, Reaching safepoint: … ns, At safepoint: … ns, Total: … ns
//! 17.0.8, 20– … Reaching …, Cleanup: … ns, At …
//! 21.0.8      … At …, Leaving safepoint: … ns, Total: … ns
//! JDK 25      without Cleanup, with Threads: 0 runnable, 12 total
//! stats       NAME  [ threads: total running ][ time: sync [cleanup] vmop total ] page_trap_count
//! ```
//!
//! The JVM of JDK 9 to 12 prints the table of `-XX:+PrintSafepointStatistics` bypassing its log, on
//! standard output, where the log may be as well. It is that of JDK 8, and so is how its rows are
//! joined to the lines ([`jdk8::safepoints`]).
//!
//! The one-line form is read as a list of "word: number", so that an added or missing part loses
//! nothing.

use std::rc::Rc;

use fathom_recording::vocabulary::{fact, figure, kind};

use super::collections::Collections;
use super::out::{Entry, Out, text};
use super::pause::At;
use super::scan;
use crate::jdk8;

/// JDK-8297154 removed the cleanup from "Reaching safepoint" in JDK 20 (and 17.0.8, which prints
/// it).
const CLEANUP_APART_SINCE: f64 = 20.0;
/// The VM operation in which the JVM runs the command of `-XX:OnOutOfMemoryError`
/// (`vmOperations.hpp`).
const REPORTS_OUT_OF_MEMORY: &str = "ReportJavaOutOfMemory";
/// Numbers in one row of the table.
const ROW_TIMES: usize = 4;

/// The state between lines.
#[derive(Default)]
pub(crate) struct Safepoints {
    /// JDK 9–12: the operation, from "Entering".
    entered: Option<String>,
    /// JDK 9–12: "Application time" before it.
    since_last_ns: Option<i64>,
    /// A row of the table that has no line of its own yet. If both are switched on, the line
    /// follows its row.
    row: Option<Stop>,
    /// JDK 9–12: stops and rows of the other table, held back until they are matched.
    old: jdk8::safepoints::Safepoints,
    /// Whether there was such a row.
    old_rows: bool,
}

/// A parsed stop.
#[derive(Clone, Debug, Default)]
struct Stop {
    name: Rc<str>,
    at: At,
    total_ns: i64,
    figures: Vec<(&'static str, f64)>,
}

impl Safepoints {
    /// Takes a line. False: it is not one of a safepoint.
    pub(crate) fn line(&mut self, body: &[u8], at: At, gcs: &mut Collections, out: &mut Out<'_>) -> bool {
        if let Some(rest) = body.strip_prefix(b"Safepoint \"") {
            return self.one_line(rest, at, gcs, out);
        }
        if !matches!(body.first(), Some(b'E' | b'L' | b'A' | b'T')) {
            return false;
        }
        if let Some(name) = body.strip_prefix(b"Entering safepoint region: ") {
            let name = text(name.trim_ascii());
            if name == REPORTS_OUT_OF_MEMORY {
                // The command that the JVM then runs often ends it, and the line that ends the stop
                // does not come.
                out.span(&Entry::event(kind::JVM_WARNING, &format!("safepoint {name}"), at.ns, at.line));
            }
            self.entered = Some(name.into_owned());
            return true;
        }
        if body.starts_with(b"Leaving safepoint region") {
            gcs.safepoint(at, 0, out);
            return true;
        }
        if let Some(rest) = body.strip_prefix(b"Application time: ") {
            self.since_last_ns = scan::billionths(rest).map(|(ns, _)| ns);
            return self.since_last_ns.is_some();
        }
        body.strip_prefix(b"Total time for which application threads were stopped: ")
            .is_some_and(|rest| self.stopped(rest, at, gcs, out))
    }

    fn one_line(&mut self, rest: &[u8], at: At, gcs: &mut Collections, out: &mut Out<'_>) -> bool {
        let Some(quote) = memchr::memchr(b'"', rest) else { return false };
        let Some((name, rest)) = rest.split_at_checked(quote) else { return false };
        let mut figures = Figures::of_known(rest).unwrap_or_else(|| Figures::of_any(rest));
        let Some(total_ns) = figures.total_ns else { return false };
        if !figures.cleanup && !figures.leave && cleanup_in_reach(out) {
            figures.push(figure::REACH_INCLUDES_CLEANUP, 1);
        }
        gcs.safepoint(at, figures.leave_ns, out);
        let name = Rc::from(text(name));
        if self.row.as_ref().is_some_and(|row| row.name == name && row.total_ns == total_ns) {
            self.row = None;
        }
        self.write_row(out);
        write(&name, at, total_ns, &figures.list, out);
        true
    }

    /// `0.0744827 seconds, Stopping threads took: 0.0000599 seconds`.
    fn stopped(&mut self, rest: &[u8], at: At, gcs: &mut Collections, out: &mut Out<'_>) -> bool {
        let Some((total_ns, rest)) = scan::billionths(rest) else { return false };
        let reach = rest.strip_prefix(b" seconds, Stopping threads took: ").and_then(scan::billionths);
        gcs.safepoint(at, 0, out);
        out.evidence.stop(total_ns);
        self.old.stop(jdk8::safepoints::Stop {
            line: at.line,
            t0_ns: at.ns.saturating_sub(total_ns),
            t1_ns: at.ns,
            operation: self.entered.take(),
            reach_ns: reach.map(|(ns, _)| ns),
            since_last_ns: self.since_last_ns.take(),
            ..Default::default()
        });
        self.write_old(out);
        true
    }

    /// A line of the table of `-XX:+PrintSafepointStatistics`; `uptime`: whether the log's own
    /// clock is the JVM's uptime, which the rows have. False: it is not one, or it cannot be
    /// placed.
    pub(crate) fn old_table(&mut self, raw: &[u8], number: u64, uptime: bool, out: &mut Out<'_>) -> bool {
        let text = raw.trim_ascii();
        if text.starts_with(b"vmop  ") {
            return true;
        }
        let row = jdk8::safepoints::Row::parse(text);
        if let Some((row, t0_ns)) = row.and_then(|row| row.stamp.uptime_ns.map(|ns| (row, ns))) {
            if uptime {
                self.old_rows = true;
                self.old.row(number, t0_ns, row);
                self.write_old(out);
            }
            return uptime;
        }
        self.old_rows && jdk8::dumps::is_around_safepoint_rows(text)
    }

    fn write_old(&mut self, out: &mut Out<'_>) {
        for stop in std::mem::take(&mut self.old.ready) {
            out.span(&Entry {
                t0_ns: stop.t0_ns,
                figures: &stop.figures(),
                ..Entry::event(kind::SAFEPOINT, stop.name(), stop.t1_ns, stop.line)
            });
        }
    }

    /// A row of the table of `safepoint+stats`. False: it is a column header or a sum.
    pub(crate) fn table_row(
        &mut self,
        body: &[u8],
        at: At,
        gcs: &mut Collections,
        out: &mut Out<'_>,
    ) -> bool {
        let Some(stop) = row(body, at) else { return false };
        gcs.safepoint(at, 0, out);
        self.write_row(out);
        self.row = Some(stop);
        true
    }

    fn write_row(&mut self, out: &mut Out<'_>) {
        if let Some(stop) = self.row.take() {
            write(&stop.name, stop.at, stop.total_ns, &stop.figures, out);
        }
    }

    /// The log ends.
    pub(crate) fn finish(&mut self, out: &mut Out<'_>) {
        self.write_row(out);
        self.old.finish();
        self.write_old(out);
    }
}

/// Whether "Reaching safepoint" of a line that names no cleanup contains it.
fn cleanup_in_reach(out: &mut Out<'_>) -> bool {
    out.sink.process_mut(out.process).fact_number(fact::JDK).is_none_or(|jdk| jdk < CLEANUP_APART_SINCE)
}

#[derive(Debug, Default)]
struct Figures {
    list: Vec<(&'static str, f64)>,
    total_ns: Option<i64>,
    leave_ns: i64,
    cleanup: bool,
    leave: bool,
}

impl Figures {
    fn new() -> Self {
        Self { list: Vec::with_capacity(8), ..Self::default() }
    }

    /// Numbers of the one-line form after its name, where all of its words are those of known JDKs:
    /// the same as [`Figures::of_any`] returns, and quicker.
    fn of_known(text: &[u8]) -> Option<Self> {
        let mut figures = Self::new();
        let mut left = text.strip_prefix(b"\", ")?;
        loop {
            let word: &[u8] = match left.first()? {
                b'R' => b"Reaching safepoint: ",
                b'C' => b"Cleanup: ",
                b'A' => b"At safepoint: ",
                b'L' => b"Leaving safepoint: ",
                b'T' if left.get(1) == Some(&b'i') => b"Time since last: ",
                b'T' => b"Total: ",
                _ => return None,
            };
            let (value, rest) = scan::integer(left.strip_prefix(word)?)?;
            figures.take(word.strip_suffix(b": ")?, value);
            left = match rest.strip_prefix(b" ns")? {
                b"" => return Some(figures),
                [b',', b' ', rest @ ..] => rest,
                _ => return None,
            };
            if let Some(rest) = left.strip_prefix(b"Threads: ") {
                let (runnable, rest) = scan::integer(rest)?;
                let (total, rest) = scan::integer(rest.strip_prefix(b" runnable, ")?)?;
                figures.push(figure::THREADS_RUNNABLE, runnable);
                figures.push(figure::THREADS, total);
                return (rest == b" total").then_some(figures);
            }
        }
    }

    /// Numbers of the one-line form after its name: a list of words with their numbers.
    fn of_any(text: &[u8]) -> Self {
        let mut figures = Self::new();
        let mut threads = false;
        let mut left = text;
        while let Some(end) = memchr::memchr2(b':', b',', left) {
            let (word, behind) = left.split_at_checked(end).unwrap_or((left, b""));
            let word = word.trim_ascii_start();
            let value = behind.get(1..).unwrap_or_default();
            if behind.first() == Some(&b',') {
                left = value;
                figures.total_of(threads, word);
                continue;
            }
            if let Some((value, rest)) = scan::integer(value.trim_ascii_start()) {
                threads = word == b"Threads";
                figures.take(word, value);
                left = rest.strip_prefix(b" ns").unwrap_or(rest);
            } else {
                left = value;
            }
            // The rest of this part.
            left = match left {
                [b',', rest @ ..] => rest,
                _ => memchr::memchr(b',', left).and_then(|comma| left.get(comma + 1..)).unwrap_or_default(),
            };
        }
        figures.total_of(threads, left.trim_ascii_start());
        figures
    }

    fn push(&mut self, key: &'static str, value: u64) {
        self.list.push((key, value as f64));
    }

    /// "Threads: 0 runnable, 12 total": the part after the comma.
    fn total_of(&mut self, threads: bool, part: &[u8]) {
        if let (true, Some((total, _))) = (threads, scan::integer(part)) {
            self.push(figure::THREADS, total);
        }
    }

    fn take(&mut self, word: &[u8], value: u64) {
        match word {
            b"Time since last" => self.push(figure::SINCE_LAST_NS, value),
            b"Reaching safepoint" => self.push(figure::REACH_NS, value),
            b"Cleanup" => {
                self.cleanup = true;
                self.push(figure::CLEANUP_NS, value);
            }
            b"At safepoint" => self.push(figure::AT_NS, value),
            b"Leaving safepoint" => {
                self.leave = true;
                self.leave_ns = i64::try_from(value).unwrap_or(i64::MAX);
                self.push(figure::LEAVE_NS, value);
            }
            b"Total" => self.total_ns = Some(i64::try_from(value).unwrap_or(i64::MAX)),
            b"Threads" => self.push(figure::THREADS_RUNNABLE, value),
            // A part that a later JDK adds: it has no key yet.
            _ => {}
        }
    }
}

/// `NAME   [ 13  0 ][ 4036  57386  4571350  4632772 ]  0`: threads, then times in nanoseconds, the last their sum.
fn row(body: &[u8], at: At) -> Option<Stop> {
    let open = memchr::memchr(b'[', body)?;
    let name = body.get(..open)?.trim_ascii();
    let (threads, rest) = numbers(body.get(open + 1..)?)?;
    let (times, _) = numbers(rest.trim_ascii_start().strip_prefix(b"[")?)?;
    let mut figures = Vec::with_capacity(6);
    figures.push((figure::THREADS, threads.first().copied().flatten()? as f64));
    if let Some(running) = threads.get(1).copied().flatten() {
        figures.push((figure::THREADS_RUNNABLE, running as f64));
    }
    let count = times.iter().flatten().count();
    let words: &[&str] = match count {
        4 => &[figure::REACH_NS, figure::CLEANUP_NS, figure::AT_NS],
        3 => &[figure::REACH_NS, figure::AT_NS],
        _ => return None,
    };
    figures.extend(words.iter().zip(times.iter().flatten()).map(|(word, value)| (*word, *value as f64)));
    let total = times.get(count.checked_sub(1)?).copied().flatten()?;
    if name.is_empty() {
        return None;
    }
    Some(Stop { name: Rc::from(text(name)), at, total_ns: i64::try_from(total).unwrap_or(i64::MAX), figures })
}

/// Integers up to a closing bracket.
fn numbers(text: &[u8]) -> Option<([Option<u64>; ROW_TIMES], &[u8])> {
    let end = memchr::memchr(b']', text)?;
    let (inside, rest) = text.split_at_checked(end)?;
    let mut found = [None; ROW_TIMES];
    let mut slots = found.iter_mut();
    let mut left = inside.trim_ascii();
    while !left.is_empty() {
        let (value, after) = scan::integer(left)?;
        left = after.trim_ascii_start();
        if left.len() == after.len() && !after.is_empty() {
            return None;
        }
        *slots.next()? = Some(value);
    }
    Some((found, rest.get(1..)?))
}

fn write(name: &str, at: At, total_ns: i64, figures: &[(&str, f64)], out: &mut Out<'_>) {
    out.evidence.stop(total_ns);
    out.span(&Entry {
        t0_ns: at.ns.saturating_sub(total_ns),
        figures,
        ..Entry::event(kind::SAFEPOINT, name, at.ns, at.line)
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_known_give_the_figures_that_any_words_give() {
        for text in [
            "\", Time since last: 71686174 ns, Reaching safepoint: 109792 ns, At safepoint: 6819619 ns, Total: 6990236 ns",
            "\", Time since last: 1 ns, Reaching safepoint: 2 ns, Cleanup: 3 ns, At safepoint: 4 ns, Total: 9 ns",
            "\", Time since last: 1 ns, Reaching safepoint: 2 ns, At safepoint: 4 ns, Leaving safepoint: 5 ns, Total: 9 ns",
            "\", Time since last: 1 ns, Reaching safepoint: 2 ns, At safepoint: 4 ns, Leaving safepoint: 5 ns, Total: 9 ns, \
             Threads: 0 runnable, 12 total",
        ] {
            let (known, any) =
                (Figures::of_known(text.as_bytes()).unwrap(), Figures::of_any(text.as_bytes()));
            assert_eq!(format!("{known:?}"), format!("{any:?}"), "{text}");
        }
        for text in [
            "",
            "\"",
            "\", Total: 9",
            "\", Total: 9 ns, ",
            "\", Sleeping: 1 ns, Total: 9 ns",
            "\", Threads: 1 ns",
        ] {
            assert!(Figures::of_known(text.as_bytes()).is_none(), "{text}");
        }
    }
}
