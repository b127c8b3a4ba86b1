//! Names of the stubs that share a blob: array copies, cryptography, the entry into Java.
//!
//! HotSpot keeps a list of all of them (`StubCodeDesc::_list`,
//! src/hotspot/share/runtime/stubCodeGenerator.hpp). It is not exported, but builds that ship their
//! symbol table show where it is. Others (Debian's JDK 8) export the entry points of most of them
//! in the fields `StubRoutines._…`.

use std::fs::File;
use std::sync::Arc;

use object::{Object, ObjectSection, ReadCache};

use crate::code_cache::CodeCache;
use crate::maps;
use crate::memory::Memory;
use crate::{Result, Vm};

/// `StubCodeDesc::_list` as the compiler mangles it, with the delimiters around it.
const LIST: &[u8] = b"\0_ZN12StubCodeDesc5_listE\0";
/// Larger symbol tables are not read; those of JDK 25 have 2 and 5 MB.
const LARGEST_TABLE: u64 = 64 << 20;
/// Stubs read at most; JDK 25 has some 400.
const MOST_STUBS: usize = 1 << 14;
/// Longest name read.
const LONGEST_NAME: usize = 128;

/// Stubs by address.
#[derive(Debug, Default)]
pub(super) struct StubNames {
    /// First instruction, first address after the stub, name; by address.
    stubs: Vec<(u64, u64, Arc<str>)>,
}

impl StubNames {
    /// Reads them. What cannot be read is left out: then the name of the blob is used.
    pub(super) fn read<M: Memory>(vm: &Vm<M>, code: &CodeCache) -> Self {
        let mut stubs = list_symbol(vm)
            .and_then(|list| listed(vm, code, list).ok())
            .filter(|stubs| !stubs.is_empty())
            .unwrap_or_else(|| exported(vm, code));
        stubs.sort_by_key(|(begin, _, _)| *begin);
        Self { stubs }
    }

    /// The name of the stub that holds an address.
    pub(super) fn name(&self, pc: u64) -> Option<Arc<str>> {
        let behind = self.stubs.partition_point(|(begin, _, _)| *begin <= pc);
        let (_, end, name) = &self.stubs[behind.checked_sub(1)?];
        (pc < *end).then(|| name.clone())
    }
}

/// The address of the list, by the symbol table of the library's file.
fn list_symbol<M: Memory>(vm: &Vm<M>) -> Option<u64> {
    let mappings = maps::read(vm.libjvm.pid).ok()?;
    let mapping = mappings.iter().find(|mapping| mapping.start == vm.libjvm.base)?;
    // A file other than the mapped one would give a wrong address, which the checks below detect.
    mapping.files(vm.libjvm.pid).iter().find_map(|path| {
        let file = ReadCache::new(File::open(path).ok()?);
        let elf = object::File::parse(&file).ok()?;
        // Both tables at once: single names would need as many reads of the file.
        let table = |name: &str| {
            let section = elf.section_by_name(name).filter(|section| section.size() <= LARGEST_TABLE)?;
            section.data().ok()
        };
        let at = memchr::memmem::find(table(".strtab")?, LIST)? as u32 + 1;
        // `Elf64_Sym`: name, info, other, section, value, size.
        let symbol = table(".symtab")?.chunks_exact(24).find(|symbol| symbol[..4] == at.to_le_bytes())?;
        let address = symbol[8..16].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
        Some(vm.libjvm.elf.bias.wrapping_add(address))
    })
}

/// The stubs of the list. Its elements are: next, group, name, (until JDK 10: a number,) begin,
/// end.
fn listed<M: Memory>(vm: &Vm<M>, code: &CodeCache, list: u64) -> Result<Vec<(u64, u64, Arc<str>)>> {
    let memory = &vm.memory;
    let mut stubs = Vec::new();
    let mut element = memory.read_u64(list)?;
    let mut begin_at = None;
    while element != 0 && stubs.len() < MOST_STUBS {
        let range = |at: u64| -> Result<(u64, u64)> {
            let begin = memory.read_u64(element.wrapping_add(at))?;
            Ok((begin, memory.read_u64(element.wrapping_add(at + 8))?))
        };
        let is_stub = |(begin, end): (u64, u64)| {
            begin <= end && code.heap_of(begin).is_some_and(|heap| end <= heap.reserved_end)
        };
        // The first element shows which of the two layouts it is.
        let at = match begin_at {
            Some(at) => at,
            None if is_stub(range(24)?) => 24,
            None => 32,
        };
        let (begin, end) = range(at)?;
        if !is_stub((begin, end)) {
            break;
        }
        begin_at = Some(at);
        let name = memory.read_c_string(memory.read_u64(element.wrapping_add(16))?, LONGEST_NAME)?;
        if !name.is_empty() {
            stubs.push((begin, end, name.into()));
        }
        element = memory.read_u64(element)?;
    }
    Ok(stubs)
}

/// The stubs among the exported fields: each ends where the next one begins, or at the end of its
/// blob.
fn exported<M: Memory>(vm: &Vm<M>, code: &CodeCache) -> Vec<(u64, u64, Arc<str>)> {
    let mut entries: Vec<(u64, Arc<str>)> = vm
        .structs
        .fields()
        .filter_map(|(name, entry)| {
            let short = name.strip_prefix("StubRoutines.")?.trim_start_matches('_');
            let crate::vm_structs::Place::Static(variable) = entry.place else { return None };
            let address = vm.memory.read_u64(variable).ok()?;
            let mut short = short.trim_end_matches("_entry");
            // The variable with the return address lies within the stub.
            if let Some(stub) = short.strip_suffix("_return_address") {
                short = stub;
            }
            code.heap_of(address).map(|_| (address, short.into()))
        })
        .collect();
    entries.sort();
    let ends: Vec<u64> = entries.iter().map(|(begin, _)| *begin).skip(1).chain([u64::MAX]).collect();
    let mut stubs = Vec::new();
    for ((begin, name), next) in entries.into_iter().zip(ends) {
        if let Ok(Some(blob)) = code.find(&vm.memory, begin) {
            stubs.push((begin, next.min(blob.code_end), name));
        }
    }
    stubs
}
