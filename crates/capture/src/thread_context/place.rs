//! Where the threads of a process have the variable, x86-64.
//!
//! ```text
//!   the program itself          at a fixed distance below the thread pointer, by the psABI
//!   a library, of glibc         the loader's own list (`_r_debug`, its entry by the load address):
//!     static                      at a distance that the entry names: loaded with the program, or
//!                                 what it reserved for libraries that come later had room
//!     otherwise                   in a block of the module whose number the entry has, by the thread's table
//! ```
//!
//! Where an entry has the two figures is no part of any interface for programs, but glibc exports
//! it for debuggers, by whose protocol (`nptl_db`: descriptors `_thread_db_*` of bits, elements and
//! offset) it is found here. Not found: variables of libraries with another C library (musl), of
//! ones loaded into namespaces of their own (`dlmopen`), and of programs without a dynamic section.

use fathom_hotspot::maps::Mapping;
use fathom_hotspot::memory::{Memory, ProcessMemory, Unreadable};
use fathom_hotspot::{LoadedElf, TlsSegment};

/// The variable.
const NAME: &str = "otel_thread_ctx_v1";
/// Libraries of a process at most.
const MOST_LIBRARIES: usize = 4096;
/// What an entry of the loader's list has for a library whose variables must not lie at a fixed
/// distance; 0: that is not decided.
const NEVER_STATIC: u64 = u64::MAX;
/// No thread has more bytes of static variables.
const MOST_STATIC: u64 = 1 << 30;
/// `AT_PHDR` of the auxiliary vector: where the program's own headers are.
const AT_PHDR: u64 = 3;

/// Where each thread has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// So many bytes from the thread pointer, wrapping.
    Static {
        /// The bytes.
        offset: u64,
    },
    /// In the thread's block of a module.
    Dynamic {
        /// The module's number.
        module: u32,
        /// Bytes from the block's beginning.
        offset: u64,
    },
}

/// What a library says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    /// It has none.
    Nothing,
    /// It is being loaded.
    NotYet,
    /// It has it.
    At(Place),
    /// It has it where it cannot be found.
    Unsupported(&'static str),
}

/// Looks for it in the library whose first page is mapped.
pub(super) fn find(memory: &ProcessMemory, first: &Mapping, all: &[Mapping]) -> Result<Found, Unreadable> {
    let Some(library) = LoadedElf::at(memory, first.start)? else { return Ok(Found::Nothing) };
    let (Some(own), Some(offset)) = (library.tls, library.thread_local(memory, NAME)?) else {
        return Ok(Found::Nothing);
    };
    if program_headers(memory.pid()).is_some_and(|at| (first.start..library.end).contains(&at)) {
        return Ok(of_program(own, offset));
    }
    of_library(memory, &library, offset, all)
}

/// The headers of the program itself.
fn program_headers(pid: u32) -> Option<u64> {
    let vector = std::fs::read(format!("/proc/{pid}/auxv")).ok()?;
    let word = |bytes: &[u8]| Some(u64::from_le_bytes(bytes.try_into().ok()?));
    vector
        .chunks_exact(16)
        .find_map(|entry| (word(&entry[..8])? == AT_PHDR).then(|| word(&entry[8..])).flatten())
}

fn of_program(own: TlsSegment, offset: u64) -> Found {
    let align = own.align.max(1);
    if !align.is_power_of_two() || !own.address.is_multiple_of(align) || own.size > MOST_STATIC {
        return Found::Unsupported("the program's thread-local variables are not aligned as they ask for");
    }
    Found::At(Place::Static { offset: offset.wrapping_sub(own.size.next_multiple_of(align)) })
}

fn of_library(
    memory: &ProcessMemory,
    library: &LoadedElf,
    offset: u64,
    all: &[Mapping],
) -> Result<Found, Unreadable> {
    let Some(glibc) = Glibc::of(memory, all)? else {
        return Ok(Found::Unsupported(
            "the C library of the process is not glibc, or hides what debuggers need",
        ));
    };
    let mut entry = memory.read_u64(glibc.libraries)?;
    for _ in 0..MOST_LIBRARIES {
        if entry == 0 {
            break;
        }
        // struct link_map: l_addr, l_name, l_ld, l_next (link.h).
        if memory.read_u64(entry)? != library.bias {
            entry = memory.read_u64(entry.wrapping_add(24))?;
            continue;
        }
        let distance = memory.read_u64(entry.wrapping_add(glibc.distance))?;
        let module = memory.read_u64(entry.wrapping_add(glibc.module))?;
        return Ok(match (distance, u32::try_from(module)) {
            (_, Ok(0)) => Found::NotYet,
            (0 | NEVER_STATIC, Ok(module)) => Found::At(Place::Dynamic { module, offset }),
            (1..MOST_STATIC, _) => Found::At(Place::Static { offset: offset.wrapping_sub(distance) }),
            _ => Found::Unsupported("the loader's list is not as it is described"),
        });
    }
    Ok(Found::NotYet)
}

/// What glibc says for debuggers.
#[derive(Clone, Copy, Debug)]
struct Glibc {
    /// Where the address of the first entry of the loader's list is.
    libraries: u64,
    /// In an entry: the distance from the thread pointer, and the module's number.
    distance: u64,
    module: u64,
}

impl Glibc {
    fn of(memory: &ProcessMemory, all: &[Mapping]) -> Result<Option<Self>, Unreadable> {
        let named = |is_it: fn(&str) -> bool| {
            let firsts = all.iter().filter(move |m| m.offset == 0 && is_it(m.file_name()));
            firsts.filter_map(|first| LoadedElf::at(memory, first.start).ok().flatten()).collect::<Vec<_>>()
        };
        // Of libpthread until 2.33.
        let libraries = named(|name| name.starts_with("libc.so") || name.starts_with("libpthread"));
        let libraries = [libraries, named(|name| name.starts_with("libc-2."))].concat();
        let descriptor = |name: &str| -> Result<Option<[u32; 3]>, Unreadable> {
            for library in &libraries {
                if let Some(at) = library.symbol(memory, name)? {
                    let bytes: [u8; 12] = memory.read_array(at)?;
                    let word = |i: usize| u32::from_le_bytes(std::array::from_fn(|j| bytes[4 * i + j]));
                    return Ok(Some([word(0), word(1), word(2)]));
                }
            }
            Ok(None)
        };
        // What the program in the kernel goes by (bpf/thread_context.h).
        let table = descriptor("_thread_db_pthread_dtvp")?;
        let entry = descriptor("_thread_db_dtv_dtv")?;
        let block = descriptor("_thread_db_dtv_t_pointer_val")?;
        let is_known =
            matches!((table, entry, block), (Some([64, _, 8]), Some([128, _, 0]), Some([64, _, 0])));
        let distance = descriptor("_thread_db_link_map_l_tls_offset")?;
        let module = descriptor("_thread_db_link_map_l_tls_modid")?;
        let mut list = None;
        for loader in named(|name| name.starts_with("ld-linux") || name.starts_with("ld-2.")) {
            list = list.or(loader.symbol(memory, "_r_debug")?);
        }
        // struct r_debug: r_version, r_map (link.h).
        Ok(match (distance, module, list) {
            (Some([64, 1, distance]), Some([64, 1, module]), Some(list)) if is_known => Some(Self {
                libraries: list.wrapping_add(8),
                distance: u64::from(distance),
                module: u64::from(module),
            }),
            _ => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_own_variables_end_at_the_thread_pointer() {
        let own = |size, align| TlsSegment { address: 0x2000, size, align };
        let at = |offset: i64| Found::At(Place::Static { offset: offset.cast_unsigned() });
        assert_eq!(of_program(own(8, 8), 0), at(-8));
        assert_eq!(of_program(own(0x4c, 0x20), 0x10), at(0x10 - 0x60));
        assert_eq!(of_program(own(8, 0), 0), at(-8));
        assert!(matches!(of_program(TlsSegment { address: 4, size: 8, align: 8 }, 0), Found::Unsupported(_)));
    }
}
