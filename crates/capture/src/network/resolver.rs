//! Where `getaddrinfo` begins and returns in the C library that a process has mapped.
//!
//! A return is caught at the return instructions themselves. A return probe (uretprobe) would put
//! the kernel's address in the place of the caller's, and the stack of every sample and wait within
//! the look-up would end there.

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use iced_x86::{Decoder, DecoderOptions, Mnemonic};
use object::read::elf::ElfFile64;
use object::{LittleEndian, Object, ObjectSection, ObjectSymbol, ReadCache};

use crate::procfs;

/// The function. Both glibc and musl export it, and nothing else resolves names in a JVM
/// (Inet4AddressImpl.c and Inet6AddressImpl.c of the JDK).
pub(super) const FUNCTION: &str = "getaddrinfo";
/// Larger functions are not looked into; glibc's has 8 KB.
const LARGEST: u64 = 64 << 10;
/// Return instructions at most; compilers make one or a few.
const MOST_RETURNS: usize = 16;

/// Where it returns.
pub(super) struct Resolver {
    /// The library, as this process can open it.
    pub(super) library: PathBuf,
    /// Offsets of its return instructions from its beginning.
    pub(super) returns: Vec<usize>,
}

/// Finds it in the libraries of a process. `Ok(None)`: no C library is mapped, or not yet.
pub(super) fn find(pid: i32) -> Result<Option<Resolver>, String> {
    let maps = procfs::read_to_string(procfs::path(pid, "maps")).unwrap_or_default();
    let Some(library) = maps.lines().find_map(|line| library(pid, line)) else { return Ok(None) };
    let returns = returns(&library).map_err(|why| format!("{}: {why}", library.display()))?;
    Ok(Some(Resolver { library, returns }))
}

/// The C library of a line of /proc/PID/maps, as this process can open it: through the root of the
/// process, as it may live in a container, or through its map, when the file was replaced since.
fn library(pid: i32, line: &str) -> Option<PathBuf> {
    let path = line.get(line.find('/')?..)?;
    let name = path.rsplit('/').next()?;
    if !is_c_library(name) {
        return None;
    }
    let mut words = line.split_ascii_whitespace();
    let (range, inode) = (words.next()?, words.nth(3)?.parse::<u64>().ok()?);
    let inside = procfs::path(pid, "root").join(path.trim_start_matches('/'));
    let same = std::fs::metadata(&inside).is_ok_and(|info| info.ino() == inode);
    Some(if same { inside } else { procfs::path(pid, "map_files").join(range) })
}

fn is_c_library(name: &str) -> bool {
    let name = name.strip_suffix(" (deleted)").unwrap_or(name);
    name == "libc.so.6"
        || (name.starts_with("libc-2.") && name.ends_with(".so"))
        || (name.starts_with("ld-musl-") && name.contains(".so"))
        || name.starts_with("libc.musl-")
}

fn returns(library: &Path) -> Result<Vec<usize>, String> {
    let text = |error: &dyn std::fmt::Display| error.to_string();
    let file = ReadCache::new(File::open(library).map_err(|e| text(&e))?);
    let elf = ElfFile64::<LittleEndian, _>::parse(&file).map_err(|e| text(&e))?;
    let symbol = elf
        .dynamic_symbols()
        .find(|symbol| symbol.name() == Ok(FUNCTION) && symbol.is_definition())
        .ok_or("it does not export getaddrinfo")?;
    let (at, size) = (symbol.address(), symbol.size());
    if size == 0 || size > LARGEST {
        return Err(format!("its getaddrinfo has {size} bytes"));
    }
    let code = elf
        .sections()
        .find_map(|section| section.data_range(at, size).ok().flatten())
        .ok_or("the code of its getaddrinfo is not in the file")?;
    let found = return_instructions(code);
    if found.is_empty() { Err("its getaddrinfo has no return instruction".into()) } else { Ok(found) }
}

fn return_instructions(code: &[u8]) -> Vec<usize> {
    let decoder = Decoder::new(64, code, DecoderOptions::NONE);
    let returns = decoder.into_iter().filter(|instruction| instruction.mnemonic() == Mnemonic::Ret);
    returns.map(|instruction| instruction.ip() as usize).take(MOST_RETURNS).collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn returns_are_found_between_instructions_and_not_within_them() {
        // mov eax, 0xc3c3c3c3; ret; xor eax, eax; ret
        let code = [0xb8, 0xc3, 0xc3, 0xc3, 0xc3, 0xc3, 0x31, 0xc0, 0xc3];
        assert_eq!(return_instructions(&code), [5, 8]);
    }

    #[test]
    fn c_libraries_are_known_by_their_names() {
        for name in [
            "libc.so.6",
            "libc-2.28.so",
            "ld-musl-x86_64.so.1",
            "libc.musl-x86_64.so.1",
            "libc.so.6 (deleted)",
        ] {
            assert!(is_c_library(name), "{name}");
        }
        for name in ["libcap.so.2", "libjava.so", "libc-client.so", "ld-linux-x86-64.so.2"] {
            assert!(!is_c_library(name), "{name}");
        }
    }

    #[test]
    fn the_library_of_this_process_is_found_with_its_returns() {
        let pid = std::process::id() as i32;
        let Some(resolver) = find(pid).unwrap() else {
            fathom_testing::skip("no C library is mapped here");
            return;
        };
        assert!(!resolver.returns.is_empty() && resolver.library.exists());
    }
}
