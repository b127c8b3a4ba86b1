//! Lines with details of a collection: heap, regions, metaspace, ages, CPU time, workers, phases.
//!
//! Each is recognised by its first words, so that the reader works without tags too.

use std::hash::Hasher;

use fathom_recording::vocabulary::{failure, figure};
use rustc_hash::FxHasher;

use super::pause::{Pause, PhaseNames};
use super::scan::{self, Change};

/// Takes a line about a pause. False: it is not a detail of interest.
pub(crate) fn detail(pause: &mut Pause, body: &[u8]) -> bool {
    match body.first() {
        Some(b'E') => regions(pause, body, b"Eden regions: "),
        Some(b'S') => regions(pause, body, b"Survivor regions: "),
        Some(b'O') => regions(pause, body, b"Old regions: "),
        Some(b'H') => regions(pause, body, b"Humongous regions: "),
        Some(b'M') => metaspace(pause, body),
        Some(b'U') => processor_time(pause, body) || workers(pause, body),
        Some(b'-') => age(pause, body),
        Some(b'D' | b'P' | b'T' | b'C' | b'p' | b'c') => {
            generation(pause, body) || survivors_wanted(pause, body) || failed(pause, body)
        }
        _ => false,
    }
}

fn regions(pause: &mut Pause, body: &[u8], words: &[u8]) -> bool {
    let Some((change, _)) = body.strip_prefix(words).and_then(scan::change) else { return false };
    match words.first() {
        Some(b'E') => pause.regions.eden = Some(change),
        Some(b'S') => pause.regions.survivor = Some(change),
        Some(b'O') => pause.regions.old = Some(change),
        _ => {
            let keys = [figure::HUMONGOUS_BEFORE_REGIONS, figure::HUMONGOUS_AFTER_REGIONS];
            pause.set_change(&change, keys);
        }
    }
    pause.burst();
    true
}

/// `Metaspace: 148K(384K)->148K(384K) NonClass: …` since JDK 16, where the number in parentheses is
/// committed; `Metaspace: 3805K->3805K(1056768K)` before, where it is reserved and not used here.
fn metaspace(pause: &mut Pause, body: &[u8]) -> bool {
    let Some((change, _)) = body.strip_prefix(b"Metaspace: ").and_then(scan::change) else { return false };
    pause.set_change(&change, [figure::METASPACE_BEFORE_BYTES, figure::METASPACE_AFTER_BYTES]);
    if let Some(committed) = change.capacity.filter(|_| change.both_sides) {
        pause.set(figure::METASPACE_COMMITTED_BYTES, committed);
    }
    pause.burst();
    true
}

/// `PSYoungGen: 65536K(76288K)->10748K(76288K) Eden: …(…)->…(…) From: …(…)->…(…)`; before JDK 16
/// without the parts.
fn generation(pause: &mut Pause, body: &[u8]) -> bool {
    let young = [b"DefNew: ".as_slice(), b"PSYoungGen: ", b"ParNew: "];
    let old = [b"Tenured: ".as_slice(), b"ParOldGen: ", b"PSOldGen: ", b"CMS: "];
    let of = |words: &[&[u8]]| words.iter().find_map(|w| body.strip_prefix(*w)).and_then(scan::change);
    if let Some((change, parts)) = of(&young) {
        pause.set_change(&change, [figure::YOUNG_BEFORE_BYTES, figure::YOUNG_AFTER_BYTES]);
        capacity(pause, &change, figure::YOUNG_CAPACITY_BYTES);
        if let Some((change, parts)) = parts.strip_prefix(b" Eden: ").and_then(scan::change) {
            pause.set_change(&change, [figure::EDEN_BEFORE_BYTES, figure::EDEN_AFTER_BYTES]);
            if let Some((change, _)) = parts.strip_prefix(b" From: ").and_then(scan::change) {
                pause.set_change(&change, [figure::SURVIVOR_BEFORE_BYTES, figure::SURVIVOR_AFTER_BYTES]);
            }
        }
    } else if let Some((change, _)) = of(&old) {
        pause.set_change(&change, [figure::OLD_BEFORE_BYTES, figure::OLD_AFTER_BYTES]);
        capacity(pause, &change, figure::OLD_CAPACITY_BYTES);
    } else {
        return false;
    }
    pause.burst();
    true
}

fn capacity(pause: &mut Pause, change: &Change, key: &'static str) {
    if let Some(capacity) = change.capacity {
        pause.set(key, capacity);
    }
}

/// `User=0.06s Sys=0.02s Real=19.87s`.
fn processor_time(pause: &mut Pause, body: &[u8]) -> bool {
    let seconds = |rest: &[u8], word: &[u8]| -> Option<(f64, usize)> {
        let (ns, after) = scan::billionths(rest.strip_prefix(word)?)?;
        Some((ns as f64 / 1e9, rest.len() - after.len()))
    };
    let mut rest = body;
    let words = [(&b"User="[..], figure::USER_S), (b"Sys=", figure::SYS_S), (b"Real=", figure::REAL_S)];
    for (word, key) in words {
        let Some((value, length)) = seconds(rest, word) else { return false };
        pause.set(key, value);
        rest = rest.get(length..).unwrap_or_default();
        rest = rest.strip_prefix(b"s").unwrap_or(rest).trim_ascii_start();
    }
    true
}

/// `Using 2 workers of 2 for evacuation`, Shenandoah's `Using 1 of 1 workers for init marking`.
fn workers(pause: &mut Pause, body: &[u8]) -> bool {
    let Some((count, _)) = body.strip_prefix(b"Using ").and_then(scan::integer) else { return false };
    pause.set(figure::WORKERS, count as f64);
    true
}

/// `Desired survivor size 8912896 bytes, new threshold 1 (max threshold 15)`.
fn survivors_wanted(pause: &mut Pause, body: &[u8]) -> bool {
    let Some(rest) = body.strip_prefix(b"Desired survivor size ") else { return false };
    let Some((bytes, rest)) = scan::integer(rest) else { return false };
    pause.set(figure::DESIRED_SURVIVOR_BYTES, bytes as f64);
    let Some((threshold, rest)) = rest.strip_prefix(b" bytes, new threshold ").and_then(scan::integer) else {
        return true;
    };
    pause.set(figure::TENURING_THRESHOLD, threshold as f64);
    let most = rest.strip_prefix(b" (max threshold ").or_else(|| rest.strip_prefix(b" (max "));
    if let Some((most, _)) = most.and_then(scan::integer) {
        pause.set(figure::TENURING_MAX, most as f64);
    }
    true
}

/// `- age   1:    5120000 bytes,    5120000 total`; only the first age is kept.
fn age(pause: &mut Pause, body: &[u8]) -> bool {
    let Some(rest) = body.strip_prefix(b"- age ") else { return false };
    let Some((age, rest)) = scan::integer(rest.trim_ascii_start()) else { return false };
    let bytes = rest.strip_prefix(b":").map(<[u8]>::trim_ascii_start).and_then(scan::integer);
    if let (1, Some((bytes, _))) = (age, bytes) {
        pause.set(figure::AGE1_BYTES, bytes as f64);
    }
    true
}

/// Failures of a collection, as JDK 9 and later print them in a line of their own: G1 up to JDK 20,
/// the young collections of Serial, Parallel and CMS, CMS itself, Shenandoah.
const FAILURES: [(&[u8], &str); 8] = [
    (b"To-space exhausted", failure::EVACUATION_FAILURE),
    (b"To-space overflow", failure::EVACUATION_FAILURE),
    (b"Promotion failed", failure::PROMOTION_FAILED),
    (b"Concurrent mode failure", failure::CONCURRENT_MODE_FAILURE),
    (b"concurrent mode failure", failure::CONCURRENT_MODE_FAILURE),
    (b"Concurrent mode interrupted", failure::CONCURRENT_MODE_INTERRUPTED),
    (b"Cannot finish degeneration, upgrading to Full GC", failure::UPGRADED_TO_FULL),
    (b"Degenerated GC upgrading to Full GC", failure::UPGRADED_TO_FULL),
];

/// The failure that a line reports.
pub(crate) fn failure_of(body: &[u8]) -> Option<&'static str> {
    FAILURES.iter().find(|(printed, _)| body.starts_with(printed)).map(|(_, word)| *word)
}

fn failed(pause: &mut Pause, body: &[u8]) -> bool {
    let word = failure_of(body);
    word.into_iter().for_each(|word| pause.fail(word));
    word.is_some()
}

/// A timed phase: its name and duration.
pub(crate) struct Timed<'a> {
    /// Its name.
    pub(crate) name: &'a [u8],
    /// How long.
    pub(crate) ns: i64,
    /// Spaces before it.
    pub(crate) indent: usize,
    /// Whether it is an entry of a list ("Other: 0.2ms") and not a line of its own ("Marking Phase
    /// 3.2ms").
    pub(crate) listed: bool,
}

/// Parses a timed phase.
pub(crate) fn timed(body: &[u8]) -> Option<Timed<'_>> {
    let text = body.trim_ascii_end().strip_suffix(b"ms")?.trim_ascii_end();
    let blank = text.iter().rposition(|b| *b == b' ')?;
    let (name, number) = text.split_at_checked(blank)?;
    let (ns, rest) = scan::milliseconds(number.get(1..)?)?;
    if !rest.is_empty() {
        return None;
    }
    let indent = name.iter().take_while(|b| **b == b' ').count();
    let mut name = name.trim_ascii();
    // JDK 9 and 10 print start and end: "(1.101s, 1.104s)".
    if name.ends_with(b"s)")
        && let Some(open) = name.iter().rposition(|b| *b == b'(')
        && name.get(open + 1).is_some_and(u8::is_ascii_digit)
    {
        name = name.get(..open).unwrap_or_default().trim_ascii_end();
    }
    let listed = name.ends_with(b":");
    let name = name.strip_suffix(b":").unwrap_or(name).trim_ascii_end();
    (!name.is_empty()).then_some(Timed { name, ns, indent, listed })
}

/// Adds a timed phase to a pause. Lists are indented by two spaces, their details by more; a line
/// of its own is not indented.
pub(crate) fn phase(pause: &mut Pause, timed: &Timed<'_>, names: &mut PhaseNames) {
    let outermost = if timed.listed { timed.indent == 2 } else { timed.indent == 0 };
    if !outermost {
        return;
    }
    let id = names.id(timed.name);
    if timed.listed && timed.name == b"Other" {
        pause.other(id, timed.ns);
    } else {
        pause.phase(hash(timed.name), id, timed.ns);
    }
    if timed.listed {
        pause.burst();
    }
}

/// The hash of a name.
pub(crate) fn hash(name: &[u8]) -> u64 {
    let mut hasher = FxHasher::default();
    hasher.write(name);
    hasher.finish()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::unified::pause::At;

    fn figures(lines: &[&str]) -> Vec<(&'static str, f64)> {
        let mut pause = Pause::in_place_of(None, 0, b"Pause Young", At::default());
        for line in lines {
            assert!(detail(&mut pause, line.as_bytes()), "{line}");
        }
        pause.figures
    }

    #[test]
    fn a_parallel_young_collection_of_jdk_17() {
        let seen = figures(&[
            "PSYoungGen: 262144K(305664K)->33802K(305664K) Eden: 262144K(262144K)->0K(262144K) From: 0K(43520K)->33802K(43520K)",
            "ParOldGen: 0K(699392K)->8K(699392K)",
            "Metaspace: 2296K(2432K)->2295K(2431K) NonClass: 2070K(2112K)->2070K(2112K)",
            "User=0.08s Sys=0.02s Real=0.32s",
        ]);
        let kib = 1024.0;
        assert_eq!(
            seen,
            [
                (figure::YOUNG_BEFORE_BYTES, 262144.0 * kib),
                (figure::YOUNG_AFTER_BYTES, 33802.0 * kib),
                (figure::YOUNG_CAPACITY_BYTES, 305664.0 * kib),
                (figure::EDEN_BEFORE_BYTES, 262144.0 * kib),
                (figure::EDEN_AFTER_BYTES, 0.0),
                (figure::SURVIVOR_BEFORE_BYTES, 0.0),
                (figure::SURVIVOR_AFTER_BYTES, 33802.0 * kib),
                (figure::OLD_BEFORE_BYTES, 0.0),
                (figure::OLD_AFTER_BYTES, 8.0 * kib),
                (figure::OLD_CAPACITY_BYTES, 699392.0 * kib),
                (figure::METASPACE_BEFORE_BYTES, 2296.0 * kib),
                (figure::METASPACE_AFTER_BYTES, 2295.0 * kib),
                (figure::METASPACE_COMMITTED_BYTES, 2431.0 * kib),
                (figure::USER_S, 0.08),
                (figure::SYS_S, 0.02),
                (figure::REAL_S, 0.32),
            ]
        );
    }

    #[test]
    fn reserved_metaspace_of_old_jdks_is_not_taken_for_committed() {
        let seen = figures(&["Metaspace: 3805K->3806K(1056768K)"]);
        assert_eq!(seen.len(), 2);
        assert_eq!(seen[1], (figure::METASPACE_AFTER_BYTES, 3806.0 * 1024.0));
    }

    #[test]
    fn ages_workers_and_failures() {
        let seen = figures(&[
            "Using 2 workers of 3 for evacuation",
            "Desired survivor size 8912896 bytes, new threshold 1 (max threshold 15)",
            "- age   1:   12119800 bytes,   12119800 total",
            "- age   2:         16 bytes,   12119816 total",
            "To-space exhausted",
        ]);
        assert_eq!(
            seen,
            [
                (figure::WORKERS, 2.0),
                (figure::DESIRED_SURVIVOR_BYTES, 8912896.0),
                (figure::TENURING_THRESHOLD, 1.0),
                (figure::TENURING_MAX, 15.0),
                (figure::AGE1_BYTES, 12119800.0),
                (figure::EVACUATION_FAILURE, 1.0),
            ]
        );
    }

    #[test]
    fn timed_phases_of_every_layout() {
        let of = |body: &'static str| {
            let t = timed(body.as_bytes()).unwrap();
            (String::from_utf8_lossy(t.name).into_owned(), t.ns, t.indent, t.listed)
        };
        assert_eq!(of("  Other: 19746.3ms"), ("Other".into(), 19_746_300_000, 2, true));
        assert_eq!(
            of("Phase 1: Mark live objects 2.389ms"),
            ("Phase 1: Mark live objects".into(), 2_389_000, 0, false)
        );
        assert_eq!(of("Marking Phase (1.101s, 1.104s) 3.2ms"), ("Marking Phase".into(), 3_200_000, 0, false));
        assert_eq!(of("    Prepare TLABs: 0.4 ms"), ("Prepare TLABs".into(), 400_000, 4, true));
        assert!(timed(b"MMU: 2ms/98.4%, 5ms/99.4%").is_none());
        assert!(timed(b"12.5ms").is_none());
    }
}
