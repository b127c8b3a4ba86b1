//! Requests to disks of a JVM that makes known blocks durable: as many bytes as it wrote, by it,
//! with file and stack of each `fsync`. Needs root, eBPF and a temporary folder on a block device;
//! skips loudly without.

#![allow(clippy::unwrap_used)]

#[path = "../../hotspot/tests/jvm/mod.rs"]
mod jvm;

use std::process::{Child, Command, Stdio};
use std::time::Duration;

use fathom_capture::{Limits, Selection, Session, Settings, Signals, Targets, check};
use fathom_recording::vocabulary::{figure, kind, label, live};
use fathom_recording::{Overwrite, Recording, StackId, Writer};
use jvm::Jvm;

/// Bytes that the program writes before each `fsync`.
const BLOCK: f64 = (256 << 10) as f64;

/// Records a process for some seconds; what took at least `min_ns` is reported one by one.
fn record(pid: u32, min_ns: Option<u64>) -> Option<Recording> {
    let folder = tempfile::tempdir().unwrap();
    let place = folder.path().join("r.fathom");
    let mut writer = Writer::create(&place, Overwrite::Never).unwrap();
    let targets = Targets::find(Selection::Pids(vec![pid as i32])).unwrap();
    let without = ["jvm-events", "jvm-counters", "memory", "host"].map(str::to_owned).to_vec();
    let settings = Settings { without, min_ns, ..Settings::default() };
    let limits = Limits { duration: Some(Duration::from_secs(5)), max_bytes: 1 << 30, place: place.clone() };
    let signals = Signals::take_over().unwrap();
    let mut session = match Session::start(targets, settings, limits, &mut writer) {
        Ok(session) => session,
        Err(error) => {
            fathom_testing::skip(&format!("{error}"));
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

/// A command that does something and says nothing.
fn quietly(program: &str, arguments: &[&str]) -> Child {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap()
}

/// Whether files of a folder lie on a block device that is seen.
fn is_on_a_disk(folder: &std::path::Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let device = std::fs::metadata(folder).unwrap().dev();
    let (major, minor) = (libc::major(device), libc::minor(device));
    std::path::Path::new(&format!("/sys/dev/block/{major}:{minor}")).exists()
}

/// A folder whose files lie on a disk that can be watched; `None`, loudly, where there is none.
fn folder_on_a_disk() -> Option<tempfile::TempDir> {
    if let Err(why) = check::ebpf() {
        fathom_testing::skip(&format!("{}: {}", why.what, why.why));
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    if !is_on_a_disk(folder.path()) {
        fathom_testing::skip(&format!("{} is on no block device", folder.path().display()));
        return None;
    }
    Some(folder)
}

#[test]
fn blocks_made_durable_are_requests_of_the_jvm_with_file_and_method() {
    let Some(folder) = folder_on_a_disk() else { return };
    let file = folder.path().join("data.bin");
    let file = file.to_str().unwrap();
    let tested: Vec<_> = jvm::jdks().into_iter().filter(|jdk| [17, 25].contains(&jdk.release)).collect();
    for jdk in tested {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Syncs", file]) else { return };
        std::thread::sleep(Duration::from_secs(1));
        let Some(recording) = record(jvm.pid(), Some(1)) else { return };
        let syncs: Vec<_> = recording.spans_of(kind::DISK_SYNC).filter(|s| s.name() == "fsync").collect();
        let what = format!("JDK {}: {} fsyncs", jdk.release, syncs.len());
        assert!(syncs.len() >= 5, "{what}");
        let right = |s: &&fathom_recording::Span<'_>| s.label(label::PATH) == Some(file);
        // The last one of a file may be looked at when the file is closed already.
        assert!(syncs.iter().filter(right).count() * 10 >= syncs.len() * 8, "{what}");
        let ours =
            |s: &&fathom_recording::Span<'_>| names(&recording, s.stack()).contains(&"Syncs.makeDurable");
        assert!(syncs.iter().filter(ours).count() * 10 >= syncs.len() * 8, "{what}");

        // An fsync waits for the pages to be written, then for the disk to have them: each of these
        // waits has the stack of the call, the first ones, too.
        let waits = recording.spans_of(kind::SCHED_OFF).filter(|s| s.label(label::SYSCALL) == Some("fsync"));
        let waits: Vec<_> = waits.collect();
        let placed = waits.iter().filter(ours).count();
        let what = format!("{what}; {placed} of {} waits have their method", waits.len());
        assert!(!waits.is_empty() && placed * 10 >= waits.len() * 9, "{what}");

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

#[test]
fn a_file_that_another_process_wrote_is_written_back_with_its_path_and_writer() {
    let Some(folder) = folder_on_a_disk() else { return };
    // Longer than there is room for in the kernel's record, but for its beginning.
    let long = "a-folder-whose-name-has-more-than-the-48-bytes-that-are-kept";
    std::fs::create_dir(folder.path().join(long)).unwrap();
    let place = folder.path().canonicalize().unwrap();
    let (dump, deep) = (place.join("dump.bin"), place.join(long).join("deep.bin"));
    let writes = {
        let (dump, deep) = (dump.clone(), deep.clone());
        std::thread::spawn(move || {
            std::thread::sleep(Duration::from_secs(2));
            let write = |to: &std::path::Path, block: &str, count: &str| {
                let of = format!("of={}", to.display());
                let mut dd = quietly("dd", &["if=/dev/zero", &of, block, count]);
                assert!(dd.wait().unwrap().success());
                dd.id()
            };
            // The second one within a tick of the clock of files' timestamps, every other time.
            let writers = [write(&dump, "bs=1M", "count=16"), write(&deep, "bs=64K", "count=80")];
            // The file system, and not the file alone: that is the page cache's work.
            assert!(quietly("sync", &["-f", dump.to_str().unwrap()]).wait().unwrap().success());
            writers
        })
    };
    let mut target = quietly("sleep", &["60"]);
    let recording = record(target.id(), None);
    target.kill().unwrap();
    target.wait().unwrap();
    let writers = writes.join().unwrap();
    let Some(recording) = recording else { return };
    let shown = place.join(&long[..47]).display().to_string() + "…/deep.bin";
    let mib = 1_048_576.0;
    let expected = [(dump.to_str().unwrap(), "dump.bin", 16.0), (shown.as_str(), "deep.bin", 5.0)];
    for ((path, name, written), writer) in expected.into_iter().zip(writers) {
        let of_it = |s: &fathom_recording::Span<'_>| s.label(label::PATH) == Some(path);
        let files: Vec<_> = recording.spans_of(kind::DISK_WRITEBACK_FILE).filter(of_it).collect();
        let bytes: f64 = files.iter().filter_map(|file| file.figure(figure::BYTES)).sum();
        let paths: Vec<_> =
            recording.spans_of(kind::DISK_WRITEBACK_FILE).filter_map(|s| s.label(label::PATH)).collect();
        // Its last part may be small enough to be in the sums alone.
        let written = written * mib;
        assert!(bytes <= written && bytes >= written - 4.0 * mib, "{path}: {bytes}: {paths:?}");
        let writer = format!("dd ({writer})");
        for file in files {
            assert_eq!((file.name(), file.label(label::WRITER)), (name, Some(writer.as_str())));
        }
    }
    let by_dd = |s: &&fathom_recording::Series| {
        s.info.name == live::DISK_WRITTEN_BACK.name && s.info.instance.ends_with(" dd")
    };
    let sum = |s: &fathom_recording::Series| -> f64 {
        s.value.iter().zip(&s.dt_ns).map(|(rate, dt)| rate * *dt as f64 / 1e9).sum()
    };
    let bytes: f64 = recording.series.iter().filter(by_dd).map(sum).sum();
    // The interval in which the recording ends is cut there, and with it a part of its bytes.
    assert!(bytes >= 20.0 * mib && bytes < 21.0 * mib + 1.0, "{bytes}");
}
