//! Causes that lie in what the code does, from recordings of real JVMs: an intrinsic that is
//! missing, TLS sessions that are not resumed; and the same programs without the cause. Needs root
//! and eBPF; skips loudly without.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::live::process::Talking;
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, json, patiently, said};

/// What `fathom diagnose` says of some seconds of a program.
fn diagnosed(dir: &Path, program: &Talking) -> Value {
    let recorder = Recorder::record(dir, &program.pid(), &[]);
    std::thread::sleep(Duration::from_secs(3));
    recorder.stop(dir);
    json(dir, &["diagnose", "x.fathom"])
}

/// What a rule has said, as a finding or as ruled out.
fn reported<'a>(verdict: &'a Value, list: &str, rule: &str) -> Option<&'a Value> {
    verdict[list].as_array().unwrap().iter().find(|reported| reported["rule"] == rule)
}

#[track_caller]
fn finds<'a>(verdict: &'a Value, rule: &str, shown: &str) -> &'a Value {
    let found =
        reported(verdict, "findings", rule).unwrap_or_else(|| panic!("{shown}: no {rule}: {verdict}"));
    eprintln!("{shown}: {}", found["title"]["text"]);
    found
}

#[track_caller]
fn rules_out(verdict: &Value, rule: &str, shown: &str) {
    let ruled_out = reported(verdict, "ruled_out", rule);
    let ruled_out = ruled_out.unwrap_or_else(|| panic!("{shown}: {rule} is not ruled out: {verdict}"));
    eprintln!("{shown}: {}", ruled_out["figure"]["text"]);
}

#[test]
#[ignore = "make test-long"]
fn large_numbers_without_the_intrinsics_for_them_are_found_with_the_flags_that_took_them_away() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        for (release, home) in jdks::each(jdks::with_program(dir, "Computing")) {
            let run = |flags: &[&str]| {
                let mut java = Command::new(home.join("bin/java"));
                java.args(["-XX:+UseSerialGC", "-Xmx64m"]).args(flags).arg("-cp").arg(dir).arg("Computing");
                diagnosed(dir, &Talking::start(&mut java))
            };
            let shown = format!("JDK {release}");
            let off = ["-XX:-UseMontgomeryMultiplyIntrinsic", "-XX:-UseMontgomerySquareIntrinsic"];
            let off: Vec<&str> = ["-XX:+UnlockDiagnosticVMOptions"].into_iter().chain(off).collect();
            let verdict = run(&off);
            let found = finds(&verdict, "jit-intrinsic-missing", &shown);
            assert!(
                found["culprit"]["value"].as_str().unwrap().contains("-XX:-UseMontgomery"),
                "{shown}: {found}"
            );
            assert!(found["evidence"].to_string().contains("Computing.power"), "{shown}: {found}");
            rules_out(&run(&[]), "jit-intrinsic-missing", &shown);
        }
    });
}

#[test]
fn connections_of_a_client_whose_sessions_cannot_be_resumed_are_found_and_those_that_resume_are_not() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        let jdks = jdks::with_program(dir, "Handshakes");
        let keytool = jdks.iter().map(|(_, home)| home.join("bin/keytool")).find(|tool| tool.exists());
        let Some(keytool) = keytool else {
            fathom_testing::skip("no JDK with keytool was found");
            return;
        };
        let mut make = Command::new(keytool);
        make.args([
            "-genkeypair",
            "-alias",
            "key",
            "-keyalg",
            "RSA",
            "-keysize",
            "2048",
            "-dname",
            "CN=localhost",
        ]);
        make.args([
            "-ext",
            "SAN=dns:localhost",
            "-storetype",
            "PKCS12",
            "-storepass",
            "changeit",
            "-keystore",
        ]);
        let output = make.arg(dir.join("keys.p12")).output().unwrap();
        assert!(output.status.success(), "{}", said(&output));
        // An update of one side may do what this flag does: sessions of TLS 1.2 that were made
        // without an extended master secret are not resumed by whoever has it (RFC 7627).
        let no_tickets =
            ["client", "server"].map(|side| format!("-Djdk.tls.{side}.enableSessionTicketExtension=false"));
        for (release, home) in jdks::each(jdks) {
            let java = |more: &[&str]| {
                let mut java = Command::new(home.join("bin/java"));
                java.args(["-XX:+UseSerialGC", "-Xmx128m", "-cp"]).arg(dir).args(&no_tickets).args(more);
                java.arg(dir.join("keys.p12"));
                java
            };
            let run = |has_secret: &str| {
                let mut server = Talking::spawn(&mut java(&["Handshakes", "server"])).unwrap();
                let port = server.until("port ");
                let secret = format!("-Djdk.tls.useExtendedMasterSecret={has_secret}");
                let old = ["-Djdk.tls.client.protocols=TLSv1.2", &secret];
                let _client = Talking::start(java(&[&old[..], &["Handshakes", "client"]].concat()).arg(port));
                // Until the compilers have come to rest.
                std::thread::sleep(Duration::from_secs(3));
                diagnosed(dir, &server)
            };
            let shown = format!("JDK {release}");
            let verdict = run("false");
            let found = finds(&verdict, "tls-not-resumed", &shown);
            assert!(
                found["culprit"]["value"].as_str().unwrap().contains("Handshakes.serve"),
                "{shown}: {found}"
            );
            rules_out(&run("true"), "tls-not-resumed", &shown);
        }
    });
}
