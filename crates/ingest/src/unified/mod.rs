//! Unified logs of JDK 9 to 25: what `-Xlog:gc*`, `safepoint*`, `jit*`, `codecache*` and `deoptimization` write.
//!
//! A line is decorations ([`decorators`]) and a body. The body is read by the shape of the record that it is, never
//! by a pattern of the whole line: JDK releases keep adding words, and a pause with a word that nobody knows is still
//! a pause.

#![allow(dead_code, reason = "the reader that calls it is about to come")]

mod dates;
mod decorators;
mod scan;
