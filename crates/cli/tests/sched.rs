//! The scheduler's collector on a real JVM: threads with known waits, and the ledger that must add up to them.
//! Needs root and eBPF; skips loudly without.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod live;

use std::path::Path;
use std::process::Command;

use live::process::Talking;
use live::recorded::ledger;
use live::{fathom, jdks, patiently, said};

/// The program, running; `None`, and a line about it, where there is no JDK.
fn program(dir: &Path) -> Option<Talking> {
    let home = jdks::compile(dir, 11, &["Waits"])?;
    let mut java = Command::new(home.join("bin/java"));
    Some(Talking::start(java.args(["-XX:+UseSerialGC", "-cp"]).arg(dir).args(["Waits", "120"])))
}

fn thread<'a>(ledger: &'a serde_json::Value, name: &str) -> &'a serde_json::Value {
    let groups = ledger["groups"].as_array().unwrap();
    groups
        .iter()
        .find(|g| g["name"].as_str().unwrap().starts_with(name))
        .unwrap_or_else(|| panic!("no {name}: {ledger}"))
}

/// Share of a thread's time under headings whose words begin with any of these.
fn share(thread: &serde_json::Value, words: &[&str]) -> f64 {
    let spent = thread["spent"].as_array().unwrap().iter();
    let under = spent.filter(|s| words.iter().any(|w| s["words"].as_str().unwrap().starts_with(w)));
    under.map(|s| s["ms"].as_f64().unwrap()).sum::<f64>() / thread["thread_ms"].as_f64().unwrap()
}

#[test]
fn known_waits_stand_in_the_ledger_and_every_threads_time_adds_up() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let Some(jvm) = program(dir.path()) else { return };
        let args = ["record", "-p", &jvm.pid(), "-d", "6s", "-o", "x.fathom", "--without", "jvm-events"];
        let output = fathom(dir.path(), &args);
        let said = said(&output);
        if output.status.code() == Some(3) && said.contains("eBPF") {
            eprintln!("SKIPPED: the scheduler cannot be watched here: {said}");
            return;
        }
        assert!(output.status.success(), "{said}");
        let ledger = ledger(dir.path(), "Waits");
        // What waits for a CPU is the machine's doing, and stands apart from what the program does; and so does what was sampled
        // before the last collector had begun, or after the first had ended, which takes its time on a busy machine.
        let on_its_own = |name: &str, words: &[&str]| {
            let thread = thread(&ledger, name);
            share(thread, words) / (1.0 - share(thread, &["waiting for a CPU", "unknown"]))
        };
        let burner = thread(&ledger, "burner");
        let known_ms = burner["thread_ms"].as_f64().unwrap() * (1.0 - share(burner, &["unknown"]));
        assert!(known_ms > 4_000.0, "of six seconds of the burner {known_ms} ms are known: {ledger}");
        let off = ["blocked", "asleep", "idle", "waiting for another"];
        let sleeps = on_its_own("sleeper", &off);
        assert!(sleeps > 0.97, "the sleeper sleeps {sleeps}: {ledger}");
        // The JVM stops it for safepoints, which are not watched here: a lock of the JVM's own.
        let runs = on_its_own("burner", &["running", "stopped", "blocked: native lock"]);
        assert!(runs > 0.9, "the burner runs {runs}: {ledger}");
        let half = on_its_own("half", &["running"]);
        assert!((0.35..0.65).contains(&half), "the half runs {half}: {ledger}");
        let unknown = share(thread(&ledger, "sleeper"), &["unknown"]);
        assert!(unknown < 0.1, "of the sleeper's time {unknown} is unknown: {ledger}");
        // The stack at the switch tells why.
        let asleep = on_its_own("sleeper", &["asleep"]);
        assert!(asleep > 0.9, "the sleeper is asleep {asleep}: {ledger}");
        let monitor = on_its_own("locker", &["blocked: Java monitor"])
            + on_its_own("holder", &["blocked: Java monitor"]);
        assert!(monitor > 0.8, "one of two always waits for the other: {monitor}: {ledger}");
        // It sleeps from before the recording until behind it, and only a look from outside tells in what.
        let main = on_its_own("main", &["asleep"]);
        assert!(main > 0.97, "main sleeps {main}: {ledger}");
    });
}
