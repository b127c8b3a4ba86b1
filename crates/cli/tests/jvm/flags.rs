//! `fathom flags` with real JVMs, from the outside.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::{fathom, jdks, json, said};

/// The row of a flag that differs.
fn row<'v>(report: &'v Value, name: &str) -> &'v Value {
    let rows = report["differ"].as_array().unwrap();
    rows.iter().find(|row| row["name"] == name).unwrap_or(&Value::Null)
}

#[test]
fn what_was_set_what_follows_from_it_and_nothing_else_differs() {
    let dir = tempfile::tempdir().unwrap();
    for (_, home) in jdks::of(&[17, 25]) {
        let java = |options: &str| format!("{}/bin/java {options}", home.display());
        let (small, large) = (java("-XX:+UseSerialGC -Xmx64m"), java("-XX:+UseG1GC -Xmx128m"));
        let report = json(dir.path(), &["flags", &small, &large]);
        assert_eq!(row(&report, "MaxHeapSize")["because"], "set");
        assert_eq!(row(&report, "MaxHeapSize")["second"]["value"], "134217728");
        assert_eq!(row(&report, "G1HeapRegionSize")["because"], "ergonomics");
        assert_eq!(report["differ"][0]["because"], "set", "the surest reason first");
        assert!(row(&report, "TieredCompilation").is_null() && report["only_first"] == Value::Array(vec![]));
        let same = json(dir.path(), &["flags", &small, &small]);
        let differ: Vec<&Value> = same["differ"].as_array().unwrap().iter().map(|row| &row["name"]).collect();
        // Addresses are drawn at random by the kernel.
        assert!(differ.iter().all(|name| name.as_str().unwrap().ends_with("Address")), "{differ:?}");
    }
}

/// A flag that a change of the JDK is said to be about was or is one of some release: none is made
/// up.
#[test]
fn the_flags_of_known_changes_of_the_jdk_are_flags_of_a_jdk() {
    let jdks = jdks::of(&[8, 11, 17, 21, 25]);
    if jdks.len() < 5 {
        return;
    }
    let all = ["-XX:+UnlockDiagnosticVMOptions", "-XX:+UnlockExperimentalVMOptions", "-XX:+PrintFlagsFinal"];
    let mut known = std::collections::BTreeSet::new();
    for (_, home) in jdks {
        let output = Command::new(home.join("bin/java")).args(all).arg("-version").output().unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        known.extend(text.lines().filter_map(|line| line.split_whitespace().nth(1)).map(str::to_owned));
    }
    assert!(known.len() > 1_000, "{} flags", known.len());
    let changes = fathom_compare::jdk_changes::all().iter();
    let flags = changes.flat_map(|change| change.flags.iter().map(move |flag| (&change.id, flag)));
    // System properties have dots.
    let unknown: Vec<_> =
        flags.filter(|(_, flag)| !flag.contains('.') && !known.contains(flag.as_str())).collect();
    assert!(unknown.is_empty(), "{unknown:?}");
}

#[test]
fn a_running_jvm_has_the_flags_that_it_was_started_with() {
    let dir = tempfile::tempdir().unwrap();
    if jdks::compile(dir.path(), 11, &["Sums"]).is_none() {
        return;
    }
    for (_, home) in jdks::of(&[17, 25]) {
        let options = ["-XX:+UseSerialGC", "-Xmx64m"];
        let mut jvm = Command::new(home.join("bin/java"))
            .args(options)
            .args(["-cp", dir.path().to_str().unwrap(), "Sums", "small", "2000000000"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let pid = jvm.id().to_string();
        let asked = format!("{}/bin/java -XX:+UseSerialGC -Xmx65m", home.display());
        let end = Instant::now() + Duration::from_secs(20);
        let report = loop {
            let output = fathom(dir.path(), &["flags", &pid, &asked, "--json"]);
            if output.status.success() || Instant::now() > end {
                break output;
            }
            std::thread::sleep(Duration::from_millis(200));
        };
        jvm.kill().unwrap();
        jvm.wait().unwrap();
        if said(&report).contains("ermission") || said(&report).contains("not permitted") {
            fathom_testing::skip("may not be run by another user: the memory of a JVM cannot be read");
            return;
        }
        assert!(report.status.success(), "{}", said(&report));
        let report: Value = serde_json::from_slice(&report.stdout).unwrap();
        let heap = row(&report, "MaxHeapSize");
        assert_eq!(
            (&heap["first"]["value"], &heap["first"]["origin"]),
            (&"67108864".into(), &"command line".into())
        );
        assert!(row(&report, "UseSerialGC").is_null(), "{report}");
        assert!(report["known"][0].as_u64().unwrap() > 500);
    }
}

#[test]
fn what_is_no_jvm_is_said() {
    let error = |a: &str| said(&fathom(Path::new("."), &["flags", a, a]));
    assert!(error("no such thing").contains("no process, no JDK, no file"), "{}", error("no such thing"));
    assert!(error("jdk=4711").contains("no JDK 4711 was found"));
    for named in ["999999999", "jdk=4711"] {
        let output = fathom(Path::new("."), &["flags", named, named]);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    }
    assert!(error("java -XX:NoSuchFlag=1").contains("NoSuchFlag"), "{}", error("java -XX:NoSuchFlag=1"));
}
