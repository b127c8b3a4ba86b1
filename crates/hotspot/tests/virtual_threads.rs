//! Virtual threads of live JVMs: what they wait in is read from outside, for all threads that the
//! program started.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use std::collections::BTreeMap;

use fathom_hotspot::Vm;
use fathom_hotspot::code_cache::CodeCache;
use fathom_hotspot::symbols::Symbolizer;
use fathom_hotspot::virtual_threads::{State, VirtualThread, VirtualThreads};
use fathom_hotspot::walk::WalkedFrame;
use jvm::Jvm;

/// Names of a thread's frames, youngest first.
fn names(symbols: &mut Symbolizer, thread: &VirtualThread) -> Vec<String> {
    let mut all = Vec::new();
    for frame in &thread.frames {
        match *frame {
            WalkedFrame::Compiled { nmethod, compile_id, pc } => {
                let frames = symbols.compiled(nmethod, compile_id, pc).unwrap();
                all.extend(frames.iter().map(|frame| frame.name.to_string()));
            }
            WalkedFrame::Interpreted { method, bci } => {
                all.push(symbols.interpreted(method, None, bci).unwrap().name.to_string());
            }
            WalkedFrame::Stub { pc } => all.push(symbols.stub(pc).unwrap().name.to_string()),
        }
    }
    all
}

#[test]
fn what_virtual_threads_wait_in_is_found_with_each_collector() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks().into_iter().filter(|jdk| jdk.release >= 21) {
        let monitors = jdk.release >= 24;
        let collectors: &[&[&str]] = match jdk.release {
            21 => &[&["-XX:+UseG1GC"], &["-XX:+UseSerialGC", "-Xint"]],
            _ => &[
                &["-XX:+UseG1GC", "-XX:+UseCompactObjectHeaders"],
                &["-XX:+UseParallelGC", "-Xcomp"],
                &["-XX:+UseSerialGC", "-XX:-UseCompressedOops"],
            ],
        };
        for options in collectors {
            let program: &[&str] = if monitors { &["Parked", "monitors"] } else { &["Parked"] };
            let Some(jvm) = Jvm::start(&jdk, options, program) else { return };
            let vm = Vm::open(jvm.pid()).unwrap();
            let code = CodeCache::read(&vm).unwrap();
            let mut symbols = Symbolizer::new(vm.clone(), code.clone()).unwrap();
            let mut reader = VirtualThreads::new(&vm, code).unwrap();
            let begun = std::time::Instant::now();
            let (snapshot, k) = reader.read(&vm, 1000, 0).unwrap();
            let took = begun.elapsed();
            assert_eq!((k, snapshot.is_cut), (1, false));
            let mut counted: BTreeMap<&str, usize> = BTreeMap::new();
            let (mut blockers, mut pollers) = (0, 0);
            for thread in snapshot.threads.iter().filter(|thread| !thread.frames.is_empty()) {
                let names = names(&mut symbols, thread);
                assert_eq!(thread.truncated, None, "{options:?} {names:?}");
                assert!(
                    names.last().unwrap().ends_with("enter"),
                    "{options:?}: the root is missing: {names:?}"
                );
                let of = |method: &str| names.iter().any(|name| name == method);
                // Those of the JDK that wait for sockets in the name of the others.
                if names.iter().any(|name| name.starts_with("sun.nio.ch.Poller.subPollerLoop")) {
                    pollers += 1;
                    continue;
                }
                let methods = ["sleeps", "locks", "takes", "reads", "rests", "enters"];
                let method = methods.into_iter().find(|method| of(&format!("Parked.{method}")));
                let method = method.unwrap_or_else(|| panic!("{options:?}: {names:?}"));
                *counted.entry(method).or_default() += 1;
                match method {
                    "sleeps" => assert!(of("java.lang.Thread.sleep"), "{names:?}"),
                    "locks" => {
                        assert!(thread.blocker.unwrap().owner.is_some());
                        blockers += 1;
                    }
                    "enters" => assert_eq!(thread.state, State::Blocked),
                    _ => {}
                }
            }
            eprintln!(
                "{} {options:?}: {} in {took:?}, skipped {}: {counted:?}",
                vm.release, snapshot.all, snapshot.skipped
            );
            let expected = [("sleeps", 120), ("locks", 60), ("takes", 60), ("reads", 30)];
            for (method, count) in expected {
                assert_eq!(counted.get(method), Some(&count), "{options:?} {method}");
            }
            assert_eq!(counted.get("enters").copied().unwrap_or(0), if monitors { 30 } else { 0 });
            assert_eq!(blockers, 60);
            assert_eq!(snapshot.all - pollers, if monitors { 320 } else { 290 });
            // In parts: each thread is in one of them.
            let (first, k) = reader.read(&vm, 100, 0).unwrap();
            let parts: usize = (1..k).map(|part| reader.read(&vm, 100, part).unwrap().0.threads.len()).sum();
            assert!(k >= 3 && first.threads.len() + parts + 20 >= snapshot.all, "{k}");
        }
    }
}

#[test]
fn coloured_references_are_said_to_be_unreadable() {
    if !jvm::may_trace() {
        return;
    }
    let Some(jdk) = jvm::jdks().into_iter().find(|jdk| jdk.release == 25) else { return };
    let Some(jvm) = Jvm::start(&jdk, &["-XX:+UseZGC"], &["Parked"]) else { return };
    let vm = Vm::open(jvm.pid()).unwrap();
    let error = VirtualThreads::new(&vm, CodeCache::read(&vm).unwrap()).unwrap_err().to_string();
    assert!(error.contains("UseZGC"), "{error}");
}
