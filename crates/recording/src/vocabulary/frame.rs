//! Names of frames that do not belong to the program.
//!
//! Names of real ones: Java "package.Class.method" without signature, `$$Lambda` and hidden classes
//! without the address that makes each of them unique; C++ and Rust demangled; the kernel's as
//! kallsyms has them. `module`: the library's file name ("libjvm.so"), "kernel" or the kernel
//! module in brackets, empty for Java.

/// The module of frames of the recorder's own BPF programs, which run in the context of the threads
/// that they watch. Their names begin with it: "fathom: on_switch".
pub const RECORDER_MODULE: &str = "fathom";

/// The name of a compiled or interpreted frame whose method is not known (any more).
pub const UNKNOWN_JAVA: &str = "[unknown Java method]";

/// The prefix of the name of the root of a truncated stack, whose callers could not be unwound.
pub const CUT_PREFIX: &str = "[stack cut: ";

/// The name of the root of a stack that was truncated for a reason ("depth", "no unwind row").
pub fn cut(reason: &str) -> String {
    format!("{CUT_PREFIX}{reason}]")
}

/// The reason, if a frame is the root of a truncated stack.
pub fn cut_reason(name: &str) -> Option<&str> {
    name.strip_prefix(CUT_PREFIX)?.strip_suffix(']')
}
