//! Which GC ids a log mentions, and which of them became records: no collection may vanish.

use rustc_hash::FxHashMap;

/// Ids beyond this are not tracked: a JVM would need a year of collections every second to get
/// there, and a hostile log must not buy memory with a number. One bit each: 4 MB.
const IDS: u64 = 1 << 25;
/// How many ids may wait for their record at a time.
const WAITING: usize = 4096;

/// The ids of one run.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ids {
    /// A bit for each id that has a record.
    done: Vec<u64>,
    /// Ids of lines without a record yet, with the number of that line; without the last one of
    /// them.
    waiting: FxHashMap<u64, u64>,
    /// The last one: most ids have their record before the next one comes.
    newest: Option<(u64, u64)>,
    last: Option<u64>,
    seen: u64,
    not_followed: u64,
}

impl Ids {
    /// A line mentions an id.
    #[inline]
    pub(crate) fn saw(&mut self, id: u64, line: u64) {
        if self.last == Some(id) {
            return;
        }
        self.last = Some(id);
        if id >= IDS {
            self.not_followed += 1;
        } else if !self.is_done(id) && !self.is_waiting(id) {
            self.seen += 1;
            if let Some((id, line)) = self.newest.replace((id, line))
                && self.waiting.len() < WAITING
            {
                self.waiting.insert(id, line);
            }
        }
    }

    /// A record was made of an id.
    pub(crate) fn done(&mut self, id: u64) {
        if id >= IDS {
            return;
        }
        let word = (id / 64) as usize;
        if word >= self.done.len() {
            self.done.resize(word + 1, 0);
        }
        if let Some(bits) = self.done.get_mut(word) {
            *bits |= 1 << (id % 64);
        }
        if self.newest.take_if(|(newest, _)| *newest == id).is_none() {
            self.waiting.remove(&id);
        }
    }

    fn is_waiting(&self, id: u64) -> bool {
        self.newest.is_some_and(|(newest, _)| newest == id) || self.waiting.contains_key(&id)
    }

    fn is_done(&self, id: u64) -> bool {
        self.done.get((id / 64) as usize).is_some_and(|bits| bits >> (id % 64) & 1 == 1)
    }

    /// The largest id that has a record.
    pub(crate) fn largest_done(&self) -> Option<u64> {
        let word = self.done.iter().rposition(|bits| *bits != 0)?;
        Some(word as u64 * 64 + 63 - u64::from(self.done[word].leading_zeros()))
    }

    /// How many ids were seen.
    pub(crate) fn seen(&self) -> u64 {
        self.seen
    }

    /// How many lines mention ids that are too large to be tracked.
    pub(crate) fn not_followed(&self) -> u64 {
        self.not_followed
    }

    /// Ids without a record, with the first line that mentioned them, in order.
    pub(crate) fn unaccounted(&self) -> Vec<(u64, u64)> {
        let waiting = self.waiting.iter().map(|(id, line)| (*id, *line));
        let mut ids: Vec<_> = waiting.chain(self.newest).collect();
        ids.sort_unstable();
        ids
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_without_a_record_is_named_with_its_line() {
        let mut ids = Ids::default();
        for (id, line) in [(0, 10), (1, 20), (1, 21), (2, 30), (0, 31), (500, 40)] {
            ids.saw(id, line);
        }
        ids.done(0);
        ids.done(2);
        ids.saw(0, 50);
        assert_eq!(ids.seen(), 4);
        assert_eq!(ids.unaccounted(), [(1, 20), (500, 40)]);
        assert_eq!(ids.largest_done(), Some(2));
    }

    #[test]
    fn a_hostile_id_buys_no_memory() {
        let mut ids = Ids::default();
        ids.saw(u64::MAX, 1);
        ids.done(u64::MAX);
        assert_eq!((ids.not_followed(), ids.unaccounted()), (1, vec![]));
        for id in 0..2 * WAITING as u64 {
            ids.saw(id, id);
        }
        assert_eq!(ids.unaccounted().len(), WAITING + 1);
    }
}
