//! What connections of a JVM are limited by, as the kernel counts it. Needs root and eBPF, and
//! Linux 6.1; skips loudly without.

use std::process::Command;
use std::time::Duration;

use fathom_recording::Recording;
use fathom_recording::vocabulary::live as words;

use crate::live::process::Talking;
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, patiently};

/// The median of a series.
fn usual(recording: &Recording, word: words::Word, instance: &str) -> f64 {
    let mut values: Vec<f64> = Vec::new();
    for series in &recording.series {
        if series.info.name == word.name && series.info.instance == instance {
            values.extend_from_slice(&series.value);
        }
    }
    values.sort_by(f64::total_cmp);
    assert!(!values.is_empty(), "{} of {instance}", word.name);
    values[values.len() / 2]
}

#[test]
fn windows_that_are_full_and_queues_are_those_of_the_program() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Connections"]) else { return };
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Connections"]);
        let mut jvm = Talking::spawn(&mut java).unwrap();
        let ports = jvm.until("ready");
        let recorder = Recorder::record(dir, &jvm.pid(), &[]);
        std::thread::sleep(Duration::from_secs(4));
        let recording = recorder.stop(dir);
        jvm.send("");
        jvm.until("done");
        let ports: Vec<&str> = ports.split(' ').collect();
        let [narrow, deaf, busy] = ports[..] else { panic!("{ports:?}") };
        let (server, client) =
            (|port: &str| format!("clients of :{port}"), |port: &str| format!("127.0.0.1:{port}"));
        let of = |word, instance: &str| usual(&recording, word, instance);
        // The client with a small receive buffer offers little; the one that reads nothing has let
        // its window grow before that is full.
        assert!(of(words::RECEIVE_WINDOW, &client(narrow)) < 8_192.0);
        assert!(of(words::UNREAD, &client(deaf)) > 50_000.0);
        // Both servers wait for room in them for all of the time.
        for port in [narrow, deaf] {
            let (sending, full) =
                (of(words::SENDING, &server(port)), of(words::PEER_WINDOW_FULL, &server(port)));
            assert!(sending > 0.8 && full > 0.6 * sending, "{port}: {sending} {full}");
            assert!(of(words::UNACKNOWLEDGED, &server(port)) > 10_000.0);
        }
        let queue = format!(":{busy}");
        assert_eq!((of(words::ACCEPT_QUEUE, &queue), of(words::ACCEPT_QUEUE_LIMIT, &queue)), (3.0, 5.0));
        assert_eq!(of(words::CONNECTIONS, &client(busy)), 3.0);
        // All of it happens on this machine.
        assert!(of(words::ROUND_TRIP, &server(narrow)) < 250.0);
    });
}
