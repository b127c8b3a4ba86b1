//! One stop-the-world record while it is assembled, and the meaning of its name and parentheses.

use std::borrow::Cow;
use std::fmt::Write as _;

use fathom_recording::vocabulary::failure;

use super::numbers::Change;
use super::timestamp::Timestamp;

/// Qualifiers in parentheses that distinguish kinds of pauses, and so belong to the name
/// (`g1CollectedHeap.cpp`, `log_gc_header`).
const KINDS: &[&[u8]] = &[b"young", b"mixed", b"partial", b"initial-mark"];

/// Failures of a collection, as JDK 6 to 8 print them in parentheses, and the recording's value for
/// each: G1 ran out of to-space, a scavenge could not promote, CMS was not done in time, or an
/// explicit collection aborted it.
const FAILURES: &[(&[u8], &str)] = &[
    (b"to-space exhausted", failure::EVACUATION_FAILURE),
    (b"to-space overflow", failure::EVACUATION_FAILURE),
    (b"promotion failed - to-space exhausted", failure::EVACUATION_FAILURE),
    (b"promotion failed", failure::PROMOTION_FAILED),
    (b"concurrent mode failure", failure::CONCURRENT_MODE_FAILURE),
    (b"concurrent mode interrupted", failure::CONCURRENT_MODE_INTERRUPTED),
];

/// Qualifiers that add nothing.
const NEUTRAL: &[&[u8]] = &[b"non-parallel", b"parallel"];

/// Also "(full 7)" of a heap dump that begins within the record's line.
fn is_neutral(text: &[u8]) -> bool {
    NEUTRAL.contains(&text) || text.strip_prefix(b"full ").is_some_and(|n| n.iter().all(u8::is_ascii_digit))
}

/// `GCCause::to_string` of HotSpot 8 (`gcCause.cpp`); "System" is `System.gc()` in JDK 6 and 7.
/// `System.gc()`.
const CAUSES: &[&str] = &[
    "System.gc()",
    "System",
    "FullGCAlot",
    "ScavengeAlot",
    "Allocation Profiler",
    "JvmtiEnv ForceGarbageCollection",
    "GCLocker Initiated GC",
    "Heap Inspection Initiated GC",
    "Heap Dump Initiated GC",
    "Heap Dump",
    "Diagnostic Command",
    "WhiteBox Initiated Young GC",
    "WhiteBox Initiated Concurrent Mark",
    "Update Allocation Context Stats",
    "No GC",
    "Allocation Failure",
    "Tenured Generation Full",
    "Permanent Generation Full",
    "Metadata GC Threshold",
    "Metadata GC Clear Soft References",
    "CMS Generation Full",
    "CMS Initial Mark",
    "CMS Final Remark",
    "CMS Concurrent Mark",
    "Old Generation Expanded On Last Scavenge",
    "Old Generation Too Full To Scavenge",
    "Ergonomics",
    "G1 Evacuation Pause",
    "G1 Humongous Allocation",
    "Last ditch collection",
    "Shenandoah Upgrade To Full GC",
    "ILLEGAL VALUE - last gc cause - ILLEGAL VALUE",
    "unknown GCCause",
];

/// Names are extended by their qualifiers up to this length, bytes.
const MAX_NAME: usize = 120;

/// How many qualifiers and phases a record may have before the rest is dropped: real ones have
/// under ten.
const MAX_ITEMS: usize = 32;

/// The collector that a record's form shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Collector {
    Serial,
    Parallel,
    Cms,
    G1,
    Shenandoah,
}

impl Collector {
    /// As the recording calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "Serial",
            Self::Parallel => "Parallel",
            Self::Cms => "CMS",
            Self::G1 => "G1",
            Self::Shenandoah => "Shenandoah",
        }
    }
}

/// The `[Times: …]` of a record, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    pub user_s: f64,
    pub sys_s: f64,
    pub real_s: f64,
}

/// A stop-the-world record.
#[derive(Clone, Debug, Default)]
pub(super) struct Pause {
    pub line: u64,
    pub stamp: Timestamp,
    pub name: Cow<'static, str>,
    pub cause: Option<&'static str>,
    pub qualifiers: Vec<String>,
    /// As printed; may be negative.
    pub duration_ns: Option<i64>,
    pub heap: Option<Change>,
    pub young: Option<Change>,
    pub old: Option<Change>,
    pub metaspace: Option<Change>,
    pub eden: Option<Change>,
    pub survivor: Option<Change>,
    /// Outermost timed phases, milliseconds.
    pub phases: Vec<(String, f64)>,
    /// Sum of what G1 lists below "Other".
    pub other_parts_ms: f64,
    /// Whether those are the parts that JDK 8 lists; JDK 7 leaves some out.
    pub other_complete: bool,
    pub times: Option<Times>,
    pub workers: Option<f64>,
    /// New threshold and the highest one allowed.
    pub tenuring: Option<(f64, f64)>,
    pub desired_survivor: Option<f64>,
    pub age1: Option<f64>,
    pub full: bool,
    /// How it failed, in the values of [`failure`].
    pub failures: Vec<&'static str>,
    /// Whether it is a CMS remark, the one record that may hold another.
    pub remark: bool,
    pub collector: Option<Collector>,
    pub nested: Vec<Pause>,
}

impl Pause {
    /// Takes the first text of a record: "GC (Allocation Failure) ", "GC pause (young), 0.1 secs".
    pub fn open(&mut self, head: &[u8]) {
        let word = |text: &[u8]| head.starts_with(text);
        let known = ["Full GC", "GC pause", "GC remark", "GC cleanup", "GC"];
        self.name = match known.into_iter().find(|known| word(known.as_bytes())) {
            Some(known) => Cow::Borrowed(known),
            None => {
                let end = head.iter().position(|b| !(b.is_ascii_alphabetic() || b" -".contains(b)));
                let name = head.get(..end.unwrap_or(head.len()).min(60)).unwrap_or_default();
                Cow::Owned(String::from_utf8_lossy(name.trim_ascii()).into_owned())
            }
        };
        self.full = word(b"Full GC") || word(b"Pause Full");
        self.remark = word(b"GC remark");
        if word(b"GC pause") || word(b"GC remark") || word(b"GC cleanup") {
            self.collector = Some(Collector::G1);
        } else if word(b"Pause") {
            self.collector = Some(Collector::Shenandoah);
            if word(b"Pause Degenerated") {
                self.fail(failure::DEGENERATED);
            }
        }
    }

    /// Takes a qualifier in parentheses of the record itself or of one of its parts.
    pub fn qualify(&mut self, text: &[u8], own: bool) {
        if let Some((_, word)) = FAILURES.iter().find(|(printed, _)| *printed == text) {
            self.fail(word);
        } else if text == b"System" {
            self.cause = Some("System.gc()");
        } else if let Some(cause) = CAUSES.iter().find(|c| own && c.as_bytes() == text) {
            self.cause = Some(cause);
            match *cause {
                "CMS Initial Mark" => self.is_cms("CMS-initial-mark"),
                "CMS Final Remark" => self.is_cms("CMS-remark"),
                _ => {}
            }
        } else if KINDS.contains(&text) {
            let name = self.name.to_mut();
            if name.len() < MAX_NAME {
                let _ = write!(name, " ({})", String::from_utf8_lossy(text));
            }
        } else if own && !is_neutral(text) && self.qualifiers.len() < MAX_ITEMS {
            self.qualifiers.push(String::from_utf8_lossy(text).into_owned());
        }
    }

    /// The application was stopped for longer than the record says, by a step of this name.
    pub fn goes_on_for(&mut self, ns: i64, name: &str) {
        self.duration_ns = self.duration_ns.map(|own| own.saturating_add(ns));
        if self.phases.len() < MAX_ITEMS {
            self.phases.push((name.to_owned(), ns as f64 / 1e6));
        }
    }

    /// Records a failure.
    pub fn fail(&mut self, word: &'static str) {
        if !self.failures.contains(&word) {
            self.failures.push(word);
        }
    }

    /// A failure of a nested collection is one of this collection as well: it is a single stop.
    pub fn fails_with(&mut self, inner: &Self) {
        inner.failures.iter().for_each(|word| self.fail(word));
    }

    /// Takes the "--" that a scavenge and G1 print after their names when objects could not be
    /// moved.
    pub fn fail_to_move(&mut self) {
        let g1 = self.collector == Some(Collector::G1);
        self.fail(if g1 { failure::EVACUATION_FAILURE } else { failure::PROMOTION_FAILED });
    }

    fn is_cms(&mut self, name: &'static str) {
        self.name = Cow::Borrowed(name);
        self.remark |= name == "CMS-remark";
        self.collector = Some(Collector::Cms);
    }

    /// Inside a remark it is a young collection, though JDK 8 gives it the cause of the remark.
    pub fn is_scavenge_of_remark(&mut self) {
        self.name = Cow::Borrowed("GC");
        self.remark = false;
    }

    /// Takes a part: "ParNew" with its sizes and seconds, "Rescan (parallel)", "1 CMS-remark".
    pub fn part(&mut self, name: &[u8], change: Option<Change>, secs_ns: Option<i64>, outermost: bool) {
        // The adaptive flavours of the CMS generations are called ASParNew and ASCMS (JDK 6).
        let name = name.strip_prefix(b"AS").unwrap_or(name);
        let has = |prefix: &[u8]| name.starts_with(prefix);
        let slot = if has(b"PSYoungGen") {
            self.collector = Some(Collector::Parallel);
            &mut self.young
        } else if has(b"ParNew") || has(b"DefNew") {
            self.collector = self.collector.or(has(b"DefNew").then_some(Collector::Serial));
            &mut self.young
        } else if has(b"PSPermGen") || has(b"Perm") || has(b"CMS Perm") || has(b"Metaspace") {
            &mut self.metaspace
        } else if has(b"1 CMS-initial-mark") || has(b"1 ASCMS-initial-mark") {
            self.is_cms("CMS-initial-mark");
            &mut self.old
        } else if has(b"1 CMS-remark") || has(b"1 ASCMS-remark") {
            self.is_cms("CMS-remark");
            &mut self.old
        } else if has(b"Tenured") || has(b"ParOldGen") || has(b"PSOldGen") || has(b"CMS") {
            self.full = true;
            self.collector = Some(match name {
                [b'C', ..] => Collector::Cms,
                [b'T', ..] => Collector::Serial,
                _ => Collector::Parallel,
            });
            &mut self.old
        } else {
            self.remark |= has(b"YG occupancy");
            &mut None
        };
        if change.is_some() {
            *slot = change;
        }
        // The times of PrintReferenceGC lie inside other phases.
        if let Some(ns) = secs_ns.filter(|_| outermost && !name.ends_with(b"Reference")) {
            let name = if has(b"CMS") && !has(b"CMS Perm") { &b"CMS"[..] } else { name };
            self.phase(name, ns as f64 / 1e6);
        }
    }

    /// Adds an outermost timed phase.
    pub fn phase(&mut self, name: &[u8], ms: f64) {
        if self.phases.len() < MAX_ITEMS {
            self.phases.push((String::from_utf8_lossy(name).into_owned(), ms));
        }
    }

    /// Takes a line of PrintTenuringDistribution; false when it is not one.
    pub fn tenuring_line(&mut self, line: &[u8]) -> bool {
        use super::numbers::number_after;
        if line.starts_with(b"Desired survivor size") {
            self.desired_survivor = number_after(line, b"Desired survivor size");
            let threshold = number_after(line, b"new threshold");
            self.tenuring =
                threshold.zip(number_after(line, b"(max").or(number_after(line, b"max threshold")));
            true
        } else if let Some(rest) = line.strip_prefix(b"- age") {
            if rest.trim_ascii_start().starts_with(b"1:") {
                self.age1 = number_after(rest, b":");
            }
            true
        } else {
            false
        }
    }

    /// Milliseconds of the pause in which nothing that was timed happened; known for G1 alone.
    ///
    /// G1 of JDK 8 times nearly everything between the start and the end of an evacuation: the
    /// parallel part, some serial steps, and "Other" with its own parts. The rest is time that no
    /// timed work took: writing the log, waiting for a CPU, and rarely used work (heap
    /// verification, remembered-set statistics), which uses CPU. So it is evidence only together
    /// with the CPU times. The phases are rounded to 0.1 ms. JDK 6 and 7 leave too much untimed to
    /// conclude anything.
    pub fn idle_ms(&self) -> Option<f64> {
        let evacuation = self.phases.iter().any(|(name, _)| name == "Parallel Time");
        let timed = self.phases_sum_ms()? + self.other_parts_ms;
        let pause_ms = self.duration_ns? as f64 / 1e6;
        (evacuation && self.other_complete).then_some((pause_ms - timed).max(0.0))
    }

    /// Sum of the outermost phases except "Other".
    pub fn phases_sum_ms(&self) -> Option<f64> {
        let own = |phase: &&(String, f64)| phase.0 != "Other";
        (!self.phases.is_empty()).then(|| self.phases.iter().filter(own).map(|(_, ms)| ms).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_stay_in_the_name_and_causes_leave_it() {
        let mut pause = Pause::default();
        pause.open(b"GC pause (G1 Evacuation Pause) (young)");
        for q in
            [&b"G1 Evacuation Pause"[..], b"young", b"initial-mark", b"to-space exhausted", b"new in 8u999"]
        {
            pause.qualify(q, true);
        }
        assert_eq!(pause.name, "GC pause (young) (initial-mark)");
        assert_eq!(pause.cause, Some("G1 Evacuation Pause"));
        assert_eq!(pause.qualifiers, ["new in 8u999"]);
        assert_eq!(pause.failures, [failure::EVACUATION_FAILURE]);
    }

    #[test]
    fn a_collected_old_generation_is_full_without_the_label() {
        let mut pause = Pause::default();
        pause.open(b"GC ");
        pause.part(b"ParNew", None, Some(1), true);
        assert!(!pause.full);
        pause.part(b"CMS", Some(Change::default()), Some(2), true);
        assert!(pause.full);
        assert_eq!(pause.collector, Some(Collector::Cms));
    }
}
