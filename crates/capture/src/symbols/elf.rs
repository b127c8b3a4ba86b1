//! The functions of an ELF file, by its own addresses.

use std::fs::File;
use std::sync::Arc;

use object::elf::{
    FileHeader64, SHF_EXECINSTR, SHN_UNDEF, SHT_DYNSYM, SHT_NOTE, SHT_SYMTAB, STB_LOCAL, STT_FUNC,
    STT_GNU_IFUNC, STT_NOTYPE,
};
use object::read::elf::{FileHeader, SectionHeader, SectionTable, Sym};
use object::{LittleEndian, ReadCache, ReadRef};
use rustc_hash::FxHashMap;

use super::demangle::demangle;

/// Larger tables of symbols, and of their names, are not read. libjvm.so with all its symbols has 2
/// and 5 MB.
const LARGEST_TABLE: u64 = 128 << 20;
/// Sections of a file that is looked into.
const MOST_SECTIONS: u32 = 1 << 16;
/// Functions of one file that are kept.
const MOST_FUNCTIONS: usize = 4 << 20;
/// Longest symbol kept; longer ones are cut.
const LONGEST_SYMBOL: usize = 4096;
/// How far a function without a size reaches at most (hand-written assembly has none).
const LONGEST_SIZELESS: u64 = 64 << 10;
/// Longest build id; 20 bytes are usual.
const LONGEST_BUILD_ID: usize = 64;
/// Larger sections of notes are not looked into; real ones have some 100 bytes, libjvm's with its
/// probes 60 KB.
const LARGEST_NOTES: u64 = 1 << 20;

/// A function: 16 bytes, so that libjvm's 50,000 cost less than their names.
#[derive(Clone, Copy, Debug)]
struct Function {
    address: u64,
    size: u32,
    /// Where its symbol begins in `names`; it ends at a NUL.
    name: u32,
}

/// The functions of one file.
#[derive(Debug, Default)]
pub struct ElfFunctions {
    /// By address, one an address.
    functions: Vec<Function>,
    names: Vec<u8>,
    /// Made when first asked for.
    demangled: FxHashMap<u32, Arc<str>>,
}

/// What else a file says of itself.
#[derive(Debug, Default)]
pub struct ElfFacts {
    /// Its build id.
    pub build_id: Vec<u8>,
    /// Whether it has the full table of symbols and not only the exported ones.
    pub has_symtab: bool,
    /// Loadable parts: offset in the file, size in the file, its own address.
    pub segments: Vec<(u64, u64, u64)>,
}

impl ElfFacts {
    /// The file's own address of an offset in it.
    pub fn address(&self, offset: u64) -> Option<u64> {
        let (begin, _, address) =
            self.segments.iter().find(|(begin, size, _)| offset.wrapping_sub(*begin) < *size)?;
        Some(address.wrapping_add(offset - begin))
    }
}

impl ElfFunctions {
    /// Reads a file: the full table of symbols where it has one, or the exported ones. `None`: it
    /// is no 64-bit little-endian ELF file that can be read.
    pub fn read(file: &File) -> Option<(Self, ElfFacts)> {
        Self::parse(&ReadCache::new(file.try_clone().ok()?))
    }

    /// The same of an image in memory, as the vDSO is.
    pub fn of_image(image: &[u8]) -> Option<(Self, ElfFacts)> {
        Self::parse(image)
    }

    fn parse<'a, R: ReadRef<'a>>(data: R) -> Option<(Self, ElfFacts)> {
        let header = FileHeader64::<LittleEndian>::parse(data).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, data).ok()?;
        let mut facts = ElfFacts {
            segments: segments
                .iter()
                .filter(|segment| segment.p_type.get(endian) == object::elf::PT_LOAD)
                .map(|s| (s.p_offset.get(endian), s.p_filesz.get(endian), s.p_vaddr.get(endian)))
                .collect(),
            ..ElfFacts::default()
        };
        let mut functions = Self::default();
        // A file may have no sections at all: then nothing has a name.
        if header.shnum(endian, data).is_ok_and(|count| (1..=MOST_SECTIONS).contains(&count))
            && let Ok(sections) = header.sections(endian, data)
        {
            facts.build_id = build_id(&sections, endian, data);
            let mut table = |kind| functions.take(&sections, endian, data, kind).unwrap_or(false);
            facts.has_symtab = table(SHT_SYMTAB);
            if !facts.has_symtab {
                table(SHT_DYNSYM);
            }
        }
        functions.sort();
        Some((functions, facts))
    }

    /// Takes the functions of a table; whether there is one.
    fn take<'a, R: ReadRef<'a>>(
        &mut self,
        sections: &SectionTable<'a, FileHeader64<LittleEndian>, R>,
        endian: LittleEndian,
        data: R,
        kind: object::elf::SectionType,
    ) -> Option<bool> {
        let Some(section) = sections.iter().find(|section| section.sh_type(endian) == kind) else {
            return Some(false);
        };
        let strings = sections.section(object::SectionIndex(section.sh_link(endian) as usize)).ok()?;
        if section.sh_size(endian) > LARGEST_TABLE || strings.sh_size(endian) > LARGEST_TABLE {
            return None;
        }
        let symbols = section.data_as_array::<object::elf::Sym64<LittleEndian>, _>(endian, data).ok()?;
        let strings = strings.data(endian, data).ok()?;
        for symbol in symbols {
            let is_code = match symbol.st_type() {
                STT_FUNC | STT_GNU_IFUNC => true,
                // Labels of hand-written assembly.
                STT_NOTYPE => symbol.st_bind() != STB_LOCAL && in_code(sections, endian, symbol),
                _ => false,
            };
            let at = symbol.st_name(endian) as usize;
            if !is_code || symbol.st_shndx(endian) == SHN_UNDEF || self.functions.len() >= MOST_FUNCTIONS {
                continue;
            }
            let Some(name) = strings.get(at..) else { continue };
            let end = name.iter().take(LONGEST_SYMBOL).position(|byte| *byte == 0).unwrap_or(LONGEST_SYMBOL);
            let name = &name[..end.min(name.len())];
            let (Ok(begin), false) = (u32::try_from(self.names.len()), name.is_empty()) else { continue };
            self.names.extend_from_slice(name);
            self.names.push(0);
            let size = symbol.st_size(endian).min(u64::from(u32::MAX)) as u32;
            self.functions.push(Function { address: symbol.st_value(endian), size, name: begin });
        }
        Some(true)
    }

    /// By address; of several names of one function the one that people use: with a size, with few
    /// leading underscores, short.
    fn sort(&mut self) {
        let names = std::mem::take(&mut self.names);
        let rank = |function: &Function| {
            let name = c_string(&names, function.name);
            let underscores = name.iter().take_while(|byte| **byte == b'_').count();
            let mangled = name.starts_with(b"_Z") || name.starts_with(b"_R");
            (function.size == 0, if mangled { 0 } else { underscores }, name.len())
        };
        let better = |a: &Function, b: &Function| {
            rank(a).cmp(&rank(b)).then_with(|| c_string(&names, a.name).cmp(c_string(&names, b.name)))
        };
        // Most addresses have one name: looking at names for those, too, took a tenth of a second
        // for a libjvm.
        self.functions.sort_by(|a, b| a.address.cmp(&b.address).then_with(|| better(a, b)));
        self.functions.dedup_by_key(|function| function.address);
        self.functions.shrink_to_fit();
        self.names = names;
        self.names.shrink_to_fit();
    }

    /// Adds those of a file of debugging information, which knows the same addresses.
    pub fn replace_with(&mut self, fuller: Self) {
        if fuller.functions.len() > self.functions.len() {
            *self = fuller;
        }
    }

    /// How many functions there are.
    pub fn len(&self) -> usize {
        self.functions.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.functions.is_empty()
    }

    /// About how many bytes it holds.
    pub fn bytes(&self) -> usize {
        self.functions.len() * size_of::<Function>() + self.names.len()
    }

    /// The name of the function that holds an address of the file, demangled.
    pub fn name(&mut self, address: u64) -> Option<Arc<str>> {
        let behind = self.functions.partition_point(|function| function.address <= address);
        let function = self.functions[..behind].last()?;
        let inside = address - function.address;
        let reach = if function.size == 0 { LONGEST_SIZELESS } else { u64::from(function.size) };
        if inside >= reach {
            return None;
        }
        let (names, at) = (&self.names, function.name);
        let name = self
            .demangled
            .entry(at)
            .or_insert_with(|| demangle(&String::from_utf8_lossy(c_string(names, at))).into());
        Some(name.clone())
    }
}

/// The bytes from a place until a NUL.
fn c_string(names: &[u8], at: u32) -> &[u8] {
    let name = names.get(at as usize..).unwrap_or_default();
    &name[..name.iter().position(|byte| *byte == 0).unwrap_or(name.len())]
}

/// Whether a symbol lies in a section of instructions.
fn in_code<'a, R: ReadRef<'a>>(
    sections: &SectionTable<'a, FileHeader64<LittleEndian>, R>,
    endian: LittleEndian,
    symbol: &object::elf::Sym64<LittleEndian>,
) -> bool {
    let index = object::SectionIndex(usize::from(symbol.st_shndx(endian).0));
    sections.section(index).is_ok_and(|section| section.sh_flags(endian).0 & SHF_EXECINSTR.0 != 0)
}

/// The build id of a file, empty without one.
fn build_id<'a, R: ReadRef<'a>>(
    sections: &SectionTable<'a, FileHeader64<LittleEndian>, R>,
    endian: LittleEndian,
    data: R,
) -> Vec<u8> {
    let notes = sections
        .iter()
        .filter(|section| section.sh_type(endian) == SHT_NOTE && section.sh_size(endian) <= LARGEST_NOTES);
    for section in notes {
        let Ok(Some(mut notes)) = section.notes(endian, data) else { continue };
        while let Ok(Some(note)) = notes.next() {
            if note.n_type(endian) == object::elf::NT_GNU_BUILD_ID && note.name() == object::elf::ELF_NOTE_GNU
            {
                return note.desc().iter().copied().take(LONGEST_BUILD_ID).collect();
            }
        }
    }
    Vec::new()
}
