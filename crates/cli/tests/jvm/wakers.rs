//! Who woke a thread: a thread where one did, else the timer, the disk or the network that did, and
//! never whoever happened to run there. Needs root and eBPF; skips loudly without.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::process::Command;

use fathom_recording::Recording;
use fathom_recording::vocabulary::{kind, label};

use crate::live::process::Talking;
use crate::live::recorded::{ledger, of_thread};
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, jdks, patiently};

/// Of the waits of a thread, so many end as the program makes them end: the JVM stops threads too,
/// and a kernel may hide some interrupts from all who trace it, those of the threads of process 1.
const LEAST: f64 = 0.9;
/// Waits of a thread of which so few were reported say nothing: the program makes two hundred of
/// each.
const FEW: usize = 50;

/// How the waits of a thread ended in which it slept, and how often: by label and text.
fn ends(recording: &Recording, thread: &str) -> BTreeMap<String, usize> {
    let mut ends = BTreeMap::new();
    let waits = of_thread(recording, kind::SCHED_OFF, thread);
    for wait in waits.iter().filter(|wait| ["sleeping", "uninterruptible"].contains(&wait.name())) {
        if wait.label(label::CUT).is_some() {
            continue;
        }
        let (waker, interrupt) = (wait.label(label::WAKER), wait.label(label::INTERRUPT));
        assert!(waker.is_none() || interrupt.is_none(), "{thread}: {waker:?} and {interrupt:?}");
        // By name: "unparker (4711)".
        let by_thread = waker.map(|waker| waker.split(" (").next().unwrap_or(waker));
        *ends.entry(by_thread.or(interrupt).unwrap_or("nobody").to_owned()).or_insert(0) += 1;
    }
    ends
}

/// Nearly all waits of a thread ended so, and none by a thread that only ran.
#[track_caller]
fn end_by(recording: &Recording, thread: &str, by: &str, shown: &str) {
    let ends = ends(recording, thread);
    eprintln!("{shown}: {thread}: {ends:?}");
    let all: usize = ends.values().sum();
    let so = ends.get(by).copied().unwrap_or(0);
    assert!(all >= FEW, "{shown}: {thread} was woken too seldom: {ends:?}");
    assert!(so as f64 >= LEAST * all as f64, "{shown}: {thread} is woken by {by}: {ends:?}");
    assert!(!ends.keys().any(|by| by.starts_with("busy")), "{shown}: {thread}: {ends:?}");
}

/// A file that can be read around the page cache.
fn data(dir: &Path) -> std::path::PathBuf {
    let path = dir.join("data");
    let mut file = File::create(&path).unwrap();
    let block = vec![7; 1 << 20];
    (0..64).for_each(|_| file.write_all(&block).unwrap());
    file.sync_all().unwrap();
    path
}

#[test]
fn a_thread_is_the_waker_only_where_a_thread_woke() {
    patiently(|| {
        if !ebpf_is_allowed() {
            return;
        }
        // Next to the sources: the directory for temporary files is in memory on many machines.
        let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let dir = dir.path();
        let Some(home) = jdks::compile(dir, 11, &["Wakers"]) else { return };
        let mut java = Command::new(home.join("bin/java"));
        java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Wakers"]).arg(data(dir));
        let mut jvm = Talking::start(&mut java);
        let recorder = Recorder::record(dir, &jvm.pid(), &["--min", "200us"]);
        jvm.send("");
        jvm.until("done");
        let recording = recorder.stop(dir);
        let shown = home.display().to_string();
        let source = recording.sources.iter().find(|source| source.format == "sched").unwrap();
        assert!(!source.unseen.iter().any(|unseen| unseen.what.contains("woke")), "{:?}", source.unseen);
        end_by(&recording, "sleeper", "a timer", &shown);
        end_by(&recording, "timed", "a timer", &shown);
        end_by(&recording, "parker", "unparker", &shown);
        end_by(&recording, "asker", "answerer", &shown);
        end_by(&recording, "reader", "the disk", &shown);
        // The thread at the other end wakes from its own naps, and by what the asker sends.
        let answerer = ends(&recording, "answerer");
        let others: usize = answerer.iter().filter(|(by, _)| *by != "asker").map(|(_, waits)| waits).sum();
        let by_timer = answerer.get("a timer").copied().unwrap_or(0);
        assert!(by_timer as f64 >= LEAST * others as f64, "{shown}: answerer: {answerer:?}");
        let ledger = ledger(dir, &shown);
        let mut groups = ledger["groups"].as_array().unwrap().iter();
        let timed = groups.find(|group| group["name"].as_str().unwrap().split(' ').next() == Some("timed"));
        let spent = timed.unwrap()["spent"].as_array().unwrap();
        let ms = |words: &str| -> f64 {
            spent.iter().filter(|of| of["words"] == words).map(|of| of["ms"].as_f64().unwrap()).sum()
        };
        let (timed, another) = (ms("in a timed wait"), ms("waiting for another thread"));
        assert!(timed > 0.0 && another <= (1.0 - LEAST) * timed, "{shown}: {timed} and {another}: {ledger}");
    });
}
