//! Frames of a stack that lies in the Java heap, in chunks
//! (src/hotspot/share/oops/stackChunkOop.hpp, runtime/stackChunkFrameStream.hpp).
//!
//! ```text
//!   StackChunk | header, fields | unused … | return address | frame … | return address | frame … |
//!              0                begin        sp - 1 word      sp                          bottom (words from begin)
//! ```
//! Compiled frames are as on a stack: the size gives the caller's frame, and right below it is the
//! return address. In interpreted frames, pointers into the stack are stored as words relative to
//! their own frame pointer, which lies two words below the stack pointer.

use std::collections::HashMap;

use super::objects::Objects;
use super::{CHUNK, Truncation};
use crate::code_cache::{BlobKind, CodeCache, CodeStart, UnwindConstants};
use crate::memory::Memory;
use crate::walk::WalkedFrame;

/// The most frames unwound, and the most chunks; a thread mostly has one chunk.
const MOST_FRAMES: usize = 512;
const MOST_CHUNKS: usize = 64;
/// The most words of a chunk: a stack is limited to 1 GB, and a parked one has kilobytes.
const MOST_WORDS: i32 = 1 << 17;
/// The most code blobs that are cached in a pass.
const MOST_CODES: usize = 1 << 14;

/// The code that a return address is in.
#[derive(Clone, Copy, Debug)]
enum Code {
    Compiled { nmethod: u64, compile_id: u32, words: u32, is_deoptimised: bool },
    Interpreted,
    Stub { words: u32 },
    Unknown,
}

/// Unwinds stacks.
#[derive(Debug)]
pub(super) struct Stacks {
    code: CodeCache,
    constants: UnwindConstants,
    /// Where a chunk's stack begins: its fields end there.
    begin: u64,
    /// By return address; an address is reused only some time after its code was freed.
    codes: HashMap<u64, Code>,
}

/// A chunk: its words from its stack pointer less two up to its end.
struct Chunk {
    words: Vec<u64>,
    /// The stack pointer, in these words.
    sp: usize,
    /// Where its frames end, in these words.
    bottom: usize,
    parent: u64,
}

impl Stacks {
    pub(super) fn new(code: CodeCache, constants: UnwindConstants, begin: u64) -> Self {
        Self { code, constants, begin, codes: HashMap::new() }
    }

    /// What was known of code may have become wrong.
    pub(super) fn begin_round(&mut self) {
        self.codes.clear();
    }

    /// The frames of a stack, by its youngest chunk; `None` where there is no stack, or it changes.
    pub(super) fn walk(
        &mut self,
        memory: &impl Memory,
        objects: &mut Objects,
        tail: u64,
    ) -> Option<(Vec<WalkedFrame>, Option<Truncation>)> {
        let (mut frames, mut at) = (Vec::new(), tail);
        for _ in 0..MOST_CHUNKS {
            if at == 0 {
                return (!frames.is_empty()).then_some((frames, None));
            }
            let chunk = self.chunk(memory, objects, at)?;
            let truncated = self.walk_chunk(memory, &chunk, &mut frames);
            // A thread that went on meanwhile has left another stack there.
            let after = self.chunk(memory, objects, at)?;
            if after.words != chunk.words || after.parent != chunk.parent {
                return None;
            }
            if truncated.is_some() {
                return Some((frames, truncated));
            }
            at = chunk.parent;
        }
        Some((frames, Some(Truncation::TooDeep)))
    }

    fn chunk(&self, memory: &impl Memory, objects: &mut Objects, at: u64) -> Option<Chunk> {
        let object = objects.object(memory, at).filter(|object| &*object.class == CHUNK)?;
        let parent = objects.reference(memory, &object, (CHUNK, "parent"))?;
        let size = objects.int(memory, &object, (CHUNK, "size"))?;
        let sp = objects.int(memory, &object, (CHUNK, "sp"))?;
        // JDK 21 had the words of arguments at the end instead, in its first releases.
        let bottom = objects.int(memory, &object, (CHUNK, "bottom"));
        let bottom = bottom.or_else(|| Some(size - objects.int(memory, &object, (CHUNK, "argsize"))?))?;
        if !(0..=MOST_WORDS).contains(&size) || bottom > size || sp > bottom {
            return None;
        }
        // All its frames have been thawed.
        if sp == bottom {
            return Some(Chunk { words: Vec::new(), sp: 0, bottom: 0, parent });
        }
        let below = sp.checked_sub(2).filter(|below| *below >= 0)?;
        let from = at.wrapping_add(self.begin + 8 * u64::from(below.cast_unsigned()));
        let bytes = memory.read_bytes(from, 8 * (size - below).cast_unsigned() as usize).ok()?;
        let words = bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect();
        Some(Chunk { words, sp: 2, bottom: (bottom - below).cast_unsigned() as usize, parent })
    }

    /// Adds the frames of a chunk.
    fn walk_chunk(
        &mut self,
        memory: &impl Memory,
        chunk: &Chunk,
        frames: &mut Vec<WalkedFrame>,
    ) -> Option<Truncation> {
        let word = |at: usize| chunk.words.get(at).copied();
        // An address that a word gives by its distance from a frame pointer.
        let relative = |fp: usize, words: u64| fp.checked_add_signed(words.cast_signed() as isize);
        let slots = self.constants.interpreter_frame;
        let (mut sp, mut unextended) = (chunk.sp, None);
        while sp < chunk.bottom {
            if frames.len() >= MOST_FRAMES {
                return Some(Truncation::TooDeep);
            }
            let mut step = || -> Option<(usize, Option<usize>)> {
                let pc = word(sp.checked_sub(1)?)?;
                match self.code_of(memory, pc) {
                    Code::Compiled { nmethod, compile_id, words, is_deoptimised } => {
                        let base = unextended.unwrap_or(sp);
                        let pc = match is_deoptimised {
                            true => {
                                let slot =
                                    self.constants.nmethod_orig_pc_offset.read(memory, nmethod).ok()?;
                                word(base.checked_add(usize::try_from(slot).ok()? / 8)?)?
                            }
                            false => pc,
                        };
                        frames.push(WalkedFrame::Compiled { nmethod, compile_id, pc });
                        Some((base.checked_add(words as usize)?, None))
                    }
                    Code::Stub { words } => {
                        frames.push(WalkedFrame::Stub { pc });
                        Some((unextended.unwrap_or(sp).checked_add(words as usize)?, None))
                    }
                    Code::Interpreted => {
                        let fp = relative(sp.checked_sub(2)?, word(sp.checked_sub(2)?)?)?;
                        let slot = |slot: i32| word(fp.checked_add_signed(slot as isize)?);
                        let (method, bytecode) = (slot(slots.method)?, slot(slots.bytecode)?);
                        let constants = &self.constants;
                        let bytecodes = constants.method_const_method.read_u64(memory, method).ok()?;
                        let bytecodes = bytecodes.wrapping_add(u64::from(constants.const_method_size_of));
                        let bci = i32::try_from(bytecode.wrapping_sub(bytecodes)).unwrap_or(-1);
                        frames.push(WalkedFrame::Interpreted { method, bci });
                        let sender = relative(fp, slot(slots.sender_sp)?)?;
                        // Its arguments reach to the end of the chunk: it is the last one.
                        let locals = relative(fp, slot(slots.locals)?)?;
                        let next = if locals + 1 >= chunk.bottom { chunk.bottom } else { fp.checked_add(2)? };
                        Some((next, Some(sender)))
                    }
                    Code::Unknown => None,
                }
            };
            match step() {
                Some((next, from)) if next > sp => (sp, unextended) = (next, from),
                _ => return Some(Truncation::Unknown),
            }
        }
        None
    }

    fn code_of(&mut self, memory: &impl Memory, pc: u64) -> Code {
        if let Some(known) = self.codes.get(&pc) {
            return *known;
        }
        let found = self.find_code(memory, pc).unwrap_or(Code::Unknown);
        if self.codes.len() < MOST_CODES {
            self.codes.insert(pc, found);
        }
        found
    }

    fn find_code(&self, memory: &impl Memory, pc: u64) -> Option<Code> {
        let blob = self.code.find(memory, pc).ok()??;
        Some(match blob.kind {
            BlobKind::Interpreter => Code::Interpreted,
            BlobKind::Nmethod | BlobKind::NativeNmethod if blob.frame_size > 0 => {
                let is_at = |handler: CodeStart| match handler {
                    CodeStart::Address(field) => field.read_u64(memory, blob.address).ok() == Some(pc),
                    CodeStart::Offset(field) => {
                        let offset = field.read(memory, blob.address).ok();
                        offset.map(|offset| blob.address.wrapping_add_signed(offset)) == Some(pc)
                    }
                };
                let handlers =
                    [Some(self.constants.nmethod_deopt_handler), self.constants.nmethod_deopt_mh_handler];
                Code::Compiled {
                    nmethod: blob.address,
                    compile_id: self.constants.nmethod_compile_id.read(memory, blob.address).ok()? as u32,
                    words: blob.frame_size,
                    is_deoptimised: handlers.into_iter().flatten().any(is_at),
                }
            }
            _ if blob.frame_size > 0 => Code::Stub { words: blob.frame_size },
            _ => Code::Unknown,
        })
    }
}
