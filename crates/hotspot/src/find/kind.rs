//! Which runtime a process is.

use std::fs::File;

use object::read::elf::{ElfFile64, FileHeader};
use object::read::{Object, ReadCache};

use crate::maps::{self, Mapping};
use crate::{Error, Result};

/// The runtime of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A 64-bit HotSpot JVM.
    HotSpot {
        /// Its libjvm.so, as the process names it.
        libjvm: String,
        /// The file was deleted or replaced since the JVM started, as when the JDK was updated.
        deleted: bool,
    },
    /// A 32-bit JVM.
    ThirtyTwoBit,
    /// Eclipse OpenJ9, or IBM Semeru: a JVM, but not HotSpot.
    OpenJ9,
    /// A program compiled ahead of time by GraalVM: Java without a JVM.
    NativeImage,
    /// None of these.
    Other,
}

impl Kind {
    /// Determines it for a process. Needs the right to read its maps.
    pub fn of(pid: u32) -> Result<Self> {
        Ok(Self::among(pid, &maps::read(pid)?))
    }

    /// Like [`Kind::of`], from mappings that were read already.
    pub fn among(pid: u32, mappings: &[Mapping]) -> Self {
        // OpenJ9 has a libjvm.so too, which forwards everything to its own library.
        if mappings.iter().any(|m| m.file_name().starts_with("libj9vm")) {
            return Self::OpenJ9;
        }
        let libjvm = mappings.iter().find(|m| m.is_file() && m.file_name() == "libjvm.so");
        match libjvm {
            // A 32-bit process has nothing above 4 GB, whereas a 64-bit one has its stack there.
            Some(_) if mappings.iter().all(|m| m.end <= 1 << 32 || m.path == "[vsyscall]") => {
                Self::ThirtyTwoBit
            }
            Some(libjvm) => Self::HotSpot { libjvm: libjvm.path.clone(), deleted: libjvm.deleted },
            None if is_native_image(pid) => Self::NativeImage,
            None => Self::Other,
        }
    }

    /// Why nobody can attach to a process that is not a HotSpot JVM.
    pub(crate) fn why_not_attach(&self, pid: u32) -> Error {
        let what = match self {
            Self::HotSpot { .. } | Self::Other => return Error::NoLibjvm { pid },
            Self::ThirtyTwoBit => "a 32-bit JVM, which fathom cannot read; run the service on a 64-bit JDK",
            Self::OpenJ9 => {
                "OpenJ9, not HotSpot: fathom reads HotSpot only (record it with perf or with its own tools)"
            }
            Self::NativeImage => {
                "a GraalVM native image, which has no JVM inside: record it as a native program, or run the same \
                 service on a JDK"
            }
        };
        Error::Foreign { pid, what }
    }
}

/// A native image carries its heap in a section of this name (`com.oracle.objectfile`, SVM heap
/// section).
fn is_native_image(pid: u32) -> bool {
    let Ok(file) = File::open(format!("/proc/{pid}/exe")) else { return false };
    let cache = ReadCache::new(file);
    let elf = ElfFile64::<object::Endianness, _>::parse(&cache);
    elf.is_ok_and(|elf| {
        let many = elf.elf_header().e_shnum(elf.endian()) > MOST_SECTIONS;
        !many && elf.section_by_name(".svm_heap").is_some()
    })
}

/// Sections of a program looked at.
const MOST_SECTIONS: u16 = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(maps: &str) -> Kind {
        Kind::among(u32::MAX >> 1, &maps::parse(maps))
    }

    #[test]
    fn runtimes_are_recognised_by_their_libraries() {
        let hotspot = "7f10000000-7f20000000 r-xp 0 fe:01 12 /opt/jdk/lib/server/libjvm.so (deleted)\n";
        let libjvm = "/opt/jdk/lib/server/libjvm.so".to_owned();
        assert_eq!(kind(hotspot), Kind::HotSpot { libjvm, deleted: true });
        let openj9 = "7f10000000-7f20000000 r-xp 0 fe:01 12 /opt/j9/lib/default/libj9vm29.so\n\
                      7f30000000-7f40000000 r-xp 0 fe:01 13 /opt/j9/lib/j9vm/libjvm.so\n";
        assert_eq!(kind(openj9), Kind::OpenJ9);
        let small = "f6000000-f7000000 r-xp 00000000 fe:01 12 /opt/jdk32/lib/server/libjvm.so\n\
                     ffa00000-ffb00000 rw-p 00000000 00:00 0 [stack]\n";
        assert_eq!(kind(small), Kind::ThirtyTwoBit);
        assert_eq!(kind("7f10000000-7f20000000 r-xp 0 fe:01 12 /usr/bin/bash\n"), Kind::Other);
    }

    #[test]
    fn a_foreign_runtime_is_named_with_a_way_out() {
        for (kind, name) in
            [(Kind::OpenJ9, "OpenJ9"), (Kind::ThirtyTwoBit, "32-bit"), (Kind::NativeImage, "native image")]
        {
            let reason = kind.why_not_attach(7).to_string();
            assert!(reason.contains(name) && reason.contains('7'), "{reason}");
        }
    }
}
