//! The eBPF unwinder's half in user space: what `bpf/unwind.h` looks up, made and kept up to date.
//!
//! ```text
//!   /proc/PID/maps ──▶ mappings ─┐
//!   .eh_frame of files ──▶ rows ─┼──▶ arrays that the programs read ──▶ walked frames ──▶ names ──▶ recording
//!   tables of the JVM ──▶ code ──┘         (shared memory)               (samples)      (frames)
//! ```
//! Rows are made once for a file, however many processes map it. Everything lies in BPF maps that
//! this process holds by descriptor and in none that is pinned: the kernel frees them with the
//! process, however it ends.

mod arena;
pub(crate) mod asleep;
mod decode;
mod eh_frame;
mod elf_code;
pub mod frames;
mod interpreter;
mod jvm;
pub mod kept;
mod load;
pub mod processes;
pub mod reasons;
mod rows;
pub mod samples;
mod share_tables;
pub mod shared;
mod tables;
mod unwinder;
pub mod user_mode;

pub use arena::Arena;
pub use eh_frame::rows_of_elf;
pub use jvm::Jvm;
pub use processes::{Capacity, CodeOfProcesses, Publish};
pub use reasons::reason_name;
pub use rows::{Paged, RowAt};
pub(crate) use share_tables::share_tables;
pub use unwinder::{SharedUnwinder, UnwindMaps, Unwinder};
