//! `fathom compare` and `fathom flags` in the terminal, and the page of a comparison.

mod causes;
mod flags;
pub(crate) mod page;
mod recordings;
mod runs;

pub use flags::flags;
pub use page::{page_of_recordings, page_of_runs};
pub use recordings::recordings;
pub use runs::runs;
