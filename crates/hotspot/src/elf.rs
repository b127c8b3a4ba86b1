//! Symbols that a loaded library exports, found in the memory of the process.
//!
//! The file of the library is not needed: it may be deleted, replaced by an update, or lie in a
//! mount namespace that cannot be entered. What the dynamic loader uses is in memory: ELF header,
//! program headers, the dynamic section, and its hash table of exported symbols (System V ABI,
//! chapter 5; `DT_GNU_HASH` as glibc and binutils have it).

use crate::memory::{Memory, Unreadable};

/// Program headers looked at.
const MOST_HEADERS: u16 = 64;
/// Entries of the dynamic section looked at; libjvm has some 40.
const MOST_ENTRIES: u64 = 512;
/// Symbols that share a bucket of a hash table, at most. Real chains are of 1 to 10.
const LONGEST_CHAIN: u32 = 1024;

const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PT_TLS: u32 = 7;
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
/// `sizeof(Elf64_Sym)`.
const SYMBOL_SIZE: u64 = 24;
/// What `st_info` of a thread-local variable has in its lower four bits.
const STT_TLS: u8 = 6;

/// A 64-bit ELF library as it lies in memory.
#[derive(Clone, Copy, Debug)]
pub struct LoadedElf {
    /// What to add to an address of the file to get one of memory.
    pub bias: u64,
    /// First address after its last segment.
    pub end: u64,
    /// Its thread-local variables; `None`: it has none.
    pub tls: Option<TlsSegment>,
    symbols: u64,
    strings: u64,
    hash: Hash,
}

/// The segment of a library's thread-local variables (`PT_TLS`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TlsSegment {
    /// The file's own address of its first byte.
    pub address: u64,
    /// Bytes of a thread.
    pub size: u64,
    /// A power of two, or 0.
    pub align: u64,
}

/// An exported symbol.
#[derive(Clone, Copy, Debug)]
struct Symbol {
    info: u8,
    value: u64,
}

#[derive(Clone, Copy, Debug)]
enum Hash {
    Gnu(u64),
    SystemV(u64),
}

impl LoadedElf {
    /// The library whose first page lies at `base`. `None`: no 64-bit little-endian ELF file with
    /// exported symbols.
    pub fn at(memory: &impl Memory, base: u64) -> Result<Option<Self>, Unreadable> {
        let head: [u8; 64] = memory.read_array(base)?;
        if head[..6] != *b"\x7fELF\x02\x01" {
            return Ok(None);
        }
        let number = |at: usize| u64::from_le_bytes(std::array::from_fn(|i| head[at + i]));
        let short = |at: usize| u16::from_le_bytes([head[at], head[at + 1]]);
        let (table, size, count) = (base.wrapping_add(number(32)), short(54), short(56).min(MOST_HEADERS));
        let (mut bias, mut end, mut dynamic, mut tls) = (None, 0u64, None, None);
        for i in 0..u64::from(count) {
            let header = table.wrapping_add(i * u64::from(size));
            let kind = memory.read_u32(header)?;
            let address = memory.read_u64(header.wrapping_add(16))?;
            if kind == PT_LOAD {
                // The first segment holds the ELF header, so its address in the file belongs to
                // `base`.
                bias = bias.or(Some(base.wrapping_sub(address & !0xfff)));
                end = end.max(address.wrapping_add(memory.read_u64(header.wrapping_add(40))?));
            } else if kind == PT_DYNAMIC {
                dynamic = Some(address);
            } else if kind == PT_TLS {
                let size = memory.read_u64(header.wrapping_add(40))?;
                tls = Some(TlsSegment { address, size, align: memory.read_u64(header.wrapping_add(48))? });
            }
        }
        let (Some(bias), Some(dynamic)) = (bias, dynamic) else { return Ok(None) };
        let (mut symbols, mut strings, mut gnu, mut sysv) = (None, None, None, None);
        for i in 0..MOST_ENTRIES {
            let entry = bias.wrapping_add(dynamic).wrapping_add(i * 16);
            let value = memory.read_u64(entry.wrapping_add(8))?;
            // glibc writes the address in memory over that of the file; musl leaves it as it was.
            let address = if value >= base { value } else { bias.wrapping_add(value) };
            match memory.read_u64(entry)? {
                0 => break,
                DT_HASH => sysv = Some(Hash::SystemV(address)),
                DT_GNU_HASH => gnu = Some(Hash::Gnu(address)),
                DT_STRTAB => strings = Some(address),
                DT_SYMTAB => symbols = Some(address),
                _ => {}
            }
        }
        Ok(match (symbols, strings, gnu.or(sysv)) {
            (Some(symbols), Some(strings), Some(hash)) => {
                Some(Self { bias, end: bias.wrapping_add(end), tls, symbols, strings, hash })
            }
            _ => None,
        })
    }

    /// Where an exported symbol lies in memory; whatever its version.
    pub fn symbol(&self, memory: &impl Memory, name: &str) -> Result<Option<u64>, Unreadable> {
        Ok(self.find(memory, name)?.map(|symbol| self.bias.wrapping_add(symbol.value)))
    }

    /// Where an exported thread-local variable lies among those of the library, bytes from the
    /// first.
    pub fn thread_local(&self, memory: &impl Memory, name: &str) -> Result<Option<u64>, Unreadable> {
        let found = self.find(memory, name)?.filter(|symbol| symbol.info & 0xf == STT_TLS);
        Ok(found.map(|symbol| symbol.value))
    }

    fn find(&self, memory: &impl Memory, name: &str) -> Result<Option<Symbol>, Unreadable> {
        match self.hash {
            Hash::Gnu(table) => self.by_gnu_hash(memory, table, name),
            Hash::SystemV(table) => self.by_system_v_hash(memory, table, name),
        }
    }

    fn by_gnu_hash(
        &self,
        memory: &impl Memory,
        table: u64,
        name: &str,
    ) -> Result<Option<Symbol>, Unreadable> {
        let buckets = memory.read_u32(table)?;
        let first_hashed = memory.read_u32(table.wrapping_add(4))?;
        let bloom_words = u64::from(memory.read_u32(table.wrapping_add(8))?);
        if buckets == 0 {
            return Ok(None);
        }
        let hash = gnu_hash(name);
        let bucket_table = table.wrapping_add(16 + bloom_words * 8);
        let chain_table = bucket_table.wrapping_add(u64::from(buckets) * 4);
        let bucket = u64::from(hash % buckets);
        let mut symbol = memory.read_u32(bucket_table.wrapping_add(bucket * 4))?;
        for _ in 0..LONGEST_CHAIN {
            let Some(position) = symbol.checked_sub(first_hashed) else { return Ok(None) };
            let link = memory.read_u32(chain_table.wrapping_add(u64::from(position) * 4))?;
            if link | 1 == hash | 1
                && let Some(found) = self.if_named(memory, symbol, name)?
            {
                return Ok(Some(found));
            }
            if link & 1 == 1 {
                return Ok(None);
            }
            symbol = symbol.wrapping_add(1);
        }
        Ok(None)
    }

    fn by_system_v_hash(
        &self,
        memory: &impl Memory,
        table: u64,
        name: &str,
    ) -> Result<Option<Symbol>, Unreadable> {
        let buckets = memory.read_u32(table)?;
        if buckets == 0 {
            return Ok(None);
        }
        let word = |index: u64| memory.read_u32(table.wrapping_add(8).wrapping_add(index * 4));
        let mut symbol = word(u64::from(system_v_hash(name) % buckets))?;
        for _ in 0..LONGEST_CHAIN {
            if symbol == 0 {
                return Ok(None);
            }
            if let Some(found) = self.if_named(memory, symbol, name)? {
                return Ok(Some(found));
            }
            symbol = word(u64::from(buckets) + u64::from(symbol))?;
        }
        Ok(None)
    }

    /// A symbol when it is defined and has this name.
    fn if_named(&self, memory: &impl Memory, symbol: u32, name: &str) -> Result<Option<Symbol>, Unreadable> {
        let entry: [u8; SYMBOL_SIZE as usize] =
            memory.read_array(self.symbols.wrapping_add(u64::from(symbol) * SYMBOL_SIZE))?;
        let name_at = u32::from_le_bytes(std::array::from_fn(|i| entry[i]));
        let section = u16::from_le_bytes([entry[6], entry[7]]);
        let value = u64::from_le_bytes(std::array::from_fn(|i| entry[8 + i]));
        let found = memory.read_c_string(self.strings.wrapping_add(u64::from(name_at)), name.len() + 1)?;
        Ok((section != 0 && found == name).then_some(Symbol { info: entry[4], value }))
    }
}

/// The hash of `DT_GNU_HASH`.
fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

/// The hash of `DT_HASH` (System V ABI, figure 5-13).
fn system_v_hash(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(u32::from(byte));
        let high = hash & 0xf000_0000;
        (hash ^ (high >> 24)) & !high
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::maps;
    use crate::memory::ProcessMemory;

    #[test]
    fn hashes_are_those_of_the_specification() {
        assert_eq!((gnu_hash(""), gnu_hash("printf")), (5381, 0x156b_2bb8));
        assert_eq!(system_v_hash("printf"), 0x0779_05a6);
    }

    #[test]
    fn symbols_of_the_c_library_are_where_the_linker_says() {
        let pid = std::process::id();
        let mappings = maps::read(pid).unwrap();
        let libc_so = mappings.iter().find(|m| m.file_name() == "libc.so.6" && m.offset == 0);
        let Some(libc_so) = libc_so else {
            fathom_testing::skip("this test program does not use glibc as a shared library");
            return;
        };
        let memory = ProcessMemory::open(pid, libc_so.start).unwrap();
        let elf = LoadedElf::at(&memory, libc_so.start).unwrap().unwrap();
        let address = elf.symbol(&memory, "getpid").unwrap();
        assert_eq!(address, Some(libc::getpid as *const () as u64));
        assert_eq!(elf.symbol(&memory, "no_such_function_of_any_libc").unwrap(), None);
        // glibc exports its errno, for itself.
        assert_eq!(elf.thread_local(&memory, "getpid").unwrap(), None);
        let errno = elf.thread_local(&memory, "errno").unwrap();
        let own = elf.tls.expect("the C library has thread-local variables");
        assert!(errno.is_some_and(|at| at < own.size), "{errno:?} in {own:?}");
    }
}
