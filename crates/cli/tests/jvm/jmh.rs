//! `-prof fathom` in real JMH: a benchmark that waits for a lock, and what the report says of it.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use crate::live::{FATHOM, ebpf_is_allowed, jdks, json, patiently, said};

/// Runs maven on a project of the repository; `None`, with a note, where there is no maven or where
/// it cannot have what it needs.
fn maven(project: &str, args: &[&str]) -> Option<()> {
    let pom = Path::new(env!("CARGO_MANIFEST_DIR")).join(project);
    let output = match Command::new("mvn").args(["-q", "-B", "-f"]).arg(&pom).args(args).output() {
        Ok(output) => output,
        Err(error) => {
            fathom_testing::skip(&format!("maven, which builds what JMH needs: {error}"));
            return None;
        }
    };
    let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), said(&output));
    assert!(!all.contains("COMPILATION ERROR"), "{all}");
    if !output.status.success() {
        fathom_testing::skip(&format!("maven cannot build {project}: {}", all.lines().next().unwrap_or("")));
        return None;
    }
    Some(())
}

/// The class path of benchmarks with JMH and the profiler.
fn class_path(dir: &Path) -> Option<String> {
    let place = format!("-Dplace={}", dir.join("bench").display());
    maven("tests/jmh/pom.xml", &[&place, "package", "dependency:copy-dependencies"])?;
    maven("../../jmh/pom.xml", &["package"])?;
    let jar = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../jmh/target/fathom-jmh.jar");
    let bench = dir.join("bench");
    Some(format!("{0}/classes:{0}/lib/*:{1}", bench.display(), jar.display()))
}

/// Runs JMH in a folder.
fn jmh(home: &Path, dir: &Path, class_path: &str, args: &[&str]) -> Output {
    let mut java = Command::new(home.join("bin/java"));
    java.current_dir(dir)
        .args(["-Djmh.ignoreLock=true", "-cp", class_path, "org.openjdk.jmh.Main"])
        .args(args)
        .output()
        .unwrap()
}

fn recording(dir: &Path) -> PathBuf {
    let mut found = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    found.find(|path| path.extension().is_some_and(|e| e == "fathom")).unwrap()
}

#[test]
fn the_report_of_jmh_names_the_lock_that_a_benchmark_waits_for() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(class_path) = class_path(dir.path()) else { return };
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[17, 25])) {
            let kept = dir.path().join(format!("kept-{release}"));
            let _ = std::fs::remove_dir_all(&kept);
            let profiler = format!("fathom:path={FATHOM};dir={}", kept.display());
            let measured =
                ["-f", "1", "-wi", "2", "-w", "1", "-i", "3", "-r", "1", "-rf", "json", "-rff", "r.json"];
            let output = jmh(
                &home,
                dir.path(),
                &class_path,
                &[&["-prof", &profiler, "Shelves"], &measured[..]].concat(),
            );
            let report = String::from_utf8_lossy(&output.stdout).into_owned();
            assert!(output.status.success(), "{report}{}", said(&output));
            assert!(report.contains("fathom recorded 3 iterations: "), "{report}");
            let part = |title: &str| {
                let rest = report.split(&format!("\n{title}\n")).nth(1);
                rest.unwrap_or_else(|| panic!("{title}: {report}")).to_owned()
            };
            assert!(report.contains("ms of thread time for each operation"), "{report}");
            let ledger = part("What threads spent an operation on");
            assert!(ledger.contains("Shelves.locked-jmh-worker-#"), "{ledger}");
            let waited = part("What the benchmark waited for");
            assert!(waited.contains("waiting for org.example.Shelves$Shelf in"), "{waited}");
            assert!(waited.contains("asleep in org.example.Shelves.locked"), "{waited}");
            // The measured iterations alone: three seconds, where JMH ran for five.
            let covers =
                json(dir.path(), &["compare", &kept_name(&kept), &kept_name(&kept)])["covers_s"][0].clone();
            let covers = covers.as_f64().unwrap();
            assert!((2.9..4.5).contains(&covers), "{covers} s");
            // What JMH writes with a profiler's text in it is still a result.
            let same = json(dir.path(), &["compare", "r.json", "r.json"]);
            assert_eq!(same["commands"][0]["figure"], "org.example.Shelves.locked [avgt]", "{same}");
        }
    });
}

fn kept_name(kept: &Path) -> String {
    recording(kept).display().to_string()
}

#[test]
#[ignore = "make test-long"]
fn a_profiler_without_fathom_or_with_an_unknown_option_ends_before_benchmarks_run() {
    let dir = tempfile::tempdir().unwrap();
    let Some(class_path) = class_path(dir.path()) else { return };
    let Some((_, home)) = jdks::of(&[17]).pop() else { return };
    for (profiler, why) in [
        ("fathom:path=/nowhere/fathom".to_owned(), "path=FILE names the program"),
        (format!("fathom:path={FATHOM};tops=3"), "no option tops"),
        (format!("fathom:path={FATHOM};help"), "where recordings are kept"),
    ] {
        let output = jmh(&home, dir.path(), &class_path, &["-prof", &profiler, "Shelves"]);
        let all = format!("{}{}", String::from_utf8_lossy(&output.stdout), said(&output));
        assert!(all.contains(why) && !all.contains("Iteration"), "{profiler}: {all}");
    }
}
