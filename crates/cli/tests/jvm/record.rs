//! `fathom record` on real JVMs: what it sees is what their logs say, and it ends in order, however
//! it ends. Needs root and eBPF for most; skips loudly without.

use std::collections::HashMap;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use fathom_recording::Recording;
use fathom_recording::vocabulary::{fact, kind, label};
use serde_json::Value;

use crate::live::process::{Running, Talking, busy, unread_pipe};
use crate::live::recorded::{count, open, thread_name};
use crate::live::recorder::Recorder;
use crate::live::{FATHOM, ebpf_is_allowed, fathom, json, patiently, said};

/// How far a log's timestamps may be from the probes': its own are rounded to milliseconds and
/// written when a loaded machine gets to it.
const STAMPS_NS: i64 = 250_000_000;

/// Homes of the JDKs from 11 on, and where the programs are compiled; `None`, loudly, without a
/// compiler.
fn jdks() -> Option<&'static (Vec<PathBuf>, tempfile::TempDir)> {
    static JDKS: OnceLock<Option<(Vec<PathBuf>, tempfile::TempDir)>> = OnceLock::new();
    let found = JDKS.get_or_init(|| {
        let classes = tempfile::tempdir().unwrap();
        crate::live::jdks::compile(classes.path(), 11, &["Collects", "Forks"])?;
        // Another user runs it too.
        std::fs::set_permissions(classes.path(), std::fs::Permissions::from_mode(0o755)).unwrap();
        let recent = crate::live::jdks::all().into_iter().filter(|(release, _)| *release >= 11);
        Some((recent.map(|(_, home)| home).collect(), classes))
    });
    found.as_ref()
}

/// The program on a JDK, running.
fn jvm(home: &Path, classes: &Path, options: &[&str], seconds: u32) -> Talking {
    let mut java = Command::new(home.join("bin/java"));
    java.args(["-Xmx64m", "-XX:+UseSerialGC", "-Dmy.password=hunter2"]).args(options);
    Talking::start(java.arg("-cp").arg(classes).args(["Collects", &seconds.to_string()]))
}

/// `fathom record`, running, once it has begun to write.
fn recording(dir: &Path, pid: &str) -> Recorder {
    let recorder = Recorder::record(dir, pid, &[]);
    let has = |rows: &str, bytes: u64| {
        let file = dir.join(format!("x.fathom/spool/{rows}.arrows.zst"));
        std::fs::metadata(file).is_ok_and(|info| info.len() > bytes)
    };
    let written = || has("spans", 2000) && has("series_points", 500);
    let patience = Instant::now() + Duration::from_secs(60);
    while !written() {
        assert!(Instant::now() < patience, "nothing was written");
        std::thread::sleep(Duration::from_millis(50));
    }
    recorder
}

/// The pauses that probes saw, and those that the log has, in order of their start. One that
/// both have stands there once, as the log has it, and names the probes.
fn pauses(recording: &Recording) -> [Vec<(i64, i64)>; 2] {
    ["jvm-events", "unified-log"].map(|format| {
        let named = |s: &fathom_recording::Span<'_>| {
            s.label(label::ALSO_IN).is_some_and(|also| also.contains(format))
        };
        let of = |s: &fathom_recording::Span<'_>| {
            recording.sources[s.source().index()].format == format || named(s)
        };
        recording.spans_of(kind::GC_PAUSE).filter(of).map(|s| (s.t0_ns(), s.t1_ns())).collect()
    })
}

#[test]
fn on_every_jdk_the_probes_see_the_pauses_that_the_log_tells_of() {
    patiently(|| {
        let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
        for home in homes {
            let dir = tempfile::tempdir().unwrap();
            let log = format!("-Xlog:gc*,safepoint:file={}:uptime", dir.path().join("gc.log").display());
            let jvm = jvm(home, classes.path(), &[&log], 60);
            let args = ["record", "-p", &jvm.pid(), "-d", "4s", "-o", "x.fathom"];
            let output = fathom(dir.path(), &args);
            let shown = format!("{}: {}", home.display(), said(&output));
            assert!(output.status.success() && shown.contains("gc.log, which the JVM"), "{shown}");
            drop(jvm);

            let recording = open(dir.path(), "x.fathom");
            let [live, log] = pauses(&recording);
            let watched = recording.spans_of(kind::RUN).find(|s| s.name() == "watched by probes").unwrap();
            let (from, to) = (watched.t0_ns(), watched.t1_ns());
            let inner: Vec<_> =
                log.iter().filter(|p| p.0 > from + STAMPS_NS && p.1 < to - STAMPS_NS).collect();
            assert!(inner.len() >= 2, "{shown}: {log:?}");
            // What a busy machine made it lose is counted, and nothing else is missing.
            let lost: u64 = recording
                .sources
                .iter()
                .filter(|source| source.format == "jvm-events")
                .map(|source| source.lost)
                .sum();
            let unseen = |pause: &&&(i64, i64)| !live.iter().any(|l| (l.0 - pause.0).abs() < STAMPS_NS);
            let unseen: Vec<_> = inner.iter().filter(unseen).collect();
            assert!(unseen.len() as u64 <= lost, "{shown}: no probe saw {unseen:?} of {live:?}");
            // The log has each only once, and so do the probes, from when they were attached
            // on.
            let seen = live.iter().filter(|p| p.0 > from + STAMPS_NS && p.1 < to - STAMPS_NS).count();
            // One at either edge, where the log's timestamps are less exact than the probes'.
            eprintln!("{}: {seen} pauses by probes, {} by the log", home.display(), inner.len());
            assert!(
                seen.abs_diff(inner.len()) <= 2 + inner.len() / 200 + lost as usize,
                "{shown}: {seen} and {}",
                inner.len()
            );
            let causes: Vec<_> =
                recording.spans_of(kind::GC_PAUSE).filter_map(|s| s.label(label::CAUSE)).collect();
            assert!(causes.contains(&"System.gc()"), "{shown}: {causes:?}");
            assert!(
                count(&recording, kind::SAFEPOINT) > 0 && count(&recording, kind::VM_OPERATION) > 0,
                "{shown}"
            );
            assert!(count(&recording, kind::THREAD_START) > 0, "{shown}");
            let process = recording.processes.iter().find(|p| p.jvm).unwrap();
            assert_eq!(
                (process.name.as_str(), process.fact(fact::COLLECTOR)),
                ("Collects", Some("Serial")),
                "{shown}"
            );
            assert!(!format!("{:?}", recording.processes).contains("hunter2"), "{shown}");

            // Read by a command, each pause is there once, with the recording alone and with its
            // log as well.
            for inputs in [&["x.fathom"][..], &["x.fathom", "gc.log"]] {
                let info = json(dir.path(), &[&["info"], inputs].concat());
                let spans = info["spans"].as_array().unwrap();
                let reported =
                    spans.iter().find(|s| s["kind"] == kind::GC_PAUSE).unwrap()["count"].as_u64().unwrap();
                let whole = std::fs::read_to_string(dir.path().join("gc.log")).unwrap();
                let once = whole.lines().filter(|l| l.contains("Pause") && l.ends_with("ms")).count() as u64;
                assert!(reported <= once, "{shown}: {inputs:?}: {reported} of {once}");
            }
            let verdict = json(dir.path(), &["diagnose", "x.fathom"]);
            let known = |row: &Value| row["category"] == "stopped: GC" && row["slow_ms"].as_f64() > Some(0.0);
            assert!(verdict["ledger"].as_array().unwrap().iter().any(known), "{shown}: {verdict}");
        }
    });
}

#[test]
fn signals_end_a_recording_in_order() {
    let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
    let jvm = jvm(&homes[0], classes.path(), &[], 120);
    for (signal, word) in [("INT", "interrupted"), ("TERM", "terminated")] {
        let dir = tempfile::tempdir().unwrap();
        let recording = recording(dir.path(), &jvm.pid());
        let (code, said) = recording.end(signal);
        assert_eq!(code, Some(0), "{said}");
        assert!(said.contains(word) && said.contains("fathom diagnose x.fathom"), "{said}");
        let place = dir.path().join("x.fathom");
        assert_eq!(std::fs::metadata(&place).unwrap().permissions().mode() & 0o777, 0o700);
        let mode = |file: std::fs::DirEntry| file.metadata().unwrap().permissions().mode() & 0o777;
        assert!(std::fs::read_dir(&place).unwrap().all(|file| mode(file.unwrap()) == 0o600));
        assert!(!open(dir.path(), "x.fathom").cut);
    }
}

#[test]
fn a_recording_whose_words_nobody_reads_goes_on_and_heeds_signals() {
    let dir = tempfile::tempdir().unwrap();
    if !ebpf_is_allowed() {
        return;
    }
    let busy = busy();
    for (signal, arguments) in [(None, ["-d", "2s"]), (Some("INT"), ["-d", "60s"])] {
        let place = format!("{}.fathom", signal.unwrap_or("end"));
        let (reader, writer) = unread_pipe();
        let mut command = Command::new(FATHOM);
        command.current_dir(dir.path()).args(["record", "-p", &busy.pid(), "-o", &place]).args(arguments);
        let mut recorder = Running::start(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(writer));
        if let Some(signal) = signal {
            // What is recorded begins when everything is attached, which takes its time on a busy
            // machine.
            let samples = dir.path().join(&place).join("spool/samples.arrows.zst");
            let patience = Instant::now() + Duration::from_secs(60);
            while std::fs::metadata(&samples).map_or(0, |info| info.len()) < 500 {
                assert!(Instant::now() < patience, "nothing was written");
                std::thread::sleep(Duration::from_millis(50));
            }
            std::thread::sleep(Duration::from_secs(3));
            recorder.signal(signal);
        }
        let ended = recorder.end();
        drop(reader);
        assert!(ended.success(), "{place}: {ended}");
        // Two seconds or more of a CPU that may be shared, looked at 99 times in each.
        let samples = open(dir.path(), &place).samples.len();
        assert!(samples > 30, "{place}: {samples} samples");
    }
}

#[test]
fn a_killed_fathom_leaves_a_recording_that_opens_as_cut_and_nothing_in_the_kernel() {
    let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
    let mut jvm = jvm(&homes[0], classes.path(), &[], 120);
    let dir = tempfile::tempdir().unwrap();
    let recording = recording(dir.path(), &jvm.pid());
    let programs = recording.programs();
    assert_eq!(recording.end("KILL").0, None);
    let opened = open(dir.path(), "x.fathom");
    assert!(opened.cut && !opened.spans.is_empty() && !opened.series.is_empty());
    assert!(jvm.process.0.try_wait().unwrap().is_none(), "the JVM has ended");
    let shown = fathom(dir.path(), &["info", "x.fathom"]);
    assert!(String::from_utf8_lossy(&shown.stdout).contains("TRUNCATED"));
    programs.are_gone();
}

#[test]
fn a_recording_that_cannot_be_completed_is_not_said_to_be_written() {
    let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
    let jvm = jvm(&homes[0], classes.path(), &[], 120);
    let dir = tempfile::tempdir().unwrap();
    let recording = recording(dir.path(), &jvm.pid());
    std::fs::remove_dir_all(dir.path().join("x.fathom")).unwrap();
    let (code, said) = recording.end("INT");
    assert_eq!(code, Some(2), "{said}");
    assert!(said.contains("x.fathom") && !said.contains("is written"), "{said}");
    assert!(!said.contains("can be opened"), "nothing is left of it: {said}");
}

#[test]
fn the_end_of_the_target_ends_the_recording() {
    let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
    let jvm = jvm(&homes[0], classes.path(), &[], 15);
    let dir = tempfile::tempdir().unwrap();
    let args = ["record", "-p", &jvm.pid(), "-d", "120s", "-o", "x.fathom"];
    let output = fathom(dir.path(), &args);
    assert!(output.status.success(), "{}", said(&output));
    assert!(said(&output).contains("what was recorded has ended"), "{}", said(&output));
    assert!(count(&open(dir.path(), "x.fathom"), kind::GC_PAUSE) > 0);
}

#[test]
fn a_command_is_recorded_to_its_end_and_its_status_is_reported() {
    patiently(|| {
        let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
        let dir = tempfile::tempdir().unwrap();
        let (java, classes) = (homes[0].join("bin/java"), classes.path().to_str().unwrap().to_owned());
        let command = [java.to_str().unwrap(), "-XX:+UseSerialGC", "-cp", &classes, "Collects", "4"];
        let record = ["record", "-o", "x.fathom", "--"];
        let output = fathom(dir.path(), &[&record[..], &command].concat());
        assert!(output.status.success() && said(&output).contains("exit status: 7"), "{}", said(&output));
        let recording = open(dir.path(), "x.fathom");
        let jvms: Vec<_> = recording.processes.iter().filter(|p| p.jvm).map(|p| p.name.as_str()).collect();
        assert_eq!(jvms, ["Collects"]);
        let threads: Vec<_> = recording.spans_of(kind::THREAD_START).map(|s| s.name().to_owned()).collect();
        assert!(count(&recording, kind::CLASS_LOAD) > 0 && !threads.is_empty(), "{}", said(&output));
    });
}

/// A child that lives for a few milliseconds is gone before anybody looks at `/proc`.
#[test]
fn children_and_threads_that_live_for_milliseconds_are_recorded() {
    patiently(|| {
        let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
        let dir = tempfile::tempdir().unwrap();
        let (java, classes) = (homes[0].join("bin/java"), classes.path().to_str().unwrap().to_owned());
        let command = [java.to_str().unwrap(), "-XX:+UseSerialGC", "-cp", &classes, "Forks", "40"];
        let output =
            fathom(dir.path(), &[&["record", "-F", "997", "-o", "x.fathom", "--"][..], &command].concat());
        assert!(output.status.success(), "{}", said(&output));
        let recording = open(dir.path(), "x.fathom");
        let shells = recording.processes.iter().filter(|p| p.name == "sh").count();
        let names: Vec<_> = recording.processes.iter().map(|p| p.name.as_str()).collect();
        assert!((38..=42).contains(&shells), "{shells} of 40: {names:?}");
        // A child that has not become its program yet maps all that the JVM does.
        assert_eq!(recording.processes.iter().filter(|p| p.jvm).count(), 1, "{names:?}");
        let mut watched_ns: HashMap<_, i64> = HashMap::new();
        for span in recording.spans_of(kind::SCHED_WATCHED) {
            if thread_name(&recording, &span).starts_with("burner-") {
                *watched_ns.entry(span.thread()).or_default() += span.duration_ns();
            }
        }
        // Each burns 5 ms, whatever it waits otherwise. One that waits for a CPU at first has not
        // got its name yet.
        assert!(watched_ns.len() >= 25, "{} of 40 threads", watched_ns.len());
        // Around a context switch that the kernel counts and does not report, what a thread did is
        // left open.
        let short = watched_ns.values().filter(|ns| **ns < 4_000_000).count();
        assert!(short <= 3, "{short} of {}: {}", watched_ns.len(), said(&output));
    });
}

#[test]
fn processes_of_a_cgroup_are_recorded_with_its_quota() {
    patiently(|| {
        let Some((homes, classes)) = jdks().filter(|_| ebpf_is_allowed()) else { return };
        let v1 = Path::new("/sys/fs/cgroup/cpu");
        let root = if v1.is_dir() { v1 } else { Path::new("/sys/fs/cgroup") };
        let group = root.join(format!("fathom-test-{}", std::process::id()));
        let limit = |file: &str, value: &str| std::fs::write(group.join(file), value).is_ok();
        let made = std::fs::create_dir(&group).is_ok();
        if !made || !(limit("cpu.cfs_quota_us", "50000") || limit("cpu.max", "50000 100000")) {
            fathom_testing::skip("no cgroup with a CPU quota can be made here");
            let _ = std::fs::remove_dir(&group);
            return;
        }
        let jvm = jvm(&homes[0], classes.path(), &[], 60);
        assert!(limit("cgroup.procs", &jvm.pid()));
        let dir = tempfile::tempdir().unwrap();
        let name = format!("/{}", group.file_name().unwrap().to_str().unwrap());
        let args = ["record", "--cgroup", &name, "-d", "3s", "-o", "x.fathom"];
        let output = fathom(dir.path(), &args);
        let pid = i64::from(jvm.process.0.id());
        drop(jvm);
        std::fs::remove_dir(&group).unwrap();
        assert!(output.status.success(), "{}", said(&output));
        let recording = open(dir.path(), "x.fathom");
        assert!(recording.processes.iter().any(|p| p.pid == Some(pid) && p.jvm));
        let quota = recording.series.iter().find(|s| s.info.name == "cgroup.cpu.quota").unwrap();
        assert!(quota.value.iter().all(|cpus| *cpus == 0.5), "{quota:?}");
    });
}

#[test]
fn what_cannot_be_recorded_is_one_sentence_and_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    std::fs::set_permissions(dir.path(), std::fs::Permissions::from_mode(0o777)).unwrap();
    let empty = || std::fs::read_dir(dir.path()).unwrap().next().is_none();
    let gone = fathom(dir.path(), &["record", "-p", "2147483647", "-o", "x.fathom"]);
    assert_eq!((gone.status.code(), said(&gone).lines().count()), (Some(3), 1), "{}", said(&gone));
    assert!(said(&gone).contains("there is no process 2147483647") && empty());

    let nobody = fathom(dir.path(), &["record", "--name", "^no such name$", "-d", "1s", "-o", "x.fathom"]);
    assert_eq!(nobody.status.code(), Some(3), "{}", said(&nobody));
    let none = "processes named ^no such name$: none found";
    assert!(said(&nobody).contains(none) && empty(), "{}", said(&nobody));

    let command = fathom(dir.path(), &["record", "-o", "x.fathom", "--", "/no/such/program"]);
    assert_eq!(command.status.code(), Some(2), "{}", said(&command));
    assert!(said(&command).contains("/no/such/program") && empty());

    // Another user's process, without any rights.
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let mut other = Command::new("setpriv");
    other.args([
        "--reuid",
        "65534",
        "--regid",
        "65534",
        "--clear-groups",
        FATHOM,
        "record",
        "-o",
        "x.fathom",
    ]);
    let output = other.current_dir(dir.path()).args(["-p", &sleep.pid()]).output();
    match output {
        Ok(output) if output.status.code() != Some(126) && !said(&output).contains("setpriv:") => {
            assert_eq!(
                (output.status.code(), said(&output).lines().count()),
                (Some(3), 1),
                "{}",
                said(&output)
            );
            assert!(said(&output).contains("belongs to root") && empty(), "{}", said(&output));
        }
        _ => fathom_testing::skip("in part: no other user can be taken on here"),
    }
}

#[test]
fn one_collector_alone_is_a_recording_where_all_others_were_left_out() {
    if !ebpf_is_allowed() {
        return;
    }
    let (busy, dir) = (busy(), tempfile::tempdir().unwrap());
    let others = [
        "cpu",
        "sched",
        "host",
        "jvm-counters",
        "jvm-events",
        "locks",
        "memory",
        "disk",
        "network",
        "requests",
        "connections",
    ];
    let without: Vec<&str> = others.iter().flat_map(|id| ["--without", id]).collect();
    let pid = busy.pid();
    let record = |place: &str, more: &[&str]| {
        let args = ["record", "-p", &pid, "-d", "1s", "-o", place];
        fathom(dir.path(), &[&args[..], &without, more].concat())
    };
    let output = record("x.fathom", &[]);
    assert!(output.status.success(), "{}", said(&output));
    let formats: Vec<String> =
        open(dir.path(), "x.fathom").sources.iter().map(|source| source.format.clone()).collect();
    assert_eq!(formats.iter().filter(|format| *format == "syscalls").count(), 1, "{formats:?}");
    assert!(others.iter().all(|id| !formats.iter().any(|format| format == id)), "{formats:?}");
    // Nothing at all is no recording.
    assert_eq!(record("y.fathom", &["--without", "syscalls"]).status.code(), Some(3));
}

/// Java frames in the stacks of spans of a kind: spans that have one, and all.
fn with_java(recording: &Recording, kind: &str) -> (usize, usize) {
    let names = |span: &fathom_recording::Span<'_>| {
        crate::live::recorded::names(recording, span.stack()).iter().any(|name| name.starts_with("Locks."))
    };
    (recording.spans_of(kind).filter(names).count(), recording.spans_of(kind).count())
}

#[test]
fn stacks_are_whole_without_cpu_samples() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let Some(home) = crate::live::jdks::compile(dir.path(), 11, &["Locks"]) else { return };
    let mut java = Command::new(home.join("bin/java"));
    let mut jvm = Talking::start(java.args(["-XX:+UseSerialGC", "-cp"]).arg(dir.path()).arg("Locks"));
    let recorder = Recorder::record(dir.path(), &jvm.pid(), &["--without", "cpu"]);
    jvm.send("");
    jvm.until("done");
    let recording = recorder.stop(dir.path());
    assert!(recording.sources.iter().all(|source| source.format != "cpu"));
    let (java, all) = with_java(&recording, kind::LOCK_MONITOR);
    assert!(all >= 20 && java * 10 >= all * 9, "{java} of {all} waits for a monitor have a Java stack");
    let (java, all) = with_java(&recording, kind::SCHED_OFF);
    assert!(java >= 40, "{java} of {all} waits have a stack of the program");
}

#[test]
fn the_time_that_was_asked_for_is_what_is_recorded_however_long_attaching_takes() {
    if !ebpf_is_allowed() {
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let busy = busy();
    let args = ["record", "-p", &busy.pid(), "-d", "5s", "-o", "x.fathom"];
    let output = fathom(dir.path(), &args);
    let said = said(&output);
    assert!(output.status.success() && said.contains("attached in"), "{said}");
    let meta: Value =
        serde_json::from_slice(&std::fs::read(dir.path().join("x.fathom/meta.json")).unwrap()).unwrap();
    let covers: Vec<i64> =
        meta["covers_ns"].as_array().unwrap().iter().map(|ns| ns.as_i64().unwrap()).collect();
    let seconds = (covers[1] - covers[0]) as f64 / 1e9;
    assert!((seconds - 5.0).abs() < 0.3, "{seconds} s: {said}");
    let recording = open(dir.path(), "x.fathom");
    for source in recording
        .sources
        .iter()
        .filter(|source| ["session", "cpu", "sched"].contains(&source.format.as_str()))
    {
        let (from, to) = source.covers_ns.unwrap();
        assert!(((to - from) as f64 / 1e9 - 5.0).abs() < 0.1, "{source:?}");
    }
}

#[test]
fn a_process_that_is_no_jvm_is_recorded_with_a_remark() {
    let dir = tempfile::tempdir().unwrap();
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let args = ["record", "-p", &sleep.pid(), "-d", "2500ms", "-o", "x.fathom"];
    let output = fathom(dir.path(), &args);
    assert!(output.status.success() && said(&output).contains("no JVM"), "{}", said(&output));
    let recording = open(dir.path(), "x.fathom");
    let rss = recording.series.iter().find(|s| s.info.name == "process.rss").unwrap();
    assert!(
        rss.info.instance.starts_with("sleep (") && rss.value.iter().all(|bytes| *bytes > 0.0),
        "{rss:?}"
    );
}
