//! Real JVMs record themselves and write a GC log without wall-clock time: the recording must agree
//! with the JDK's own tool, and both files must be aligned.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fathom_ingest::{Options, read_inputs};
use fathom_recording::Recording;
use fathom_recording::vocabulary::{kind, sample};

/// Homes of JDKs by feature release: those with a compiler and the `jfr` tool.
fn jdks() -> BTreeMap<u32, PathBuf> {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let roots = ["/usr/lib/jvm", "/opt"];
    homes.extend(
        roots.iter().flat_map(|r| std::fs::read_dir(r).into_iter().flatten().flatten()).map(|e| e.path()),
    );
    let mut found = BTreeMap::new();
    for home in homes {
        let whole = ["bin/java", "bin/javac", "bin/jfr"].iter().all(|file| home.join(file).exists());
        let release = std::fs::read_to_string(home.join("release")).unwrap_or_default();
        let version = release.lines().find_map(|l| l.strip_prefix("JAVA_VERSION=\""));
        let feature = version.and_then(|v| v.split(['.', '"', '-', '+']).next()?.parse().ok());
        if let (true, Some(feature)) = (whole, feature.filter(|f| *f >= 17)) {
            found.entry(feature).or_insert(home);
        }
    }
    found
}

/// The counts of `jfr summary`, by kind.
fn summary(home: &Path, file: &Path) -> BTreeMap<String, u64> {
    let out = Command::new(home.join("bin/jfr")).arg("summary").arg(file).output().unwrap();
    let text = String::from_utf8(out.stdout).unwrap();
    let row = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, count) = (words.next()?, words.next()?.parse().ok()?);
        words.next()?.parse::<u64>().ok()?;
        Some((name.to_owned(), count))
    };
    text.lines().filter_map(row).collect()
}

/// The innermost frames of the samples as `jfr print` reports them; as text, it would leave methods
/// out that the JVM calls hidden.
fn printed_tops(home: &Path, file: &Path) -> BTreeMap<String, u64> {
    let mut command = Command::new(home.join("bin/jfr"));
    command.args(["print", "--json", "--events", "jdk.ExecutionSample", "--stack-depth", "1"]);
    let out = command.arg(file).output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&out.stdout).unwrap();
    let mut tops = BTreeMap::new();
    for event in printed["recording"]["events"].as_array().unwrap() {
        let method = &event["values"]["stackTrace"]["frames"][0]["method"];
        if let (Some(class), Some(name)) = (method["type"]["name"].as_str(), method["name"].as_str()) {
            *tops.entry(without_address(&format!("{}.{name}", class.replace('/', ".")))).or_default() += 1;
        }
    }
    tops
}

fn tops(recording: &Recording) -> BTreeMap<String, u64> {
    let cpu = recording.strings.find(sample::CPU);
    let mut tops = BTreeMap::new();
    for sample in recording.samples.iter().filter(|s| Some(s.kind) == cpu) {
        let Some(stack) = sample.stack else { continue };
        let node = recording.stacks[stack.index()];
        let name = recording.strings.get(recording.frames[node.frame.index()].name);
        *tops.entry(without_address(name)).or_default() += 1;
    }
    tops
}

/// A method's name without the suffix that makes a hidden class unique:
/// "java.lang.invoke.LambdaForm$MH+0x00007f.invoke".
fn without_address(name: &str) -> String {
    let Some((class, method)) = name.rsplit_once('.') else { return name.to_owned() };
    let class = class.split("+0x").next().unwrap_or(class);
    // Until JDK 20 the address came after a slash.
    let class = class.split(".0x").next().unwrap_or(class);
    format!("{class}.{method}")
}

#[test]
fn a_recording_says_what_the_jdks_tool_says_and_is_one_picture_with_a_log() {
    let jdks = jdks();
    let folder = tempfile::tempdir().unwrap();
    let Some(home) = jdks.values().next() else {
        fathom_testing::skip("no JDK of 17 or later with javac and jfr was found (JAVA_HOME, /usr/lib/jvm)");
        return;
    };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/java/Mixed.java");
    let mut javac = Command::new(home.join("bin/javac"));
    let status = javac.args(["--release", "11", "-d"]).arg(folder.path()).arg(source).status();
    assert!(status.unwrap().success());
    for (release, home) in &jdks {
        for collector in ["G1", "Parallel", "Serial"] {
            let name = format!("{collector} of JDK {release}");
            let jfr = folder.path().join(format!("{collector}-{release}.jfr"));
            let log = folder.path().join(format!("{collector}-{release}.log"));
            let status = Command::new(home.join("bin/java"))
                .arg(format!("-XX:+Use{collector}GC"))
                .arg("-Xmx64m")
                .arg(format!("-XX:StartFlightRecording=filename={},settings=profile", jfr.display()))
                .arg(format!("-Xlog:gc*:file={}:uptime,level,tags", log.display()))
                .arg("-cp")
                .arg(folder.path())
                .args(["Mixed", "1"])
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .status();
            assert!(status.unwrap().success(), "{name}");
            alone(home, &jfr, &name);
            together(&jfr, &log, &name);
        }
    }
}

fn load(paths: &[PathBuf]) -> Recording {
    let mut recording = Recording::new();
    read_inputs(paths, &Options::default(), &mut recording).unwrap();
    recording
}

/// The recording against the JDK's own tool.
fn alone(home: &Path, jfr: &Path, name: &str) {
    let recording = load(&[jfr.to_owned()]);
    let counted = summary(home, jfr);
    let count = |kind: &str| recording.spans_of(kind).count() as u64;
    for (kind, events) in [
        (kind::LOCK_MONITOR, &["jdk.JavaMonitorEnter"][..]),
        (kind::LOCK_PARK, &["jdk.ThreadPark"]),
        (kind::THREAD_SLEEP, &["jdk.ThreadSleep"]),
        (kind::IO_SOCKET, &["jdk.SocketRead", "jdk.SocketWrite"]),
        (kind::EXCEPTION, &["jdk.JavaExceptionThrow", "jdk.JavaErrorThrow"]),
        (kind::GC_PAUSE, &["jdk.GCPhasePause"]),
        (kind::VM_OPERATION, &["jdk.ExecuteVMOperation"]),
        (kind::SAFEPOINT, &["jdk.SafepointBegin"]),
    ] {
        let expected: u64 = events.iter().map(|event| counted.get(*event).copied().unwrap_or(0)).sum();
        assert_eq!(count(kind), expected, "{name}: {kind}");
    }
    assert_eq!(tops(&recording), printed_tops(home, jfr), "{name}: innermost frames");
    assert_eq!(recording.sources[0].skipped, 0, "{name}: {:?}", recording.sources[0].unknown);
}

/// The recording and the log, which names no process and has no dates.
fn together(jfr: &Path, log: &Path, name: &str) {
    let recording = load(&[jfr.to_owned(), log.to_owned()]);
    let jvms: BTreeSet<_> = recording.sources.iter().map(|source| source.process).collect();
    assert_eq!(jvms.len(), 1, "{name}: one JVM");
    assert!(recording.sources.iter().all(|source| source.placement.wall), "{name}: on the clock");
    let alone = load(&[log.to_owned()]);
    let of_log =
        recording.spans_of(kind::GC_PAUSE).filter(|p| recording.sources[p.source().index()].format != "jfr");
    assert_eq!(of_log.count(), alone.spans_of(kind::GC_PAUSE).count(), "{name}: the log's pauses are kept");
    let ids: Vec<i64> = recording.spans_of(kind::GC_PAUSE).map(|p| p.key()).collect();
    assert_eq!(ids.len(), alone.spans_of(kind::GC_PAUSE).count(), "{name}: and counted once");
}
