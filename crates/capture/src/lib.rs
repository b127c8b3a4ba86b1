//! Live collectors: what a running JVM and its machine do, written as a recording. One module a
//! source.
//!
//! ```text
//!   Selection ──▶ Targets ──┐            ┌─ start ─ drain ─ … ─ drain ─ stop ─┐
//!                           ├─▶ Session ─┤  each Collector of COLLECTORS      ├─▶ dyn Sink (a Writer)
//!   Settings, Limits ───────┘            └────────────────────────────────────┘
//! ```
//!
//! Collectors know only how to write a recording. They leave the target as they found it, also when
//! fathom is killed: whatever they attach hangs on a file descriptor of this process, and the
//! kernel takes it down with it. What cannot be seen is a value ([`Unavailable`]) and is in the
//! recording; it is an error only when nothing is left to see.

mod bpf;
mod capture_engine;
pub mod check;
pub mod clock;
pub mod collector;
pub mod connections;
pub mod cpu;
mod cpu_event;
mod descriptors;
pub mod disk;
mod dns_queries;
mod error;
mod event_stacks;
mod growing_series;
pub mod host;
pub mod identity;
pub mod jfr;
pub mod jvm_counters;
pub mod jvm_events;
mod jvm_facts;
mod jvm_folder;
mod jvm_start;
mod kernel_symbols;
pub mod locks;
pub mod memory;
pub mod methods;
pub mod network;
mod perf_event;
pub mod perf_memory;
pub mod privileges;
mod probe_spec;
pub mod probes;
mod process_context;
pub mod procfs;
pub mod registry;
mod requests;
pub mod sched;
pub mod services;
pub mod session;
pub mod settings;
mod similar_names;
pub mod slow;
mod starts;
pub mod symbols;
pub mod syscalls;
pub mod target;
mod thread_context;
mod tracefs;
pub mod unwind;
mod written_files;

pub use capture_engine::CaptureEngine;
pub use clock::Clock;
pub use collector::{Collector, Context, Entry, Order};
pub use cpu_event::CpuEvent;
pub use error::{CaptureError, Unavailable};
pub use jvm_start::jvm_start;
pub use registry::COLLECTORS;
pub use services::{Service, Services};
pub use session::memory_left;
pub use session::{Ended, Limits, Output, Progress, Session, Signals, Summary};
pub use settings::Settings;
pub use target::{Selection, Target, TargetEvent, Targets};
pub use written_files::WrittenFile;
