//! Look-ups of names and the questions that they are made of, as the rules on them see both.

use fathom_recording::vocabulary::call::{EPOLLS, POLLS, SELECTS};
use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Span, ThreadId};
use rustc_hash::FxHashMap;

use super::wait_case::Waits;
use crate::facts::{Value, culprits, waits as facts};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Fact};

/// How a thread waits for the look-up of another one.
const LOCKS: [&str; 3] = [kind::LOCK_MONITOR, kind::LOCK_PARK, kind::LOCK_WAIT];
/// Where a resolver listens (RFC 1035).
const RESOLVER: &str = ":53";

/// Whether it is a call in which a resolver's client waits for an answer until a time-out; these
/// return 0 when it has passed (poll(2), select(2)).
fn awaits(call: &str) -> bool {
    POLLS.contains(&call) || SELECTS.contains(&call) || EPOLLS.contains(&call)
}

/// Whether a server left a question of this look-up unanswered until it timed out.
pub(super) fn timed_out(span: &Span<'_>) -> bool {
    span.figure(figure::TIMEOUTS).is_some_and(|n| n > 0.0)
}

/// Whether a look-up was not over when the recording was.
pub(super) fn is_unanswered(span: &Span<'_>) -> bool {
    span.kind() == kind::NET_DNS && span.label(label::CUT).is_some()
}

/// Who was asked for most of the time, where a record names it.
pub(super) fn resolver(waits: &Waits<'_, '_>) -> Fact {
    let peers = waits.by(|span| span.label(label::PEER).unwrap_or_default().to_owned());
    let named = peers.into_iter().map(|(peer, _)| peer).find(|peer| !peer.is_empty());
    Fact { value: named.map(Value::Name), ..culprits::RESOLVER.fact() }
}

/// What a thread waits for.
pub(super) fn asked(span: &Span<'_>) -> Fact {
    let peer = span.label(label::PEER).map(Value::name);
    match span.kind() {
        _ if is_lock(span) => facts::BEHIND_LOOKUP.fact(),
        // A question of a look-up that was not recorded.
        kind::SYSCALL => facts::QUERY.fact().with("peer", peer),
        _ => {
            let name = Some(span.name()).filter(|name| !name.is_empty());
            facts::LOOKUP.fact().with("name", name.map(Value::name)).with("peer", peer)
        }
    }
}

/// Whether a wait is one for a lock.
pub(super) fn is_lock(span: &Span<'_>) -> bool {
    LOCKS.contains(&span.kind())
}

/// Look-ups with the waits of threads that want a name for which another thread already asks: those
/// wait at a lock of the JDK.
pub(super) fn with_those_behind<'c, 'a>(lookups: Waits<'c, 'a>) -> Waits<'c, 'a> {
    let chains = lookups.case.chains();
    let is_behind = |span: &Span<'a>| chains.stacks().category(span.stack()) == Category::Dns;
    LOCKS.into_iter().fold(lookups, |waits, kind| waits.and_of(kind, is_behind))
}

/// Questions to resolvers outside of any recorded look-up: those of look-ups that began before the
/// recording, or while they were not watched.
pub(super) struct Questions {
    lookups: FxHashMap<Option<ThreadId>, Intervals>,
    any_lost: bool,
}

impl Questions {
    pub(super) fn of(case: &Case<'_>, jvm: ProcessId) -> Self {
        let own = |kind| case.recording.spans_of(kind).filter(move |span| span.process() == jvm);
        let mut lookups: FxHashMap<Option<ThreadId>, Vec<(i64, i64)>> = FxHashMap::default();
        for span in own(kind::NET_DNS) {
            lookups.entry(span.thread()).or_default().push((span.t0_ns(), span.t1_ns()));
        }
        let lookups = lookups.into_iter().map(|(thread, list)| (thread, Intervals::of(list))).collect();
        let mut questions = Self { lookups, any_lost: false };
        let any_lost = own(kind::SYSCALL).any(|span| questions.is_lost(&span))
            || own(kind::NET_DNS).any(|span| timed_out(&span));
        questions.any_lost = any_lost;
        questions
    }

    /// Whether any question of the process timed out, in a recorded look-up or outside of all.
    pub(super) fn any_lost(&self) -> bool {
        self.any_lost
    }

    /// Whether a system call is such a question.
    pub(super) fn is_lost(&self, span: &Span<'_>) -> bool {
        span.figure(figure::RESULT) == Some(0.0) && self.is_outside(span)
    }

    /// Whether a system call waits for an answer that came, outside of any recorded look-up.
    pub(super) fn is_answered(&self, span: &Span<'_>) -> bool {
        span.figure(figure::RESULT).is_some_and(|sockets| sockets > 0.0) && self.is_outside(span)
    }

    /// Whether a system call waits for a resolver outside of any recorded look-up.
    fn is_outside(&self, span: &Span<'_>) -> bool {
        let asks = span.kind() == kind::SYSCALL
            && awaits(span.name())
            && span.label(label::PEER).is_some_and(|peer| peer.ends_with(RESOLVER));
        let known = || self.lookups.get(&span.thread());
        asks && !known().is_some_and(|intervals| intervals.touches(span.t0_ns(), span.t1_ns()))
    }
}
