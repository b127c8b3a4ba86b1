//! Logs of real servers, synthetic ones, and damaged ones.

use std::io::Cursor;

use fathom_recording::clock::{MILLI_NS, SECOND_NS};
use fathom_recording::vocabulary::{figure, kind, series};
use fathom_recording::{Recording, Series};
use proptest::prelude::*;

use super::*;
use crate::Lines;

fn try_read(name: &str, data: &[u8]) -> Result<Recording, IngestError> {
    let mut recording = Recording::new();
    let lines = Lines::new(Box::new(Cursor::new(data.to_vec())));
    let mut input = Input { name: name.into(), modified: None, lines };
    AccessLog.read(&mut input, &mut recording)?;
    recording.seal();
    Ok(recording)
}

fn read(data: &[u8]) -> Recording {
    try_read("access.log", data).unwrap()
}

fn series<'a>(recording: &'a Recording, name: &str) -> &'a Series {
    recording.series.iter().find(|s| s.info.name == name).unwrap()
}

/// Lines of requests, one every so many milliseconds from 11:49:06 on, each made by `line` from its
/// number and its date.
fn made(count: i64, step_ms: i64, line: impl Fn(i64, &str) -> String) -> String {
    let at = |i: i64| {
        let s = 49 * 60 + 6 + i * step_ms / 1000;
        format!("24/Nov/2026:{:02}:{:02}:{:02} +0000", 11 + s / 3600, s / 60 % 60, s % 60)
    };
    (0..count).map(|i| line(i, &at(i)) + "\n").collect()
}

const FROM_NS: i64 = 1_795_520_946 * SECOND_NS;

/// A summary of what was read from a real log: how it was understood, series, and operations by
/// name.
fn summary(recording: &Recording) -> String {
    let source = &recording.sources[0];
    let mut summary = vec![format!("{} requests, {} skipped", source.records, source.skipped)];
    summary.extend(source.checks.iter().map(|c| format!("{}: {} ({})", c.claim, c.holds, c.detail)));
    summary.extend(source.unseen.iter().map(|u| format!("not seen: {} ({})", u.what, u.why)));
    for s in &recording.series {
        let mean = s.value.iter().sum::<f64>() / s.value.len() as f64;
        summary.push(format!(
            "{} ({}, {}): {} points, mean {mean:.3}",
            s.info.name,
            s.info.unit,
            s.info.instance,
            s.value.len()
        ));
    }
    let mut names = std::collections::BTreeMap::<&str, usize>::new();
    recording.spans_of(kind::OPERATION).for_each(|op| *names.entry(op.name()).or_default() += 1);
    summary.extend(names.into_iter().map(|(name, count)| format!("{count} {name}")));
    summary.join("\n")
}

const REAL: [&str; 9] = [
    "nginx-1.22.log",
    "nginx-1.22.json",
    "apache-2.4-D.log",
    "apache-2.4-T.log",
    "tomcat-9.0-D.log",
    "tomcat-9.0-T.log",
    "tomcat-10.1-D.log",
    "tomcat-10.1-T.log",
    "jetty-12.0.log",
];

fn fixture(name: &str) -> Vec<u8> {
    let path = format!("{}/fixtures/access-log/{name}.zst", env!("CARGO_MANIFEST_DIR"));
    zstd::decode_all(std::fs::File::open(path).unwrap()).unwrap()
}

#[test]
fn logs_of_real_servers_are_understood() {
    for name in REAL {
        let log = fixture(name);
        assert_eq!(AccessLog.sniff(&log), Confidence(85), "{name}");
        insta::assert_snapshot!(name, summary(&try_read(name, &log).unwrap()));
    }
}

#[test]
fn a_stop_of_the_server_is_three_seconds_without_a_request() {
    // Every handler waited from the fourteenth to the seventeenth second of its server.
    for name in REAL {
        let recording = try_read(name, &fixture(name)).unwrap();
        let requests = series(&recording, series::REQUESTS);
        let idle = requests.value.iter().take(20).filter(|rate| **rate < 5.0).count();
        assert!((2..=3).contains(&idle), "{name}: {:?}", requests.value);
    }
}

#[test]
fn requests_become_series_and_operations_without_what_clients_send() {
    let log = made(100, 100, |i, at| {
        let status = if i % 10 == 0 { 503 } else { 200 };
        format!(
            "203.0.113.9 - alice [{at}] \"GET /orders/{i}?token=hunter2 HTTP/1.1\" {status} 512 \"https://ref.example/?q=1\" \"curl/8.5\" 0.250"
        )
    });
    let recording = read(log.as_bytes());
    let requests = series(&recording, series::REQUESTS);
    // Ten per second over ten seconds, of which the first and the last are not known to be
    // complete.
    assert_eq!(requests.value, vec![10.0; 8]);
    assert_eq!((requests.t_ns[0], requests.dt_ns[0]), (FROM_NS + SECOND_NS, SECOND_NS));
    assert_eq!(series(&recording, series::REQUESTS_WITHOUT_5XX).value, vec![9.0; 8]);
    assert_eq!(series(&recording, series::SERVER_ERRORS).value, vec![0.1; 8]);
    assert_eq!(series(&recording, series::AVG_LATENCY).value, vec![250.0; 8]);
    let operations: Vec<_> = recording.spans_of(kind::OPERATION).collect();
    assert_eq!(operations.len(), 100);
    assert!(operations.iter().all(|op| op.name() == "GET /orders/*" && op.duration_ns() == 250 * MILLI_NS));
    assert!(operations.iter().all(|op| op.thread().is_none()));
    assert_eq!((operations[0].figure(figure::STATUS), operations[0].line()), (Some(503.0), 1));
    let all = format!("{recording:?}");
    for secret in ["203.0.113.9", "alice", "hunter2", "ref.example", "curl"] {
        assert!(!all.contains(secret), "{secret}");
    }
    let source = &recording.sources[0];
    assert_eq!(
        (source.records, source.skipped, source.anchor.as_ref().unwrap().uncertainty_ns),
        (100, 0, SECOND_NS)
    );
}

#[test]
fn a_second_without_a_request_is_a_zero() {
    let log = made(60, 100, |_, at| format!("- - - [{at}] \"GET / HTTP/1.1\" 200 5"));
    // Nothing from 11:49:09 to 11:49:11.
    let log: String = log
        .lines()
        .filter(|l| !l.contains(":09 ") && !l.contains(":10 "))
        .map(|l| format!("{l}\n"))
        .collect();
    let recording = read(log.as_bytes());
    for name in [series::REQUESTS, series::REQUESTS_WITHOUT_5XX] {
        assert_eq!(series(&recording, name).value, [10.0, 10.0, 0.0, 0.0], "{name}");
    }
    assert_eq!(recording.spans_of(kind::OPERATION).len(), 0, "without a duration there is no end");
    assert!(recording.series.iter().all(|s| s.info.name != series::AVG_LATENCY));
    let source = &recording.sources[0];
    assert!(
        source.checks.iter().all(|check| check.holds),
        "nothing is wrong with such a log: {:?}",
        source.checks
    );
    assert_eq!(source.unseen[0].what, "the durations of requests");
}

#[test]
fn a_start_is_moved_to_where_the_request_ended() {
    let log: String = (0..100)
        .map(|i| {
            format!(
                "[2026-11-24T11:49:{:02}.{:03}Z] \"GET /a HTTP/1.1\" 200 - 0 5 {} - \"-\" \"-\" \"-\" \"-\" \"-\"\n",
                6 + i / 10,
                i % 10 * 100,
                if i == 50 { 3000 } else { 20 }
            )
        })
        .collect();
    assert_eq!(AccessLog.sniff(log.as_bytes()), Confidence(85));
    let recording = read(log.as_bytes());
    let slow = recording.spans_of(kind::OPERATION).max_by_key(|op| op.duration_ns()).unwrap();
    assert_eq!((slow.t0_ns(), slow.t1_ns()), (FROM_NS + 5 * SECOND_NS, FROM_NS + 8 * SECOND_NS));
    assert!(recording.sources[0].checks.iter().all(|check| check.holds), "{:?}", recording.sources[0].checks);
    assert_eq!(recording.sources[0].anchor.as_ref().unwrap().uncertainty_ns, MILLI_NS);
}

#[test]
fn many_requests_with_precise_timestamps_have_short_ticks() {
    let log: String = (0..2000)
        .map(|i| format!("{{\"time\":\"2026-11-24T11:49:{:02}.{:03}Z\",\"method\":\"GET\",\"uri\":\"/\",\"status\":200,\"duration_ms\":1}}\n", 6 + i / 1000, i % 1000))
        .collect();
    let recording = read(log.as_bytes());
    let requests = series(&recording, series::REQUESTS);
    assert_eq!((requests.value.len(), requests.dt_ns[0]), (18, 100 * MILLI_NS));
    assert!(requests.value.iter().all(|v| *v == 1000.0));
}

#[test]
fn a_unit_that_is_not_certain_is_said_and_not_taken() {
    let log = made(200, 100, |i, at| format!("- - - [{at}] \"GET / HTTP/1.1\" 200 5 {}", 100 + i * 37 % 150));
    let recording = read(log.as_bytes());
    assert_eq!(recording.spans_of(kind::OPERATION).len(), 0);
    let unseen = &recording.sources[0].unseen[0];
    assert!(unseen.why.contains("may be milliseconds or microseconds"), "{}", unseen.why);
    assert_eq!(series(&recording, series::REQUESTS).value.len(), 18);
}

#[test]
fn a_clock_that_falls_back_is_said() {
    let line = |_: i64, at: &str| format!("- - - [{at}] \"GET / HTTP/1.1\" 200 5");
    let on = made(300, 1000, line);
    let check = |log: &str| {
        let recording = read(log.as_bytes());
        recording.sources[0]
            .checks
            .iter()
            .find(|check| !check.holds && check.claim.contains("clock"))
            .cloned()
    };
    let fell = check(&format!("{on}{}", on.replace("2026:11:", "2026:10:"))).unwrap();
    assert!(fell.detail.contains("from line 301 on timestamps are 3899 s earlier"), "{}", fell.detail);
    assert!(check(&on).is_none());
}

#[test]
fn lines_that_are_none_are_counted_and_not_shown() {
    let mut log = made(50, 100, |_, at| format!("- - - [{at}] \"GET / HTTP/1.1\" 200 5"));
    log.insert_str(0, "alice hunter2\n\n");
    let recording = read(log.as_bytes());
    let source = &recording.sources[0];
    assert_eq!((source.records, source.skipped, source.unknown[0].line), (50, 1, 1));
    assert!(!source.unknown[0].text.contains("hunter2"));
    assert!(matches!(try_read("x", b"nothing\n"), Err(IngestError::Empty { .. })));
}

#[test]
fn other_texts_are_none() {
    for other in [
        &b"t,ops\n1,2\n"[..],
        b"[2026-11-20T22:02:12.784+0000][0.043s][info][gc] GC(1) Pause Young (Normal) 3M->1M(9M) 1.2ms\n",
        b"{\"time\":\"2026-11-24T11:49:06Z\",\"level\":\"info\",\"message\":\"GET / 200\"}\n",
        b"a;b;c 3\n",
        b"",
    ] {
        assert_eq!(AccessLog.sniff(other), Confidence(0));
    }
}

#[test]
fn implausible_timestamps_take_no_memory() {
    let log: String = (0..100)
        .map(|i| {
            format!("- - - [24/Nov/{}:11:49:06 +0000] \"GET / HTTP/1.1\" 200 5 0.1\n", 1970 + i * 37 % 300)
        })
        .collect();
    let recording = read(log.as_bytes());
    assert!(series(&recording, series::REQUESTS).value.len() < 300);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_damage_makes_it_panic(
        share in 0.0..1.0_f64,
        flips in prop::collection::vec((0.0..1.0_f64, 0..8_u8), 0..64),
        form in 0..3_usize,
    ) {
        let mut data = made(300, 100, |i, at| match form {
            0 => format!("h - u [{at}] \"GET /a/{i} HTTP/1.1\" 200 {i} \"-\" \"x\" {}", i * 37 % 5000),
            1 => format!("[2026-11-24T11:49:06.{:03}Z] \"GET / HTTP/1.1\" 200 - 0 5 {i} - \"-\"", i),
            _ => format!("{{\"time_local\":\"{at}\",\"request\":\"GET /a HTTP/1.1\",\"status\":{i},\"request_time\":0.{i}}}"),
        })
        .into_bytes();
        let all = data.len();
        for (at, bit) in flips {
            if let Some(byte) = data.get_mut((all as f64 * at) as usize) {
                *byte ^= 1 << bit;
            }
        }
        data.truncate((all as f64 * share) as usize);
        let _ = AccessLog.sniff(&data);
        if let Ok(recording) = try_read("access.log", &data) {
            prop_assert!(recording.spans_of(kind::OPERATION).all(|op| op.t1_ns() >= op.t0_ns()));
            let source = &recording.sources[0];
            prop_assert!(source.records + source.skipped <= 600);
        }
    }

    #[test]
    fn no_text_makes_it_panic(text in "\\PC{0,200}") {
        let line = format!("x [24/Nov/2026:11:49:06 +0000] \"{text}\" 200 {text}\n");
        let _ = try_read("access.log", line.as_bytes());
        let _ = try_read("access.log", text.as_bytes());
    }
}
