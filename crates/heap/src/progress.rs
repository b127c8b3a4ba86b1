//! How far reading a dump is, for somebody who waits.
//!
//! Each step has a share of the whole, by what it takes of a dump of many small objects on two
//! CPUs (docs/heap.md), so that the time that remains can be estimated from the time so far.

use std::fmt;
use std::sync::Arc;

/// Steps are reported so often, in objects.
pub(crate) const EVERY: u32 = 1 << 16;

/// Who is shown how much of the work is done, from 0 to 1.
type Report = dyn Fn(f64) + Send + Sync;

/// The part of the work that a step is.
#[derive(Clone, Default)]
pub struct Progress {
    report: Option<Arc<Report>>,
    from: f64,
    share: f64,
}

/// Steps, each with the share of the work that is done at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Phase {
    Scan,
    Connect,
    Walk,
    Dominators,
    Sizes,
    Screen,
}

impl Phase {
    const ENDS: [(Self, f64); 6] = [
        (Self::Scan, 0.21),
        (Self::Connect, 0.42),
        (Self::Walk, 0.57),
        (Self::Dominators, 0.6),
        (Self::Sizes, 0.8),
        (Self::Screen, 1.0),
    ];

    fn range(self) -> (f64, f64) {
        let mut from = 0.0;
        for (step, end) in Self::ENDS {
            if step == self {
                return (from, end);
            }
            from = end;
        }
        (from, 1.0)
    }
}

impl Progress {
    /// Tells how much is done, from 0 to 1.
    pub fn new(report: impl Fn(f64) + Send + Sync + 'static) -> Self {
        Self { report: Some(Arc::new(report)), from: 0.0, share: 1.0 }
    }

    /// A part of this.
    pub(crate) fn part(&self, from: f64, to: f64) -> Self {
        let report = self.report.clone();
        Self { report, from: self.from + from * self.share, share: (to - from) * self.share }
    }

    /// So much of a step is done.
    #[cold]
    pub(crate) fn at(&self, step: Phase, done: f64) {
        if let Some(report) = &self.report {
            let (from, to) = step.range();
            report(self.from + self.share * (from + (to - from) * done.clamp(0.0, 1.0)));
        }
    }

    /// So much of this part is done.
    #[cold]
    pub(crate) fn done(&self, done: f64) {
        if let Some(report) = &self.report {
            report(self.from + self.share * done.clamp(0.0, 1.0));
        }
    }
}

impl fmt::Debug for Progress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Progress")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;

    #[test]
    fn steps_and_parts_follow_one_another_from_none_to_all() {
        let report = Arc::new(Mutex::new(Vec::new()));
        let all = Arc::clone(&report);
        let progress = Progress::new(move |done| all.lock().unwrap().push(done));
        progress.part(0.0, 0.5).done(1.0);
        let rest = progress.part(0.5, 1.0);
        for (step, _) in Phase::ENDS {
            rest.at(step, 0.0);
            rest.at(step, 1.0);
        }
        let report = report.lock().unwrap();
        assert!(report.is_sorted(), "{report:?}");
        assert_eq!((report[0], report[1], report.last()), (0.5, 0.5, Some(&1.0)));
    }
}
