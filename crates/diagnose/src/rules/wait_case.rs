//! What threads of a JVM waited for, as the rules on locks and names weigh it.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::kind;
use fathom_recording::{ProcessId, Recording, Source, Span, StackId, ThreadId};

use super::gc_case::{cited, stretches, summed};
use crate::intervals::Intervals;
use crate::ledger::Parts;
use crate::{Case, Confidence, Evidence, Finding, Judgement, Rule, Window, quantity};

/// A wait of a thread within the slow windows, without the time in which the whole JVM was stopped.
pub(crate) struct Wait<'a> {
    pub(crate) span: Span<'a>,
    pub(crate) ms: f64,
}

/// Waits of one kind of one JVM.
pub(crate) struct Waits<'c, 'a> {
    pub(crate) case: &'c Case<'a>,
    pub(crate) jvm: ProcessId,
    pub(crate) slow: Vec<Wait<'a>>,
    base_ms: f64,
    /// Who would have told of them.
    watcher: Option<&'a Source>,
}

impl<'c, 'a> Waits<'c, 'a> {
    /// The spans of a kind that `which` picks. `None`: nobody looked for that kind, as far as the recording tells.
    pub(crate) fn of(
        case: &'c Case<'a>,
        jvm: ProcessId,
        kind: &str,
        which: impl Fn(&Span<'a>) -> bool,
    ) -> Option<Self> {
        let watcher = watcher(case.recording, kind);
        if watcher.is_none() && !case.has(kind, jvm) {
            return None;
        }
        let stops = Parts::of(case.recording, jvm).stopped;
        let stops = stops.iter().fold(Intervals::default(), |all, part| all.or(part));
        let waits = |windows: &[Window]| -> Vec<Wait<'a>> {
            let within = Intervals::of_windows(windows);
            let own = |s: &Span<'a>| {
                Intervals::of([(s.t0_ns(), s.t1_ns())]).and(&within).without(&stops).length_ms()
            };
            let spans = case.spans_in(kind, jvm, windows).filter(|s| which(s));
            spans.map(|span| Wait { ms: own(&span), span }).collect()
        };
        let base_ms = waits(&case.base).iter().map(|w| w.ms).sum();
        Some(Self { case, jvm, slow: waits(&case.slow), base_ms, watcher })
    }

    /// Time that threads waited in the slow windows, added up, milliseconds.
    pub(crate) fn total_ms(&self) -> f64 {
        self.slow.iter().map(|w| w.ms).sum()
    }

    /// The longest wait, milliseconds.
    pub(crate) fn longest_ms(&self) -> f64 {
        self.slow.iter().map(|w| w.ms).fold(0.0, f64::max)
    }

    /// Threads that waited.
    pub(crate) fn threads(&self) -> usize {
        self.slow.iter().filter_map(|w| w.span.thread()).collect::<BTreeSet<ThreadId>>().len()
    }

    /// What the waits cost the threads that waited, in wall time: their time above the base's, per thread. What a
    /// thread would have done meanwhile is taken to be worth what it does otherwise; an upper bound where others did
    /// its work.
    pub(crate) fn cost_ms(&self) -> f64 {
        self.case.excess_ms(self.total_ms(), self.base_ms) / self.threads().max(1) as f64
    }

    /// Waits put together by a key, the dearest first.
    pub(crate) fn by(&self, key: impl Fn(&Span<'a>) -> String) -> Vec<(String, Group)> {
        let mut groups: BTreeMap<String, Group> = BTreeMap::new();
        for wait in &self.slow {
            let group = groups.entry(key(&wait.span)).or_default();
            group.count += 1;
            group.ms += wait.ms;
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by(|a, b| b.1.ms.total_cmp(&a.1.ms));
        groups
    }

    /// The longest waits as evidence.
    pub(crate) fn longest(&self, most: usize, what: impl Fn(&Span<'a>) -> String) -> Vec<Evidence> {
        let mut order: Vec<&Wait<'_>> = self.slow.iter().collect();
        order.sort_by(|a, b| b.ms.total_cmp(&a.ms));
        let cite = |w: &&Wait<'a>| cited(&w.span, format!("{} {}", quantity::millis(w.ms), what(&w.span)));
        order.iter().take(most).map(cite).collect()
    }

    /// The sources of the waits with their number.
    pub(crate) fn source(&self) -> String {
        let own = self.slow.first().and_then(|w| self.case.recording.sources.get(w.span.source().index()));
        let source = own.or(self.watcher);
        let waits = quantity::plural(self.slow.len(), "wait", "waits");
        source.map_or(String::new(), |s| format!("{} ({waits})", s.name))
    }

    pub(crate) fn summed(&self, text: impl Into<String>) -> Evidence {
        summed(self.source(), text)
    }

    pub(crate) fn ruled_out(&self, figure: impl Into<String>) -> Judgement {
        Judgement::RuledOut { figure: figure.into(), source: self.source() }
    }

    pub(crate) fn finding(&self, rule: &dyn Rule, (confidence, why): (Confidence, &str)) -> Finding {
        let mut finding = self.case.finding(rule, self.jvm, confidence, self.cost_ms());
        finding.why_confidence = why.into();
        finding.windows = stretches(self.slow.iter().map(|w| w.span));
        finding
    }
}

/// The collector of `fathom record` that tells of a kind of waits, where it was at work for the whole recording and saw
/// everything it looked for: then that there are none says that nobody waited.
fn watcher<'a>(recording: &'a Recording, kind: &str) -> Option<&'a Source> {
    let collector = match kind {
        kind::LOCK_MONITOR | kind::LOCK_PARK => "locks",
        kind::NET_DNS => "network",
        _ => return None,
    };
    let whole = |source: &&Source| source.covers_ns.is_some() && source.unseen.is_empty() && source.lost == 0;
    recording.sources.iter().filter(|source| source.format == collector).find(whole)
}

/// Waits of one key.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) count: usize,
    pub(crate) ms: f64,
}

/// The innermost Java method of a stack, beyond those that `skip` picks.
pub(crate) fn java_method(
    recording: &Recording,
    stack: Option<StackId>,
    skip: impl Fn(&str) -> bool,
) -> Option<&str> {
    use fathom_recording::FrameType::{C1, C2, Inlined, Interpreted};
    let mut at = stack;
    while let Some(node) = at.and_then(|id| recording.stacks.get(id.index())) {
        let frame = recording.frames.get(node.frame.index())?;
        let name = recording.strings.get(frame.name);
        if matches!(frame.frame_type, Interpreted | C1 | C2 | Inlined) && !skip(name) {
            return Some(name);
        }
        at = node.parent;
    }
    None
}

/// What threads waited for was not recorded. One wording for all rules, so that it is one row.
pub(crate) fn unseen(rule: &dyn Rule, what: &str) -> Judgement {
    super::gc_case::blind(
        rule,
        what,
        "a JFR file of the time (jcmd PID JFR.start settings=profile), fathom record, or strace -f -ttt -T",
    )
}
