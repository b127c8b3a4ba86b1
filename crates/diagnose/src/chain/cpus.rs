//! Who had the CPU while a thread that could run waited for one.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::label;
use fathom_recording::{Span, ThreadId};

use super::disks::Seen;
use super::walk::Walk;
use super::{End, Link};
use crate::intervals::Intervals;

impl<'a> Walk<'_, 'a> {
    /// The threads that ran instead in some moments of a thread, as the switch at the end of each wait names one: the
    /// last of those that ran.
    pub(super) fn cpu_links(&mut self, thread: ThreadId, moments: &Intervals) -> Vec<Link> {
        let mut instead: BTreeMap<&'a str, Seen<'a>> = BTreeMap::new();
        let mut left = moments.clone();
        for span in self.chains.moments.off(thread) {
            let Some(other) = span.label(label::RAN_INSTEAD) else { continue };
            let parts: Vec<_> = left.within(span.t0_ns(), span.t1_ns()).collect();
            if parts.is_empty() {
                continue;
            }
            let (moments, longest) = instead.entry(other).or_default();
            moments.extend(parts);
            if longest.is_none_or(|best| span.duration_ns() > best.duration_ns()) {
                *longest = Some(*span);
            }
        }
        let mut others: Vec<(String, Intervals, Option<Span<'a>>)> = (instead.into_iter())
            .map(|(other, (parts, span))| (format!("{other} ran"), Intervals::of(parts), span))
            .collect();
        for (_, moments, _) in &others {
            left = left.without(moments);
        }
        others.sort_by_key(|(_, moments, _)| std::cmp::Reverse(moments.length_ns()));
        let mut links = self.the_most(
            others,
            |(_, moments, _)| moments.clone(),
            |walk, (what, moments, span)| {
                let mut link = walk.link(None, None, what, &moments);
                walk.cite(&mut link, span.as_ref(), None);
                link.end = Some(End::Running);
                link
            },
        );
        if !left.is_empty() && !links.is_empty() {
            let mut rest = self.link(None, None, "who ran then was not recorded".into(), &left);
            rest.end = Some(End::Unknown);
            links.push(rest);
        }
        links
    }
}
