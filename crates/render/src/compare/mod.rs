//! `fathom compare` and `fathom flags` in the terminal.

mod flags;
mod runs;

pub use flags::flags;
pub use runs::runs;
