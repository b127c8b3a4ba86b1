//! Loops that the compiler left no debug information in.
//!
//! The frame of a pc is that of the first record at or after it. In a loop without a record (a
//! counted loop has no safepoint poll, as with the parallel collector, or one in a thousand
//! iterations, in a loop around it) that record is of whatever code follows, which may be inlined
//! from another method: all the time of the loop would be charged to a method that takes none of
//! it. The machine code tells such a loop: a path leads from the pc back to it that passes no
//! record. Whose loop it is follows from where it is left: a check that fails (an uncommon trap)
//! and the poll of the loop around it are described with the scope of the loop. Where there are
//! neither, the loop is known to be in what the code before and the code behind it have in common.
//! The same holds for straight code that leads elsewhere than to the record at or after it.

use std::collections::VecDeque;

use iced_x86::{Decoder, DecoderOptions, FlowControl, Instruction, Mnemonic, OpKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Instructions followed at most; a loop that is unrolled sixteen times has some hundreds.
const MOST_INSTRUCTIONS: usize = 4096;
/// Ways out of a loop that are looked at.
const MOST_EXITS: usize = 256;

/// A way out of a loop.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Exit {
    /// The records that it leads to first, as offsets into the code, ascending; empty where the
    /// method returns without one.
    pub(super) records: Vec<i32>,
    /// What it comes to without a further branch.
    pub(super) leads_to: LeadsTo,
}

/// What a way out of a loop comes to first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LeadsTo {
    /// A call of an address, relative to the code: perhaps an uncommon trap.
    Call(u64),
    /// A safepoint poll.
    Poll,
    /// A branch, or another instruction with a record.
    Other,
}

/// An instruction that is reached from the pc without passing a record.
#[derive(Default)]
struct Node {
    next: [Option<i32>; 2],
    /// The record that is reached here, and what it is of.
    record: Option<(i32, LeadsTo)>,
}

/// Where the code goes on from a pc.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Ahead {
    /// A path leads back to it without passing a record: the ways out of that loop.
    Loop(Vec<Exit>),
    /// The records that it leads to first, ascending.
    Records(Vec<i32>),
}

/// What lies ahead of `pc`; `None` where the code cannot be decoded or is too much. `is_described`
/// returns whether there is a record of an offset.
pub(super) fn ahead(code: &[u8], pc: i32, is_described: impl Fn(i32) -> bool) -> Option<Ahead> {
    let nodes = reached(code, pc, is_described)?;
    Some(exits(&nodes, pc).map_or_else(|| Ahead::Records(records(nodes.values())), Ahead::Loop))
}

fn records<'n>(nodes: impl Iterator<Item = &'n Node>) -> Vec<i32> {
    let mut records: Vec<i32> = nodes.filter_map(|node| node.record).map(|(at, _)| at).collect();
    records.sort_unstable();
    records.dedup();
    records
}

/// The exits of the loop around `pc`; `None` where there is no loop.
fn exits(nodes: &FxHashMap<i32, Node>, pc: i32) -> Option<Vec<Exit>> {
    let mut leads_here: FxHashMap<i32, Vec<i32>> = FxHashMap::default();
    for (at, node) in nodes {
        node.next.iter().flatten().for_each(|next| leads_here.entry(*next).or_default().push(*at));
    }
    let around = spread(pc, |at| leads_here.get(&at).into_iter().flatten().copied());
    let next = |at: i32| nodes.get(&at).into_iter().flat_map(|node| node.next).flatten();
    leads_here.contains_key(&pc).then_some(())?;
    let mut left: Vec<i32> =
        around.iter().flat_map(|at| next(*at)).filter(|to| !around.contains(to)).collect();
    left.sort_unstable();
    left.dedup();
    left.truncate(MOST_EXITS);
    let exit = |to: i32| {
        let record = |at: i32| nodes.get(&at).and_then(|node| node.record);
        let records = records(spread(to, next).iter().filter_map(|at| nodes.get(at)));
        // As far as there is one way to go on.
        let mut at = to;
        let mut steps = 0;
        while record(at).is_none() && next(at).count() == 1 && steps < MOST_INSTRUCTIONS {
            at = next(at).next().unwrap_or(at);
            steps += 1;
        }
        Exit { records, leads_to: record(at).map_or(LeadsTo::Other, |(_, leads_to)| leads_to) }
    };
    Some(left.into_iter().map(exit).collect())
}

/// All that is reached from an offset.
fn spread<I: Iterator<Item = i32>>(from: i32, next: impl Fn(i32) -> I) -> FxHashSet<i32> {
    let mut seen = FxHashSet::from_iter([from]);
    let mut paths = VecDeque::from([from]);
    while let Some(at) = paths.pop_front() {
        paths.extend(next(at).filter(|to| seen.insert(*to)));
    }
    seen
}

/// The instructions that are reached from `pc` without passing a record; `None` where the code
/// cannot be decoded or is too much.
fn reached(code: &[u8], pc: i32, is_described: impl Fn(i32) -> bool) -> Option<FxHashMap<i32, Node>> {
    let within = |at: u64| i32::try_from(at).ok().filter(|at| (*at as usize) < code.len());
    let mut decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let mut nodes: FxHashMap<i32, Node> = FxHashMap::default();
    let mut paths = vec![pc];
    while let Some(at) = paths.pop() {
        if nodes.contains_key(&at) {
            continue;
        }
        decoder.set_position(at as usize).ok()?;
        decoder.set_ip(at as u64);
        let instruction = decoder.decode();
        if instruction.is_invalid() || nodes.len() >= MOST_INSTRUCTIONS {
            return None;
        }
        let mut node = Node::default();
        if at != pc && is_described(at) && !follows_call(code, at) {
            let leads_to = if is_poll(&instruction) { LeadsTo::Poll } else { LeadsTo::Other };
            node.record = Some((at, leads_to));
        } else {
            let after = within(instruction.next_ip());
            let target = || within(instruction.near_branch_target());
            match instruction.flow_control() {
                FlowControl::Next => node.next[0] = after,
                FlowControl::ConditionalBranch => node.next = [after, target()],
                FlowControl::UnconditionalBranch => node.next[0] = target(),
                FlowControl::Call | FlowControl::IndirectCall => {
                    let call = LeadsTo::Call(instruction.near_branch_target());
                    node.record = after.filter(|after| is_described(*after)).map(|after| (after, call));
                    node.next[0] = after.filter(|_| node.record.is_none());
                }
                _ => {}
            }
        }
        paths.extend(node.next.iter().flatten());
        nodes.insert(at, node);
    }
    Some(nodes)
}

/// Whether the record at an offset is that of a call before it, which ends there, and not of the
/// instruction that begins there: `call rel32`, or `call r10` as the compiler makes to the runtime.
fn follows_call(code: &[u8], at: i32) -> bool {
    let before = |bytes: usize| (at as usize).checked_sub(bytes).and_then(|from| code.get(from..at as usize));
    before(5).is_some_and(|call| call[0] == 0xe8) || before(3) == Some(&[0x41, 0xff, 0xd2])
}

/// `test [page], eax`: the poll of a loop.
fn is_poll(instruction: &Instruction) -> bool {
    instruction.mnemonic() == Mnemonic::Test && instruction.op0_kind() == OpKind::Memory
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails where it stands")]

    use super::*;

    /// ```text
    ///  0: nop
    ///  1: inc eax          ◀─┐
    ///  3: cmp eax, ecx       │
    ///  5: ja 18  (a check) ──│──▶ 18: call 23 (its record is at 23)
    ///  7: cmp eax, edx       │
    ///  9: jl 1  ─────────────┘
    /// 11: test [r11], eax (a poll); test eax, eax; 16: ret; nop
    /// ```
    const LOOP: [u8; 24] = [
        0x90, 0xff, 0xc0, 0x39, 0xc8, 0x77, 0x0b, 0x39, 0xd0, 0x7c, 0xf6, 0x41, 0x85, 0x03, 0x85, 0xc0, 0xc3,
        0x90, 0xe8, 0, 0, 0, 0, 0x90,
    ];

    #[test]
    fn a_loop_without_records_is_left_by_its_checks_and_at_its_end() {
        let exit = |record, leads_to| Exit { records: vec![record], leads_to };
        let of = |code: &[u8], pc, records: &[i32]| match ahead(code, pc, |at| records.contains(&at)) {
            Some(Ahead::Loop(exits)) => Some(exits),
            _ => None,
        };
        for pc in [1, 3, 5, 7, 9] {
            let expected = vec![exit(11, LeadsTo::Poll), exit(23, LeadsTo::Call(23))];
            assert_eq!(of(&LOOP, pc, &[11, 23]), Some(expected), "{pc}");
        }
        let behind = vec![exit(14, LeadsTo::Other), exit(23, LeadsTo::Call(23))];
        assert_eq!(of(&LOOP, 3, &[14, 23]), Some(behind), "no poll");
        assert_eq!(of(&LOOP, 0, &[11, 23]), None, "before the loop");
        assert_eq!(of(&LOOP, 11, &[14, 23]), None, "behind it");
        assert_eq!(of(&LOOP, 9, &[7, 11, 23]), None, "a record in the loop");
        assert_eq!(of(&LOOP[..8], 3, &[11, 23]), None, "code that ends");
    }

    /// A record of code that the pc does not lead to says nothing of it.
    #[test]
    fn straight_code_leads_to_its_own_records() {
        let of = |pc, records: &[i32]| ahead(&LOOP, pc, |at| records.contains(&at));
        assert_eq!(of(11, &[14, 23]), Some(Ahead::Records(vec![14])));
        assert_eq!(of(14, &[23]), Some(Ahead::Records(Vec::new())), "it returns");
        assert_eq!(of(0, &[11, 23]), Some(Ahead::Records(vec![11, 23])));
    }
}
