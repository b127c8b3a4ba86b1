//! What a thread does or waits for: the category, where, and what by name.

use std::hash::{Hash, Hasher};

use fathom_recording::Span;

use crate::waits::{Category, record};

/// What a thread does, or waits for.
#[derive(Clone, Copy, Debug, Eq, PartialOrd, Ord)]
pub(crate) struct Key<'a> {
    pub(crate) category: Category,
    /// The application's innermost method; empty where no stack was recorded.
    pub(crate) place: &'a str,
    /// A peer, a file or a host; empty where nothing names one.
    pub(crate) target: &'a str,
}

impl PartialEq for Key<'_> {
    fn eq(&self, other: &Self) -> bool {
        // Words of a recording stand in it once: the same ones are mostly seen to be so without
        // looking at them.
        let same = |a: &str, b: &str| std::ptr::eq(a, b) || a == b;
        self.category == other.category && same(self.place, other.place) && same(self.target, other.target)
    }
}

impl Hash for Key<'_> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (self.category, self.place, self.target).hash(state);
    }
}

/// The records of a thread that name what it waited for, in order of time.
pub(crate) type Named<'a> = Vec<(i64, i64, &'a str)>;

/// What the record around a time off the CPU names.
pub(crate) fn named_at<'a>(named: &Named<'a>, span: &Span<'a>) -> Option<&'a str> {
    // A switch's own labels know best where it has any.
    if let Some(target) = record::target(span) {
        return Some(target);
    }
    let before = named.partition_point(|(from, ..)| *from < span.t1_ns());
    let (_, to, target) = named[..before].last()?;
    (*to > span.t0_ns()).then_some(*target)
}
