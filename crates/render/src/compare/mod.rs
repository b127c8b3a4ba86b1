//! `fathom compare` and `fathom flags` in the terminal.

mod flags;
mod recordings;
mod runs;

pub use flags::flags;
pub use recordings::recordings;
pub use runs::runs;
