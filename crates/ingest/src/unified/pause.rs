//! A pause from its first line until it is written: the content of its lines, and where nothing
//! happened.

use std::rc::Rc;

use fathom_recording::same;
use fathom_recording::vocabulary::{failure, figure};
use rustc_hash::FxHashMap;

use super::out::text;
use super::record::{Group, Record};
use super::scan::Change;

/// How many figures, phases or qualifiers one pause may have. G1 with every detail has some thirty
/// figures; a hostile log that repeats one line for ever must not fill the memory.
const MOST: usize = 64;
/// How many figures and phases one has at info level.
const USUAL: (usize, usize) = (24, 8);
/// How many names of phases are kept per run. G1 at info level has five, a full collection up to
/// ten.
const PHASE_NAMES: usize = 512;
/// A gap shorter than this cannot be seen in timestamps of milliseconds: each of the two may be off
/// by one.
const LEAST_GAP_NS: i64 = 2_000_000;

/// The position of a line in time and in the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct At {
    /// On the run's clock.
    pub(crate) ns: i64,
    /// Its number.
    pub(crate) line: u64,
}

/// Names of phases with the keys of their figures, so that each key is formatted once.
#[derive(Clone, Debug, Default)]
pub(crate) struct PhaseNames {
    ids: FxHashMap<Vec<u8>, u16>,
    names: Vec<Vec<u8>>,
    keys: Vec<String>,
    /// The name that probably comes next: the one that followed the last one before.
    next: usize,
}

impl PhaseNames {
    /// The id of a phase's name; `None` when there are too many.
    pub(crate) fn id(&mut self, name: &[u8]) -> Option<u16> {
        if self.names.get(self.next).is_none_or(|next| !same(next, name)) {
            self.next = usize::from(self.look_up(name)?);
        }
        let id = self.next as u16;
        self.next = (self.next + 1) % self.names.len();
        Some(id)
    }

    fn look_up(&mut self, name: &[u8]) -> Option<u16> {
        if let Some(id) = self.ids.get(name) {
            return Some(*id);
        }
        let id = u16::try_from(self.keys.len()).ok().filter(|id| usize::from(*id) < PHASE_NAMES)?;
        self.keys.push(format!("{}{}", figure::PHASE_MS_PREFIX, text(name)));
        self.names.push(name.to_vec());
        self.ids.insert(name.to_vec(), id);
        Some(id)
    }

    /// The key of a phase's figure.
    pub(crate) fn key(&self, id: u16) -> &str {
        self.keys.get(usize::from(id)).map_or(figure::PHASE_MS_PREFIX, String::as_str)
    }
}

/// The content of the closing record of a pause.
#[derive(Clone, Debug)]
pub(crate) struct Closing {
    /// The record's line.
    pub(crate) at: At,
    /// As printed.
    pub(crate) duration_ns: i64,
    /// "Pause Young (Normal)".
    pub(crate) name: Rc<str>,
    /// The cause, when it is one that is known.
    pub(crate) cause: Option<Rc<str>>,
    /// Groups that are unknown.
    pub(crate) qualifiers: Vec<Rc<str>>,
}

/// G1 prints regions; their size is known from elsewhere.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Regions {
    /// Eden.
    pub(crate) eden: Option<Change>,
    /// Survivors.
    pub(crate) survivor: Option<Change>,
    /// Old.
    pub(crate) old: Option<Change>,
}

/// A pause whose lines are being collected.
#[derive(Clone, Debug, Default)]
pub(crate) struct Pause {
    /// GC id.
    pub(crate) id: u64,
    /// Its words, by which its closing record is recognised: "Pause Young".
    pub(crate) words: Vec<u8>,
    /// Its start, when that is in the log.
    pub(crate) start: Option<At>,
    /// Its name and cause from its start, of a full collection.
    pub(crate) announced: Option<(Box<str>, Option<Box<str>>)>,
    /// Its closing record, when it has come.
    pub(crate) closing: Option<Closing>,
    /// Pauses within it.
    pub(crate) nested: Vec<Pause>,
    /// G1's region counts.
    pub(crate) regions: Regions,
    /// Figures so far.
    pub(crate) figures: Vec<(&'static str, f64)>,
    /// How it failed, in the values of [`failure`].
    pub(crate) failures: Vec<&'static str>,
    /// A bit for each of their keys; some share one.
    keys: u64,
    /// Outermost phases, in nanoseconds.
    pub(crate) phases: Vec<(u16, i64)>,
    phases_ns: i64,
    /// G1's "Other" was printed: the phases are complete.
    complete: bool,
    /// Names (as hashes) of phases that are open.
    open_phases: Vec<u64>,
    gaps: Gaps,
}

impl Pause {
    /// A pause whose first line is at `at`, with the memory of a written one.
    pub(crate) fn in_place_of(written: Option<Self>, id: u64, words: &[u8], at: At) -> Self {
        let mut old = written.unwrap_or_else(|| Self {
            figures: Vec::with_capacity(USUAL.0),
            phases: Vec::with_capacity(USUAL.1),
            ..Self::default()
        });
        old.words.clear();
        old.words.extend_from_slice(words);
        old.figures.clear();
        old.phases.clear();
        old.open_phases.clear();
        let (words, figures, phases, open_phases) = (old.words, old.figures, old.phases, old.open_phases);
        let mut pause = Self { id, words, figures, phases, open_phases, ..Self::default() };
        pause.gaps.line(at, 0);
        pause
    }

    /// A further line of it.
    pub(crate) fn line(&mut self, at: At) {
        self.gaps.line(at, self.phases_ns);
    }

    /// A line after it, of its safepoint, whose own end `busy_ns` is known.
    pub(crate) fn line_after(&mut self, at: At, busy_ns: i64) {
        let at = At { ns: at.ns.saturating_sub(busy_ns.max(0)), ..at };
        self.gaps.line(at, self.phases_ns);
    }

    /// The line is part of the closing burst: the work is done, what follows is writing.
    pub(crate) fn burst(&mut self) {
        self.gaps.in_burst = true;
    }

    /// The collection continues concurrently: what is printed of it from here on does not belong to
    /// the pause.
    pub(crate) fn is_over(&mut self) {
        self.gaps.over = true;
    }

    /// Sets a figure; the first one of a key counts.
    pub(crate) fn set(&mut self, key: &'static str, value: f64) {
        // Most keys are new: a bit shows it without a search through all others.
        let byte = |at: usize| key.as_bytes().get(at).map_or(0, |b| usize::from(*b));
        let bit = 1 << ((5 * key.len() + 3 * byte(0) + byte(2) + 7 * byte(key.len() / 2)) % 64);
        let known = self.keys & bit != 0 && self.figures.iter().any(|(k, _)| *k == key);
        if self.figures.len() < MOST && !known {
            self.keys |= bit;
            self.figures.push((key, value));
        }
    }

    /// Records a failure.
    pub(crate) fn fail(&mut self, word: &'static str) {
        if !self.failures.contains(&word) {
            self.failures.push(word);
        }
        if failure::is_evacuation_failure(word) {
            self.set(figure::EVACUATION_FAILURE, 1.0);
        }
    }

    /// Sets both sides of a change.
    pub(crate) fn set_change(&mut self, change: &Change, keys: [&'static str; 2]) {
        self.set(keys[0], change.before);
        self.set(keys[1], change.after);
    }

    /// A phase begins.
    pub(crate) fn open_phase(&mut self, name: u64) {
        if self.open_phases.len() < MOST {
            self.open_phases.push(name);
        }
    }

    /// A phase of a known length ended; only the outermost ones are kept.
    pub(crate) fn phase(&mut self, name: u64, id: Option<u16>, duration_ns: i64) {
        match self.open_phases.iter().rposition(|open| *open == name) {
            Some(at) => self.open_phases.truncate(at),
            None if self.open_phases.is_empty() => {}
            None => return,
        }
        if !self.open_phases.is_empty() {
            return;
        }
        self.phases_ns = self.phases_ns.saturating_add(duration_ns);
        self.keep_phase(id, duration_ns);
    }

    /// G1's "Other": time that no phase accounts for.
    pub(crate) fn other(&mut self, id: Option<u16>, duration_ns: i64) {
        self.complete = true;
        self.keep_phase(id, duration_ns);
    }

    fn keep_phase(&mut self, id: Option<u16>, duration_ns: i64) {
        let Some(id) = id else { return };
        if let Some((_, sum)) = self.phases.iter_mut().find(|(known, _)| *known == id) {
            *sum = sum.saturating_add(duration_ns);
        } else if self.phases.len() < MOST {
            self.phases.push((id, duration_ns));
        }
    }

    /// Takes the closing record.
    pub(crate) fn close(&mut self, record: &Record<'_>, at: At, duration_ns: i64) {
        if let Some(change) = &record.change {
            self.set_change(change, [figure::HEAP_BEFORE_BYTES, figure::HEAP_AFTER_BYTES]);
            if let Some(capacity) = change.capacity {
                self.set(figure::HEAP_CAPACITY_BYTES, capacity);
            }
        }
        if let Some(group) = record.group(Group::EvacuationFailure) {
            // "Evacuation Failure: Allocation / Pinned"; before JDK 22 without what follows the
            // colon.
            let says = |word: &[u8]| memchr::memmem::find(group, word).is_some();
            if says(b"Pinned") {
                self.fail(failure::PINNED);
            }
            if !says(b"Pinned") || says(b"Allocation") {
                self.fail(failure::EVACUATION_FAILURE);
            }
        }
        if record.words.starts_with(b"Pause Degenerated") {
            self.fail(failure::DEGENERATED);
        }
        self.closing = Some(Closing {
            at,
            duration_ns,
            name: Rc::from(text(record.name)),
            cause: record.group(Group::Cause).map(|cause| Rc::from(text(cause))),
            qualifiers: record
                .groups()
                .filter(|(k, _)| *k == Group::Unknown)
                .map(|(_, g)| Rc::from(text(g)))
                .collect(),
        });
        self.line(at);
        self.burst();
    }

    /// Whether it collects the whole heap.
    pub(crate) fn is_full(&self) -> bool {
        self.words.starts_with(b"Pause Full")
            || self.failures.contains(&failure::UPGRADED_TO_FULL)
            || self.nested.iter().any(Pause::is_full)
    }

    /// Sum of the outermost phases without "Other", nanoseconds. `None` when none was printed, or
    /// when they overlap after all: then their sum means nothing.
    pub(crate) fn phases_sum_ns(&self) -> Option<i64> {
        let duration_ns = self.closing.as_ref()?.duration_ns;
        // Each is rounded to a tenth of a millisecond.
        let rounding_ns = 100_000 * i64::try_from(self.phases.len()).unwrap_or(i64::MAX);
        let fits = self.phases_ns <= duration_ns.saturating_add(rounding_ns);
        (!self.phases.is_empty() && fits).then_some(self.phases_ns)
    }

    /// The largest gap between two of its lines in which no timed work lies, with the line at which
    /// it ends.
    ///
    /// Between the start and the first closing line the work is done. That interval counts only
    /// where the phases account for all of it: G1's that print "Other", and full collections.
    pub(crate) fn idle_gap(&self) -> Option<(i64, u64)> {
        let whole = self.complete || (self.words.starts_with(b"Pause Full") && !self.phases.is_empty());
        let best = if whole { self.gaps.best } else { self.gaps.best_in_burst };
        let gap = best?;
        let explained_ns = self.phases_ns.saturating_sub(gap.before_ns);
        let idle_ns = gap.ns.saturating_sub(explained_ns);
        (idle_ns >= LEAST_GAP_NS).then_some((idle_ns, gap.line))
    }
}

/// The largest gap so far. Of two, the one that will be larger once the phases printed from there
/// on are subtracted: as their total is the same for both, that is the one with the larger sum of
/// gap and phases before it.
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    last_ns: Option<i64>,
    in_burst: bool,
    /// Whether the pause is over: what is printed from there on is not part of it.
    over: bool,
    best: Option<Gap>,
    best_in_burst: Option<Gap>,
}

#[derive(Clone, Copy, Debug)]
struct Gap {
    ns: i64,
    before_ns: i64,
    line: u64,
}

impl Gaps {
    fn line(&mut self, at: At, phases_ns: i64) {
        if self.over {
            return;
        }
        if let Some(last) = self.last_ns {
            let ns = at.ns.saturating_sub(last);
            if ns >= LEAST_GAP_NS {
                let gap = Gap { ns, before_ns: phases_ns, line: at.line };
                keep_larger(&mut self.best, gap);
                if self.in_burst {
                    keep_larger(&mut self.best_in_burst, gap);
                }
            }
        }
        self.last_ns = Some(self.last_ns.map_or(at.ns, |last| last.max(at.ns)));
    }
}

fn keep_larger(best: &mut Option<Gap>, gap: Gap) {
    let score = |g: &Gap| g.ns.saturating_add(g.before_ns);
    if best.as_ref().is_none_or(|b| score(&gap) > score(b)) {
        *best = Some(gap);
    }
}
