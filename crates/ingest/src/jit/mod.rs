//! What the JIT compilers did: their logs, one file or folder per format.
//!
//! | format | content |
//! |---|---|
//! | `-XX:+PrintCompilation` and `-Xlog:jit+compilation` | starts of compilations, invalidations, give-ups |
//! | `-XX:+LogCompilation` | the whole life of a compile task: queued, started, done, installed, thrown away and why |
//!
//! A method has one spelling in all of them, so that they can be joined by name as well as by
//! compile id: class with dots, a dot, the method, no descriptor ("java.lang.String.hashCode").
//! Overloads share it.

mod log_compilation;
mod merged_logs;
pub(crate) mod print_compilation;

pub(crate) use log_compilation::LogCompilation;
pub(crate) use merged_logs::join;
pub(crate) use print_compilation::PrintCompilation;
