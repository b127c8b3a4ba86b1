//! Fields of the JVM's table of its own flags.

use super::{Constant, Field, Size, Static, group};

group! {
    /// `JVMFlag`, on JDK 8 to 10 `Flag` (src/hotspot/share/runtime/flags/jvmFlag.hpp).
    FlagLayout {
        /// The table.
        flags: Static = ["Flag.flags", "JVMFlag.flags"];
        /// Its length, with an empty last one.
        count: Static = ["Flag.numFlags", "JVMFlag.numFlags"];
        /// Its own size.
        size_of: Size = ["Flag", "JVMFlag"];
        /// `const char*` (until JDK 15), then a number.
        type_of: Field = ["Flag._type", "JVMFlag._type"];
        /// `const char*`.
        name: Field = ["Flag._name", "JVMFlag._name"];
        /// Where its value is.
        address: Field = ["Flag._addr", "JVMFlag._addr"];
        /// Origin in the low bits, and more.
        bits: Field = ["Flag._flags", "JVMFlag._flags"];
        /// Which bits are the origin.
        origin_mask: Option<Constant> = ["JVMFlag::VALUE_ORIGIN_MASK"];
    }
}
