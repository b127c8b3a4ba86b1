//! `fathom trace` on real JVMs: what it shows is what the program is known to do, and it refuses what it cannot see. Needs
//! root and eBPF for most; skips loudly without.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod live;

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, PipeWriter, Read};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use live::process::{Lines, Running, Talking, unread_pipe};
use live::recorder::Recorder;
use live::{FATHOM, ebpf_is_allowed, fathom, jdks, json, patiently, said};
use serde_json::Value;

/// A program of tests/java, ready; `None`, loudly, without a compiler.
fn program(dir: &Path, home: &Path, name: &str, args: &[&str]) -> Option<Talking> {
    program_with(&["-XX:+UseSerialGC"], dir, home, name, args)
}

/// The same, with other options of the JVM.
fn program_with(options: &[&str], dir: &Path, home: &Path, name: &str, args: &[&str]) -> Option<Talking> {
    jdks::compile(dir, if name == "Locks" { 8 } else { 11 }, &[name])?;
    let mut java = Command::new(home.join("bin/java"));
    Some(Talking::start(java.args(options).arg("-cp").arg(dir).arg(name).args(args)))
}

/// Events and summary of a trace; `None`, loudly, where eBPF is not allowed.
fn trace(dir: &Path, args: &[&str]) -> Option<(Vec<Value>, Value)> {
    let output = fathom(dir, &[&["trace", "--json"], args].concat());
    if output.status.code() == Some(3) && said(&output).contains("eBPF") {
        fathom_testing::skip(&said(&output));
        return None;
    }
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.remove(0)["schema"], "fathom.trace/1");
    let summary = lines.pop().unwrap()["summary"].take();
    Some((lines.into_iter().map(|mut line| line["event"].take()).collect(), summary))
}

fn names(event: &Value) -> Vec<&str> {
    event["stack"].as_array().unwrap().iter().map(|frame| frame["name"].as_str().unwrap()).collect()
}

#[test]
fn waits_are_shown_with_their_time_thread_and_whole_stack() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[11, 17, 21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(jvm) = program(dir.path(), &home, "Waits", &["120"]) else { return };
            let condition = "thread == sleeper && method ~ 'sleep|nap' && stack ~ 'Waits.nap' && dur < 5s";
            let args = ["offcpu", "-p", &jvm.pid(), "-d", "3s", "--min", "15ms", "--where", condition];
            let Some((events, summary)) = trace(dir.path(), &args) else { return };
            assert!(events.len() > 20, "JDK {release}: {} events: {summary}", events.len());
            for event in &events {
                assert_eq!(event["thread"], "sleeper", "JDK {release}: {event}");
                let names = names(event);
                assert!(names.contains(&"Waits.nap"), "JDK {release}: {event}");
                let frames = event["stack"].as_array().unwrap();
                assert_eq!(frames[0]["type"], "kernel", "JDK {release}: {event}");
                // The one that lasts until the end is read from outside, where native frames cannot be told.
                let told = frames.iter().any(|frame| frame["type"] == "jvm");
                assert!(told || names.contains(&"[native frames not walked]"), "JDK {release}: {event}");
            }
            // It asks for 20 ms; a busy machine makes it more, or takes a part of it before it sleeps.
            let mut took: Vec<i64> = events.iter().map(|event| event["took_ns"].as_i64().unwrap()).collect();
            took.sort_unstable();
            assert!((19_000_000..40_000_000).contains(&took[took.len() / 2]), "JDK {release}: {took:?}");
            assert_eq!(summary["count"], events.len());
            let sum: i64 = events.iter().map(|event| event["took_ns"].as_i64().unwrap()).sum();
            assert_eq!(summary["total_ns"], sum);
            assert!(summary["left_out"].as_u64().unwrap() > 0, "others wait too");
        }
    });
}

#[test]
fn collections_stops_and_threads_of_a_program_that_makes_them_are_shown_and_recorded() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[17, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(jvm) = program(dir.path(), &home, "Collects", &["120"]) else { return };
            let pid = jvm.pid();
            let Some((events, _)) =
                trace(dir.path(), &["gc", "-p", &pid, "-d", "4s", "--where", "cause == 'System.gc()'"])
            else {
                return;
            };
            assert!(!events.is_empty(), "JDK {release}");
            assert!(events.iter().all(|event| event["name"] == "Pause Full"), "JDK {release}: {events:?}");
            let (events, summary) =
                trace(dir.path(), &["safepoint", "-p", &pid, "-d", "3s", "-o", "r.fathom"]).unwrap();
            assert!(!events.is_empty(), "JDK {release}");
            // The longest are cut into parts that add up, with the thread that did the work.
            let longest = summary["stops"].as_array().unwrap();
            assert!(!longest.is_empty() && longest.len() <= 5, "JDK {release}: {summary}");
            for stop in longest {
                let parts = stop["parts"].as_array().unwrap().iter();
                let sum: f64 = parts.map(|part| part["ms"].as_f64().unwrap()).sum();
                assert!((sum - stop["ms"].as_f64().unwrap()).abs() < 1e-3, "JDK {release}: {stop}");
                assert!(stop["parts"].to_string().contains("VM Thread"), "JDK {release}: {stop}");
            }
            let (things, total) = (summary["things"].as_array().unwrap(), &summary["count"]);
            let counts: u64 = things.iter().map(|thing| thing["count"].as_u64().unwrap()).sum();
            assert_eq!(&counts, total);
            let recording = fathom_recording::open(&dir.path().join("r.fathom")).unwrap();
            let recorded = recording.spans_of(fathom_recording::vocabulary::kind::SAFEPOINT).count();
            assert_eq!(recorded, events.len(), "JDK {release}");
            let (events, _) =
                trace(dir.path(), &["threads", "-p", &pid, "-d", "4s", "--where", "name ~ short-lived"])
                    .unwrap();
            assert!(
                events.iter().any(|event| event["kind"] == "thread.startup"),
                "JDK {release}: {events:?}"
            );
            let (events, _) =
                trace(dir.path(), &["threads", "-p", &pid, "-d", "4s", "--where", "call_ns > 0"]).unwrap();
            assert!(!events.is_empty(), "JDK {release}");
            let from_java = |event: &Value| names(event).contains(&"java.lang.Thread.start");
            assert!(
                events.iter().all(|e| e["took_ns"].as_i64().unwrap() > 0 && from_java(e)),
                "JDK {release}: {events:?}"
            );
        }
    });
}

#[test]
fn a_rate_of_zero_leaves_the_summary_alone_and_text_says_how_frames_run() {
    let Some((_, home)) = jdks::of(&[17]).pop() else { return };
    let dir = tempfile::tempdir().unwrap();
    let Some(jvm) = program(dir.path(), &home, "Waits", &["60"]) else { return };
    let output = fathom(
        dir.path(),
        &[
            "trace",
            "offcpu",
            "-p",
            &jvm.pid(),
            "-d",
            "2s",
            "--rate",
            "0",
            "--where",
            "stack ~ Waits",
            "--depth",
            "64",
        ],
    );
    if output.status.code() == Some(3) {
        fathom_testing::skip(&said(&output));
        return;
    }
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.starts_with("\noffcpu: "), "{text}");
    for part in ["sleeping in futex", "by thread", "  sleeper (", "krn futex_do_wait", "nat start_thread"] {
        assert!(text.contains(part), "no {part}: {text}");
    }
    assert!(text.contains("int Waits.") || text.contains("C1  Waits."), "{text}");
}

#[test]
fn a_process_that_is_no_jvm_one_that_is_gone_and_an_unknown_probe_are_refused_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let output = fathom(dir.path(), &["trace", "gc", "-p", &sleep.pid(), "-o", "x.fathom"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    assert!(said(&output).contains("is no JVM") && said(&output).contains("fathom ps"), "{}", said(&output));
    assert!(!dir.path().join("x.fathom").exists());
    let output = fathom(dir.path(), &["trace", "offcpu", "-p", "2147483646"]);
    assert_eq!(output.status.code(), Some(3), "{}", said(&output));
    let output = fathom(dir.path(), &["trace", "nonsense", "-p", &sleep.pid()]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("offcpu, runq"), "{}", said(&output));
    let output = fathom(dir.path(), &["trace", "offcpu", "-p", &sleep.pid(), "--where", "dur >"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("a value was expected"), "{}", said(&output));
}

#[test]
fn it_ends_with_the_process_and_when_nobody_reads_any_more() {
    let dir = tempfile::tempdir().unwrap();
    let sleep = Running::start(Command::new("sleep").arg("3"));
    let output = fathom(dir.path(), &["trace", "offcpu", "-p", &sleep.pid()]);
    if output.status.code() == Some(3) {
        fathom_testing::skip(&said(&output));
        return;
    }
    assert!(output.status.success() && said(&output).contains("has ended"), "{}", said(&output));
    let sleep = Running::start(Command::new("sh").args(["-c", "while :; do sleep 0.02; done"]));
    let mut trace = Command::new(FATHOM);
    trace.args(["trace", "offcpu", "--min", "1ms", "-p", &sleep.pid()]).stderr(Stdio::null());
    let mut trace = Running::start(trace.stdout(Stdio::piped()));
    let mut line = String::new();
    BufReader::new(trace.0.stdout.take().unwrap()).read_line(&mut line).unwrap();
    // The reader is gone here.
    let patience = Instant::now() + Duration::from_secs(30);
    let status = loop {
        match trace.0.try_wait().unwrap() {
            Some(status) => break status,
            None => assert!(Instant::now() < patience, "it goes on for nobody"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert!(status.success(), "{status}");
}

/// Traces a program of ours while it does what it does: lines that it said, events, summary; `None`, loudly, where eBPF is
/// not allowed.
fn while_it_runs(dir: &Path, jvm: &mut Talking, probe: &[&str]) -> Option<(Vec<String>, Vec<Value>, Value)> {
    let mut trace = Command::new(FATHOM);
    // To a file: nobody reads a pipe while the program runs.
    let events = std::fs::File::create(dir.join("events")).unwrap();
    trace.current_dir(dir).arg("trace").args(probe).args(["-p", &jvm.pid(), "--json"]).stdout(events);
    let trace = match Recorder::start(&mut trace, "tracing") {
        Ok(trace) => trace,
        Err((code, told)) => {
            assert_eq!(code, Some(3), "{told}");
            fathom_testing::skip(&format!("{probe:?} cannot be traced here: {told}"));
            return None;
        }
    };
    jvm.tell("");
    jvm.until("done");
    let said = jvm.said().to_vec();
    let (code, told) = trace.end("INT");
    assert_eq!(code, Some(0), "{told}");
    let text = std::fs::read_to_string(dir.join("events")).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap()["summary"].take();
    Some((said, lines.into_iter().skip(1).map(|mut line| line["event"].take()).collect(), summary))
}

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
fn every_wait_for_a_lock_is_told_with_its_time_class_and_owner() {
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
                // Every event is of a wait that the program measured, and no wait is told longer than it was.
                let mut told_ns = vec![0; waits.len()];
                for event in &own {
                    let took = event["took_ns"].as_i64().unwrap();
                    let of = (0..waits.len()).max_by_key(|wait| waits[*wait].covered_by(event)).unwrap();
                    let (began_ms, measured_ns) = (waits[of].began_ms, waits[of].took_ns);
                    let shown =
                        format!("measured {measured_ns} ns from {began_ms} ms on, told {took} ns: {event}");
                    assert!(waits[of].covered_by(event) * 10 >= took * 9, "JDK {release} {name}: {shown}");
                    told_ns[of] += took;
                }
                // What the program measured is more where it was kept off the CPU between looking at its clock and asking: then the
                // lock may be free by the time it asks. A busy machine does so to some.
                let mut off: Vec<f64> = Vec::new();
                for (wait, told) in waits.iter().zip(&told_ns).filter(|(_, told)| **told > 0) {
                    off.push((told - wait.took_ns) as f64 / wait.took_ns as f64);
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
fn a_virtual_thread_that_holds_a_lock_is_told_as_one() {
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
            let is_told = |owner: &&&str| owner.starts_with("a virtual thread");
            assert!(!owners.is_empty(), "JDK {release}: {own:?}");
            assert_eq!(owners.iter().filter(is_told).count(), owners.len(), "JDK {release}: {owners:?}");
            assert!(
                own.iter().all(|event| event["figures"]["owner_tid"].is_null()),
                "JDK {release}: {own:?}"
            );
        }
    });
}

#[test]
fn virtual_threads_that_wait_for_a_lock_are_told_with_it_its_owner_and_where_they_wait() {
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
                    // Before JDK 25, how to get at virtual threads is known once one was seen at work.
                    let least = if (release, what) == (21, "lock") { 15 } else { 25 };
                    assert!(
                        all && own.len() >= least,
                        "{release} {options:?} {what}: {} {own:#?}",
                        own.len()
                    );
                    let told_ns: f64 = own.iter().map(|event| event["took_ns"].as_f64().unwrap()).sum();
                    let off = told_ns / (waited_ns * own.len() as f64 / 25.0) - 1.0;
                    assert!(off.abs() < 0.02, "{release} {options:?} {what}: {told_ns} of {waited_ns}");
                    // Where a class keeps its owner is known from the first wait on, who holds a monitor once it looks at it.
                    let owner_name = format!("{what}-owner");
                    let is_owned = |event: &&&Value| event["labels"]["owner"] == owner_name.as_str();
                    let owned = own.iter().copied().filter(|event| is_owned(&event)).count();
                    // A thread that has just started is told by its number.
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
fn each_connection_is_shown_with_its_peer_its_error_and_the_java_method_that_made_it() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[11, 17, 21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(mut jvm) = program(dir.path(), &home, "Peers", &[]) else { return };
            let Some((said, events, summary)) = while_it_runs(dir.path(), &mut jvm, &["connect"]) else {
                return;
            };
            let peer = |outcome: &str| -> String {
                let line = said.iter().find_map(|line| line.strip_prefix(&format!("{outcome} ")));
                line.unwrap_or_else(|| panic!("JDK {release}: {said:?}")).to_owned()
            };
            let with = |outcome: &str| -> Vec<&Value> {
                let peer = peer(outcome);
                events.iter().filter(|event| event["labels"]["peer"] == peer.as_str()).collect()
            };
            let (accepted, refused) = (with("accepted"), with("refused"));
            assert_eq!((accepted.len(), refused.len()), (5, 1), "JDK {release}: {events:?}");
            assert!(
                accepted.iter().all(|event| event["labels"]["error"].is_null()),
                "JDK {release}: {accepted:?}"
            );
            assert_eq!(refused[0]["labels"]["error"], "ECONNREFUSED", "JDK {release}");
            for event in accepted.iter().chain(&refused) {
                assert_eq!(event["thread"], "peers", "JDK {release}: {event}");
                assert!(event["took_ns"].as_i64().unwrap() > 0, "JDK {release}: {event}");
                assert!(names(event).contains(&"Peers.connect"), "JDK {release}: {event}");
            }
            // The summary adds up by peer.
            let things = summary["things"].as_array().unwrap();
            let thing = things.iter().find(|thing| thing["name"] == peer("accepted").as_str());
            assert_eq!(thing.map(|thing| &thing["count"]), Some(&5.into()), "JDK {release}: {summary}");
        }
    });
}

#[test]
fn each_name_that_is_resolved_is_shown_with_its_error_and_the_java_method_that_asked() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[11, 17, 21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(mut jvm) = program(dir.path(), &home, "Peers", &[]) else { return };
            let Some((said, events, _)) = while_it_runs(dir.path(), &mut jvm, &["dns"]) else { return };
            if !said.iter().any(|line| line == "resolved true") {
                fathom_testing::skip(&format!("localhost has no address here: {said:?}"));
                return;
            }
            assert!(said.iter().any(|line| line == "unknown"), "JDK {release}: {said:?}");
            let long = format!("{}.test", "x".repeat(70));
            for (name, fails) in [("localhost", false), (long.as_str(), true)] {
                let own: Vec<_> = events.iter().filter(|event| event["name"] == name).collect();
                assert!(!own.is_empty(), "JDK {release}: {name}: {events:?}");
                for event in own {
                    assert_eq!(!event["labels"]["error"].is_null(), fails, "JDK {release}: {event}");
                    assert_eq!(event["thread"], "peers", "JDK {release}: {event}");
                    assert!(names(event).contains(&"Peers.resolve"), "JDK {release}: {event}");
                }
            }
        }
    });
}

#[test]
fn a_deadlock_that_stood_before_the_recording_began_is_told() {
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
            let title = verdict["findings"][0]["title"].as_str().unwrap_or_default().to_owned();
            eprintln!("JDK {release}: {title}");
            for part in ["a deadlock", "packer waits for Deadlock$Cart", "buyer waits for Deadlock$Stock"] {
                assert!(title.contains(part), "JDK {release}: {verdict}");
            }
        }
    });
}

#[test]
fn calls_of_a_function_are_counted_with_what_they_were_given_and_returned() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[17, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(mut jvm) = program(dir.path(), &home, "Opens", &[]) else { return };
            let probe = ["uprobe:libc.so.6:open64", "--where", "str0 ~ 'opens-.*there'"];
            let Some((_, events, summary)) = while_it_runs(dir.path(), &mut jvm, &probe) else { return };
            let failed = |event: &&Value| event["figures"]["result"].as_f64().unwrap() < 0.0;
            let not: Vec<_> = events.iter().filter(failed).collect();
            assert_eq!((events.len(), not.len(), &summary["lost"]), (70, 20, &0.into()), "JDK {release}");
            assert!(not.iter().all(|event| event["labels"]["str0"].as_str().unwrap().ends_with(".not")));
            for event in &events {
                assert!(event["took_ns"].as_i64().unwrap() > 0);
                let names = names(event);
                assert_eq!(names[0], "open64", "JDK {release}: {event}");
                assert!(
                    names.contains(&"Opens.open") && names.contains(&"Opens.main"),
                    "JDK {release}: {event}"
                );
            }
        }
    });
}

#[test]
fn a_usdt_probe_a_tracepoint_and_a_system_call_are_told_with_their_arguments() {
    patiently(|| {
        let Some((_, home)) = jdks::of(&[17]).pop() else { return };
        let dir = tempfile::tempdir().unwrap();
        let Some(jvm) = program(dir.path(), &home, "Collects", &["120"]) else { return };
        let pid = jvm.pid();
        let usdt =
            ["usdt:libjvm.so:hotspot:thread__start", "-p", &pid, "-d", "5s", "--where", "str0 ~ short-lived"];
        let Some((events, _)) = trace(dir.path(), &usdt) else { return };
        assert!(!events.is_empty());
        // name, its length, Java id, id at the kernel, daemon
        let tid = |event: &Value| (event["figures"]["arg3"].as_f64(), event["tid"].as_f64());
        assert!(events.iter().all(|event| tid(event).0 == tid(event).1), "{events:?}");
        let Some((events, _)) =
            trace(dir.path(), &["tracepoint:sched:sched_process_fork", "-p", &pid, "-d", "4s"])
        else {
            return;
        };
        assert!(!events.is_empty());
        for event in &events {
            assert!(event["figures"]["child_pid"].as_f64().unwrap() > 0.0, "{event}");
            assert_eq!(event["stack"][0]["type"], "kernel", "{event}");
            assert!(names(event).contains(&"java.lang.Thread.start"), "{event}");
        }
        let args = ["syscall", "futex", "-p", &pid, "-d", "2s", "--min", "0s"];
        let Some((events, _)) = trace(dir.path(), &args) else { return };
        assert!(events.len() > 10 && events.iter().all(|event| event["name"] == "futex"), "{}", events.len());
    });
}

#[test]
fn allocations_off_the_fast_path_are_told_with_class_and_size() {
    patiently(|| {
        for (release, home) in jdks::each(jdks::of(&[11, 17, 21, 25])) {
            let dir = tempfile::tempdir().unwrap();
            let Some(mut jvm) = program(dir.path(), &home, "Opens", &[]) else { return };
            let condition = ["alloc", "--where", "name == 'byte[]' && stack ~ Opens.allocate"];
            let Some((_, events, _)) = while_it_runs(dir.path(), &mut jvm, &condition) else { return };
            // 400 MB in arrays of 200 kB: in buffers for the thread, or outside of them.
            let bytes: f64 = events.iter().map(|event| event["figures"]["bytes"].as_f64().unwrap()).sum();
            assert!((200e6..800e6).contains(&bytes), "JDK {release}: {bytes} in {}", events.len());
        }
    });
}

#[test]
fn what_cannot_be_probed_says_what_is_near() {
    let dir = tempfile::tempdir().unwrap();
    let sleep = Running::start(Command::new("sleep").arg("60"));
    let refused = |probe: &str, status: i32, hint: &str| {
        let output = fathom(dir.path(), &["trace", probe, "-p", &sleep.pid(), "-d", "1s"]);
        let said = said(&output);
        assert_eq!(output.status.code(), Some(status), "{probe}: {said}");
        let no_rights = said.contains("CAP_BPF") && !said.contains(hint);
        assert!(no_rights || said.contains(hint), "{probe}: {said}");
    };
    refused("uprobe:libc.so.6:opne64", 3, "near it: open64");
    refused("uprobe:libd.so.6:open", 3, "libc.so.6");
    refused("usdt:libc.so.6:none:such", 3, "readelf -n");
    refused("tracepoint:sched:sched_process_frok", 3, "sched_process_fork");
    refused("tracepoint:nonsense:x", 3, "no tracepoints called nonsense");
    refused("uprobe:libc.so.6", 2, "write uprobe:LIBRARY:FUNCTION");
    let output = fathom(dir.path(), &["trace", "syscall", "fsnyc", "-p", &sleep.pid(), "-d", "1s"]);
    assert_eq!(output.status.code(), Some(2), "{}", said(&output));
    assert!(said(&output).contains("near it: fsync"), "{}", said(&output));
}

#[test]
fn a_killed_trace_leaves_nothing_in_the_kernel() {
    let dir = tempfile::tempdir().unwrap();
    let sleep = Running::start(Command::new("sh").args(["-c", "while :; do sleep 0.02; done"]));
    for probe in ["lock", "uprobe:libc.so.6:wait4"] {
        let mut trace = Command::new(FATHOM);
        trace.current_dir(dir.path()).args(["trace", probe, "-p", &sleep.pid()]).stdout(Stdio::null());
        let Ok(trace) = Recorder::start(&mut trace, "tracing") else {
            fathom_testing::skip(&format!("{probe} cannot be traced here"));
            return;
        };
        let programs = trace.programs();
        trace.end("KILL");
        programs.are_gone();
    }
}

#[test]
fn a_trace_that_nobody_reads_heeds_signals_and_says_what_was_left_out() {
    let dir = tempfile::tempdir().unwrap();
    if !ebpf_is_allowed() {
        return;
    }
    let yes = Running::start(Command::new("yes").stdout(Stdio::null()));
    let (mut reader, writer) = unread_pipe();
    let tracer = |out| {
        let wanted = ["--min", "0s", "--rate", "1000000", "--depth", "20"];
        let mut command = Command::new(FATHOM);
        command.current_dir(dir.path()).args(["trace", "syscall", "write", "-p", &yes.pid()]).args(wanted);
        Running::start(command.stdin(Stdio::null()).stdout::<PipeWriter>(out).stderr(Stdio::piped()))
    };
    let mut late = tracer(writer);
    let mut said = Lines::of(late.0.stderr.take().unwrap());
    said.until(|line| line.contains("tracing"));
    std::thread::sleep(Duration::from_secs(2));
    // The first one ends the trace, and what was seen still waits to be read.
    late.signal("INT");
    std::thread::sleep(Duration::from_secs(2));
    assert!(late.0.try_wait().unwrap().is_none(), "it has ended though nobody read the summary");
    let read = std::thread::spawn(move || {
        let mut text = Vec::new();
        reader.read_to_end(&mut text).map(|_| String::from_utf8_lossy(&text).into_owned())
    });
    assert!(late.end().success());
    let text = read.join().unwrap().unwrap();
    let text = text.trim_start_matches('x');
    assert!(text.contains("write") && text.contains("events in"), "{}", &text[..text.len().min(2000)]);

    // Nobody reads it at all: the second signal leaves it.
    let (reader, writer) = unread_pipe();
    let mut never = tracer(writer);
    let mut said = Lines::of(never.0.stderr.take().unwrap());
    said.until(|line| line.contains("tracing"));
    for _ in 0..2 {
        std::thread::sleep(Duration::from_secs(1));
        never.signal("INT");
    }
    assert!(never.end().success());
    drop(reader);
}

/// How long, milliseconds, a thread of `Meetings` was blocked by the JVM's own account, and what fathom told of it.
fn met(dir: &Path, home: &Path) -> Option<(f64, Vec<f64>)> {
    let mut jvm = program(dir, home, "Meetings", &["4000"])?;
    let printed = dir.join("printed");
    let mut trace = Command::new(FATHOM);
    trace.current_dir(dir).args(["trace", "lock", "-p", &jvm.pid(), "--json"]);
    trace.stdout(std::fs::File::create(&printed).unwrap());
    let watching = Recorder::start(&mut trace, "tracing ").unwrap_or_else(|(_, said)| panic!("{said}"));
    jvm.tell("");
    let blocked_ms = jvm.until("blocked ").parse().unwrap();
    let (code, said) = watching.end("INT");
    assert_eq!(code, Some(0), "{said}");
    let text = std::fs::read_to_string(printed).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    let events = lines.map(|mut line| line["event"].take());
    let own = events.filter(|event| event["thread"] == "waits" && event["kind"] == "lock.monitor");
    Some((blocked_ms, own.map(|event| event["took_ns"].as_f64().unwrap() / 1e6).collect()))
}

/// Up to JDK 17 one of those that wait for a monitor looks for itself after a while, and may get it without being woken.
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
