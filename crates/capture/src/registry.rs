//! The one list of collectors.

use crate::collector::Entry;

/// All collectors, in the order in which they hear of targets: the probes of a JVM that has just
/// begun come first, even before its stacks are made ready, which takes longer and is done for the
/// first that needs them.
pub static COLLECTORS: &[Entry] = &[
    crate::jvm_events::ENTRY,
    crate::cpu::ENTRY,
    crate::jfr::ENTRY,
    crate::jvm_counters::ENTRY,
    crate::sched::ENTRY,
    crate::locks::ENTRY,
    crate::syscalls::ENTRY,
    crate::memory::ENTRY,
    crate::disk::ENTRY,
    crate::network::ENTRY,
    crate::requests::ENTRY,
    crate::connections::ENTRY,
    crate::probes::ENTRY,
    crate::host::ENTRY,
];

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{CaptureEngine, Order, Service};

    #[test]
    fn ids_are_unique_and_only_collectors_of_ebpf_need_its_programs() {
        for (i, entry) in COLLECTORS.iter().enumerate() {
            assert!(COLLECTORS.iter().skip(i + 1).all(|other| other.id != entry.id), "{}", entry.id);
            assert!(entry.needs.is_empty() || entry.engine == CaptureEngine::Ebpf, "{}", entry.id);
        }
        let first = |entry: &&Entry| entry.order == Order::StartsFirst;
        assert_eq!(COLLECTORS.iter().filter(first).count(), 1);
        // The probes of a JVM that has just begun are not kept waiting by its stacks.
        let takes_stacks = |entry: &&Entry| entry.needs.contains(&Service::Unwinder);
        let before = COLLECTORS.iter().take_while(|entry| !takes_stacks(entry));
        assert!(before.into_iter().any(|entry| entry.order == Order::StopsLast));
    }
}
