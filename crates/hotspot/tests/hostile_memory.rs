//! A JVM that lies: memory that is damaged at random is read to an end, without a panic and within
//! bounds.

#![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

mod jvm;

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use fathom_hotspot::code_cache::{BlobKind, CodeCache, UnwindConstants};
use fathom_hotspot::flags::Flags;
use fathom_hotspot::memory::{Memory, ProcessMemory, Unreadable};
use fathom_hotspot::symbols::Symbolizer;
use fathom_hotspot::threads::{Anchor, Threads};
use fathom_hotspot::vm_structs::VmStructs;
use fathom_hotspot::walk::walk;
use fathom_hotspot::{LoadedElf, Vm};
use jvm::Jvm;

/// No table of a JVM that is read at once is larger.
const LARGEST_READ: usize = 8 << 20;
/// Reads after which a reader counts as hanging. The longest list (of code) may have half a million
/// elements.
const MOST_READS: u64 = 8_000_000;

/// Memory of which some reads are damaged.
#[derive(Debug)]
struct Lying<M> {
    truth: Option<M>,
    /// One read of this many is damaged.
    rarity: u64,
    random: Cell<u64>,
    reads: Cell<u64>,
}

impl<M: Memory> Lying<M> {
    fn new(truth: Option<M>, rarity: u64, seed: u64) -> Self {
        Self { truth, rarity, random: Cell::new(seed.wrapping_mul(2) + 1), reads: Cell::new(0) }
    }

    /// xorshift64*.
    fn next(&self) -> u64 {
        let mut x = self.random.get();
        x ^= x >> 12;
        x ^= x << 25;
        x ^= x >> 27;
        self.random.set(x);
        x.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }
}

impl<M: Memory> Memory for Lying<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        assert!(into.len() <= LARGEST_READ, "{} bytes at once", into.len());
        self.reads.set(self.reads.get() + 1);
        assert!(self.reads.get() < MOST_READS, "reads without end");
        let truth = self.truth.as_ref().map(|truth| truth.read(address, into));
        let damaged = self.next().is_multiple_of(self.rarity);
        if let (Some(truth), false) = (truth, damaged) {
            return truth;
        }
        // Small numbers and zeros are what lengths and ends are made of, so they come more often.
        let shape = self.next() % 4;
        for (i, byte) in into.iter_mut().enumerate() {
            match shape {
                0 => *byte = self.next() as u8,
                1 => *byte = 0,
                2 => *byte = if i % 8 == 0 { self.next() as u8 } else { 0 },
                _ if self.next().is_multiple_of(64) => *byte ^= 1 << (self.next() % 8),
                _ => {}
            }
        }
        Ok(())
    }
}

#[test]
fn tables_of_random_bytes_end() {
    for seed in 0..5_000 {
        let memory = Lying::<Arc<ProcessMemory>>::new(None, 1, seed);
        if let Ok(Some(elf)) = LoadedElf::at(&memory, 0x7000_0000) {
            let _ = VmStructs::read(&memory, &elf);
        }
        // An ELF file that looks well from afar.
        let mut head = [0u8; 4096];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[32] = 64;
        head[54] = 56;
        head[56] = 2;
        head[64] = 1;
        head[64 + 56] = 2;
        let headed = Headed { head, below: memory };
        if let Ok(Some(elf)) = LoadedElf::at(&headed, 0x7000_0000) {
            let _ = VmStructs::read(&headed, &elf);
        }
    }
}

/// Memory with a page of its own.
struct Headed<M> {
    head: [u8; 4096],
    below: M,
}

impl<M: Memory> Memory for Headed<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> Result<(), Unreadable> {
        let at = address.wrapping_sub(0x7000_0000) as usize;
        match self.head.get(at..at.saturating_add(into.len())) {
            Some(bytes) => into.copy_from_slice(bytes),
            None => self.below.read(address, into)?,
        }
        Ok(())
    }
}

#[test]
fn a_jvm_whose_memory_is_damaged_while_it_is_read_does_no_harm() {
    if !jvm::may_trace() {
        return;
    }
    for jdk in jvm::jdks() {
        let Some(jvm) = Jvm::start(&jdk, &[], &["Known", "300"]) else { return };
        let truth = Vm::open(jvm.pid()).unwrap();
        let code = CodeCache::read(&truth).unwrap();
        let constants = UnwindConstants::of(&truth, &code).unwrap();
        let blobs = code.blobs(&truth.memory).unwrap();
        let nmethods: Vec<_> = blobs.iter().filter(|blob| blob.kind == BlobKind::Nmethod).collect();
        let anchors: Vec<Anchor> =
            Threads::new(&truth).unwrap().java(&truth).unwrap().iter().filter_map(|t| t.anchor).collect();
        let mut answers = 0;
        for seed in 0..4u64 {
            for rarity in [1, 3, 20, 200] {
                let memory = || Rc::new(Lying::new(Some(truth.memory.clone()), rarity, seed));
                let vm = |memory| Vm {
                    memory,
                    libjvm: truth.libjvm.clone(),
                    structs: truth.structs.clone(),
                    release: truth.release.clone(),
                };
                let _ = Vm::of(truth.libjvm.clone(), memory());
                let lying = vm(memory());
                answers += usize::from(Flags::read(&lying).is_ok());
                if let Ok(mut threads) = Threads::new(&vm(memory())) {
                    answers += usize::from(threads.java(&vm(memory())).is_ok());
                    if let Ok(all) = threads.all(&vm(memory())) {
                        answers += all.iter().filter(|t| threads.compiling(&lying, t).is_ok()).count();
                    }
                }
                if let Ok(code) = CodeCache::read(&vm(memory())) {
                    answers += usize::from(code.blobs(&memory()).is_ok());
                }
                for anchor in &anchors {
                    answers += usize::from(walk(&vm(memory()), &code, &constants, *anchor).is_ok());
                }
                let Ok(mut symbols) = Symbolizer::new(vm(memory()), code.clone()) else { continue };
                for blob in nmethods.iter().take(20) {
                    let Ok(id) = symbols.compile_id(blob.address) else { continue };
                    answers += usize::from(symbols.compiled(blob.address, id, blob.code_begin + 40).is_ok());
                    answers += usize::from(symbols.at(blob.code_begin + 80).is_ok());
                    answers += usize::from(symbols.interpreted(blob.address, None, 3).is_ok());
                }
            }
        }
        eprintln!("JDK {}: {answers} answers out of damaged memory", jdk.release);
        assert!(answers > 50);
    }
}
