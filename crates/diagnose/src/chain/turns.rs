//! Who held the locks of a recording when, from all the waits for each of them.
//!
//! One wait tells who held the lock when it began. In a convoy that is the first of many: the others are told by the waits of
//! the other threads, as the rules on locks add them up.

use fathom_recording::{ProcessId, Recording, Span, SpanId, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::Chains;
use super::holders::shared_out;
use super::walk::Walk;
use super::{End, Link};
use crate::intervals::Intervals;
use crate::rules::lock_case::LockWords;
use crate::rules::{lock_contended_juc, lock_contended_monitor, lock_holders, lock_identity};
use crate::waits::Heading;
use crate::{Case, Loss, Window};

/// The locks that changed hands, by the waits for them.
#[derive(Default)]
pub(crate) struct Turns {
    by_span: FxHashMap<SpanId, usize>,
    /// Waits of which no record tells are known by the method of the application that waits.
    by_place: FxHashMap<(ProcessId, Heading, String), usize>,
    locks: Vec<Turn>,
}

/// One lock.
struct Turn {
    named: String,
    holders: Vec<(ThreadId, Intervals)>,
}

impl<'a> Chains<'a> {
    /// Of a (sealed) recording, with those who held its locks one after another: what the rules on locks tell of them is looked
    /// at for the whole run.
    pub fn with_turns(recording: &'a Recording) -> Self {
        let chains = Self::of(recording);
        let Some((from_ns, to_ns)) = recording.covers_ns() else { return chains };
        let case = Case {
            recording,
            slow: vec![Window { from_ns, to_ns }],
            base: Vec::new(),
            whole_run: true,
            loss: Loss::default(),
            found_on_stops: false,
            warm_up: None,
            lost_by: Vec::new(),
            exchanges: None,
            chains: std::rc::Rc::new(chains.into()),
        };
        let turns = Turns::of(&case);
        let cell = case.chains;
        let chains = std::rc::Rc::try_unwrap(cell).ok().and_then(std::cell::OnceCell::into_inner);
        let mut chains = chains.unwrap_or_else(|| Self::of(recording));
        chains.turns = turns;
        chains
    }

    /// The lock that a span waits for, where it changed hands.
    pub(super) fn turn_of(&self, span: &Span<'_>) -> Option<usize> {
        self.turns.by_span.get(&span.id).copied()
    }

    /// The same where the stack alone tells what a thread waits for.
    pub(super) fn turn_at(
        &self,
        process: ProcessId,
        heading: Heading,
        stack: Option<StackId>,
    ) -> Option<usize> {
        if self.turns.locks.is_empty() {
            return None;
        }
        let words = words().into_iter().find(|words| words.heading == heading)?;
        let place = lock_identity::place(self.recording, stack, words.own);
        self.turns.by_place.get(&(process, heading, place.to_owned())).copied()
    }

    /// What a lock that changed hands is called.
    pub(super) fn turn_name(&self, turn: usize) -> &str {
        self.turns.locks.get(turn).map_or("a lock", |lock| &lock.named)
    }
}

fn words() -> [&'static LockWords; 2] {
    [&lock_contended_monitor::WORDS, &lock_contended_juc::WORDS]
}

impl Turns {
    fn of(case: &Case<'_>) -> Self {
        let mut turns = Self::default();
        for process in (0..case.recording.processes.len()).map(|i| ProcessId(i as u32)) {
            let monitors = lock_contended_monitor::waits(case, process);
            let locks = lock_contended_juc::waits(case, process);
            for (words, waits) in words().into_iter().zip([monitors, locks]) {
                let Some(waits) = waits else { continue };
                for lock in lock_identity::locks(&waits, words.own) {
                    let holders = lock_holders::holders(&lock, &waits);
                    // Of many objects each has its own holder; one owner needs no adding up.
                    if lock.several || holders.len() < 2 {
                        continue;
                    }
                    let turn = turns.locks.len();
                    turns.by_span.extend(lock.spans(&waits).map(|span| (span.id, turn)));
                    for (place, _) in lock.places.iter().filter(|(place, _)| place != lock_identity::NO_PLACE)
                    {
                        turns.by_place.entry((process, words.heading, place.clone())).or_insert(turn);
                    }
                    turns.locks.push(Turn { named: lock.named(), holders });
                }
            }
        }
        turns
    }
}

impl Walk<'_, '_> {
    /// What those did who held a lock in some moments, one after another, put together by what they did.
    pub(super) fn in_turn(&mut self, lock: usize, moments: &Intervals) -> Vec<Link> {
        let chains = self.chains;
        let Some(turn) = chains.turns.locks.get(lock) else { return Vec::new() };
        let (held, mut left) = shared_out(&turn.holders, moments);
        let mut links = match &held[..] {
            // What one holder did is told as of any thread.
            [(holder, own)] if self.end_at(*holder).is_none() => self.links(*holder, own),
            _ => self.of_holders(&held, Some(lock), &mut left),
        };
        if !left.is_empty() {
            let mut unknown = self.link(None, None, "who held it is not known".to_owned(), &left);
            unknown.end = Some(End::Unknown);
            links.push(unknown);
        }
        links
    }
}
