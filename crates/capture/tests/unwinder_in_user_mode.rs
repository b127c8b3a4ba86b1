//! The unwinder's C compiled for user space and run on stacks of real JVMs: no rights are needed,
//! as a process may trace its children.

#![allow(clippy::unwrap_used)]

#[path = "../../hotspot/tests/jvm/mod.rs"]
mod jvm;
mod user_mode;

use std::collections::BTreeMap;

use fathom_capture::unwind::kept::{self, Kept};
use fathom_capture::unwind::reason_name;
use fathom_capture::unwind::samples::{Walked, WalkedFrame};
use fathom_hotspot::memory::{Memory, ProcessMemory};
use jvm::Jvm;
use user_mode::{Tables, memory, stopped, tables_of, tasks, walk};

/// In a system call or in user code, a stopped thread is where a sample would find it.
#[test]
fn stacks_of_stopped_threads_are_walked_to_their_roots() {
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["KnownGraph", "platform", "2"]) else { return };
        std::thread::sleep(std::time::Duration::from_secs(2));
        let (code, process) = tables_of(jvm.pid());
        let all = fathom_hotspot::maps::read(jvm.pid()).unwrap();
        let code_of_it = all.iter().find(|mapping| mapping.readable && mapping.executable).unwrap();
        let of_process = ProcessMemory::open(jvm.pid(), code_of_it.start).unwrap();
        memory(move |address, into| of_process.read(address, into).is_ok());
        let (rows, pages) = code.tables.arrays();
        let (mappings, jvms) = code.arrays();
        let tables = Tables { rows, pages, mappings, jvms, process };
        let (mut whole, mut java, mut cut) = (0, 0, BTreeMap::<String, u32>::new());
        for _ in 0..40 {
            for tid in tasks(jvm.pid()) {
                stopped(tid, |registers, pc| {
                    let (sample, frames) = walk(&tables, registers, pc);
                    let is_java = |frame: WalkedFrame| {
                        matches!(frame, WalkedFrame::Compiled { .. } | WalkedFrame::Interpreted { .. })
                    };
                    java +=
                        u32::from(frames.iter().any(|[low, high]| is_java(Walked::of(*low, *high).frame)));
                    match reason_name(sample.reason) {
                        None => whole += 1,
                        Some(reason) => {
                            let all = fathom_hotspot::maps::read(jvm.pid()).unwrap();
                            let at = all.iter().find(|m| (m.start..m.end).contains(&sample.cut_pc));
                            let module = at.map_or("", |mapping| mapping.file_name());
                            *cut.entry(format!("{reason} in {module}")).or_default() += 1;
                        }
                    }
                });
            }
        }
        eprintln!("JDK {}: {whole} stacks whole, {java} with Java frames, cut {cut:?}", jdk.release);
        let all = whole + cut.values().sum::<u32>();
        assert!(all > 200 && java > 80, "JDK {}: {all} stacks, {java} of Java", jdk.release);
        assert!(f64::from(whole) >= 0.99 * f64::from(all), "JDK {}: {cut:?}", jdk.release);
    }
}

/// `struct kept_stack` of bpf/unwind_types.h, of a thread that stands.
fn record(pid: u32, tid: i32, registers: &[u64; 16], pc: u64, stack: &[u8], from: u64) -> Vec<u8> {
    let mut record = vec![0; 1264];
    record[16..20].copy_from_slice(&pid.to_le_bytes());
    record[20..24].copy_from_slice(&tid.to_le_bytes());
    record[28] = kept::KIND;
    record[80..88].copy_from_slice(&pc.to_le_bytes());
    for (i, register) in registers.iter().enumerate() {
        record[88 + 8 * i..96 + 8 * i].copy_from_slice(&register.to_le_bytes());
    }
    record[216..224].copy_from_slice(&from.to_le_bytes());
    record[232..236].copy_from_slice(&(stack.len() as u32).to_le_bytes());
    record.extend_from_slice(stack);
    record
}

/// What a program in the kernel sends of a JVM that was not read yet.
#[test]
fn a_stack_that_was_kept_is_walked_later_to_the_frames_that_it_had() {
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &["-Ddepth=100"], &["KnownGraph", "platform", "2"]) else { return };
        std::thread::sleep(std::time::Duration::from_secs(1));
        let (code, process) = tables_of(jvm.pid());
        let all = fathom_hotspot::maps::read(jvm.pid()).unwrap();
        let code_of_it = all.iter().find(|mapping| mapping.readable && mapping.executable).unwrap();
        let open = || ProcessMemory::open(jvm.pid(), code_of_it.start).unwrap();
        let (of_process, then) = (open(), open());
        memory(move |address, into| then.read(address, into).is_ok());
        let (rows, pages) = code.tables.arrays();
        let (mappings, jvms) = code.arrays();
        let tables = Tables { rows, pages, mappings, jvms, process };
        let (mut same, mut others) = (0, Vec::new());
        for tid in tasks(jvm.pid()) {
            let mut found = None;
            stopped(tid, |registers, pc| {
                let at_once = walk(&tables, registers, pc);
                let from = registers[4] - 128;
                let stack: Vec<u8> = (0..255)
                    .map_while(|page| of_process.read_bytes(from + page * 256, 256).ok())
                    .flatten()
                    .collect();
                found = Some((at_once, record(jvm.pid(), tid, registers, pc, &stack, from)));
            });
            let Some(((head, frames), record)) = found.filter(|((head, _), _)| head.reason == 0) else {
                continue;
            };
            // The thread has gone on: its stack is another one by now.
            let kept = Kept::parse(&record).unwrap();
            let nothing_known = kept.walk(&Tables::NONE, None);
            assert!(reason_name(nothing_known.sample().head.reason).is_some(), "walked with nothing known");
            let late = kept.walk(&tables, Some(&of_process));
            let walked: Vec<Walked> = frames.iter().map(|[low, high]| Walked::of(*low, *high)).collect();
            // Deeper ones than what is kept end where that ends.
            let fits = usize::from(late.sample().head.frames) == walked.len();
            if fits && late.sample().frames().eq(walked.iter().copied()) {
                same += 1;
            } else {
                others.push((tid, head, late.sample().head));
            }
            for length in [0, 79, 80, 1263] {
                assert!(Kept::parse(&record[..length]).is_none(), "{length} bytes are no record");
            }
        }
        // Code that is replaced meanwhile makes another stack of it: of few threads.
        assert!(
            same > 5 && others.len() * 5 <= same,
            "JDK {}: {same} the same, not: {others:?}",
            jdk.release
        );
    }
}
