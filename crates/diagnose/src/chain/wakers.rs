//! Who ended a wait.

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{Span, ThreadId};

use super::Chains;

/// How long a wait for a lock goes on at least after its thread was woken in vain,
/// nanoseconds: shorter is what the thread needs to get out of it.
const IN_VAIN_NS: i64 = 500_000;

impl<'a> Chains<'a> {
    /// The thread of the same process that ended the wait, as the switch at the end of a span names
    /// it.
    pub(crate) fn woken_by(&self, thread: ThreadId, span: &Span<'_>) -> Option<ThreadId> {
        let waker = self.waker(thread, span)?;
        let process = |id: ThreadId| self.recording.threads[id.index()].process;
        (process(waker) == process(thread)).then_some(waker)
    }

    /// The thread that answered over a connection of this host, where it was recorded.
    pub(crate) fn answered_by(&self, thread: ThreadId, peer: &str, span: &Span<'_>) -> Option<ThreadId> {
        self.ends.is_here(peer).then(|| self.waker(thread, span)).flatten().filter(|other| *other != thread)
    }

    /// The recorded thread of any process that ended the wait.
    pub(crate) fn waker(&self, thread: ThreadId, span: &Span<'_>) -> Option<ThreadId> {
        let in_vain = || self.woken_in_vain(thread, span)?.label(label::WAKER);
        let at_last = in_vain().and_then(|name| self.by_name(span.process(), name));
        at_last.or_else(|| self.thread_named(self.last_switch(thread, span)?.label(label::WAKER)?))
    }

    /// The thread of the same process that a time off the CPU was ended by.
    pub(crate) fn woke(&self, off: &Span<'_>) -> Option<ThreadId> {
        let waker = self.thread_named(off.label(label::WAKER)?)?;
        (self.recording.threads[waker.index()].process == off.process()).then_some(waker)
    }

    /// The wait for a lock that went on after the switch at the end of a span: whoever was woken
    /// did not get it, and waited again.
    fn woken_in_vain(&self, thread: ThreadId, span: &Span<'_>) -> Option<Span<'a>> {
        let woken_ns = self.last_switch(thread, span)?.t1_ns();
        let of_locks = [kind::LOCK_PARK, kind::LOCK_MONITOR];
        let rows = self.intervals.waits_by_kind(thread).filter(|(kind, ..)| of_locks.contains(kind));
        let mut around = rows.filter_map(|(_, row, _)| {
            let last = row.partition_point(|wait| wait.t0_ns() < woken_ns).checked_sub(1)?;
            Some(row[last])
        });
        around.find(|wait| wait.t1_ns() > woken_ns.saturating_add(IN_VAIN_NS))
    }

    /// The switch at the end of a span.
    pub(super) fn last_switch(&self, thread: ThreadId, span: &Span<'_>) -> Option<Span<'a>> {
        let off = self.intervals.off(thread);
        let last = off.partition_point(|off| off.t0_ns() < span.t1_ns()).checked_sub(1)?;
        Some(off[last])
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Role, Sink, SourceId, SpanRow};

    use super::*;
    use crate::built::Built;

    #[test]
    fn who_ends_a_wait_for_a_lock_is_not_who_woke_its_thread_in_vain() {
        const MS: i64 = 1_000_000;
        let mut built = Built::jvm("25", "G1", 1.0);
        let [thread, _, releases] = [(7, "waits"), (8, "colleague"), (9, "releases")]
            .map(|(tid, name)| built.recording.thread(built.jvm, Some(tid), name, Role::App));
        let span = |kind, ends: (i64, i64)| SpanRow {
            thread: Some(thread),
            ..SpanRow::new(kind, "", (ends.0 * MS, ends.1 * MS), built.jvm, SourceId(0))
        };
        let switch = SpanRow { labels: &[(label::WAKER, "colleague (8)")], ..span(kind::SCHED_OFF, (0, 60)) };
        built.recording.span(&switch);
        let park = SpanRow { labels: &[(label::WAKER, "releases")], ..span(kind::LOCK_PARK, (0, 80)) };
        built.recording.span(&park);
        let recording = built.sealed();
        let chains = Chains::of(&recording);
        let of = |kind| recording.spans_of(kind).next().and_then(|span| chains.woken_by(thread, &span));
        assert_eq!([of(kind::SCHED_OFF), of(kind::LOCK_PARK)], [Some(releases); 2]);
    }
}
