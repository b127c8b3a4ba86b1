//! From a recording to a verdict: windows, ledger, rules.
//!
//! Reads a [`fathom_recording::Recording`] and knows no file format and no screen.

mod account;
mod attribution;
#[cfg(test)]
mod built;
mod burden;
mod case;
pub mod chain;
mod charge;
pub mod collections;
mod confidence;
pub mod facts;
mod failures;
mod gc_ruled_out;
mod growth;
mod headline;
mod held_locks;
mod intervals;
mod known;
mod ledger;
mod ledger_row;
mod limits;
mod live_set;
mod looked_at;
mod marks;
mod merge;
pub mod metrics;
mod nearest;
pub mod operations;
mod own_code;
mod pipeline;
mod places;
mod rule;
pub mod rules;
mod side_by_side;
mod sight;
mod source_warnings;
mod split_time;
pub mod stacks;
pub mod stats;
mod status;
mod stops;
pub mod thread_ledger;
mod timeline;
pub mod trend;
mod verdict;
mod vm_operations;
mod waits;
mod window;
mod windows;
mod written_back;

pub use case::{Case, Rates};
pub use charge::{Charge, ChargeKind};
pub use facts::{Evidence, Fact, Origin, Remedy, Statement};
pub use fathom_recording::quantity;
pub use ledger_row::{LedgerCategory, LedgerRow};
pub use limits::{LONG_STOP_MS, LONG_STOP_TIMES, MATTERS_SHARE};
pub use pipeline::{diagnose, is_summed};
pub use rule::{Judgement, Rule};
pub use sight::{COVERED, Coverage, LOST, Sight};
pub use timeline::{Zero, whole, zero, zero_ns};
pub use verdict::*;
pub use waits::{Category, Causes, is_at_rest};
pub use window::Window;
pub use windows::{Clock, Options, TimestampSpec, WindowError, WindowSpec, clock_of, resolve};
