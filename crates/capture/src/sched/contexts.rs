//! In which spans of traces threads waited: their trace contexts, which come with their stacks.

use super::event::Event;
use super::{Sched, Watched};
use crate::collector::Context;
use crate::event_stacks::Events;
use crate::thread_context::{Seen, Whose};

impl Sched {
    /// The context of the thread in the call that it waited in.
    pub(super) fn context(&self, event: &Event) -> Seen {
        let of = |events: &Events<Event>| events.context(event.tid, event.stack_ns);
        self.events.as_ref().map_or(Seen::Unknown, of)
    }
}

impl Watched {
    /// As contexts know it.
    pub(super) fn whose(&self) -> Whose {
        Whose { pid: self.pid, process: self.process, thread: self.thread }
    }

    /// Takes in which span it was in during a wait: read before it left the call, in which it
    /// cannot have changed it.
    pub(super) fn take_in_context(&self, event: &Event, context: Seen, cx: &mut Context<'_>) {
        let from_ns = if event.off_ns > 0 { event.off_ns } else { event.on_ns };
        cx.services.spans_seen.take_in(self.whose(), (from_ns, event.on_ns), context);
    }
}

/// A thread has ended.
pub(super) fn leave_all(whose: Whose, at_ns: u64, cx: &mut Context<'_>) {
    cx.services.spans_seen.take_in(whose, (at_ns, at_ns), Seen::Nothing);
}
