//! Verdicts on logs of real runs: what happened in each is in the README next to its files.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::path::{Path, PathBuf};

use fathom_diagnose::{Confidence, Diagnosis, Evidence, Finding, Options, Status, WindowSpec, diagnose};
use fathom_recording::Recording;

fn fixtures(dir: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../ingest/fixtures").join(dir)
}

/// Reads files into one recording, tables placed `align` after the start of the first JVM.
fn read(files: &[PathBuf], align: Option<&str>) -> Recording {
    let mut recording = Recording::new();
    let tables = files.iter().filter(|f| f.extension().is_some_and(|e| e == "csv"));
    let by_hand = tables.filter_map(|f| Some(format!("{}={}", f.file_name()?.to_str()?, align?)));
    let options = fathom_ingest::Options { align: by_hand.collect(), ..fathom_ingest::Options::default() };
    let report = fathom_ingest::read_inputs(files, &options, &mut recording).unwrap();
    assert!(report.inputs.len() >= files.len(), "{report:?}");
    recording.seal();
    recording
}

fn elasql(names: &[&str], slow: &[&str], align: Option<&str>) -> Diagnosis {
    let files: Vec<_> = names.iter().map(|name| fixtures("elasql").join(name)).collect();
    let slow: Vec<WindowSpec> = slow.iter().map(|w| w.parse().unwrap()).collect();
    accounted(diagnose(&read(&files, align), &Options { slow, ..Options::default() }).unwrap())
}

/// A diagnosis whose account charges all of the loss, and nothing where none was measured.
fn accounted(d: Diagnosis) -> Diagnosis {
    let charged: f64 = d.account.iter().map(|charge| charge.ms).sum();
    let share: f64 = d.account.iter().map(|charge| charge.share).sum();
    match d.loss.lost_ms > 0.0 {
        true => assert!(
            (charged - d.loss.lost_ms).abs() < 0.01 * d.loss.lost_ms && (share - 1.0).abs() < 0.01,
            "{:?}",
            d.account
        ),
        false => assert!(d.account.is_empty(), "{:?}", d.account),
    }
    d
}

const ALL: [&str; 11] = [
    "gc0.log",
    "gc1.log",
    "gc2.log",
    "gc3.log",
    "jit0.xml.zst",
    "jit1.xml.zst",
    "jit2.xml.zst",
    "jit3.xml.zst",
    "client0.csv",
    "client1.csv",
    "client2.csv",
];

/// The first evidence of a metric.
fn fact<'f>(finding: &'f Finding, metric: &str) -> &'f fathom_diagnose::Fact {
    let found = finding.evidence.iter().find(|evidence| evidence.metric() == metric);
    &found.unwrap_or_else(|| panic!("no {metric} in {:?}", finding.evidence)).fact
}

/// Slow windows in seconds of the clients' clock.
fn seconds(d: &Diagnosis, windows: &[fathom_diagnose::Window]) -> Vec<(i64, i64)> {
    windows
        .iter()
        .map(|w| ((w.from_ns - d.zero_ns) / 1_000_000_000, (w.to_ns - d.zero_ns) / 1_000_000_000))
        .collect()
}

#[test]
fn the_dip_of_the_migration_is_blamed_on_the_burst_of_server_2_and_the_earlier_dip_is_not() {
    let d = elasql(&ALL, &[], Some("+36s"));
    let slow = seconds(&d, &d.windows.slow);
    assert_eq!(slow.len(), 2, "{slow:?} {:?}", d.windows.how);
    assert_eq!(slow[0], (84, 88));
    assert!((142..=145).contains(&slow[1].0) && (155..=166).contains(&slow[1].1), "{slow:?}");

    let first = &d.findings[0];
    assert_eq!((first.rule, first.confidence), ("jit-compile-burst", Confidence::ConsistentWith));
    assert!(first.evidence.iter().any(|e| e.source.name.contains("jit2.xml")), "{:?}", first.evidence);
    assert!(first.share.unwrap() > 0.5 && first.share.unwrap() < 0.95, "{:?}", first.share);
    let fresh = fact(first, "methods-first-compiled").detail("methods").unwrap().parts();
    assert!(fresh.iter().any(|method| method.name("value").unwrap().contains(".migration.")), "{fresh:?}");
    let queues = fact(first, "compile-queue").detail("compilers").unwrap().parts();
    assert_eq!(queues[0].name("compiler"), Some("C2"));
    assert!(fact(first, "stopped-share").number("value").is_some(), "collections are compared with it");
    let acted = seconds(&d, &first.windows);
    assert!(acted.iter().all(|(from, _)| *from >= 140), "the dip near 85 s is not its doing: {acted:?}");
    assert_eq!(d.findings.len(), 1, "{:?}", d.findings.iter().map(|f| f.rule).collect::<Vec<_>>());

    let whole = &d.ruled_out[0];
    assert_eq!((whole.rule.as_str(), whole.source.as_str()), ("gc", "gc2.log"), "the collector comes first");
    let row = d.ledger.iter().find(|r| r.category == "stopped: GC" && r.process == first.process).unwrap();
    let figure = whole.figure.fact();
    assert_eq!(figure.metric.id, "collections-of-the-loss");
    let shares = ["stopped", "baseline-stopped"].map(|name| figure.number(name));
    assert_eq!(shares, [row.slow_share, row.base_share]);

    let gc = d.ruled_out.iter().find(|r| r.rule == "gc-heap-too-small").unwrap();
    assert!(!gc.figure.is_empty() && gc.source.contains(".log"), "{gc:?}");
}

#[test]
fn the_same_logs_give_the_same_verdict_every_time() {
    let few = ["gc2.log", "jit2.xml.zst", "client0.csv", "client1.csv", "client2.csv"];
    let json = || serde_json::to_string(&elasql(&few, &[], Some("+36s"))).unwrap();
    assert_eq!(json(), json());
}

#[test]
fn without_the_jit_log_the_dip_is_not_explained_and_the_blind_spot_says_what_to_switch_on() {
    let d = elasql(&["gc2.log", "client0.csv", "client1.csv", "client2.csv"], &[], Some("+36s"));
    assert!(d.findings.is_empty(), "{:?}", d.findings);
    assert_eq!(d.status, Status::NotExplained, "{}", d.headline);
    let blind = d.blind_spots.iter().find(|b| b.rules.iter().any(|r| r == "jit-compile-burst")).unwrap();
    assert_eq!(blind.remedy.fact().metric.id, "jit-log", "{blind:?}");
}

#[test]
fn the_earlier_dip_alone_has_no_cause_in_these_logs() {
    let d = elasql(&ALL, &["84s..88s"], Some("+36s"));
    assert!(d.findings.is_empty(), "{:?}", d.findings.iter().map(|f| &f.title).collect::<Vec<_>>());
    assert!(d.loss.lost_ms > 1_000.0);
}

#[test]
fn a_window_in_the_start_up_is_reported_as_start_up() {
    let d = elasql(&["jit2.xml.zst", "client0.csv", "client1.csv", "client2.csv"], &["0s..6s"], Some("+0s"));
    for finding in &d.findings {
        assert_eq!(finding.confidence, Confidence::ConsistentWith);
        assert!(fact(finding, "burst-in-start-up").number("value").is_some());
    }
}

#[test]
fn clients_placed_by_correlation_give_the_same_one_cause() {
    let d = elasql(&ALL, &[], None);
    let slow = seconds(&d, &d.windows.slow);
    assert_eq!(slow.first(), Some(&(84, 88)), "{slow:?}");
    let rules: Vec<_> = d.findings.iter().map(|f| f.rule).collect();
    assert_eq!(rules, ["jit-compile-burst"]);
    let first = &d.findings[0];
    assert!(first.evidence.iter().any(|e| e.source.name.contains("jit2.xml")), "{:?}", first.evidence);
    let acted = seconds(&d, &first.windows);
    assert!(acted.iter().all(|(from, to)| *from >= 140 && *to <= 166), "only the dip at 143 s: {acted:?}");
    assert!(d.inputs.iter().any(|i| i.placed.contains("correlation")), "{:?}", d.inputs);
}

fn gc(log: &str) -> Diagnosis {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/gc").join(log);
    accounted(diagnose(&read(&[file], None), &Options::default()).unwrap())
}

#[test]
fn nothing_waited_for_the_log_where_it_is_asynchronous_or_nobody_else_writes() {
    for log in ["healthy/javagcworkload-jdk17-g1-async.log.zst", "healthy/javagcworkload-jdk8-g1.log.zst"] {
        let d = gc(log);
        let out = d.ruled_out.iter().find(|row| row.rule == "gc-log-write-blocked");
        assert!(out.is_some(), "{log}: {}", d.headline);
    }
}

#[test]
fn pauses_that_waited_for_the_disk_are_three_windows_and_the_verdict_names_what_would_prove_it() {
    let d = gc("gc-log-write-blocked/javagcworkload-jdk17-g1.log.zst");
    let lengths: Vec<f64> = d.windows.slow.iter().map(|w| w.length_ns() as f64 / 1e9).collect();
    assert_eq!(lengths.len(), 3, "{:?}", d.windows.how);
    assert!(lengths.iter().any(|s| (19.875..19.885).contains(s)), "the pause of 19.875187 s: {lengths:?}");
    let first = &d.findings[0];
    assert_eq!((first.rule, first.confidence), ("gc-log-write-blocked", Confidence::ConsistentWith));
    assert!(d.findings[1..].iter().all(|f| f.rule == "jvm-stopped"), "{:?}", d.findings);
    assert!(!first.verify.is_empty(), "{first:?}");
}

/// Throughput of a run whose JVM said three lines before, and nothing else: there is something to
/// see and nothing to blame.
#[test]
fn a_throughput_alone_has_no_cause_and_the_blind_spots_name_the_logs() {
    let csv = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/tables/lock-jdk17.csv");
    let d = diagnose(&read(&[csv], None), &Options::default()).unwrap();
    assert!(d.findings.is_empty(), "{:?}", d.findings);
    assert_eq!(d.inputs[0].format, "table");
    let remedies: Vec<&str> = d.blind_spots.iter().map(|b| b.remedy.fact().metric.id).collect();
    assert_eq!(remedies, ["gc-and-safepoint-log", "log-compilation"]);
}

#[test]
fn code_that_is_thrown_away_again_and_again_is_no_burst_of_new_code() {
    for jdk in ["jdk17", "jdk25"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/jit-deopt-loop");
        let files = [format!("{jdk}.xml.zst"), format!("{jdk}.csv")].map(|name| folder.join(name));
        let d = diagnose(&read(&files, None), &Options::default()).unwrap();
        let first = &d.findings[0];
        assert_eq!(
            (first.rule, first.confidence),
            ("jit-deopt-loop", Confidence::Likely),
            "{jdk}: {}",
            d.headline
        );
        assert!(first.share.unwrap() > 0.5, "{jdk}: {}", d.headline);
        let thrown = first.evidence.iter().filter(|evidence| evidence.metric() == "code-thrown-away");
        let methods: Vec<_> = thrown.filter_map(|evidence| evidence.fact.name("method")).collect();
        assert!(methods.iter().any(|method| method.starts_with("DeoptLoop.")), "{methods:?}");
    }
}

#[test]
fn a_trace_of_the_writes_beside_the_log_proves_what_the_log_alone_only_fits() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let log = folder.join("gc/gc-log-write-blocked/javagcworkload-jdk17-g1.log.zst");
    let files = [log, folder.join("waits/javagcworkload-jdk17-g1.strace.zst")];
    let d = diagnose(&read(&files, None), &Options::default()).unwrap();
    let first = &d.findings[0];
    assert_eq!(
        (first.rule, first.confidence),
        ("gc-log-write-blocked", Confidence::Proven),
        "{}",
        d.headline
    );
    let calls: Vec<_> = first.evidence.iter().filter(|e| e.source.name.contains(".strace")).collect();
    let took = |e: &&Evidence| e.fact.number("value").is_some_and(|ms| (ms - 19_750.0).abs() < 10.0);
    assert!(calls.iter().any(took), "{:?}", first.evidence);
    assert!(d.findings[1..].iter().all(|f| f.rule == "jvm-stopped"), "{:?}", d.findings);
}

#[test]
fn late_answers_of_a_resolver_lost_ones_and_quick_ones_are_distinguished() {
    let verdict_of = |name: &str| {
        let d = diagnose(&read(&[fixtures("strace").join(name)], None), &Options::default()).unwrap();
        let found: Vec<_> = d.findings.iter().map(|f| f.rule).collect();
        (found, d.status)
    };
    assert_eq!(verdict_of("dns-slow.strace").0, ["dns-slow"]);
    assert_eq!(verdict_of("dns-drop.strace").0, ["dns-timeout"]);
    assert_eq!(verdict_of("dns-fast.strace"), (vec![], Status::NoCauseFound));
}

#[test]
fn sixteen_threads_on_one_monitor_are_a_contended_lock() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures");
    let files = [folder.join("waits/lock-jdk17.jfr.zst"), folder.join("tables/lock-jdk17.csv")];
    let d = diagnose(&read(&files, None), &Options::default()).unwrap();
    let first = &d.findings[0];
    assert_eq!(
        (first.rule, first.confidence),
        ("lock-contended-monitor", Confidence::Likely),
        "{}",
        d.headline
    );
    let place = &fact(first, "locks-waited-for-in").detail("places").unwrap().parts()[0];
    assert_eq!(place.name("place"), Some("LockStorm$1.run"));
    let culprit = first.culprit.fact();
    assert_eq!(
        ["value", "place"].map(|name| culprit.name(name)),
        [Some("java.lang.Object"), Some("LockStorm$1.run")]
    );
}
