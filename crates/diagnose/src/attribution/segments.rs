//! A thread's life as a row of segments: what it did from when to when, and who ended it where that was a wait for a thread.

use fathom_recording::vocabulary::sample;
use fathom_recording::{Span, ThreadId};

use super::is_followed;
use crate::chain::Chains;
use crate::growth::parts::{Key, named_at};
use crate::growth::places::Places;
use crate::waits::Heading;

/// How far a CPU sample may lie from running time that it tells of, nanoseconds: two periods at the usual 99 Hz.
const NEAR_NS: i64 = 20_000_000;

/// Something that a thread did.
#[derive(Clone, Copy, Debug)]
pub(super) struct Segment<'a> {
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) key: Key<'a>,
    /// The thread that ended it, where it waited for one.
    pub(super) ended_by: Option<ThreadId>,
}

/// The segments of a thread in order of time, without overlap. Time that nobody saw is in none.
pub(super) fn of<'a>(chains: &Chains<'a>, places: &mut Places<'a>, thread: ThreadId) -> Vec<Segment<'a>> {
    let Some(by_heading) = chains.by_heading(thread) else { return Vec::new() };
    let named = chains.naming(thread);
    let mut segments = Vec::new();
    for heading in Heading::ALL {
        let own = &by_heading[heading.index()];
        if heading == Heading::Unknown || own.is_empty() {
            continue;
        }
        if heading.is_running() {
            segments.extend(own.stretches().iter().map(|(from, to)| Segment {
                from: *from,
                to: *to,
                key: Key {
                    heading: Heading::Running,
                    place: ran_in(chains, places, thread, *from, *to),
                    target: "",
                },
                ended_by: None,
            }));
            continue;
        }
        let mut told = Vec::new();
        chains.off_within(thread, own, |_, span, parts| {
            let key =
                Key { heading, place: places.of(span.stack()), target: named_at(&named, span).unwrap_or("") };
            let ended_by = ended_by(chains, thread, &key, span);
            told.extend_from_slice(parts);
            segments.extend(parts.iter().map(|(from, to)| Segment { from: *from, to: *to, key, ended_by }));
        });
        let left = own.without(&crate::intervals::Intervals::of(told));
        let key = Key { heading, place: "", target: "" };
        let rest = left.stretches().iter();
        segments.extend(rest.map(|(from, to)| Segment { from: *from, to: *to, key, ended_by: None }));
    }
    segments.sort_by_key(|segment| (segment.from, segment.to));
    segments
}

/// Who ended a wait for a thread: of the same process, or at the other end of a connection.
pub(super) fn ended_by(
    chains: &Chains<'_>,
    thread: ThreadId,
    key: &Key<'_>,
    span: &Span<'_>,
) -> Option<ThreadId> {
    let waker = match key.heading {
        Heading::Network => chains.answered_by(thread, key.target, span),
        // A thread that has nothing to do waits for whoever brings it something.
        heading if is_followed(heading) || heading == Heading::Idle => chains.woken_by(thread, span),
        _ => None,
    };
    waker.filter(|other| *other != thread)
}

/// The application's method in which a thread ran, by the sample that is nearest.
fn ran_in<'a>(chains: &Chains<'a>, places: &mut Places<'a>, thread: ThreadId, from: i64, to: i64) -> &'a str {
    let samples = chains.samples(thread);
    let kinds = sample::ON_CPU.map(|kind| chains.recording().strings.find(kind));
    let near = samples.partition_point(|sample| sample.t_ns < from.saturating_sub(NEAR_NS));
    let distance = |t_ns: i64| (from.saturating_sub(t_ns)).max(t_ns.saturating_sub(to)).max(0);
    let within = samples[near..].iter().take_while(|sample| sample.t_ns <= to.saturating_add(NEAR_NS));
    let of_cpu = within.filter(|sample| kinds.contains(&Some(sample.kind)));
    of_cpu.min_by_key(|sample| distance(sample.t_ns)).map_or("", |sample| places.of(sample.stack()))
}
