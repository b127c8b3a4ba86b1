//! Showing what was found: the terminal, JSON, the HTML report.
//!
//! Computes nothing that `diagnose` could have told it.

pub mod gc;
pub mod jit;
mod printable;
mod tables;

pub use printable::printable;
