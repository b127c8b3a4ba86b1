//! `fathom chain` on real JVMs whose waits are known by construction: each chain leads to what the
//! owner is made to do, each stop to who is made to come last and to the write that is made to
//! hang. Needs root and eBPF; skips loudly without.

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use fathom_recording::vocabulary::{figure, kind, label};
use serde_json::Value;

use crate::live::disk::Disk;
use crate::live::process::{Talking, busy};
use crate::live::recorded::{ledger, of_thread};
use crate::live::recorder::Recorder;
use crate::live::{ebpf_is_allowed, fathom, jdks, json, patiently};

/// Clocks of program and recorder are read one after the other.
const CLOCKS_MS: f64 = 1.0;

/// The parts below share out what is above, and what ends says why.
fn adds_up(ms: f64, links: &Value, shown: &str) {
    let links = links.as_array().unwrap();
    let sum: f64 = links.iter().map(|link| link["ms"].as_f64().unwrap()).sum();
    assert!((sum - ms).abs() <= ms * 1e-6 + 1e-6, "{shown}: {sum} of {ms}");
    for link in links {
        let next = link["next"].as_array().unwrap();
        assert_eq!(link["end"].is_null(), !next.is_empty(), "{shown}: {link}");
        if !next.is_empty() {
            adds_up(link["ms"].as_f64().unwrap(), &link["next"], shown);
        }
    }
}

/// The chain of a thread; the links of its own that say it waited for a monitor, and what comes
/// next.
fn monitor(dir: &Path, thread: &str, shown: &str) -> Value {
    let chains = json(dir, &["chain", "x.fathom", "--thread", &format!("^{thread}$"), "--stops", "0"]);
    let chain = &chains["chains"][0];
    assert_eq!(chain["thread"], thread, "{shown}: {chains}");
    adds_up(chain["ms"].as_f64().unwrap(), &chain["links"], shown);
    let waits = chain["links"].as_array().unwrap().iter().filter(|link| link["category"] == "monitor");
    let longest = waits.max_by(|a, b| a["ms"].as_f64().unwrap().total_cmp(&b["ms"].as_f64().unwrap()));
    longest.unwrap_or_else(|| panic!("{shown}: {chain}")).clone()
}

/// How much of a link is not in the end a wait for a CPU: how busy the machine is is nobody's to
/// say.
fn own_ms(link: &Value) -> f64 {
    let next = link["next"].as_array().unwrap();
    match link["category"].as_str() {
        Some("run-queue") => 0.0,
        _ if next.is_empty() => link["ms"].as_f64().unwrap(),
        _ => next.iter().map(own_ms).sum(),
    }
}

/// The longest thing that a link waited for, waits for a CPU apart.
fn longest<'v>(link: &'v Value, shown: &str) -> &'v Value {
    let next = link["next"].as_array().unwrap().iter();
    let longest = next.max_by(|a, b| own_ms(a).total_cmp(&own_ms(b)));
    longest.unwrap_or_else(|| panic!("{shown}: {link}"))
}

#[test]
fn chains_of_known_waits_lead_to_what_the_owner_is_made_to_do() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        let fifo = dir.canonicalize().unwrap().join("fifo");
        assert!(Command::new("mkfifo").arg(&fifo).status().unwrap().success());
        for (release, home) in jdks::each(jdks::with_program(dir, "Chains")) {
            let _ = std::fs::remove_file(dir.join("go"));
            // Both ends, so that whoever opens it to read need not wait.
            let mut writer = std::fs::OpenOptions::new().read(true).write(true).open(&fifo).unwrap();
            let mut java = Command::new(home.join("bin/java"));
            java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Chains"]).arg(&fifo);
            let mut jvm = Talking::start(&mut java);
            let recorder = Recorder::record(dir, &jvm.pid(), &[]);
            std::fs::write(dir.join("go"), "").unwrap();
            jvm.until("asks reading-victim");
            std::thread::sleep(Duration::from_millis(800));
            writer.write_all(b"x").unwrap();
            jvm.until("stuck");
            let recording = recorder.stop(dir);
            let lines = jvm.said().to_vec();
            drop(jvm);
            let waited = |name: &str| -> f64 {
                let line = lines.iter().find_map(|line| line.strip_prefix(&format!("waited {name} ")));
                line.unwrap_or_else(|| panic!("{name}: {lines:?}")).parse::<f64>().unwrap() / 1e6
            };
            let shown = format!("JDK {release}");
            ledger(dir, &shown);
            for (name, category) in [("reading", "child"), ("napping", "sleep"), ("burning", "running")] {
                let (shown, victim) = (format!("{shown}, {name}"), format!("{name}-victim"));
                let link = monitor(dir, &victim, &shown);
                let ms = link["ms"].as_f64().unwrap();
                assert!(ms <= waited(&victim) + CLOCKS_MS, "{shown}: {ms} of {}: {link}", waited(&victim));
                let lock = link["what"]["value"].as_str().unwrap();
                assert!(lock.contains("Chains$Basket"), "{shown}: {link}");
                let owner = longest(&link, &shown);
                assert_eq!(owner["thread"], format!("{name}-owner"), "{shown}: {link}");
                assert_eq!(owner["category"], category, "{shown}: {link}");
                if name == "reading" {
                    let what = &owner["what"];
                    assert_eq!(what["details"]["target"]["value"], fifo.to_str().unwrap(), "{shown}: {link}");
                    assert_eq!(what["value"], "read", "{shown}: {link}");
                    // It hung for as long as nobody wrote.
                    assert!(owner["ms"].as_f64().unwrap() >= 700.0, "{shown}: {link}");
                }
            }
            let link = monitor(dir, "first", &shown);
            let second = longest(&link, &shown);
            assert_eq!(
                (&second["thread"], &second["category"]),
                (&"second".into(), &"monitor".into()),
                "{link}"
            );
            let third = longest(second, &shown);
            assert_eq!((&third["thread"], &third["category"]), (&"third".into(), &"sleep".into()), "{link}");
            assert!(link["ms"].as_f64().unwrap() <= waited("first") + CLOCKS_MS, "{shown}: {link}");
            for (one, other) in [("packer", "buyer"), ("buyer", "packer")] {
                let link = monitor(dir, one, &shown);
                let other_link = longest(&link, &shown);
                assert_eq!(other_link["thread"], other, "{shown}: {link}");
                assert_eq!(other_link["end"], "deadlock", "{shown}: {link}");
            }
            // Who ran instead is a thread by name and id, and never the one that waited.
            for wait in recording.spans_of(kind::SCHED_OFF) {
                let Some(other) = wait.label(label::RAN_INSTEAD) else { continue };
                let tid =
                    other.strip_suffix(')').and_then(|name| name.rsplit_once('(')?.1.parse::<i64>().ok());
                let own = wait.thread().and_then(|id| recording.threads[id.index()].tid);
                assert!(tid.is_some() && tid != own, "{shown}: {other} instead of {own:?}");
                assert!(wait.figure(figure::RUNQ_NS).is_some_and(|ns| ns >= 100_000.0), "{shown}: {other}");
            }
            let text = fathom(dir, &["chain", "x.fathom", "--thread", "^packer$", "--stops", "0"]);
            let text = String::from_utf8(text.stdout).unwrap();
            assert!(text.contains("(a deadlock)"), "{shown}: {text}");
        }
    });
}

#[test]
fn the_owner_of_a_lock_is_the_thread_that_holds_it_and_not_one_that_had_its_stack_before() {
    const TURNS: usize = 160;
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        // A thread that has begun and does not get a CPU has no stack yet.
        let _busy = [busy(), busy(), busy()];
        for (release, home) in jdks::each(jdks::with_program(dir, "Owners")) {
            let mut java = Command::new(home.join("bin/java"));
            java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Owners"]);
            let mut jvm = Talking::start(java.arg(TURNS.to_string()));
            let recorder = Recorder::record(dir, &jvm.pid(), &[]);
            jvm.send("go");
            jvm.until("done");
            let recording = recorder.stop(dir);
            drop(jvm);
            let mut waits = of_thread(&recording, kind::LOCK_MONITOR, "main");
            waits.sort_by_key(|wait| wait.t0_ns());
            let owners: Vec<&str> = waits.iter().filter_map(|wait| wait.label(label::OWNER)).collect();
            let shown = format!("JDK {release}: {owners:?}");
            assert!(owners.len() > TURNS / 2, "{shown}");
            // Each holds the lock once, one after the other. A wait may be in two parts: the JVM
            // looks after its monitor now and then, and without a CPU it does not sleep on at once.
            let number = |owner: &str| owner.strip_prefix("owner-")?.parse::<usize>().ok();
            let numbers: Vec<usize> = owners.iter().filter_map(|owner| number(owner)).collect();
            assert_eq!(numbers.len(), owners.len(), "{shown}");
            assert!(numbers.is_sorted(), "{shown}");
        }
    });
}

#[test]
fn a_thread_in_a_loop_without_polls_is_the_last_in() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        for (release, home) in jdks::each(jdks::with_program(dir, "Stops")) {
            let _ = std::fs::remove_file(dir.join("go"));
            let mut java = Command::new(home.join("bin/java"));
            let loops = ["-XX:-UseCountedLoopSafepoints", "-XX:LoopStripMiningIter=0"];
            java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m"]).args(loops);
            java.args(["-cp", ".", "Stops", "loop", "6"]);
            let mut jvm = Talking::start(&mut java);
            let recorder = Recorder::record(dir, &jvm.pid(), &[]);
            std::fs::write(dir.join("go"), "").unwrap();
            jvm.until("done");
            let looped = jvm.until("longest ").parse::<f64>().unwrap() / 1e6;
            recorder.stop(dir);
            drop(jvm);
            let shown = format!("JDK {release}");
            ledger(dir, &shown);
            let shown_stops = json(dir, &["chain", "x.fathom", "--threads", "0", "--stops", "50"]);
            let stops = shown_stops["stops"].as_array().unwrap();
            let reach = |stop: &Value| -> f64 {
                let parts = stop["parts"].as_array().unwrap().iter();
                parts.filter(|part| part["part"] == "reach").map(|part| part["ms"].as_f64().unwrap()).sum()
            };
            for stop in stops {
                let parts = stop["parts"].as_array().unwrap();
                let sum: f64 = parts.iter().map(|part| part["ms"].as_f64().unwrap()).sum();
                assert!((sum - stop["ms"].as_f64().unwrap()).abs() < 1e-3, "{shown}: {stop}");
                for part in
                    parts.iter().filter(|part| part["links"].as_array().is_some_and(|l| !l.is_empty()))
                {
                    adds_up(part["ms"].as_f64().unwrap(), &part["links"], &shown);
                }
            }
            let slowest = stops.iter().max_by(|a, b| reach(a).total_cmp(&reach(b)));
            let slowest = slowest.unwrap_or_else(|| panic!("{shown}: no stop"));
            assert_eq!(slowest["last_in"], "counter", "{shown}: {slowest}");
            assert!(
                reach(slowest) <= looped + CLOCKS_MS,
                "{shown}: {} of {looped}: {slowest}",
                reach(slowest)
            );
            // Where it blocks is seen unless the others are done before it gets there.
            let stack = slowest["last_in_stack"].to_string();
            let is_reported = stack.contains("Stops.count") || stack.contains("Stops.lambda");
            assert!(is_reported || stack == "[]", "{shown}: {slowest}");
        }
    });
}

#[test]
fn a_log_write_on_a_frozen_file_system_is_a_part_of_the_stop_and_proven() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        let homes = jdks::with_program(dir, "Stops");
        let Some(disk) = Disk::make(dir).filter(|_| !homes.is_empty()) else { return };
        for (release, home) in jdks::each(homes) {
            let _ = std::fs::remove_file(dir.join("go"));
            let mut java = Command::new(home.join("bin/java"));
            java.current_dir(dir).args(["-XX:+UseSerialGC", "-Xmx64m"]);
            java.arg(format!("-Xlog:gc*,safepoint:file=mnt/gc{release}.log"))
                .args(["-cp", ".", "Stops", "plain", "12"]);
            let mut jvm = Talking::start(&mut java);
            let recorder = Recorder::record(dir, &jvm.pid(), &[]);
            std::fs::write(dir.join("go"), "").unwrap();
            std::thread::sleep(Duration::from_secs(3));
            let Some(frozen) = disk.freeze() else { return };
            std::thread::sleep(Duration::from_secs(3));
            frozen.thaw();
            jvm.until("done");
            recorder.stop(dir);
            drop(jvm);
            let shown = format!("JDK {release}");
            ledger(dir, &shown);
            let shown_stops = json(dir, &["chain", "x.fathom", "--threads", "0", "--stops", "1"]);
            let stop = &shown_stops["stops"][0];
            let parts = stop["parts"].as_array().unwrap();
            let write = parts.iter().find(|part| part["part"] == "log-write");
            let write = write.unwrap_or_else(|| panic!("{shown}: {stop}"));
            let log = format!("gc{release}.log");
            assert!(write["ms"].as_f64().unwrap() > 1_000.0, "{shown}: {stop}");
            assert!(write["links"].to_string().contains(&log), "{shown}: {stop}");
            assert!(write["links"].to_string().contains("a frozen file system"), "{shown}: {stop}");
            let diagnosis = json(dir, &["diagnose", "x.fathom"]);
            let finding = &diagnosis["findings"][0];
            assert_eq!(finding["rule"], "gc-log-write-blocked", "{shown}: {diagnosis}");
            assert_eq!(finding["confidence"], "proven", "{shown}: {finding}");
            assert!(
                finding["evidence"].to_string().contains("thawed (percpu_rwsem_wait)"),
                "{shown}: {finding}"
            );
            assert_eq!(finding["stop"]["parts"], stop["parts"], "{shown}");
            let text = String::from_utf8(fathom(dir, &["diagnose", "x.fathom"]).stdout).unwrap();
            let words: Vec<&str> = text.split_whitespace().collect();
            assert!(words.join(" ").contains("writing the JVM's log"), "{shown}: {text}");
            let ledger = String::from_utf8(fathom(dir, &["ledger", "x.fathom"]).stdout).unwrap();
            assert!(ledger.contains("stopped: log write"), "{shown}: {ledger}");
        }
    });
}

#[test]
fn of_two_threads_on_one_cpu_each_is_reported_to_have_run_instead_of_the_other() {
    patiently(|| {
        let dir = tempfile::tempdir().unwrap();
        let dir = dir.path();
        if !ebpf_is_allowed() {
            return;
        }
        let Some(home) = jdks::compile(dir, 11, &["Pinned"]) else { return };
        let mut java = Command::new("taskset");
        java.current_dir(dir).args(["-c", "0"]).arg(home.join("bin/java"));
        java.args(["-XX:+UseSerialGC", "-Xmx64m", "-cp", ".", "Pinned"]);
        let jvm = Talking::start(&mut java);
        let recorder = Recorder::record(dir, &jvm.pid(), &[]);
        std::thread::sleep(Duration::from_secs(4));
        let recording = recorder.stop(dir);
        for (waits, runs) in [("burner-one", "burner-two"), ("burner-two", "burner-one")] {
            let own = of_thread(&recording, kind::SCHED_OFF, waits);
            let others: Vec<_> = own.iter().filter_map(|span| span.label(label::RAN_INSTEAD)).collect();
            assert!(
                others.iter().any(|other| other.starts_with(&format!("{runs} ("))),
                "{waits}: {others:?}"
            );
        }
    });
}
