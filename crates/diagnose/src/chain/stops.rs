//! Stops of a JVM, cut into their parts, each with the threads behind it.
//!
//! ```text
//!   asked ──── threads stop ────▶ the last is in ──── operation ───▶ done ── leaving ──▶ threads run
//!   ├───────────── reach ────────┤├───────────────────────────────────┤├───── leave ────┤
//!                                       └ the VM thread writes the log ┘ (wherever it lies: a part of its own)
//! ```
//!
//! The times are those of the safepoint's record (live probes, the GC log, JFR). Who came last is
//! recorded by JFR, or shown by the switches: whoever is switched out in
//! `SafepointSynchronize::block` last before all had stopped. Where nobody is seen to block near
//! the end (a thread that leaves Java stands without blocking), it is who was on a CPU, waited for
//! one or was in a page fault for most of the time.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{ProcessId, Role, Span, StackId, ThreadId};
use serde::Serialize;

use super::walk::Walk;
use super::{Chains, End, Link, LinkKind, position};
use crate::facts::{Metric, Value, links};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::waits::log_write::{VM_THREAD, log_writes};
use crate::{Statement, Window};

/// The last thread is in when it blocks so shortly before all had stopped, as a part of the time
/// that it took, and in any case within a millisecond: the VM thread looks again and again, with
/// growing pauses (safepoint.cpp, `back_off`).
const NEAR_END: f64 = 0.1;
const NEAR_END_NS: i64 = 1_000_000;
/// Who was busy for as much of the time is taken to be the last where nobody was seen to block.
const MOST_OF_IT: f64 = 0.5;
/// Stops for which the last thread is looked for in one chain: the longest.
const LOOKED_AT: usize = 100;
/// Records that one stop may have: the pause and the safepoint around it, of the log and of the
/// live probes.
const RECORDS_OF_A_STOP: usize = 4;
/// The VM thread was woken by who asks for an operation at most so long before it begins,
/// nanoseconds.
const ASKED_NS: i64 = 20_000_000;

/// A stop of a JVM, cut into parts.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Stop {
    /// The JVM, in words that no other JVM of the recording goes by.
    pub process: String,
    /// The same as a row of the recording's processes.
    pub process_id: ProcessId,
    /// The VM operation.
    pub operation: String,
    /// When it was asked for, nanoseconds on the recording's clock.
    pub from_ns: i64,
    /// When the threads ran again.
    pub to_ns: i64,
    /// Its length, milliseconds.
    pub ms: f64,
    /// The thread that asked for it, where that is known.
    pub asked_by: Option<String>,
    /// The thread that all others waited for until they had stopped.
    pub last_in: Option<String>,
    /// How that is known.
    pub last_in_how: Option<Statement>,
    /// The stack at which it came in, innermost frame first.
    pub last_in_stack: Vec<String>,
    /// Its parts, in order of time; their lengths add up to `ms`.
    pub parts: Vec<StopPart>,
    /// Where its record stands.
    pub source: String,
}

/// A part of a stop.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct StopPart {
    /// Which.
    pub part: Part,
    /// In words.
    pub words: &'static str,
    /// When it begins, nanoseconds. Writes of the log may lie within another part, which is
    /// interrupted by them.
    pub from_ns: i64,
    /// When it ends.
    pub to_ns: i64,
    /// Its length, milliseconds.
    pub ms: f64,
    /// What the thread behind it did meanwhile: the last one in, then the VM thread.
    pub links: Vec<Link>,
}

/// Parts of a stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "PartOfStop"))]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// The time to safepoint, from the request on, with the cleanup where the record does not
    /// separate it.
    Reach,
    /// The operation.
    Operation,
    /// The VM thread writing the JVM's log.
    LogWrite,
    /// From the end of the operation until the threads ran.
    Leave,
}

impl Part {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Reach => "time to safepoint",
            Self::Operation => "the operation",
            Self::LogWrite => "writing the JVM's log",
            Self::Leave => "until threads ran again",
        }
    }

    /// That a link is this part of a stop.
    fn of_stop(self) -> &'static Metric {
        match self {
            Self::Reach => &links::STOP_REACH,
            Self::Operation => &links::STOP_OPERATION,
            Self::LogWrite => &links::STOP_LOG_WRITE,
            Self::Leave => &links::STOP_LEAVE,
        }
    }
}

/// Who came last.
struct LastIn {
    thread: ThreadId,
    /// When it had stopped.
    until_ns: i64,
    how: &'static Metric,
    stack: Option<StackId>,
}

/// A stop before its parts are followed.
struct Cut<'a> {
    span: Span<'a>,
    parts: Vec<(Part, Intervals)>,
}

impl<'a> Chains<'a> {
    /// The longest stops of a JVM that touch a window, the longest first.
    pub fn stops(&self, jvm: ProcessId, window: Window, most: usize) -> Vec<Stop> {
        let kinds = [kind::SAFEPOINT, kind::GC_PAUSE].into_iter();
        let touches = |span: &Span<'_>| span.t0_ns() < window.to_ns && span.t1_ns() > window.from_ns;
        let spans = kinds.flat_map(|kind| self.recording.spans_of(kind));
        let mut spans: Vec<(i64, i64)> = spans
            .filter(|span| span.process() == jvm && touches(span))
            .map(|span| (span.t0_ns(), span.t1_ns()))
            .collect();
        // Of a log with a million stops only the longest are cut; a stop may be in a few
        // records.
        let few = most.saturating_mul(RECORDS_OF_A_STOP);
        if few < spans.len() {
            spans.select_nth_unstable_by_key(few, |(from, to)| std::cmp::Reverse(to.saturating_sub(*from)));
            spans.truncate(few);
        }
        let mut cuts = self.cuts(jvm, &Intervals::of(spans));
        cuts.sort_by_key(|cut| std::cmp::Reverse(cut.span.duration_ns()));
        cuts.truncate(most);
        cuts.iter().map(|cut| self.stop(jvm, cut)).collect()
    }

    fn stop(&self, jvm: ProcessId, cut: &Cut<'a>) -> Stop {
        let span = &cut.span;
        let last = self.last_in(jvm, cut);
        let mut parts: Vec<StopPart> = Vec::new();
        for (part, intervals) in &cut.parts {
            let mut walk = Walk::new(self, span.duration_ns());
            let ends = intervals.ranges();
            parts.push(StopPart {
                part: *part,
                words: part.words(),
                from_ns: ends.first().map_or(0, |s| s.0),
                to_ns: ends.last().map_or(0, |s| s.1),
                ms: intervals.length_ms(),
                links: walk.part_links(jvm, *part, intervals, last.as_ref()),
            });
        }
        parts.sort_by_key(|part| (part.from_ns, part.part));
        Stop {
            process: self.recording.process_name(jvm).to_owned(),
            process_id: jvm,
            operation: span.name().to_owned(),
            from_ns: span.t0_ns(),
            to_ns: span.t1_ns(),
            ms: span.duration_ns() as f64 / 1e6,
            asked_by: self.asked_by(jvm, span),
            last_in: last.as_ref().map(|last| self.named(last.thread).0),
            last_in_how: last.as_ref().map(|last| last.how.fact().into()),
            last_in_stack: self.frames(last.and_then(|last| last.stack)),
            parts,
            source: position(span),
        }
    }

    /// Stops of a JVM that touch some intervals, in order of time. A stop that two sources recorded
    /// is one: that of the record which has its parts, else the longer one.
    fn cuts(&self, jvm: ProcessId, intervals: &Intervals) -> Vec<Cut<'a>> {
        let kinds = [kind::SAFEPOINT, kind::GC_PAUSE].into_iter();
        let spans = kinds.flat_map(|kind| self.recording.spans_of(kind)).filter(|span| {
            span.process() == jvm && intervals.within(span.t0_ns(), span.t1_ns()).next().is_some()
        });
        let mut spans: Vec<Span<'a>> = spans.collect();
        let rank = |span: &Span<'_>| {
            (span.kind() != kind::SAFEPOINT, span.figure(figure::REACH_NS).is_none(), -span.duration_ns())
        };
        spans.sort_by_cached_key(rank);
        let mut kept: BTreeMap<i64, Span<'a>> = BTreeMap::new();
        for span in spans {
            let before = kept.range(..=span.t0_ns()).next_back();
            let after = kept.range(span.t0_ns()..).next();
            let same = |other: &Span<'_>| {
                2 * other.overlap_ns(span.t0_ns(), span.t1_ns()) > other.duration_ns().min(span.duration_ns())
            };
            if span.duration_ns() > 0 && !before.into_iter().chain(after).any(|(_, other)| same(other)) {
                kept.insert(span.t0_ns(), span);
            }
        }
        let logging = Intervals::of(log_writes(self.recording, jvm).iter().map(|s| (s.t0_ns(), s.t1_ns())));
        kept.into_values().map(|span| cut(span, &logging)).collect()
    }

    fn vm_thread(&self, jvm: ProcessId) -> Option<ThreadId> {
        let name = self.recording.strings.find(VM_THREAD)?;
        let threads = self.recording.threads.iter().enumerate();
        let vm = threads.filter(|(_, thread)| thread.process == jvm && thread.name == name);
        vm.map(|(i, _)| ThreadId(i as u32)).max_by_key(|id| self.intervals.off(*id).len())
    }

    /// Who asked: as the operation's record says, else who woke the VM thread for it.
    fn asked_by(&self, jvm: ProcessId, stop: &Span<'_>) -> Option<String> {
        let operations = self.recording.spans_of(kind::VM_OPERATION);
        let mut own =
            operations.filter(|op| op.process() == jvm && op.overlap_ns(stop.t0_ns(), stop.t1_ns()) > 0);
        if let Some(caller) = own.find_map(|op| op.label(label::CALLER)) {
            return Some(caller.to_owned());
        }
        let vm = self.vm_thread(jvm)?;
        let off = self.intervals.off(vm);
        let last = off[..off.partition_point(|off| off.t0_ns() < stop.t0_ns())].last()?;
        let is_for_it = (stop.t0_ns() - ASKED_NS..=stop.t0_ns()).contains(&last.t1_ns());
        let asker = self.thread_named(last.label(label::WAKER)?).filter(|_| is_for_it)?;
        let row = &self.recording.threads[asker.index()];
        (row.process == jvm && asker != vm).then(|| self.named(asker).0)
    }

    /// Whether a thread waits for an operation that it has asked for: it holds nobody up, and
    /// blocks for the safepoint only when it happens to wake up meanwhile.
    fn has_asked(&self, stack: Option<StackId>) -> bool {
        self.recording.frames_of(stack).any(|frame| frame.name() == "VMThread::execute")
    }

    fn last_in(&self, jvm: ProcessId, cut: &Cut<'a>) -> Option<LastIn> {
        let (_, reach) = cut.parts.iter().find(|(part, _)| *part == Part::Reach)?;
        let (from_ns, to_ns) = (reach.ranges().first()?.0, reach.ranges().last()?.1);
        let late = self.recording.spans_of(kind::SAFEPOINT_LATE);
        let late = late.filter(|late| late.process() == jvm && late.overlap_ns(from_ns, to_ns) > 0);
        if let Some(late) = late.max_by_key(Span::t1_ns)
            && let Some(thread) = late.thread()
        {
            let how = &links::LAST_RECORDED;
            return Some(LastIn { thread, until_ns: late.t1_ns().min(to_ns), how, stack: late.stack() });
        }
        let java = |id: &ThreadId| {
            let row = &self.recording.threads[id.index()];
            row.process == jvm && matches!(row.role, Role::App | Role::Other)
        };
        let mut blocked: Option<(i64, Span<'a>, ThreadId)> = None;
        let mut busy: Option<(i64, i64, ThreadId)> = None;
        for thread in self.intervals.threads().filter(java) {
            let off = self.intervals.off(thread);
            // One that blocks shortly after all had stopped came back from native code, and held
            // nobody up.
            let first = off.partition_point(|span| span.t0_ns() < from_ns);
            let within = off[first..].iter().take_while(|span| span.t0_ns() <= to_ns);
            let blocks = |stack| self.stacks.category(stack) == Category::Stopped && !self.has_asked(stack);
            for span in within.filter(|span| blocks(span.stack())) {
                if blocked.is_none_or(|(at, ..)| span.t0_ns() > at) {
                    blocked = Some((span.t0_ns(), *span, thread));
                }
            }
            let Some(by_category) = self.intervals.by_category(thread, &self.stacks) else { continue };
            let on = [Category::Running, Category::RunQueue, Category::Throttled, Category::PageFault];
            let on = on.iter().map(|category| by_category[category.index()].and(reach));
            let on = on.fold(Intervals::default(), |all, part| all.or(&part));
            let until = on.ranges().last().map_or(from_ns, |s| s.1);
            if busy.is_none_or(|(ns, ..)| on.length_ns() > ns) {
                busy = Some((on.length_ns(), until, thread));
            }
        }
        let took = to_ns.saturating_sub(from_ns);
        let near = ((took as f64 * NEAR_END) as i64).max(NEAR_END_NS);
        match (blocked, busy) {
            (Some((at, span, thread)), _) if to_ns.saturating_sub(at) <= near => {
                let how = &links::LAST_BLOCKED;
                Some(LastIn { thread, until_ns: at, how, stack: span.stack() })
            }
            (_, Some((ns, until_ns, thread))) if ns as f64 >= MOST_OF_IT * took as f64 => {
                let how = &links::LAST_RAN;
                Some(LastIn { thread, until_ns, how, stack: self.in_fault(thread, (from_ns, to_ns)) })
            }
            _ => None,
        }
    }

    /// Where a thread was in the page fault that took most of a time, if one took half of it.
    fn in_fault(&self, thread: ThreadId, (from_ns, to_ns): (i64, i64)) -> Option<StackId> {
        let faults = self.recording.spans_of(kind::PAGE_FAULT).filter(|fault| fault.thread() == Some(thread));
        let longest = faults.max_by_key(|fault| fault.overlap_ns(from_ns, to_ns))?;
        let most = longest.overlap_ns(from_ns, to_ns) * 2 >= to_ns.saturating_sub(from_ns);
        longest.stack().filter(|_| most)
    }
}

/// Splits a stop; all time counts once, the log first.
fn cut<'a>(span: Span<'a>, logging: &Intervals) -> Cut<'a> {
    let (t0, t1) = (span.t0_ns(), span.t1_ns());
    let ns = |key| span.figure(key).filter(|ns| *ns > 0.0).map_or(0, |ns| ns as i64);
    let mut left = Intervals::of([(t0, t1)]);
    let mut parts = Vec::new();
    let mut charge = |part: Part, intervals: &Intervals| {
        let own = left.and(intervals);
        left = left.without(&own);
        if !own.is_empty() {
            parts.push((part, own));
        }
    };
    charge(Part::LogWrite, logging);
    charge(Part::Reach, &Intervals::of([(t0, t0.saturating_add(ns(figure::REACH_NS)).min(t1))]));
    charge(Part::Leave, &Intervals::of([(t1.saturating_sub(ns(figure::LEAVE_NS)).max(t0), t1)]));
    charge(Part::Operation, &Intervals::of([(t0, t1)]));
    Cut { span, parts }
}

impl<'a> Walk<'_, 'a> {
    /// What a thread waited for that was stopped in some intervals.
    pub(super) fn stop_links(&mut self, jvm: ProcessId, intervals: &Intervals) -> Vec<Link> {
        let mut cuts = self.chains.cuts(jvm, intervals);
        cuts.sort_by_key(|cut| std::cmp::Reverse(cut.span.duration_ns()));
        type Group<'s> = (Intervals, Option<LastIn>, Option<Span<'s>>);
        let mut groups: BTreeMap<(Part, Option<ThreadId>, &'a str), Group<'a>> = BTreeMap::new();
        let mut left = intervals.clone();
        for (i, cut) in cuts.iter().enumerate() {
            let last = if i < LOOKED_AT { self.chains.last_in(jvm, cut) } else { None };
            for (part, own) in &cut.parts {
                let own = own.and(&left);
                if own.is_empty() {
                    continue;
                }
                left = left.without(&own);
                let thread = last.as_ref().filter(|_| *part == Part::Reach).map(|last| last.thread);
                let name = if *part == Part::Reach { "" } else { cut.span.name() };
                let group = groups.entry((*part, thread, name)).or_insert((
                    Intervals::default(),
                    None,
                    Some(cut.span),
                ));
                group.0 = group.0.or(&own);
            }
            // The longest stop of a group comes first: its last timestamp stands for them.
            if let Some(last) = last
                && let Some(group) = groups.get_mut(&(Part::Reach, Some(last.thread), ""))
                && group.1.is_none()
            {
                group.1 = Some(last);
            }
        }
        let mut groups: Vec<_> = groups.into_iter().collect();
        groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.0.length_ns()));
        let mut next = self.the_most(
            groups,
            |(_, group)| group.0.clone(),
            |walk, ((part, _, name), (own, last, span))| {
                let what = part.of_stop().fact().with("operation", Value::named(name));
                let mut link = walk.link(LinkKind::Stop, (None, None), what, &own);
                walk.cite(&mut link, span.as_ref(), None);
                link.process = walk
                    .chains
                    .recording
                    .processes
                    .get(jvm.index())
                    .map_or_else(String::new, |p| p.name.clone());
                link.next = walk.part_links(jvm, part, &own, last.as_ref());
                if link.next.is_empty() {
                    link.end = Some(End::Unknown);
                }
                link
            },
        );
        if !left.is_empty() {
            let what = links::STOP_UNKNOWN.fact();
            let mut rest = self.link(LinkKind::StopUnknown, (None, None), what, &left);
            rest.end = Some(End::Unknown);
            next.push(rest);
        }
        next
    }

    /// What the thread behind a part of a stop did in its intervals: the last thread until it had
    /// stopped, and the VM thread.
    fn part_links(
        &mut self,
        jvm: ProcessId,
        part: Part,
        intervals: &Intervals,
        last: Option<&LastIn>,
    ) -> Vec<Link> {
        let vm = self.chains.vm_thread(jvm);
        if part != Part::Reach {
            return vm.map_or_else(Vec::new, |vm| self.thread_links(vm, intervals));
        }
        let Some(last) = last else { return Vec::new() };
        // Within one stop, what comes after the last thread had stopped is the VM thread's; of many
        // stops put together, all of it is that thread's.
        let one = intervals.ranges().last().is_some_and(|end| {
            intervals.ranges().first().is_some_and(|first| (first.0..=end.1).contains(&last.until_ns))
        });
        let own =
            if one { intervals.and(&Intervals::of([(i64::MIN, last.until_ns)])) } else { intervals.clone() };
        let mut next = self.thread_links(last.thread, &own);
        let rest = intervals.without(&own);
        if let (Some(vm), false) = (vm, rest.is_empty()) {
            next.extend(self.thread_links(vm, &rest));
        }
        next
    }

    /// What a thread did, unless the chain leads through it already.
    fn thread_links(&mut self, thread: ThreadId, intervals: &Intervals) -> Vec<Link> {
        if intervals.is_empty() {
            return Vec::new();
        }
        if self.leads_through(thread) {
            let again = links::AGAIN.fact();
            let mut link = self.link(LinkKind::Again, (Some(thread), None), again, intervals);
            link.end = Some(End::Circle);
            return vec![link];
        }
        self.links(thread, intervals)
    }
}
