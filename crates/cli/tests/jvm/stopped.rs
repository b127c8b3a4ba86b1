//! A process that is stopped from outside: what `fathom diagnose` and `fathom ledger` say of it.
//! Needs root and eBPF; skips loudly without.

use std::process::Command;
use std::time::Duration;

use fathom_recording::Span;
use fathom_recording::vocabulary::kind;

use crate::live::process::Talking;
use crate::live::recorded::{names, thread_name};
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, json, patiently};

/// How long the program is stopped, seconds.
const STOPPED_S: f64 = 3.0;

#[test]
fn a_program_that_is_stopped_by_a_signal_is_neither_running_nor_waiting() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        let Some(home) = jdks::compile(dir, 17, &["Crowd"]) else { return };
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Crowd", "20"]);
        let jvm = Talking::start(&mut java);
        let recorder = Recorder::record(dir, &jvm.pid(), &[]);
        let signal = |name: &str| {
            assert!(Command::new("kill").args([name, &jvm.pid()]).status().unwrap().success());
        };
        std::thread::sleep(Duration::from_secs(1));
        signal("-STOP");
        std::thread::sleep(Duration::from_secs_f64(STOPPED_S));
        signal("-CONT");
        std::thread::sleep(Duration::from_secs(1));
        let recording = recorder.stop(dir);
        // Threads without work go on waiting in the same call, and none returns from it.
        let long = |span: &Span<'_>| span.name() == "stopped" && span.duration_ns() > 2_000_000_000;
        let stops: Vec<Span<'_>> = recording.spans_of(kind::SCHED_OFF).filter(long).collect();
        assert!(stops.len() >= 20, "{}", stops.len());
        for stop in &stops {
            let names = names(&recording, stop.stack());
            let thread = thread_name(&recording, stop);
            assert!(names.iter().any(|name| name.contains("signal")), "{thread}: {names:?}");
            let is_javas = ["Reference Handler", "Finalizer"].contains(&thread);
            let shows_java = || names.iter().any(|name| name.starts_with("java.lang.ref."));
            assert!(!is_javas || shows_java(), "{thread}: {names:?}");
        }
        let verdict = json(dir, &["diagnose", "x.fathom"]);
        // The program's threads wait for each other's monitors as well.
        let findings = verdict["findings"].as_array().unwrap();
        let finding = findings.iter().find(|finding| finding["rule"] == "process-stopped");
        let finding = finding.unwrap_or_else(|| panic!("{verdict}"));
        let cost_s = finding["cost_ms"].as_f64().unwrap() / 1e3;
        assert!((STOPPED_S - 0.2..STOPPED_S + 1.0).contains(&cost_s), "{finding}");
        assert_eq!(finding["title"]["metric"], "process-stopped-as-a-whole", "{finding}");
        let ledger = json(dir, &["ledger", "x.fathom", "--by", "thread"]);
        let frozen_s = |name: &str| {
            let groups = ledger["groups"].as_array().unwrap();
            let group = groups.iter().find(|g| g["name"].as_str().unwrap().starts_with(name)).unwrap();
            let spent = group["spent"].as_array().unwrap();
            let frozen = spent.iter().find(|spent| spent["category"] == "frozen");
            frozen.map_or(0.0, |spent| spent["ms"].as_f64().unwrap() / 1e3)
        };
        for name in ["sleeper", "busy-0", "pool-7"] {
            let frozen = frozen_s(name);
            assert!((STOPPED_S - 0.5..STOPPED_S + 1.0).contains(&frozen), "{name} {frozen} s: {ledger}");
        }
    });
}
