//! `fathom check`, from the outside, on this machine and on a process that is no JVM.

use std::process::{Command, Output};

fn fathom(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_fathom")).args(args).output().unwrap()
}

#[test]
fn this_machine_is_reported_with_the_way_out_of_whatever_is_missing() {
    let output = fathom(&["check", "--json"]);
    assert!(output.status.success(), "{output:?}");
    let reported: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(reported["schema"], "fathom.check/1");
    for item in reported["items"].as_array().unwrap() {
        let missing = item["state"] == "missing";
        assert!(!missing || item["remedy"].as_str().is_some_and(|r| !r.is_empty()), "{item}");
    }
    let engines: Vec<_> =
        reported["engines"].as_array().unwrap().iter().map(|e| e["engine"].clone()).collect();
    assert_eq!(engines, ["ebpf", "jfr"]);
    let text = String::from_utf8(fathom(&["check"]).stdout).unwrap();
    assert!(text.starts_with("This machine (Linux ") && text.contains("eBPF programs"), "{text}");
}

#[test]
fn a_process_that_is_no_jvm_and_one_that_is_gone_end_with_status_3_and_one_sentence() {
    let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
    let pid = sleep.id().to_string();
    let alive = fathom(&["check", "-p", &pid]);
    let lived_on = sleep.try_wait().unwrap().is_none();
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    let gone = fathom(&["check", "-p", &pid]);
    assert!(lived_on);
    for (output, what) in [(alive, "is not a JVM"), (gone, "does not exist")] {
        assert_eq!(output.status.code(), Some(3), "{output:?}");
        let reported = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(reported.contains(what) && reported.lines().count() == 1, "{reported}");
    }
}
