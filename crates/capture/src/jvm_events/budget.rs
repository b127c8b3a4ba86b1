//! How often probes may be hit before they are taken off.
//!
//! A hit costs the target some microseconds (a trap, ten on a nested virtual machine). At the limit
//! it loses one percent of one CPU there. Bursts are what is interesting (a JVM that starts
//! loads thousands of classes), hence an average over some seconds; what keeps on is taken off for
//! a while that doubles each time, and is as long as it takes until there was no more than the
//! limit on average.

use std::time::{Duration, Instant};

use crate::Unavailable;
use crate::bpf::remedy_of_uprobe;
use crate::procfs;

/// Hits a second, averaged over [`OVER`], above which a group is taken off.
const MAX_PER_S: f64 = 1000.0;
/// Over what hits are averaged.
const OVER: Duration = Duration::from_secs(2);
/// So many are not waited out: what [`OVER`] would make of five times [`MAX_PER_S`].
const FLOOD: u32 = 10_000;
/// The first pause, and the longest.
const FIRST_PAUSE: Duration = Duration::from_secs(5);
const LONGEST_PAUSE: Duration = Duration::from_secs(80);

/// What is to be done with a group of probes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Verdict {
    /// Nothing.
    Stay,
    /// Take it off for so long.
    TakeOff {
        /// Hits a second.
        per_s: f64,
        /// How long it is off.
        pause: Duration,
    },
    /// Its pause is over.
    PutBack,
}

/// The hits of one group on one JVM.
#[derive(Debug)]
pub struct Budget {
    since: Instant,
    hits: u32,
    pause: Duration,
    back_at: Option<Instant>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { since: Instant::now(), hits: 0, pause: FIRST_PAUSE, back_at: None }
    }
}

/// What is on again after a pause; where that failed, nothing, and that `what` is not seen any
/// more, unless the process has ended meanwhile.
pub fn put_back<T: Default>(
    attached: Result<T, String>,
    pid: i32,
    what: impl FnOnce() -> String,
) -> (T, Option<Unavailable>) {
    let why = match attached {
        Ok(links) => return (links, None),
        Err(why) => why,
    };
    let lives = std::fs::read_link(procfs::path(pid, "exe")).is_ok();
    let unseen = || Unavailable {
        scope: None,
        what: format!("{}, since a pause of its probes", what()),
        remedy: remedy_of_uprobe().unwrap_or("a new recording tries to attach them anew").to_owned(),
        why: format!("they could not be put back: {why}"),
    };
    (T::default(), lives.then(unseen))
}

impl Budget {
    /// Counts hits.
    pub fn hit(&mut self, times: u32) {
        self.hits = self.hits.saturating_add(times);
    }

    /// What to do now. `attached`: whether the group is on.
    pub fn judge(&mut self, attached: bool) -> Verdict {
        self.judge_at(Instant::now(), attached)
    }

    fn judge_at(&mut self, now: Instant, attached: bool) -> Verdict {
        if let Some(back_at) = self.back_at {
            if now < back_at {
                return Verdict::Stay;
            }
            (self.back_at, self.since, self.hits) = (None, now, 0);
            return Verdict::PutBack;
        }
        let over = now.duration_since(self.since);
        if (over < OVER && self.hits < FLOOD) || !attached {
            return Verdict::Stay;
        }
        let per_s = f64::from(self.hits) / over.as_secs_f64();
        (self.since, self.hits) = (now, 0);
        if per_s <= MAX_PER_S {
            return Verdict::Stay;
        }
        let made_good = Duration::from_secs_f64(per_s * over.as_secs_f64() / MAX_PER_S);
        let pause = self.pause.max(made_good);
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        self.back_at = Some(now + pause);
        Verdict::TakeOff { per_s, pause }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_that_is_hit_too_often_is_off_for_pauses_that_double() {
        let mut budget = Budget::default();
        let mut now = budget.since;
        let mut pauses = Vec::new();
        for _ in 0..3 {
            budget.hits = 5000;
            now += OVER;
            let Verdict::TakeOff { per_s, pause } = budget.judge_at(now, true) else {
                panic!("it stayed on")
            };
            assert!((per_s - 2500.0).abs() < 1.0);
            assert_eq!(budget.judge_at(now + pause / 2, false), Verdict::Stay);
            now += pause;
            assert_eq!(budget.judge_at(now, false), Verdict::PutBack);
            pauses.push(pause.as_secs());
        }
        assert_eq!(pauses, [5, 10, 20]);
    }

    #[test]
    fn what_cannot_be_put_back_is_said_unless_its_process_is_gone() {
        let failed = |pid| put_back::<Vec<u8>>(Err("no room".into()), pid, || "names".into());
        let (links, unseen) = failed(std::process::id().cast_signed());
        assert!(links.is_empty());
        let unseen = unseen.unwrap();
        assert_eq!(unseen.what, "names, since a pause of its probes");
        assert_eq!(unseen.why, "they could not be put back: no room");
        assert_eq!(failed(i32::MAX), (vec![], None));
        assert_eq!(put_back(Ok(vec![1]), i32::MAX, String::new), (vec![1], None));
    }

    #[test]
    fn a_flood_is_not_waited_out() {
        let mut budget = Budget { hits: FLOOD, ..Budget::default() };
        let early = budget.since + OVER / 20;
        let Verdict::TakeOff { per_s, pause } = budget.judge_at(early, true) else { panic!("it stayed on") };
        assert!(per_s > 99_000.0);
        assert_eq!(pause, Duration::from_secs(10), "as long as so many may take");
    }

    #[test]
    fn a_short_burst_and_a_low_rate_stay_on() {
        let mut budget = Budget::default();
        let start = budget.since;
        budget.hits = 1500;
        assert_eq!(budget.judge_at(start + OVER / 2, true), Verdict::Stay);
        assert_eq!(budget.judge_at(start + OVER, true), Verdict::Stay);
    }
}
