//! The keys of a recording: kinds of spans and counts, keys of figures, labels and facts.
//!
//! Readers and collectors write these keys, and rules and views read them; nothing else couples the
//! two sides. A new key is one constant here, with its unit and the source of its meaning. Units
//! are part of the key.

pub mod call;
pub mod count;
pub mod fact;
pub mod failure;
pub mod fault;
pub mod figure;
pub mod frame;
pub mod interrupt;
pub mod kind;
pub mod label;
pub mod live;
pub mod lock;
pub mod memory_stall;
pub mod sample;
pub mod series;
pub mod source;
