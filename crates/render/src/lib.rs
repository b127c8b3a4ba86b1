//! Showing what was found: the terminal, JSON, the HTML report.
//!
//! Computes nothing that `diagnose` could have computed.

pub mod chain;
pub mod compare;
pub mod export;
#[cfg(test)]
mod fixture;
pub mod flame;
pub mod fleet;
pub mod gc;
pub mod heap;
mod html;
pub mod info;
pub mod jit;
mod json;
mod lanes;
pub mod ledger;
mod names;
pub mod operations;
mod payload;
mod printable;
mod samples;
mod tables;
mod terminal;
mod text;
#[cfg(test)]
mod typescript;
mod units;
pub mod verify;

pub use html::{Parts, ServerState, html, parts, samples_within, shell};
pub use json::{json, json_indented, json_line};
pub use printable::printable;
pub use samples::SampleIndex;
pub use tables::{WIDEST, fit};
pub use terminal::{TerminalOptions, terminal};
pub use units::{counted_from, window as window_text};
