//! Showing what was found: the terminal, JSON, the HTML report.
//!
//! Computes nothing that `diagnose` could have told it.

mod printable;

pub use printable::printable;
