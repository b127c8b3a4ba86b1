//! Numbers in words: one way to write a time, a size, a rate, a count and a share wherever
//! something is said of a recording.
//!
//! Sizes count in 1024s and are written "MB" and "GB", because that is what the JVM's own logs and
//! flags mean by M and G; a reader who compares the two must find the same number.

/// A time given in milliseconds: "0.31 ms", "435 ms", "19.87 s", "2.1 h". What rounds up to a whole
/// one of the next unit is written in that:
/// 999.6 ms are "1.00 s".
pub fn millis(ms: f64) -> String {
    match ms.abs() {
        0.0 => "0 ms".into(),
        a if a < 9.995 => format!("{ms:.2} ms"),
        a if a < 999.5 => format!("{ms:.0} ms"),
        a if a < 599_995.0 => format!("{:.2} s", ms / 1e3),
        a if a < 7_170_000.0 => format!("{:.0} min", ms / 6e4),
        a if a < 172_620_000.0 => format!("{:.1} h", ms / 3.6e6),
        _ => format!("{:.1} days", ms / 8.64e7),
    }
}

/// A time of one operation, given in milliseconds, which may be short: "3.8 µs", "0 ns", else as
/// [`millis`] has it.
pub fn of_one(ms: f64) -> String {
    match ms {
        ms if ms >= 1.0 => millis(ms),
        ms if ms >= 1e-3 => format!("{:.*} µs", if ms < 1e-2 { 1 } else { 0 }, ms * 1e3),
        ms => format!("{:.0} ns", ms * 1e6),
    }
}

/// A time given in seconds.
pub fn seconds(s: f64) -> String {
    millis(s * 1e3)
}

/// A size: "512 B", "1.5 MB", "3.9 GB".
pub fn bytes(size: f64) -> String {
    const UNITS: [&str; 6] = ["B", "kB", "MB", "GB", "TB", "PB"];
    let mut scaled = size;
    let mut unit = 0;
    while scaled.abs() >= 1023.5 && unit + 1 < UNITS.len() {
        scaled /= 1024.0;
        unit += 1;
    }
    if unit == 0 || scaled.abs() >= 99.95 {
        format!("{scaled:.0} {}", UNITS[unit])
    } else {
        format!("{scaled:.1} {}", UNITS[unit])
    }
}

/// Cycles of a CPU, in powers of 1000 as its frequency is given: "512 cycles", "1.5 Mcycles",
/// "35 Gcycles".
pub fn cycles(count: f64) -> String {
    const UNITS: [&str; 5] = ["cycles", "kcycles", "Mcycles", "Gcycles", "Tcycles"];
    let (mut scaled, mut unit) = (count, 0);
    while scaled.abs() >= 999.5 && unit + 1 < UNITS.len() {
        scaled /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && scaled.abs() < 10.0);
    format!("{scaled:.digits$} {}", UNITS[unit])
}

/// A share from 0 to 1 as a percentage: "0.4%", "12%".
pub fn share(share: f64) -> String {
    let percent = share * 100.0;
    match percent.abs() {
        0.0 => "0%".into(),
        a if a < 0.1 => "< 0.1%".into(),
        // 99.96% is not 100%.
        a if a < 10.0 || (99.0..100.0).contains(&a) => {
            format!("{:.1}%", if a < 100.0 { percent.clamp(-99.9, 99.9) } else { percent })
        }
        _ => format!("{percent:.0}%"),
    }
}

/// A count in groups of three: "1,234,567".
pub fn count(n: f64) -> String {
    grouped(n, 0)
}

/// The same of a whole number: what is counted has no sign.
pub fn whole(n: impl TryInto<u64>) -> String {
    count(n.try_into().unwrap_or(0) as f64)
}

/// A number in groups of three, with so many digits behind the point: "1,234.50".
pub fn grouped(n: f64, digits: usize) -> String {
    let written = format!("{:.digits$}", n.abs());
    let whole = written.find('.').unwrap_or(written.len());
    let mut grouped = String::with_capacity(written.len() + whole / 3 + 1);
    if n < 0.0 {
        grouped.push('-');
    }
    for (i, digit) in written.chars().enumerate() {
        if i > 0 && i < whole && (whole - i).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
}

/// A number with three digits, or in groups of three: "1,776,754", "396", "39.3", "0.25".
pub fn number(value: f64) -> String {
    match value.abs() {
        a if a >= 99.95 => count(value),
        a if a >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A timestamp in seconds, in tenths where it is not a whole number of them; never "-0".
pub fn timestamp(s: f64) -> String {
    let tenths = (s * 10.0).round();
    if tenths % 10.0 == 0.0 { format!("{:.0}", tenths / 10.0 + 0.0) } else { format!("{:.1}", tenths / 10.0) }
}

/// The decimals of seconds that distinguish the ends of a window of so many: tenths, and more only
/// where it is shorter than a second.
pub fn window_digits(length_s: f64) -> usize {
    match length_s {
        s if s >= 1.0 => 1,
        s if s >= 1e-2 => 3,
        s if s >= 1e-5 => 6,
        _ => 9,
    }
}

/// A noun with its number: "1 pause", "3 pauses".
pub fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", count(n as f64), if n == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_windows_shorter_than_a_second_have_more_than_tenths() {
        assert_eq!([3_600.0, 1.0, 0.999, 0.02, 0.001, 1e-7].map(window_digits), [1, 1, 3, 3, 6, 9]);
    }

    #[test]
    fn a_timestamp_just_before_zero_is_zero() {
        let s = [-0.0012, 0.0, 0.049, 0.051, 4.99, 86.123_456_789, -0.26];
        assert_eq!(s.map(timestamp), ["0", "0", "0", "0.1", "5", "86.1", "-0.3"]);
    }

    #[test]
    fn times_are_written_in_the_unit_that_fits() {
        let written: Vec<_> =
            [0.0, 0.312, 435.4, 19_870.0, 780_000.0, 9_000_000.0, 3e8].into_iter().map(millis).collect();
        assert_eq!(written, ["0 ms", "0.31 ms", "435 ms", "19.87 s", "13 min", "2.5 h", "3.5 days"]);
    }

    #[test]
    fn what_rounds_up_to_the_next_unit_is_written_in_it() {
        let written = [9.996, 999.6, 599_996.0, 7_180_000.0, 172_700_000.0].map(millis);
        assert_eq!(written, ["10 ms", "1.00 s", "10 min", "2.0 h", "2.0 days"]);
        assert_eq!([1_023.7 * 1024.0, 99.97 * 1024.0].map(bytes), ["1.0 MB", "100 kB"]);
        assert_eq!(cycles(999_700.0), "1.0 Mcycles");
        let mut ms = 0.01;
        while ms < 1e12 {
            let text = millis(ms);
            let (number, unit) = text.split_once(' ').unwrap();
            let number: f64 = number.parse().unwrap();
            let next = match unit {
                "ms" => 1_000.0,
                "s" => 600.0,
                "min" => 120.0,
                "h" => 48.0,
                _ => f64::INFINITY,
            };
            assert!(number < next, "{ms} ms: {text}");
            ms *= 1.000_37;
        }
    }

    #[test]
    fn sizes_are_those_of_the_jvms_flags() {
        let written: Vec<_> =
            [0.0, 1536.0, 512.0 * 1024.0 * 1024.0, 4294967296.0].into_iter().map(bytes).collect();
        assert_eq!(written, ["0 B", "1.5 kB", "512 MB", "4.0 GB"]);
    }

    #[test]
    fn a_share_never_rounds_up_to_all_or_down_to_nothing() {
        let written: Vec<_> = [0.0, 0.0001, 0.004, 0.1234, 0.9996, 1.0].into_iter().map(share).collect();
        assert_eq!(written, ["0%", "< 0.1%", "0.4%", "12%", "99.9%", "100%"]);
    }

    #[test]
    fn cycles_are_counted_in_thousands() {
        let written: Vec<_> = [0.0, 512.0, 1500.0, 35e6, 2.44e9].into_iter().map(cycles).collect();
        assert_eq!(written, ["0 cycles", "512 cycles", "1.5 kcycles", "35 Mcycles", "2.4 Gcycles"]);
    }

    #[test]
    fn numbers_have_three_digits_or_groups_of_three() {
        let written = [0.254, 9.996, 39.34, 99.96, 396.2, 1_776_754.0, -4.2].map(number);
        assert_eq!(written, ["0.25", "10.0", "39.3", "100", "396", "1,776,754", "-4.20"]);
    }

    #[test]
    fn counts_are_grouped_by_three() {
        assert_eq!([7.0, 1234.0, 149110.0, -1234567.0].map(count), ["7", "1,234", "149,110", "-1,234,567"]);
        assert_eq!([1.25, 999.96, 4106.25].map(|n| grouped(n, 1)), ["1.2", "1,000.0", "4,106.2"]);
        assert_eq!((whole(12_345_usize), whole(-1_i64)), ("12,345".into(), "0".into()));
        assert_eq!(plural(1, "pause", "pauses"), "1 pause");
    }
}
