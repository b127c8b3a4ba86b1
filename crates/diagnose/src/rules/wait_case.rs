//! What threads of a JVM waited for, as the rules on locks and names weigh it.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::vocabulary::{kind, label, source};
use fathom_recording::{ProcessId, Recording, Source, Span, ThreadId};
use rustc_hash::FxHashSet;

use super::gc_case::{cited, marked, summed};
use crate::facts::{Value, scope, switch_on};
use crate::intervals::Intervals;
use crate::sight::left_out;
use crate::split_time::Parts;
use crate::waits::Category;
use crate::waits::place::{NO_PLACE, place};
use crate::{Case, Evidence, Fact, Finding, Judgement, Origin, Rule, Statement, Sure, Window};

/// In the class of a semaphore: `java.util.concurrent.Semaphore$NonfairSync`.
const SEMAPHORE: &str = "java.util.concurrent.Semaphore";

/// A wait of a thread within the slow windows, without the time in which the whole JVM was stopped.
pub(crate) struct Wait<'a> {
    pub(crate) span: Span<'a>,
    pub(crate) ms: f64,
}

/// Time of one thread at one place that the ledger of threads attributes to a kind of waits and no
/// record of one covers: too short to be recorded one by one, or begun before the recording.
pub(crate) struct Unlisted {
    pub(crate) thread: ThreadId,
    pub(crate) place: String,
    pub(crate) ms: f64,
}

/// Waits of one kind of one JVM.
pub(crate) struct Waits<'c, 'a> {
    pub(crate) case: &'c Case<'a>,
    pub(crate) jvm: ProcessId,
    pub(crate) slow: Vec<Wait<'a>>,
    /// What no record of a single wait covers.
    pub(crate) unlisted: Vec<Unlisted>,
    /// When that was.
    unlisted_intervals: Intervals,
    base_ms: f64,
    /// What of the loss operations spent in such waits, where that is known: threads that do
    /// the operations alternately wait each for a part of the time only, so that an average of
    /// their waits is less. 0 where it is not.
    pub(crate) attributed_ms: f64,
    /// Of all such waits in the slow windows, the part that is left without those of workers that
    /// wait for work; see [`idle_workers`].
    pub(crate) kept_share: f64,
    /// The collector that would have recorded them.
    watcher: Option<&'a Source>,
}

impl<'c, 'a> Waits<'c, 'a> {
    /// The spans of a kind that `which` picks. `None`: as far as the recording shows, nobody looked
    /// for that kind.
    pub(crate) fn of(
        case: &'c Case<'a>,
        jvm: ProcessId,
        kind: &str,
        which: impl Fn(&Span<'a>) -> bool,
    ) -> Option<Self> {
        let watcher = watcher(case.recording, jvm, kind);
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
        let (unlisted, unlisted_intervals) = (Vec::new(), Intervals::default());
        Some(Self {
            case,
            jvm,
            slow: waits(&case.slow),
            unlisted,
            unlisted_intervals,
            base_ms,
            attributed_ms: 0.0,
            kept_share: 1.0,
            watcher,
        })
    }

    /// The same with the spans of another kind that `which` picks.
    pub(crate) fn and_of(mut self, kind: &str, which: impl Fn(&Span<'a>) -> bool) -> Self {
        if let Some(other) = Self::of(self.case, self.jvm, kind, which) {
            self.slow.extend(other.slow);
            self.base_ms += other.base_ms;
        }
        self
    }

    /// Waits for locks: what the ledger of threads attributes to `category`, without the time in
    /// which the whole JVM was stopped. Spans of a kind that `which` picks show them one by one,
    /// each by as much as the ledger has of it; the rest is known by its place alone. `None`:
    /// nobody looked.
    pub(crate) fn of_locks(
        case: &'c Case<'a>,
        jvm: ProcessId,
        (kind, category): (&str, Category),
        own: &[&str],
        which: impl Fn(&Span<'a>) -> bool,
    ) -> Option<Self> {
        let watcher = watcher(case.recording, jvm, kind);
        // A log that knows no threads shows no waits but those that it lists.
        let has_threads = || case.recording.threads.iter().any(|thread| thread.process == jvm);
        if watcher.is_none() && !case.has(kind, jvm) && !has_threads() {
            return None;
        }
        let stops = Parts::of(case.recording, jvm).stopped;
        let stops = stops.iter().fold(Intervals::default(), |all, part| all.or(part));
        let idle = idle_workers(case, jvm, kind, own);
        let in_windows = |windows| {
            let mut locks = locks_in(case, jvm, (kind, category), windows, &stops, &which);
            let all_ms = locks.ms();
            if !idle.is_empty() {
                let at = |span: &Span<'a>| waits_at(case, span, own);
                locks.waits.retain(|wait| !at(&wait.span).is_some_and(|at| idle.contains(&at)));
                // Its short waits are taken to be for the same.
                locks.unlisted.retain(|(thread, _)| !idle.iter().any(|(worker, ..)| worker == thread));
            }
            (locks, all_ms)
        };
        let (slow, all_ms) = in_windows(&case.slow);
        let (base, _) = in_windows(&case.base);
        let kept_share = if all_ms > 0.0 { slow.ms() / all_ms } else { 1.0 };
        let nothing = slow.waits.is_empty() && slow.unlisted.is_empty();
        if watcher.is_none() && nothing && !case.has(kind, jvm) {
            return None;
        }
        let mut unlisted: BTreeMap<(ThreadId, &str), f64> = BTreeMap::new();
        for (thread, intervals) in &slow.unlisted {
            for (stack, ns) in case.chains().stacks_under(*thread, category, intervals) {
                let place = place(case.recording, stack, own);
                *unlisted.entry((*thread, place)).or_default() += ns as f64 / 1e6;
            }
        }
        let all = slow.unlisted.iter().flat_map(|(_, intervals)| intervals.ranges().iter().copied());
        Some(Self {
            case,
            jvm,
            unlisted_intervals: Intervals::of(all),
            unlisted: unlisted
                .into_iter()
                .map(|((thread, place), ms)| Unlisted { thread, place: place.to_owned(), ms })
                .collect(),
            base_ms: base.ms(),
            attributed_ms: 0.0,
            kept_share,
            slow: slow.waits,
            watcher,
        })
    }

    /// Whether no collector that should have seen all such waits says that it did not. Logs have
    /// what was asked of them.
    pub(crate) fn is_whole(&self, kind: &str) -> bool {
        self.watcher.is_some() || collectors(self.case.recording, kind).next().is_none()
    }

    /// Time that threads waited in the slow windows, added up, milliseconds.
    pub(crate) fn total_ms(&self) -> f64 {
        self.slow.iter().map(|w| w.ms).sum::<f64>() + self.unlisted_ms()
    }

    /// Of it, what no record of a single wait covers.
    pub(crate) fn unlisted_ms(&self) -> f64 {
        self.unlisted.iter().map(|u| u.ms).sum()
    }

    /// The longest wait, milliseconds.
    pub(crate) fn longest_ms(&self) -> f64 {
        self.slow.iter().map(|w| w.ms).fold(0.0, f64::max)
    }

    /// Threads that waited.
    pub(crate) fn threads(&self) -> usize {
        self.who().len()
    }

    fn who(&self) -> BTreeSet<ThreadId> {
        // Of millions of waits, a few threads': a set without order first.
        let listed: FxHashSet<ThreadId> = self.slow.iter().filter_map(|w| w.span.thread()).collect();
        listed.into_iter().chain(self.unlisted.iter().map(|u| u.thread)).collect()
    }

    /// How many of those lived at a time: a service that makes a thread for each request has many,
    /// one after another.
    fn at_a_time(&self) -> f64 {
        let slow = Intervals::of_windows(&self.case.slow);
        let whole_ns = slow.length_ns().max(1);
        let lived_ns = |thread: ThreadId| {
            let (from, to) = self.case.chains().lived(thread)?;
            let ns = slow.length_within_ns(from, to);
            // First and last record of one that is there all along are not its ends.
            Some(if ns >= whole_ns - ns { whole_ns } else { ns })
        };
        let lived_ns: f64 = self.who().into_iter().map(|id| lived_ns(id).unwrap_or(whole_ns) as f64).sum();
        (lived_ns / whole_ns as f64).max(1.0)
    }

    /// What the waits cost the threads that waited, in wall time: their time above the baseline's,
    /// per thread that lived at a time. What a thread would have done meanwhile is taken to be
    /// worth what it does otherwise; an upper bound where others did its work. It is no more than
    /// the time in which anybody waited: of virtual threads that live for one request each, how
    /// many there were at a time is not known.
    pub(crate) fn cost_ms(&self) -> f64 {
        let each = self.case.excess_ms(self.total_ms(), self.base_ms) / self.at_a_time();
        each.min(self.any_ms() + self.unlisted_ms()).max(self.attributed_ms)
    }

    /// Whether it is mainly virtual threads that waited, nobody did for most of the time, and no
    /// series shows what was lost: then what they cost may be far less than the longest that it can
    /// be.
    pub(crate) fn may_cost_little(&self) -> bool {
        let is_virtual = |wait: &&Wait<'_>| {
            let thread = wait.span.thread().and_then(|id| self.case.recording.threads.get(id.index()));
            thread.is_some_and(|thread| thread.tid.is_none())
        };
        let virtual_ms: f64 = self.slow.iter().filter(is_virtual).map(|w| w.ms).sum();
        let watched = self.case.recording.spans_of(kind::SCHED_WATCHED).next().is_some();
        self.case.lost_by.is_empty()
            && watched
            && 2.0 * virtual_ms > self.total_ms()
            && 2.0 * self.any_ms() < Case::length_ms(&self.case.slow)
    }

    /// Time of the slow windows in which any thread is recorded to have waited, milliseconds.
    fn any_ms(&self) -> f64 {
        let ranges = self.slow.iter().map(|w| (w.span.t0_ns(), w.span.t1_ns()));
        Case::union_ms(ranges, &self.case.slow)
    }

    /// Waits put together by a key, the most expensive first.
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

    /// The longest waits as evidence: `what` each was for, whose value is how long it took.
    pub(crate) fn longest(&self, most: usize, what: impl Fn(&Span<'a>) -> Fact) -> Vec<Evidence> {
        let mut order: Vec<(usize, &Wait<'_>)> = self.slow.iter().enumerate().collect();
        let longer =
            |a: &(usize, &Wait<'_>), b: &(usize, &Wait<'_>)| b.1.ms.total_cmp(&a.1.ms).then(a.0.cmp(&b.0));
        if most < order.len() {
            order.select_nth_unstable_by(most, longer);
            order.truncate(most);
        }
        order.sort_unstable_by(longer);
        let cite = |w: &Wait<'a>| cited(&w.span, Fact { value: Some(Value::ms(w.ms)), ..what(&w.span) });
        let mut rows: Vec<Evidence> = order.iter().map(|(_, wait)| cite(wait)).collect();
        // Threads that all wait from before the recording until behind it say nothing one by one.
        rows.dedup_by(|a, b| a.text() == b.text());
        rows
    }

    /// The sources of the waits with their number.
    pub(crate) fn source(&self) -> Origin {
        let own = self.slow.first().and_then(|w| self.case.recording.sources.get(w.span.source().index()));
        let source = own.or(self.watcher);
        let records = Some((self.slow.len(), "wait", "waits"));
        source.map_or_else(Origin::default, |s| Origin { name: s.name.clone(), line: None, records })
    }

    pub(crate) fn summed(&self, fact: impl Into<Fact>) -> Evidence {
        summed(self.source(), fact)
    }

    pub(crate) fn ruled_out(&self, figure: impl Into<Statement>) -> Judgement {
        Judgement::RuledOut { figure: figure.into(), source: self.source().to_string() }
    }

    pub(crate) fn finding(&self, rule: &dyn Rule, sure: Sure) -> Finding {
        let mut finding = self.case.finding(rule, self.jvm, sure, self.cost_ms());
        let listed = self.slow.iter().map(|w| Window { from_ns: w.span.t0_ns(), to_ns: w.span.t1_ns() });
        // A wait goes on beyond the slow windows; the finding is about what it did to them.
        let marked = marked(listed.chain(self.unlisted_intervals.windows()).collect());
        let slow = Intervals::of_windows(&self.case.slow);
        finding.windows = Intervals::of_windows(&marked).and(&slow).windows();
        finding
    }
}

/// A thread that waits for a semaphore at a place: thread, class, place.
type At<'a> = (ThreadId, &'a str, &'a str);

fn waits_at<'a>(case: &Case<'a>, span: &Span<'a>, own: &[&str]) -> Option<At<'a>> {
    let is_semaphore = span.name().contains(SEMAPHORE);
    let thread = span.thread().filter(|_| is_semaphore)?;
    let stack = case.chains().stack_of(span);
    Some((thread, span.name(), place(case.recording, stack, own)))
}

/// Threads that wait for a semaphore, at a place and of an address, where no other one ever does. A
/// semaphore has no owner: who alone acquires it waits for the next piece of work, which others
/// announce by a release, and for nobody who holds it.
fn idle_workers<'a>(case: &Case<'a>, jvm: ProcessId, kind: &str, own: &[&str]) -> BTreeSet<At<'a>> {
    let recording: &'a Recording = case.recording;
    let mut who: BTreeMap<(&str, &str), BTreeSet<ThreadId>> = BTreeMap::new();
    let mut one_by_one: Vec<(At<'a>, (&str, &str))> = Vec::new();
    for span in recording.spans_of(kind).filter(|span| span.process() == jvm) {
        let Some(at) = waits_at(case, &span, own) else { continue };
        let (thread, class, place) = at;
        let address = (class, span.label(label::ADDRESS).unwrap_or(place));
        who.entry((class, place)).or_default().insert(thread);
        who.entry(address).or_default().insert(thread);
        one_by_one.push((at, address));
    }
    let mut idle: BTreeSet<At<'a>> = one_by_one.iter().map(|(at, _)| *at).collect();
    for (at, address) in one_by_one {
        let (_, class, place) = at;
        if [(class, place), address].iter().any(|key| who[key].len() > 1) || place == NO_PLACE {
            idle.remove(&at);
        }
    }
    idle
}

/// Waits for locks in some windows.
#[derive(Default)]
struct Locks<'a> {
    waits: Vec<Wait<'a>>,
    unlisted: Vec<(ThreadId, Intervals)>,
}

impl Locks<'_> {
    fn ms(&self) -> f64 {
        let unlisted: f64 = self.unlisted.iter().map(|(_, intervals)| intervals.length_ms()).sum();
        self.waits.iter().map(|w| w.ms).sum::<f64>() + unlisted
    }
}

fn locks_in<'a>(
    case: &Case<'a>,
    jvm: ProcessId,
    (kind, category): (&str, Category),
    windows: &[Window],
    stops: &Intervals,
    which: &impl Fn(&Span<'a>) -> bool,
) -> Locks<'a> {
    let within = Intervals::of_windows(windows).without(stops);
    let mut locks = Locks::default();
    if within.is_empty() {
        return locks;
    }
    let mut listed: BTreeMap<ThreadId, Vec<(i64, i64)>> = BTreeMap::new();
    let mut charged: BTreeMap<ThreadId, Option<Intervals>> = BTreeMap::new();
    let chains = case.chains();
    let of = |thread: ThreadId| Some(chains.under(thread, category)?.and(&within));
    for span in case.spans_in(kind, jvm, windows).filter(|span| which(span)) {
        let all = |intervals: &Intervals| intervals.length_within_ns(span.t0_ns(), span.t1_ns()) as f64 / 1e6;
        let ms = match span.thread() {
            Some(thread) => {
                listed.entry(thread).or_default().push((span.t0_ns(), span.t1_ns()));
                let intervals = charged.entry(thread).or_insert_with(|| of(thread));
                all(intervals.as_ref().unwrap_or(&within))
            }
            None => all(&within),
        };
        locks.waits.push(Wait { span, ms });
    }
    let threads = case.recording.threads.iter().enumerate().filter(|(_, thread)| thread.process == jvm);
    for thread in threads.map(|(i, _)| ThreadId(i as u32)) {
        let Some(intervals) = charged.remove(&thread).unwrap_or_else(|| of(thread)) else { continue };
        let rest = intervals.without(&Intervals::of(listed.remove(&thread).unwrap_or_default()));
        if !rest.is_empty() {
            locks.unlisted.push((thread, rest));
        }
    }
    locks
}

/// The collector of `fathom record` that records a kind of waits, where it was at work for the
/// whole recording and saw every wait of that kind: only then does their absence mean that nobody
/// waited.
fn watcher<'a>(recording: &'a Recording, jvm: ProcessId, kind: &str) -> Option<&'a Source> {
    let pid = recording.processes.get(jvm.index()).and_then(|process| process.pid);
    let whole = |source: &&Source| {
        let hides = source.unseen.iter().any(|unseen| unseen.may_hide(kind, pid));
        source.covers_ns.is_some() && source.lost == 0 && !hides
    };
    collectors(recording, kind).find(whole)
}

/// The collector of `fathom record` that records a kind of waits.
fn collector(kind: &str) -> Option<&'static str> {
    match kind {
        kind::LOCK_MONITOR | kind::LOCK_PARK => Some(source::LOCKS),
        kind::NET_DNS => Some(source::NETWORK),
        _ => None,
    }
}

/// The sources of a recording that would have recorded a kind of waits.
fn collectors<'a>(recording: &'a Recording, kind: &str) -> impl Iterator<Item = &'a Source> {
    let format = collector(kind);
    recording.sources.iter().filter(move |source| Some(source.format.as_str()) == format)
}

/// Waits of one key.
#[derive(Default)]
pub(crate) struct Group {
    pub(crate) count: usize,
    pub(crate) ms: f64,
}

/// What threads waited for was not recorded, or not all of it. One wording for all rules, so that
/// it is one row. Where a collector of `fathom record` looked for it and missed some, another
/// recording by it would not show more.
pub(crate) fn unseen(
    rule: &dyn Rule,
    (case, jvm): (&Case<'_>, ProcessId),
    kind: &str,
    what: &str,
) -> Judgement {
    let recording = case.recording;
    let pid = recording.processes.get(jvm.index()).and_then(|process| process.pid);
    let Some(collector) = collectors(recording, kind).next() else {
        let left_out = collector(kind).and_then(|collector| left_out(recording, collector));
        let remedy = left_out.unwrap_or_else(|| switch_on::WAITS.fact());
        return super::gc_case::blind(rule, scope::WAITS.is(Value::name(what)), remedy);
    };
    let why: Statement = match collector.unseen.iter().find(|unseen| unseen.may_hide(kind, pid)) {
        Some(unseen) => {
            let fact = scope::UNSEEN.fact().with("what", Value::name(what));
            let fact = fact.with("collector", Value::name(&collector.name));
            fact.with("unseen", Value::name(&unseen.what)).into()
        }
        None => {
            let fact = scope::WAITS.is(Value::name(what));
            fact.with("collector", Value::name(&collector.name)).into()
        }
    };
    super::gc_case::blind(rule, why, switch_on::WAITS_BY_OTHERS.fact())
}
