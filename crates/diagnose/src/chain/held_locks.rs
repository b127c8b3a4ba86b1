//! Who held the locks of a recording when, from all the waits for each of them.
//!
//! One wait records who held the lock when it began. In a convoy that is the first of many: the
//! others are known from the waits of the other threads, as the rules on locks add them up
//! ([`crate::held_locks`]).

use fathom_recording::{ProcessId, Span, SpanId, StackId, ThreadId};
use rustc_hash::FxHashMap;

use super::holders::shared_out;
use super::walk::Walk;
use super::{Chains, Monitor};
use super::{End, Link, LinkKind};
use crate::Fact;
use crate::facts::{Value, links};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::place::place;

/// The locks that changed hands, by the waits for them.
#[derive(Default)]
pub(crate) struct HeldLocks {
    by_span: FxHashMap<SpanId, usize>,
    /// Waits that no record of a lock covers, by the method of the application that waits.
    by_place: FxHashMap<(ProcessId, Category, String), usize>,
    locks: Vec<HeldLock>,
    own: Vec<(Category, &'static [&'static str])>,
}

/// One lock.
struct HeldLock {
    named: String,
    holders: Vec<(ThreadId, Intervals)>,
    monitor: Option<Monitor>,
}

impl<'a> Chains<'a> {
    /// The same with what is known of those who held locks one after another.
    pub(crate) fn knowing(mut self, held_locks: HeldLocks) -> Self {
        self.held_locks = held_locks;
        self
    }

    /// The lock that a span waits for, where it changed hands.
    pub(super) fn held_lock_of(&self, span: &Span<'_>) -> Option<usize> {
        self.held_locks.by_span.get(&span.id).copied()
    }

    /// The same where the stack alone shows what a thread waits for.
    pub(super) fn held_lock_at(
        &self,
        process: ProcessId,
        category: Category,
        stack: Option<StackId>,
    ) -> Option<usize> {
        if self.held_locks.locks.is_empty() {
            return None;
        }
        let (_, own) = self.held_locks.own.iter().find(|(of, _)| *of == category)?;
        let place = place(self.recording, stack, own);
        self.held_locks.by_place.get(&(process, category, place.to_owned())).copied()
    }

    /// That a lock that changed hands is waited for.
    pub(super) fn for_held_lock(&self, held_lock: usize) -> Fact {
        let named = self.held_locks.locks.get(held_lock).and_then(|lock| Value::named(&lock.named));
        Fact { value: named, ..links::FOR_LOCK.fact() }
    }
}

impl HeldLocks {
    /// Methods of the locks of a category themselves, which are not the place that waits: prefixes.
    pub(crate) fn own(&mut self, category: Category, own: &'static [&'static str]) {
        self.own.push((category, own));
    }

    /// A lock that changed hands: the waits for it, the methods that wait, who held it when, and
    /// what it is called. A monitor is held within these methods.
    pub(crate) fn add<'w, 'p>(
        &mut self,
        (process, category): (ProcessId, Category),
        spans: impl Iterator<Item = Span<'w>>,
        places: impl Iterator<Item = &'p str>,
        holders: Vec<(ThreadId, Intervals)>,
        (named, monitor): (String, Option<Monitor>),
    ) {
        let held_lock = self.locks.len();
        self.by_span.extend(spans.map(|span| (span.id, held_lock)));
        for place in places {
            self.by_place.entry((process, category, place.to_owned())).or_insert(held_lock);
        }
        self.locks.push(HeldLock { named, holders, monitor });
    }
}

impl Walk<'_, '_> {
    /// What those did who held a lock in some intervals, one after another, put together by what
    /// they did.
    pub(super) fn in_turn(&mut self, lock: usize, intervals: &Intervals) -> Vec<Link> {
        let chains = self.chains;
        let Some(held_lock) = chains.held_locks.locks.get(lock) else { return Vec::new() };
        let (held, mut left) = shared_out(&held_lock.holders, intervals);
        let mut next = match &held[..] {
            // What one holder did is shown as for any thread.
            [(holder, own)] if self.end_at(*holder).is_none() => self.links(*holder, own),
            _ => self.of_holders(&held, (Some(lock), held_lock.monitor.as_ref()), &mut left),
        };
        if !left.is_empty() {
            let what = links::HOLDER_UNKNOWN.fact();
            let mut unknown = self.link(LinkKind::HolderUnknown, (None, None), what, &left);
            unknown.end = Some(End::Unknown);
            next.push(unknown);
        }
        next
    }
}
