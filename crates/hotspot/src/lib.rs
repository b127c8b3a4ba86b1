//! Reads a HotSpot JVM from outside: nothing is loaded into it and no flag of it is needed.
//!
//! What is read comes from a process that may end, or lie, at any time: every size is bounded,
//! every pointer may be wrong, and a field that a JDK does not have is an error that names it.

pub mod attach;
pub mod code_cache;
pub mod continuation;
mod elf;
mod error;
pub mod find;
pub mod flags;
pub mod heap;
pub mod histogram;
pub mod jcmd;
pub mod layout;
mod libjvm;
pub mod locks;
pub mod machine;
pub mod maps;
pub mod memory;
mod oops;
pub mod perf_data;
pub mod proc_status;
mod properties;
mod release;
pub mod root;
pub mod symbols;
pub mod thread_dump;
pub mod threads;
pub mod virtual_threads;
mod vm;
pub mod vm_structs;
pub mod walk;

pub use elf::{LoadedElf, TlsSegment};
pub use error::{Error, Result};
pub use libjvm::Libjvm;
pub use release::Release;
pub use vm::Vm;
