//! `fathom trace lock` on real JVMs: waits for locks, their owners and deadlocks are what the
//! programs know of them. Needs root and eBPF; skips loudly without.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::live::recorder::Recorder;
use crate::live::tracing::{names, program, program_with, while_it_runs};
use crate::live::{FATHOM, ebpf_is_allowed, fathom, jdks, json, patiently, said};

/// A wait as the program measured it.
struct Measured {
    began_ms: i64,
    took_ns: i64,
}

impl Measured {
    /// How much of it an event covers, nanoseconds. It began within the millisecond that it says.
    fn covered_by(&self, event: &Value) -> i64 {
        let (from, took) = (event["t_ns"].as_i64().unwrap(), event["took_ns"].as_i64().unwrap());
        let began_ns = self.began_ms * 1_000_000;
        (from + took).min(began_ns + 1_000_000 + self.took_ns) - from.max(began_ns)
    }
}

/// What the program measured, by kind of lock.
fn measured(said: &[String]) -> BTreeMap<String, Vec<Measured>> {
    let mut all: BTreeMap<String, Vec<Measured>> = BTreeMap::new();
    for words in said.iter().map(|line| line.split_whitespace().collect::<Vec<_>>()) {
        if let [name, began_ms, took_ns] = words[..] {
            let one = Measured { began_ms: began_ms.parse().unwrap(), took_ns: took_ns.parse().unwrap() };
            all.entry(name.to_owned()).or_default().push(one);
        }
    }
    all
}

#[test]
fn every_wait_for_a_lock_is_reported_with_its_time_class_and_owner() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[8, 11, 17, 21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(mut jvm) = program(dir.path(), &home, "Locks", &[]) else { return };
            let Some((said, events, _)) = while_it_runs(dir.path(), &mut jvm, &["lock"]) else { return };
            let measured = measured(&said);
            assert_eq!(measured.len(), 3, "{said:?}");
            for (name, waits) in measured {
                let (waiter, owner) = (format!("{name}-waiter"), format!("{name}-owner"));
                // The JVM's own mutexes are waited for too, as by a thread that ends.
                let is_own =
                    |event: &&Value| event["thread"] == waiter.as_str() && event["kind"] != "lock.native";
                let own: Vec<_> = events.iter().filter(is_own).collect();
                // Every event is of a wait that the program measured, and no wait is reported
                // longer than it was.
                let mut reported_ns = vec![0; waits.len()];
                for event in &own {
                    let took = event["took_ns"].as_i64().unwrap();
                    let of = (0..waits.len()).max_by_key(|wait| waits[*wait].covered_by(event)).unwrap();
                    let (began_ms, measured_ns) = (waits[of].began_ms, waits[of].took_ns);
                    let shown = format!(
                        "measured {measured_ns} ns from {began_ms} ms on, reported {took} ns: {event}"
                    );
                    assert!(waits[of].covered_by(event) * 10 >= took * 9, "JDK {release} {name}: {shown}");
                    reported_ns[of] += took;
                }
                // What the program measured is more where it was kept off the CPU between looking
                // at its clock and asking: then the lock may be free by the time it asks. A busy
                // machine does so to some.
                let mut off: Vec<f64> = Vec::new();
                for (wait, reported) in waits.iter().zip(&reported_ns).filter(|(_, reported)| **reported > 0)
                {
                    off.push((reported - wait.took_ns) as f64 / wait.took_ns as f64);
                }
                assert!(off.len() * 10 >= waits.len() * 8, "JDK {release} {name}: {own:?}");
                off.sort_by(f64::total_cmp);
                let (worst, median) = (off[0], off[off.len() / 2]);
                let all = waits.len();
                eprintln!(
                    "JDK {release} {name}: {} of {all} waits, {:.2}% off in the median, {:.2}% at worst",
                    off.len(),
                    median * 100.0,
                    worst * 100.0
                );
                assert!(median.abs() < 0.02, "JDK {release} {name}: {off:?}");
                assert!(off[off.len() - 1] < 0.02, "JDK {release} {name}: {off:?}");
                let class = match name.as_str() {
                    "monitor" => "Locks$Account",
                    "reentrant" => "java.util.concurrent.locks.ReentrantLock$NonfairSync",
                    _ => "java.util.concurrent.locks.ReentrantReadWriteLock$NonfairSync",
                };
                let right = |key: &dyn Fn(&Value) -> bool| own.iter().filter(|event| key(event)).count();
                let other: Vec<_> = own.iter().filter(|event| event["name"] != class).collect();
                assert!(other.is_empty(), "JDK {release} {name}: {other:#?}");
                let other: Vec<_> =
                    own.iter().filter(|event| event["labels"]["owner"] != owner.as_str()).collect();
                assert!(other.is_empty(), "JDK {release} {name}: {other:#?}");
                let stacks = right(&|event| names(event).iter().any(|frame| frame.starts_with("Locks.")));
                assert_eq!(stacks, own.len(), "JDK {release} {name}: {own:?}");
            }
        }
    });
}

#[test]
fn a_virtual_thread_that_holds_a_lock_is_reported_as_one() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(mut jvm) = program(dir.path(), &home, "VirtualLocks", &[]) else { return };
            let probe = ["lock", "-o", "v.fathom"];
            let Some((_, events, _)) = while_it_runs(dir.path(), &mut jvm, &probe) else { return };
            let own: Vec<_> = events.iter().filter(|event| event["thread"] == "waiter").collect();
            let class = "java.util.concurrent.locks.ReentrantLock$NonfairSync";
            assert!(own.iter().all(|event| event["name"] == class), "JDK {release}: {own:?}");
            // Its carrier does something else while it sleeps: that holds nothing.
            let owners: Vec<_> = own.iter().filter_map(|event| event["labels"]["owner"].as_str()).collect();
            let is_reported = |owner: &&&str| owner.starts_with("a virtual thread");
            assert!(!owners.is_empty(), "JDK {release}: {own:?}");
            assert_eq!(owners.iter().filter(is_reported).count(), owners.len(), "JDK {release}: {owners:?}");
            assert!(
                own.iter().all(|event| event["figures"]["owner_tid"].is_null()),
                "JDK {release}: {own:?}"
            );
        }
    });
}

#[test]
fn virtual_threads_that_wait_for_a_lock_are_reported_with_it_its_owner_and_where_they_wait() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[21, 25])) {
            for options in
                [&["-XX:+UseG1GC"][..], &["-XX:+UseZGC"], &["-XX:+UseSerialGC", "-XX:-UseCompressedOops"]]
            {
                let dir = tempfile::tempdir().unwrap();
                let jvm = program_with(options, dir.path(), &home, "VirtualWaiters", &[]);
                let Some(mut jvm) = jvm else { return };
                let probe = ["lock", "-o", "v.fathom"];
                let Some((said, events, _)) = while_it_runs(dir.path(), &mut jvm, &probe) else { return };
                for (what, class, kind) in [
                    ("monitor", "VirtualWaiters$Account", "lock.monitor"),
                    ("lock", "java.util.concurrent.locks.ReentrantLock$NonfairSync", "lock.park"),
                ] {
                    let line = said.iter().find(|line| line.starts_with(&format!("{what} #"))).unwrap();
                    let words: Vec<&str> = line.split(' ').collect();
                    let (number, waited_ns) = (words[1], words[2].parse::<f64>().unwrap());
                    let thread = format!("virtual thread {number}");
                    // Until JDK 23 it keeps its carrier while it waits for a monitor.
                    let is_of = |event: &&&Value| match (release, what) {
                        (21, "monitor") => event["name"] == class,
                        _ => event["thread"] == thread.as_str(),
                    };
                    let own: Vec<_> = events.iter().filter(|event| is_of(&event)).collect();
                    let all = own.iter().all(|event| event["name"] == class && event["kind"] == kind);
                    // Before JDK 25, how to get at virtual threads is known once one was seen at
                    // work.
                    let least = if (release, what) == (21, "lock") { 15 } else { 25 };
                    assert!(
                        all && own.len() >= least,
                        "{release} {options:?} {what}: {} {own:#?}",
                        own.len()
                    );
                    let reported_ns: f64 = own.iter().map(|event| event["took_ns"].as_f64().unwrap()).sum();
                    let off = reported_ns / (waited_ns * own.len() as f64 / 25.0) - 1.0;
                    // On a busy machine the program sees its wait end when it gets a CPU, which is
                    // later.
                    assert!(off.abs() < 0.05, "{release} {options:?} {what}: {reported_ns} of {waited_ns}");
                    // Where a class keeps its owner is known from the first wait on, who holds a
                    // monitor once it looks at it.
                    let owner_name = format!("{what}-owner");
                    let is_owned = |event: &&&Value| event["labels"]["owner"] == owner_name.as_str();
                    let owned = own.iter().copied().filter(|event| is_owned(&event)).count();
                    // A thread that has just started is reported by its number.
                    let is_other = |owner: &&str| *owner != owner_name && !owner.starts_with("thread #");
                    let owners = own.iter().filter_map(|event| event["labels"]["owner"].as_str());
                    let other = owners.filter(is_other).count();
                    assert!(
                        owned >= least - 10 && other == 0,
                        "{release} {options:?} {what}: {owned}, {other} {own:#?}"
                    );
                    let placed =
                        own.iter().filter(|event| names(event).contains(&"VirtualWaiters$Waiter.run"));
                    assert!(placed.count() >= least - 5, "{release} {options:?} {what}: {own:#?}");
                }
            }
        }
    });
}

#[test]
fn a_deadlock_that_stood_before_the_recording_began_is_reported() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[11, 17, 21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(jvm) = program(dir.path(), &home, "Deadlock", &["60"]) else { return };
            let output = fathom(dir.path(), &["record", "-p", &jvm.pid(), "-d", "3s", "-o", "d.fathom"]);
            if output.status.code() == Some(3) || said(&output).contains("not seen: which locks") {
                fathom_testing::skip(&said(&output));
                return;
            }
            let verdict = json(dir.path(), &["diagnose", "d.fathom"]);
            let title = &verdict["findings"][0]["title"];
            eprintln!("JDK {release}: {}", title["text"]);
            assert_eq!(title["metric"], "lock-deadlock", "JDK {release}: {verdict}");
            let waits = title["details"]["waits"]["parts"].as_array().unwrap();
            for (thread, lock) in [("packer", "Deadlock$Cart"), ("buyer", "Deadlock$Stock")] {
                let is_it = |wait: &Value| {
                    let details = &wait["details"];
                    let taken = &details["lock"]["parts"][0]["value"];
                    details["thread"]["value"] == thread
                        && taken.as_str().is_some_and(|class| class.starts_with(lock))
                };
                assert!(waits.iter().any(is_it), "JDK {release}: {verdict}");
            }
        }
    });
}

/// How long, milliseconds, a thread of `Meetings` was blocked by the JVM's own account, and what
/// fathom reported of it.
fn met(dir: &Path, home: &Path) -> Option<(f64, Vec<f64>)> {
    let mut jvm = program(dir, home, "Meetings", &["4000"])?;
    let printed = dir.join("printed");
    let mut trace = Command::new(FATHOM);
    trace.current_dir(dir).args(["trace", "lock", "-p", &jvm.pid(), "--json"]);
    trace.stdout(std::fs::File::create(&printed).unwrap());
    let watching = Recorder::start(&mut trace, "tracing ").unwrap_or_else(|(_, said)| panic!("{said}"));
    jvm.send("");
    let blocked_ms = jvm.until("blocked ").parse().unwrap();
    let (code, said) = watching.end("INT");
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(printed).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = lines.map(|mut line| line["event"].take());
    let own = events.filter(|event| event["thread"] == "waits" && event["kind"] == "lock.monitor");
    Some((blocked_ms, own.map(|event| event["took_ns"].as_f64().unwrap() / 1e6).collect()))
}

/// Up to JDK 17 one of those that wait for a monitor looks for itself after a while, and may get it
/// without being woken.
#[test]
fn a_wait_for_a_monitor_ends_when_its_thread_goes_on_to_something_else() {
    if !ebpf_is_allowed() {
        return;
    }
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[11, 17, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some((blocked_ms, waits_ms)) = met(dir.path(), &home) else { return };
            let sum: f64 = waits_ms.iter().sum();
            let shown = format!("JDK {release}: {sum:.1} ms in {} waits of {blocked_ms} ms", waits_ms.len());
            eprintln!("{shown}");
            assert!(blocked_ms > 500.0, "{shown}");
            assert!((sum / blocked_ms - 1.0).abs() < 0.15, "{shown}");
        }
    });
}
