//! A library of a process, and a function in it.

use std::fs::File;
use std::path::{Path, PathBuf};

use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSegment, ObjectSymbol, SymbolKind};

use crate::near::near;
use crate::procfs;
use crate::symbols::demangle;

/// Larger files are not looked into; libjvm with all its symbols has 25 MB.
const LARGEST: u64 = 1 << 30;
/// Symbols that are looked at.
const MOST_SYMBOLS: usize = 4 << 20;

/// The file of a library that a process maps, as this process can open it: it may live in a container, or be deleted.
pub(super) fn find(pid: i32, library: &str) -> Result<PathBuf, String> {
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
    let close = near(library, library, &names);
    let close = if close.is_empty() { format!("; it maps {}", names.join(", ")) } else { close };
    Err(format!("it does not map {library}{close}"))
}

/// Where a function lies in a file: bytes from its beginning. The error tells functions with like names.
pub(super) fn function(file: &Path, symbol: &str) -> Result<u64, String> {
    let opened = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    if opened.metadata().map_or(0, |info| info.len()) > LARGEST {
        return Err("it is too large a file".into());
    }
    // SAFETY: the mapping is only read; a file that is cut meanwhile ends this process, as it ends the one that runs it.
    let bytes =
        unsafe { memmap2::Mmap::map(&opened) }.map_err(|error| format!("{}: {error}", file.display()))?;
    let elf =
        ElfFile64::<LittleEndian, _>::parse(&*bytes).map_err(|error| format!("it is no library: {error}"))?;
    let functions = || {
        let all = elf.dynamic_symbols().chain(elf.symbols()).take(MOST_SYMBOLS);
        let defined = all.filter(|symbol| symbol.kind() == SymbolKind::Text && symbol.is_definition());
        defined.filter_map(|symbol| Some((symbol.name().ok()?.to_owned(), symbol.address())))
    };
    let is_same = |name: &str| name.split('@').next() == Some(symbol);
    let exact = functions().find(|(name, _)| is_same(name));
    let found =
        exact.or_else(|| functions().find(|(name, _)| name.starts_with("_Z") && demangle(name) == symbol));
    let Some((_, address)) = found else {
        let names: Vec<String> = functions().map(|(name, _)| demangle(&name)).collect();
        let last = symbol.rsplit("::").next().unwrap_or(symbol);
        let what = if elf.symbols().next().is_none() {
            " (it is stripped: only what it exports has a name)"
        } else {
            ""
        };
        return Err(format!("it has no function {symbol}{what}{}", near(symbol, last, &names)));
    };
    let segment =
        elf.segments().find(|part| (part.address()..part.address() + part.size()).contains(&address));
    let segment = segment.ok_or("the function lies outside of the file")?;
    Ok(address - segment.address() + segment.file_range().0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_the_c_library_are_found_and_misspelt_ones_are_told() {
        let pid = std::process::id().cast_signed();
        let libc = find(pid, "libc.so.6").unwrap();
        let (open, open64) = (function(&libc, "open").unwrap(), function(&libc, "open64").unwrap());
        assert!(open > 0 && open64 > 0);
        assert!(function(&libc, "getaddrinfoo").unwrap_err().contains("getaddrinfo"));
        assert!(find(pid, "libd.so.6").unwrap_err().contains("libc.so.6"));
    }
}
