//! The one list of collectors, and what is said of each.

use crate::collector::Collector;
use crate::services::Service;
use crate::settings::Settings;

/// A collector in the list.
pub struct Entry {
    /// Its id, for `--with` and `--without`, and the format of its source.
    pub id: &'static str,
    /// What it sees, one line for the help.
    pub about: &'static str,
    /// Which engine it belongs to.
    pub engine: Engine,
    /// What it needs of the session.
    pub needs: &'static [Service],
    /// Whether a recording is worth having when this is all that works: it shows what the target
    /// itself does.
    pub essential: bool,
    /// Whether it runs without being asked for by `--with`.
    pub default: bool,
    /// When it starts and stops among the others.
    pub order: Order,
    /// Makes one.
    pub make: fn(&Settings) -> Box<dyn Collector>,
}

/// When a collector starts and stops: in the order of the list unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the list.
    Listed,
    /// Starts before all others: what is there already runs on while the rest is made ready.
    StartsFirst,
    /// Stops after all others: the kernel takes up to a second for it.
    StopsLast,
}

/// The way in which a JVM's own doings are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Needs none: reads what the kernel and the JVM publish.
    Any,
    /// eBPF programs: root, or CAP_BPF and CAP_PERFMON.
    Ebpf,
    /// The JVM's flight recorder, switched on through the attach protocol: the same user as the
    /// JVM.
    Jfr,
}

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
    crate::probes::ENTRY,
    crate::host::ENTRY,
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_only_collectors_of_ebpf_need_its_programs() {
        for (i, entry) in COLLECTORS.iter().enumerate() {
            assert!(COLLECTORS.iter().skip(i + 1).all(|other| other.id != entry.id), "{}", entry.id);
            assert!(entry.needs.is_empty() || entry.engine == Engine::Ebpf, "{}", entry.id);
        }
        let first = |entry: &&Entry| entry.order == Order::StartsFirst;
        assert_eq!(COLLECTORS.iter().filter(first).count(), 1);
        // The probes of a JVM that has just begun are not kept waiting by its stacks.
        let takes_stacks = |entry: &&Entry| entry.needs.contains(&Service::Unwinder);
        let before = COLLECTORS.iter().take_while(|entry| !takes_stacks(entry));
        assert!(before.into_iter().any(|entry| entry.order == Order::StopsLast));
    }
}
