//! `fathom record --on-slow` on a real JVM that does nothing for most of the time: each slow thing
//! is in an incident of its own, whole, and nothing is written when nothing is slow. Needs root and
//! eBPF; skips loudly without.

use std::fs::File;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;
use std::process::{Command, Output};
use std::time::Duration;

use fathom_recording::Recording;
use fathom_recording::vocabulary::{kind, label};

use crate::live::process::Talking;
use crate::live::recorder::Recorder;
use crate::live::{FATHOM, ebpf_is_allowed, fathom, jdks, json, patiently, said};

const S: i64 = 1_000_000_000;
/// `O_NONBLOCK` of Linux on x86-64 and AArch64.
const O_NONBLOCK: i32 = 0o4000;
/// How long things are held up. The limits are half of that: what a busy machine does by itself is
/// shorter.
const HELD: Duration = Duration::from_secs(4);

/// The program, with its log in a pipe that this test reads, or does not.
struct Jvm {
    program: Talking,
    log: File,
}

impl Jvm {
    fn start(dir: &Path, home: &Path) -> Self {
        let pipe = dir.join("gc.log");
        assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        let log = File::options().read(true).write(true).custom_flags(O_NONBLOCK).open(&pipe).unwrap();
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args([
            "-Xmx64m",
            "-XX:+UseSerialGC",
            "-Xlog:gc:file=gc.log",
            "-cp",
            ".",
            "Slow",
        ]);
        Self { program: Talking::start(&mut java), log }
    }

    /// A collection whose pause is held up by the write to its log.
    fn stop(&mut self) {
        while self.log.write(&[b'x'; 512]).is_ok() {}
        self.program.send("gc");
        std::thread::sleep(HELD);
        // It goes on as soon as there is room in the pipe, which is kept empty from here on.
        let mut log = self.log.try_clone().unwrap();
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            loop {
                match log.read(&mut bytes) {
                    Ok(_) => {}
                    Err(cause) if cause.kind() == std::io::ErrorKind::WouldBlock => {
                        std::thread::sleep(Duration::from_millis(20));
                    }
                    Err(_) => return,
                }
            }
        });
        assert_eq!(self.program.line(), Some("done"));
    }

    fn lock(&mut self) {
        self.program.send(&format!("lock {}", HELD.as_millis()));
        assert_eq!(self.program.line(), Some("done"));
    }
}

/// `fathom record --on-slow`, watching.
fn watching(dir: &Path, args: &[&str]) -> Recorder {
    let mut record = Command::new(FATHOM);
    record.current_dir(dir).arg("record").args(args).args(["-o", "incidents"]);
    let watching = Recorder::start(&mut record, "written is what is around");
    watching.unwrap_or_else(|(_, said)| panic!("it does not watch: {said}"))
}

/// Ends it in order; what it said since the beginning.
fn end(watching: Recorder, signal: &str) -> String {
    let (code, said) = watching.end(signal);
    assert_eq!(code, Some(0), "{said}");
    said
}

fn incidents(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir.join("incidents")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(".fathom")).collect();
    names.sort();
    names
}

fn open(dir: &Path, name: &str) -> Recording {
    let recording = crate::live::recorded::open(&dir.join("incidents"), name);
    assert!(!recording.cut);
    recording
}

/// The slow things of an incident, each by its trigger, which all lie in it as a whole.
fn slow(recording: &Recording) -> Vec<(String, String)> {
    let (from, to) = recording.covers_ns().unwrap();
    let slow = recording.spans_of(kind::SLOW);
    slow.map(|span| {
        assert!(from <= span.t0_ns() && span.t1_ns() <= to);
        assert_eq!(span.label(label::CUT), None);
        (span.name().to_owned(), span.label(label::WHAT).unwrap().to_owned())
    })
    .collect()
}

#[test]
fn a_long_stop_and_a_long_lock_among_quiet_time_are_an_incident_each() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Slow"]).filter(|_| ebpf_is_allowed()) else { return };
        let mut jvm = Jvm::start(dir, &home);
        let pid = jvm.program.pid();
        let misspelt = "uprobe:libjvm.so:JVM_CG>2s";
        let output = fathom(dir, &["record", "-p", &pid, "--on-slow", misspelt, "-o", "incidents"]);
        assert_eq!(output.status.code(), Some(3), "{}", said(&output));
        assert!(said(&output).contains("near it: JVM_GC"), "{}", said(&output));

        let triggers = ["stop>2s", "syscall:write>2s", "lock>2s", "uprobe:libjvm.so:JVM_GC>2s"];
        let triggers: Vec<&str> = triggers.iter().flat_map(|trigger| ["--on-slow", *trigger]).collect();
        let args = [&["-p", &pid, "--before", "3s", "--after", "1s"][..], &triggers].concat();
        let mut watching = watching(dir, &args);
        std::thread::sleep(Duration::from_secs(5));
        assert_eq!(incidents(dir), [""; 0]);

        jvm.stop();
        let line = watching.until("→");
        assert!(line.contains("stop>2s: ") && line.contains("syscall:write>2s: "), "{line}");
        assert!(line.contains("gc.log, thread VM Thread"), "{line}");
        assert!(line.contains("uprobe:libjvm.so:JVM_GC>2s: 4.") && line.contains("thread main"), "{line}");
        assert_eq!(incidents(dir).len(), 1, "{}", watching.said());
        // What is slow as it ends is written too.
        std::thread::sleep(Duration::from_secs(5));
        jvm.lock();
        std::thread::sleep(Duration::from_millis(500));
        let said = end(watching, "TERM");
        assert!(said.contains("2 incidents written"), "{said}");
        let names = incidents(dir);
        assert!(names.len() == 2 && names[1].ends_with("-lock.fathom"), "{said}: {names:?}");
        assert!(!dir.join("incidents/.unfinished").exists());

        let stop = open(dir, &names[0]);
        let triggers: Vec<String> = slow(&stop).into_iter().map(|(trigger, _)| trigger).collect();
        assert!(
            triggers.contains(&"stop>2s".to_owned()) && !triggers.contains(&"lock>2s".to_owned()),
            "{said}"
        );
        let held_ns = HELD.as_nanos() as i64;
        let longest = |recording: &Recording, kind| recording.spans_of(kind).map(|s| s.duration_ns()).max();
        assert!(longest(&stop, kind::SAFEPOINT) >= Some(held_ns - S / 10), "{said}");
        assert!(longest(&stop, kind::SYSCALL) >= Some(held_ns - S / 10), "{said}");
        let (from, to) = stop.covers_ns().unwrap();
        let pause = stop.spans_of(kind::SAFEPOINT).max_by_key(|s| s.duration_ns()).unwrap();
        assert!(
            (2 * S..=3 * S + S / 10).contains(&(pause.t0_ns() - from)),
            "{said}: {}",
            pause.t0_ns() - from
        );
        assert!((S / 2..=S + S / 10).contains(&(to - pause.t1_ns())), "{said}: {}", to - pause.t1_ns());

        let lock = open(dir, &names[1]);
        let reported = slow(&lock);
        assert!(
            reported.iter().any(|(trigger, what)| trigger == "lock>2s"
                && what.contains("held by holder")
                && what.contains("waited for by victim")),
            "{said}: {reported:?}"
        );

        // Threads that sleep all through it are reported as they are elsewhere: watched, and off
        // the CPU.
        for recording in [&stop, &lock] {
            let (from, to) = recording.covers_ns().unwrap();
            let watched = recording.spans_of(kind::SCHED_WATCHED);
            let through = watched.filter(|s| s.t0_ns() <= from + S / 10 && s.t1_ns() >= to - S / 10).count();
            assert!(through > 5, "{said}: {through}");
        }
        for name in &names {
            let place = format!("incidents/{name}");
            let info = fathom(dir, &["info", &place]);
            assert!(String::from_utf8_lossy(&info.stdout).contains("kept for"), "{}", said_of(&info));
            for args in [
                &["diagnose", &place][..],
                &["ledger", &place],
                &["report", &place, "-o", "x.html"],
                &["flame", &place, "--kind", "sched.off-cpu", "-o", "x.svg"],
            ] {
                let output = fathom(dir, args);
                assert!(output.status.success(), "{args:?}: {}", said_of(&output));
            }
        }
        let verdict = fathom(dir, &["diagnose", &format!("incidents/{}", names[0])]);
        assert!(String::from_utf8_lossy(&verdict.stdout).contains("GenCollectFull"), "{}", said_of(&verdict));
        for name in &names {
            let verdict = json(dir, &["diagnose", &format!("incidents/{name}")]);
            let how = &verdict["windows"]["how"][0];
            assert_eq!(how["metric"], "recorded-as-slow", "{name}: {how}");
            assert!(!verdict["windows"]["slow"].as_array().unwrap().is_empty(), "{name}: {verdict}");
        }
    });
}

fn said_of(output: &Output) -> String {
    said(output) + &String::from_utf8_lossy(&output.stdout)
}

#[test]
fn a_thread_without_a_task_is_not_slow_and_one_whose_task_waits_is() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Slow"]).filter(|_| ebpf_is_allowed()) else { return };
        let mut java = Command::new(home.join("bin/java"));
        let mut jvm = Talking::start(java.args(["-XX:+UseSerialGC", "-Xmx64m", "-cp"]).arg(dir).arg("Slow"));
        jvm.send("pool 4");
        jvm.until("done");
        let args = ["-p", &jvm.pid(), "--before", "2s", "--after", "1s", "--on-slow", "offcpu:^http>2s"];
        let mut watching = watching(dir, &args);
        // Each of these ends a wait for work of a thread of the pool.
        for _ in 0..4 {
            std::thread::sleep(Duration::from_millis(2_500));
            jvm.send("ask 1");
            assert_eq!(jvm.line(), Some("done"));
        }
        std::thread::sleep(Duration::from_secs(3));
        assert_eq!(incidents(dir), [""; 0], "{}", watching.said());
        jvm.send(&format!("ask {}", HELD.as_millis()));
        assert_eq!(jvm.line(), Some("done"));
        let line = watching.until("→");
        assert!(line.contains("offcpu:^http>2s: ") && line.contains("thread http-"), "{line}");
        let said = end(watching, "INT");
        let names = incidents(dir);
        assert_eq!(names.len(), 1, "{said}: {names:?}");
        let slow = slow(&open(dir, &names[0]));
        assert_eq!(slow.len(), 1, "{said}: {slow:?}");
    });
}

#[test]
fn a_series_that_leaves_what_is_usual_is_an_incident() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Slow"]).filter(|_| ebpf_is_allowed()) else { return };
        let mut jvm = Jvm::start(dir, &home);
        let pid = jvm.program.pid();
        let args =
            ["-p", &pid, "--before", "3s", "--after", "1s", "--on-slow", "series:process.threads>300%"];
        let mut watching = watching(dir, &args);
        // What is usual is known from twenty points on, one a second or fewer.
        std::thread::sleep(Duration::from_secs(35));
        assert_eq!(incidents(dir), [""; 0], "{}", watching.said());
        jvm.program.send("threads 10000");
        let line = watching.until("→");
        assert!(line.contains("process.threads of Slow (") && line.contains("usually"), "{line}");
        assert_eq!(jvm.program.line(), Some("done"));
        let said = end(watching, "INT");
        let names = incidents(dir);
        assert!(names[0].ends_with("-series.fathom"), "{said}: {names:?}");
        let recording = open(dir, &names[0]);
        assert!(!slow(&recording).is_empty(), "{said}");
        let threads = recording.series.iter().find(|s| s.info.name == "process.threads").unwrap();
        assert!(threads.value.iter().any(|threads| *threads > 100.0), "{said}: {:?}", threads.value);
    });
}

#[test]
fn what_cannot_be_is_refused_with_what_was_meant_perhaps() {
    let dir = tempfile::tempdir().unwrap();
    let pid = std::process::id().to_string();
    for (args, why) in [
        (&["--on-slow", "stpo>200ms"][..], "near it: stop"),
        (&["--on-slow", "stop"], "no limit"),
        (&["--on-slow", "syscall:fsink>1s"], "near it: "),
        (&["--on-slow", "syscall:futex>1s"], "by choice"),
        (&["--on-slow", "series:process.cpu.usr<50%"], "near it: process.cpu.user"),
        (&["--on-slow", "series:process.cpu.user<50ms"], "no percentage"),
        (&["--on-slow", "uprobe:libc.so.6>10ms"], "write uprobe:"),
        (&["--on-slow", "lock>5ms", "--without", "locks"], "--without leaves out"),
        (&["--on-slow", "stop>5ms", "--engine", "jfr"], "needs eBPF"),
        (&["--on-slow", "stop>5ms", "--memory", "1MB"], "--memory"),
        (&["--before", "10s"], "--on-slow"),
    ] {
        let output = fathom(dir.path(), &[&["record", "-p", &pid], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", said(&output));
        assert!(said(&output).contains(why), "{args:?}: {}", said(&output));
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
