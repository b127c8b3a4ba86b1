//! In what order threads and groups of threads are shown: by what they lost, not by how long they
//! wait.
//!
//! A thread that reads from a peer all day may be without work, or may wait for an answer: the call
//! is the same. What is the same all the time explains no slowness, so such waits count by how much
//! they change. Running, locks, disks, stops count as they are: nobody is in them for lack of work.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::waits::Category;
use crate::{Window, stats};

/// Parts that a window is divided into to see what changes in it.
pub(crate) const PARTS: i64 = 24;

/// What a thread or group spent the parts of a window on, as far as it ranks by it.
#[derive(Clone, Debug)]
pub struct Weight {
    /// Length of each part, and what it spent waiting for what may be want of work; in one unit.
    parts: Vec<(f64, f64)>,
    sure: f64,
}

impl Weight {
    /// Of parts with these lengths.
    pub fn of(lengths: impl IntoIterator<Item = f64>) -> Self {
        Self { parts: lengths.into_iter().map(|length| (length, 0.0)).collect(), sure: 0.0 }
    }

    /// Adds what was spent under a category in one of the parts.
    pub fn add(&mut self, part: usize, category: Category, spent: f64) {
        if category.is_idle() || category == Category::Unknown {
            return;
        }
        match self.parts.get_mut(part).filter(|_| category.may_be_idle()) {
            Some((_, ambiguous)) => *ambiguous += spent,
            None => self.sure += spent,
        }
    }

    /// How much it ranks by.
    pub fn value(&self) -> f64 {
        let parts = || self.parts.iter().filter(|(length, _)| *length > 0.0);
        let shares = stats::sorted(parts().map(|(length, spent)| spent / length));
        let usual = stats::median(&shares).unwrap_or(0.0);
        self.sure + parts().map(|(length, spent)| (spent - usual * length).abs()).sum::<f64>()
    }
}

/// What grew by less than this share of the slow time is no growth: ledgers of two windows are
/// never the same.
const LEAST_GROWTH: f64 = 0.05;
/// What was lost or run for less than this share of the slow time is as good as idle.
const LEAST_ACTIVE: f64 = 0.01;

/// A slice of a run: how long it is, in one unit with what is spent in it, and which windows it
/// lies in.
#[derive(Clone, Copy, Debug)]
pub struct Slice {
    /// Its length.
    pub length: f64,
    /// Whether it lies in a slow window.
    pub is_slow: bool,
    /// Whether it lies in a window that the slow ones are compared with.
    pub is_base: bool,
}

/// What a thread or group spent the slices of a run on, as far as it ranks by it in a picture of
/// them.
#[derive(Clone, Debug)]
pub struct SlowWeight {
    slices: Vec<Slice>,
    run: Weight,
    slow: Weight,
    /// Spent in the slow slices, and in those of the baseline.
    by_category: BTreeMap<Category, [f64; 2]>,
}

impl SlowWeight {
    /// Of a run with these slices.
    pub fn of(slices: &[Slice]) -> Self {
        let slow = |slice: &Slice| if slice.is_slow { slice.length } else { 0.0 };
        Self {
            run: Weight::of(slices.iter().map(|slice| slice.length)),
            slow: Weight::of(slices.iter().map(slow)),
            slices: slices.to_vec(),
            by_category: BTreeMap::new(),
        }
    }

    /// Adds what was spent under a category in one of the slices.
    pub fn add(&mut self, slice: usize, category: Category, spent: f64) {
        self.run.add(slice, category, spent);
        let Some(at) = self.slices.get(slice) else { return };
        if at.is_slow {
            self.slow.add(slice, category, spent);
        }
        let [slow, base] = self.by_category.entry(category).or_default();
        *slow += if at.is_slow { spent } else { 0.0 };
        *base += if at.is_base { spent } else { 0.0 };
    }

    /// Where it ranks.
    pub fn rank(&self) -> SlowRank {
        let length = |chosen: fn(&Slice) -> bool| -> f64 {
            self.slices.iter().filter(|slice| chosen(slice)).map(|slice| slice.length).sum()
        };
        let (slow, base) = (length(|slice| slice.is_slow), length(|slice| slice.is_base));
        let spent = self.by_category.iter().map(|(category, [slow, base])| (*category, *slow, *base));
        let grew = if slow > 0.0 && base > 0.0 { growth(spent, slow / base) / slow } else { 0.0 };
        SlowRank {
            grew: if grew < LEAST_GROWTH { 0.0 } else { grew },
            slow: if slow > 0.0 { self.slow.value() / slow } else { 0.0 },
            run: self.run.value(),
        }
    }
}

/// In what order threads and groups are shown next to one another: those that grew in the slow
/// windows first, the more the earlier; then those that lost or ran most in them; then by the whole
/// run.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
pub struct SlowRank {
    grew: f64,
    slow: f64,
    run: f64,
}

impl SlowRank {
    /// The higher rank first.
    pub fn order(&self, other: &Self) -> Ordering {
        let by = |of: fn(&Self) -> f64| of(other).total_cmp(&of(self));
        by(|rank| rank.grew).then(by(|rank| rank.slow)).then(by(|rank| rank.run))
    }

    /// Whether it ran, or waited for what only a thread with work waits for, in the slow windows.
    pub fn is_active(&self) -> bool {
        self.grew > 0.0 || self.slow >= LEAST_ACTIVE
    }
}

/// What was spent above as much time of a baseline, category by category: what a group ranks by
/// where there is a baseline.
pub(crate) fn growth(spent: impl Iterator<Item = (Category, f64, f64)>, base_scale: f64) -> f64 {
    let counts = |category: Category| !category.is_idle() && category != Category::Unknown;
    spent
        .filter(|(category, ..)| counts(*category))
        .map(|(_, ms, base)| (ms - base * base_scale).max(0.0))
        .sum()
}

/// The parts of a window.
pub(crate) fn parts(window: Window) -> Vec<Window> {
    let at = |i: i64| {
        let offset = i128::from(window.length_ns()) * i128::from(i) / i128::from(PARTS);
        window.from_ns.saturating_add(offset as i64)
    };
    (0..PARTS).map(|i| Window { from_ns: at(i), to_ns: at(i + 1) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wait_that_never_changes_ranks_behind_a_short_one_that_does_and_behind_any_lock() {
        let lengths = || (0..24).map(|_| 1_000.0);
        let (mut reader, mut request, mut locked) =
            (Weight::of(lengths()), Weight::of(lengths()), Weight::of(lengths()));
        for part in 0..24 {
            reader.add(part, Category::Network, 990.0 + f64::from(part as u32 % 3));
            request.add(part, Category::Network, if part < 6 { 900.0 } else { 100.0 });
            locked.add(part, Category::Monitor, 200.0);
        }
        assert!(reader.value() < 30.0, "{}", reader.value());
        assert!((request.value() - 4_800.0).abs() < 1.0);
        assert!((locked.value() - 4_800.0).abs() < 1.0);
    }

    #[test]
    fn what_grew_in_the_slow_window_ranks_before_what_always_runs_and_an_idle_reader_last() {
        // Ten slices of a second; the last two are slow, the others what they are compared with.
        let slices: Vec<Slice> =
            (0..10).map(|i| Slice { length: 1_000.0, is_slow: i >= 8, is_base: i < 8 }).collect();
        let of = |spent: &dyn Fn(usize) -> Vec<(Category, f64)>| {
            let mut weight = SlowWeight::of(&slices);
            for slice in 0..10 {
                spent(slice).into_iter().for_each(|(category, ms)| weight.add(slice, category, ms));
            }
            weight.rank()
        };
        let blocked = of(&|slice| vec![(Category::Monitor, if slice < 8 { 10.0 } else { 800.0 })]);
        let busy = of(&|_| vec![(Category::Monitor, 100.0), (Category::C2, 890.0)]);
        let reader =
            of(&|slice| vec![(Category::Network, 995.0 + (slice % 2) as f64), (Category::Idle, 4.0)]);
        let earlier = of(&|slice| match slice {
            3 => vec![(Category::Monitor, 990.0)],
            _ => vec![(Category::Idle, 1_000.0)],
        });
        let mut order = [("reader", reader), ("earlier", earlier), ("busy", busy), ("blocked", blocked)];
        order.sort_by(|a, b| a.1.order(&b.1));
        assert_eq!(order.map(|(name, _)| name), ["blocked", "busy", "reader", "earlier"]);
        assert_eq!(order.map(|(_, rank)| rank.is_active()), [true, true, false, false]);
    }
}
