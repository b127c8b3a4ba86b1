//! A part of a thread's start, as the program in the kernel sends it: `bpf/starts.h`.

use super::skeleton::types::{start_event, start_event_kind};
use crate::starts::Child;

/// Which part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// The parent was in `clone`; the timestamp of its stack, 0: none, and whether a wait has the
    /// same one.
    Cloned { stack_ns: u64, is_shared: bool },
    /// The child ran for the first time.
    Ran,
    /// The parent was off the CPU until the child woke it.
    Waited,
}

/// A part of a start.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct StartEvent {
    pub(super) part: Part,
    /// From when to when it lasted, monotonic nanoseconds.
    pub(super) ends_ns: (u64, u64),
    /// Process, threads and birth.
    pub(super) of: Child,
}

impl StartEvent {
    /// As the program sends it; `None` where its kind is not known.
    pub(super) fn of(event: &start_event) -> Option<Self> {
        let part = match start_event_kind(event.kind) {
            start_event_kind::START_CLONED => {
                Part::Cloned { stack_ns: event.stack_ns, is_shared: event.is_shared != 0 }
            }
            start_event_kind::START_RAN => Part::Ran,
            start_event_kind::START_WAITED => Part::Waited,
            _ => return None,
        };
        let of = Child { born_ns: event.born_ns, pid: event.pid, tid: event.tid, parent: event.parent };
        Some(Self { part, ends_ns: (event.from_ns, event.to_ns), of })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_is_told_by_its_kind_and_others_are_refused() {
        let sent = start_event { kind: 1, stack_ns: 99, is_shared: 1, tid: 7, ..start_event::default() };
        let part = |kind| StartEvent::of(&start_event { kind, ..sent }).map(|event| event.part);
        assert_eq!(part(1), Some(Part::Cloned { stack_ns: 99, is_shared: true }));
        assert_eq!([part(2), part(3), part(4)], [Some(Part::Ran), Some(Part::Waited), None]);
    }
}
