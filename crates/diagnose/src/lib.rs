//! From a recording to a verdict: windows, ledger, rules.
//!
//! Reads a [`fathom_recording::Recording`] and knows no file format and no screen.

mod case;
mod rule;
mod verdict;

pub use case::Case;
pub use rule::{Judgement, Rule};
pub use verdict::*;
