//! Rows of live kinds in any order, with any values and labels: every judgement of them ends, and
//! its numbers are numbers.

mod live_rows;

use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig { cases: 192, ..ProptestConfig::default() })]

    #[test]
    fn any_live_rows_are_judged(data in proptest::collection::vec(any::<u8>(), 0..6_000)) {
        live_rows::is_judged(&live_rows::recording(&data));
    }
}

#[test]
fn every_kind_of_the_vocabulary_is_drawn() {
    // xorshift64 (Marsaglia 2003): bytes without a pattern, the same each time.
    let mut state = 88_172_645_463_325_252_u64;
    let mut byte = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        state as u8
    };
    let data: Vec<u8> = (0..200_000).map(|_| byte()).collect();
    let recording = live_rows::recording(&data);
    let kinds = recording.kinds();
    for kind in ["sched.off-cpu", "lock.monitor", "disk.writeback-file", "operation"] {
        assert!(kinds.iter().any(|(known, _)| *known == kind), "{kind}: {kinds:?}");
    }
    assert!(kinds.len() > 55, "{kinds:?}");
    let counts = recording.count_kinds();
    assert!(counts.len() == 4 && counts.iter().any(|(kind, _)| *kind == "syscall.totals"), "{counts:?}");
    assert!(recording.samples.len() > 100 && recording.series.len() > 10);
}
