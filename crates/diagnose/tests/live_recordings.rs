//! Verdicts on cuts of live recordings of known faults: what happened in each is in the README
//! next to them.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::path::{Path, PathBuf};

use fathom_diagnose::chain::Chains;
use fathom_diagnose::facts::Value;
use fathom_diagnose::thread_ledger::{By, thread_ledger};
use fathom_diagnose::{Category, Confidence, Diagnosis, Evidence, Finding, Options, diagnose};
use fathom_recording::Recording;

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/live").join(name)
}

/// A recording, with the table of throughput that the program wrote where it is asked for.
fn recording(name: &str, with_table: bool) -> Recording {
    let mut recording = fathom_recording::open(&fixture(&format!("{name}.fathom"))).unwrap();
    match with_table {
        false => recording.seal(),
        true => {
            let table = fixture(&format!("{name}-throughput.csv"));
            fathom_ingest::read_inputs(&[table], &fathom_ingest::Options::default(), &mut recording).unwrap();
            recording.seal();
        }
    }
    recording
}

fn verdict(name: &str, with_table: bool) -> Diagnosis {
    diagnose(&recording(name, with_table), &Options::default()).unwrap()
}

/// The first finding, by rule and whom its culprit names.
fn first<'d>(d: &'d Diagnosis, rule: &str, culprit: &str) -> &'d Finding {
    let found = || d.findings.iter().map(|f| format!("{}: {}", f.rule, f.culprit)).collect::<Vec<_>>();
    let first = d.findings.first().unwrap_or_else(|| panic!("nothing found: {}", d.headline));
    assert_eq!((first.rule, first.culprit.fact().name("value")), (rule, Some(culprit)), "{:?}", found());
    first
}

/// The first evidence of a metric.
fn fact<'f>(finding: &'f Finding, metric: &str) -> &'f fathom_diagnose::Fact {
    let found = finding.evidence.iter().find(|evidence| evidence.metric() == metric);
    &found.unwrap_or_else(|| panic!("no {metric} in {:?}", finding.evidence)).fact
}

#[test]
fn a_convoy_is_what_the_holder_of_its_lock_does_with_and_without_the_table() {
    for with_table in [true, false] {
        let d = verdict("lock-convoy", with_table);
        let finding = first(&d, "lock-contended-monitor", "OrderService$AccountLedger");
        assert_eq!(finding.culprit.fact().name("place"), Some("OrderService.book"));
        assert!(finding.confidence >= Confidence::Likely, "{:?}", finding.why_confidence);
        let did = &fact(finding, "lock-holders").detail("did").unwrap().parts()[0];
        let what = &did.detail("what").unwrap().parts()[0];
        assert_eq!(what.named("value"), Some(&Value::Category(Category::Sleep)));
        assert_eq!(what.name("place"), Some("OrderService.auditTrail"));
        assert!(!with_table || finding.share.unwrap() > 0.9, "{:?}", finding.share);
    }
}

#[test]
fn a_chain_into_a_convoy_leads_to_what_all_holders_did_and_to_methods_of_the_application() {
    let recording = recording("lock-convoy", false);
    let chains = Chains::with_lock_holders(&recording);
    let window = fathom_diagnose::whole(&recording);
    let (victim, _) = chains.victims(window, &[])[0];
    let chain = chains.of_victim(victim, window);
    let lock = chain.links.iter().find(|link| link.category == Some(Category::Monitor)).unwrap();
    let holders = &lock.next[0];
    assert_eq!(holders.category, Some(Category::Sleep), "{lock:#?}");
    assert_eq!(holders.what.fact().name("place"), Some("OrderService.auditTrail"), "{lock:#?}");
    assert!(holders.ms > 0.6 * lock.ms, "{} of {} ms", holders.ms, lock.ms);
    assert_eq!(holders.stack[1..3], ["OrderService.auditTrail", "OrderService.book"], "{:?}", holders.stack);
}

#[test]
fn a_pool_that_waits_for_its_peer_is_explained_by_the_peer() {
    let d = verdict("connection-pool", true);
    let finding = first(&d, "largest-growth", "Pool.lambda$main$0");
    assert!(finding.share.unwrap() > 0.8, "{:?}", finding.share);
    let title = serde_json::to_value(&finding.title).unwrap();
    let growth = &title["details"]["growth"]["parts"][0]["details"];
    let over = growth["doing"]["parts"][0]["details"]["over"]["value"].as_str().unwrap_or_default();
    assert!(over.starts_with("127.0.0.1"), "{title}");
    let also = title["details"]["also"]["parts"].as_array().unwrap();
    let behind = also.iter().find(|fact| fact["metric"] == "threads-behind").unwrap();
    assert_eq!(behind["details"]["place"]["value"], "Pool.call", "{title}");
}

/// Who took most CPU time from the application.
fn taken_most_by(finding: &Finding) -> Option<&str> {
    fact(finding, "cpu-taken-by").detail("processes")?.parts()[0].name("process")
}

#[test]
fn processors_that_others_took_are_reported_with_who_took_them() {
    let d = verdict("hog", true);
    let finding = &d.findings[0];
    assert_eq!((finding.rule, finding.confidence), ("cpu-taken-by-others", Confidence::Proven));
    assert_eq!(taken_most_by(finding), Some("python3 (6 processes)"));
    assert!(finding.share.unwrap() > 0.9, "{:?}", finding.share);
    // Without the table they are found by what they kept the threads from, and another program that
    // always runs is not named first.
    let d = verdict("hog", false);
    let finding = &d.findings[0];
    assert_eq!(finding.rule, "cpu-taken-by-others");
    assert_eq!(taken_most_by(finding), Some("python3 (6 processes)"));
    // Threads wait for a CPU in the baseline too: what is 0.0 there is what they ran less for it.
    let what = d.windows.how.iter().filter(|how| how.fact().metric.id == "threads-changed");
    let doing: Vec<&str> = what.filter_map(|how| how.fact().name("doing")).collect();
    assert!(matches!(doing[..], [doing] if doing.starts_with("running less")), "{:?}", d.windows.how);
}

#[test]
fn a_thousand_threads_that_hand_on_two_tokens_run_as_much_as_the_kernel_counts() {
    let recording = recording("hand-1500-threads", false);
    let ledger = thread_ledger(&recording, None, None, By::Process);
    let hand = ledger.groups.iter().find(|group| group.name == "Hand").unwrap();
    let running: f64 = hand.spent.iter().filter(|s| s.category.is_running()).map(|s| s.ms).sum();
    let cpus = running / (ledger.window.length_ns() as f64 / 1e6);
    assert!((0.5..0.75).contains(&cpus), "{cpus}");
    // The lock that their stacks wait for has no record: it may be named, and not as sure.
    let d = verdict("hand-1500-threads", false);
    let sure: Vec<_> = d.findings.iter().map(|f| (f.rule, f.confidence)).collect();
    assert!(sure.iter().all(|(_, confidence)| *confidence == Confidence::ConsistentWith), "{sure:?}");
}

#[test]
fn a_log_on_a_frozen_file_system_is_proven_and_what_the_kernel_waited_for_is_reported() {
    let d = verdict("log-frozen-file-system", false);
    let finding = first(&d, "gc-log-write-blocked", "gc.log");
    assert_eq!(finding.confidence, Confidence::Proven, "{:?}", finding.why_confidence);
    // Second, so that no fold of the list takes it.
    assert_eq!(finding.evidence[1].fact.name("function"), Some("percpu_rwsem_wait"));
}

#[test]
fn writes_of_the_log_that_the_kernel_throttles_are_reported_as_such() {
    let d = verdict("log-dirty-throttling", false);
    let finding = first(&d, "gc-log-write-blocked", "gc.log");
    assert!(finding.confidence >= Confidence::Likely, "{:?}", finding.why_confidence);
    let throttled = |evidence: &Evidence| evidence.fact.name("function") == Some("balance_dirty_pages");
    assert!(finding.evidence.iter().any(throttled), "{:?}", finding.evidence);
    // Whose data it is: the loop writes next to nothing itself.
    let files = &fact(finding, "written-back-meanwhile").detail("files").unwrap().parts()[0];
    let writer = &files.detail("writers").unwrap().parts()[0];
    assert_eq!(writer.name("writer"), Some("python3"));
    assert!(writer.number("value").unwrap() > 0.985, "{writer:?}");
}

#[test]
fn tls_sessions_that_are_not_resumed_are_reported_whatever_else_stops_the_jvm() {
    for name in ["tls-not-resumed-jdk8", "tls-not-resumed-hidden-by-a-stop"] {
        let d = verdict(name, false);
        let finding = first(&d, "tls-not-resumed", "Tls.main");
        // What they ran for is not what they took on a busy machine.
        let took = fact(finding, "cpu-time-with-waits");
        assert!(took.number("elapsed") > took.number("value"), "{took:?}");
    }
}

#[test]
fn a_program_without_a_fault_on_a_machine_short_of_cpus_gets_no_surer_verdict_than_that() {
    let d = verdict("tls-resumed-jdk8", false);
    // What others take is usual on this machine, and nothing shows what it costs the program.
    let others = |f: &&Finding| f.rule == "cpu-taken-by-others" && f.confidence == Confidence::ConsistentWith;
    let found: Vec<_> = d.findings.iter().map(|f| (f.rule, f.confidence)).collect();
    assert!(d.findings.iter().all(|f| others(&f)), "{found:?}");
    assert!(!found.is_empty(), "{}", d.headline);
    assert!(
        !d.findings.iter().any(|f| f.share.is_some()),
        "a part of a loss that nobody measured: {found:?}"
    );
}

#[test]
fn a_jvm_without_probes_is_stopped_for_what_its_counters_say() {
    let d = verdict("tls-not-resumed-jdk8", false);
    let of = |category: &str| -> f64 {
        d.ledger.iter().filter(|row| row.category == category).filter_map(|row| row.slow_share).sum()
    };
    // Two JVMs, each of which runs nearly all of the time.
    assert!(of("not stopped") > 1.7 && of("unknown") < 0.25, "{:?}", d.ledger);
}
