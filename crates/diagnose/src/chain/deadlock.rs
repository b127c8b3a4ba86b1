//! Threads that wait for each other and never go on.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Span, ThreadId};

use super::Chains;
use crate::Fact;
use crate::facts::Value;
use crate::facts::locks::TAKEN_IN;
use crate::waits::place::place;

impl Chains<'_> {
    /// Threads that wait for each other, each with the lock that it waits for, when the recording
    /// ended; `None` where there are none. Only waits that had not ended count: they alone are
    /// known to stand at the same time.
    pub(crate) fn deadlock(&self, jvm: ProcessId) -> Option<Vec<(ThreadId, Fact)>> {
        let locks = [kind::LOCK_MONITOR, kind::LOCK_PARK, kind::LOCK_NATIVE];
        let open = locks
            .iter()
            .flat_map(|kind| self.recording.spans_of(kind))
            .filter(|span| span.process() == jvm && span.label(label::CUT).is_some());
        let waits: BTreeMap<ThreadId, (ThreadId, Fact)> = open
            .filter_map(|span| Some((span.thread()?, (self.owner(&span)?, self.lock_and_place(&span)))))
            .collect();
        for start in waits.keys() {
            let (mut cycle, mut at) = (Vec::new(), *start);
            // A cycle has at most as many threads as wait.
            while let (Some((owner, lock)), true) = (waits.get(&at), cycle.len() < waits.len()) {
                cycle.push((at, lock.clone()));
                if owner == start {
                    return Some(cycle).filter(|cycle| cycle.len() > 1);
                }
                at = *owner;
            }
        }
        None
    }

    /// "shop.Ledger in shop.Orders.book", where the stack is known.
    fn lock_and_place(&self, span: &Span<'_>) -> Fact {
        let place = place(self.recording, self.stack_of(span), &[]);
        TAKEN_IN.is(Value::name(span.name())).with("place", Value::named(place))
    }
}
