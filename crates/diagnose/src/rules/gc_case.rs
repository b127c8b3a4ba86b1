//! A JVM's collections as the GC rules weigh them: those of the slow windows compared with those of
//! the baseline.

use std::rc::Rc;

use fathom_recording::vocabulary::{fact, kind, live};
use fathom_recording::{ProcessId, Span};

use crate::burden;
use crate::collections::{self, Pause};
use crate::confidence::Ground;
use crate::facts::{Metric, Value, reasons, remedies, ruled_out, scope, switch_on};
use crate::intervals::Intervals;
use crate::limits::{self, LONG_MS};
use crate::stop_delay::StopDelay;
use crate::waits::log_write::log_writes;
use crate::{
    BlindSpot, Case, Evidence, Fact, Finding, Judgement, LONG_STOP_MS, Origin, Rule, Statement, Sure, Window,
};

/// How many intervals a finding marks on the timeline; more cannot be distinguished there.
const MARKED: usize = 50;
/// How many records a finding cites.
const CITED: usize = 3;

/// What a rule that goes by samples asks of a whole run in which no series and no stop shows
/// anything slow, as a share of its wall time. What such a run would reach without it nobody knows,
/// so more is asked than of a measured loss.
pub(crate) const WHOLE_RUN_SHARE: f64 = 0.10;
/// How long before a slow window a failed collection may lie whose consequence the window is,
/// nanoseconds: the full collection after it comes within seconds.
const LEAD_NS: i64 = 10_000_000_000;
/// Slow windows that are stops for as much of their time were picked for that: a share of them says
/// nothing.
const PICKED: f64 = 0.8;

/// Collections from which on a share of time means something: a log that is a fragment of two or
/// three records is nothing but pauses.
pub(crate) const SEVERAL: usize = 5;

/// The collections of one JVM of a case.
pub(crate) struct GcCase<'c, 'a> {
    pub(crate) case: &'c Case<'a>,
    pub(crate) jvm: ProcessId,
    /// All pauses of the run, in order of start.
    pub(crate) all: Rc<Vec<Pause<'a>>>,
    /// Those that touch a slow window: the same where that is all of them, for a long log has
    /// hundreds of thousands.
    pub(crate) slow: Rc<Vec<Pause<'a>>>,
    /// The longest of them, nanoseconds.
    longest_slow_ns: i64,
    /// Those that touch a baseline window.
    base: Rc<Vec<Pause<'a>>>,
    /// Whether the slow windows are but the longest stops of a JVM that is hardly stopped, none of
    /// them for long.
    quiet: bool,
}

impl<'c, 'a> GcCase<'c, 'a> {
    /// The collections of a JVM. Without any trace of collections the judgement is inconclusive.
    pub(crate) fn of(case: &'c Case<'a>, jvm: ProcessId, rule: &dyn Rule) -> Result<Self, Judgement> {
        let known = case.known.stops(jvm);
        let all = Rc::clone(&known.pauses);
        let is_known = |key| case.recording.processes.get(jvm.index()).and_then(|p| p.fact(key)).is_some();
        if all.is_empty() && !case.has(kind::GC_CONCURRENT, jvm) && !is_known(fact::COLLECTOR) {
            return Err(Judgement::Inconclusive(BlindSpot {
                what: scope::COLLECTIONS.is(Value::name(case.jvm_name(jvm))).into(),
                rules: vec![rule.id().to_owned()],
                remedy: switch_on::GC_LOG.fact().into(),
            }));
        }
        let touches = |windows: &Intervals, p: &Pause<'_>| windows.touches(p.span.t0_ns(), p.span.t1_ns());
        let within = |windows: &[Window]| {
            let windows = Intervals::of_windows(windows);
            match all.iter().all(|p| touches(&windows, p)) {
                true => Rc::clone(&all),
                false => Rc::new(all.iter().filter(|p| touches(&windows, p)).copied().collect()),
            }
        };
        let (slow, base) = (within(&case.slow), within(&case.base));
        let longest_slow_ns = slow.iter().map(|p| p.span.duration_ns()).max().unwrap_or(0);
        let quiet = case.found_on_stops && known.burden.quiet;
        Ok(Self { case, jvm, all, slow, longest_slow_ns, base, quiet })
    }

    /// The pauses of the slow windows that touch an interval, and few others: asked for each of as
    /// many stops.
    pub(crate) fn slow_during(&self, from_ns: i64, to_ns: i64) -> impl Iterator<Item = &Pause<'a>> + Clone {
        let earliest_ns = from_ns.saturating_sub(self.longest_slow_ns);
        let first = self.slow.partition_point(|p| p.span.t0_ns() < earliest_ns);
        let during = self.slow.iter().skip(first);
        during.take_while(move |p| p.span.t0_ns() <= to_ns)
    }

    /// The pauses of the baseline windows that `which` picks.
    pub(crate) fn base_of(&self, which: impl Fn(&Pause<'a>) -> bool) -> Vec<Pause<'a>> {
        self.base.iter().filter(|p| which(p)).copied().collect()
    }

    /// Time in the slow windows of the pauses that `which` picks, above as much baseline time,
    /// milliseconds. What the JVM waited in them for a write of its log is not theirs: the
    /// collection would have been as short without it. Where as many requests as ever come, those
    /// that came in a pause waited for its end.
    pub(crate) fn excess_ms(&self, which: impl Fn(&Pause<'a>) -> bool) -> f64 {
        let writes = log_writes(self.case.recording, self.jvm);
        let writes = Intervals::of(writes.iter().map(|write| (write.t0_ns(), write.t1_ns())));
        let time = |pauses: &[Pause<'a>], windows: &[Window]| {
            let ranges = pauses.iter().filter(|p| which(p)).map(|p| (p.span.t0_ns(), p.span.t1_ns()));
            if writes.is_empty() {
                return Case::union_ms(ranges, windows);
            }
            let ranges = Intervals::of(ranges).and(&Intervals::of_windows(windows));
            ranges.length_ms() - ranges.and(&writes).length_ms()
        };
        let ms = self.case.excess_ms(time(&self.slow, &self.case.slow), time(&self.base, &self.case.base));
        let all = self.slow.iter().chain(self.base.iter()).filter(|p| which(p));
        let all = Intervals::of(all.map(|p| (p.span.t0_ns(), p.span.t1_ns()))).without(&writes);
        ms.max(StopDelay::cost_ms(self.case, &all))
    }

    /// Whether a cost is worth a finding, see [`Case::matters`]. Of windows that were picked for
    /// being stops it is always a good part: where the JVM is hardly stopped, and never for long,
    /// the ordinary work of its collector is none.
    pub(crate) fn matters(&self, cost_ms: f64) -> bool {
        !self.quiet && self.case.matters(cost_ms)
    }

    /// Whether nothing but the stops themselves shows what was slow: no series was given.
    pub(crate) fn on_stops(&self) -> bool {
        self.case.whole_run || self.case.lost_by.is_empty()
    }

    /// Whether the JVM was logged for long enough for shares of its time.
    pub(crate) fn is_a_run(&self) -> bool {
        burden::shows_share(self.case.known.stops(self.jvm).burden.logged.length_ns(), self.all.len())
    }

    /// For how long the JVM was logged, milliseconds.
    pub(crate) fn logged_ms(&self) -> f64 {
        self.case.known.stops(self.jvm).burden.logged.length_ms()
    }

    /// That there are collections, and too few, or in too short a time, to judge their share of it.
    pub(crate) fn too_few(&self, rule: &dyn Rule) -> Judgement {
        let pauses = self.slow.iter().map(|p| (p.span.t0_ns(), p.span.t1_ns()));
        let what = scope::TOO_FEW_PAUSES.is(Value::ms(Case::union_ms(pauses, &self.case.slow)));
        let what = what.with("jvm", Value::name(self.case.jvm_name(self.jvm)));
        let what = what.with("pauses", Value::count(self.slow.len()));
        blind(rule, what, switch_on::LONGER_LOG_UNDER_LOAD.fact())
    }

    /// Whether the slow windows are stops and little else.
    fn picked(&self) -> bool {
        let stops = crate::stops::of_jvm(self.case.recording, self.jvm);
        let slow = Intervals::of_windows(&self.case.slow);
        !self.case.whole_run
            && self.case.lost_by.is_empty()
            && stops.and(&slow).length_ms() >= PICKED * slow.length_ms()
    }

    /// The pauses in which a failure is to be looked for: all where only the stops show what was
    /// slow, else those of the slow windows with what came just before them.
    pub(crate) fn judged(&self) -> impl Iterator<Item = &Pause<'a>> {
        let is_judged = self.is_judged();
        self.all.iter().filter(move |p| is_judged(p))
    }

    /// The same of pauses whose records are truncated.
    pub(crate) fn judged_cut_off(&self) -> Vec<Pause<'a>> {
        let is_judged = self.is_judged();
        collections::cut_off(self.case.recording, self.jvm).into_iter().filter(is_judged).collect()
    }

    fn is_judged(&self) -> impl Fn(&Pause<'a>) -> bool + use<'a> {
        let before = |w: &Window| Window { from_ns: w.from_ns.saturating_sub(LEAD_NS), to_ns: w.to_ns };
        let near = Intervals::of_windows(&self.case.slow.iter().map(before).collect::<Vec<_>>());
        let all = self.on_stops();
        move |p| all || near.touches(p.span.t0_ns(), p.span.t1_ns())
    }

    /// Whether a pause touches a slow window.
    pub(crate) fn is_slow(&self, pause: &Pause<'_>) -> bool {
        // The windows are in order, and there may be as many as pauses.
        let (from, to) = (pause.span.t0_ns(), pause.span.t1_ns());
        let next = self.case.slow.partition_point(|window| window.to_ns <= from);
        self.case.slow.get(next).is_some_and(|window| window.from_ns < to.max(from.saturating_add(1)))
    }

    /// The windows that shares of time are given of: the slow ones, or the whole run where those
    /// were picked for being stops.
    pub(crate) fn shared_of(&self) -> Vec<Window> {
        let run = self.picked().then(|| self.case.known.stops(self.jvm).burden.logged.windows());
        run.filter(|windows| !windows.is_empty()).unwrap_or_else(|| self.case.slow.clone())
    }

    /// With all pauses of the run for those of slow windows that were picked for being stops.
    pub(crate) fn over_run(mut self) -> Self {
        if self.picked() {
            self.slow = Rc::clone(&self.all);
        }
        self
    }

    /// Whether a single stop is worth a finding, compared with the usual ones of its run.
    pub(crate) fn stands_out(&self, stop_ms: f64, usual_ms: f64) -> bool {
        stop_ms >= LONG_MS && limits::stands_out(stop_ms, usual_ms)
    }

    /// Share of the windows of [`Self::shared_of`] in which the JVM was stopped by pauses that
    /// `which` picks.
    pub(crate) fn stopped_share(&self, which: impl Fn(&Pause<'a>) -> bool) -> f64 {
        let windows = self.shared_of();
        let ranges = self.all.iter().filter(|p| which(p)).map(|p| (p.span.t0_ns(), p.span.t1_ns()));
        let length_ms = Case::length_ms(&windows);
        if length_ms > 0.0 { Case::union_ms(ranges, &windows) / length_ms } else { 0.0 }
    }

    /// The median pause of the run that `which` picks, milliseconds; 0 without any.
    pub(crate) fn usual_ms(&self, which: impl Fn(&Pause<'a>) -> bool) -> f64 {
        median(self.all.iter().filter(|p| which(p)).map(Pause::ms))
    }

    /// What is known of the JVM, by the words of [`fact`].
    pub(crate) fn fact(&self, key: &str) -> Option<&'a str> {
        self.case.recording.processes.get(self.jvm.index())?.fact(key)
    }

    /// The collector; where nothing names it, as far as its records show it: one with concurrent
    /// work in the old generation is G1 when it says so, else CMS.
    pub(crate) fn collector(&self) -> Option<&'a str> {
        let says_g1 = |p: &Pause<'_>| p.cause().is_some_and(|cause| cause.starts_with("G1 "));
        self.fact(fact::COLLECTOR).or_else(|| {
            let g1 = self.all.iter().any(says_g1).then_some("G1");
            g1.or_else(|| self.case.has(kind::GC_CONCURRENT, self.jvm).then_some("CMS"))
        })
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

    /// The largest heap: as the log states it, or the largest capacity printed with a collection
    /// where that is larger (a log joined of those of two JVMs) or nothing is stated.
    pub(crate) fn heap_max_bytes(&self) -> Option<f64> {
        let key = fathom_recording::vocabulary::figure::HEAP_CAPACITY_BYTES;
        let printed = self.all.iter().filter_map(|p| p.span.figure(key));
        printed.chain(self.fact_number(fact::HEAP_MAX_BYTES)).reduce(f64::max).filter(|bytes| *bytes > 0.0)
    }

    /// The log of the pauses, with their number.
    pub(crate) fn source(&self) -> Origin {
        let log = self.all.first().and_then(|p| self.case.recording.sources.get(p.span.source().index()));
        let records = Some((self.slow.len(), "pause", "pauses"));
        log.map_or_else(Origin::default, |log| Origin { name: log.name.clone(), line: None, records })
    }

    /// Not there, for this value.
    pub(crate) fn ruled_out(&self, figure: impl Into<Statement>) -> Judgement {
        Judgement::RuledOut { figure: figure.into(), source: self.source().to_string() }
    }

    /// There is none in the time that is judged: no pause, or none of some kind.
    pub(crate) fn none(&self, metric: &'static Metric) -> Judgement {
        self.ruled_out(metric.fact().with("in", self.case.judged_time()))
    }

    /// Not among this many pauses, for this value; of no pause there is nothing else to say.
    pub(crate) fn ruled_out_among(&self, pauses: usize, figure: impl Into<Statement>) -> Judgement {
        if pauses == 0 { self.none(&ruled_out::NO_PAUSE) } else { self.ruled_out(figure) }
    }

    /// How sure a cause is that the log itself names: proven where it explains half of the loss.
    pub(crate) fn named(&self, cost_ms: f64) -> Sure {
        Ground::Itself.sure(self.case, cost_ms, &reasons::NAMED)
    }

    /// A finding with what follows from the case, its intervals marked.
    pub(crate) fn finding(&self, rule: &dyn Rule, sure: Sure, cost_ms: f64, pauses: &[Pause<'_>]) -> Finding {
        let mut finding = self.case.finding(rule, self.jvm, sure, cost_ms);
        finding.windows = ranges(pauses.iter().map(|p| p.span));
        finding.acts = windows_of(pauses.iter().map(|p| p.span));
        finding.stop = self.case.longest_stop(self.jvm, &finding.windows);
        finding
    }
}

/// Intervals for the timeline, in order of time. Where there are many, those closest together
/// become one, so that a cause that acts all the time is one long interval.
pub(crate) fn ranges<'a>(spans: impl Iterator<Item = Span<'a>>) -> Vec<Window> {
    marked(windows_of(spans))
}

/// Spans as intervals, one by one.
pub(crate) fn windows_of<'a>(spans: impl Iterator<Item = Span<'a>>) -> Vec<Window> {
    spans.map(|s| Window { from_ns: s.t0_ns(), to_ns: s.t1_ns() }).collect()
}

/// The same of windows in any order.
pub(crate) fn marked(mut windows: Vec<Window>) -> Vec<Window> {
    windows.sort_by_key(|w| w.from_ns);
    let gap = |a: &Window, b: &Window| b.from_ns.saturating_sub(a.to_ns);
    let mut gaps: Vec<i64> = windows.windows(2).filter_map(|w| Some(gap(w.first()?, w.get(1)?))).collect();
    let narrow = match windows.len().checked_sub(MARKED + 1) {
        Some(i) if i < gaps.len() => *gaps.select_nth_unstable(i).1,
        _ => i64::MIN,
    };
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
    let mut most: Vec<(f64, &Pause<'a>)> = Vec::with_capacity(CITED + 1);
    for pause in pauses {
        let weight = weight(pause);
        let at = most.partition_point(|(more, _)| more.total_cmp(&weight).is_ge());
        if at < CITED {
            most.insert(at, (weight, pause));
            most.truncate(CITED);
        }
    }
    most.into_iter().map(|(_, pause)| pause).collect()
}

/// Whether pauses are several, or one of them is long in itself: a fragment of a log is nothing but
/// pauses, and its shares of time say nothing.
pub(crate) fn several_or_long(pauses: &[Pause<'_>]) -> bool {
    pauses.len() >= SEVERAL || pauses.iter().any(|p| p.ms() >= LONG_STOP_MS)
}

/// A value with the record that it stands in.
pub(crate) fn cited(span: &Span<'_>, fact: impl Into<Fact>) -> Evidence {
    Evidence::cited(span, fact)
}

/// A value taken over many records.
pub(crate) fn summed(source: impl Into<Origin>, fact: impl Into<Fact>) -> Evidence {
    Evidence::summed(source, fact)
}

/// What to look at, and to do, where a stop waited rather than worked, or worked in the kernel, and
/// swap may be why; `None` where the log says that the machine has none, or the recording that
/// nothing was read back from it.
pub(crate) fn no_swap(case: &Case<'_>, jvm: ProcessId) -> Option<crate::Remedy> {
    let process = case.recording.processes.get(jvm.index());
    let total = process.and_then(|process| process.fact(fact::SWAP_TOTAL_BYTES)?.parse::<f64>().ok());
    let read = case.recording.series.iter().filter(|s| s.info.name == live::HOST_SWAP_IN.name);
    let mut read = read.flat_map(|series| &series.value).peekable();
    let is_unused = read.peek().is_some() && read.all(|rate| *rate == 0.0);
    (total != Some(0.0) && !is_unused).then(|| remedies::NO_SWAP.remedy())
}

/// Nothing can be decided without what `remedy` switches on.
pub(crate) fn blind(rule: &dyn Rule, what: impl Into<Statement>, remedy: impl Into<Statement>) -> Judgement {
    Judgement::Inconclusive(BlindSpot {
        what: what.into(),
        rules: vec![rule.id().to_owned()],
        remedy: remedy.into(),
    })
}

/// The median; 0 without values.
pub(crate) fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.filter(|v| v.is_finite()).collect();
    if values.is_empty() {
        return 0.0;
    }
    let middle = values.len() / 2;
    *values.select_nth_unstable_by(middle, f64::total_cmp).1
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::built::{Built, judged};
    use crate::rules::{gc_evacuation_failure, gc_explicit, gc_humongous, gc_metaspace};

    #[test]
    fn where_there_was_no_pause_that_is_the_reason() {
        let quiet = Built::jvm("17", "G1", 60.0).sealed();
        let rules: [&dyn Rule; 4] = [
            &gc_evacuation_failure::GcEvacuationFailure,
            &gc_explicit::GcExplicit,
            &gc_humongous::GcHumongous,
            &gc_metaspace::GcMetaspace,
        ];
        for rule in rules {
            let Judgement::RuledOut { figure, .. } = judged(rule, &quiet) else { panic!("{}", rule.id()) };
            figure.states(&ruled_out::NO_PAUSE, &[("in", "the time that was looked at")]);
        }
    }
}
