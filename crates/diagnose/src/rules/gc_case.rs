//! A JVM's collections as the GC rules weigh them: those of the slow windows beside those of the base.

use fathom_recording::vocabulary::{fact, kind};
use fathom_recording::{ProcessId, Span};

use crate::collections::{self, Pause};
use crate::{
    BlindSpot, Case, Confidence, Evidence, Finding, Judgement, LONG_STOP_MS, Rule, Window, quantity,
};

/// How many stretches a finding marks on the timeline; more cannot be told apart there.
const MARKED: usize = 50;
/// How many records a finding cites.
const CITED: usize = 3;

/// What pressure on the collector must cost of a whole run in which no series and no stop shows anything slow, as a
/// share of its wall time. What such a run would reach without it nobody knows, so more is asked than of a measured
/// loss: a tenth is beyond what collectors are built to take (G1 aims at 8 %), and where an engineer begins to act.
pub(crate) const WHOLE_RUN_SHARE: f64 = 0.10;
/// A single stop that is worth a finding whatever it is of the whole, milliseconds: from one second on people and
/// time-outs notice. It must also stand out of its run, see [`Case::stands_out`].
const STANDS_OUT_MS: f64 = 1_000.0;

/// Collections from which on a share of time can be told: a log that is a fragment of two or three records is
/// nothing but pauses.
pub(crate) const SEVERAL: usize = 5;

/// The collections of one JVM of a case.
pub(crate) struct GcCase<'c, 'a> {
    pub(crate) case: &'c Case<'a>,
    pub(crate) jvm: ProcessId,
    /// All pauses of the run, in order of start.
    pub(crate) all: Vec<Pause<'a>>,
    /// Those that touch a slow window.
    pub(crate) slow: Vec<Pause<'a>>,
    /// Those that touch a base window.
    base: Vec<Pause<'a>>,
}

impl<'c, 'a> GcCase<'c, 'a> {
    /// The collections of a JVM. Without any trace of collections the judgement is that nothing can be told.
    pub(crate) fn of(case: &'c Case<'a>, jvm: ProcessId, rule: &dyn Rule) -> Result<Self, Judgement> {
        let all = collections::pauses(case.recording, jvm, None);
        let known = |key| case.recording.processes.get(jvm.index()).and_then(|p| p.fact(key)).is_some();
        if all.is_empty() && !case.has(kind::GC_CONCURRENT, jvm) && !known(fact::COLLECTOR) {
            return Err(Judgement::CannotTell(BlindSpot {
                what: format!("garbage collections of {}", case.jvm_name(jvm)),
                rules: vec![rule.id().to_owned()],
                remedy:
                    "a GC log: -Xlog:gc*,safepoint:file=gc.log (JDK 8: -Xloggc:gc.log -XX:+PrintGCDetails)"
                        .into(),
            }));
        }
        let within = |windows: &[Window]| all.iter().filter(|p| touches(&p.span, windows)).copied().collect();
        let (slow, base) = (within(&case.slow), within(&case.base));
        Ok(Self { case, jvm, all, slow, base })
    }

    /// The pauses of the base windows that `which` picks.
    pub(crate) fn base_of(&self, which: impl Fn(&Pause<'a>) -> bool) -> Vec<Pause<'a>> {
        self.base.iter().filter(|p| which(p)).copied().collect()
    }

    /// Time in the slow windows of the pauses that `which` picks, above as much base time, milliseconds.
    pub(crate) fn excess_ms(&self, which: impl Fn(&Pause<'a>) -> bool) -> f64 {
        let time = |pauses: &[Pause<'a>], windows: &[Window]| {
            let stretches = pauses.iter().filter(|p| which(p)).map(|p| (p.span.t0_ns(), p.span.t1_ns()));
            Case::union_ms(stretches, windows)
        };
        self.case.excess_ms(time(&self.slow, &self.case.slow), time(&self.base, &self.case.base))
    }

    /// Whether the cost of pressure on the collector is worth a finding. Causes that somebody asked for by name are
    /// held against [`Case::matters`].
    pub(crate) fn matters(&self, cost_ms: f64) -> bool {
        let measured = !self.case.whole_run || self.case.loss.lost_ms > 0.0;
        self.case.matters(cost_ms)
            && (measured || cost_ms >= WHOLE_RUN_SHARE * Case::length_ms(&self.case.slow))
    }

    /// Whether a single stop is worth a finding, beside the usual ones of its run.
    pub(crate) fn stands_out(&self, stop_ms: f64, usual_ms: f64) -> bool {
        stop_ms >= STANDS_OUT_MS && Case::stands_out(stop_ms, usual_ms)
    }

    /// Share of the slow windows in which the JVM was stopped by pauses that `which` picks.
    pub(crate) fn stopped_share(&self, which: impl Fn(&Pause<'a>) -> bool) -> f64 {
        let stretches = self.slow.iter().filter(|p| which(p)).map(|p| (p.span.t0_ns(), p.span.t1_ns()));
        let length_ms = Case::length_ms(&self.case.slow);
        if length_ms > 0.0 { Case::union_ms(stretches, &self.case.slow) / length_ms } else { 0.0 }
    }

    /// The median pause of the run that `which` picks, milliseconds; 0 without any.
    pub(crate) fn usual_ms(&self, which: impl Fn(&Pause<'a>) -> bool) -> f64 {
        median(self.all.iter().filter(|p| which(p)).map(Pause::ms))
    }

    /// What is known of the JVM, by the words of [`fact`].
    pub(crate) fn fact(&self, key: &str) -> Option<&'a str> {
        self.case.recording.processes.get(self.jvm.index())?.fact(key)
    }

    /// The same as a number.
    pub(crate) fn fact_number(&self, key: &str) -> Option<f64> {
        self.fact(key)?.parse().ok()
    }

    /// The feature release: 8, 17.
    pub(crate) fn jdk(&self) -> Option<f64> {
        self.fact_number(fact::JDK)
    }

    /// Whether the collector is surely another one than `name`.
    pub(crate) fn is_other_than(&self, name: &str) -> bool {
        self.fact(fact::COLLECTOR).is_some_and(|c| c != name)
    }

    /// The largest heap: as the log states it, else the largest capacity printed with a collection.
    pub(crate) fn heap_max_bytes(&self) -> Option<f64> {
        let printed = || {
            let key = fathom_recording::vocabulary::figure::HEAP_CAPACITY_BYTES;
            self.all.iter().filter_map(|p| p.span.figure(key)).reduce(f64::max)
        };
        self.fact_number(fact::HEAP_MAX_BYTES).or_else(printed).filter(|bytes| *bytes > 0.0)
    }

    /// The log that tells of the pauses, with their number.
    pub(crate) fn source(&self) -> String {
        let pauses = quantity::plural(self.slow.len(), "pause", "pauses");
        let log = self.all.first().and_then(|p| self.case.recording.sources.get(p.span.source().index()));
        log.map_or(String::new(), |log| format!("{} ({pauses})", log.name))
    }

    /// Not there, for this figure.
    pub(crate) fn ruled_out(&self, figure: impl Into<String>) -> Judgement {
        Judgement::RuledOut { figure: figure.into(), source: self.source() }
    }

    /// How sure a cause is that the log itself names: proven where it explains half of the loss.
    pub(crate) fn named(&self, cost_ms: f64) -> (Confidence, String) {
        match self.case.share(cost_ms) {
            Some(share) if share >= 0.5 => (
                Confidence::Proven,
                "the log names the cause, and it explains half of the loss or more".into(),
            ),
            Some(_) => (
                Confidence::Likely,
                "the log names the cause, but it explains less than half of the loss".into(),
            ),
            None => (
                Confidence::Likely,
                "the log names the cause; no series shows what it cost the application".into(),
            ),
        }
    }

    /// A finding with what follows from the case, its stretches marked.
    pub(crate) fn finding(
        &self,
        rule: &dyn Rule,
        (confidence, why): (Confidence, String),
        cost_ms: f64,
        pauses: &[Pause<'_>],
    ) -> Finding {
        let mut finding = self.case.finding(rule, self.jvm, confidence, cost_ms);
        finding.why_confidence = why;
        finding.windows = stretches(pauses.iter().map(|p| p.span));
        finding.stop = self.case.longest_stop(self.jvm, &finding.windows);
        finding
    }
}

/// Stretches for the timeline, in order of time. Where there are many, those closest together become one, so that a
/// cause that acts all the time is one long stretch.
pub(crate) fn stretches<'a>(spans: impl Iterator<Item = Span<'a>>) -> Vec<Window> {
    let mut windows: Vec<_> = spans.map(|s| Window { from_ns: s.t0_ns(), to_ns: s.t1_ns() }).collect();
    windows.sort_by_key(|w| w.from_ns);
    let gap = |a: &Window, b: &Window| b.from_ns.saturating_sub(a.to_ns);
    let mut gaps: Vec<i64> = windows.windows(2).filter_map(|w| Some(gap(w.first()?, w.get(1)?))).collect();
    gaps.sort_unstable();
    let narrow = windows.len().checked_sub(MARKED + 1).and_then(|i| gaps.get(i)).copied().unwrap_or(i64::MIN);
    let mut merged: Vec<Window> = Vec::new();
    for window in windows {
        match merged.last_mut() {
            Some(last) if gap(last, &window) <= narrow => last.to_ns = last.to_ns.max(window.to_ns),
            _ => merged.push(window),
        }
    }
    merged
}

/// The few records that show a thing best, by `weight`, largest first.
pub(crate) fn most<'p, 'a>(
    pauses: &'p [Pause<'a>],
    weight: impl Fn(&Pause<'a>) -> f64,
) -> Vec<&'p Pause<'a>> {
    let mut order: Vec<_> = pauses.iter().collect();
    order.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    order.truncate(CITED);
    order
}

/// Whether pauses are several, or one of them is long in itself: a fragment of a log is nothing but pauses, and its
/// shares of time say nothing.
pub(crate) fn several_or_long(pauses: &[Pause<'_>]) -> bool {
    pauses.len() >= SEVERAL || pauses.iter().any(|p| p.ms() >= LONG_STOP_MS)
}

/// A figure with the record that it stands in.
pub(crate) fn cited(span: &Span<'_>, text: impl Into<String>) -> Evidence {
    Evidence { text: text.into(), source: span.position(), at_ns: Some(span.t0_ns()) }
}

/// A figure taken over many records.
pub(crate) fn summed(source: impl Into<String>, text: impl Into<String>) -> Evidence {
    Evidence { text: text.into(), source: source.into(), at_ns: None }
}

/// A remedy.
pub(crate) fn remedy(
    change: impl Into<String>,
    applies_to: impl Into<String>,
    risk: impl Into<String>,
) -> crate::Remedy {
    crate::Remedy { change: change.into(), applies_to: applies_to.into(), risk: risk.into() }
}

/// Nothing can be told without what `remedy` switches on.
pub(crate) fn blind(rule: &dyn Rule, what: impl Into<String>, remedy: impl Into<String>) -> Judgement {
    Judgement::CannotTell(BlindSpot {
        what: what.into(),
        rules: vec![rule.id().to_owned()],
        remedy: remedy.into(),
    })
}

/// The median; 0 without values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    values.sort_by(f64::total_cmp);
    values.get(values.len() / 2).copied().unwrap_or(0.0)
}

fn touches(span: &Span<'_>, windows: &[Window]) -> bool {
    windows.iter().any(|w| {
        span.overlap_ns(w.from_ns, w.to_ns) > 0
            || (span.t0_ns() == span.t1_ns() && (w.from_ns..w.to_ns).contains(&span.t0_ns()))
    })
}
