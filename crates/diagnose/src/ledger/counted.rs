//! A JVM's stops by its counters (`jvm.gc.time`, `jvm.safepoint.time`, `jvm.safepoint.sync`): how
//! much of each second it was stopped, where single stops were not recorded. JVMs without probes
//! have nothing else (JDK 8 of Debian).
//!
//! HotSpot counts a safepoint from its request to its end, the time time to safepoint within
//! (`RuntimeService::record_safepoint_end`), and a collection by its pauses, which lie in
//! safepoints.

use fathom_recording::vocabulary::live;
use fathom_recording::{ProcessId, Recording, Series};

use super::{RowBasis, STOPPED};
use crate::intervals::Intervals;
use crate::{LedgerCategory, LedgerRow};

/// Counters of one JVM.
struct Counted<'a> {
    collections: Vec<&'a Series>,
    safepoints: Option<&'a Series>,
    reaching: Option<&'a Series>,
}

/// How some windows are split by counters, milliseconds.
struct Split {
    gc: f64,
    reaching: f64,
    other: f64,
    running: f64,
    unknown: f64,
}

impl<'a> Counted<'a> {
    /// `None` where the JVM's collections were not counted.
    fn of(recording: &'a Recording, jvm: ProcessId) -> Option<Self> {
        let own = |word: live::Word| {
            let own = move |s: &&Series| s.info.name == word.name && s.info.process == Some(jvm);
            recording.series.iter().filter(own)
        };
        let collections: Vec<_> = own(live::JVM_GC_TIME).collect();
        let first = |word| own(word).next();
        (!collections.is_empty()).then(|| Self {
            collections,
            safepoints: first(live::JVM_SAFEPOINT_TIME),
            reaching: first(live::JVM_SAFEPOINT_SYNC),
        })
    }

    fn split(&self, windows: &Intervals) -> Split {
        let covered = ticks(self.collections[0]).and(windows).length_ms();
        let counted = |series: &Series| counted_ms(series, windows);
        let gc = self.collections.iter().map(|series| counted(series)).sum::<f64>().min(covered);
        let reaching = self.reaching.map_or(0.0, counted).min(covered - gc);
        let all = self.safepoints.map_or(0.0, counted).min(covered);
        let other = (all - gc - reaching).max(0.0);
        let unknown = windows.length_ms() - covered;
        Split { gc, reaching, other, running: covered - gc - reaching - other, unknown }
    }
}

/// The time that a series has values of.
fn ticks(series: &Series) -> Intervals {
    let ticks = series.t_ns.iter().zip(&series.dt_ns);
    Intervals::of(ticks.map(|(t_ns, dt_ns)| (*t_ns, t_ns.saturating_add((*dt_ns).max(0)))))
}

/// The time that shares of ticks make up within windows; a tick counts by its part in them.
fn counted_ms(series: &Series, windows: &Intervals) -> f64 {
    let ticks = series.t_ns.iter().zip(&series.dt_ns).zip(&series.value);
    let ms = |((t_ns, dt_ns), share): ((&i64, &i64), &f64)| {
        let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
        share * windows.length_within_ns(*t_ns, t_ns.saturating_add((*dt_ns).max(0))) as f64 / 1e6
    };
    ticks.map(ms).sum()
}

/// Rows of a JVM by its counters; none where it has none.
pub(super) fn rows(recording: &Recording, jvm: ProcessId, basis: &RowBasis<'_>) -> Vec<LedgerRow> {
    let Some(counted) = Counted::of(recording, jvm) else { return Vec::new() };
    let (slow, base) = (counted.split(basis.slow), counted.split(basis.base));
    if slow.running <= 0.0 && base.running <= 0.0 {
        return Vec::new();
    }
    let row =
        |category: LedgerCategory, of: fn(&Split) -> f64| basis.figures(category, true, of(&slow), of(&base));
    let mut rows = vec![row(STOPPED[0], |split| split.gc)];
    if counted.safepoints.is_some() {
        rows.push(match counted.reaching {
            Some(_) => row(STOPPED[1], |split| split.reaching),
            None => basis.unseen(STOPPED[1]),
        });
        rows.push(row(STOPPED[3], |split| split.other));
    }
    rows.push(row(LedgerCategory::NotStopped, |split| split.running));
    rows.extend(
        (slow.unknown + base.unknown > 0.0).then(|| row(LedgerCategory::Unknown, |split| split.unknown)),
    );
    rows
}

#[cfg(test)]
mod tests {
    use fathom_recording::{SeriesInfo, SeriesKind, Sink};

    use crate::Loss;
    use crate::Window;
    use crate::built::Built;

    use super::*;

    /// A JVM without a log, with counters second by second from 10 s on.
    fn counted(words: &[(live::Word, &str, f64)]) -> Built {
        let mut built = Built::jvm("8", "Parallel", 0.0);
        built.recording.processes[0].facts.clear();
        for (word, instance, share) in words {
            let info = SeriesInfo {
                name: word.name.into(),
                instance: (*instance).into(),
                unit: "share".into(),
                kind: SeriesKind::Gauge,
                process: Some(built.jvm),
                source: fathom_recording::SourceId(0),
            };
            let series = built.recording.add_series(info);
            for s in 10..20 {
                built.recording.point(series, s * 1_000_000_000, 1_000_000_000, *share);
            }
        }
        built
    }

    fn rows_of(built: Built, (from_s, to_s): (i64, i64)) -> Vec<(LedgerCategory, f64)> {
        let window = Window { from_ns: from_s * 1_000_000_000, to_ns: to_s * 1_000_000_000 };
        let (jvm, recording) = (built.jvm, built.sealed());
        let stacks = crate::waits::stack::ByStack::by_frames(&recording);
        let rows = super::super::ledger(&recording, &stacks, &[jvm], &[window], &[], &Loss::default());
        rows.into_iter().map(|row| (row.category_id, row.slow_ms.unwrap_or(f64::NAN).round())).collect()
    }

    #[test]
    fn a_jvm_without_probes_is_stopped_for_what_its_counters_say() {
        let built = counted(&[
            (live::JVM_GC_TIME, "PSScavenge", 0.02),
            (live::JVM_GC_TIME, "PSParallelCompact", 0.1),
            (live::JVM_SAFEPOINT_TIME, "", 0.2),
            (live::JVM_SAFEPOINT_SYNC, "", 0.05),
        ]);
        let rows = rows_of(built, (15, 25));
        assert_eq!(
            rows,
            [
                (LedgerCategory::StoppedByGc, 600.0),
                (LedgerCategory::StoppedToReach, 250.0),
                (LedgerCategory::Stopped, 150.0),
                (LedgerCategory::NotStopped, 4_000.0),
                (LedgerCategory::Unknown, 5_000.0),
            ]
        );
    }

    #[test]
    fn shares_beyond_the_second_neither_exceed_the_window_nor_fall_below_nothing() {
        let built = counted(&[
            (live::JVM_GC_TIME, "one", 7.0),
            (live::JVM_GC_TIME, "other", f64::NAN),
            (live::JVM_SAFEPOINT_TIME, "", -1.0),
        ]);
        let rows = rows_of(built, (12, 14));
        assert!(rows.iter().map(|(_, ms)| ms).sum::<f64>() <= 2_000.0, "{rows:?}");
        assert!(rows.iter().all(|(_, ms)| *ms >= 0.0), "{rows:?}");
    }
}
