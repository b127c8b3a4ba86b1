//! What storage did while a thread waited for it.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Span, ThreadId};

use super::walk::Walk;
use super::{End, Link, LinkKind};
use crate::Fact;
use crate::facts::{Value, links};
use crate::intervals::Intervals;
use crate::written_back;

/// Something a device did, when, and the longest record of it.
struct Work<'a> {
    what: Fact,
    intervals: Intervals,
    span: Option<Span<'a>>,
    /// Whether the device itself worked; otherwise what it did then comes next.
    is_request: bool,
}

/// What, when, and the longest record.
pub(super) type Seen<'a> = (Fact, Vec<(i64, i64)>, Option<Span<'a>>);

impl<'a> Walk<'_, 'a> {
    /// What storage did in some intervals of a thread that waited for it: its own process'
    /// requests, else the commit of a journal, a round of writeback, the thread being throttled,
    /// else whatever requests there were.
    pub(super) fn disk_links(&mut self, thread: ThreadId, intervals: &Intervals) -> Vec<Link> {
        let row = &self.chains.recording.threads[thread.index()];
        let (process, name) = (row.process, self.chains.recording.strings.get(row.name));
        let own = |span: &Span<'_>| span.process() == process || span.label(label::ISSUER) == Some(name);
        let throttled = |span: &Span<'_>| span.thread() == Some(thread);
        let mut left = intervals.clone();
        let mut works = self.requests(&mut left, own);
        for (kind, which) in [
            (kind::DISK_COMMIT, &(|_: &Span<'_>| true) as &dyn Fn(&Span<'_>) -> bool),
            (kind::DISK_THROTTLE, &throttled),
            (kind::DISK_WRITEBACK, &|_| true),
        ] {
            works.extend(self.works(&mut left, kind, which));
        }
        works.extend(self.requests(&mut left, |_| true));
        works.sort_by_key(|work| std::cmp::Reverse(work.intervals.length_ns()));
        works.extend((!left.is_empty()).then(|| Work {
            what: links::NO_DISK.fact(),
            intervals: left,
            span: None,
            is_request: false,
        }));
        self.the_most(works, |work| work.intervals.clone(), |walk, work| walk.work(&work))
    }

    fn work(&mut self, work: &Work<'_>) -> Link {
        let what = work.what.clone().with("files", self.files(work).map(Value::from));
        let kind = if work.span.is_some() { LinkKind::Disk } else { LinkKind::DiskUnknown };
        let mut link = self.link(kind, (None, None), what, &work.intervals);
        self.cite(&mut link, work.span.as_ref(), None);
        if work.span.is_none() {
            link.end = Some(End::Unknown);
        } else if work.is_request {
            link.end = Some(End::Hardware);
        } else {
            let mut left = work.intervals.clone();
            let mut requests = self.requests(&mut left, |_| true);
            requests.sort_by_key(|work| std::cmp::Reverse(work.intervals.length_ns()));
            link.next = self.the_most(requests, |work| work.intervals.clone(), |walk, work| walk.work(&work));
            match (link.next.is_empty(), left.is_empty()) {
                (true, _) => link.end = Some(End::Hardware),
                (false, false) => {
                    let what = links::NO_REQUEST.fact();
                    let mut rest = self.link(LinkKind::DiskUnknown, (None, None), what, &left);
                    rest.end = Some(End::Unknown);
                    link.next.push(rest);
                }
                _ => {}
            }
        }
        link
    }

    /// Which files were written back meanwhile, of work that is or waits for that; else nothing.
    fn files(&self, work: &Work<'_>) -> Option<Fact> {
        let span =
            work.span.filter(|span| [kind::DISK_WRITEBACK, kind::DISK_THROTTLE].contains(&span.kind()));
        let device = span.as_ref().and_then(|span| span.label(label::DEVICE))?;
        written_back::what(self.chains.recording, device, &work.intervals)
    }

    /// Requests to devices in what is left, by device, kind and issuer.
    fn requests(&self, left: &mut Intervals, which: impl Fn(&Span<'_>) -> bool) -> Vec<Work<'a>> {
        self.works(left, kind::DISK_REQUEST, &which)
    }

    fn works(&self, left: &mut Intervals, kind: &str, which: &dyn Fn(&Span<'_>) -> bool) -> Vec<Work<'a>> {
        let mut works: BTreeMap<String, Seen<'a>> = BTreeMap::new();
        let mut taken: Vec<(i64, i64)> = Vec::new();
        let mut until = i64::MIN;
        if left.is_empty() {
            return Vec::new();
        }
        for span in self.chains.recording.spans_of(kind).filter(|span| which(span)) {
            let parts: Vec<_> = left.within(span.t0_ns().max(until), span.t1_ns()).collect();
            if parts.is_empty() {
                continue;
            }
            until = until.max(span.t1_ns());
            taken.extend(&parts);
            let what = what(&span);
            let seen = works.entry(what.sentence());
            let (_, intervals, longest) = seen.or_insert_with(|| (what, Vec::new(), None));
            intervals.extend(parts);
            if longest.is_none_or(|best| span.duration_ns() > best.duration_ns()) {
                *longest = Some(span);
            }
        }
        *left = left.without(&Intervals::of(taken));
        let work = |(_, (what, intervals, span))| Work {
            what,
            intervals: Intervals::of(intervals),
            span,
            is_request: kind == kind::DISK_REQUEST,
        };
        works.into_iter().map(work).collect()
    }
}

fn what(span: &Span<'_>) -> Fact {
    let name = Value::name(span.name());
    let fact = match span.kind() {
        kind::DISK_COMMIT => links::COMMIT.fact(),
        kind::DISK_WRITEBACK => links::WRITEBACK.is(name),
        kind::DISK_THROTTLE => links::THROTTLED.fact(),
        _ => {
            // Sizes differ from request to request: what was asked for together stays together.
            let is_large = span.figure(figure::BYTES).is_some_and(|bytes| bytes >= LARGE_BYTES);
            let request = if is_large { &links::LARGE_REQUEST } else { &links::REQUEST };
            request.is(name).with("issuer", span.label(label::ISSUER).map(Value::name))
        }
    };
    fact.with("device", Value::name(span.label(label::DEVICE).unwrap_or("a device")))
}

/// A request that takes a disk longer than finding its place does: 256 KB are a millisecond at 250
/// MB/s.
const LARGE_BYTES: f64 = 262_144.0;
