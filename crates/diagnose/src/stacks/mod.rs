//! Samples with stacks as call trees: what a flame graph and a table of frames are drawn from.
//!
//! Anything that carries a stack and a weight can be drawn: samples of any kind, and spans of any
//! kind whose stack was seen (a wait for a lock, a system call), which weigh what they lasted
//! within the window. All waits of threads are one kind ([`waits`]): the long ones are spans, of
//! the short ones there are sums.
//!
//! ```text
//! Selection ──▶ rows ──▶ CallTree ──▶ top (frame by frame)
//!   (and of the baseline) └────────────▶ Comparison (scale, standard errors, limits)
//! ```

mod compare;
mod flame;
mod invert;
mod kinds;
mod rows;
mod selection;
mod top;
mod tree;
pub mod waits;

pub use compare::{Comparison, Errors, HALF_INTERVAL, Normalisation, Share, Shares, Verdict};
pub use flame::{Base, Flame, StacksError, flame, unit};
pub use invert::inverted;
pub use kinds::{KindOfStacks, kinds};
pub use rows::{Row, Rows};
pub use selection::{ProcessChoice, Selection};
pub use top::{TopFrame, top};
pub use tree::{CallTree, NodeType, Shape, TreeFrame};

#[cfg(test)]
mod tests;
