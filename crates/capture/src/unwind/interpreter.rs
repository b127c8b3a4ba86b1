//! Where the interpreter has no whole frame: rows for the entries of methods and for their returns.
//!
//! Everywhere else a frame of the interpreter is found by the frame pointer. An entry takes the
//! return address off the stack to make room for locals, puts it back and builds the frame; a
//! return undoes the frame and jumps. Both are generated from the same few lines for all kinds of
//! methods (`TemplateInterpreterGenerator::generate_normal_entry`, `generate_fixed_frame`,
//! `InterpreterMacroAssembler::remove_activation` of src/hotspot/cpu/x86), so that they are found
//! by their instructions:
//!
//! ```text
//!   entry:   …; pop rax; lea r14, [rsp + 8 rcx - 8]; locals …; push rax; push rbp; mov rbp, rsp; push r13; …; push rbx
//!   return:  mov rbx, [rbp - 8]; …; leave; pop R; mov rsp, rbx; …; jmp R
//! ```
//! r13 is the caller's stack pointer during an entry, rbx the method; rbx is the caller's stack
//! pointer in a return.

use fathom_hotspot::code_cache::Codelet;
use iced_x86::{Decoder, DecoderOptions, Mnemonic, Register};

use super::decode::rows_of_code;
use super::rows::RowAt;
use super::shared::RowKind;

/// pop rax; lea r14, [rsp + 8 rcx - 8].
const TAKE: [u8; 6] = [0x58, 0x4c, 0x8d, 0x74, 0xcc, 0xf8];
/// push rax; push rbp; mov rbp, rsp.
const BUILD: [u8; 5] = [0x50, 0x55, 0x48, 0x8b, 0xec];
/// mov rsp, rbx.
const DROP: [u8; 3] = [0x48, 0x8b, 0xe3];
/// mov rsp, r13.
const LEAVE: [u8; 3] = [0x49, 0x8b, 0xe5];
/// Instructions between the frame pointer and the method's slot, or between a frame's end and its
/// jump, at most.
const MOST_INSTRUCTIONS: usize = 48;

/// Numbers of registers as instructions have them.
const RAX: i8 = 0;
const RBX: i32 = 3;
const R13: i32 = 13;

/// Rows of the interpreter's code. `code` lies at `begin`.
pub fn rows_of_interpreter(code: &[u8], begin: u64, codelets: &[Codelet]) -> Vec<RowAt> {
    let mut rows = vec![whole(begin)];
    for codelet in codelets {
        let from = codelet.begin.wrapping_sub(begin) as usize;
        let to = codelet.end.wrapping_sub(begin) as usize;
        let Some(bytes) = code.get(from..to) else { continue };
        rows.push(whole(codelet.begin));
        if codelet.name.starts_with("method entry point") {
            entry(bytes, codelet.begin, &mut rows);
        }
        returns(bytes, codelet.begin, &mut rows);
    }
    rows.push(RowAt::none(begin + code.len() as u64));
    rows
}

fn whole(at: u64) -> RowAt {
    RowAt { at, kind: RowKind::Interpreted, fp: 0, cfa: 0 }
}

fn find(bytes: &[u8], what: &[u8]) -> Option<usize> {
    bytes.windows(what.len()).position(|window| window == what)
}

fn entry(bytes: &[u8], begin: u64, rows: &mut Vec<RowAt>) {
    let row = |at: usize, kind, fp, cfa| RowAt { at: begin + at as u64, kind, fp, cfa };
    rows.push(row(0, RowKind::SenderR13, 0, 8));
    let build_from = |from: usize| Some(from + find(&bytes[from..], &BUILD)?);
    let take = find(bytes, &TAKE);
    let Some(build) = build_from(take.unwrap_or(0)) else { return intrinsic(bytes, begin, rows) };
    if let Some(take) = take {
        rows.push(row(take + 1, RowKind::RaRegister, RAX, R13));
    }
    rows.push(row(build + 1, RowKind::SenderR13, 0, 8));
    rows.push(row(build + 2, RowKind::SenderR13, -2, 16));
    let mut decoder =
        Decoder::with_ip(64, &bytes[build + 5..], begin + build as u64 + 5, DecoderOptions::NONE);
    for (i, instruction) in decoder.iter().take(MOST_INSTRUCTIONS).enumerate() {
        if instruction.mnemonic() != Mnemonic::Push {
            continue;
        }
        let at = instruction.next_ip();
        if i == 0 {
            rows.push(RowAt { at, kind: RowKind::InterpretedEarly, fp: 0, cfa: 0 });
        } else if instruction.op0_register() == Register::RBX {
            rows.push(whole(at));
            return;
        }
    }
}

/// The entry of a method that the interpreter computes by itself, such as `Math.sin`: no frame, the
/// return address below what it pushes; it ends with `pop R; mov rsp, r13; jmp R`.
fn intrinsic(bytes: &[u8], begin: u64, rows: &mut Vec<RowAt>) {
    let followed = rows_of_code(bytes, begin, &[], None);
    let known = followed.into_iter().filter(|row| row.kind == RowKind::Sp);
    rows.extend(known.map(|row| RowAt { kind: RowKind::SenderR13, ..row }));
    for at in 1..bytes.len().saturating_sub(LEAVE.len()) {
        if bytes[at..].starts_with(&LEAVE)
            && let pop @ 0x58..=0x5f = bytes[at - 1]
        {
            let register = (pop - 0x58) as i8 + if at > 1 && bytes[at - 2] == 0x41 { 8 } else { 0 };
            rows.push(RowAt { at: begin + at as u64, kind: RowKind::RaRegister, fp: register, cfa: R13 });
        }
    }
}

fn returns(bytes: &[u8], begin: u64, rows: &mut Vec<RowAt>) {
    for leave in (0..bytes.len()).filter(|at| bytes[*at] == 0xc9) {
        // pop R, of one or two bytes.
        let (register, pop_bytes) = match bytes[leave + 1..] {
            [0x41, pop @ 0x58..=0x5f, ..] => (pop - 0x58 + 8, 2),
            [pop @ 0x58..=0x5f, ..] => (pop - 0x58, 1),
            _ => continue,
        };
        let popped = leave + 1 + pop_bytes;
        if !bytes[popped..].starts_with(&DROP) {
            continue;
        }
        let at = begin + popped as u64;
        let mut decoder = Decoder::with_ip(64, &bytes[popped..], at, DecoderOptions::NONE);
        let jump = decoder
            .iter()
            .take(MOST_INSTRUCTIONS)
            .find(|i| i.mnemonic() == Mnemonic::Jmp && i.is_jmp_near_indirect());
        let Some(jump) = jump else { continue };
        rows.push(RowAt { at: begin + leave as u64 + 1, kind: RowKind::SenderRbx, fp: 0, cfa: 8 });
        rows.push(RowAt { at, kind: RowKind::RaRegister, fp: register as i8, cfa: RBX });
        rows.push(whole(jump.next_ip()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_and_a_return_are_found_by_their_instructions() {
        let mut code = vec![0x90; 16];
        code.extend(TAKE); // at 16
        code.extend([0x6a, 0x00]);
        code.extend(BUILD); // at 24
        code.extend([0x41, 0x55, 0x6a, 0x00, 0x53, 0x90]); // push r13; push 0; push rbx; nop
        let back = code.len();
        // leave; pop r13; mov rsp, rbx; jmp r13
        code.extend([0xc9, 0x41, 0x5d, 0x48, 0x8b, 0xe3, 0x41, 0xff, 0xe5, 0x90]);
        let codelet = Codelet {
            begin: 0,
            end: code.len() as u64,
            name: "method entry point (kind = zerolocals)".into(),
        };
        let rows = rows_of_interpreter(&code, 0, &[codelet]);
        let at = |address: usize| {
            let row = rows.iter().rfind(|row| row.at <= address as u64).unwrap();
            (row.kind, row.fp, row.cfa)
        };
        assert_eq!(at(16), (RowKind::SenderR13, 0, 8));
        assert_eq!(at(17), (RowKind::RaRegister, 0, 13));
        assert_eq!(at(24), (RowKind::RaRegister, 0, 13));
        assert_eq!(at(25), (RowKind::SenderR13, 0, 8));
        assert_eq!(at(26), (RowKind::SenderR13, -2, 16));
        assert_eq!(at(29), (RowKind::SenderR13, -2, 16));
        assert_eq!(at(31).0, RowKind::InterpretedEarly);
        assert_eq!(at(34).0, RowKind::Interpreted);
        assert_eq!(at(back).0, RowKind::Interpreted);
        assert_eq!(at(back + 1), (RowKind::SenderRbx, 0, 8));
        assert_eq!(at(back + 3), (RowKind::RaRegister, 13, 3));
        assert_eq!(at(back + 9).0, RowKind::Interpreted);
    }
}
