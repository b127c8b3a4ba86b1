//! Requests to disks of a JVM that makes known blocks durable: as many bytes as it wrote, by it, with file and stack of
//! each `fsync`. Needs root, eBPF and a temporary folder on a block device; skips loudly without.

#![allow(clippy::unwrap_used)]

#[path = "../../hotspot/tests/jvm/mod.rs"]
mod jvm;

use std::time::Duration;

use fathom_capture::{Limits, Selection, Session, Settings, Signals, Targets, privileges};
use fathom_recording::vocabulary::{figure, kind, label, live};
use fathom_recording::{Overwrite, Recording, StackId, Writer};
use jvm::Jvm;

/// Bytes that the program writes before each `fsync`.
const BLOCK: f64 = (256 << 10) as f64;

/// Records a process for some seconds, everything told one by one.
fn record(pid: u32) -> Option<Recording> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("r.fathom");
    let mut writer = Writer::create(&place, Overwrite::Never).unwrap();
    let targets = Targets::find(Selection::Pids(vec![pid as i32])).unwrap();
    let without = ["jvm-events", "jvm-counters", "memory", "host"].map(str::to_owned).to_vec();
    let settings = Settings { without, min_ns: Some(1), ..Settings::default() };
    let limits = Limits { duration: Some(Duration::from_secs(5)), max_bytes: 1 << 30, place: place.clone() };
    let signals = Signals::take_over().unwrap();
    let mut session = match Session::start(targets, settings, limits, &mut writer) {
        Ok(session) => session,
        Err(error) => {
            eprintln!("SKIPPED: {error}");
            return None;
        }
    };
    let ended = session.run(&mut writer, &signals, &mut |_| {});
    session.stop(ended, &mut writer).unwrap();
    writer.finish().unwrap();
    let mut recording = fathom_recording::open(&place).unwrap();
    recording.seal();
    Some(recording)
}

fn names(recording: &Recording, stack: Option<StackId>) -> Vec<&str> {
    let mut names = Vec::new();
    let mut at = stack;
    while let Some(node) = at.map(|id| recording.stacks[id.index()]) {
        names.push(recording.strings.get(recording.frames[node.frame.index()].name));
        at = node.parent;
    }
    names
}

/// Whether files of a folder lie on a block device that is seen.
fn is_on_a_disk(folder: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(folder).unwrap().dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    std::path::Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists()
}

#[test]
fn blocks_made_durable_are_requests_of_the_jvm_with_file_and_method() {
    if let Err(why) = privileges::ebpf() {
        eprintln!("SKIPPED: {}: {}", why.what, why.why);
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    if !is_on_a_disk(folder.path()) {
        eprintln!("SKIPPED: {} is on no block device", folder.path().display());
        return;
    }
    let file = folder.path().join("data.bin");
    let file = file.to_str().unwrap();
    let tested: Vec<_> = jvm::jdks().into_iter().filter(|jdk| [17, 25].contains(&jdk.release)).collect();
    for jdk in tested {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Syncs", file]) else { return };
        std::thread::sleep(Duration::from_secs(1));
        let Some(recording) = record(jvm.pid()) else { return };
        let syncs: Vec<_> = recording.spans_of(kind::DISK_SYNC).filter(|s| s.name() == "fsync").collect();
        let what = format!("JDK {}: {} fsyncs", jdk.release, syncs.len());
        assert!(syncs.len() >= 5, "{what}");
        let right = |s: &&fathom_recording::Span<'_>| s.label(label::PATH) == Some(file);
        // The last one of a file may be looked at when the file is closed already.
        assert!(syncs.iter().filter(right).count() * 10 >= syncs.len() * 8, "{what}");
        let ours =
            |s: &&fathom_recording::Span<'_>| names(&recording, s.stack()).contains(&"Syncs.makeDurable");
        assert!(syncs.iter().filter(ours).count() * 10 >= syncs.len() * 8, "{what}");

        let whose = syncs[0].process();
        let of_it = |s: &&fathom_recording::Series| {
            s.info.name == live::DISK_IO_BYTES.name
                && s.info.process == Some(whose)
                && s.info.instance.contains(" write ")
        };
        let bytes: f64 = (recording.series.iter().filter(of_it))
            .map(|s| s.value.iter().zip(&s.dt_ns).map(|(rate, dt)| rate * *dt as f64 / 1e9).sum::<f64>())
            .sum();
        let written = syncs.len() as f64 * BLOCK;
        eprintln!("{what}; {bytes} bytes in requests, {written} written");
        // The kernel's own threads write some of it, and metadata come with it.
        assert!(bytes > 0.7 * written && bytes < 1.3 * written, "{what}: {bytes} of {written} bytes");

        let requests: Vec<_> = recording
            .spans_of(kind::DISK_REQUEST)
            .filter(|s| s.process() == whose && s.name() == "write")
            .collect();
        assert!(!requests.is_empty(), "{what}");
        for request in requests {
            let device = request.label(label::DEVICE).unwrap();
            assert!(std::path::Path::new("/sys/block").join(device).exists(), "{device}");
            let queued = request.figure(figure::QUEUE_NS).unwrap();
            assert!(queued >= 0.0 && queued <= request.duration_ns() as f64, "{queued}");
        }
    }
}
