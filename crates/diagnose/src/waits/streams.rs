//! Connections over which a peer sends of its own accord: messages of a broker, events, a feed.
//! Who reads there waits for the next input, and has no work meanwhile.
//!
//! ```text
//! asks and waits     write ─▶ read … answer     write ─▶ read … answer      an answer for each request
//! takes what comes   write ─▶ read … read … read … read … read … read       one for the subscription, or none
//! ```
//!
//! A large answer is read in pieces as well; it does not take a good part of the recording.

use fathom_recording::vocabulary::call::READS;
use fathom_recording::vocabulary::{figure, kind, label, live};
use fathom_recording::{ProcessId, Recording, StrId};
use rustc_hash::{FxHashMap, FxHashSet};

/// Waits for input from a peer that show its way.
const FEW: u64 = 50;
/// Answers of a connection that are no more than those to its beginning, and how many times as
/// often more must have come.
const ANSWERS: f64 = 2.0;
const UNASKED: f64 = 10.0;
/// Part of the recording that they must be spread over.
const MOST: f64 = 0.25;

/// What was read of a peer.
#[derive(Default)]
struct Read {
    waits: u64,
    connections: FxHashSet<Option<StrId>>,
    from_ns: i64,
    to_ns: i64,
}

/// The peers of processes that send of their own accord.
pub(super) fn of(recording: &Recording) -> FxHashSet<(ProcessId, StrId)> {
    let answers = answers(recording);
    if answers.is_empty() {
        return FxHashSet::default();
    }
    let (mut from_ns, mut to_ns) = (i64::MAX, i64::MIN);
    let mut read: FxHashMap<(ProcessId, StrId), Read> = FxHashMap::default();
    for span in recording.spans_of(kind::SYSCALL) {
        (from_ns, to_ns) = (from_ns.min(span.t0_ns()), to_ns.max(span.t1_ns()));
        let Some(peer) = span.label_id(label::PEER).filter(|_| span.label(label::ACCEPTED).is_none()) else {
            continue;
        };
        let came = span.figure(figure::BYTES).is_some_and(|bytes| bytes > 0.0);
        if came && READS.contains(&span.name()) {
            let of = read.entry((span.process(), peer)).or_default();
            of.from_ns = if of.waits == 0 { span.t0_ns() } else { of.from_ns.min(span.t0_ns()) };
            of.to_ns = of.to_ns.max(span.t1_ns());
            of.waits += 1;
            of.connections.insert(span.label_id(label::OWN));
        }
    }
    let least_ns = MOST * to_ns.saturating_sub(from_ns) as f64;
    read.retain(|key, of| {
        let answered = answers.get(&(key.0, recording.strings.get(key.1)));
        let sends = answered.is_some_and(|answered| {
            let few = *answered <= ANSWERS * of.connections.len() as f64;
            few && of.waits as f64 >= UNASKED * answered
        });
        sends && of.waits >= FEW && of.to_ns.saturating_sub(of.from_ns) as f64 >= least_ns
    });
    read.into_keys().collect()
}

/// How many answers came of each peer whose answers were counted.
fn answers(recording: &Recording) -> FxHashMap<(ProcessId, &str), f64> {
    let mut answers = FxHashMap::default();
    let counted = recording.series.iter().filter(|s| s.info.name == live::PROCESS_PEER_ANSWERS.name);
    for series in counted {
        let Some(process) = series.info.process else { continue };
        let came = series.value.iter().zip(&series.dt_ns).filter(|(rate, _)| rate.is_finite());
        let sum: f64 = came.map(|(rate, dt)| rate.max(0.0) * (*dt).max(0) as f64 / 1e9).sum();
        *answers.entry((process, series.info.instance.as_str())).or_default() += sum;
    }
    answers
}

#[cfg(test)]
mod tests {
    use super::super::Category;
    use super::super::record::category;
    use super::super::stack::ByStack;
    use super::*;
    use crate::built::Built;

    /// Ten seconds in which a thread reads so often from a peer, which answered so many times a
    /// second, on one connection or on one for each; the category of the first wait.
    fn waits_for(answers: f64, reads: u32, connects: bool) -> Category {
        let mut built = Built::jvm("25", "G1", 10.0);
        let jvm = built.jvm;
        built.gauge(live::PROCESS_PEER_ANSWERS, "10.0.0.7:9092", Some(jvm), &[(0.0, 10.0, answers)]);
        for i in 0..reads {
            let own = format!("10.0.0.1:{}", if connects { 40_000 + i } else { 40_000 });
            let labels = [(label::PEER, "10.0.0.7:9092"), (label::OWN, own.as_str())];
            let at_s = f64::from(i) * 10.0 / f64::from(reads);
            built.call_with("consumer", "read", (at_s, 50.0), &[(figure::BYTES, 700.0)], &labels);
        }
        let recording = built.sealed();
        let span = recording.spans_of(kind::SYSCALL).next().expect("a wait");
        category(&span, &ByStack::by_frames(&recording))
    }

    #[test]
    fn who_reads_what_a_broker_sends_of_its_own_accord_waits_for_input() {
        assert_eq!(waits_for(0.1, 100, false), Category::Idle);
        assert_eq!(waits_for(5.0, 100, false), Category::Network, "it asks");
        assert_eq!(waits_for(0.1, 20, false), Category::Network, "too few to tell");
        assert_eq!(waits_for(10.0, 100, true), Category::Network, "it asks on a new connection each time");
    }
}
