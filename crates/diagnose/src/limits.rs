//! From where on something matters: limits that rules, windows, commands and reports share.

/// What a cause must explain to be worth a finding, as a share of the loss (see
/// [`crate::Case::yardstick_ms`]). A twentieth is what a throughput series can show at all: the
/// clients of a healthy run vary by about as much from tick to tick.
pub const MATTERS_SHARE: f64 = 0.05;
/// A single stop must last at least this long to be worth a word, milliseconds: users notice from
/// about there on, and a collector's default goal for one pause (G1, `MaxGCPauseMillis`) is the
/// same.
pub const LONG_STOP_MS: f64 = 200.0;
/// And be so many times as long as the usual stop of its run. A heap with pauses of 300 ms
/// throughout is slow in another way than one with pauses of 5 ms and a single one of 300 ms.
pub const LONG_STOP_TIMES: f64 = 10.0;
/// Share of time stopped from which on it is bad, and not only worth an eye: G1's own goal is 8% of
/// the time in collections (`GCTimeRatio=12`), Parallel's 1%.
pub const BAD_SHARE: f64 = 2.0 * MATTERS_SHARE;
/// A stop at least as long as this is reported in any case, whatever share of the run it is,
/// milliseconds: people notice, and requests time out.
pub const LONG_MS: f64 = 1_000.0;
/// A cost below this share of the run slows nothing down that anybody would notice: a twentieth of
/// what stops may take in a run that is called healthy.
const LITTLE: f64 = MATTERS_SHARE / 20.0;

/// Whether one stop is worth a finding whatever it is of the whole: long in itself
/// ([`LONG_STOP_MS`]) and far beyond what is usual in its run ([`LONG_STOP_TIMES`] ×
/// `usual_ms`, the median stop).
pub(crate) fn stands_out(stop_ms: f64, usual_ms: f64) -> bool {
    stop_ms >= LONG_STOP_MS && stop_ms >= LONG_STOP_TIMES * usual_ms
}

/// Whether a cost is so small, of so much time, that its finding is reported for what failed.
pub(crate) fn cost_little(cost_ms: f64, judged_ms: f64) -> bool {
    cost_ms > 0.0 && cost_ms < LITTLE * judged_ms
}
