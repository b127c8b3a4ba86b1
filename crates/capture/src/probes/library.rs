//! A library of a process, and a function in it.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::procfs;
use crate::similar_names::similar_names;
use crate::symbols::demangle;

/// Larger files are not looked into; libjvm with all its symbols has 25 MB.
const LARGEST: u64 = 1 << 30;
/// Symbols that are looked at.
const MOST_SYMBOLS: usize = 4 << 20;

/// The file of a library that a process maps, as this process can open it: it may live in a
/// container, or be deleted.
pub(crate) fn find(pid: i32, library: &str) -> Result<PathBuf, String> {
    let maps = procfs::read_to_string(procfs::path(pid, "maps")).ok_or("its mappings cannot be read")?;
    let mut names = Vec::new();
    for line in maps.lines() {
        let mut words = line.splitn(6, ' ');
        let (Some(range), Some(rights), Some(path)) = (words.next(), words.next(), words.nth(3)) else {
            continue;
        };
        let path = path.trim_start();
        let name = path.rsplit('/').next().unwrap_or(path).trim_end_matches(" (deleted)");
        if !path.starts_with('/') || !rights.contains('x') {
            continue;
        }
        if path == library || name == library {
            let inside = procfs::path(pid, "root").join(path.trim_start_matches('/'));
            return Ok(if inside.exists() { inside } else { procfs::path(pid, "map_files").join(range) });
        }
        names.push(name.to_owned());
    }
    names.sort_unstable();
    names.dedup();
    let close = similar_names(library, library, &names);
    let close = if close.is_empty() { format!("; it maps {}", names.join(", ")) } else { close };
    Err(format!("it does not map {library}{close}"))
}

/// Where a function lies in a file: bytes from its beginning. The error lists functions with like
/// names.
pub(super) fn function(file: &Path, symbol: &str) -> Result<u64, String> {
    with_elf(file, |elf| {
        let is_same = |name: &str| name.split('@').next() == Some(symbol);
        let exact = functions(elf).find(|(name, _)| is_same(name));
        let found = exact
            .or_else(|| functions(elf).find(|(name, _)| name.starts_with("_Z") && demangle(name) == symbol));
        let Some((_, address)) = found else {
            let names: Vec<String> = functions(elf).map(|(name, _)| demangle(name)).collect();
            let last = symbol.rsplit("::").next().unwrap_or(symbol);
            let what = if elf.symbols().next().is_none() {
                " (it is stripped: only what it exports has a name)"
            } else {
                ""
            };
            return Err(format!("it has no function {symbol}{what}{}", similar_names(symbol, last, &names)));
        };
        place(elf, address).ok_or_else(|| "the function lies outside of the file".into())
    })
}

/// Where the functions lie whose names in the file begin in each of these ways: those of a template
/// are many.
pub(crate) fn beginning_with(file: &Path, ways: &[&str]) -> Result<Vec<Vec<u64>>, String> {
    with_elf(file, |elf| {
        let mut found = vec![Vec::new(); ways.len()];
        for (name, address) in functions(elf) {
            for (places, way) in found.iter_mut().zip(ways) {
                // Parts that a compiler has split off are called ".cold" or ".part.0".
                if name.starts_with(way) && !name.contains('.') {
                    places.extend(place(elf, address));
                }
            }
        }
        Ok(found)
    })
}

type Elf<'a> = ElfFile64<'a, LittleEndian>;

fn with_elf<T>(file: &Path, read: impl FnOnce(&Elf<'_>) -> Result<T, String>) -> Result<T, String> {
    let failed = |error: std::io::Error| format!("{}: {error}", file.display());
    let opened = File::open(file).map_err(failed)?;
    if opened.metadata().map_or(0, |info| info.len()) > LARGEST {
        return Err("it is too large a file".into());
    }
    // SAFETY: the mapping is only read; a file that is cut meanwhile ends this process, as it ends
    // the one that runs it.
    let bytes = unsafe { memmap2::Mmap::map(&opened) }.map_err(failed)?;
    let elf = ElfFile64::parse(&*bytes).map_err(|error| format!("it is no library: {error}"))?;
    read(&elf)
}

/// Its functions with their addresses.
fn functions<'a>(elf: &'a Elf<'_>) -> impl Iterator<Item = (&'a str, u64)> {
    let all = elf.dynamic_symbols().chain(elf.symbols()).take(MOST_SYMBOLS);
    let defined = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
    defined.filter_map(|symbol| Some((symbol.name().ok()?, symbol.address())))
}

/// Where an address lies in the file.
fn place(elf: &Elf<'_>, address: u64) -> Option<u64> {
    let mut segments = elf.segments();
    let of = segments.find(|part| (part.address()..part.address() + part.size()).contains(&address))?;
    Some(address - of.address() + of.file_range().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_c_library_are_found_and_for_misspelt_ones_the_error_lists_those_near() {
        let pid = std::process::id().cast_signed();
        let libc = find(pid, "libc.so.6").unwrap();
        let (open, open64) = (function(&libc, "open").unwrap(), function(&libc, "open64").unwrap());
        assert!(open > 0 && open64 > 0);
        assert!(function(&libc, "getaddrinfoo").unwrap_err().contains("getaddrinfo"));
        let found = beginning_with(&libc, &["getaddrinf", "nothing_of_this_name"]).unwrap();
        assert!(!found[0].is_empty() && found[1].is_empty(), "{found:?}");
        assert!(find(pid, "libd.so.6").unwrap_err().contains("libc.so.6"));
    }
}
