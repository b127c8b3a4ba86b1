//! Changes of the JDK that `fathom compare` knows, reproduced by a flag that switches them or by
//! two releases: the program that they make slower is slower.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::live::{fathom, jdks, patiently, said};

/// The verdict on the second of two ways to run a program of `Changes`.
fn verdict(dir: &Path, metric: &str, jdks: [&PathBuf; 2], flags: [&str; 2], program: &str) -> String {
    let command = |side: usize| {
        let java = jdks[side].join("bin/java");
        format!("{} -XX:+UnlockDiagnosticVMOptions {} -cp . Changes {program}", java.display(), flags[side])
    };
    let (a, b) = (command(0), command(1));
    let output = fathom(dir, &["compare", "--json", "--runs", "5", "--metric", metric, "--", &a, "--", &b]);
    assert!(output.status.success(), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    report["comparisons"][0]["verdict"].as_str().unwrap().to_owned()
}

#[test]
#[ignore = "make test-long"]
fn what_a_flag_switches_off_makes_its_program_slower() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let found = jdks::of(&[17, 25]);
        if found.len() < 2 || jdks::compile(dir.path(), 8, &["Changes"]).is_none() {
            return;
        }
        let (jdk_17, jdk_25) = (&found[0].1, &found[1].1);
        for (id, jdk, flags, program) in [
            (
                "JDK-8130150",
                jdk_25,
                ["", "-XX:-UseMontgomeryMultiplyIntrinsic -XX:-UseMontgomerySquareIntrinsic"],
                "modpow 2000",
            ),
            ("JDK-8055494", jdk_25, ["", "-XX:-UseMultiplyToLenIntrinsic"], "multiply 100000"),
            ("JEP 254", jdk_25, ["", "-XX:-CompactStrings"], "strings 100000"),
            (
                "JEP 374",
                jdk_17,
                ["-XX:+UseBiasedLocking -XX:BiasedLockingStartupDelay=0", ""],
                "locks 30000000",
            ),
        ] {
            assert_eq!(verdict(dir.path(), "cpu", [jdk, jdk], flags, program), "slower", "{id}");
        }
    });
}

/// JEP 491: a virtual thread that sleeps with a monitor keeps its carrier on JDK 21.
#[test]
#[ignore = "make test-long"]
fn virtual_threads_that_are_pinned_are_slower_on_the_older_release() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let found = jdks::of(&[21, 25]);
        if found.len() < 2 || jdks::compile(dir.path(), 8, &["Changes"]).is_none() {
            return;
        }
        let metric = r"number=took (\S+) ms";
        let found = [&found[0].1, &found[1].1];
        assert_eq!(verdict(dir.path(), metric, found, ["", ""], "pinned 200"), "faster");
    });
}
