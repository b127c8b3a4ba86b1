//! Following what a thread waited for, link by link, with bounds on depth and number.

use fathom_recording::vocabulary::label;
use fathom_recording::{Span, StackId, ThreadId};

use super::thread_activity::{Doing, Next};
use super::{Chains, End, Link, LinkKind, position};
use crate::facts::{Value, links};
use crate::intervals::Intervals;
use crate::waits::Category;
use crate::{Fact, Statement};

/// Threads that follow each other. Chains of real programs are three or four long; a longer one is
/// a queue.
const MOST_DEPTH: usize = 12;
/// Things followed at one link; the others are put together.
const MOST_NEXT: usize = 5;
/// What is less of the victim's time than this is put together too.
const LEAST_SHARE: f64 = 0.005;
/// Links of one chain.
const MOST_LINKS: usize = 200;

/// One chain being followed.
pub(super) struct Walk<'c, 'a> {
    pub(super) chains: &'c Chains<'a>,
    total_ns: i64,
    left: usize,
    /// The threads that lead here, each with whether the wait that led on from it never ended.
    path: Vec<(ThreadId, bool)>,
}

impl<'c, 'a> Walk<'c, 'a> {
    /// Of a chain that stands for so much time.
    pub(super) fn new(chains: &'c Chains<'a>, total_ns: i64) -> Self {
        Self { chains, total_ns, left: MOST_LINKS, path: Vec::new() }
    }

    /// What a thread did in some intervals, and what it waited for then.
    pub(super) fn links(&mut self, thread: ThreadId, intervals: &Intervals) -> Vec<Link> {
        let doings = self.chains.doings(thread, intervals);
        self.through(thread, |walk| {
            walk.the_most(doings, |doing| doing.intervals.clone(), |walk, doing| walk.follow(thread, doing))
        })
    }

    /// Follows what lies behind a thread, which is on the path meanwhile.
    pub(super) fn through<T>(&mut self, thread: ThreadId, follow: impl FnOnce(&mut Self) -> T) -> T {
        self.path.push((thread, false));
        let followed = follow(self);
        self.path.pop();
        followed
    }

    /// Links of the first of some things, which come with the longest first; the rest becomes one.
    pub(super) fn the_most<T>(
        &mut self,
        things: Vec<T>,
        intervals: impl Fn(&T) -> Intervals,
        mut link: impl FnMut(&mut Self, T) -> Link,
    ) -> Vec<Link> {
        let (mut most, mut count, mut rest) = (Vec::new(), 0, Intervals::default());
        for (i, thing) in things.into_iter().enumerate() {
            let own = intervals(&thing);
            let is_short = (own.length_ns() as f64) < LEAST_SHARE * self.total_ns as f64;
            if i > 0 && (is_short || i >= MOST_NEXT) || self.left == 0 {
                count += 1;
                rest = rest.or(&own);
            } else {
                self.left -= 1;
                most.push(link(self, thing));
            }
        }
        if count > 0 {
            let smaller = links::SMALLER.is(Value::count(count));
            let mut link = self.link(LinkKind::Smaller, (None, None), smaller, &rest);
            link.end = Some(End::NotFollowed);
            most.push(link);
        }
        most
    }

    pub(super) fn follow(&mut self, thread: ThreadId, doing: Doing<'a>) -> Link {
        let mut link =
            self.link(LinkKind::Thread, (Some(thread), Some(doing.category)), doing.what, &doing.intervals);
        self.cite(&mut link, doing.span.as_ref(), doing.stack);
        let is_cut = doing.span.is_some_and(|span| span.label(label::CUT).is_some());
        if let Some(last) = self.path.last_mut() {
            last.1 = is_cut;
        }
        match doing.next {
            Next::Thread(other) => self.on_to(&mut link, other, doing.category, &doing.intervals),
            Next::Lock(_) if self.path.len() >= MOST_DEPTH || self.left == 0 => {
                link.end = Some(End::NotFollowed);
            }
            Next::Lock(lock) => match self.in_turn(lock, &doing.intervals) {
                // Nobody but a thread that waits for this one.
                back if back.len() == 1 && back[0].category.is_none() && back[0].thread.is_some() => {
                    link.end = back[0].end;
                }
                next => link.next = next,
            },
            Next::Stop => {
                let process = self.chains.recording.threads[thread.index()].process;
                link.next = self.stop_links(process, &doing.intervals);
            }
            Next::Cpu => link.next = self.cpu_links(thread, &doing.intervals),
            Next::Disk => link.next = self.disk_links(thread, &doing.intervals),
            Next::End(end) => link.end = Some(end.into()),
            Next::EndedBy(name) => {
                let who = links::ENDED_BY.is(Value::Name(name));
                link.next = vec![self.outside(who, &doing.intervals)];
            }
            Next::FrozenFiles => {
                link.next = vec![self.outside(links::FROZEN_FILES.fact(), &doing.intervals)];
            }
        }
        if link.next.is_empty() && link.end.is_none() {
            link.end = Some(End::Unknown);
        }
        link
    }

    /// What lies outside of what was recorded.
    fn outside(&self, what: Fact, intervals: &Intervals) -> Link {
        Link { end: Some(End::Outside), ..self.link(LinkKind::Outside, (None, None), what, intervals) }
    }

    /// Goes on to another thread in the same intervals, unless the chain comes to its end there.
    pub(super) fn on_to(
        &mut self,
        link: &mut Link,
        other: ThreadId,
        category: Category,
        intervals: &Intervals,
    ) {
        if let Some(end) = self.end_at(other) {
            link.end = Some(if category == Category::Idle { End::Choice } else { end });
        } else if self.path.len() >= MOST_DEPTH || self.left == 0 {
            link.end = Some(End::NotFollowed);
        } else {
            link.next = self.links(other, intervals);
        }
    }

    /// How the chain ends at a thread that leads here; `None` for one that does not.
    pub(super) fn end_at(&self, thread: ThreadId) -> Option<End> {
        let at = self.path.iter().position(|(other, _)| *other == thread)?;
        let for_ever = self.path[at..].iter().all(|(_, cut)| *cut);
        Some(if for_ever { End::Deadlock } else { End::Circle })
    }

    /// Whether the chain leads through a thread.
    pub(super) fn leads_through(&self, thread: ThreadId) -> bool {
        self.path.len() >= MOST_DEPTH || self.path.iter().any(|(other, _)| *other == thread)
    }

    /// A link without what follows.
    pub(super) fn link(
        &self,
        kind: LinkKind,
        (thread, category): (Option<ThreadId>, Option<Category>),
        what: impl Into<Statement>,
        intervals: &Intervals,
    ) -> Link {
        let (name, tid, process) = match thread {
            Some(thread) => {
                let (name, tid, process) = self.chains.named(thread);
                (Some(name), tid, process)
            }
            None => (None, None, String::new()),
        };
        let longest = intervals.ranges().iter().max_by_key(|(from, to)| to.saturating_sub(*from));
        let (from_ns, to_ns) = longest.copied().unwrap_or_default();
        let ms = intervals.length_ms();
        let share = if self.total_ns > 0 { ms * 1e6 / self.total_ns as f64 } else { 0.0 };
        Link {
            thread: name,
            tid,
            process,
            process_id: thread.and_then(|thread| self.chains.process_of(thread)),
            category,
            kind,
            what: what.into(),
            ms,
            share,
            times: intervals.ranges().len(),
            from_ns,
            to_ns,
            stack: Vec::new(),
            source: String::new(),
            end: None,
            next: Vec::new(),
        }
    }

    /// Says where a link is known from.
    pub(super) fn cite(&self, link: &mut Link, span: Option<&Span<'_>>, stack: Option<StackId>) {
        link.stack = self.chains.frames(stack.or_else(|| span?.stack()));
        link.source = span.map_or_else(String::new, position);
    }
}
