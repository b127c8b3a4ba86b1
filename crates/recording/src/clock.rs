//! One clock: nanoseconds since the Unix epoch, `i64`.
//!
//! A source timestamps its records by a clock of its own. While it is read, its rows carry that
//! clock's nanoseconds; when all sources are known, each is *placed* once by an offset
//! ([`crate::Recording::place`]). The uncertainty is in [`Placement`] and is shown to
//! the user; a source that could not be placed is marked so.

use serde::{Deserialize, Serialize};

/// Nanoseconds in a second.
pub const SECOND_NS: i64 = 1_000_000_000;
/// Nanoseconds in a millisecond.
pub const MILLI_NS: i64 = 1_000_000;

/// Seconds as nanoseconds, saturating; not-a-number becomes 0.
pub fn ns_from_seconds(seconds: f64) -> i64 {
    (seconds * 1e9).round() as i64
}

/// Nanoseconds as seconds.
pub fn seconds(ns: i64) -> f64 {
    ns as f64 / 1e9
}

/// The clock by which a source timestamped its records.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ClockBasis {
    /// Wall-clock time: nanoseconds since the epoch.
    Epoch,
    /// Seconds since the JVM's elapsed counter started: unified logging's `uptime`,
    /// LogCompilation's `stamp`, JDK 8's leading seconds and PrintCompilation's first column all
    /// share this zero.
    JvmUptime,
    /// Seconds since some start that the file does not name (a benchmark's tick column).
    SinceStart,
    /// No timestamps at all; rows are in order but not in time.
    #[default]
    None,
}

/// How a source was put on the recording's clock.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Placement {
    /// Whether the rows are in wall-clock time.
    pub wall: bool,
    /// What was added to the source's own timestamps, in nanoseconds.
    pub offset_ns: i64,
    /// The largest error of the placement, in nanoseconds; `None` when nothing relates the source
    /// to the recording's clock: it then keeps its own timestamps, see [`Placement::is_known`].
    pub uncertainty_ns: Option<i64>,
    /// In words, how the offset was found: "date next to uptime in 3,200 records", "by hand
    /// (--align)".
    pub how: String,
}

impl Placement {
    /// Whether the source is on the recording's clock. Times of one that is not must not be
    /// compared with those of other sources.
    pub fn is_known(&self) -> bool {
        self.uncertainty_ns.is_some()
    }
}

/// A known pair of a source's own time and wall-clock time: the epoch nanoseconds at which the
/// source's clock showed zero.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Anchor {
    /// Epoch nanoseconds of the source clock's zero.
    pub zero_epoch_ns: i64,
    /// The largest error of that, in nanoseconds.
    pub uncertainty_ns: i64,
    /// Where it comes from.
    pub how: String,
}
