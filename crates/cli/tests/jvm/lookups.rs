//! Look-ups of names that are too many to be watched all the time. Needs root and eBPF; skips
//! loudly without.

use std::process::Command;
use std::time::Duration;

use fathom_recording::vocabulary::kind;

use crate::live::process::Talking;
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, patiently};

/// Long enough for the probes to be taken off (after two seconds) and to be put back (after five
/// more).
const RECORDED: Duration = Duration::from_secs(11);

#[test]
fn look_ups_under_way_when_their_probes_are_taken_off_are_not_reported_as_long_ones() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Lookups"]) else { return };
        let mut java = Command::new("unshare");
        // Without a resolver the C library goes through a file, which takes nearly all of a
        // thread's time.
        let script = "printf 'hosts: files\\n' > nsswitch.conf && mount --bind nsswitch.conf /etc/nsswitch.conf && \
                      seq -f '10.0.0.1 host%g.test' 3000 > hosts && mount --bind hosts /etc/hosts && exec \"$@\"";
        java.current_dir(dir).args(["--mount", "--propagation", "private", "sh", "-c", script, "sh"]);
        java.arg(home.join("bin/java")).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Lookups"]);
        let mut jvm = Talking::start(&mut java);
        jvm.until("ready");
        let recorder = Recorder::record(dir, &jvm.pid(), &[]);
        std::thread::sleep(RECORDED);
        let recording = recorder.stop(dir);
        jvm.send("");
        let longest: f64 = jvm.until("longest ").trim().parse().unwrap();
        jvm.send("");
        let network = recording.sources.iter().find(|source| source.format == "network").unwrap();
        let off = network.unseen.iter().any(|unseen| unseen.what.contains("resolves, for part of the time"));
        assert!(off, "the probes stayed on: {:?}", network.unseen);
        let spans: Vec<f64> =
            recording.spans_of(kind::NET_DNS).map(|span| span.duration_ns() as f64 / 1e6).collect();
        let most = spans.iter().copied().fold(0.0, f64::max);
        eprintln!("{} look-ups, the longest {most:.1} ms; by the program's clock {longest} ms", spans.len());
        assert!(most <= longest + 1.0, "{most} ms, by the program's own clock {longest} ms");
    });
}
