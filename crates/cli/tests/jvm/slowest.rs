//! `fathom diagnose --slowest` and `--op` on a real JVM whose slow requests are slow by
//! construction.

use std::process::Command;

use crate::live::{fathom, jdks, json, patiently, said};

/// Every 100th request waits for a monitor that another thread holds asleep (Requests.java): that,
/// and nothing else, is what the slow ones have.
#[test]
fn slow_requests_are_explained_by_the_sleep_of_who_held_the_lock() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        for (release, home) in jdks::each(jdks::with_program(dir, "Requests")) {
            let _ = std::fs::remove_file(dir.join("x.jfr"));
            let settings = "-XX:StartFlightRecording=filename=x.jfr,settings=profile";
            let mut java = Command::new(home.join("bin/java"));
            java.current_dir(dir).args([settings, "-Xmx64m", "-cp", ".", "Requests"]);
            let output = java.output().unwrap();
            assert!(output.status.success(), "JDK {release}: {}", said(&output));

            let found = json(dir, &["diagnose", "x.jfr", "--slowest", "1%", "--kind", "shop.Request"]);
            let shown = format!("JDK {release}: {found}");
            assert_eq!((&found["operations"], &found["slow"]["operations"]), (&600.into(), &6.into()));
            let lead = &found["parts"][0];
            assert_eq!(
                (&lead["category"], &lead["covered_by"]),
                (&"sleep".into(), &"lock".into()),
                "{shown}"
            );
            assert!(lead["counterpart"].as_str().unwrap().contains("sleeper"), "{shown}");
            assert!(lead["share"].as_f64().unwrap() > 0.7, "{shown}");
            // The ordinary ones wait for nobody.
            assert_eq!(lead["ordinary_ms"].as_f64().unwrap(), 0.0, "{shown}");
            assert_eq!(found["confidence"], "likely", "{shown}");

            let id = found["slow_operations"][0]["id"].as_str().unwrap();
            let explained = json(dir, &["diagnose", "x.jfr", "--op", id]);
            let pieces = explained["pieces"].as_array().unwrap();
            let sum: f64 = pieces.iter().map(|piece| piece["ms"].as_f64().unwrap()).sum();
            assert!((sum - explained["operation"]["ms"].as_f64().unwrap()).abs() < 1e-6, "{explained}");
            let wait = pieces.iter().find(|piece| piece["category"] == "monitor");
            let wait = wait.unwrap_or_else(|| panic!("JDK {release}: {explained}"));
            assert_eq!(wait["place"], "Requests.take", "{explained}");
            let text = fathom(dir, &["diagnose", "x.jfr", "--op", id]);
            assert!(String::from_utf8_lossy(&text.stdout).contains("<- sleeper: asleep"), "{text:?}");
        }
    });
}

/// Without operations, the message says what would give some.
#[test]
fn a_log_without_operations_is_refused_with_what_would_give_some() {
    let dir = tempfile::tempdir().unwrap();
    let log =
        "[0.010s][info][gc] Using G1\n[0.500s][info][gc] GC(0) Pause Full (System.gc()) 2M->1M(8M) 3.000ms\n";
    std::fs::write(dir.path().join("gc.log"), log).unwrap();
    let output = fathom(dir.path(), &["diagnose", "gc.log", "--slowest", "1%"]);
    assert!(!output.status.success());
    assert!(said(&output).contains("no operations") && said(&output).contains("JFR"), "{}", said(&output));
}
