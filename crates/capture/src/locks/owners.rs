//! The Java threads of a JVM as owners of locks, also those that have ended: a wait is written when
//! it is over, and who held its lock may be gone by then.
//!
//! A monitor that was locked before it was inflated names its owner by a place on the owner's stack
//! (until JDK 23). The C library gives the stack of a thread that has ended to the next one, so the
//! owner is the thread that lived on that stack when the wait began:
//!
//! ```text
//!   thread 20   ├── lives on the stack ──┤
//!   thread 30                               ├── lives on the same stack ──┤
//!   a wait                                        ├─────────┤
//! ```

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};

use fathom_hotspot::locks::OwnerKeys;

/// A thread, and when it can have held a lock: monotonic nanoseconds.
struct Known {
    keys: OwnerKeys,
    /// When it started, rounded down to a tick of the kernel's clock; 0: not known.
    since_ns: u64,
    /// When it ended, as the kernel's program saw it.
    ended_ns: Option<u64>,
    /// When it was no longer among the JVM's threads, where its end was not seen.
    missing_ns: Option<u64>,
}

impl Known {
    fn lived_at(&self, at_ns: u64) -> bool {
        let until_ns = self.ended_ns.or(self.missing_ns).unwrap_or(u64::MAX);
        (self.since_ns..=until_ns).contains(&at_ns)
    }
}

/// See the module.
#[derive(Default)]
pub(super) struct Owners(HashMap<u32, Known>);

impl Owners {
    /// Takes a thread in that started at a timestamp. One that has not run yet has no stack (it
    /// notes its stack itself, in JDK 8 and 11 behind its entry into the list of threads), and is
    /// to be asked again.
    pub(super) fn add(&mut self, tid: u32, keys: OwnerKeys, since_ns: u64) {
        if has_stack(&keys) {
            self.0.insert(tid, Known { keys, since_ns, ended_ns: None, missing_ns: None });
        } else {
            self.0.remove(&tid);
        }
    }

    /// Whether a thread was taken in.
    pub(super) fn knows(&self, tid: u32) -> bool {
        self.0.contains_key(&tid)
    }

    /// A thread has ended. What was known under its id of a later one stays.
    pub(super) fn ended(&mut self, tid: u32, at_ns: u64) {
        if let Some(known) = self.0.get_mut(&tid).filter(|known| known.since_ns <= at_ns) {
            known.ended_ns = Some(at_ns);
        }
    }

    /// The JVM has these threads and no others.
    pub(super) fn are(&mut self, java: &HashSet<u32>, now_ns: u64) {
        for (tid, known) in &mut self.0 {
            let before = known.missing_ns;
            known.missing_ns = (!java.contains(tid)).then_some(before.unwrap_or(now_ns));
        }
    }

    /// Forgets the threads that have ended.
    pub(super) fn forget_ended(&mut self, java: &HashSet<u32>) {
        self.0.retain(|tid, _| java.contains(tid));
    }

    /// The thread that a monitor names as its owner by a number, or by a place on its stack, in a
    /// wait that began at a timestamp.
    pub(super) fn of_monitor(&self, owner: u64, at_ns: u64) -> Option<u32> {
        // Numbers are small, places on a stack are addresses.
        let by = |is: &dyn Fn(&OwnerKeys) -> bool| {
            let fits = self.0.iter().filter(|(_, known)| is(&known.keys) && known.lived_at(at_ns));
            // The start is rounded down: of two that fit, the one whose end is known lived then.
            let order = |known: &Known| (known.ended_ns.unwrap_or(u64::MAX), Reverse(known.since_ns));
            fits.min_by_key(|(_, known)| order(known)).map(|(tid, _)| *tid)
        };
        by(&|keys| keys.owner_id == Some(owner))
            .or_else(|| by(&|keys| (keys.stack.0..keys.stack.1).contains(&owner)))
    }

    /// The thread with a number of Java's.
    pub(super) fn numbered(&self, number: u64) -> Option<u32> {
        self.0.iter().find(|(_, known)| known.keys.number == number).map(|(tid, _)| *tid)
    }
}

fn has_stack(keys: &OwnerKeys) -> bool {
    keys.stack.0 < keys.stack.1
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: u64 = 10_000_000;
    const STACK: (u64, u64) = (0x7000_0000, 0x7010_0000);
    const PLACE: u64 = 0x7008_0000;

    fn keys(stack: (u64, u64)) -> OwnerKeys {
        OwnerKeys { owner_id: None, number: 0, stack }
    }

    #[test]
    fn a_stack_is_of_the_thread_that_lived_on_it_when_the_wait_began() {
        let mut owners = Owners::default();
        owners.add(20, keys(STACK), 5 * TICK);
        assert_eq!(owners.of_monitor(PLACE, 4 * TICK), None, "it had not started");
        assert_eq!(owners.of_monitor(PLACE, 6 * TICK), Some(20));
        owners.ended(20, 7 * TICK + 3);
        // The next one on that stack started in the same tick.
        owners.add(30, keys(STACK), 7 * TICK);
        assert_eq!(owners.of_monitor(PLACE, 7 * TICK + 2), Some(20));
        assert_eq!(owners.of_monitor(PLACE, 7 * TICK + 5), Some(30));
        assert_eq!(owners.of_monitor(STACK.1, 8 * TICK), None);
        let numbered = OwnerKeys { owner_id: Some(44), number: 44, stack: (1, 2) };
        owners.add(40, numbered, 9 * TICK);
        assert_eq!((owners.of_monitor(44, 9 * TICK), owners.numbered(44)), (Some(40), Some(40)));
    }

    #[test]
    fn a_thread_that_has_not_run_is_not_taken_in_and_the_one_before_is_not_named_for_it() {
        let mut owners = Owners::default();
        owners.add(20, keys(STACK), TICK);
        owners.ended(20, 3 * TICK);
        owners.add(30, keys((0, 0)), 3 * TICK);
        assert!(!owners.knows(30));
        assert_eq!(owners.of_monitor(PLACE, 4 * TICK), None);
        owners.add(30, keys(STACK), 3 * TICK);
        assert!(owners.knows(30));
        assert_eq!(owners.of_monitor(PLACE, 4 * TICK), Some(30));
    }

    #[test]
    fn where_an_end_was_not_seen_the_list_of_threads_shows_it() {
        let mut owners = Owners::default();
        owners.add(20, keys(STACK), TICK);
        owners.are(&HashSet::from([20]), 2 * TICK);
        assert_eq!(owners.of_monitor(PLACE, 9 * TICK), Some(20));
        owners.are(&HashSet::from([30]), 5 * TICK);
        owners.are(&HashSet::from([30]), 6 * TICK);
        assert_eq!(owners.of_monitor(PLACE, 9 * TICK), None);
        assert_eq!(owners.of_monitor(PLACE, 5 * TICK - 1), Some(20), "its waits are written later");
        // An older thread's end under the same id is not the end of this one.
        owners.ended(20, TICK / 2);
        assert_eq!(owners.of_monitor(PLACE, 4 * TICK), Some(20));
        owners.forget_ended(&HashSet::from([30]));
        assert_eq!(owners.of_monitor(PLACE, 4 * TICK), None);
    }
}
