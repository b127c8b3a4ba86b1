//! From a recording to a verdict: windows, ledger, rules.
//!
//! Reads a [`fathom_recording::Recording`] and knows no file format and no screen.

#[cfg(test)]
mod built;
mod case;
pub mod chain;
pub mod collections;
mod collector;
mod engine;
mod headline;
mod intervals;
mod ledger;
mod merge;
pub mod metrics;
pub mod quantity;
mod rule;
pub mod rules;
pub mod stacks;
pub mod stats;
pub mod thread_ledger;
mod timeline;
pub mod trend;
mod verdict;
mod waits;
mod windows;
mod written_back;

pub use case::{Case, LONG_STOP_MS, LONG_STOP_TIMES, MATTERS_SHARE, Rates};
pub use engine::{Options, diagnose};
pub use rule::{Judgement, Rule};
pub use verdict::*;
pub use waits::{Causes, Heading};
pub use windows::{WindowError, WindowSpec, resolve, zero_is, zero_ns};
