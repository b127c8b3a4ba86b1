//! `fathom heap` in the terminal: who holds most in a sentence each, then the tables, every value
//! with what it means. And as a page.

mod growth;
mod holder;
mod live;
mod object;
pub(crate) mod page;
mod screen;
mod tables;
mod way;

pub use growth::growth;
pub use live::{LiveClass, LiveHeap, live};
pub use object::{class, object, ways};
pub use page::html;
pub use screen::screen;
