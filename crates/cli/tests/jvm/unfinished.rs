//! Waits that have not ended when the recording ends are reported with their time so far, and say
//! so: a call that hangs is what somebody who records is looking for. Needs root and eBPF; skips
//! loudly without.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Recording, Span};

use crate::live::process::Talking;
use crate::live::recorded::{ledger, names, of_thread};
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, json, patiently};

/// Records the program; the recording, and for how long it surely was, from when the late threads
/// had begun.
fn recorded(dir: &Path, home: &Path) -> (Recording, Duration, Duration) {
    let mut java = Command::new(home.join("bin/java"));
    java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Hangs"]);
    java.args([dir.join("read.fifo"), dir.join("open.fifo")]);
    let mut jvm = Talking::start(&mut java);
    let asked = Instant::now();
    let recorder = Recorder::record(dir, &jvm.pid(), &[]);
    let began = Instant::now();
    std::thread::sleep(Duration::from_millis(1500));
    jvm.send("");
    std::thread::sleep(Duration::from_millis(2500));
    let sure = began.elapsed();
    let recording = recorder.stop(dir);
    let most = asked.elapsed();
    (recording, sure, most)
}

/// The one span of a kind that a thread hangs in.
#[track_caller]
fn hangs<'a>(recording: &'a Recording, kind: &str, thread: &str, shown: &str) -> Span<'a> {
    let all = of_thread(recording, kind, thread);
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
fn calls_and_locks_that_hang_to_the_end_are_reported_with_their_time_so_far() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = &dir.path().canonicalize().unwrap();
        let (read, open) = (dir.join("read.fifo"), dir.join("open.fifo"));
        assert!(Command::new("mkfifo").args([&read, &open]).status().unwrap().success());
        // Both ends, so that whoever opens it to read need not wait, and whoever reads it does.
        let _writer = std::fs::OpenOptions::new().read(true).write(true).open(&read).unwrap();
        for (release, home) in jdks::each(jdks::with_program(dir, "Hangs")) {
            let (recording, sure, most) = recorded(dir, &home);
            let most_ns = most.as_nanos() as i64;
            for (when, least) in [("early", sure), ("late", Duration::from_secs(1))] {
                let shown = format!("JDK {release}, {when}");
                let is_reported = |span: &Span<'_>, method: &str| {
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
                    is_reported(&call, "Hangs.read");
                    assert!(calls.contains(&call.name()), "{shown}: {}", call.name());
                    assert_eq!(call.label(label::PATH), path.to_str(), "{shown}");
                    assert_eq!(call.figure(figure::RESULT), None, "{shown}");
                    let cut = call.label(label::CUT).unwrap();
                    assert_eq!(cut.contains("began before the recording"), early, "{shown}: {cut}");
                    let off = hangs(&recording, kind::SCHED_OFF, &format!("{when}-{what}"), &shown);
                    is_reported(&off, "Hangs.read");
                }
                let wait = hangs(&recording, kind::LOCK_MONITOR, &format!("{when}-waiter"), &shown);
                assert_eq!(
                    (wait.name(), wait.label(label::OWNER)),
                    ("Hangs$Shelf", Some("holder")),
                    "{shown}"
                );
                let ns = wait.duration_ns();
                assert!(ns >= 1_000_000_000 && ns <= most_ns, "{shown}: {ns}");
            }
            let shown = format!("JDK {release}");
            ledger(dir, &shown);
            // The file that it hangs on is in the chain.
            let chains = json(dir, &["chain", "x.fathom", "--thread", "^early-reader$", "--stops", "0"]);
            let links = chains["chains"][0]["links"].as_array().unwrap();
            // What waits before system calls are watched is reported by the switch alone.
            let what = format!("in read() on {}", read.display());
            assert!(links.iter().any(|link| link["what"]["text"] == what.as_str()), "{shown}: {chains}");
        }
    });
}
