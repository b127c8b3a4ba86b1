//! Numbers as the verdict shows them: [`quantity`]'s words, and timestamps and rates.

use fathom_diagnose::quantity;
use fathom_recording::clock::seconds;
use jiff::Timestamp;

/// A span of time given in milliseconds; not-a-number is unknown.
pub fn duration_ms(ms: f64) -> String {
    if ms.is_finite() { quantity::millis(ms) } else { "unknown".into() }
}

/// A share of one as per cent.
pub fn share(share: f64) -> String {
    if share.is_finite() { quantity::share(share) } else { "unknown".into() }
}

/// A rate with its unit: "396 ops/s", "4.21 ops/s".
pub fn rate(value: f64, unit: &str) -> String {
    format!("{} {unit}", quantity::number(value))
}

/// A timestamp as seconds since `zero_ns`: "145.2 s". More digits where the whole run is short.
pub fn timestamp(at_ns: i64, zero_ns: i64) -> String {
    let at_s = seconds(at_ns.saturating_sub(zero_ns));
    format!("{} s", decimals(at_s, if at_s.abs() < 10.0 { 3 } else { 1 }))
}

/// A window as timestamps since `zero_ns`, with the digits that its length calls for: "29.2 s to
/// 94.4 s", "93.812 s to 93.840 s".
pub fn window(from_ns: i64, to_ns: i64, zero_ns: i64) -> String {
    let [from, to] = ends(from_ns, to_ns, zero_ns);
    format!("{from} s to {to} s")
}

/// The ends of a window alone, in seconds.
pub(crate) fn ends(from_ns: i64, to_ns: i64, zero_ns: i64) -> [String; 2] {
    let digits = quantity::window_digits(seconds(to_ns.saturating_sub(from_ns)));
    [from_ns, to_ns].map(|t_ns| decimals(seconds(t_ns.saturating_sub(zero_ns)), digits))
}

/// What relative times count from, in words, with the wall clock's time where the recording knows
/// it.
pub fn counted_from(zero: &fathom_diagnose::Zero) -> String {
    let clock = wall_clock(zero.at_ns).filter(|_| zero.wall);
    format!("times count from {}{}", zero.is, clock.map_or(String::new(), |at| format!(", {at}")))
}

/// A window as the wall clock has it: "  (2026-11-23 05:49:39 to 05:50:44 UTC)"; empty where it is not known.
pub fn on_the_clock(from_ns: i64, to_ns: i64, zero: &fathom_diagnose::Zero) -> String {
    let stamp = |ns: i64| Timestamp::from_nanosecond(i128::from(ns)).ok().filter(|_| zero.wall);
    match (stamp(from_ns), stamp(to_ns)) {
        (Some(from), Some(to)) => {
            format!("  ({} to {} UTC)", from.strftime("%Y-%m-%d %H:%M:%S"), to.strftime("%H:%M:%S"))
        }
        _ => String::new(),
    }
}

/// A number with so many decimals; what rounds to zero has no minus sign.
pub fn decimals(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$}");
    match text.strip_prefix('-') {
        Some(zero) if zero.chars().all(|c| matches!(c, '0' | '.')) => zero.to_owned(),
        _ => text,
    }
}

/// A timestamp on the wall clock, UTC: "2026-11-20 14:03:12 UTC".
pub fn wall_clock(at_ns: i64) -> Option<String> {
    let stamp = Timestamp::from_nanosecond(i128::from(at_ns)).ok()?;
    Some(stamp.strftime("%Y-%m-%d %H:%M:%S UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_is_no_number_is_unknown() {
        assert_eq!([duration_ms(f64::NAN), share(f64::INFINITY)], ["unknown", "unknown"]);
    }

    #[test]
    fn a_window_has_the_digits_that_its_length_calls_for() {
        let shown = |from: i64, to: i64| window(from, to, 0);
        assert_eq!(shown(29_200_000_000, 94_400_000_000), "29.2 s to 94.4 s");
        assert_eq!(shown(93_812_000_000, 93_840_000_000), "93.812 s to 93.840 s");
        assert_eq!(shown(93_812_000_000, 93_812_040_000), "93.812000 s to 93.812040 s");
        let zero = fathom_diagnose::Zero { at_ns: 0, is: "the start of the recording", wall: true };
        assert_eq!(
            counted_from(&zero),
            "times count from the start of the recording, 1970-01-01 00:00:00 UTC"
        );
        assert_eq!(on_the_clock(0, 61_000_000_000, &zero), "  (1970-01-01 00:00:00 to 00:01:01 UTC)");
    }

    #[test]
    fn timestamps_count_from_zero_and_never_overflow() {
        assert_eq!(timestamp(145_230_000_000, 0), "145.2 s");
        assert_eq!(timestamp(1_500_000_000, 1_000_000_000), "0.500 s");
        assert_eq!(timestamp(-40_000, 0), "0.000 s");
        assert_eq!([-0.04, -0.06, -10.0].map(|at| decimals(at, 1)), ["0.0", "-0.1", "-10.0"]);
        assert!(timestamp(i64::MAX, i64::MIN).ends_with(" s"));
        assert_eq!(wall_clock(0).as_deref(), Some("1970-01-01 00:00:00 UTC"));
    }
}
