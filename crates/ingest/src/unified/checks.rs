//! Self-checks: invariants of a log that was read right. Each of them would have caught a parser
//! that drops, doubles or misreads pauses.

use fathom_recording::Check;
use fathom_recording::quantity::whole;

use super::ids::Ids;

/// How many places are named in a check that fails.
const NAMED: usize = 5;
/// Timestamps have milliseconds, truncated or rounded: two of them and a duration may disagree by
/// this.
const TIMESTAMP_NS: i64 = 2_000_000;

/// Counts while a run is read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Evidence {
    /// Ids of collections.
    pub(crate) ids: Ids,
    /// Pauses so far.
    pub(crate) pauses: u64,
    pauses_ns: i64,
    negative: Places,
    outside: Places,
    stops: u64,
    stops_ns: i64,
    /// Pauses, and their sum, when the last stop was seen: pauses whose stop is not in the log are
    /// left out.
    pauses_at_last_stop: (u64, i64),
    /// Where the log begins: its first timestamp, or the start of its first pause, whose first line
    /// may be in the previous file.
    begins_ns: Option<i64>,
    /// Pauses begun and never closed, with the line of their start.
    pub(crate) unclosed: Places,
    /// Those among them that are truncated by the end of the log.
    pub(crate) open_at_end: Places,
}

/// A number of occurrences, and the first places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Places {
    count: u64,
    first: Vec<String>,
}

impl Places {
    /// Counts one.
    pub(crate) fn add(&mut self, place: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < NAMED {
            self.first.push(place());
        }
    }

    fn detail(&self, what: &str) -> String {
        if self.count == 0 {
            return format!("none {what}");
        }
        let more = if self.count > self.first.len() as u64 { ", …" } else { "" };
        format!("{} {what}: {}{more}", whole(self.count), self.first.join(", "))
    }
}

impl Evidence {
    /// The run's first timestamp.
    pub(crate) fn begins(&mut self, ns: i64) {
        self.begins_ns.get_or_insert(ns);
    }

    /// Whether a collection or a stop was seen: then the log's beginning is over.
    pub(crate) fn has_begun(&self) -> bool {
        self.stops > 0 || self.ids.seen() > 0
    }

    /// Where the log begins.
    pub(crate) fn begins_ns(&self) -> Option<i64> {
        self.begins_ns
    }

    /// An outermost pause.
    pub(crate) fn pause(&mut self, t0_ns: i64, t1_ns: i64, duration_ns: i64, line: u64) {
        let begins = if self.pauses == 0 {
            let begins = self.begins_ns.map_or(t0_ns, |b| b.min(t0_ns));
            self.begins_ns = Some(begins);
            begins
        } else {
            self.begins_ns.unwrap_or(t0_ns)
        };
        self.pauses += 1;
        self.pauses_ns = self.pauses_ns.saturating_add(duration_ns);
        if duration_ns < 0 || t1_ns < t0_ns {
            self.negative.add(|| format!("line {line}"));
        }
        if t0_ns < begins.saturating_sub(TIMESTAMP_NS) {
            self.outside.add(|| format!("line {line}"));
        }
    }

    /// A stop of all threads.
    pub(crate) fn stop(&mut self, duration_ns: i64) {
        self.stops += 1;
        self.stops_ns = self.stops_ns.saturating_add(duration_ns);
        self.pauses_at_last_stop = (self.pauses, self.pauses_ns);
    }

    /// The checks of a run that ended at `end_ns`.
    pub(crate) fn checks(&self, covers_ns: Option<(i64, i64)>) -> Vec<Check> {
        vec![self.no_negative(), self.within(covers_ns), self.not_more_than_stops(), self.all_ids()]
    }

    fn no_negative(&self) -> Check {
        Check {
            claim: "no pause is negative".into(),
            holds: self.negative.count == 0,
            detail: format!("{} pauses, {}", whole(self.pauses), self.negative.detail("negative")),
        }
    }

    fn within(&self, covers_ns: Option<(i64, i64)>) -> Check {
        let span_ns =
            covers_ns.map_or(0, |(from, to)| to.saturating_sub(self.begins_ns.unwrap_or(from).min(from)));
        let fits = self.pauses_ns <= span_ns.saturating_add(TIMESTAMP_NS);
        Check {
            claim: "pauses lie within the log's span".into(),
            holds: self.outside.count == 0 && fits,
            detail: format!(
                "{:.3} s of pauses in {:.3} s of log, {}",
                self.pauses_ns as f64 / 1e9,
                span_ns as f64 / 1e9,
                self.outside.detail("outside of it")
            ),
        }
    }

    fn not_more_than_stops(&self) -> Check {
        let claim = "the sum of pauses is not more than the sum of stops".into();
        if self.stops == 0 {
            return Check { claim, holds: true, detail: "no safepoint lines to compare with".into() };
        }
        let (pauses, pauses_ns) = self.pauses_at_last_stop;
        // Pauses are printed in microseconds, stops in nanoseconds or tenths of microseconds.
        let rounding_ns = i64::try_from(pauses).unwrap_or(i64::MAX).saturating_mul(1_000);
        Check {
            claim,
            holds: pauses_ns <= self.stops_ns.saturating_add(rounding_ns),
            detail: format!(
                "{} pauses {:.6} s, {} stops {:.6} s",
                whole(pauses),
                pauses_ns as f64 / 1e9,
                whole(self.stops),
                self.stops_ns as f64 / 1e9
            ),
        }
    }

    /// A collection that is truncated by the end of the log is accounted for by being reported.
    fn all_ids(&self) -> Check {
        let mut missing = Places::default();
        for (id, line) in self.ids.unaccounted() {
            missing.add(|| format!("GC({id}) line {line}"));
        }
        let mut detail = format!(
            "{} ids, {}, {}",
            whole(self.ids.seen()),
            missing.detail("without a record"),
            self.unclosed.detail("left open")
        );
        if self.open_at_end.count > 0 {
            detail = format!("{detail}, {}", self.open_at_end.detail("open at the end of the log"));
        }
        if self.ids.not_followed() > 0 {
            detail =
                format!("{detail}, {} lines with ids too large to follow", whole(self.ids.not_followed()));
        }
        Check {
            claim: "every GC id is accounted for".into(),
            holds: missing.count == 0 && self.unclosed.count == 0 && self.ids.not_followed() == 0,
            detail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(evidence: &Evidence, covers: (i64, i64)) -> Vec<bool> {
        evidence.checks(Some(covers)).iter().map(|c| c.holds).collect()
    }

    #[test]
    fn a_sound_log_passes_all_four() {
        let mut evidence = Evidence::default();
        evidence.begins(0);
        evidence.pause(10_000_000, 20_000_000, 10_000_000, 3);
        evidence.stop(11_000_000);
        assert_eq!(holds(&evidence, (0, 30_000_000)), [true; 4]);
    }

    #[test]
    fn each_check_fails_for_its_own_reason() {
        let mut evidence = Evidence::default();
        evidence.begins(0);
        evidence.pause(0, 10_000_000, 10_000_000, 3);
        evidence.pause(-50_000_000, 20_000_000, 70_000_000, 5);
        assert_eq!(holds(&evidence, (0, 20_000_000)), [true, false, true, true]);
        evidence.pause(20, 10, -10, 7);
        evidence.stop(1_000);
        evidence.ids.saw(4, 9);
        let checks = evidence.checks(Some((0, 20_000_000)));
        assert!(checks.iter().all(|c| !c.holds), "{checks:?}");
        assert!(checks[3].detail.contains("GC(4) line 9"), "{checks:?}");
    }
}
