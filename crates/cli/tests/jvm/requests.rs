//! Requests that a JVM answers, and answers that its peers give it, counted and timed at its
//! connections. Needs root and eBPF; skips loudly without.

use std::process::Command;

use fathom_recording::Recording;
use fathom_recording::vocabulary::live as words;

use crate::live::process::Talking;
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, patiently};

/// What the program does: requests, and the milliseconds after which each is answered.
const REQUESTS: f64 = 200.0;
const HELD_MS: f64 = 20.0;
/// The same of calls that nobody answers, and that it gives up.
const GIVEN_UP: f64 = 20.0;
const GIVEN_UP_MS: f64 = 50.0;
/// Two naps of a thread on a busy machine take this much longer at most, on average, milliseconds.
const LATE_MS: f64 = 5.0;

/// The points of a series: length in seconds, and value.
fn points(recording: &Recording, word: words::Word) -> Vec<(f64, f64)> {
    let all = recording.series.iter().filter(|series| series.info.name == word.name);
    all.flat_map(|series| series.dt_ns.iter().map(|dt| *dt as f64 / 1e9).zip(series.value.iter().copied()))
        .collect()
}

#[test]
fn requests_over_accepted_connections_are_counted_and_timed() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Answers"]) else { return };
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Answers"]);
        let mut jvm = Talking::start(&mut java);
        jvm.until("ready");
        let recorder = Recorder::record(dir, &jvm.pid(), &[]);
        jvm.send("");
        jvm.until("done");
        let recording = recorder.stop(dir);
        jvm.send("");
        let shown = home.display();
        let rates = points(&recording, words::PROCESS_REQUESTS);
        let answered: f64 = rates.iter().map(|(seconds, rate)| seconds * rate).sum();
        assert!((answered - REQUESTS).abs() < 0.5, "{shown}: {answered} requests: {rates:?}");
        // Ticks without an answer have no time.
        let times = points(&recording, words::PROCESS_REQUEST_TIME);
        let busy: Vec<f64> = rates.iter().map(|(s, rate)| s * rate).filter(|count| *count > 0.0).collect();
        assert_eq!(busy.len(), times.len(), "{shown}: {rates:?} {times:?}");
        let mean: f64 = busy.iter().zip(&times).map(|(count, (_, ms))| count * ms).sum::<f64>() / answered;
        assert!((HELD_MS..HELD_MS + LATE_MS).contains(&mean), "{shown}: {mean} ms on average");
        let longest = points(&recording, words::PROCESS_REQUEST_LONGEST);
        assert!(longest.iter().all(|(_, ms)| *ms >= HELD_MS), "{shown}: {longest:?}");
        // The clients are in the same JVM: it is its own peer, over connections that it made.
        let rates = points(&recording, words::PROCESS_PEER_ANSWERS);
        let count: f64 = rates.iter().map(|(seconds, rate)| seconds * rate).sum();
        assert!((count - REQUESTS).abs() < 0.5, "{shown}: {count} answers of the peer: {rates:?}");
        let times = points(&recording, words::PROCESS_PEER_ANSWER_TIME);
        assert!(times.iter().all(|(_, ms)| *ms >= HELD_MS), "{shown}: {times:?}");
        // A client that waits for each answer reads it as it arrives.
        let unread = points(&recording, words::PROCESS_PEER_UNREAD_TIME);
        assert!(unread.iter().all(|(_, ms)| *ms < LATE_MS), "{shown}: {unread:?}");
        let peers = recording.series.iter().filter(|s| s.info.name == words::PROCESS_PEER_ANSWERS.name);
        assert!(
            peers.clone().count() == 2 && peers.clone().all(|s| s.info.instance.starts_with("127.0.0.1:"))
        );
        // What was sent just before a connection was closed was no call that is given up.
        let rates = points(&recording, words::PROCESS_PEER_GIVEN_UP);
        let count: f64 = rates.iter().map(|(seconds, rate)| seconds * rate).sum();
        assert!((count - GIVEN_UP).abs() < 0.5, "{shown}: {count} calls given up: {rates:?}");
        let after = points(&recording, words::PROCESS_PEER_GIVEN_UP_TIME);
        let late = GIVEN_UP_MS..GIVEN_UP_MS + LATE_MS;
        assert!(after.iter().all(|(_, ms)| late.contains(ms)), "{shown}: {after:?}");
        eprintln!("{shown}: {answered:.1} requests, {mean:.2} ms each");
    });
}
