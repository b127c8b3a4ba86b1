//! `calls`: system calls by name, and peers by address, by minute.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::{count, figure, kind, label};

use super::{Input, Sum, minute, process};
use crate::columns::Rows;

const COLUMNS: &[&str] = &["minute_ns", "kind", "process", "name", "count", "total_ns", "longest_ns"];
/// Who connects to a server has an ephemeral port: all clients count as one.
const CLIENTS: &str = "[clients]";

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let recording = input.recording;
    let mut sums: BTreeMap<(&str, &str, &str, i64), Sum> = BTreeMap::new();
    // All calls, where the recording has counted them; else those that were long enough to be
    // listed.
    let counted = recording.counts_of(count::SYSCALL_TOTALS);
    let are_counted = counted.len() > 0;
    for made in counted {
        let number = |n: u64| i64::try_from(n).unwrap_or(i64::MAX);
        let longest_ns = made.figure(figure::LONGEST_NS).unwrap_or(0.0) as i64;
        let of = process(recording, made.process());
        let sum = sums.entry(("syscall", of, made.name(), minute(made.t1_ns()))).or_default();
        sum.add(number(made.count()), number(made.total_ns().unwrap_or(0)), longest_ns);
    }
    for span in recording.spans_of(kind::SYSCALL) {
        let (of, length) = (process(recording, span.process()), span.duration_ns());
        if !are_counted {
            let sum = sums.entry(("syscall", of, span.name(), minute(span.t1_ns()))).or_default();
            sum.add(1, length, length);
        }
        if let Some(peer) = span.label(label::PEER) {
            let peer = if span.label(label::ACCEPTED).is_some() { CLIENTS } else { peer };
            sums.entry(("peer", of, peer, minute(span.t1_ns()))).or_default().add(1, length, length);
        }
    }
    let mut rows = Rows::new("calls", COLUMNS);
    for ((kind, process, name, minute), sum) in sums {
        rows.push([
            minute.into(),
            kind.into(),
            process.into(),
            name.into(),
            sum.count.into(),
            sum.total_ns.into(),
            sum.longest_ns.into(),
        ]);
    }
    rows
}
