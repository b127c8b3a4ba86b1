//! `fathom diagnose --fail-on`: what a pipeline sees.

use std::path::{Path, PathBuf};

use snapbox::cmd::Command;

fn log(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../diagnose/fixtures/gc").join(name)
}

fn diagnose(name: &str, fail_on: &str) -> snapbox::cmd::OutputAssert {
    let fathom = Command::new(env!("CARGO_BIN_EXE_fathom"));
    fathom.arg("diagnose").arg(log(name)).args(["--json", "--fail-on", fail_on]).assert()
}

const BLOCKED: &str = "gc-log-write-blocked/javagcworkload-jdk17-g1.log.zst";
const HEALTHY: &str = "healthy/jdk17-g1.log.zst";

#[test]
fn status_is_1_only_when_a_finding_is_as_sure_as_asked_or_of_the_rule_asked_for() {
    diagnose(BLOCKED, "consistent-with").code(1);
    diagnose(BLOCKED, "gc-log-write-blocked").code(1);
    diagnose(BLOCKED, "gc-humongous,consistent-with").code(1);
    diagnose(BLOCKED, "proven").code(0);
    diagnose(BLOCKED, "gc-humongous").code(0);
    diagnose(HEALTHY, "consistent-with").code(0);
}

#[test]
fn an_unknown_rule_is_bad_usage() {
    let output = diagnose(HEALTHY, "gc-humungous").code(2);
    let said = String::from_utf8_lossy(&output.get_output().stderr).into_owned();
    assert!(said.contains("gc-humongous"), "the rules are listed: {said}");
}
