//! Names of Java frames of live JVMs, compared with the JVM's own thread dump and its list of
//! compiled methods.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use std::collections::BTreeMap;

use fathom_hotspot::code_cache::{BlobKind, CodeCache, UnwindConstants};
use fathom_hotspot::memory::Memory;
use fathom_hotspot::symbols::{JavaFrame, Symbolizer};
use fathom_hotspot::threads::Threads;
use fathom_hotspot::walk::{WalkEnd, WalkedFrame, walk};
use fathom_hotspot::{Vm, symbols};
use fathom_recording::FrameType;
use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use jvm::{Jdk, Jvm};

/// (class.method, line), youngest first, of each thread by its name.
type Stacks = BTreeMap<String, Vec<(String, Option<u32>)>>;

/// What the JVM reports: `Thread.print`.
fn dumped(text: &str) -> Stacks {
    let mut stacks = Stacks::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix('"') {
            name = rest.rsplit_once('"').unwrap().0.to_owned();
        } else if let Some(frame) = line.trim_start().strip_prefix("at ") {
            let (method, place) = frame.split_once('(').unwrap();
            let place = place.trim_end_matches(')').rsplit('/').next().unwrap();
            let line = place.rsplit_once(':').and_then(|(_, line)| line.parse().ok());
            stacks.entry(name.clone()).or_default().push((without_address(method), line));
        }
    }
    stacks
}

/// "Known$$Lambda.run" of "Known$$Lambda$14/0x0000000800c03000.run".
fn without_address(method: &str) -> String {
    let (class, method) = method.rsplit_once('.').unwrap();
    let mut class = class.split_once("/").map_or(class, |(class, _)| class);
    if let Some((start, number)) = class.rsplit_once("$$Lambda$")
        && number.bytes().all(|b| b.is_ascii_digit())
    {
        class = &class[..start.len() + "$$Lambda".len()];
    }
    format!("{class}.{method}")
}

/// What is read from outside.
fn walked(vm: &Vm, symbols: &mut Symbolizer) -> (Stacks, BTreeMap<String, Vec<JavaFrame>>) {
    let code = CodeCache::read(vm).unwrap();
    let constants = UnwindConstants::of(vm, &code).unwrap();
    let mut threads = Threads::new(vm).unwrap();
    let (mut stacks, mut details) = (Stacks::new(), BTreeMap::new());
    for thread in threads.java(vm).unwrap() {
        let name = thread.name.unwrap_or_else(|| panic!("no name: {:#x}", thread.address));
        let Some(anchor) = thread.anchor else { continue };
        let found = walk(vm, &code, &constants, anchor).unwrap();
        assert_eq!(found.end, WalkEnd::Root, "{}: {name}", vm.release);
        let mut frames = Vec::new();
        for frame in found.frames {
            match frame {
                WalkedFrame::Compiled { nmethod, compile_id, pc } => {
                    frames.extend(symbols.compiled(nmethod, compile_id, pc).unwrap().iter().cloned());
                }
                WalkedFrame::Interpreted { method, bci } => {
                    frames.push(symbols.interpreted(method, None, bci).unwrap());
                }
                WalkedFrame::Stub { .. } => {}
            }
        }
        stacks.insert(name.clone(), frames.iter().map(|f| (f.name.to_string(), f.line)).collect());
        details.insert(name, frames);
    }
    (stacks, details)
}

fn check_stacks(jdk: &Jdk, options: &[&str]) -> Option<BTreeMap<String, Vec<JavaFrame>>> {
    // Only what is to be compiled by both compilers must be warmed up.
    let warm_ms = if options.is_empty() { "1500" } else { "50" };
    let jvm = Jvm::start(jdk, options, &["Known", warm_ms])?;
    let vm = Vm::open(jvm.pid()).unwrap();
    let code = CodeCache::read(&vm).unwrap();
    let mut symbols = Symbolizer::new(vm.clone(), code).unwrap();
    let expected = dumped(&jvm.jcmd(&["Thread.print"])?);
    let (mut found, details) = walked(&vm, &mut symbols);
    let mut frames = 0;
    for name in [
        "main",
        "cold-sleep",
        "cold-wait",
        "warm-park",
        "warm-sleep",
        "Übergröße ☃",
        "recursion",
        "lambda in lambda",
        "handle",
        "reflection",
        "given up",
        "Reference Handler",
        "Finalizer",
    ] {
        let (expected, found) = (&expected[name], found.remove(name));
        assert_eq!(found.as_ref(), Some(expected), "{} {options:?}: {name}", vm.release);
        frames += expected.len();
    }
    let counts = symbols.counts();
    eprintln!("{} {options:?}: {frames} frames agree with the thread dump; {counts:?}", vm.release);
    assert_eq!((counts.stale, counts.damaged), (0, 0));
    Some(details)
}

#[test]
fn stacks_of_threads_that_stand_still_are_those_of_the_thread_dump() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(mixed) = check_stacks(&jdk, &[]) else { return };
        // The chain that was warmed up: `inner` in `middle` in `outer`, compiled as one.
        let warm = &mixed["warm-park"];
        let at = warm.iter().position(|frame| &*frame.name == "Known.inner").unwrap();
        let types: Vec<_> = warm[at..at + 3].iter().map(|frame| frame.frame_type).collect();
        assert_eq!(types[..2], [FrameType::Inlined; 2], "{}: {warm:?}", jdk.release);
        assert!(matches!(types[2], FrameType::C2 | FrameType::C1), "{}: {warm:?}", jdk.release);
        assert!(mixed["cold-wait"].iter().any(|frame| frame.frame_type == FrameType::Interpreted));
        // The code that relied on there being one `Shape` was deoptimised while it ran; its frame
        // is found all the same.
        let given_up = &mixed["given up"];
        let measure = given_up.iter().find(|frame| &*frame.name == "Known.measure").unwrap();
        assert!(matches!(measure.frame_type, FrameType::C2 | FrameType::C1), "{}: {given_up:?}", jdk.release);
        check_stacks(&jdk, &["-Xint"]);
        let c1 = check_stacks(&jdk, &["-Xcomp", "-XX:TieredStopAtLevel=1"]).unwrap();
        assert!(c1["main"].iter().any(|frame| frame.frame_type == FrameType::C1));
    }
}

#[test]
#[ignore = "make test-long"]
fn stacks_are_right_with_any_collector_and_any_layout_of_objects() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let mut variants =
            vec![vec!["-XX:+UseSerialGC"], vec!["-XX:-UseCompressedOops"], vec!["-XX:+UseParallelGC"]];
        if jdk.release >= 17 {
            variants.push(vec!["-XX:+UseZGC"]);
            variants.push(vec!["-XX:+UnlockExperimentalVMOptions", "-XX:+UseShenandoahGC"]);
        }
        if jdk.release == 21 {
            variants.push(vec!["-XX:+UseZGC", "-XX:+ZGenerational"]);
        }
        if jdk.release >= 25 {
            variants.push(vec!["-XX:+UseCompactObjectHeaders"]);
        }
        if (9..25).contains(&jdk.release) {
            variants.push(vec!["-XX:-UseCompressedOops", "-XX:-UseCompressedClassPointers"]);
        }
        for options in variants {
            let can = std::process::Command::new(&jdk.java).args(&options).arg("-version").output().unwrap();
            if can.status.success() {
                check_stacks(&jdk, &options);
            } else {
                fathom_testing::skip(&format!("JDK {} cannot run with {options:?}", jdk.release));
            }
        }
    }
}

/// `  22    3       0   java.lang.String.hashCode()I [0x…, 0x… - 0x…]`: (compile id, method with its descriptor).
fn listed(text: &str) -> BTreeMap<u32, String> {
    let lines = text.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        let id = words.next()?.parse().ok()?;
        let method = words.nth(2)?;
        line.contains("[0x").then(|| (id, method.to_owned()))
    });
    lines.collect()
}

#[test]
fn methods_of_all_compiled_code_are_those_of_the_codelist() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        if jdk.release == 8 {
            // It has no Compiler.codelist to compare with.
            continue;
        }
        let Some(jvm) = Jvm::start(&jdk, &["-Xcomp", "-XX:TieredStopAtLevel=3"], &["Known", "50"]) else {
            return;
        };
        let vm = Vm::open(jvm.pid()).unwrap();
        let code = CodeCache::read(&vm).unwrap();
        let mut symbols = Symbolizer::new(vm.clone(), code.clone()).unwrap();
        let Some(text) = jvm.jcmd(&["Compiler.codelist"]) else { return };
        let expected = listed(&text);
        let (mut agree, mut only_here, mut stale) = (0, 0, 0);
        for blob in code.blobs(&vm.memory).unwrap().iter().filter(|blob| blob.kind.is_nmethod()) {
            let id = symbols.compile_id(blob.address).unwrap();
            let Ok((method, _)) = symbols.compiled_method(blob.address) else {
                stale += 1;
                continue;
            };
            let Some(name) = expected.get(&id) else {
                only_here += 1;
                continue;
            };
            let found = without_address(&format!("{}.{}", method.class, method.name)) + &method.signature;
            let (expected_name, signature) = name.split_at(name.find('(').unwrap());
            assert_eq!(found, without_address(expected_name) + signature, "{}", vm.release);
            agree += 1;
            // Every pc that the compiler described leads to frames, the last of which is the method
            // itself.
            let mut pc = blob.code_begin;
            while pc < blob.code_end {
                let frames = symbols.compiled(blob.address, id, pc).unwrap();
                let outermost = frames.last().unwrap();
                assert_eq!(*outermost.name, method.full_name(), "{}", vm.release);
                pc += 61;
            }
        }
        eprintln!(
            "{}: {agree} of {} methods agree with the codelist, {only_here} not in it, {stale} stale; {:?}",
            vm.release,
            expected.len(),
            symbols.counts()
        );
        assert!(agree * 100 >= expected.len() * 98 && agree > 300, "{agree} of {}", expected.len());
    }
}

#[test]
fn a_virtual_thread_is_walked_down_to_its_carrier() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks().into_iter().filter(|jdk| jdk.release >= 21) {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Virtual"]) else { return };
        let vm = Vm::open(jvm.pid()).unwrap();
        let mut symbols = Symbolizer::new(vm.clone(), CodeCache::read(&vm).unwrap()).unwrap();
        // "ready" is printed a moment before it waits.
        std::thread::sleep(std::time::Duration::from_millis(500));
        let (stacks, _) = walked(&vm, &mut symbols);
        let carrier = stacks.iter().find(|(name, _)| name.starts_with("ForkJoinPool-1-worker")).unwrap().1;
        let names: Vec<&str> = carrier.iter().map(|(name, _)| name.as_str()).collect();
        let expected = [
            "Virtual$Slow.<clinit>",
            "Virtual.work",
            "java.lang.VirtualThread.run",
            "jdk.internal.vm.Continuation.enter",
            "jdk.internal.vm.Continuation.enterSpecial",
            "jdk.internal.vm.Continuation.run",
            "java.lang.VirtualThread.runContinuation",
            "java.util.concurrent.ForkJoinWorkerThread.run",
        ];
        let mut rest = names.iter();
        for name in expected {
            assert!(rest.any(|found| *found == name), "{}: no {name} in order in {names:?}", vm.release);
        }
    }
}

#[test]
fn code_that_was_replaced_is_lost_and_not_guessed() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Known", "300"]) else { return };
        let vm = Vm::open(jvm.pid()).unwrap();
        let code = CodeCache::read(&vm).unwrap();
        let mut symbols = Symbolizer::new(vm.clone(), code.clone()).unwrap();
        let blobs = code.blobs(&vm.memory).unwrap();
        let nmethod = blobs.iter().find(|blob| blob.kind == BlobKind::Nmethod).unwrap();
        let id = symbols.compile_id(nmethod.address).unwrap();
        let frames = symbols.compiled(nmethod.address, id, nmethod.code_begin).unwrap();
        let other = symbols.compiled(nmethod.address, id + 1, nmethod.code_begin);
        assert_eq!(other, Err(symbols::Lost::Stale));
        let stub = blobs.iter().find(|blob| blob.kind == BlobKind::Stub).unwrap();
        assert_eq!(symbols.compiled(stub.address, 1, stub.code_begin), Err(symbols::Lost::Stale));
        drop(jvm);
        // The JVM is gone: what was named before still is, and nothing else.
        assert_eq!(symbols.compiled(nmethod.address, id, nmethod.code_begin), Ok(frames));
        assert!(symbols.compiled(nmethod.address, id, nmethod.code_begin + 1).is_err());
        assert!(symbols.interpreted(0x1000, None, 0).is_err());
    }
}

#[test]
fn stubs_have_the_names_that_hotspot_gives_them() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Idle"]) else { return };
        let vm = Vm::open(jvm.pid()).unwrap();
        let code = CodeCache::read(&vm).unwrap();
        let constants = UnwindConstants::of(&vm, &code).unwrap();
        let mut symbols = Symbolizer::new(vm.clone(), code.clone()).unwrap();
        let call_stub = symbols.stub(constants.call_stub_return).unwrap();
        assert_eq!(&*call_stub.name, "call_stub", "{}", vm.release);
        assert_eq!(call_stub.frame_type, FrameType::Stub);
        let mut names: Vec<String> = Vec::new();
        for blob in code.blobs(&vm.memory).unwrap().iter().filter(|blob| blob.kind == BlobKind::Stub) {
            for pc in (blob.code_begin..blob.code_end).step_by(16) {
                names.push(symbols.stub(pc).unwrap().name.to_string());
            }
        }
        names.sort();
        names.dedup();
        eprintln!("{}: {} names of stubs", vm.release, names.len());
        assert!(names.iter().any(|name| name.contains("arraycopy")), "{names:?}");
        let gone = symbols.stub(vm.libjvm.base);
        assert_eq!(gone, Err(symbols::Lost::Stale));
    }
}

/// The time of a loop belongs to who loops, not to the next code with a record.
#[test]
fn a_loop_without_debug_information_belongs_to_its_method_or_to_the_caller() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        for collector in ["-XX:+UseParallelGC", "-XX:+UseG1GC"] {
            let Some(jvm) = Jvm::start(&jdk, &[collector, "-Xbatch"], &["Loops"]) else { return };
            let vm = Vm::open(jvm.pid()).unwrap();
            let code = CodeCache::read(&vm).unwrap();
            let mut symbols = Symbolizer::new(vm.clone(), code.clone()).unwrap();
            let mut leaves: BTreeMap<String, u32> = BTreeMap::new();
            for blob in code.blobs(&vm.memory).unwrap().iter().filter(|blob| blob.kind.is_nmethod()) {
                let Ok((method, 4)) = symbols.compiled_method(blob.address) else { continue };
                if method.class != "Loops" {
                    continue;
                }
                let bytes = vm
                    .memory
                    .read_bytes(blob.code_begin, (blob.code_end - blob.code_begin) as usize)
                    .unwrap();
                let decoder = Decoder::with_ip(64, &bytes, blob.code_begin, DecoderOptions::NONE);
                let roots = [Mnemonic::Sqrtsd, Mnemonic::Vsqrtsd, Mnemonic::Sqrtpd, Mnemonic::Vsqrtpd];
                for root in decoder.into_iter().filter(|instruction| roots.contains(&instruction.mnemonic()))
                {
                    let frames = symbols.at(root.ip()).unwrap();
                    *leaves.entry(frames[0].name.to_string()).or_default() += 1;
                }
            }
            eprintln!("{} {collector}: {leaves:?}", vm.release);
            let own = leaves.keys().filter(|name| name.starts_with("Loops.")).count();
            assert!(own > 0 && own == leaves.len(), "{} {collector}: {leaves:?}", vm.release);
        }
    }
}
