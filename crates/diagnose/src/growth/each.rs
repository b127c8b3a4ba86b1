//! What amounts are divided by, and what they are an amount of.

use super::parts::FRAMES;

/// What amounts are an amount of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Each {
    /// An operation that a series counts.
    Operation,
    /// A request that the recording counts.
    Request,
    /// An exchange that the recording counts.
    Exchange,
    /// What a thread does between two sleeps that are always as long.
    Turn,
    /// A millisecond of wall time, where neither is counted: amounts are threads at a time.
    Wall,
}

impl Each {
    pub(super) fn is_counted(self) -> bool {
        self != Self::Wall
    }

    /// "an operation", "a request".
    pub(super) fn one(self) -> &'static str {
        match self {
            Self::Exchange => "an exchange",
            Self::Request => "a request",
            Self::Turn => "a turn",
            _ => "an operation",
        }
    }

    /// "operation".
    pub(super) fn noun(self) -> &'static str {
        match self {
            Self::Exchange => "exchange",
            Self::Request => "request",
            Self::Turn => "turn",
            _ => "operation",
        }
    }
}

/// What amounts are divided by.
pub(super) struct Per {
    pub(super) each: Each,
    pub(super) by: [f64; FRAMES],
}
