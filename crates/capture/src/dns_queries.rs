//! DNS queries to resolvers, as the long `poll` of a thread on a socket to port 53 shows them.
//! Collected by `syscalls`, asked for by `network`: a look-up takes long because a server is slow,
//! or because it does not answer at all.

use std::collections::HashMap;

/// DNS queries of one thread that are remembered: a look-up asks each server of resolv.conf (3 at
/// most) `attempts` times (2 unless it says otherwise) for each search domain.
const MOST_OF_A_THREAD: usize = 64;
/// Threads that are remembered.
const MOST_THREADS: usize = 4096;

/// One wait for an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DnsQuery {
    /// From when to when, monotonic nanoseconds.
    pub(crate) waited_ns: (u64, u64),
    /// "10.0.0.2:53".
    pub(crate) server: String,
    /// No answer came.
    pub(crate) timed_out: bool,
}

/// DNS queries by thread.
#[derive(Debug, Default)]
pub(crate) struct DnsQueries {
    threads: HashMap<u32, Vec<DnsQuery>>,
}

impl DnsQueries {
    /// Takes in a wait of a thread.
    pub(crate) fn add(&mut self, tid: u32, query: DnsQuery) {
        if self.threads.len() >= MOST_THREADS && !self.threads.contains_key(&tid) {
            self.threads.clear();
        }
        let list = self.threads.entry(tid).or_default();
        if list.len() >= MOST_OF_A_THREAD {
            list.remove(0);
        }
        list.push(query);
    }

    /// Takes out what a thread asked within a time, and forgets what came before.
    pub(crate) fn within(&mut self, tid: u32, from_ns: u64, to_ns: u64) -> Vec<DnsQuery> {
        let Some(list) = self.threads.get_mut(&tid) else { return Vec::new() };
        let (within, later): (Vec<DnsQuery>, Vec<DnsQuery>) = std::mem::take(list)
            .into_iter()
            .filter(|query| query.waited_ns.0 >= from_ns)
            .partition(|query| query.waited_ns.1 <= to_ns);
        *list = later;
        within
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_look_up_gets_its_own_queries_only() {
        let query = |from, to| DnsQuery { waited_ns: (from, to), server: String::new(), timed_out: false };
        let mut queries = DnsQueries::default();
        for (from, to) in [(1, 2), (10, 20), (20, 30), (50, 60)] {
            queries.add(7, query(from, to));
        }
        assert_eq!(queries.within(7, 9, 31), [query(10, 20), query(20, 30)]);
        assert_eq!(queries.within(8, 0, 100), []);
        assert_eq!(queries.within(7, 0, 100), [query(50, 60)]);
        (0..1000).for_each(|i| queries.add(9, query(i, i)));
        assert_eq!(queries.within(9, 0, 2000).len(), MOST_OF_A_THREAD);
    }
}
