//! Figures as people read them: three significant digits, a unit, nothing that pretends to be more exact.

use fathom_recording::clock::seconds;
use jiff::Timestamp;

/// A span of time given in milliseconds: "312 ms", "7.12 s", "14.2 s", "19 min 52 s".
pub fn duration_ms(ms: f64) -> String {
    let size = ms.abs();
    if !ms.is_finite() {
        "unknown".into()
    } else if size >= 600_000.0 {
        let total_s = (ms / 1e3).round();
        format!("{:.0} min {:.0} s", (total_s / 60.0).trunc(), (total_s % 60.0).abs())
    } else if size >= 999.5 {
        format!("{} s", three_digits(ms / 1e3))
    } else if size >= 0.9995 {
        format!("{} ms", three_digits(ms))
    } else if ms == 0.0 {
        "0 s".into()
    } else {
        format!("{} µs", three_digits(ms * 1e3))
    }
}

/// A share of one as per cent: "0.3 %", "4.2 %", "92 %".
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    if !percent.is_finite() {
        "unknown".into()
    } else if percent == 0.0 {
        "0 %".into()
    } else if percent.abs() < 0.1 {
        "<0.1 %".into()
    } else if percent.abs() < 9.95 {
        format!("{percent:.1} %")
    } else {
        format!("{percent:.0} %")
    }
}

/// A rate with its unit: "396 ops/s", "4.21 ops/s".
pub fn rate(value: f64, unit: &str) -> String {
    format!("{} {unit}", three_digits(value))
}

/// A moment as seconds since `zero_ns`: "145.2 s". More digits where the whole run is short.
pub fn moment(at_ns: i64, zero_ns: i64) -> String {
    let at_s = seconds(at_ns.saturating_sub(zero_ns));
    if at_s.abs() < 10.0 { format!("{at_s:.3} s") } else { format!("{at_s:.1} s") }
}

/// A moment on the wall clock, UTC: "2026-11-20 14:03:12 UTC".
pub fn wall_clock(at_ns: i64) -> Option<String> {
    let stamp = Timestamp::from_nanosecond(i128::from(at_ns)).ok()?;
    Some(stamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

fn three_digits(value: f64) -> String {
    let size = value.abs();
    let digits = if size >= 99.95 {
        0
    } else if size >= 9.995 {
        1
    } else {
        2
    };
    format!("{value:.digits$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_keep_three_digits_and_a_fitting_unit() {
        let shown: Vec<String> = [0.0, 0.0123, 0.3121, 3.0, 99.96, 999.6, 7_123.0, 14_250.0, 1_192_000.0]
            .map(duration_ms)
            .to_vec();
        assert_eq!(
            shown,
            ["0 s", "12.3 µs", "312 µs", "3.00 ms", "100 ms", "1.00 s", "7.12 s", "14.2 s", "19 min 52 s"]
        );
        assert_eq!(duration_ms(f64::NAN), "unknown");
    }

    #[test]
    fn a_small_share_is_not_shown_as_nothing() {
        assert_eq!(
            [0.0, 0.0004, 0.042, 0.9234, 1.87].map(share),
            ["0 %", "<0.1 %", "4.2 %", "92 %", "187 %"]
        );
    }

    #[test]
    fn moments_count_from_zero_and_never_overflow() {
        assert_eq!(moment(145_230_000_000, 0), "145.2 s");
        assert_eq!(moment(1_500_000_000, 1_000_000_000), "0.500 s");
        assert!(moment(i64::MAX, i64::MIN).ends_with(" s"));
        assert_eq!(wall_clock(0).as_deref(), Some("1970-01-01 00:00:00 UTC"));
    }
}
