//! An interval of a recording that is looked at.

use serde::Serialize;

/// An interval of time, nanoseconds on the recording's clock: `[from_ns, to_ns)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Window {
    /// Its start.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
}

impl Window {
    /// Its length, nanoseconds.
    pub fn length_ns(&self) -> i64 {
        self.to_ns.saturating_sub(self.from_ns).max(0)
    }
}
