//! What depends on the CPU architecture and is not exported by the JVM. x86-64 is the only one now;
//! another architecture needs another set of these numbers.

/// Slots of an interpreted frame, in words from the frame pointer, and the registers that hold
/// them in the youngest frame (src/hotspot/cpu/x86/frame_x86.hpp).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterpreterFrame {
    /// The caller's frame pointer.
    pub link: i32,
    /// Return address.
    pub return_address: i32,
    /// The caller's stack pointer before arguments became locals.
    pub sender_sp: i32,
    /// Stack pointer of the frame while it calls; null in the youngest one.
    pub last_sp: i32,
    /// `Method*`.
    pub method: i32,
    /// Pointer to the locals.
    pub locals: i32,
    /// Pointer to the current bytecode. In the youngest frame r13 is newer: the interpreter stores
    /// it at calls only.
    pub bytecode: i32,
}

impl InterpreterFrame {
    /// The slots of a release. JDK 9 put the mirror between method and profile (JDK-8154580), which
    /// moved what lies below.
    pub fn of(feature: u32) -> Self {
        let shift = i32::from(feature >= 9);
        Self {
            link: 0,
            return_address: 1,
            sender_sp: -1,
            last_sp: -2,
            method: -3,
            locals: -6 - shift,
            bytecode: -7 - shift,
        }
    }
}
