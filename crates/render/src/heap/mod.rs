//! `fathom heap` in the terminal: who holds most in a sentence each, then the tables, every figure with what it means.

mod holder;
mod screen;
mod way;

pub use screen::screen;
