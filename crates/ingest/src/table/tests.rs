//! Every shape of table, and damage.

use std::io::Cursor;

use fathom_recording::{ClockBasis, Recording, Series, SeriesKind};
use proptest::prelude::*;

use super::*;
use crate::Lines;

fn read(name: &str, text: &[u8]) -> Recording {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(text.to_vec())));
    let mut input = Input { name: name.to_owned(), modified: None, lines };
    Table.read(&mut input, &mut recording).expect("a table");
    recording
}

/// (start, length, value) of each point, seconds.
fn points(series: &Series) -> Vec<(f64, f64, f64)> {
    let times = series.t_ns.iter().zip(&series.dt_ns);
    times.zip(&series.value).map(|((t, dt), v)| (seconds(*t), seconds(*dt), *v)).collect()
}

fn named<'a>(recording: &'a Recording, name: &str, instance: &str) -> &'a Series {
    let found = recording.series.iter().find(|s| s.info.name == name && s.info.instance == instance);
    found.unwrap_or_else(|| {
        let all: Vec<_> = recording.series.iter().map(|s| (&s.info.name, &s.info.instance)).collect();
        panic!("no series {name} of {instance:?} among {all:?}")
    })
}

#[test]
fn a_benchmark_that_counts_from_zero_covers_the_second_after_its_timestamp() {
    let r = read(
        "run/client0.csv",
        b"time(sec), throughput(txs), avg_latency(ms)\n0, 66, 181.5\n1, 68, 174\n2, 112, 107\n",
    );
    assert_eq!(
        points(named(&r, "throughput", "client0")),
        [(0.0, 1.0, 66.0), (1.0, 1.0, 68.0), (2.0, 1.0, 112.0)]
    );
    let latency = named(&r, "avg_latency", "client0");
    assert_eq!((latency.info.kind, latency.info.unit.as_str()), (SeriesKind::Latency, "ms"));
    assert_eq!(latency.value, [181.5, 174.0, 107.0]);
    let source = &r.sources[0];
    assert_eq!((source.clock, source.records, source.skipped), (ClockBasis::SinceStart, 3, 0));
    assert_eq!(source.covers_ns, Some((0, 3_000_000_000)));
    assert!(source.checks.iter().all(|c| c.holds), "{:?}", source.checks);
}

#[test]
fn a_prolonged_tick_is_a_lower_rate_over_a_longer_time_and_not_a_hidden_stop() {
    let r = read(
        "t.csv",
        b"timestamp,ops\n1795212941000,100\n1795212942000,100\n1795212945000,120\n1795212946000,100\n",
    );
    let zero = 1_795_212_940.0;
    let p: Vec<_> = points(named(&r, "throughput", "t")).iter().map(|p| (p.0 - zero, p.1, p.2)).collect();
    assert_eq!(p, [(0.0, 1.0, 100.0), (1.0, 1.0, 100.0), (2.0, 3.0, 40.0), (5.0, 1.0, 100.0)]);
    assert_eq!(r.sources[0].clock, ClockBasis::Epoch);
}

#[test]
fn rates_are_left_as_they_are_and_counters_become_rates() {
    let r = read("t.csv", b"time;rps;total_ops\n10;500;1000\n20;400;6000\n40;300;14000\n50;200;16000\n");
    let rates: Vec<_> = points(&r.series[0]);
    assert_eq!(rates, [(0.0, 10.0, 500.0), (10.0, 10.0, 400.0), (20.0, 20.0, 300.0), (40.0, 10.0, 200.0)]);
    assert_eq!(points(&r.series[1]), [(10.0, 10.0, 500.0), (20.0, 20.0, 400.0), (40.0, 10.0, 200.0)]);
    assert!(r.series.iter().all(|s| s.info.name == "throughput"));
}

#[test]
fn a_rate_that_rises_to_its_level_and_stays_there_is_no_counter() {
    let rows = |value: &dyn Fn(i64) -> i64| -> String {
        (0..40).map(|s| format!("{},{}\n", 1_795_212_941_000 + s * 1_000, value(s))).collect()
    };
    let steady =
        read("t.csv", format!("time_ms,ops\n{}", rows(&|s| if s == 0 { 32 } else { 75 })).as_bytes());
    let throughput = named(&steady, "throughput", "t");
    assert_eq!(throughput.value[5..], [75.0; 35]);
    let counter = read("t.csv", format!("time_ms,ops\n{}", rows(&|s| 100 * s.min(20))).as_bytes());
    assert_eq!(named(&counter, "throughput", "t").value[5], 100.0);
}

#[test]
fn junk_before_the_table_is_counted_and_a_bare_table_says_what_was_assumed() {
    let text = "[0.735s][info][jfr,startup] Started recording 1.\n[0.735s][info][jfr,startup] \n\
                [0.735s][info][jfr,startup] Use jcmd 1 JFR.dump\n\
                1795212941503,26927\n1795212942504,26777\n1795212943505,27880\n1795212944505,27000\n";
    let r = read("lock17.csv", text.as_bytes());
    let source = &r.sources[0];
    assert_eq!((source.records, source.skipped, source.clock), (4, 3, ClockBasis::Epoch));
    assert_eq!(source.unknown[0].line, 1);
    let guess = &source.checks[0];
    assert!(!guess.holds && guess.detail.contains("milliseconds since the epoch"), "{guess:?}");
    let throughput = named(&r, "throughput", "lock17");
    assert_eq!(throughput.dt_ns[1], 1_001_000_000);
    assert!((throughput.value[1] - 26777.0 / 1.001).abs() < 1e-6);
}

#[test]
fn instances_are_columns() {
    let header = "time,client0,client1,client2\n";
    let rows: String =
        (0..10).map(|i| format!("{i},{},{},{}\n", 100 + i % 3, 110 - i % 4, 90 + i % 5)).collect();
    let r = read("t.csv", format!("{header}{rows}").as_bytes());
    let names: Vec<_> = r.series.iter().map(|s| (s.info.name.as_str(), s.info.instance.as_str())).collect();
    assert_eq!(names, [("throughput", "client0"), ("throughput", "client1"), ("throughput", "client2")]);
    let bare = read("t.csv", rows.as_bytes());
    let names: Vec<_> =
        bare.series.iter().map(|s| (s.info.name.as_str(), s.info.instance.as_str())).collect();
    assert_eq!(names, [("throughput", "column 2"), ("throughput", "column 3"), ("throughput", "column 4")]);
}

#[test]
fn instances_are_rows_by_time_or_one_after_the_other_with_header_or_without() {
    let row = |t: i64, i: usize| format!("{t},{},{}\n", ["a", "b", "c"][i], 100 + t * 7 % 5 + i as i64);
    let by_time: String = (1..9).flat_map(|t| (0..3).map(move |i| row(t, i))).collect();
    let by_instance: String = (0..3).flat_map(|i| (1..9).map(move |t| row(t, i))).collect();
    for body in [by_time, by_instance] {
        for text in [format!("time,client,ops\n{body}"), body.clone()] {
            let r = read("t.csv", text.as_bytes());
            assert_eq!(r.series.len(), 3, "{text}");
            for (i, name) in ["a", "b", "c"].iter().enumerate() {
                let points = points(named(&r, "throughput", name));
                assert_eq!(points.len(), 8);
                assert_eq!(points[3], (3.0, 1.0, (100 + 4 * 7 % 5 + i) as f64));
            }
        }
    }
    let numbered: String =
        (1..9).flat_map(|t| (0..3).map(move |i| format!("{t} {i} {}\n", 100 + t + i))).collect();
    let r = read("t", numbered.as_bytes());
    assert_eq!(r.series.iter().map(|s| s.info.instance.as_str()).collect::<Vec<_>>(), ["0", "1", "2"]);
}

#[test]
fn a_tidy_table_names_the_metric_in_each_row() {
    let text = "time,metric,value\n1,throughput,100\n1,p99_us,2500\n2,throughput,90\n2,p99_us,3500\n";
    let r = read("t.csv", text.as_bytes());
    assert_eq!(named(&r, "throughput", "t").value, [100.0, 90.0]);
    assert_eq!(named(&r, "p99", "t").value, [2.5, 3.5]);
}

#[test]
fn dates_tabs_blanks_and_decimal_commas_are_read() {
    let zero = 1_795_212_134.0;
    for text in [
        "date\tops\n2026-11-20T22:02:14.000Z\t10\n2026-11-20T22:02:15.500Z\t15\n",
        "date,ops\n2026-11-20 22:02:14.000,10\n2026-11-20 22:02:15.500,15\n",
        "date;ops\n\"2026/11/20 22:02:14,000\";10,0\n\"2026/11/20 22:02:15,500\";15\n",
        "time ops\n1795212134.0 10\n1795212135.5 15\n",
        "# time ops\n1795212134.0 10\n1795212135.5 15\n",
        "date clock ops\n2026-11-20 22:02:14.000 10\n2026-11-20 22:02:15.500 15\n",
    ] {
        let r = read("t", text.as_bytes());
        let p: Vec<_> = points(&r.series[0]).iter().map(|p| (p.0 - zero, p.1, p.2)).collect();
        assert_eq!(p, [(-1.5, 1.5, 10.0 / 1.5), (0.0, 1.5, 10.0)], "{text}");
    }
}

#[test]
fn rows_with_equal_timestamps_are_one_tick() {
    let r = read("t.csv", b"time,ops,p99\n1,10,5\n2,10,5\n2,20,9\n3,10,5\n");
    assert_eq!(named(&r, "throughput", "t").value, [10.0, 30.0, 10.0]);
    assert_eq!(named(&r, "p99", "t").value, [5.0, 9.0, 5.0]);
}

#[test]
fn a_second_run_in_the_file_is_a_second_source() {
    let run: String = (0..20).map(|i| format!("{i},{}\n", 100 + i * 13 % 7)).collect();
    let r = read("t.csv", format!("time,ops\n{run}time,ops\n{run}").as_bytes());
    assert_eq!(r.sources.iter().map(|s| s.name.as_str()).collect::<Vec<_>>(), ["t.csv", "t.csv #2"]);
    assert_eq!(r.sources.iter().map(|s| (s.records, s.skipped)).collect::<Vec<_>>(), [(20, 0), (20, 0)]);
    assert_eq!(points(&r.series[0]), points(&r.series[1]));
}

#[test]
fn broken_rows_are_counted_and_rows_that_go_back_fail_a_check() {
    let good: String = (7..60).map(|i| format!("{i},{}\n", 10 + i % 3)).collect();
    let text = format!("time,ops\n1,10\n2,10\nsomething else\n3,\n1,10\n4,10\n5,oops\n6,1,2,3\n{good}");
    let r = read("t.csv", text.as_bytes());
    let source = &r.sources[0];
    assert_eq!((source.records, source.skipped), (4 + 53, 4));
    let check = source.checks.iter().find(|c| c.claim.contains("go back")).unwrap();
    assert!(!check.holds && check.detail.starts_with("1 row"), "{check:?}");
}

#[test]
fn logs_and_prose_are_no_tables() {
    for text in [
        "",
        "hello\n",
        "[0.011s][info][gc] Using Parallel\n[0.040s][info][gc,init] Version: 17\n[0.1s][info][gc] x\n",
        "0.509: [GC pause (young), 0.05 secs]\n1.509: [GC pause (young), 0.05 secs]\n2.1: [GC pause, 1 secs]\n",
        "     42    1       3       java.lang.Object::<init> (1 bytes)\n     43    2       3       \
         java.lang.String::hashCode (49 bytes)\n     43    3       3       java.lang.String::length (11 bytes)\n",
        "10542 1795212133.741641 write(4, \"a\", 1) = 1 <0.000010>\n10542 1795212133.8 write(4, \"b\", 1) = 1 <0.1>\n\
         10542 1795212134.1 futex(0x1, 0) = 0 <0.2>\n",
        "some text, with 2 commas, 3\nand, more, words\nthe end, 1, 2\n",
        "name,age\nalice,30\nbob,31\n",
    ] {
        assert_eq!(Table.sniff(text.as_bytes()), Confidence(0), "{text}");
    }
}

proptest! {
    #[test]
    fn counts_are_kept_whatever_the_ticks(
        ticks in proptest::collection::vec((1i64..50_000, 0u32..10_000), 2..80),
        epoch in any::<bool>(),
    ) {
        let mut now = if epoch { 1_795_212_000_000 } else { 7 };
        let mut text = "time_ms,ops\n".to_owned();
        for (step, count) in &ticks {
            now += step;
            text.push_str(&format!("{now},{count}\n"));
        }
        let sum: f64 = ticks.iter().map(|(_, count)| f64::from(*count)).sum();
        if let Some(shape) = Shape::of(text.as_bytes()) {
            let r = read("t.csv", text.as_bytes());
            let done: f64 = points(&r.series[0]).iter().map(|(_, dt, rate)| dt * rate).sum();
            let counter = shape.values[0].measure.cells == column_names::Cells::Counter;
            prop_assert!(counter || (done - sum).abs() <= sum * 1e-9 + 1e-6, "{done} of {sum}");
        }
    }

    #[test]
    fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
        Table.sniff(&bytes);
    }

    #[test]
    fn no_table_like_text_makes_it_panic(text in "([0-9.,;:|\t +=\"a-z/-]{0,12}[,; \t][0-9.]{0,22}\n){0,40}") {
        if Table.sniff(text.as_bytes()) > Confidence(0) {
            let mut recording = Recording::new();
            let lines = Lines::new(Box::new(Cursor::new(text.into_bytes())));
            let mut input = Input { name: "t".to_owned(), modified: None, lines };
            let _ = Table.read(&mut input, &mut recording);
        }
    }
}

#[test]
fn a_throughput_without_a_unit_in_half_seconds_is_a_rate_when_its_numbers_are_those_of_one() {
    let table = |values: &dyn Fn(i64) -> String| {
        let rows: Vec<String> =
            (1..=12).map(|i| format!("{},{}", 1_795_291_297_000_i64 + i * 500, values(i))).collect();
        read("t.csv", format!("timestamp_ms,throughput\n{}\n", rows.join("\n")).as_bytes())
    };
    let first = |r: &Recording| named(r, "throughput", "t").value[0];
    let said = |r: &Recording| r.sources[0].checks[0].detail.clone();
    // Twice what half a second had: all even.
    let rates = table(&|i| (2 * (900 + i * 37 % 101)).to_string());
    assert_eq!(first(&rates), 2.0 * 937.0);
    assert!(said(&rates).contains("read as a rate per second"), "{}", said(&rates));
    let fractions = table(&|i| format!("{}.5", 900 + i));
    assert_eq!(first(&fractions), 901.5);
    // What half a second had: even and odd.
    let counts = table(&|i| (900 + i * 37 % 101).to_string());
    assert_eq!(first(&counts), 2.0 * 937.0);
    assert!(said(&counts).contains("counts of 0.5 s each"), "{}", said(&counts));
    assert!(!counts.sources[0].checks[0].holds, "what was assumed is reported");
    // In seconds there is no difference, and nothing to assume.
    let rows: String =
        (1..=12).map(|i| format!("{},{}\n", 1_795_291_297_000_i64 + i * 1000, 900 + i * 7)).collect();
    let seconds = read("t.csv", format!("timestamp_ms,throughput\n{rows}").as_bytes());
    assert!(seconds.sources[0].checks[0].holds, "{}", said(&seconds));
}
