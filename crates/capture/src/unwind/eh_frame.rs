//! Unwind rows of an ELF file from its `.eh_frame` (x86-64 psABI, DWARF 5 section 6.4).
//!
//! Compilers use few of the rules that there are: the caller's stack pointer is the stack or frame
//! pointer and a number, the return address lies below it, rbp is saved or not. Rows say that much;
//! what is beyond (a handful of functions in libgcc, ld.so and libc) is marked as not supported.

use gimli::{
    BaseAddresses, CfaRule, EhFrame, EndianSlice, LittleEndian, Operation, Register, RegisterRule,
    UnwindContext, UnwindExpression, UnwindSection, X86_64,
};
use object::{Object, ObjectSection, ReadRef};

use super::rows::RowAt;
use super::shared::RowKind;

type Slice<'a> = EndianSlice<'a, LittleEndian>;
type Eh<'a> = EhFrame<Slice<'a>>;

/// Rows of one file at most: the largest known (a browser) has two million.
const MOST_ROWS: usize = 1 << 23;

/// The rows of a file, by its own addresses, in no order. What cannot be read is left out: a hole
/// in the table shows as such where a stack meets it.
pub fn rows_of_elf<'data, R: ReadRef<'data>>(elf: &object::File<'data, R>) -> Vec<RowAt> {
    let mut rows = Vec::new();
    let Some(section) = elf.section_by_name(".eh_frame") else { return rows };
    let Ok(data) = section.uncompressed_data() else { return rows };
    let eh = EhFrame::new(&data, LittleEndian);
    let address = |name: &str| elf.section_by_name(name).map_or(0, |section| section.address());
    let bases = BaseAddresses::default()
        .set_eh_frame(section.address())
        .set_eh_frame_hdr(address(".eh_frame_hdr"))
        .set_text(address(".text"))
        .set_got(address(".got"));
    let mut context = UnwindContext::new();
    let mut entries = eh.entries(&bases);
    // An entry that is damaged ends the reading: where the next one begins is not known then.
    while let Ok(Some(entry)) = entries.next() {
        let gimli::CieOrFde::Fde(partial) = entry else { continue };
        let Ok(fde) = partial.parse(Eh::cie_from_offset) else { continue };
        if rows.len() > MOST_ROWS || fde.len() == 0 {
            continue;
        }
        let begin = rows.len();
        let Ok(mut table) = fde.rows(&eh, &bases, &mut context) else { continue };
        while let Ok(Some(row)) = table.next_row() {
            let (kind, fp, cfa) = match fde.is_signal_trampoline() {
                true => (RowKind::Signal, 0, 0),
                false => rule(row, &fde, &eh),
            };
            rows.push(RowAt { at: row.start_address(), kind, fp, cfa });
            if rows.len() - begin > 1 << 16 {
                break;
            }
        }
        rows.push(RowAt::none(fde.end_address()));
    }
    // Of an end and a beginning at one address the beginning holds: it has to come last.
    rows.sort_by_key(|row| (row.at, row.kind != RowKind::None));
    rows
}

fn rule(
    row: &gimli::UnwindTableRow<usize>,
    fde: &gimli::FrameDescriptionEntry<Slice<'_>>,
    eh: &Eh<'_>,
) -> (RowKind, i8, i32) {
    const UNSUPPORTED: (RowKind, i8, i32) = (RowKind::Unsupported, 0, 0);
    match row.register(X86_64::RA) {
        Some(RegisterRule::Undefined) => return (RowKind::End, 0, 0),
        Some(RegisterRule::Offset(-8)) => {}
        _ => return UNSUPPORTED,
    }
    let fp = match row.register(X86_64::RBP) {
        None | Some(RegisterRule::Undefined | RegisterRule::SameValue) => Some(0),
        Some(RegisterRule::Offset(offset)) if offset % 8 == 0 => {
            i8::try_from(offset / 8).ok().filter(|o| *o != 0)
        }
        _ => None,
    };
    match row.cfa() {
        CfaRule::RegisterAndOffset { register, offset } => {
            let kind = match *register {
                X86_64::RSP => RowKind::Sp,
                X86_64::RBP => RowKind::Fp,
                _ => return UNSUPPORTED,
            };
            match (fp, i32::try_from(*offset)) {
                (Some(fp), Ok(cfa)) => (kind, fp, cfa),
                _ => UNSUPPORTED,
            }
        }
        CfaRule::Expression(expression) => of_expression(expression, fde, eh),
    }
}

/// The two expressions in use: entries of the PLT, and functions that align their stack and keep
/// where it was.
fn of_expression(
    expression: &UnwindExpression<usize>,
    fde: &gimli::FrameDescriptionEntry<Slice<'_>>,
    eh: &Eh<'_>,
) -> (RowKind, i8, i32) {
    let encoding = fde.cie().encoding();
    let Ok(expression) = expression.get(eh) else { return (RowKind::Unsupported, 0, 0) };
    let mut operations = expression.operations(encoding);
    let mut all = Vec::new();
    while let Ok(Some(operation)) = operations.next() {
        all.push(operation);
        if all.len() > 16 {
            break;
        }
    }
    let register = |operation: &Operation<Slice<'_>>, register: Register| match operation {
        Operation::RegisterOffset { register: r, offset, .. } if *r == register => Some(*offset),
        _ => None,
    };
    match all.as_slice() {
        // rsp + 8 + ((rip & 15) >= 11) * 8
        [sp, ip, ..]
            if register(sp, X86_64::RSP) == Some(8)
                && register(ip, X86_64::RA) == Some(0)
                && all.contains(&Operation::Ge) =>
        {
            (RowKind::Plt, 0, 0)
        }
        [fp, Operation::Deref { .. }] if all.len() == 2 => match register(fp, X86_64::RBP) {
            Some(offset) => (RowKind::FpDeref, 0, i32::try_from(offset).unwrap_or(0)),
            None => (RowKind::Unsupported, 0, 0),
        },
        _ => (RowKind::Unsupported, 0, 0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_c_library_has_rows_of_every_kind_and_few_that_are_not_supported() {
        let maps = fathom_hotspot::maps::read(std::process::id()).unwrap();
        let libc = maps.iter().find(|m| m.executable && m.file_name().starts_with("libc.so")).unwrap();
        let data = std::fs::read(&libc.path).unwrap();
        let rows = rows_of_elf(&object::File::parse(data.as_slice()).unwrap());
        let count = |kind| rows.iter().filter(|row| row.kind == kind).count();
        assert!(count(RowKind::Sp) > 1000);
        assert!(count(RowKind::Fp) > 100);
        assert_eq!(count(RowKind::Signal), 1, "__restore_rt");
        assert!(count(RowKind::End) >= 1, "clone's child");
        assert!(count(RowKind::Unsupported) < 100, "{}", count(RowKind::Unsupported));
    }
}
