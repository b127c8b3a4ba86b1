//! A Java method: what it is called and which line a bytecode belongs to.

use super::names::class_name;
use super::unsigned5::Unsigned5;
use crate::layout::MethodLayout;
use crate::memory::Memory;
use crate::{Error, Result};

/// Bytes of a name kept; class files allow 65535, longer names than this are truncated.
const LONGEST_NAME: usize = 1024;
/// A `ConstMethod` has up to 65535 bytes of bytecodes, and tables; this is beyond what the class
/// file format yields.
const LARGEST_CONST_METHOD: u64 = 1 << 20;
/// Entries of a line number table kept; the format allows 65535.
const MOST_LINES: usize = 1 << 16;
/// `JVM_ACC_NATIVE`, as in the class file.
const NATIVE: i64 = 0x0100;

/// What is known of a method.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Method {
    /// Its class: "java.lang.String", hidden classes without their address.
    pub class: String,
    /// Its name: "hashCode", "<init>".
    pub name: String,
    /// Its descriptor: "(I)V".
    pub signature: String,
    /// Whether it is native.
    pub native: bool,
    /// Bytes of its bytecodes.
    pub code_size: u32,
    /// Where lines begin: (bytecode index, line), in the order of the table.
    lines: Vec<(u16, u16)>,
}

impl Method {
    /// Reads the method at an address. Anything may lie there by now: what does not look like a
    /// method is an error.
    pub fn read(memory: &impl Memory, layout: &MethodLayout, feature: u32, method: u64) -> Result<Self> {
        let const_method = layout.const_method.read_u64(memory, method)?;
        let head = memory.read_bytes(const_method, layout.const_method_size_of.0 as usize)?;
        let field = |field: crate::layout::Field, what: &'static str| {
            field.in_bytes(&head).ok_or_else(|| implausible(what, u64::from(field.offset)))
        };
        let pool = field(layout.constants, "place of the constant pool")? as u64;
        let code_size = field(layout.code_size, "place of the bytecode size")? as u64;
        let bytes =
            (field(layout.const_method_words, "place of the ConstMethod size")? as u64).wrapping_mul(8);
        let begin = u64::from(layout.const_method_size_of.0);
        if bytes > LARGEST_CONST_METHOD || begin + code_size > bytes {
            return Err(implausible("size of a ConstMethod", bytes));
        }
        let length = layout.pool_length.read_u64(memory, pool)?;
        let symbol = |index: i64| -> Result<String> {
            let index = index as u64;
            if index == 0 || index >= length.min(1 << 16) {
                return Err(implausible("index of a name in a constant pool", index));
            }
            let entry = pool.wrapping_add(u64::from(layout.pool_size_of.0)).wrapping_add(index * 8);
            read_symbol(memory, layout, memory.read_u64(entry)?)
        };
        let name = symbol(field(layout.name_index, "place of the name index")?)?;
        let signature = symbol(field(layout.signature_index, "place of the signature index")?)?;
        if name.is_empty() || !signature.starts_with('(') {
            return Err(implausible("signature of a method", method));
        }
        let holder = layout.pool_holder.read_u64(memory, pool)?;
        let class = read_symbol(memory, layout, layout.klass_name.read_u64(memory, holder)?)?;
        let flags = field(layout.flags, "place of the ConstMethod flags")?;
        let lines = if flags & layout.has_line_numbers.0 == 0 {
            Vec::new()
        } else {
            let table = memory.read_bytes(
                const_method.wrapping_add(begin + code_size),
                (bytes - begin - code_size) as usize,
            )?;
            decode_lines(&table, feature)
        };
        Ok(Self {
            class: class_name(&class),
            name,
            signature,
            native: layout.access_flags.read(memory, method)? & NATIVE != 0,
            code_size: code_size as u32,
            lines,
        })
    }

    /// "class.method", as frames are named.
    pub fn full_name(&self) -> String {
        format!("{}.{}", self.class, self.name)
    }

    /// The line of a bytecode: that of the last entry at or before it
    /// (`Method::line_number_from_bci`).
    pub fn line(&self, bci: i32) -> Option<u32> {
        let bci = u16::try_from(bci).ok().filter(|bci| u32::from(*bci) < self.code_size)?;
        let mut best: Option<(u16, u16)> = None;
        for (start, line) in self.lines.iter().copied() {
            if start == bci {
                return Some(u32::from(line));
            }
            if start < bci && best.is_none_or(|(before, _)| start >= before) {
                best = Some((start, line));
            }
        }
        best.map(|(_, line)| u32::from(line))
    }

    /// Approximate bytes that it holds.
    pub(super) fn weight(&self) -> usize {
        128 + self.class.len() + self.name.len() + self.signature.len() + self.lines.len() * 4
    }
}

/// A `Symbol`.
pub(crate) fn read_symbol(memory: &impl Memory, layout: &MethodLayout, symbol: u64) -> Result<String> {
    if symbol < 4096 {
        return Err(implausible("address of a symbol", symbol));
    }
    let length = layout.symbol_length.read_u64(memory, symbol)?;
    let bytes = memory.read_bytes(layout.symbol_body.of(symbol), (length as usize).min(LONGEST_NAME))?;
    if bytes.iter().any(|byte| *byte < b' ') {
        return Err(implausible("a name", symbol));
    }
    Ok(fathom_recording::jvm_text(&bytes).into_owned())
}

/// The compressed line number table (src/hotspot/share/code/compressedStream.hpp and
/// oops/method.hpp): a byte of 5 bits of bytecodes and 3 bits of lines, or 0xff and two signed
/// numbers; 0 ends it.
fn decode_lines(table: &[u8], feature: u32) -> Vec<(u16, u16)> {
    let mut stream = Unsigned5::new(table, 0, feature);
    let (mut bci, mut line) = (0i32, 0i32);
    let mut lines = Vec::new();
    while lines.len() < MOST_LINES {
        let (bci_step, line_step) = match stream.byte() {
            None | Some(0) => break,
            Some(0xff) => match (stream.signed(), stream.signed()) {
                (Some(bci), Some(line)) => (bci, line),
                _ => break,
            },
            Some(byte) => (i32::from(byte >> 3), i32::from(byte & 7)),
        };
        bci = bci.wrapping_add(bci_step);
        line = line.wrapping_add(line_step);
        let (Ok(bci), Ok(line)) = (u16::try_from(bci), u16::try_from(line)) else { break };
        lines.push((bci, line));
    }
    lines
}

fn implausible(what: &str, value: u64) -> Error {
    Error::Implausible { what: what.to_owned(), value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_between_and_at_the_entries_of_the_table() {
        // (0, 10) as a pair of signed numbers, (3, 11) and (8, 13) as a byte each, and a loop's (2,
        // 15) after them.
        let table = [0xff, 0, 20, 3 << 3 | 1, 5 << 3 | 2, 0xff, 11, 4, 0, 99];
        let lines = decode_lines(&table, 8);
        assert_eq!(lines, [(0, 10), (3, 11), (8, 13), (2, 15)]);
        let method = Method {
            class: "a.B".to_owned(),
            name: "c".to_owned(),
            signature: "()V".to_owned(),
            native: false,
            code_size: 10,
            lines,
        };
        let line = |bci| method.line(bci);
        assert_eq!(
            [line(0), line(1), line(2), line(4), line(9)],
            [Some(10), Some(10), Some(15), Some(11), Some(13)]
        );
        assert_eq!([line(10), line(-1), line(70_000)], [None; 3], "outside of the method");
    }
}
