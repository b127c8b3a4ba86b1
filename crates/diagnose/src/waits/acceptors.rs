//! Threads that take new connections. What such a thread waits for on one connection keeps all
//! others from being taken, where a thread of a connection's own would merely have no work.

use fathom_recording::vocabulary::count;
use fathom_recording::{Recording, ThreadId};
use rustc_hash::FxHashMap;

/// Connections that a thread must take to be one of these: a thread may take one and serve it.
const FEW: u64 = 5;

/// The threads, in order.
pub(super) fn of(recording: &Recording) -> Vec<ThreadId> {
    let mut taken: FxHashMap<ThreadId, u64> = FxHashMap::default();
    let accepts = |name: &str| name == "accept" || name == "accept4";
    for made in recording.counts_of(count::SYSCALL_TOTALS).filter(|made| accepts(made.name())) {
        if let Some(thread) = made.thread() {
            *taken.entry(thread).or_default() += made.count();
        }
    }
    let mut acceptors: Vec<ThreadId> =
        taken.into_iter().filter(|(_, taken)| *taken >= FEW).map(|(id, _)| id).collect();
    acceptors.sort_unstable();
    acceptors
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::{kind, label};

    use super::super::Category;
    use super::super::record::category;
    use super::super::stack::ByStack;
    use crate::built::Built;

    #[test]
    fn who_takes_connections_and_reads_on_one_keeps_the_others_waiting() {
        let of = |accepts: u64| {
            let mut built = Built::jvm("25", "G1", 10.0);
            let accepted = [(label::ACCEPTED, "yes"), (label::PEER, "10.0.0.1:40000")];
            built.call_with("main", "read", (1.0, 500.0), &[], &accepted);
            built.counted_calls("main", "accept", 0.0, 10_000.0, accepts);
            let recording = built.sealed();
            let span = recording.spans_of(kind::SYSCALL).next().expect("the read");
            category(&span, &ByStack::by_frames(&recording))
        };
        assert_eq!(of(1), Category::Idle);
        assert_eq!(of(100), Category::Network);
    }
}
