//! Waits that last as long as a time limit, and that a timer ends: what they waited for did not
//! come. An answer that is lost, a future that nobody completes, a peer that waits for this side.

use fathom_recording::vocabulary::{interrupt, label};

use super::parts::Part;
use crate::facts::{Value, growth as facts, remedies};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Case, Evidence, Fact, Remedy};

/// What of the waiting time must be in waits of one length that a timer ended, and how many those
/// must be.
const MOSTLY: f64 = 0.6;
const FEW: usize = 5;
/// The shortest limit, milliseconds: shorter ones are pauses of a loop.
const LEAST_MS: f64 = 20.0;
/// How far lengths of one limit may be apart: relatively, and what a timer is late, milliseconds.
const ALIKE: (f64, f64) = (0.02, 3.0);
/// Threads that are looked at.
const MOST_THREADS: usize = 256;

/// A time limit that ends most of a part's waits.
pub(super) struct TimeLimit {
    fact: Fact,
    of_peer: bool,
}

impl TimeLimit {
    /// That of the waits of a part.
    pub(super) fn of(case: &Case<'_>, part: &Part<'_>, category: Category) -> Option<Self> {
        let of_peer = category == Category::Network;
        if !of_peer && category != Category::TimedWait {
            return None;
        }
        let own = Intervals::of(part.intervals.iter().copied());
        let (mut all_ms, mut limited): (f64, Vec<f64>) = (0.0, Vec::new());
        for thread in part.threads.iter().take(MOST_THREADS) {
            for window in &case.slow {
                for span in case.chains().off_between(*thread, window.from_ns, window.to_ns) {
                    if !own.touches(span.t0_ns(), span.t1_ns()) {
                        continue;
                    }
                    let ms = span.duration_ns() as f64 / 1e6;
                    all_ms += ms;
                    if span.label(label::INTERRUPT) == Some(interrupt::TIMER) && ms >= LEAST_MS {
                        limited.push(ms);
                    }
                }
            }
        }
        let (count, sum_ms, length_ms) = alike(limited)?;
        let share = sum_ms / all_ms.max(f64::MIN_POSITIVE);
        (count >= FEW && share >= MOSTLY).then(|| {
            let fact = facts::TIME_LIMIT.is(Value::share(share.min(1.0))).with("limit", Value::ms(length_ms));
            Self { fact: fact.with("waits", Value::count(count)), of_peer }
        })
    }

    pub(super) fn in_title(&self) -> Fact {
        self.fact.clone()
    }

    pub(super) fn evidence(&self) -> Evidence {
        Evidence::summed("sched", self.fact.clone())
    }

    pub(super) fn remedy(&self) -> Option<Remedy> {
        self.of_peer.then(|| remedies::WHY_NO_ANSWER.remedy())
    }
}

/// Of lengths, those of one limit that make up most: how many, their sum, and their median.
fn alike(mut lengths: Vec<f64>) -> Option<(usize, f64, f64)> {
    lengths.sort_by(f64::total_cmp);
    let (mut from, mut sum, mut best): (usize, f64, Option<(usize, usize, f64)>) = (0, 0.0, None);
    for to in 0..lengths.len() {
        sum += lengths[to];
        while lengths[to] - lengths[from] > ALIKE.0 * lengths[from] + ALIKE.1 {
            sum -= lengths[from];
            from += 1;
        }
        if best.is_none_or(|(.., most)| sum > most) {
            best = Some((from, to, sum));
        }
    }
    best.map(|(from, to, sum)| (to + 1 - from, sum, lengths[from + (to - from) / 2]))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::C2;
    use fathom_recording::vocabulary::{interrupt, kind, label};

    use super::alike;
    use crate::facts::growth as facts;
    use crate::growth::tests::{READ, Service, found, is_slow};

    #[test]
    fn of_lengths_those_of_one_limit_are_found() {
        assert_eq!(alike(vec![150.25, 7.0, 151.0, 150.0, 30.0]), Some((3, 451.25, 150.25)));
        assert_eq!(alike(Vec::new()), None);
    }

    /// Whether the finding of a worker that waits for a peer says that a limit of 250 ms ended its
    /// waits; `by`: what did.
    fn says(by: &str) -> bool {
        let mut service = Service::of((300.0, 60.0));
        let worker = service.thread("worker-0");
        let read = service.stack(&READ);
        for quarter in 0..240_i64 {
            let from = quarter * 250;
            if is_slow(quarter / 4) {
                service.row(
                    kind::SCHED_OFF,
                    worker,
                    (from, from + 249),
                    Some(read),
                    &[(label::INTERRUPT, by), (label::PEER, "10.0.0.7:5432")],
                );
            } else {
                service.built.on_cpu("worker-0", &[("shop.Cart.add", C2)], from as f64 / 1e3, 250.0);
            }
        }
        let diagnosis = service.diagnosis();
        found(&diagnosis).title.fact().find(&facts::TIME_LIMIT).is_some()
    }

    #[test]
    fn waits_that_a_timer_ends_after_the_same_time_had_no_answer() {
        assert!(says(interrupt::TIMER));
        assert!(!says(interrupt::NETWORK), "the peer answers after as long");
    }
}
