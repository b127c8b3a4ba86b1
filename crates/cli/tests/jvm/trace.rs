//! `fathom trace` on real JVMs: what it shows is what the program is known to do, and it refuses
//! what it cannot see. Needs root and eBPF for most; skips loudly without.

use std::io::{BufRead, BufReader, PipeWriter, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::live::process::{Lines, Running, unread_pipe};
use crate::live::recorder::Recorder;
use crate::live::tracing::{names, program, trace, while_it_runs};
use crate::live::{FATHOM, ebpf_is_allowed, fathom, jdks, patiently, said};

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
                // The one that lasts until the end is read from outside, where native frames cannot
                // be reported.
                let reported = frames.iter().any(|frame| frame["type"] == "jvm");
                assert!(reported || names.contains(&"[native frames not walked]"), "JDK {release}: {event}");
            }
            // It asks for 20 ms; a busy machine makes it more, or takes a part of it before it
            // sleeps.
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
    assert!(
        said(&output).contains("is not a JVM") && said(&output).contains("fathom ps"),
        "{}",
        said(&output)
    );
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
