//! What G1 prints after an evacuation pause: its phases, workers and regions.
//!
//! ```text
//!    [Parallel Time: 54.9 ms, GC Workers: 2]          3 spaces: an outermost phase
//!       [Object Copy (ms): Min: 47.0, Avg: …]         6 spaces: inside the one above
//!    [Other: 1.0 ms]
//!       [Ref Proc: 0.7 ms]                            a part of "Other"
//!    [Eden: 204.0M(204.0M)->0.0B(178.0M) Survivors: 0.0B->26.0M Heap: 204.0M(4096.0M)->67.8M(4096.0M)]
//! ```
//!
//! The indentation is the nesting (`g1GCPhaseTimes.cpp`, `LineBuffer` of HotSpot 7 and 8). JDK 6
//! breaks inner lines in two
//! ("[Update RS (ms):  0.0  0.0" / "Avg: …]"); nothing of them is needed.

use memchr::memmem;

use super::brackets::begins_record;
use super::numbers::{Change, last_change, leading_change, leading_number, number_after};
use super::pause::{Collector, Pause};

/// From this indentation on, a line is inside an outermost phase.
const INNER_INDENT: usize = 5;

/// Outermost phases, for logs that lost their indentation (a log collector trimmed the lines).
const OUTERMOST: &[&[u8]] =
    &[b"Parallel Time", b"Code Root", b"String Dedup Fixup", b"Clear CT", b"SATB Drain Time", b"Other"];

/// Reads the details that follow a pause.
#[derive(Default)]
pub(super) struct Details {
    in_other: bool,
}

impl Details {
    /// Takes a line of details for `pause`. False when it is not one.
    pub fn line(&mut self, pause: &mut Pause, line: &[u8]) -> bool {
        let text = line.trim_ascii_start();
        let indent = line.len() - text.len();
        if pause.collector != Some(Collector::G1) && !pause.full {
            return false;
        }
        let Some((b'[', inner)) = text.split_first().map(|(b, rest)| (*b, rest)) else {
            // The second half of an inner line, in JDK 6 and at G1LogLevel=finest.
            return indent >= INNER_INDENT;
        };
        // A record whose timestamp stands before, on the line that another thread broke.
        if begins_record(inner) {
            return false;
        }
        if indent >= INNER_INDENT || (indent == 0 && !is_outermost(inner)) {
            if let Some((name, ms)) = milliseconds(inner).filter(|_| self.in_other) {
                pause.other_parts_ms += ms;
                pause.other_complete |= name == b"Redirty Cards";
            }
            return indent > 0 || is_measure(inner);
        }
        if inner.starts_with(b"Eden:") {
            sizes(pause, inner);
        } else if inner.first() == Some(&b' ') && memmem::find(inner, b"->").is_some() {
            // JDK 6: "[ 169M->162M(256M)]".
            pause.heap = last_change(inner);
        } else if let Some((name, ms)) = milliseconds(inner) {
            self.in_other = name == b"Other";
            pause.phase(name, ms);
            if let Some(workers) = number_after(inner, b"GC Workers:").filter(|_| name == b"Parallel Time") {
                pause.workers = Some(workers);
            }
        } else {
            return indent >= 1;
        }
        true
    }

    /// A new pause begins.
    pub fn reset(&mut self) {
        self.in_other = false;
    }
}

/// Whether a line gives a time or a count: "Ext Root Scanning (ms):  2.8", "Processed Buffers:  0".
fn is_measure(inner: &[u8]) -> bool {
    let value = memchr::memchr(b':', inner).and_then(|at| inner.get(at + 1..));
    value.is_some_and(|v| v.trim_ascii_start().first().is_some_and(|b| b.is_ascii_digit() || *b == b'M'))
}

/// Whether a line without indentation is not inside a phase: a phase of the list, or sizes.
fn is_outermost(inner: &[u8]) -> bool {
    inner.starts_with(b"Eden:")
        || inner.first() == Some(&b' ')
        || (OUTERMOST.iter().any(|name| inner.starts_with(name)) && milliseconds(inner).is_some())
}

/// "Parallel Time: 54.9 ms" gives the name and the milliseconds.
fn milliseconds(inner: &[u8]) -> Option<(&[u8], f64)> {
    let colon = memchr::memchr(b':', inner)?;
    let value = inner.get(colon + 1..)?.trim_ascii_start();
    let (ms, len) = leading_number(value)?;
    value.get(len..)?.starts_with(b" ms").then_some((inner.get(..colon)?.trim_ascii_end(), ms))
}

/// The line of sizes. Young is eden and survivors together; its capacity after the pause is eden's
/// plus survivors.
fn sizes(pause: &mut Pause, inner: &[u8]) {
    let change = |key: &[u8]| {
        let at = memmem::find(inner, key)?;
        leading_change(inner.get(at + key.len()..)?.trim_ascii_start())
    };
    pause.eden = change(b"Eden:");
    pause.survivor = change(b"Survivors:");
    if let Some(heap) = change(b"Heap:") {
        pause.heap = Some(heap);
    }
    if let (Some(eden), Some(survivor)) = (pause.eden, pause.survivor) {
        pause.young = Some(Change {
            before: eden.before.zip(survivor.before).map(|(e, s)| e + s),
            after: eden.after + survivor.after,
            capacity: eden.capacity.map(|c| c + survivor.after),
        });
    }
    if let Some(metaspace) = change(b"Metaspace:").or_else(|| change(b"Perm:")) {
        pause.metaspace = Some(metaspace);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outermost_phases_are_taken_and_parts_of_other_are_added_up() {
        let mut pause =
            Pause { collector: Some(Collector::G1), duration_ns: Some(60_000_000), ..Pause::default() };
        let mut details = Details::default();
        for line in [
            "   [Parallel Time: 54,9 ms, GC Workers: 2]",
            "      [Object Copy (ms): Min: 47.0, Avg: 49.6, Max: 52.2, Diff: 5.3, Sum: 99.2]",
            "   [Clear CT: 0.1 ms]",
            "   [Other: 5.0 ms]",
            "      [Ref Proc: 0.7 ms]",
            "      [Redirty Cards: 0.2 ms]",
            "      [Free CSet: 0.1 ms]",
            "   [Eden: 204.0M(204.0M)->0.0B(178.0M) Survivors: 0.0B->26.0M Heap: 204.0M(4096.0M)->67.0M(4096.0M)]",
        ] {
            assert!(details.line(&mut pause, line.as_bytes()), "{line}");
        }
        assert_eq!(pause.workers, Some(2.0));
        assert_eq!(pause.phases_sum_ms(), Some(55.0));
        assert!((pause.idle_ms().unwrap() - 4.0).abs() < 1e-9);
        let mega = 1024.0 * 1024.0;
        assert_eq!(
            pause.young,
            Some(Change { before: Some(204.0 * mega), after: 26.0 * mega, capacity: Some(204.0 * mega) })
        );
    }
}
