use super::*;

#[test]
fn an_interval_is_the_difference_of_two_readings_and_the_longest_is_written_where_it_is_known() {
    let mut lengths = [0; LENGTHS];
    lengths[10] = u32::MAX;
    let before = Total { calls: 10, timed: 10, ns: 1000, longest_ns: 500, pid: 7, lengths, ..Total::NONE };
    let mut lengths = [0; LENGTHS];
    (lengths[10], lengths[12]) = (1, 3);
    let now = Total { calls: 15, timed: 15, ns: 9000, longest_ns: 500, pid: 7, lengths, ..Total::NONE };
    let mut row = Row::NONE;
    row.add(2, &before, &now);
    assert_eq!((row.calls, row.failed, row.again, row.ns, row.longest_ns), (5, 5, 0, 8000, None));
    assert_eq!((row.lengths[10], row.lengths[12]), (2, 3));
    row.add(0, &Total::NONE, &Total { longest_ns: 600, ..before });
    assert_eq!((row.calls, row.failed, row.longest_ns), (15, 5, Some(600)));
}

#[test]
fn calls_that_were_not_timed_are_taken_to_be_as_long_as_the_others() {
    let mut row = Row::NONE;
    let now = Total { calls: 81, timed: 10, ns: 5000, coarse: 1, coarse_ns: 9_000_000, ..Total::NONE };
    row.add(0, &Total::NONE, &now);
    assert_eq!((row.timed_ns(), row.untimed_ns((1, 7))), (9_005_000.0, 70.0 * 500.0));
}

#[test]
fn a_thread_is_in_calls_for_no_longer_than_the_interval() {
    let row = |timed: u64, ns: u64, calls: u64| Row { calls, timed, ns, ..Row::NONE };
    // One of a thousand timed calls lost its CPU for 4 ms: a million calls would have taken 5 s.
    let (reads, writes) = (row(1_000, 5_000_000, 1_000_000), row(1_000, 1_000_000, 1_000_000));
    let each = |row: &Row| row.untimed_ns((0, 0));
    let rows = [(5, &reads, each(&reads)), (5, &writes, each(&writes)), (6, &writes, each(&writes))];
    let factors = factors(rows.into_iter(), 2e9);
    let in_calls = 6e6 + factors[&5] * (each(&reads) + each(&writes));
    assert!((in_calls - 2e9).abs() < 1.0, "{in_calls}");
    assert_eq!(factors[&6], 1.0);
}

#[test]
fn what_was_written_of_a_thread_is_not_written_again_with_its_process() {
    let mut totals = Totals::default();
    let own = Key { tid: 5, number: 0, end: 0 };
    let of_process = Key { tid: 7 | OF_ENDED, ..own };
    let written = Total { calls: 60, timed: 60, ns: 900, longest_ns: 40, pid: 7, ..Total::NONE };
    totals.last.insert(own, written.clone());
    // It made ten more before it ended, and another thread of its process five.
    let now = Total { calls: 75, timed: 75, ns: 1_100, longest_ns: 50, pid: 7, ..Total::NONE };
    totals.take_folded(&[(of_process, now.clone())]);
    assert!(!totals.last.contains_key(&own));
    let mut row = Row::NONE;
    row.add(0, &totals.last[&of_process], &now);
    assert_eq!((row.calls, row.ns, row.longest_ns), (15, 200, Some(50)));
    // One that is still there stays, and so does a process of which nothing has come.
    totals.last.insert(own, written.clone());
    totals.take_folded(&[(own, written)]);
    assert_eq!(totals.last.len(), 2);
}

#[test]
fn calls_of_an_interval_in_which_none_was_timed_are_as_long_as_those_before() {
    let timed = Total { calls: 60, timed: 1, ns: 900, ..Total::NONE };
    let failed = Total { calls: 2, timed: 2, ns: 600, ..Total::NONE };
    let mut totals = Totals::default();
    totals.last.insert(Key { tid: 5, number: 0, end: 0 }, timed.clone());
    totals.last.insert(Key { tid: 5, number: 0, end: 2 }, failed);
    let mut row = Row::NONE;
    row.add(0, &timed, &Total { calls: 70, ..timed.clone() });
    assert_eq!(row.untimed_ns(totals.timed(5, 0)), 10.0 * 500.0);
    assert_eq!(row.untimed_ns(totals.timed(6, 0)), 0.0, "of another thread nothing is known");
}
