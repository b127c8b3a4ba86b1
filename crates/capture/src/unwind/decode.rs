//! Unwind rows of machine code without tables: the stubs and the interpreter of a JVM.
//!
//! Stubs are written by hand in HotSpot's assembler and have no `.eh_frame`, but they are simple:
//! they push, subtract from the stack pointer, keep a frame pointer, call, and undo it. Following
//! their instructions from each entry shows, at every one of them, how far the return address is.
//! Where that is not known (a stack that is aligned without a frame pointer), the row says so and
//! the programs fall back on the size of the blob's frame.
//!
//! ```text
//!   entry: return address on top ─▶ push, sub, enter … ─▶ state at each instruction ─▶ rows where it changes
//!            ▲                          │ jumps carry it along
//!            └── the next instruction that nothing led to, behind a ret or a jmp
//! ```

use std::collections::BTreeMap;

use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess,
    OpKind, Register,
};

use super::rows::RowAt;
use super::shared::RowKind;

/// Code that is followed at most; the stubs of JDK 25 have some 100 KB.
const MOST_BYTES: usize = 4 << 20;

/// What is known before an instruction. Distances are from the caller's stack pointer ("cfa")
/// downwards, bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct State {
    /// cfa − rsp; `None`: not known.
    depth: Option<i32>,
    /// cfa − rbp where rbp is a frame pointer.
    frame: Option<i32>,
    /// cfa − the slot with the caller's rbp, once it was saved.
    saved: Option<i32>,
    /// rbp has another value, which was not saved.
    lost: bool,
}

impl State {
    /// At an entry: the return address is on top and rbp is the caller's.
    const ENTRY: Self = Self { depth: Some(8), frame: None, saved: None, lost: false };

    fn row(&self, at: u64) -> RowAt {
        let unsupported = RowAt { at, kind: RowKind::Unsupported, fp: 0, cfa: 0 };
        let fp = match self.saved {
            None if self.lost => return unsupported,
            None => 0,
            Some(slot) if slot % 8 == 0 => match i8::try_from(-slot / 8) {
                Ok(fp) => fp,
                Err(_) => return unsupported,
            },
            Some(_) => return unsupported,
        };
        // A frame pointer is surer: the call stub pushes as many words as its method has
        // parameters, in a loop, and adapters give back a stack that they have aligned.
        match (self.depth, self.frame) {
            (_, Some(cfa)) => RowAt { at, kind: RowKind::Fp, fp, cfa },
            (Some(cfa), _) if cfa >= 8 => RowAt { at, kind: RowKind::Sp, fp, cfa },
            _ => unsupported,
        }
    }

    fn push(&mut self, bytes: i32) {
        self.depth = self.depth.and_then(|depth| depth.checked_add(bytes));
    }
}

/// Rows of `code`, which lies at `begin`. `entries`: addresses that are entered by calls, where
/// known. `frame_bytes`: the size of the frame at calls where the blob gives it: some blobs are
/// entered by jumps with nothing on the stack yet, which that puts right.
pub fn rows_of_code(code: &[u8], begin: u64, entries: &[u64], frame_bytes: Option<i32>) -> Vec<RowAt> {
    let code = &code[..code.len().min(MOST_BYTES)];
    let mut sweep = Sweep { code, begin, states: BTreeMap::new(), info: InstructionInfoFactory::new() };
    for entry in entries {
        sweep.follow(*entry, State::ENTRY);
    }
    // What nothing led to is an entry, or padding, or data: data gives rows that nobody looks up.
    let mut next = begin;
    let end = begin + code.len() as u64;
    while next < end {
        match sweep.states.get(&next) {
            Some((_, length)) => next += u64::from(*length),
            None if sweep.is_padding(next) => next += 1,
            None => {
                sweep.follow(next, State::ENTRY);
                next = sweep.states.get(&next).map_or(next + 1, |(_, length)| next + u64::from(*length));
            }
        }
    }
    let shift = frame_bytes.and_then(|bytes| Some(bytes - sweep.depth_at_first_call()?));
    // One word: no return address at the entry. Anything else is another kind of call.
    let shift = shift.filter(|shift| *shift == -8).unwrap_or(0);
    let mut rows = Vec::with_capacity(sweep.states.len() + 1);
    for (at, (state, _)) in &sweep.states {
        let mut state = *state;
        state.depth = state.depth.map(|depth| depth + shift);
        state.frame = state.frame.map(|frame| frame + shift);
        state.saved = state.saved.map(|saved| saved + shift);
        rows.push(state.row(*at));
    }
    rows.push(RowAt::none(end));
    rows
}

struct Sweep<'a> {
    code: &'a [u8],
    begin: u64,
    /// State before each instruction, and its length.
    states: BTreeMap<u64, (State, u8)>,
    info: InstructionInfoFactory,
}

impl Sweep<'_> {
    fn bytes(&self, at: u64) -> &[u8] {
        self.code.get(at.wrapping_sub(self.begin) as usize..).unwrap_or_default()
    }

    /// Bytes between stubs: nop, int3, hlt and zeros.
    fn is_padding(&self, at: u64) -> bool {
        matches!(self.bytes(at).first(), None | Some(0x90 | 0xcc | 0xf4 | 0x00))
    }

    /// Follows the code from an address, and everything that it jumps to.
    fn follow(&mut self, at: u64, state: State) {
        let mut waiting = vec![(at, state)];
        while let Some((mut at, mut state)) = waiting.pop() {
            while !self.states.contains_key(&at) && at >= self.begin {
                let bytes = self.bytes(at);
                if bytes.is_empty() {
                    break;
                }
                let instruction = Decoder::with_ip(64, bytes, at, DecoderOptions::NONE).decode();
                if instruction.is_invalid() {
                    break;
                }
                self.states.insert(at, (state, instruction.len() as u8));
                self.apply(&instruction, &mut state);
                match instruction.flow_control() {
                    FlowControl::Next | FlowControl::Call | FlowControl::IndirectCall => {}
                    FlowControl::ConditionalBranch => waiting.push((instruction.near_branch_target(), state)),
                    FlowControl::UnconditionalBranch => {
                        waiting.push((instruction.near_branch_target(), state));
                        break;
                    }
                    _ => break,
                }
                at = instruction.next_ip();
            }
        }
    }

    fn depth_at_first_call(&self) -> Option<i32> {
        self.states.iter().find_map(|(at, (state, _))| {
            let instruction = Decoder::with_ip(64, self.bytes(*at), *at, DecoderOptions::NONE).decode();
            let is_call = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
            state.depth.filter(|_| is_call)
        })
    }

    fn apply(&mut self, i: &Instruction, state: &mut State) {
        let to = i.op0_register();
        let immediate = || i32::try_from(i.immediate(1) as i64).ok();
        let offset = || i.memory_displacement64() as i64 as i32;
        let plain = |base| i.memory_base() == base && i.memory_index() == Register::None;
        match i.mnemonic() {
            Mnemonic::Push => {
                state.push(8);
                if to == Register::RBP && state.saved.is_none() && !state.lost {
                    state.saved = state.depth;
                }
            }
            Mnemonic::Pushfq => state.push(8),
            Mnemonic::Popfq => state.push(-8),
            Mnemonic::Pop => {
                if to == Register::RBP {
                    // Its own slot again, or something else's.
                    let restored = state.saved.is_some() && state.saved == state.depth;
                    state.frame = None;
                    if restored {
                        state.saved = None;
                    } else {
                        state.lost |= state.saved.is_none();
                    }
                }
                state.push(-8);
                if to == Register::RSP {
                    state.depth = None;
                }
            }
            Mnemonic::Sub
                if to == Register::RSP
                    && i.op1_kind() != OpKind::Register
                    && i.op1_kind() != OpKind::Memory =>
            {
                state.depth = state.depth.zip(immediate()).and_then(|(depth, by)| depth.checked_add(by));
            }
            Mnemonic::Add
                if to == Register::RSP
                    && i.op1_kind() != OpKind::Register
                    && i.op1_kind() != OpKind::Memory =>
            {
                state.depth = state.depth.zip(immediate()).and_then(|(depth, by)| depth.checked_sub(by));
            }
            Mnemonic::Lea if to == Register::RSP && plain(Register::RSP) => {
                state.depth = state.depth.and_then(|depth| depth.checked_sub(offset()));
            }
            Mnemonic::Lea if to == Register::RSP && plain(Register::RBP) => {
                state.depth = state.frame.and_then(|frame| frame.checked_sub(offset()));
            }
            Mnemonic::Mov
                if to == Register::RBP
                    && i.op1_register() == Register::RSP
                    && i.op1_kind() == OpKind::Register =>
            {
                state.lost |= state.saved.is_none();
                state.frame = state.depth;
            }
            Mnemonic::Mov
                if to == Register::RSP
                    && i.op1_register() == Register::RBP
                    && i.op1_kind() == OpKind::Register =>
            {
                state.depth = state.frame;
            }
            Mnemonic::Mov
                if i.op0_kind() == OpKind::Memory
                    && i.op1_register() == Register::RBP
                    && plain(Register::RSP) =>
            {
                if state.saved.is_none() && !state.lost {
                    state.saved = state.depth.and_then(|depth| depth.checked_sub(offset()));
                }
            }
            Mnemonic::Mov
                if to == Register::RBP && i.op1_kind() == OpKind::Memory && plain(Register::RSP) =>
            {
                let slot = state.depth.and_then(|depth| depth.checked_sub(offset()));
                state.frame = None;
                if slot.is_some() && slot == state.saved {
                    state.saved = None;
                } else {
                    state.lost |= state.saved.is_none();
                }
            }
            Mnemonic::Leave => {
                let at_frame = state.frame;
                state.depth = at_frame.map(|frame| frame - 8);
                if at_frame == state.saved {
                    state.saved = None;
                } else {
                    state.lost |= state.saved.is_none();
                }
                state.frame = None;
            }
            Mnemonic::Enter => *state = State { depth: None, frame: None, saved: None, lost: true },
            _ => {
                // Whatever else writes to the two registers leaves them unknown; calls come back as
                // they went.
                if matches!(i.flow_control(), FlowControl::Next) && i.code() != Code::INVALID {
                    for used in self.info.info(i).used_registers() {
                        let writes = matches!(
                            used.access(),
                            OpAccess::Write
                                | OpAccess::ReadWrite
                                | OpAccess::CondWrite
                                | OpAccess::ReadCondWrite
                        );
                        match used.register().full_register() {
                            Register::RSP if writes => state.depth = None,
                            Register::RBP if writes => {
                                state.frame = None;
                                state.lost |= state.saved.is_none();
                            }
                            _ => {}
                        }
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rows: &[RowAt], address: u64) -> RowAt {
        *rows.iter().rfind(|row| row.at <= address).unwrap()
    }

    #[test]
    fn a_frame_is_followed_from_its_entry_through_a_call_to_its_return() {
        // push rbp; mov rbp, rsp; sub rsp, 32; call +0; leave; ret; int3; sub rsp, 24; mov
        // [rsp+16], rbp; ret
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xe8, 0, 0, 0, 0, 0xc9, 0xc3, 0xcc, 0x48, 0x83,
            0xec, 0x18, 0x48, 0x89, 0x6c, 0x24, 0x10, 0xc3,
        ];
        let rows = rows_of_code(&code, 0x1000, &[0x1000], None);
        let sp = |fp, cfa| (RowKind::Sp, fp, cfa);
        let fp = (RowKind::Fp, -2, 16);
        let rule = |address| {
            let row = at(&rows, address);
            (row.kind, row.fp, row.cfa)
        };
        assert_eq!(rule(0x1000), sp(0, 8));
        assert_eq!(rule(0x1001), sp(-2, 16));
        assert_eq!(rule(0x1004), fp);
        assert_eq!(rule(0x100d), fp);
        assert_eq!(rule(0x100e), sp(0, 8));
        assert_eq!(rule(0x1010), sp(0, 8), "the next stub");
        assert_eq!(rule(0x1014), sp(0, 32));
        assert_eq!(rule(0x1019), sp(-2, 32));
    }

    #[test]
    fn an_aligned_stack_is_left_to_the_frame_pointer_or_not_supported() {
        // push rbp; mov rbp, rsp; and rsp, -16; nop; leave; ret; int3; and rsp, -16; nop
        let code = [
            0x55, 0x48, 0x89, 0xe5, 0x48, 0x83, 0xe4, 0xf0, 0x90, 0xc9, 0xc3, 0xcc, 0x48, 0x83, 0xe4, 0xf0,
            0x90,
        ];
        let rows = rows_of_code(&code, 0, &[0], None);
        assert_eq!((at(&rows, 8).kind, at(&rows, 8).cfa, at(&rows, 8).fp), (RowKind::Fp, 16, -2));
        assert_eq!(at(&rows, 16).kind, RowKind::Unsupported);
    }

    #[test]
    fn words_that_are_pushed_in_a_loop_do_not_matter_behind_a_frame_pointer() {
        // push rbp; mov rbp, rsp; push rax; dec ecx; jnz push; call rsi; leave; ret
        let code = [0x55, 0x48, 0x89, 0xe5, 0x50, 0xff, 0xc9, 0x75, 0xfb, 0xff, 0xd6, 0xc9, 0xc3];
        let rows = rows_of_code(&code, 0, &[0], None);
        assert_eq!((at(&rows, 11).kind, at(&rows, 11).cfa, at(&rows, 11).fp), (RowKind::Fp, 16, -2));
    }

    #[test]
    fn a_blob_that_is_jumped_to_is_put_right_by_the_size_of_its_frame() {
        // sub rsp, 8 (room for the return address); push rbp; call +0
        let code = [0x48, 0x83, 0xec, 0x08, 0x55, 0xe8, 0, 0, 0, 0, 0xc3];
        let rows = rows_of_code(&code, 0, &[0], Some(16));
        assert_eq!((at(&rows, 5).kind, at(&rows, 5).cfa, at(&rows, 5).fp), (RowKind::Sp, 16, -2));
    }
}
