//! Sets of points in time: sorted intervals without overlap, with union, intersection and
//! difference.
//!
//! The ledger stands on them: a nanosecond is in a set or it is not, so nothing can be attributed
//! twice.

use fathom_recording::Count;

use crate::Window;
use crate::nearest::Near;

/// A set of points in time, as intervals `[from, to)` in nanoseconds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<(i64, i64)>);

impl Intervals {
    /// The union of intervals in any order; empty and backward ones add nothing.
    pub fn of(ranges: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut all: Vec<_> = ranges.into_iter().filter(|(from, to)| from < to).collect();
        // Spans come in order of their start, and sets are put together of two that are in order:
        // the stable sort takes such runs as they are. Which of two that start at once comes first
        // makes no difference below.
        all.sort_by_key(|(from, _)| *from);
        all.dedup_by(|next, last| {
            let joined = next.0 <= last.1;
            last.1 = if joined { last.1.max(next.1) } else { last.1 };
            joined
        });
        Self(all)
    }

    /// The union of intervals that come in order of their starts, in one go.
    pub(crate) fn of_sorted(ranges: impl IntoIterator<Item = (i64, i64)>) -> Self {
        let mut merged: Vec<(i64, i64)> = Vec::new();
        for (from, to) in ranges.into_iter().filter(|(from, to)| from < to) {
            match merged.last_mut() {
                Some(last) if from <= last.1 => last.1 = last.1.max(to),
                _ => merged.push((from, to)),
            }
        }
        Self(merged)
    }

    /// Gives back memory that it does not need.
    pub(crate) fn shrink(&mut self) {
        self.0.shrink_to_fit();
    }

    /// The intervals of windows.
    pub fn of_windows(windows: &[Window]) -> Self {
        Self::of(windows.iter().map(|w| (w.from_ns, w.to_ns)))
    }

    /// The intervals, ascending.
    pub fn ranges(&self) -> &[(i64, i64)] {
        &self.0
    }

    /// The intervals as windows.
    pub fn windows(&self) -> Vec<Window> {
        self.0.iter().map(|(from_ns, to_ns)| Window { from_ns: *from_ns, to_ns: *to_ns }).collect()
    }

    /// Whether there is no time in it.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How long it is in all, nanoseconds, saturating.
    pub fn length_ns(&self) -> i64 {
        self.0.iter().fold(0, |sum: i64, (from, to)| sum.saturating_add(to.saturating_sub(*from)))
    }

    /// Whether any of it lies in `[from, to)`, or at `from` where the two are one timestamp. Looks
    /// at one interval only.
    pub fn touches(&self, from: i64, to: i64) -> bool {
        let first = self.0.partition_point(|range| range.1 <= from);
        self.0.get(first).is_some_and(|range| range.0 < to.max(from.saturating_add(1)))
    }

    /// The interval in which a timestamp lies.
    pub(crate) fn around(&self, t_ns: i64) -> Option<(i64, i64)> {
        let first = self.0.partition_point(|range| range.1 <= t_ns);
        self.0.get(first).copied().filter(|range| range.0 <= t_ns)
    }

    /// How much of it lies between two timestamps, nanoseconds, saturating. Looks at no interval
    /// that lies outside.
    pub fn length_within_ns(&self, from: i64, to: i64) -> i64 {
        let first = self.0.partition_point(|range| range.1 <= from);
        (self.0[first..].iter()).take_while(|range| range.0 < to).fold(0, |sum: i64, (a, b)| {
            sum.saturating_add((*b).min(to).saturating_sub((*a).max(from)).max(0))
        })
    }

    /// How much of a count lies in it, as far as that is known: as if what was counted were spread
    /// evenly over its interval.
    pub(crate) fn counted_within(&self, count: &Count<'_>) -> f64 {
        let within_ns = self.length_within_ns(count.t0_ns(), count.t1_ns()) as f64;
        count.count() as f64 * within_ns / count.interval_ns().max(1) as f64
    }

    /// How much of it lies in another set, nanoseconds, saturating.
    pub(crate) fn shared_ns(&self, other: &Self) -> i64 {
        let within = other.0.iter().map(|(from, to)| self.length_within_ns(*from, *to));
        within.fold(0, i64::saturating_add)
    }

    /// Its parts between two timestamps. Looks at no interval that lies outside.
    pub fn within(&self, from: i64, to: i64) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = self.0.partition_point(|range| range.1 <= from);
        let near = self.0[first..].iter().take_while(move |range| range.0 < to);
        near.map(move |(a, b)| ((*a).max(from), (*b).min(to))).filter(|(a, b)| a < b)
    }

    /// The same for one who asks again and again, mostly for later ones.
    pub(crate) fn within_near(
        &self,
        near: &mut Near,
        from: i64,
        to: i64,
    ) -> impl Iterator<Item = (i64, i64)> + '_ {
        let first = near.first(&self.0, |range| range.1 <= from);
        let near = self.0[first..].iter().take_while(move |range| range.0 < to);
        near.map(move |(a, b)| ((*a).max(from), (*b).min(to))).filter(|(a, b)| a < b)
    }

    /// The first nanoseconds of them, and what is left.
    pub(crate) fn split_at_ns(&self, length: i64) -> (Self, Self) {
        let (mut first, mut rest, mut left) = (Vec::new(), Vec::new(), length.max(0));
        for (from, to) in self.ranges().iter().copied() {
            let cut = from.saturating_add(left).min(to);
            left -= cut - from;
            first.extend((cut > from).then_some((from, cut)));
            rest.extend((to > cut).then_some((cut, to)));
        }
        (Self::of(first), Self::of(rest))
    }

    /// The set of its intervals between two timestamps.
    pub(crate) fn clipped(&self, from: i64, to: i64) -> Self {
        Self(self.within(from, to).collect())
    }

    /// Its length, milliseconds.
    pub fn length_ms(&self) -> f64 {
        self.length_ns() as f64 / 1e6
    }

    /// Intervals in both.
    pub fn and(&self, other: &Self) -> Self {
        let (mut i, mut j) = (0, 0);
        let mut both = Vec::new();
        while let (Some(a), Some(b)) = (self.0.get(i), other.0.get(j)) {
            let (from, to) = (a.0.max(b.0), a.1.min(b.1));
            if from < to {
                both.push((from, to));
            }
            if a.1 <= b.1 { i += 1 } else { j += 1 }
        }
        Self(both)
    }

    /// Intervals in either.
    pub fn or(&self, other: &Self) -> Self {
        Self::of(self.0.iter().chain(&other.0).copied())
    }

    /// Intervals in this one and not in the other.
    pub fn without(&self, other: &Self) -> Self {
        let mut left = Vec::new();
        let mut j = 0;
        for (from, to) in &self.0 {
            let mut at = *from;
            while other.0.get(j).is_some_and(|b| b.1 <= at) {
                j += 1;
            }
            let mut k = j;
            while let Some(b) = other.0.get(k).filter(|b| b.0 < *to) {
                if at < b.0 {
                    left.push((at, b.0));
                }
                at = at.max(b.1);
                k += 1;
            }
            if at < *to {
                left.push((at, *to));
            }
        }
        Self(left)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn some() -> impl Strategy<Value = Vec<(i64, i64)>> {
        prop::collection::vec((0_i64..200, 0_i64..40).prop_map(|(from, len)| (from, from + len)), 0..20)
    }

    proptest! {
        #[test]
        fn sets_behave_as_sets_of_points_in_time(a in some(), b in some()) {
            let holds = |s: &Intervals, t: i64| s.ranges().iter().any(|(f, to)| (*f..*to).contains(&t));
            let (a, b) = (Intervals::of(a), Intervals::of(b));
            let (and, or, without) = (a.and(&b), a.or(&b), a.without(&b));
            for t in 0..240 {
                prop_assert_eq!(holds(&and, t), holds(&a, t) && holds(&b, t));
                prop_assert_eq!(holds(&or, t), holds(&a, t) || holds(&b, t));
                prop_assert_eq!(holds(&without, t), holds(&a, t) && !holds(&b, t));
            }
            prop_assert_eq!(and.length_ns() + without.length_ns(), a.length_ns());
            for (from, to) in [(0, 240), (17, 101), (60, 61), (90, 20)] {
                let window = Intervals::of([(from, to)]);
                prop_assert_eq!(a.length_within_ns(from, to), a.and(&window).length_ns());
            }
            prop_assert_eq!(a.shared_ns(&b), and.length_ns());
            prop_assert_eq!(a.length_ns() + b.length_ns(), and.length_ns() + or.length_ns());
        }
    }

    #[test]
    fn the_ends_of_time_do_not_overflow() {
        let all = Intervals::of([(i64::MIN, i64::MAX)]);
        assert_eq!(all.length_ns(), i64::MAX);
        assert_eq!(all.without(&Intervals::of([(0, 1)])).ranges(), [(i64::MIN, 0), (1, i64::MAX)]);
    }
}
