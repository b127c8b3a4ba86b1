//! A real JDK 8 under every collector and flag set, read by us and counted by another program.
//!
//! Skips, with a report, where there is no JDK 8 (`scripts/jdk8.sh` installs one), no javac or no
//! Python.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::path::{Path, PathBuf};
use std::process::Command;

use fathom_ingest::{FORMATS, Input, Lines};
use fathom_recording::Recording;
use fathom_recording::vocabulary::{fact, kind};

/// Flags, and the collector that they choose.
const RUNS: &[(&str, &str)] = &[
    ("Serial", "-XX:+UseSerialGC -XX:+PrintGCDetails -XX:+PrintGCTimeStamps -XX:+PrintTenuringDistribution"),
    ("Parallel", "-XX:+UseParallelGC -verbose:gc"),
    (
        "Parallel",
        "-XX:+UseParallelGC -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintAdaptiveSizePolicy \
         -XX:+PrintReferenceGC -XX:+PrintHeapAtGC -XX:+PrintClassHistogramBeforeFullGC",
    ),
    (
        "CMS",
        "-XX:+UseConcMarkSweepGC -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintGCTimeStamps \
         -XX:+PrintGCID -XX:PrintFLSStatistics=2 -XX:+PrintTenuringDistribution -XX:+CMSScavengeBeforeRemark \
         -XX:CMSInitiatingOccupancyFraction=30 -XX:+PrintCMSInitiationStatistics -XX:+PrintPromotionFailure",
    ),
    (
        "CMS",
        "-XX:+UseConcMarkSweepGC -XX:+CMSIncrementalMode -XX:+PrintGCDetails -XX:+PrintGCTimeStamps \
         -XX:CMSInitiatingOccupancyFraction=30 -XX:+PrintGCApplicationStoppedTime",
    ),
    ("G1", "-XX:+UseG1GC -XX:+PrintGC -XX:+PrintGCTimeStamps -XX:+PrintCompilation"),
    (
        "G1",
        "-XX:+UseG1GC -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintGCTimeStamps -XX:+PrintGCID \
         -XX:+PrintAdaptiveSizePolicy -XX:+PrintTenuringDistribution -XX:+PrintReferenceGC -XX:+PrintHeapAtGC \
         -XX:+UnlockExperimentalVMOptions -XX:G1LogLevel=finest -XX:+UseStringDeduplication \
         -XX:+PrintStringDeduplicationStatistics",
    ),
    (
        "G1",
        "-XX:+UseG1GC -XX:+PrintGCDetails -XX:+PrintGCDateStamps -XX:+PrintGCApplicationStoppedTime \
         -XX:+PrintGCApplicationConcurrentTime",
    ),
];

/// Lines of a log that two threads may have torn at once; 3 runs of 100 have one or two.
const MAX_TORN: usize = 4;

#[test]
fn counts_of_a_real_jdk_8_agree_with_an_independent_counter() {
    let (Some(java), Some(javac)) = (java8(), javac()) else {
        fathom_testing::skip("needs a JDK 8 (scripts/jdk8.sh) and a javac");
        return;
    };
    if Command::new("python3").arg("--version").output().is_err() {
        fathom_testing::skip("the independent counter needs python3");
        return;
    }
    let scratch = tempfile::tempdir().unwrap();
    compile(&javac, scratch.path());
    for (i, (collector, flags)) in RUNS.iter().enumerate() {
        let log = scratch.path().join(format!("{i}.log"));
        let status = Command::new(&java)
            .args(["-Xms32m", "-Xmx32m", "-XX:ParallelGCThreads=2"])
            .arg(format!("-Xloggc:{}", log.display()))
            .args(flags.split_whitespace())
            .arg("-cp")
            .arg(scratch.path())
            .args(["Churn", "60000", "10000"])
            .output()
            .unwrap();
        assert!(status.status.success(), "{flags}: {}", String::from_utf8_lossy(&status.stderr));
        let recording = read(&log);
        let pauses: Vec<i64> = recording.spans_of(kind::GC_PAUSE).map(|p| p.duration_ns()).collect();
        let mine = format!(
            "{}\t{:.7}\t{:.7}",
            pauses.len(),
            pauses.iter().sum::<i64>() as f64 / 1e9,
            pauses.iter().max().copied().unwrap_or(0) as f64 / 1e9
        );
        assert_eq!(mine, independent(&log), "{flags}");
        assert!(pauses.len() > 5, "{flags}: the program makes garbage");
        for (source, process) in recording.sources.iter().zip(&recording.processes) {
            assert_eq!(process.fact(fact::COLLECTOR), Some(*collector), "{flags}");
            assert_eq!(process.fact(fact::JDK), Some("8"), "{flags}");
            // Concurrent threads write into the middle of the VM thread's lines now and then: "  fromsize[12] : ".
            let torn = if ["CMS", "G1"].contains(collector) { MAX_TORN } else { 0 };
            assert!(source.unknown.len() <= torn, "{flags}: {:?}", source.unknown);
            assert!(source.checks.iter().all(|c| c.holds), "{flags}: {:?}", source.checks);
        }
    }
}

fn read(log: &Path) -> Recording {
    let lines = Lines::new(Box::new(std::fs::File::open(log).unwrap()));
    let mut input = Input { name: log.display().to_string(), modified: None, lines };
    let head = input.lines.peek().to_vec();
    let format = FORMATS.iter().max_by_key(|f| f.sniff(&head)).unwrap();
    assert_eq!(format.id(), "jdk8-gc-log", "recognised by content");
    let mut recording = Recording::new();
    format.read(&mut input, &mut recording).unwrap();
    recording.seal();
    recording
}

/// Pauses, total and longest as scripts/count/jdk8.py counts them.
fn independent(log: &Path) -> String {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scripts/count/jdk8.py");
    let output = Command::new("python3").arg(script).arg(log).output().unwrap();
    let line = String::from_utf8(output.stdout).unwrap();
    line.trim_end().split('\t').skip(1).take(3).collect::<Vec<_>>().join("\t")
}

fn compile(javac: &Path, into: &Path) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/jdk8/Churn.java");
    let output =
        Command::new(javac).args(["-nowarn", "--release", "8", "-d"]).arg(into).arg(source).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// `java` of a JDK 8 below `FATHOM_JDKS` or the cache that scripts/jdk8.sh fills.
fn java8() -> Option<PathBuf> {
    let cache = || {
        let home = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cache")))
            .map(|c| c.join("fathom/jdks"))
    };
    let jdks = std::env::var_os("FATHOM_JDKS").map(PathBuf::from).or_else(cache)?;
    java_below(&jdks.join("8"), 6)
}

fn java_below(folder: &Path, depth: u32) -> Option<PathBuf> {
    let java = folder.join("bin/java");
    if java.is_file() && Command::new(&java).arg("-version").output().is_ok_and(|o| o.status.success()) {
        return Some(java);
    }
    let entries = std::fs::read_dir(folder).ok()?.flatten().map(|e| e.path());
    entries.filter(|p| depth > 0 && p.is_dir()).find_map(|p| java_below(&p, depth - 1))
}

/// A `javac` that can still compile for release 8.
fn javac() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed =
        std::fs::read_dir("/usr/lib/jvm").into_iter().flatten().flatten().map(|e| e.path().join("bin"));
    let home = std::env::var_os("JAVA_HOME").map(|h| PathBuf::from(h).join("bin"));
    let places = home.into_iter().chain(std::env::split_paths(&path)).chain(installed);
    places.map(|dir| dir.join("javac")).find(|javac| javac.is_file())
}
