//! The labels of all spans, stored compactly: pauses of one cause have the same ones, which are
//! then kept once.

use crate::{StrId, Strings};

/// Labels of all spans, in the order of the spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Labels {
    /// The list of each span: 0 is the empty one, another an index into `ends`, from 1.
    list: Vec<u32>,
    /// The end of each list in `entries`.
    ends: Vec<u32>,
    /// (key, value), list after list.
    entries: Vec<(StrId, StrId)>,
}

impl Labels {
    /// Adds the labels of the next span. They may be those of span `like`, which then takes no
    /// memory.
    pub(crate) fn push_texts(&mut self, labels: &[(&str, &str)], like: Option<usize>, strings: &mut Strings) {
        let same = |(known, new): (&(StrId, StrId), &(&str, &str))| {
            strings.is(known.0, new.0) && strings.is(known.1, new.1)
        };
        let all_same = |i: &usize| {
            let known = self.of(*i);
            known.len() == labels.len() && known.iter().zip(labels).all(same)
        };
        if let Some(i) = like.filter(all_same) {
            return self.list.push(self.list[i]);
        }
        let from = self.entries.len();
        for (n, (key, value)) in labels.iter().enumerate() {
            let known = like.and_then(|i| self.of(i).get(n).copied());
            let mut id = |known: Option<StrId>, text: &str| {
                known.filter(|known| strings.is(*known, text)).unwrap_or_else(|| strings.intern(text))
            };
            let key = id(known.map(|(key, _)| key), key);
            self.entries.push((key, id(known.map(|(_, value)| value), value)));
        }
        self.end_list(from);
    }

    /// Adds the labels of the next span. They are shared if they equal those of the span before.
    pub(crate) fn push(&mut self, labels: impl Iterator<Item = (StrId, StrId)>) {
        let from = self.entries.len();
        self.entries.extend(labels);
        self.end_list(from);
    }

    /// Makes the entries from one on the list of the next span.
    fn end_list(&mut self, from: usize) {
        let last = self.list.last().copied().unwrap_or(0);
        if self.entries.len() == from {
            self.list.push(0);
        } else if self.at(last) == &self.entries[from..] {
            self.entries.truncate(from);
            self.list.push(last);
        } else {
            self.ends.push(self.entries.len() as u32);
            self.list.push(self.ends.len() as u32);
        }
    }

    /// Adds the labels of all spans of `other`; `text` maps keys and values to their ids here.
    pub(crate) fn append(&mut self, other: Self, text: impl Fn(StrId) -> StrId) {
        let (lists, entries) = (self.ends.len() as u32, self.entries.len() as u32);
        self.list.extend(other.list.into_iter().map(|list| if list == 0 { 0 } else { list + lists }));
        self.ends.extend(other.ends.into_iter().map(|end| end + entries));
        self.entries.extend(other.entries.into_iter().map(|(key, value)| (text(key), text(value))));
    }

    /// Labels of span `i` as (key, value).
    #[inline]
    pub(crate) fn of(&self, i: usize) -> &[(StrId, StrId)] {
        self.at(self.list[i])
    }

    #[inline]
    fn at(&self, list: u32) -> &[(StrId, StrId)] {
        let Some(i) = (list as usize).checked_sub(1) else { return &[] };
        let from = if i == 0 { 0 } else { self.ends[i - 1] as usize };
        &self.entries[from..self.ends[i] as usize]
    }

    /// The number of entries that are kept.
    #[cfg(any(feature = "disk", test))]
    pub(crate) fn entries(&self) -> usize {
        self.entries.len()
    }

    /// Memory in use, bytes.
    pub(crate) fn bytes(&self) -> usize {
        4 * (self.list.capacity() + self.ends.capacity()) + 8 * self.entries.capacity()
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.list.shrink_to_fit();
        self.ends.shrink_to_fit();
        self.entries.shrink_to_fit();
    }

    /// Drops all of them.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        self.list.clear();
        self.ends.clear();
        self.entries.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_come_back_and_equal_ones_are_kept_once() {
        let rows: [&[(&str, &str)]; 7] = [
            &[("cause", "a")],
            &[],
            &[("cause", "a")],
            &[("cause", "b"), ("why", "a")],
            &[("cause", "b"), ("why", "a")],
            &[("cause", "b")],
            &[],
        ];
        let (mut labels, mut strings) = (Labels::default(), Strings::default());
        for (i, row) in rows.iter().enumerate() {
            labels.push_texts(row, i.checked_sub(2), &mut strings);
        }
        assert_eq!(labels.entries(), 4, "one for the first and third, two for the pair, one for the last");
        let mut all = Labels::default();
        all.push([(StrId(0), StrId(1))].into_iter());
        all.append(labels, |id| id);
        for (i, row) in rows.iter().enumerate() {
            let read: Vec<_> =
                all.of(i + 1).iter().map(|(k, v)| (strings.get(*k), strings.get(*v))).collect();
            assert_eq!(read, *row);
        }
    }
}
