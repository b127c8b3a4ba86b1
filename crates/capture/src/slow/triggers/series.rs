//! A number of the machine, the process or the JVM that leaves what is usual for it: a dip of a
//! rate, a rise of a latency.
//!
//! Usual is the median of its own last [`USUAL_OF`] points, each instance (a device, a process) by
//! itself. So a lower level that stays becomes usual after half of them, and the incident ends.

use std::collections::{HashMap, VecDeque};

use fathom_recording::vocabulary::live;
use fathom_recording::{Ring, SeriesId};

use crate::similar_names::similar_names;
use crate::slow::trigger::{Kind, Limit, Measure, Slow, Watch};

pub(super) const KIND: Kind = Kind {
    word: "series",
    syntax: "series:NAME<50% or series:NAME>300%",
    about: "a series was so far below or above its own median of the last minute for three points (seconds) in a row",
    collector: None,
    measure: Measure::Usual,
    make,
};

/// Points that show what is usual; most series have one a second.
const USUAL_OF: usize = 60;
/// Fewer do not.
const LEAST: usize = 20;
/// So many in a row are no noise.
const IN_A_ROW: u32 = 3;
/// Instances that are followed: beyond it all begin anew.
const MOST_SERIES: usize = 4096;

fn make(what: Option<&str>) -> Result<Box<dyn Watch>, String> {
    let name = what.ok_or("it has no name")?;
    if !live::ALL.iter().any(|word| word.name == name) {
        let all: Vec<String> = live::ALL.iter().map(|word| word.name.to_owned()).collect();
        return Err(format!(
            "there is no series {name:?}{} (fathom info of a recording lists them)",
            similar_names(name, "", &all)
        ));
    }
    Ok(Box::new(Dip { name: name.to_owned(), series: HashMap::new() }))
}

struct Dip {
    name: String,
    series: HashMap<SeriesId, History>,
}

/// The latest points of a series.
#[derive(Default)]
struct History {
    values: VecDeque<f64>,
    /// Points beyond the limit in a row, and when the first of them began.
    beyond: u32,
    since_ns: i64,
}

impl History {
    /// Takes a point; what is usual, when the series has left it for long enough.
    fn take(&mut self, t_ns: i64, value: f64, limit: Limit) -> Option<f64> {
        let usual = self.median().filter(|usual| *usual > 0.0);
        let is_beyond = usual.is_some_and(|usual| match limit {
            Limit::Below(share) => value < usual * share,
            Limit::Above(share) => value > usual * share,
            Limit::Longer(_) => false,
        });
        if self.values.len() == USUAL_OF {
            self.values.pop_front();
        }
        self.values.push_back(value);
        if !is_beyond {
            self.beyond = 0;
            return None;
        }
        if self.beyond == 0 {
            self.since_ns = t_ns;
        }
        self.beyond = self.beyond.saturating_add(1);
        usual.filter(|_| self.beyond >= IN_A_ROW)
    }

    fn median(&self) -> Option<f64> {
        let mut sorted: Vec<f64> = self.values.iter().copied().filter(|value| value.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        (sorted.len() >= LEAST).then(|| sorted[sorted.len() / 2])
    }
}

impl Watch for Dip {
    fn point(
        &mut self,
        series: SeriesId,
        (t_ns, dt_ns): (i64, i64),
        value: f64,
        limit: Limit,
        ring: &Ring,
    ) -> Option<Slow> {
        let info = ring.series(series).filter(|info| info.name == self.name)?;
        if self.series.len() >= MOST_SERIES && !self.series.contains_key(&series) {
            self.series.clear();
        }
        let history = self.series.entry(series).or_default();
        let usual = history.take(t_ns, value, limit)?;
        let (t0_ns, t1_ns) = (history.since_ns, t_ns.saturating_add(dt_ns.max(0)));
        let of = if info.instance.is_empty() { String::new() } else { format!(" of {}", info.instance) };
        let percent = 100.0 * value / usual;
        let what = format!("{}{of}: {value:.4} {}, usually {usual:.4} ({percent:.0}%)", info.name, info.unit);
        Some(Slow { t0_ns, t1_ns, process: info.process, thread: None, stack: None, what })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn slow_at(values: impl IntoIterator<Item = f64>, limit: Limit) -> Vec<usize> {
        let mut history = History::default();
        let taken = values.into_iter().enumerate();
        taken.filter_map(|(i, value)| history.take(i as i64, value, limit).map(|_| i)).collect()
    }

    #[test]
    fn a_dip_is_reported_from_its_third_point_on_until_it_is_over() {
        let level = |i: usize| if (50..56).contains(&i) { 20.0 } else { 100.0 + (i % 7) as f64 };
        assert_eq!(slow_at((0..100).map(level), Limit::Below(0.5)), [52, 53, 54, 55]);
        assert_eq!(slow_at((0..100).map(level), Limit::Above(3.0)), [0; 0]);
        let latency = |i: usize| if (50..54).contains(&i) { 40.0 } else { 2.0 };
        assert_eq!(slow_at((0..100).map(latency), Limit::Above(3.0)), [52, 53]);
    }

    #[test]
    fn noise_a_beginning_and_a_series_that_is_nothing_are_no_dip_and_a_new_level_becomes_usual() {
        let noise = |i: usize| if i % 10 < 2 { 10.0 } else { 100.0 };
        assert_eq!(slow_at((0..200).map(noise), Limit::Below(0.5)), [0; 0]);
        assert_eq!(slow_at([100.0, 100.0, 1.0, 1.0, 1.0, 1.0], Limit::Below(0.5)), [0; 0]);
        assert_eq!(slow_at([0.0; 100], Limit::Above(2.0)), [0; 0]);
        let lower = slow_at((0..300).map(|i| if i < 100 { 100.0 } else { 10.0 }), Limit::Below(0.5));
        assert!(*lower.last().unwrap() < 135, "{lower:?}");
        assert!(make(Some("process.cpu.usr")).is_err_and(|why| why.contains("near it: process.cpu.user")));
    }
}
