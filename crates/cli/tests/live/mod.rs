//! What the tests with live JVMs share: fathom and what it answers, the JDKs of this machine and
//! programs of `tests/java` on them, a recording that is under way, what came of it, and a disk
//! that can be frozen. What a machine cannot do is reported with SKIPPED.

#![allow(dead_code, reason = "each test is compiled with all of it, and uses a part")]

pub mod disk;
pub mod jdks;
pub mod kernel;
pub mod process;
pub mod recorded;
pub mod recorder;
pub mod tracing;

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::{PoisonError, RwLock};

use serde_json::Value;

/// The program that is tested.
pub const FATHOM: &str = env!("CARGO_BIN_EXE_fathom");

/// Runs fathom in a folder, to its end.
pub fn fathom(dir: &Path, args: &[&str]) -> Output {
    Command::new(FATHOM).current_dir(dir).args(args).output().unwrap()
}

/// What a command of fathom that succeeds answers with `--json`.
#[track_caller]
pub fn json(dir: &Path, args: &[&str]) -> Value {
    let output = fathom(dir, &[args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// What a command said apart from its answer.
pub fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// Tests that measure run at the same time; one that is tried again runs alone.
static MEASURING: RwLock<()> = RwLock::new(());

/// Runs a test that measures what takes how long. A busy machine takes its time from the program,
/// from fathom and from the test, where none of them looks: what fails is tried twice more, loudly,
/// when no other such test runs.
///
/// A test that goes over several JDKs with [`jdks::each`] tries again only those on which it has
/// not passed yet: each JDK must pass in one of three tries, and need not be lucky in the same one
/// as all others.
pub fn patiently(test: impl Fn()) {
    tries("it", test);
}

/// Runs such a test with one JDK after the other, each of them patiently: where all had to succeed
/// in one attempt, the misfortunes of all would add up. What fails with one JDK each time fails.
pub fn with_each(jdks: Vec<(u64, PathBuf)>, test: impl Fn(u64, &Path)) {
    for (release, home) in jdks {
        tries(&format!("JDK {release}"), || test(release, &home));
    }
}

fn tries(what: &str, test: impl Fn()) {
    jdks::begin_tries();
    let tried = {
        let _beside_others = MEASURING.read().unwrap_or_else(PoisonError::into_inner);
        catch_unwind(AssertUnwindSafe(&test))
    };
    let Err(why) = tried else { return };
    let _alone = MEASURING.write().unwrap_or_else(PoisonError::into_inner);
    let again = |why: &(dyn Any + Send)| {
        jdks::begin_another_try();
        let load = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
        let load = load.trim();
        let why = begin_of(why);
        fathom_testing::tried_again(&format!("{what} failed: {why}; load of the machine: {load}"));
    };
    again(&*why);
    if let Err(why) = catch_unwind(AssertUnwindSafe(&test)) {
        again(&*why);
        test();
    }
}

/// The first line of what a test panicked with, as the notes at the end of all tests are what is
/// kept of a long run.
fn begin_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("it panicked");
    text.lines().take(3).flat_map(str::chars).take(400).collect()
}

/// Whether eBPF is allowed here; says so loudly when it is not.
pub fn ebpf_is_allowed() -> bool {
    let allowed = fathom_capture::check::ebpf();
    if let Err(why) = &allowed {
        fathom_testing::skip(&format!("{}: {}", why.what, why.why));
    }
    allowed.is_ok()
}
