//! An operation in pieces: what its thread did, in order of time, each wait with what it is
//! attributed to.

use std::rc::Rc;

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Span, ThreadId};
use rustc_hash::FxHashMap;

use super::{Behind, General, Piece};
use crate::attribution::Key;
use crate::attribution::segments::{self, Segment};
use crate::attribution::{Attribution, Path, Step, is_followed};
use crate::chain::Chains;
use crate::intervals::Intervals;
use crate::places::Places;
use crate::waits::{Category, record};

/// Pieces of one operation at most; what comes behind is one that was not looked at.
const MOST_PIECES: usize = 10_000;
/// Timestamps that are all multiples of this are too coarse to show what went on during a request.
const COARSE_NS: i64 = 1_000_000_000;

/// A piece with the words of the recording.
#[derive(Clone)]
pub(super) struct RawPiece<'a> {
    pub(super) from: i64,
    pub(super) to: i64,
    /// What the operation's own thread did.
    pub(super) own: Key<'a>,
    /// The steps behind it, its own first; empty where nobody was followed.
    path: Option<Path<'a>>,
}

impl<'a> RawPiece<'a> {
    /// What the time is attributed to in the end.
    pub(super) fn end(&self) -> Step<'a> {
        let last = self.path.as_ref().and_then(|path| path.last().copied());
        last.unwrap_or(Step { key: self.own, other: None })
    }

    /// Whether a lock stands on the way.
    pub(super) fn is_by_lock(&self) -> bool {
        let is_lock = |category| General::of(category) == Some(General::Lock);
        is_lock(self.own.category)
            || self.path.iter().flat_map(|path| path.iter()).any(|step| is_lock(step.key.category))
    }

    pub(super) fn described(&self) -> Piece {
        let behind = self.path.iter().flat_map(|path| path.iter().skip(1));
        Piece {
            from_ns: self.from,
            to_ns: self.to,
            ms: self.to.saturating_sub(self.from) as f64 / 1e6,
            category: self.own.category,
            words: words(self.own.category),
            place: self.own.place.to_owned(),
            counterpart: self.own.target.to_owned(),
            behind: behind.map(described).collect(),
        }
    }
}

/// A category in words; running time is one whatever compiled it.
pub(super) fn words(category: Category) -> &'static str {
    match category {
        Category::Unknown => "not seen",
        Category::Running => "running",
        other => other.words(),
    }
}

fn described(step: &Step<'_>) -> Behind {
    Behind {
        thread: step.other.map(|pool| pool.name.to_owned()),
        category: step.key.category,
        words: words(step.key.category),
        place: step.key.place.to_owned(),
        counterpart: step.key.target.to_owned(),
    }
}

/// Cuts operations of a recording.
pub(super) struct Cut<'c, 'a> {
    chains: &'c Chains<'a>,
    attribution: Attribution<'c, 'a>,
    places: Places<'a>,
    threads: FxHashMap<ThreadId, Rc<[Segment<'a>]>>,
    stops: Option<Rc<Stops>>,
    coarse: bool,
}

/// Stops of the only JVM of a recording.
#[derive(Default)]
struct Stops {
    gc: Intervals,
    other: Intervals,
}

impl<'c, 'a> Cut<'c, 'a> {
    pub(super) fn of(chains: &'c Chains<'a>) -> Self {
        let recording = chains.recording();
        let mut requests = recording.spans_of(kind::OPERATION).map(|span| span.t1_ns());
        let coarse = requests.all(|t_ns| t_ns.rem_euclid(COARSE_NS) == 0);
        Self {
            chains,
            attribution: Attribution::of(chains),
            places: Places::of_recording(recording),
            threads: FxHashMap::default(),
            stops: None,
            coarse,
        }
    }

    /// Whether requests without a thread have timestamps of whole seconds.
    pub(super) fn coarse_stamps(&self) -> bool {
        self.coarse
    }

    /// Pieces of an operation in order of time, without overlap, which add up to its length.
    pub(super) fn of_operation(&mut self, operation: &Span<'a>) -> Vec<RawPiece<'a>> {
        let (from, to) = (operation.t0_ns(), operation.t1_ns());
        let mut pieces = Vec::new();
        let mut at = from;
        let segments: Rc<[Segment<'a>]> = match operation.thread() {
            Some(thread) => self.segments_of(thread),
            None => self.stopped(from, to).into(),
        };
        // They do not overlap: their ends are in order too.
        let first = segments.partition_point(|segment| segment.to <= from);
        for segment in segments[first..].iter().take_while(|segment| segment.from < to) {
            let (begin, end) = (segment.from.max(at), segment.to.min(to));
            if begin >= end {
                continue;
            }
            if pieces.len() >= MOST_PIECES {
                break;
            }
            pieces.extend(not_seen(at, begin));
            match operation.thread() {
                Some(thread) => self.of_segment(thread, segment, (begin, end), &mut pieces),
                None => pieces.push(RawPiece { from: begin, to: end, own: segment.key, path: None }),
            }
            at = end;
        }
        pieces.extend(not_seen(at, to));
        pieces
    }

    fn of_segment(
        &mut self,
        thread: ThreadId,
        segment: &Segment<'a>,
        (from, to): (i64, i64),
        pieces: &mut Vec<RawPiece<'a>>,
    ) {
        let (mut key, mut ended_by) = (segment.key, segment.ended_by);
        if (key.place.is_empty() || key.target.is_empty() || ended_by.is_none()) && !key.category.is_running()
        {
            // Without switches the record of the wait itself shows where it was, and for whom.
            if let Some(wait) = self.chains.wait_at(thread, key.category, from, to) {
                if key.place.is_empty() {
                    key.place = self.places.of(wait.stack());
                }
                let is_lock = matches!(wait.kind(), kind::LOCK_MONITOR | kind::LOCK_PARK);
                if key.target.is_empty() {
                    key.target = record::target(&wait).unwrap_or(if is_lock { wait.name() } else { "" });
                }
                let owner = is_lock.then(|| self.chains.owner(&wait)).flatten();
                ended_by = ended_by.or(owner.filter(|owner| *owner != thread));
                // An owner that is no thread of the recording still has a name.
                if let Some(owner) = wait.label(label::OWNER).filter(|_| ended_by.is_none() && is_lock) {
                    key.target = owner;
                }
            }
        }
        if !is_followed(key.category) || ended_by.is_none() {
            pieces.push(RawPiece { from, to, own: key, path: None });
            return;
        }
        let mut followed = self.attribution.of_wait(thread, key, (ended_by, segment.queues), (from, to));
        followed.sort_by_key(|(_, from, _)| *from);
        let mut at = from;
        for (path, begin, end) in followed {
            let (begin, end) = (begin.max(at), end.min(to));
            if begin >= end {
                continue;
            }
            if at < begin {
                pieces.push(RawPiece { from: at, to: begin, own: key, path: None });
            }
            pieces.push(RawPiece { from: begin, to: end, own: key, path: Some(path) });
            at = end;
        }
        if at < to {
            pieces.push(RawPiece { from: at, to, own: key, path: None });
        }
    }

    fn segments_of(&mut self, thread: ThreadId) -> Rc<[Segment<'a>]> {
        let (chains, places) = (self.chains, &mut self.places);
        let own = self.threads.entry(thread).or_insert_with(|| segments::of(chains, places, thread).into());
        Rc::clone(own)
    }

    /// Stops between two timestamps, of which a request without a thread knows the most that can be
    /// known.
    fn stopped(&mut self, from: i64, to: i64) -> Vec<Segment<'a>> {
        if self.coarse {
            return Vec::new();
        }
        let recording = self.chains.recording();
        let stops = Rc::clone(self.stops.get_or_insert_with(|| {
            if recording.processes.iter().filter(|process| process.jvm).count() != 1 {
                return Rc::default();
            }
            let of = |kind| Intervals::of(recording.spans_of(kind).map(|span| (span.t0_ns(), span.t1_ns())));
            let gc = of(kind::GC_PAUSE);
            let other = of(kind::SAFEPOINT).without(&gc);
            Rc::new(Stops { gc, other })
        }));
        let within = |category, of: &Intervals| -> Vec<Segment<'a>> {
            let key = Key { category, place: "", target: "" };
            of.within(from, to)
                .map(|(from, to)| Segment {
                    from,
                    to,
                    key,
                    ended_by: None,
                    queues: false,
                    rests: category == Category::Idle,
                })
                .collect()
        };
        let mut all = within(Category::StoppedByGc, &stops.gc);
        all.extend(within(Category::Stopped, &stops.other));
        all.sort_by_key(|segment| segment.from);
        all
    }
}

fn not_seen<'a>(from: i64, to: i64) -> Option<RawPiece<'a>> {
    let own = Key { category: Category::Unknown, place: "", target: "" };
    (from < to).then_some(RawPiece { from, to, own, path: None })
}
