//! What was slow within one interval.

use std::collections::BTreeMap;
use std::time::Duration;

use fathom_recording::quantity;
use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Check, ProcessId, SourceId, SpanRow};

use super::trigger::{Slow, Trigger};
use super::{LONGEST, OnSlow, Stand};

/// Slow things that are reported one by one; of more, how many there were and the longest.
const MOST_REPORTED: usize = 256;

/// See the module.
pub(super) struct Incident {
    before_ns: i64,
    after_ns: i64,
    /// Not before this.
    not_before_ns: i64,
    t0_ns: i64,
    t1_ns: i64,
    /// Where it was ended although it was not over.
    cut_ns: Option<i64>,
    reported: Vec<(String, i64, Slow)>,
    /// By trigger: how many, the longest, and the word for the name.
    triggers: BTreeMap<String, (u64, Slow)>,
    /// Word of the first.
    word: &'static str,
}

impl Incident {
    pub fn new(before: Duration, after: Duration, not_before_ns: i64) -> Self {
        let ns = |time: Duration| i64::try_from(time.as_nanos()).unwrap_or(i64::MAX / 4);
        Self {
            before_ns: ns(before),
            after_ns: ns(after),
            not_before_ns,
            t0_ns: i64::MAX,
            t1_ns: i64::MIN,
            cut_ns: None,
            reported: Vec::new(),
            triggers: BTreeMap::new(),
            word: "slow",
        }
    }

    pub fn add(&mut self, trigger: &Trigger, slow: Slow) {
        if self.triggers.is_empty() {
            self.word = trigger.kind.word;
        }
        self.t0_ns = self.t0_ns.min(slow.t0_ns);
        self.t1_ns = self.t1_ns.max(slow.t1_ns);
        let text = trigger.to_string();
        let (count, longest) = self.triggers.entry(text.clone()).or_insert_with(|| (0, slow.clone()));
        *count += 1;
        if slow.length_ns() > longest.length_ns() {
            longest.clone_from(&slow);
        }
        if self.reported.len() < MOST_REPORTED {
            let limit = trigger.limit.ns().unwrap_or(0);
            self.reported.push((text, limit, slow));
        }
    }

    /// When the first of it began.
    pub fn t0_ns(&self) -> i64 {
        self.t0_ns
    }

    /// From when on it is written.
    pub fn begins_ns(&self) -> i64 {
        self.t0_ns.saturating_sub(self.before_ns).max(self.not_before_ns.min(self.t0_ns))
    }

    /// Until when, if nothing further is slow.
    pub fn ends_ns(&self) -> i64 {
        self.cut_ns.unwrap_or_else(|| self.t1_ns.saturating_add(self.after_ns))
    }

    /// Ends it now if it would last longer; whether it would.
    pub fn end_at(&mut self, now_ns: i64) -> bool {
        let cut = now_ns < self.ends_ns();
        if cut {
            self.cut_ns = Some(now_ns);
        }
        cut
    }

    /// Whether it has gone on for so long that it is written in parts.
    pub fn is_long(&self, now_ns: i64) -> bool {
        let longest = i64::try_from(LONGEST.as_nanos()).unwrap_or(i64::MAX);
        // What was long by itself is reported when it has ended.
        now_ns.saturating_sub(self.t0_ns.max(self.not_before_ns)) > longest.saturating_add(self.after_ns)
    }

    /// "2026-11-21T20-15-03Z-stop": sorts by time, in UTC, without letters that file systems
    /// dislike.
    pub fn name(&self) -> String {
        format!("{}-{}", stamp(self.t0_ns), self.word)
    }

    /// What was slow, in one line: the longest of each trigger.
    pub fn summary(&self) -> String {
        let one = |(trigger, (n, longest)): (&String, &(u64, Slow))| {
            let times = match *n {
                0..=1 => String::new(),
                n => format!(" ({} times, the longest)", quantity::count(n as f64)),
            };
            format!("{trigger}: {} {}{times}", length(longest.length_ns()), longest.what)
        };
        self.triggers.iter().map(one).collect::<Vec<_>>().join("; ")
    }

    /// Whose it is, as often as something was reported.
    pub fn processes(&self) -> impl Iterator<Item = ProcessId> + '_ {
        self.reported.iter().filter_map(|(_, _, slow)| slow.process)
    }

    /// The same for the recording, apart from what was asked for and dropped.
    pub fn checks(&self, settings: &OnSlow, stand: &Stand) -> Vec<Check> {
        let mut checks: Vec<Check> = (self.triggers.iter())
            .map(|(trigger, (n, longest))| Check {
                claim: format!("kept for {trigger}"),
                holds: true,
                detail: format!(
                    "{} times; the longest: {} {}",
                    quantity::count(*n as f64),
                    length(longest.length_ns()),
                    longest.what
                ),
            })
            .collect();
        let early = if self.cut_ns.is_some() { "; ended early, as it went on" } else { "" };
        checks.push(Check {
            claim: format!(
                "{:.1} s before and {:.1} s behind it are kept",
                settings.before.as_secs_f64(),
                settings.after.as_secs_f64()
            ),
            holds: true,
            detail: format!(
                "{} incidents were written before it, {} older ones dropped for room, {} could not be written{early}",
                stand.written, stand.dropped, stand.failed
            ),
        });
        checks
    }

    /// What was slow, to be written. `machine`: makes the row of what is no process'.
    pub fn rows(&self, source: SourceId, machine: impl FnOnce() -> ProcessId) -> Vec<Row> {
        let needs = self.reported.iter().any(|(_, _, slow)| slow.process.is_none());
        let machine = needs.then(machine).unwrap_or(ProcessId(0));
        let row = |(trigger, limit_ns, slow): &(String, i64, Slow)| Row {
            trigger: trigger.clone(),
            what: [(label::WHAT, slow.what.clone())],
            figures: [(figure::LIMIT_NS, *limit_ns as f64)],
            slow: slow.clone(),
            process: slow.process.unwrap_or(machine),
            source,
        };
        self.reported.iter().map(row).collect()
    }
}

/// A slow thing as a row of the recording.
pub(super) struct Row {
    trigger: String,
    what: [(&'static str, String); 1],
    figures: [(&'static str, f64); 1],
    slow: Slow,
    process: ProcessId,
    source: SourceId,
}

impl Row {
    /// Shows it as a span.
    pub fn with<R>(&self, show: impl FnOnce(&SpanRow<'_>) -> R) -> R {
        let labels = [(self.what[0].0, self.what[0].1.as_str())];
        show(&SpanRow {
            thread: self.slow.thread,
            stack: self.slow.stack,
            figures: &self.figures,
            labels: &labels,
            ..SpanRow::new(
                kind::SLOW,
                &self.trigger,
                (self.slow.t0_ns, self.slow.t1_ns),
                self.process,
                self.source,
            )
        })
    }
}

/// "312 ms", "4.1 s".
fn length(ns: i64) -> String {
    match ns {
        ns if ns >= 10_000_000_000 => format!("{:.1} s", ns as f64 / 1e9),
        ns if ns >= 1_000_000_000 => format!("{:.2} s", ns as f64 / 1e9),
        ns => format!("{:.1} ms", ns as f64 / 1e6),
    }
}

/// A timestamp in UTC, "2026-11-21T20-15-03Z".
fn stamp(t_ns: i64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(t_ns)).unwrap_or_default();
    time.strftime("%Y-%m-%dT%H-%M-%SZ").to_string()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const S: i64 = 1_000_000_000;

    fn slow(t0_ns: i64, t1_ns: i64) -> Slow {
        let what = "write() of /var/log/gc.log".to_owned();
        Slow { t0_ns, t1_ns, process: Some(ProcessId(0)), thread: None, stack: None, what }
    }

    #[test]
    fn near_things_are_one_incident_that_ends_when_nothing_is_slow_for_long_enough() {
        let trigger: Trigger = "syscall>100ms".parse().unwrap();
        let mut incident = Incident::new(Duration::from_secs(10), Duration::from_secs(5), i64::MIN);
        incident.add(&trigger, slow(100 * S, 101 * S));
        assert_eq!((incident.begins_ns(), incident.ends_ns()), (90 * S, 106 * S));
        incident.add(&trigger, slow(99 * S, 104 * S));
        assert_eq!((incident.begins_ns(), incident.ends_ns()), (89 * S, 109 * S));
        assert_eq!(incident.name(), "1970-01-01T00-01-39Z-syscall");
        assert_eq!(
            incident.summary(),
            "syscall>100ms: 5.00 s write() of /var/log/gc.log (2 times, the longest)"
        );
        assert!(!incident.end_at(110 * S) && incident.end_at(107 * S));
        assert_eq!(incident.ends_ns(), 107 * S);
    }

    #[test]
    fn the_next_part_begins_where_the_one_before_was_cut_but_not_behind_what_is_slow() {
        let trigger: Trigger = "stop>1ms".parse().unwrap();
        let mut incident = Incident::new(Duration::from_secs(10), Duration::from_secs(5), 95 * S);
        incident.add(&trigger, slow(100 * S, 101 * S));
        assert_eq!(incident.begins_ns(), 95 * S);
        incident.add(&trigger, slow(93 * S, 101 * S));
        assert_eq!(incident.begins_ns(), 93 * S);
        assert!(!incident.is_long(150 * S) && incident.is_long(170 * S));
    }

    #[test]
    fn a_flood_is_counted_and_not_kept() {
        let trigger: Trigger = "syscall>1ms".parse().unwrap();
        let mut incident = Incident::new(Duration::ZERO, Duration::ZERO, i64::MIN);
        (0..10_000).for_each(|i| incident.add(&trigger, slow(i, i + S + i)));
        assert_eq!(incident.rows(SourceId(0), || ProcessId(0)).len(), MOST_REPORTED);
        assert!(incident.summary().contains("10,000 times"), "{}", incident.summary());
    }
}
