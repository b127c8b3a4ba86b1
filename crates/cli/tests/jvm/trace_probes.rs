//! `fathom trace` of functions, markers and tracepoints of the user's own choice. Needs root and
//! eBPF; skips loudly without.

use std::process::Command;

use serde_json::Value;

use crate::live::process::Running;
use crate::live::tracing::{names, program, trace, while_it_runs};
use crate::live::{fathom, jdks, patiently, said};

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
fn a_usdt_probe_a_tracepoint_and_a_system_call_are_reported_with_their_arguments() {
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
fn allocations_off_the_fast_path_are_reported_with_class_and_size() {
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
