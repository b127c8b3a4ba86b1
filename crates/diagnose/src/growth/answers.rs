//! What the lengths of waits for answers show: an acknowledgement that is held back, an answer
//! that does not come, or segments that were lost and sent again.
//!
//! Sources: Linux holds an acknowledgement back for 40 ms (TCP_DELACK_MIN, include/net/tcp.h), and
//! Nagle's algorithm (RFC 896) keeps the next small segment until it has come. A segment that got
//! lost is sent again after 200 ms at least (TCP_RTO_MIN, the same file), or sooner by a probe
//! (RFC 8985).

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::{figure, kind, label};

use super::parts::Part;
use crate::facts::{Value, growth as facts, remedies};
use crate::intervals::Intervals;
use crate::{Case, Evidence, Fact, Remedy, Window};

/// How long such a wait takes, milliseconds: the delay, up to a tick of the kernel's timers, the
/// way of what was kept back, and a CPU.
const DELAYED_MS: std::ops::Range<f64> = 39.0..52.0;
/// What of the waits must be so long, and how many.
const MOSTLY: f64 = 0.7;
const FEW: usize = 20;
/// How many times shorter the waits of the baseline must be, in the mean.
const SHORTER: f64 = 3.0;
/// What of the longest slow window one wait must take for its answer not to have come.
const ALL: f64 = 0.8;
/// The shortest such wait, nanoseconds.
const LEAST_NS: i64 = 2_000_000_000;

/// How many segments must have been sent again, to how many times as many a second as in the
/// baseline, and for what part of the waits.
const LOST: (f64, f64, f64) = (10.0, 3.0, 0.01);
/// Waits that are so many times longer than those of the baseline are for one that was lost, and
/// make up this part of the time.
const LONG_FOR_LOST: (f64, f64) = (5.0, 0.5);

/// What the waits for a peer show by their lengths.
pub(super) struct Answers {
    also: Fact,
    remedy: Remedy,
}

impl Answers {
    /// Of waits for `peer` of threads of a JVM.
    pub(super) fn of(case: &Case<'_>, part: &Part<'_>, (jvm, peer): (ProcessId, &str)) -> Option<Self> {
        unanswered(case, part).or_else(|| lost(case, part, (jvm, peer))).or_else(|| delayed(part))
    }

    pub(super) fn in_title(&self) -> Fact {
        self.also.clone()
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed("ledger of threads", self.also.clone())
    }

    pub(super) fn remedy(self) -> Remedy {
        self.remedy
    }
}

/// Waits of which most last as long as an acknowledgement is held back.
fn delayed(part: &Part<'_>) -> Option<Answers> {
    let ms = |(from, to): &(i64, i64)| to.saturating_sub(*from) as f64 / 1e6;
    let long = part.intervals.iter().filter(|range| DELAYED_MS.contains(&ms(range))).count();
    let base = part.ended_ms[super::parts::BASE] / part.ended[super::parts::BASE].max(1) as f64;
    let is_so = long >= FEW
        && long as f64 >= MOSTLY * part.intervals.len() as f64
        && SHORTER * base <= DELAYED_MS.start;
    is_so.then(|| Answers {
        also: facts::DELAYED_ACKS.is(Value::share(long as f64 / part.intervals.len() as f64)),
        remedy: remedies::ASK_AT_ONCE.remedy(),
    })
}

/// Segments to a peer that were sent again, where waits that are far longer than usual are most of
/// the time.
fn lost(case: &Case<'_>, part: &Part<'_>, (jvm, peer): (ProcessId, &str)) -> Option<Answers> {
    let sent_again = |windows: &[Window]| -> f64 {
        let again = case.spans_in(kind::NET_RETRANSMIT, jvm, windows);
        let again = again.filter(|span| span.label(label::PEER) == Some(peer));
        again.map(|span| span.figure(figure::SEGMENTS).unwrap_or(1.0)).sum()
    };
    let [slow, base] = [&case.slow, &case.base].map(|windows| sent_again(windows));
    let per_s = |segments: f64, windows: &[Window]| segments * 1e3 / Case::length_ms(windows).max(1.0);
    let more = per_s(slow, &case.slow) >= LOST.1 * per_s(base, &case.base);
    if peer.is_empty() || slow < LOST.0.max(LOST.2 * part.intervals.len() as f64) || !more {
        return None;
    }
    let usual_ms = part.ended_ms[super::parts::BASE] / part.ended[super::parts::BASE].max(1) as f64;
    let ms = part.intervals.iter().map(|(from, to)| to.saturating_sub(*from) as f64 / 1e6);
    let (mut all, mut long) = (0.0, 0.0);
    for ms in ms {
        all += ms;
        long += if ms >= LONG_FOR_LOST.0 * usual_ms { ms } else { 0.0 };
    }
    let share = long / all.max(f64::MIN_POSITIVE);
    (share >= LONG_FOR_LOST.1).then(|| Answers {
        also: facts::SENT_AGAIN
            .is(Value::count(slow as usize))
            .over((base > 0.0).then(|| Value::count(base as usize)))
            .with("long", Value::share(share)),
        remedy: remedies::FIND_LOST_SEGMENTS.remedy(),
    })
}

/// Threads that wait for one answer for nearly all of the longest slow window.
fn unanswered(case: &Case<'_>, part: &Part<'_>) -> Option<Answers> {
    let slow = case.slow.iter().max_by_key(|window| window.length_ns())?;
    let least_ns = ((slow.length_ns() as f64 * ALL) as i64).max(LEAST_NS);
    let own = Intervals::of(part.intervals.iter().copied());
    let mut longest_ns = 0;
    let waiting = part.threads.iter().filter(|thread| {
        let mut off = case.chains().off_between(**thread, slow.from_ns, slow.to_ns);
        let long = off.find(|span| {
            let ns = span.overlap_ns(slow.from_ns, slow.to_ns);
            ns >= least_ns && own.length_within_ns(span.t0_ns(), span.t1_ns()) >= least_ns
        });
        longest_ns = longest_ns.max(long.map_or(0, |span| span.duration_ns()));
        long.is_some()
    });
    let waiting = waiting.count();
    (waiting > 0).then(|| Answers {
        also: facts::UNANSWERED.is(Value::count(waiting)).with("longest", Value::ms(longest_ns as f64 / 1e6)),
        remedy: remedies::TIME_OUT_FOR_ANSWERS.remedy(),
    })
}

#[cfg(test)]
mod tests {
    use crate::facts::{growth as facts, remedies};
    use crate::growth::tests::{READ, Service, is_slow};
    use fathom_recording::vocabulary::{kind, label};

    const PEER: (&str, &str) = (label::PEER, "10.0.0.7:5432");

    /// Four workers that ask a peer, usually for 5 ms, and `slow_ms` while it is slow; `hang`: two
    /// of them get no answer all that time.
    fn asked(slow_ms: i64, hang: bool) -> crate::Finding {
        let mut service = Service::of((300.0, 60.0));
        let read = service.stack(&READ);
        for i in 0..4 {
            let worker = service.thread(&format!("worker-{i}"));
            let hangs = hang && i < 2;
            if hangs {
                service.row(kind::SCHED_OFF, worker, (20_000, 40_000), Some(read), &[PEER]);
            }
            for tenth in 0..600 {
                let slow = is_slow(tenth / 10);
                if slow && hangs {
                    continue;
                }
                let ms = if slow { slow_ms } else { 5 };
                for turn in 0..(90 / ms).min(2) {
                    let from = tenth * 100 + turn * ms;
                    service.row(kind::SCHED_OFF, worker, (from, from + ms), Some(read), &[PEER]);
                }
            }
        }
        service.diagnosis().findings.remove(0)
    }

    #[test]
    fn waits_of_40_ms_each_are_for_an_acknowledgement_that_is_held_back() {
        let delayed = asked(41, false);
        assert!(delayed.title.fact().find(&facts::DELAYED_ACKS).is_some(), "{delayed:#?}");
        assert!(delayed.advises(&remedies::ASK_AT_ONCE), "{delayed:#?}");
        let slow = asked(80, false);
        assert!(slow.title.fact().find(&facts::DELAYED_ACKS).is_none(), "{slow:#?}");
    }

    #[test]
    fn threads_whose_answer_does_not_come_are_counted() {
        let hangs = asked(5, true);
        let unanswered = hangs.title.fact().find(&facts::UNANSWERED);
        assert_eq!(unanswered.and_then(|fact| fact.number("value")), Some(2.0), "{hangs:#?}");
        assert!(hangs.advises(&remedies::TIME_OUT_FOR_ANSWERS), "{hangs:#?}");
    }

    #[test]
    fn waits_for_segments_that_were_lost_say_so() {
        let asked = |lost: bool| {
            let mut service = Service::of((300.0, 60.0));
            let read = service.stack(&READ);
            let worker = service.thread("worker-0");
            for tenth in 0..600 {
                let slow = is_slow(tenth / 10);
                let from = tenth * 100;
                let ms = if slow { 90 } else { 3 };
                service.row(kind::SCHED_OFF, worker, (from, from + ms), Some(read), &[PEER]);
                if lost && slow {
                    service.row(kind::NET_RETRANSMIT, worker, (from + 50, from + 50), None, &[PEER]);
                }
            }
            service.diagnosis().findings.remove(0)
        };
        let lost = asked(true);
        assert!(lost.title.fact().find(&facts::SENT_AGAIN).is_some(), "{lost:#?}");
        assert!(lost.advises(&remedies::FIND_LOST_SEGMENTS), "{lost:#?}");
        assert!(asked(false).title.fact().find(&facts::SENT_AGAIN).is_none());
    }
}
