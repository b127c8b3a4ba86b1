//! Who held the locks of a recording one after another, for chains, by what the rules on locks make
//! of all waits.
//!
//! It stands above both: chains know nothing of rules, and are given what these found.

use fathom_recording::{ProcessId, Recording};

use crate::chain::{Chains, HeldLocks};
use crate::known::Known;
use crate::rules::{lock_contended_juc, lock_contended_monitor, lock_holders, lock_identity};
use crate::waits::place::NO_PLACE;
use crate::{Case, Loss, Window};

impl<'a> Chains<'a> {
    /// Of a (sealed) recording, with those who held its locks one after another: what the rules on
    /// locks know of them is looked at for the whole run.
    pub fn with_lock_holders(recording: &'a Recording) -> Self {
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
            attributed: std::rc::Rc::default(),
            known: std::rc::Rc::new(Known::with_chains(recording, chains)),
        };
        let held_locks = held_locks(&case);
        let chains = std::rc::Rc::try_unwrap(case.known).ok().and_then(Known::into_chains);
        chains.unwrap_or_else(|| Self::of(recording)).knowing(held_locks)
    }
}

/// The locks of a case that changed hands.
fn held_locks(case: &Case<'_>) -> HeldLocks {
    let mut held_locks = HeldLocks::default();
    let words = [&lock_contended_monitor::WORDS, &lock_contended_juc::WORDS];
    words.iter().for_each(|words| held_locks.own(words.category, words.own));
    for process in (0..case.recording.processes.len()).map(|i| ProcessId(i as u32)) {
        let monitors = lock_contended_monitor::waits(case, process);
        let locks = lock_contended_juc::waits(case, process);
        for (words, waits) in words.into_iter().zip([monitors, locks]) {
            let Some(waits) = waits else { continue };
            for lock in lock_identity::locks(&waits, words.own) {
                let holders = lock_holders::holders(&lock, &waits);
                // Of many objects each has its own holder; one owner needs no adding up.
                if lock.several || holders.len() < 2 {
                    continue;
                }
                let places =
                    lock.places.iter().map(|(place, _)| place.as_str()).filter(|place| *place != NO_PLACE);
                let of = (process, words.category);
                held_locks.add(
                    of,
                    lock.spans(&waits),
                    places,
                    holders,
                    (lock.named(), lock.as_monitor(words.category)),
                );
            }
        }
    }
    held_locks
}
