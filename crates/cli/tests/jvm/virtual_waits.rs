//! Where virtual threads wait of which no probe knows: their stacks are read from outside. Needs
//! root and eBPF; skips loudly without.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fathom_recording::Recording;
use fathom_recording::vocabulary::kind;

use crate::live::process::Talking;
use crate::live::recorded::names;
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, patiently};

const FIRST_WITH_VIRTUAL_THREADS: u64 = 21;
/// From here on probes follow them even if none was seen at work.
const FIRST_TO_BE_FOLLOWED: u64 = 25;
/// Threads of the program that sleep, and that wait for a lock.
const SLEEPERS: f64 = 40.0;
const WAITERS: f64 = 20.0;
/// The seconds of the recording that are looked at: probes are on at first.
const WATCHED: (f64, f64) = (4.0, 8.0);

/// How many virtual threads wait at a time below a method.
fn at_a_time(recording: &Recording, method: &str) -> f64 {
    let (begin, _) = recording.covers_ns().unwrap();
    let at = |s: f64| begin + (s * 1e9) as i64;
    let (from, to) = (at(WATCHED.0), at(WATCHED.1));
    let waits = recording.spans_of(kind::LOCK_PARK).filter(|span| {
        names(recording, span.stack()).iter().any(|name| name.split('(').next() == Some(method))
    });
    waits.map(|span| span.overlap_ns(from, to)).sum::<i64>() as f64 / (to - from) as f64
}

fn record(dir: &Path, home: &Path, arguments: &[&str]) -> Recording {
    let mut java = Command::new(home.join("bin/java"));
    java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "VirtualWaits"]).args(arguments);
    let mut jvm = Talking::start(&mut java);
    jvm.until("ready");
    let recorder = Recorder::record(dir, &jvm.pid(), &["--without", "syscalls", "--without", "memory"]);
    std::thread::sleep(Duration::from_secs_f64(WATCHED.1 + 1.0));
    let recording = recorder.stop(dir);
    jvm.send("");
    recording
}

#[test]
fn virtual_threads_that_switch_too_often_for_probes_are_seen_waiting() {
    are_seen_waiting(&[]);
}

/// While the probes are on, they report locks, and not sleep.
#[test]
fn virtual_threads_that_sleep_are_seen_at_any_time() {
    are_seen_waiting(&["calm"]);
}

fn are_seen_waiting(arguments: &[&str]) {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let mut homes = jdks::with_program(dir.path(), "VirtualWaits");
        homes.retain(|(release, _)| *release >= FIRST_WITH_VIRTUAL_THREADS);
        for (release, home) in jdks::each(homes) {
            let recording = record(dir.path(), &home, arguments);
            let (asleep, waiting) =
                (at_a_time(&recording, "VirtualWaits.sleeps"), at_a_time(&recording, "VirtualWaits.waits"));
            eprintln!("JDK {release}: {asleep:.1} asleep, {waiting:.1} waiting at a time");
            assert!((asleep - SLEEPERS).abs() <= 0.1 * SLEEPERS, "JDK {release}: {asleep} asleep at a time");
            // Their waits began before the probes were set.
            let is_followed = arguments.contains(&"calm") && release >= FIRST_TO_BE_FOLLOWED;
            assert!(
                is_followed || (waiting - WAITERS).abs() <= 0.1 * WAITERS,
                "JDK {release}: {waiting} waiting at a time"
            );
        }
    });
}
