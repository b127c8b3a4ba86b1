//! From a recording to a verdict: windows, ledger, rules.
//!
//! Reads a [`fathom_recording::Recording`] and knows no file format and no screen.

#[cfg(test)]
mod built;
mod case;
pub mod collections;
pub mod metrics;
pub mod quantity;
mod rule;
pub mod rules;
pub mod trend;
mod verdict;

pub use case::{Case, LONG_STOP_MS, LONG_STOP_TIMES, MATTERS_SHARE, Rates};
pub use rule::{Judgement, Rule};
pub use verdict::*;
