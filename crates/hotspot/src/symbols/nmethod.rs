//! A compiled method: which Java frames a pc of it has.
//!
//! The compiler leaves a table of `PcDesc`: (pc offset, where in the scopes). A record holds for
//! the instructions up to and including its pc, so the frame of a pc is that of the first record at
//! or after it, as in HotSpot's own `pc_desc_near`. At a call it is exact; elsewhere it is the
//! next point the compiler described, which may be a few instructions on unless the JVM runs with
//! `-XX:+DebugNonSafepoints`. In a loop without a record it would be that of other code: see
//! [`super::loops`].
//!
//! A scope is a chain of UNSIGNED5 numbers, innermost first: offset of the caller's scope, index of
//! the method in the table of metadata, bytecode index plus one
//! (src/hotspot/share/code/{pcDesc,scopeDesc,debugInfoRec}.cpp).

use std::collections::{HashMap, HashSet};

use super::loops::{self, Ahead, Exit, LeadsTo};
use super::scope::{Scope, in_common};
use super::unsigned5::Unsigned5;
use crate::code_cache::CodeCache;
use crate::layout::Field;
use crate::memory::Memory;
use crate::{Error, Result};

/// `sizeof(PcDesc)`; it is 16 in the table of types on every JDK from 8 to 25.
const PC_DESC: usize = 16;
/// Bytes of one table of an nmethod at most. Compiled code is limited to some 64 KB of bytecodes
/// inlined; the largest tables seen have some 200 KB.
const LARGEST_TABLE: u64 = 8 << 20;
/// The tier that leaves loops without a poll; C1 has one in each.
const OPTIMISED: u8 = 4;
/// Bytes of machine code of one nmethod that are read at most.
const LARGEST_CODE: u64 = 1 << 20;
/// Frames inlined into each other at most (`MaxInlineLevel` is 15 by default, lambda forms do not
/// count).
const DEEPEST: usize = 256;
/// Places of inlined methods distinguished in one nmethod.
const MOST_PLACES: usize = 1 << 14;

/// The debug information of a compiled method, copied at one time.
#[derive(Debug)]
pub(super) struct Nmethod {
    /// `Method*` of the method that was compiled.
    pub(super) method: u64,
    /// Number of the compilation.
    pub(super) compile_id: u32,
    /// Tier: 0 for a wrapper of a native method, 1 to 3 by C1, 4 by C2 (or another top-tier
    /// compiler).
    pub(super) level: u8,
    /// First instruction.
    pub(super) code_begin: u64,
    /// Behind the last one.
    code_end: u64,
    /// Where its frame is complete: bytes from the first instruction.
    frame_complete: i32,
    /// (pc offset from the first instruction, offset of the scope), ascending.
    pcs: Vec<(i32, u32)>,
    scopes: Vec<u8>,
    metadata: Vec<u64>,
}

impl Nmethod {
    /// Copies the debug information of the nmethod at an address. The code may be freed meanwhile:
    /// the caller compares the number of the compilation before and after.
    pub(super) fn read(memory: &impl Memory, code: &CodeCache, address: u64) -> Result<Self> {
        let layout = &code.nmethod;
        let blob = code.blob_at(memory, address)?;
        if !blob.kind.is_nmethod() {
            return Err(Error::Implausible { what: "kind of compiled code".to_owned(), value: address });
        }
        let head = memory.read_bytes(address, layout.size_of.0 as usize)?;
        let field = |field: Field| {
            let offset = u64::from(field.offset);
            field
                .in_bytes(&head)
                .map(|value| value as u64)
                .ok_or_else(|| Error::Implausible { what: "field of nmethod".to_owned(), value: offset })
        };
        let optional = |wanted: Option<Field>, name: &str| match wanted {
            Some(wanted) => field(wanted),
            None => Err(Error::MissingSymbol { symbol: name.to_owned(), jvm: "this JVM".to_owned() }),
        };
        let pcs_offset = field(layout.scopes_pcs_offset)?;
        // Where scopes and PcDescs lie; see the layout for the releases.
        let (scopes, pcs) = if let Some(immutable) = layout.immutable_data {
            let begin = field(immutable)?;
            let size = optional(layout.immutable_data_size, "nmethod._immutable_data_size")?;
            let scopes_offset = optional(layout.scopes_data_offset, "nmethod._scopes_data_offset")?;
            let at = |offset: u64| begin.wrapping_add(offset);
            ((at(scopes_offset), at(size)), (at(pcs_offset), at(scopes_offset)))
        } else {
            let pcs = address.wrapping_add(pcs_offset);
            let scopes = match layout.scopes_data {
                Some(begin) => field(begin)?,
                None => {
                    address.wrapping_add(optional(layout.scopes_data_offset, "nmethod._scopes_data_offset")?)
                }
            };
            let end = optional(layout.dependencies_offset, "nmethod._dependencies_offset")?;
            ((scopes, pcs), (pcs, address.wrapping_add(end)))
        };
        let metadata = if let (Some(data), Some(size), Some(skipped)) =
            (code.blob.mutable_data, code.blob.mutable_data_size, code.blob.relocation_size)
        {
            let begin = field(data)?;
            (begin.wrapping_add(field(skipped)?), begin.wrapping_add(field(size)?))
        } else {
            let offset = optional(layout.metadata_offset, "nmethod._metadata_offset")?;
            if layout.immutable_data.is_some() {
                (blob.code_end.wrapping_add(offset), address.wrapping_add(blob.size))
            } else {
                (address.wrapping_add(offset), scopes.0)
            }
        };
        let pcs = table(memory, pcs, "table of PcDesc")?;
        let pcs = pcs
            .chunks_exact(PC_DESC)
            .filter_map(|desc| {
                let number = |at: usize| Some(i32::from_le_bytes(desc.get(at..at + 4)?.try_into().ok()?));
                Some((number(0)?, number(4)? as u32))
            })
            // The first and the last are sentinels.
            .filter(|(pc, _)| *pc >= 0 && *pc < i32::MAX)
            .collect();
        let metadata = table(memory, metadata, "table of metadata")?;
        Ok(Self {
            method: field(layout.method)?,
            compile_id: field(layout.compile_id)? as u32,
            level: field(layout.comp_level)? as u8,
            code_begin: blob.code_begin,
            code_end: blob.code_end,
            frame_complete: blob.frame_complete,
            pcs,
            scopes: table(memory, scopes, "scopes")?,
            metadata: metadata
                .chunks_exact(8)
                .map(|word| word.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte)))
                .collect(),
        })
    }

    /// The frames of a pc, innermost first; the last one is of the method that was compiled. Empty:
    /// the compiler described nothing for it (prologue, stubs, native wrappers). `is_trap` tells
    /// whether an address is the uncommon trap.
    pub(super) fn scopes(
        &self,
        memory: &impl Memory,
        pc: u64,
        feature: u32,
        mut is_trap: impl FnMut(u64) -> bool,
    ) -> Vec<Scope> {
        let offset = pc.wrapping_sub(self.code_begin);
        let Ok(offset) = i32::try_from(offset) else { return Vec::new() };
        // The prologue belongs to the method itself, not to the scope of the first record, which
        // may be inlined.
        if offset < self.frame_complete {
            return Vec::new();
        }
        let first = self.pcs.partition_point(|(pc, _)| *pc < offset);
        let Some((at, scope)) = self.pcs.get(first) else { return Vec::new() };
        let next = self.chain(*scope, feature);
        if *at == offset {
            return next;
        }
        if self.level != OPTIMISED {
            return next;
        }
        let described = |at: i32| self.pcs.binary_search_by_key(&at, |(pc, _)| *pc).ok();
        let ahead =
            self.code(memory).and_then(|code| loops::ahead(&code, offset, |at| described(at).is_some()));
        let scopes_of = |records: &[i32]| -> Vec<Vec<Scope>> {
            let records = records.iter().filter_map(|at| described(*at));
            records.map(|record| self.chain(self.pcs[record].1, feature)).collect()
        };
        let (behind, returns) = match &ahead {
            None => return next,
            Some(Ahead::Records(records)) if records.contains(at) => return next,
            Some(Ahead::Records(records)) => (scopes_of(records), records.is_empty()),
            Some(Ahead::Loop(exits)) => {
                let mut is_of_loop = |exit: &&Exit| match exit.leads_to {
                    LeadsTo::Poll => true,
                    LeadsTo::Call(target) => is_trap(self.code_begin.wrapping_add(target)),
                    LeadsTo::Other => false,
                };
                let own = exits.iter().filter(|exit| is_of_loop(exit));
                let own: Vec<Vec<Scope>> = own.flat_map(|exit| scopes_of(&exit.records)).collect();
                let frames = in_common(&own, own.len() / 2 + 1);
                if !frames.is_empty() {
                    return frames;
                }
                let behind = exits.iter().flat_map(|exit| scopes_of(&exit.records)).collect();
                (behind, exits.iter().any(|exit| exit.records.is_empty()))
            }
        };
        // Where the compiled method returns behind it, it may be that method's own.
        if returns {
            return Vec::new();
        }
        let before = first.checked_sub(1).map(|before| self.chain(self.pcs[before].1, feature));
        let around: Vec<Vec<Scope>> = behind.into_iter().chain(before).collect();
        match in_common(&around, around.len()) {
            frames if frames.is_empty() => next,
            frames => frames,
        }
    }

    /// Its machine code; `None` where it cannot be read.
    fn code(&self, memory: &impl Memory) -> Option<Vec<u8>> {
        let size = self.code_end.wrapping_sub(self.code_begin);
        if size > LARGEST_CODE {
            return None;
        }
        memory.read_bytes(self.code_begin, size as usize).ok()
    }

    /// Methods that are inlined somewhere in it, each with the number of places: scopes of
    /// different callers or bytecodes, or copies that the compiler made of one (when it unrolls a
    /// loop, for example).
    pub(super) fn inlined(&self, feature: u32) -> HashMap<u64, u32> {
        let mut places: HashSet<(u64, Vec<(u64, i32)>)> = HashSet::new();
        let mut seen: HashSet<u32> = HashSet::new();
        for (_, scope) in self.pcs.iter().filter(|(_, scope)| seen.insert(*scope)) {
            let chain = self.chain(*scope, feature);
            for (depth, inlined) in chain.iter().enumerate().take(chain.len().saturating_sub(1)) {
                if places.len() < MOST_PLACES {
                    let callers = chain[depth + 1..].iter().map(|caller| (caller.method, caller.bci));
                    places.insert((inlined.method, callers.collect()));
                }
            }
        }
        let mut counts = HashMap::new();
        places.into_iter().for_each(|(method, _)| *counts.entry(method).or_insert(0) += 1);
        counts
    }

    fn chain(&self, mut scope: u32, feature: u32) -> Vec<Scope> {
        let mut frames = Vec::new();
        // 0 is "no scope" (`DebugInformationRecorder::serialized_null`).
        while scope != 0 && frames.len() < DEEPEST {
            let mut stream = Unsigned5::new(&self.scopes, scope as usize, feature);
            let (Some(sender), Some(method), Some(bci)) = (stream.number(), stream.number(), stream.number())
            else {
                break;
            };
            let Some(method) = (method as usize).checked_sub(1).and_then(|index| self.metadata.get(index))
            else {
                break;
            };
            frames.push(Scope { method: *method, bci: (bci as i32).wrapping_sub(1) });
            // Callers are described before what is inlined into them, so the chain comes to an end.
            if sender >= scope {
                break;
            }
            scope = sender;
        }
        frames
    }

    /// Approximate bytes that it holds.
    pub(super) fn weight(&self) -> usize {
        128 + self.pcs.len() * 8 + self.scopes.len() + self.metadata.len() * 8
    }
}

/// The bytes from one address to another.
fn table(memory: &impl Memory, (begin, end): (u64, u64), what: &str) -> Result<Vec<u8>> {
    let size = end.wrapping_sub(begin);
    if size > LARGEST_TABLE {
        return Err(Error::Implausible { what: format!("size of the {what} of an nmethod"), value: size });
    }
    Ok(memory.read_bytes(begin, size as usize)?)
}
