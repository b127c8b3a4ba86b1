//! Waits that have not ended when the recording ends are told with their time so far, and say so: a call that hangs is what
//! somebody who records is looking for. Needs root and eBPF; skips loudly without.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Recording, Span, StackId};
use serde_json::Value;

/// Nothing here takes as long, on whatever machine; a test that hangs must end.
const PATIENCE: Duration = Duration::from_secs(120);

/// A process that ends with the test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn json(dir: &Path, args: &[&str]) -> Value {
    let output = Command::new(env!("CARGO_BIN_EXE_fathom"))
        .current_dir(dir)
        .args(args)
        .arg("--json")
        .output()
        .unwrap();
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// Homes of the JDKs from 11 on, one of each release, with the program compiled into `dir`; none, loudly, without a compiler.
fn jdks(dir: &Path) -> Vec<(u64, PathBuf)> {
    let listed = json(dir, &["jdks"]);
    let all = listed["jdks"].as_array().unwrap();
    let home = |jdk: &Value| PathBuf::from(jdk["home"].as_str().unwrap());
    let Some(compiler) = all.iter().find(|jdk| jdk["javac"] == true).map(home) else {
        eprintln!("SKIPPED: no JDK with a compiler was found");
        return Vec::new();
    };
    let source = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/java/Hangs.java");
    let mut javac = Command::new(compiler.join("bin/javac"));
    assert!(javac.args(["--release", "11", "-d"]).arg(dir).arg(source).status().unwrap().success());
    let release = |jdk: &Value| Some((jdk["feature"].as_u64().filter(|release| *release >= 11)?, home(jdk)));
    let mut found: Vec<_> = all.iter().filter_map(release).collect();
    found.sort();
    found.dedup_by_key(|(release, _)| *release);
    found
}

/// Records the program; the recording, and for how long it surely was, from when the late threads had begun.
fn recorded(dir: &Path, home: &Path) -> (Recording, Duration, Duration) {
    let mut java = Command::new(home.join("bin/java"));
    java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Hangs"]);
    java.args([dir.join("read.fifo"), dir.join("open.fifo")]);
    let mut jvm = Running(java.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
    let mut line = String::new();
    BufReader::new(jvm.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line.trim(), "ready");
    let mut record = Command::new(env!("CARGO_BIN_EXE_fathom"));
    record.current_dir(dir).args(["record", "-p", &jvm.0.id().to_string(), "-o", "x.fathom", "--force"]);
    let asked = Instant::now();
    let mut fathom = Running(record.stderr(Stdio::piped()).spawn().unwrap());
    let (mut err, (tell, begun)) = (BufReader::new(fathom.0.stderr.take().unwrap()), channel());
    std::thread::spawn(move || {
        let mut line = String::new();
        while err.read_line(&mut line).is_ok_and(|read| read > 0) {
            if std::mem::take(&mut line).contains("recording pid") {
                let _ = tell.send(());
            }
        }
    });
    begun.recv_timeout(PATIENCE).unwrap();
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(1500));
    jvm.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
    std::thread::sleep(Duration::from_millis(2500));
    let sure = began.elapsed();
    assert!(Command::new("kill").args(["-INT", &fathom.0.id().to_string()]).status().unwrap().success());
    assert!(fathom.0.wait().unwrap().success());
    let most = asked.elapsed();
    let mut recording = fathom_recording::open(&dir.join("x.fathom")).unwrap();
    recording.seal();
    (recording, sure, most)
}

/// Names of a stack, leaf first.
fn names(recording: &Recording, stack: Option<StackId>) -> Vec<&str> {
    let mut names = Vec::new();
    let mut at = stack;
    while let Some(node) = at.map(|id| recording.stacks[id.index()]) {
        names.push(recording.strings.get(recording.frames[node.frame.index()].name));
        at = node.parent;
    }
    names
}

/// The one span of a kind that a thread hangs in.
#[track_caller]
fn hangs<'a>(recording: &'a Recording, kind: &str, thread: &str, shown: &str) -> Span<'a> {
    let of_thread = |span: &Span<'_>| {
        let name = span.thread().map(|id| recording.threads[id.index()].name);
        name.is_some_and(|name| recording.strings.get(name) == thread)
    };
    let all: Vec<_> = recording.spans_of(kind).filter(of_thread).collect();
    let cut: Vec<_> = all.iter().filter(|span| span.label(label::CUT).is_some()).collect();
    let list = || -> Vec<_> {
        all.iter()
            .map(|s| format!("{} {} ns {:?}", s.name(), s.duration_ns(), s.labels().collect::<Vec<_>>()))
            .collect()
    };
    let [span] = cut[..] else { panic!("{shown}: {kind} of {thread}: {:?}", list()) };
    *span
}

#[test]
fn calls_and_locks_that_hang_to_the_end_are_told_with_their_time_so_far() {
    if let Err(why) = fathom_capture::privileges::ebpf() {
        eprintln!("SKIPPED: {}: {}", why.what, why.why);
        return;
    }
    let dir = tempfile::tempdir().unwrap();
    let dir = &dir.path().canonicalize().unwrap();
    let (read, open) = (dir.join("read.fifo"), dir.join("open.fifo"));
    assert!(Command::new("mkfifo").args([&read, &open]).status().unwrap().success());
    // Both ends, so that whoever opens it to read need not wait, and whoever reads it does.
    let _writer = std::fs::OpenOptions::new().read(true).write(true).open(&read).unwrap();
    for (release, home) in jdks(dir) {
        let (recording, sure, most) = recorded(dir, &home);
        let most_ns = most.as_nanos() as i64;
        for (when, least) in [("early", sure), ("late", Duration::from_secs(1))] {
            let shown = format!("JDK {release}, {when}");
            let is_told = |span: &Span<'_>, method: &str| {
                let ns = span.duration_ns();
                assert!(ns >= least.as_nanos() as i64 && ns <= most_ns, "{shown}: {}: {ns}", span.name());
                let names = names(&recording, span.stack());
                assert!(names.contains(&method), "{shown}: {}: {names:?}", span.name());
            };
            let early = when == "early";
            for (what, path, calls) in
                [("reader", &read, ["read", "read"]), ("opener", &open, ["openat", "open"])]
            {
                let call = hangs(&recording, kind::SYSCALL, &format!("{when}-{what}"), &shown);
                is_told(&call, "Hangs.read");
                assert!(calls.contains(&call.name()), "{shown}: {}", call.name());
                assert_eq!(call.label(label::PATH), path.to_str(), "{shown}");
                assert_eq!(call.figure(figure::RESULT), None, "{shown}");
                let cut = call.label(label::CUT).unwrap();
                assert_eq!(cut.contains("began before the recording"), early, "{shown}: {cut}");
                let off = hangs(&recording, kind::SCHED_OFF, &format!("{when}-{what}"), &shown);
                is_told(&off, "Hangs.read");
            }
            let wait = hangs(&recording, kind::LOCK_MONITOR, &format!("{when}-waiter"), &shown);
            assert_eq!((wait.name(), wait.label(label::OWNER)), ("Hangs$Shelf", Some("holder")), "{shown}");
            let ns = wait.duration_ns();
            assert!(ns >= 1_000_000_000 && ns <= most_ns, "{shown}: {ns}");
        }
        let shown = format!("JDK {release}");
        let ledger = json(dir, &["ledger", "x.fathom", "--by", "thread"]);
        for group in ledger["groups"].as_array().unwrap() {
            let sum: f64 = group["spent"].as_array().unwrap().iter().map(|s| s["ms"].as_f64().unwrap()).sum();
            let whole = group["thread_ms"].as_f64().unwrap();
            assert!((sum - whole).abs() <= whole * 0.001, "{shown}: {group}");
        }
        // The file that it hangs on stands in the chain.
        let chains = json(dir, &["chain", "x.fathom", "--thread", "^early-reader$", "--stops", "0"]);
        let links = chains["chains"][0]["links"].as_array().unwrap();
        // What waits before system calls are watched is told by the switch alone.
        let what = format!("in read() on {}", read.display());
        assert!(links.iter().any(|link| link["what"] == what.as_str()), "{shown}: {chains}");
    }
}
