//! Commands on files: logs, recordings, tables, and what is no such thing.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

mod check;
mod completions;
mod exports;
mod fail_on;
mod flame;
mod hostile;
mod imports;
mod inputs;
mod lab;
mod ledger;
mod marks;
mod otlp;
mod printed_windows;
mod receive;
mod recordings;
