//! Which JDK a live JVM is.

use crate::memory::Memory;
use crate::vm_structs::{Place, VmStructs};
use crate::{Error, Result};

/// Longest version text kept.
const LONGEST_VERSION: usize = 128;

/// The release of a JVM.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// Feature release: 8, 11, 17, 21, 25 …
    pub feature: u32,
    /// The JVM's own version: "17.0.15+6-Debian-1deb12u1"; "25.252-b09" of JDK 8.
    pub version: String,
}

impl Release {
    /// Reads it.
    pub fn read(memory: &impl Memory, structs: &VmStructs) -> Result<Self> {
        let missing = |symbol: &str| Error::MissingSymbol {
            symbol: symbol.to_owned(),
            jvm: "a JVM of unknown release".to_owned(),
        };
        let text = "Abstract_VM_Version._s_vm_release";
        let text = structs.static_field(text).ok_or_else(|| missing(text))?;
        let version = match memory.read_u64(text)? {
            0 => return Err(Error::NotReady { what: "its version" }),
            address => memory.read_c_string(address, LONGEST_VERSION)?,
        };
        // `JDK_Version` (JDK 8 to 21) identifies JDK 8, whose HotSpot calls itself 25; the version
        // of later ones is their own.
        let major = structs.field("JDK_Version._major").map(|major| major.place);
        let feature = match (structs.static_field("JDK_Version._current"), major) {
            (Some(current), Some(Place::Offset(major))) => {
                u32::from(memory.read_u8(current.wrapping_add(major))?)
            }
            _ => {
                let major = "Abstract_VM_Version._vm_major_version";
                memory.read_u32(structs.static_field(major).ok_or_else(|| missing(major))?)?
            }
        };
        match feature {
            0 => Err(Error::NotReady { what: "its release" }),
            8.. => Ok(Self { feature, version }),
            _ => Err(Error::Implausible { what: "feature release".to_owned(), value: u64::from(feature) }),
        }
    }
}

impl std::fmt::Display for Release {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JDK {} ({})", self.feature, self.version)
    }
}
