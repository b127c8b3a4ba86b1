//! The kinds of triggers, one file each, and the one list of them.

mod lock;
mod offcpu;
mod series;
mod stop;
mod syscall;
mod uprobe;

use super::trigger::Kind;

/// All of them, in the order of the help.
pub static TRIGGERS: &[Kind] =
    &[stop::KIND, syscall::KIND, lock::KIND, offcpu::KIND, uprobe::KIND, series::KIND];
