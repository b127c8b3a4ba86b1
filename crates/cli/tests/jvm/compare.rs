//! `fathom compare` with real commands and real JVMs, from the outside.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::{FATHOM, fathom, jdks, json, patiently, said};

/// What is said of the second of two commands.
fn compared(dir: &Path, options: &[&str], commands: [&str; 2]) -> Value {
    let [a, b] = commands;
    let mut report = json_before(dir, options, &[a, "--", b]);
    report["comparisons"][0].take()
}

/// `--json` goes before the commands.
fn json_before(dir: &Path, options: &[&str], commands: &[&str]) -> Value {
    let output = fathom(dir, &[&["compare", "--json"], options, &["--"], commands].concat());
    assert!(output.status.success(), "{}", said(&output));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// `java …` of a JDK, with the compiled programs of a folder.
fn java(home: &Path, dir: &Path, rest: &str) -> String {
    format!("{}/bin/java -cp {} {rest}", home.display(), dir.display())
}

#[test]
fn a_command_against_itself_is_neither_faster_nor_slower() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        for (_, home) in jdks::each(jdks::of(&[17, 25])) {
            let version = format!("{}/bin/java -version", home.display());
            let reported = compared(dir.path(), &["--runs", "6"], [&version, &version]);
            let verdict = reported["verdict"].as_str().unwrap();
            assert!(["no_difference", "cannot_tell"].contains(&verdict), "{reported}");
            assert_eq!(reported["runs_needed"].is_u64(), verdict == "cannot_tell", "{reported}");
        }
    });
}

#[test]
#[ignore = "make test-long"]
fn a_program_that_is_interpreted_is_slower_and_the_first_look_is_enough() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["Sums"]).is_none() {
            return;
        }
        for (_, home) in jdks::each(jdks::of(&[17, 25])) {
            let commands =
                ["", "-Xint"].map(|flag| java(&home, dir.path(), &format!("{flag} Sums small 300")));
            let commands = [commands[0].as_str(), "--", commands[1].as_str()];
            for metric in ["wall", "cpu", r"number=took (\S+) ms"] {
                let report = json_before(dir.path(), &["--runs", "6..24", "--metric", metric], &commands);
                let reported = &report["comparisons"][0];
                assert_eq!(reported["verdict"], "slower", "{metric}: {reported}");
                assert_eq!(report["runs"], 6, "{metric}: {reported}");
                assert!(reported["estimate"]["low"].as_f64().unwrap() > 1.2, "{metric}: {reported}");
            }
        }
    });
}

#[test]
fn an_intrinsic_that_is_missing_is_found() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["Sums"]).is_none() {
            return;
        }
        for (_, home) in jdks::each(jdks::of(&[17, 25])) {
            let without = "-XX:+UnlockDiagnosticVMOptions \
                           -XX:DisableIntrinsic=_montgomeryMultiply,_montgomerySquare,_multiplyToLen,_squareToLen,_mulAdd";
            let commands =
                ["", without].map(|flag| java(&home, dir.path(), &format!("{flag} Sums large 3000")));
            let reported =
                compared(dir.path(), &["--runs", "5", "--metric", "cpu"], [&commands[0], &commands[1]]);
            assert_eq!(reported["verdict"], "slower", "{reported}");
        }
    });
}

#[test]
fn a_matrix_has_all_variants_and_letters_tell_the_interpreter_apart() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["Sums"]).is_none() || jdks::of(&[17, 25]).len() < 2 {
            return;
        }
        let matrix = [
            "--runs",
            "5",
            "--metric",
            "cpu",
            "--matrix",
            "jdk=17,25",
            "flags=-Xint,-XX:TieredStopAtLevel={1,4}",
        ];
        let report = json_before(dir.path(), &matrix, &["{jdk} {flags} -cp . Sums small 300"]);
        let rows = report["commands"].as_array().unwrap();
        assert_eq!((rows.len(), report["comparisons"].as_array().unwrap().len()), (6, 5));
        let letters = |label: &str| {
            let row = rows.iter().find(|row| row["label"] == label).unwrap();
            row["letters"].as_str().unwrap().to_owned()
        };
        for jdk in ["17", "25"] {
            let interpreted = letters(&format!("jdk={jdk} flags=-Xint"));
            let compiled = letters(&format!("jdk={jdk} flags=-XX:TieredStopAtLevel=4"));
            assert!(
                !interpreted.is_empty() && !interpreted.chars().any(|c| compiled.contains(c)),
                "{report}"
            );
        }
    });
    let dir = tempfile::tempdir().unwrap();
    let missing = fathom(dir.path(), &["compare", "--matrix", "jdk=17,4711", "--", "{jdk} -version"]);
    assert!(said(&missing).contains("no JDK 4711 was found; there are"), "{}", said(&missing));
}

#[test]
fn runs_are_kept_and_judged_again_by_another_margin() {
    let dir = tempfile::tempdir().unwrap();
    let report = json_before(
        dir.path(),
        &["--runs", "5", "--metric", r"number=\d+", "--out", "runs.json", "--seed", "7"],
        &["echo 100", "--", "echo 103"],
    );
    assert_eq!(report["comparisons"][0]["verdict"], "slower", "{report}");
    let again = json(dir.path(), &["compare", "runs.json"]);
    assert_eq!(again, report);
    let wider = json(dir.path(), &["compare", "runs.json", "--margin", "5%"]);
    assert_eq!(wider["comparisons"][0]["verdict"], "no_difference", "{wider}");
    let failed = fathom(dir.path(), &["compare", "runs.json", "--fail-on", "slower"]);
    assert_eq!(failed.status.code(), Some(1), "{}", said(&failed));
    let shown = String::from_utf8(failed.stdout).unwrap();
    assert!(
        shown.starts_with("B gives 1.030 times the value of A (1.030 to 1.030, 5 runs each): slower"),
        "{shown}"
    );
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let kept: Value = serde_json::from_slice(&std::fs::read(dir.path().join("runs.json")).unwrap()).unwrap();
    assert_eq!((&kept["seed"], kept["runs"].as_array().unwrap().len()), (&Value::from(7), 12));
}

/// The data that is in a page.
fn in_page(path: &Path) -> Value {
    let page = std::fs::read_to_string(path).unwrap();
    let data = page.split_once("id=\"fathom-compare\">").unwrap().1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

#[test]
fn a_page_of_runs_holds_what_json_says_and_each_run() {
    let dir = tempfile::tempdir().unwrap();
    let numbers = ["--runs", "5", "--metric", r"number=\d+", "--html", "page.html"];
    let report = json_before(dir.path(), &numbers, &["echo 100", "--", "echo 103"]);
    let page = in_page(&dir.path().join("page.html"));
    assert_eq!((&page["runs"], &page["recordings"]), (&report, &Value::Null));
    assert_eq!(report["commands"][1]["values"], serde_json::json!([103.0, 103.0, 103.0, 103.0, 103.0]));
    assert_eq!(report["commands"][1]["interval"], serde_json::json!([103.0, 103.0]));
    // Said before the runs and not behind them.
    let nowhere = fathom(dir.path(), &["compare", "--html", "none/page.html", "--", "true", "--", "true"]);
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(said(&nowhere).contains("none/page.html"), "{}", said(&nowhere));
}

#[test]
fn a_page_of_two_tables_says_what_is_not_known() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "a.csv", 1000.0);
    table(dir.path(), "b.csv", 900.0);
    let report = json(dir.path(), &["compare", "a.csv", "b.csv", "--html", "page.html"]);
    let page = in_page(&dir.path().join("page.html"));
    assert_eq!(page["recordings"], report);
    assert_eq!((&report["frames"], &report["costs"]), (&Value::Null, &Value::Null));
    let jdk = report["conditions"].as_array().unwrap().iter().find(|c| c["what"] == "JDK").unwrap();
    assert!(jdk["same"].is_null() && jdk["first"].is_null(), "{jdk}");
}

#[test]
fn a_command_that_fails_or_gives_no_figure_ends_it_with_what_it_said() {
    let dir = tempfile::tempdir().unwrap();
    let failed = fathom(dir.path(), &["compare", "--", "echo out of luck; exit 4", "--", "true"]);
    assert_eq!(failed.status.code(), Some(2));
    assert!(
        said(&failed).contains("exit status 4") && said(&failed).contains("out of luck"),
        "{}",
        said(&failed)
    );
    let silent = fathom(dir.path(), &["compare", "--metric", "number=x", "--", "echo a", "--", "echo b"]);
    assert!(said(&silent).contains("printed no number that matches /x/"), "{}", said(&silent));
    let stale = dir.path().join("r.json");
    std::fs::write(&stale, "[]").unwrap();
    let stale = fathom(dir.path(), &["compare", "--metric", "jmh=r.json", "--", "true", "--", "true"]);
    assert!(said(&stale).contains("r.json: No such file"), "what an earlier run left: {}", said(&stale));
    let alone = fathom(dir.path(), &["compare", "--", "true"]);
    assert!(said(&alone).contains("one command alone"), "{}", said(&alone));
}

/// Hours of runs are not lost for a variant that fails.
#[test]
fn a_variant_that_fails_is_named_and_what_was_run_before_is_kept() {
    let dir = tempfile::tempdir().unwrap();
    // Fails when it runs for the third time.
    let command = "echo {x} >> {x}.txt; test $(wc -l < {x}.txt) != {x}";
    let options = ["compare", "--warmup", "0", "--runs", "5", "--out", "runs.json", "--matrix", "x=3,9"];
    let failed = fathom(dir.path(), &[&options[..], &["--", command]].concat());
    assert_eq!(failed.status.code(), Some(2));
    assert!(said(&failed).contains("x=3: echo 3 >> 3.txt"), "{}", said(&failed));
    let kept = json(dir.path(), &["compare", "runs.json"]);
    assert_eq!((&kept["ended_early"], &kept["runs"]), (&true.into(), &2.into()), "{kept}");
}

/// Two logs of which the diagnosis of one finds what that of the other does not.
#[test]
fn causes_of_both_sides_are_what_the_diagnosis_of_each_finds() {
    let fixture = |name: &str| format!("{}/../ingest/fixtures/unified/{name}", env!("CARGO_MANIFEST_DIR"));
    let (a, b) = (fixture("g1-17.log.zst"), fixture("g1-25.log.zst"));
    let dir = tempfile::tempdir().unwrap();
    let causes = &json(dir.path(), &["compare", &a, &b])["causes"];
    let rules = |of: &Value| -> Vec<String> {
        of.as_array().unwrap().iter().map(|f| f["rule"].as_str().unwrap().to_owned()).collect()
    };
    for (path, side) in [(&a, "of_first"), (&b, "new")] {
        let alone = json(dir.path(), &["diagnose", path]);
        assert_eq!(rules(&causes[side]), rules(&alone["findings"]), "{causes}");
    }
    let output = fathom(dir.path(), &["compare", &a, &b]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(shown.contains("new in B: gc-evacuation-failure"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
    let window = json(dir.path(), &["compare", &a, &b, "--window", "0s..1s"]);
    assert!(window["causes"].is_null(), "a window is not diagnosed");
}

/// A run of each is recorded behind those that count, and the recordings are compared.
#[test]
#[ignore = "make test-long"]
fn a_profile_compares_one_more_run_of_each() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["Sums"]).is_none() {
            return;
        }
        let Some((_, home)) = jdks::of(&[17, 25]).into_iter().next() else { return };
        let commands = ["", "-XX:-UseMontgomerySquareIntrinsic"].map(|flag| {
            java(&home, dir.path(), &format!("-XX:+UnlockDiagnosticVMOptions {flag} Sums large 30000"))
        });
        let report = json_before(
            dir.path(),
            &["--runs", "3", "--warmup", "0", "--metric", "cpu", "--profile", "why", "--html", "page.html"],
            &[&commands[0], "--", &commands[1]],
        );
        assert_eq!(report["commands"][0]["runs"], 3, "the recorded run does not count: {report}");
        let profile = &report["profile"];
        assert_eq!(profile["of"], serde_json::json!(["why/1-A.fathom", "why/2-B.fathom"]), "{report}");
        let known = profile["known_changes"].as_array().unwrap();
        assert!(known.iter().any(|c| c["id"] == "JDK-8130150"), "{profile}");
        let page = in_page(&dir.path().join("page.html"));
        assert_eq!(&page["recordings"], profile);
        assert_eq!(page["runs"]["commands"], report["commands"]);
    });
}

#[test]
fn scores_of_specjvm_are_compared_benchmark_by_benchmark() {
    let dir = tempfile::tempdir().unwrap();
    let said_by = |compress: f64| {
        format!(
            "printf 'Iteration 1 (5s) result: 1 ops/m\\nScore on compress: {compress} ops/m\\nScore on sunflow: 50.5 ops/m\\n'"
        )
    };
    let report = json_before(
        dir.path(),
        &["--runs", "5", "--metric", "specjvm"],
        &[&said_by(172.15), "--", &said_by(150.0)],
    );
    let verdicts = report["comparisons"].as_array().unwrap().iter();
    let verdicts: Vec<_> = verdicts.map(|c| [c["figure"].as_str(), c["verdict"].as_str()]).collect();
    assert_eq!(
        verdicts,
        [[Some("compress"), Some("slower")], [Some("sunflow"), Some("no_difference")]],
        "{report}"
    );
}

#[test]
fn an_interrupt_ends_what_runs_and_tells_of_what_was_done() {
    let dir = tempfile::tempdir().unwrap();
    let pid_file = dir.path().join("pid");
    let commands = ["--", "true", "--", "test -e pid && exec sleep 60; true; echo $$ > pid"];
    let running = Command::new(FATHOM)
        .current_dir(dir.path())
        .args([&["compare", "--warmup", "0", "--json", "--out", "runs.json"], &commands[..]].concat())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let end = Instant::now() + Duration::from_secs(20);
    while !pid_file.exists() && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(10));
    }
    std::thread::sleep(Duration::from_millis(300));
    let pid = rustix::process::Pid::from_raw(running.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let began = Instant::now();
    let output = running.wait_with_output().unwrap();
    assert!(output.status.success() && began.elapsed() < Duration::from_secs(20), "{}", said(&output));
    assert!(said(&output).contains("fathom: interrupted"), "{}", said(&output));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(report["ended_early"], true);
    assert_eq!(report["comparisons"][0]["verdict"], "cannot_tell");
    assert!(dir.path().join("runs.json").metadata().unwrap().len() > 100);
}

/// A table of throughput: `rate` operations a second, with noise that is always the same.
fn table(dir: &Path, name: &str, rate: f64) {
    let noise = |i: u64| (i.wrapping_mul(6_364_136_223_846_793_005) >> 40) % 1000;
    let lines: String =
        (0..64).map(|i| format!("{i},{}\n", rate * (0.99 + noise(i) as f64 / 50_000.0))).collect();
    std::fs::write(dir.join(name), format!("time_s,throughput\n{lines}")).unwrap();
}

#[test]
fn windows_of_two_recordings_or_of_one_are_compared() {
    let dir = tempfile::tempdir().unwrap();
    // Half of the throughput from the 32nd second on.
    let noise = |i: u64| (i.wrapping_mul(6_364_136_223_846_793_005) >> 40) % 1000;
    let rate = |i: u64| if i < 32 { 1000.0 } else { 500.0 };
    let line = |i: u64| format!("{i},{}\n", rate(i) * (0.99 + noise(i) as f64 / 50_000.0));
    let lines: String = (0..64).map(line).collect();
    std::fs::write(dir.path().join("a.csv"), format!("time_s,throughput\n{lines}")).unwrap();
    let within = |windows: &[&str]| {
        let windows = windows.iter().flat_map(|window| ["--window", window]);
        json(dir.path(), &["compare", "a.csv", "a.csv"].into_iter().chain(windows).collect::<Vec<_>>())
    };
    let halves = within(&["0s..32s", "32s..64s"]);
    assert_eq!(halves["verdict"]["verdict"], "slower", "{halves}");
    assert!(halves["verdict"]["sentence"].as_str().unwrap().starts_with("B does 0.50"), "{halves}");
    assert_eq!(halves["covers_s"], serde_json::json!([32.0, 32.0]));
    let both = within(&["32s..64s"]);
    assert_eq!(both["verdict"]["verdict"], "no_difference", "{both}");
    let args =
        ["compare", "a.csv", "a.csv", "--window", "0s..9s", "--window", "9s..18s", "--window", "1s..2s"];
    assert_eq!(fathom(dir.path(), &args).status.code(), Some(2));
}

#[test]
fn tables_of_throughput_have_a_verdict_by_operations_per_second() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "a.csv", 1000.0);
    table(dir.path(), "b.csv", 900.0);
    let slower = json(dir.path(), &["compare", "a.csv", "b.csv"]);
    assert_eq!(slower["schema"], "fathom.compare-recordings/1");
    assert_eq!(slower["verdict"]["verdict"], "slower", "{slower}");
    let sentence = slower["verdict"]["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("B does 0.90") && sentence.contains("16 segments of each"), "{sentence}");
    let same = json(dir.path(), &["compare", "a.csv", "a.csv"]);
    assert_eq!(same["verdict"]["verdict"], "no_difference", "{same}");
    assert!(same["measures"].as_array().unwrap().iter().all(|m| m["differs"] == false), "{same}");
    let failed = fathom(dir.path(), &["compare", "a.csv", "b.csv", "--fail-on", "slower"]);
    assert_eq!(failed.status.code(), Some(1));
}

#[test]
#[ignore = "make test-long"]
fn an_intrinsic_that_is_missing_shows_in_frames_and_flags_of_flight_recordings() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["Sums"]).is_none() {
            return;
        }
        for (_, home) in jdks::each(jdks::of(&[17, 25])) {
            let record = |name: &str, options: &[&str], rounds: &str| {
                let file = format!("-XX:StartFlightRecording=filename={name},settings=profile");
                let output = Command::new(home.join("bin/java"))
                    .current_dir(dir.path())
                    .args(
                        [&[file.as_str(), "-Xmx64m"], options, &["-cp", ".", "Sums", "large", rounds]]
                            .concat(),
                    )
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{}", said(&output));
            };
            record("with.jfr", &[], "100000");
            let off = ["-XX:-UseMontgomeryMultiplyIntrinsic", "-XX:-UseMontgomerySquareIntrinsic"];
            record("without.jfr", &[&["-XX:+UnlockDiagnosticVMOptions"], &off[..]].concat(), "40000");
            let report = json(dir.path(), &["compare", "with.jfr", "without.jfr"]);
            let moved = report["frames"]["moved"].as_array().unwrap();
            let of_big_integer = |m: &&Value| m["name"].as_str().unwrap().contains("BigInteger");
            assert!(moved.iter().any(|m| of_big_integer(&m)), "{}", report["frames"]);
            let differing = report["differing"].as_array().unwrap();
            let flags = differing.iter().find(|d| d["what"] == "flags").unwrap();
            assert!(
                flags["second"].as_str().unwrap().contains(off[0]) && flags["first"].is_null(),
                "{flags}"
            );
            // It is one release: what is named is what the flags switch off.
            let known = report["known_changes"].as_array().unwrap();
            assert_eq!((known.len(), &known[0]["id"]), (1, &Value::from("JDK-8130150")), "{known:?}");
            assert_eq!(known[0]["in_both"], true, "{known:?}");
            let same = json(dir.path(), &["compare", "with.jfr", "with.jfr"]);
            assert!(same["frames"]["moved"].as_array().unwrap().is_empty(), "{}", same["frames"]);
            assert_eq!(same["differing"].as_array().unwrap().len(), 0, "{same}");
        }
    });
}

#[test]
#[ignore = "make test-long"]
fn gc_logs_of_two_heaps_differ_in_pauses_and_the_heap_is_named() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        if jdks::compile(dir.path(), 11, &["Sums"]).is_none() {
            return;
        }
        for (_, home) in jdks::each(jdks::of(&[17, 25])) {
            for (heap, name) in [("-Xmx16m", "small.log"), ("-Xmx256m", "large.log")] {
                let log = format!("-Xlog:gc*:file={name}");
                let output = Command::new(home.join("bin/java"))
                    .current_dir(dir.path())
                    .args([&log, heap, "-XX:+UseSerialGC", "-cp", ".", "Sums", "large", "100000"])
                    .output()
                    .unwrap();
                assert!(output.status.success(), "{}", said(&output));
            }
            let report = json(dir.path(), &["compare", "large.log", "small.log"]);
            let measures = report["measures"].as_array().unwrap();
            let pauses = measures.iter().find(|m| m["id"] == "gc.pauses").unwrap();
            assert!(pauses["differs"] == true, "{pauses}");
            assert!(pauses["second"].as_f64() > pauses["first"].as_f64(), "{pauses}");
            let heap = report["differing"].as_array().unwrap().iter().find(|d| d["what"] == "maximum heap");
            assert!(heap.is_some(), "{}", report["differing"]);
        }
    });
}

#[test]
fn files_that_tell_nothing_of_each_other_are_refused() {
    let dir = tempfile::tempdir().unwrap();
    table(dir.path(), "a.csv", 1000.0);
    let alone = fathom(dir.path(), &["compare", "a.csv"]);
    assert!(said(&alone).contains("give two files to compare"), "{}", said(&alone));
    let missing = fathom(dir.path(), &["compare", "a.csv", "b.csv"]);
    assert_eq!(missing.status.code(), Some(2));
    std::fs::write(dir.path().join("jmh.json"), r#"[{"jmhVersion":"1.37","benchmark":"a.B.x"}]"#).unwrap();
    let mixed = fathom(dir.path(), &["compare", "jmh.json", "a.csv"]);
    assert!(said(&mixed).contains("jmh.json: results of JMH; two recordings"), "{}", said(&mixed));
    fathom(dir.path(), &["compare", "--runs", "1", "--out", "runs.json", "--", "true", "--", "true"]);
    let saved = fathom(dir.path(), &["compare", "runs.json", "a.csv"]);
    assert!(said(&saved).contains("runs.json: runs saved by --out are judged alone"), "{}", said(&saved));
    let ran = ["--profile", "jmh.json", "--", "touch ran", "--", "touch ran"];
    let refused = fathom(dir.path(), &[&["compare"][..], &ran].concat());
    assert!(said(&refused).contains("jmh.json: File exists"), "{}", said(&refused));
    assert!(!dir.path().join("ran").exists(), "before anything runs");
    let both = fathom(dir.path(), &["compare", "a.csv", "--", "true", "--", "true"]);
    assert!(said(&both).contains("either files or commands"), "{}", said(&both));
}

#[test]
fn a_change_of_the_jdk_between_two_logs_is_reported_and_touches_the_flag_that_it_is_about() {
    let dir = tempfile::tempdir().unwrap();
    let found = jdks::of(&[8, 25]);
    if found.len() < 2 || jdks::compile(dir.path(), 8, &["Sums"]).is_none() {
        return;
    }
    for (release, home) in found {
        let options: &[&str] = match release {
            8 => &["-XX:+UseBiasedLocking", "-Xloggc:8.log", "-XX:+PrintGCDetails", "-XX:+PrintGCDateStamps"],
            _ => &["-Xlog:gc*:file=25.log:time,uptime,level,tags"],
        };
        let output = Command::new(home.join("bin/java"))
            .current_dir(dir.path())
            .args([options, &["-Xmx32m", "-XX:+UseSerialGC", "-cp", ".", "Sums", "large", "20000"]].concat())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", said(&output));
    }
    let report = json(dir.path(), &["compare", "8.log", "25.log"]);
    let changes = report["known_changes"].as_array().unwrap();
    let named = |id: &str| changes.iter().find(|c| c["id"] == id).unwrap_or(&Value::Null);
    assert_eq!(named("JEP 374")["touches"][0], "UseBiasedLocking", "{report}");
    assert_eq!(
        (&named("JEP 374")["second_has_it"], &named("JEP 374")["url"]),
        (&true.into(), &"https://openjdk.org/jeps/374".into())
    );
    assert_eq!(named("JEP 254")["touches"].as_array().unwrap().len(), 0, "no frame shows it");
    assert!(named("JDK-8130150").is_null(), "some updates of 8 have it");
    let shown = fathom(dir.path(), &["compare", "8.log", "25.log"]);
    let shown = String::from_utf8(shown.stdout).unwrap();
    assert!(shown.contains("JEP 374 (in B): biased locking is off by default"), "{shown}");
    assert!(shown.lines().all(|line| line.chars().count() <= 100), "{shown}");
}
