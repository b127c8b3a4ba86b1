//! In what order threads and groups of threads are shown: by what they lost, not by how long they
//! wait.
//!
//! A thread that reads from a peer all day may be without work, or may wait for an answer: the call
//! is the same. What is the same all the time explains no slowness, so such waits count by how much
//! they change. Running, locks, disks, stops count as they are: nobody is in them for want of work.

use crate::waits::Heading;
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

    /// Adds what was spent under a heading in one of the parts.
    pub fn add(&mut self, part: usize, heading: Heading, spent: f64) {
        if heading.is_idle() || heading == Heading::Unknown {
            return;
        }
        match self.parts.get_mut(part).filter(|_| heading.may_be_idle()) {
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

/// What was spent above as much time of a base, heading by heading: what a group ranks by where
/// there is a base.
pub(crate) fn growth(spent: impl Iterator<Item = (Heading, f64, f64)>, base_scale: f64) -> f64 {
    let counts = |heading: Heading| !heading.is_idle() && heading != Heading::Unknown;
    spent
        .filter(|(heading, ..)| counts(*heading))
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
            reader.add(part, Heading::Network, 990.0 + f64::from(part as u32 % 3));
            request.add(part, Heading::Network, if part < 6 { 900.0 } else { 100.0 });
            locked.add(part, Heading::Monitor, 200.0);
        }
        assert!(reader.value() < 30.0, "{}", reader.value());
        assert!((request.value() - 4_800.0).abs() < 1.0);
        assert!((locked.value() - 4_800.0).abs() < 1.0);
    }
}
