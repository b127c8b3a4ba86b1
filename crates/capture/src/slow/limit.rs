//! How long is slow, and how far from usual: "200ms", "50%".

use std::time::Duration;

/// A length of time as people write it: "60s", "5m", "1h", "500ms", "250us", "90" (seconds); never
/// nothing.
pub fn duration(text: &str) -> Result<Duration, String> {
    let how = || "write 60s, 5m, 1h or 500ms".to_owned();
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(char::is_alphabetic).unwrap_or(text.len()));
    let seconds = match unit {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" | "µs" => 1e-6,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        _ => return Err(how()),
    };
    let number: f64 = number.trim().parse().map_err(|_| how())?;
    let length = Duration::try_from_secs_f64(number * seconds).map_err(|e| e.to_string())?;
    if length.is_zero() { Err("it must last longer than nothing".into()) } else { Ok(length) }
}

/// A number of bytes as people write it: "1GB", "512MB", "64k"; a number alone is of megabytes.
/// Powers of 1024.
pub fn bytes(text: &str) -> Result<u64, String> {
    let how = || "write 512MB or 2GB".to_owned();
    let text = text.trim();
    let (number, unit) = text.split_at(text.find(char::is_alphabetic).unwrap_or(text.len()));
    let shift = match unit.to_ascii_lowercase().trim_end_matches('b').trim_end_matches('i') {
        "k" => 10,
        "" | "m" => 20,
        "g" => 30,
        "t" => 40,
        _ => return Err(how()),
    };
    let number: f64 = number.trim().parse().map_err(|_| how())?;
    let bytes = number * f64::from(1_u32 << (shift % 32)) * if shift >= 32 { 4_294_967_296.0 } else { 1.0 };
    if (1.0..1e18).contains(&bytes) { Ok(bytes as u64) } else { Err(how()) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn durations_are_read_with_their_units() {
        assert_eq!(duration("60s"), Ok(Duration::from_secs(60)));
        assert_eq!(duration("1.5m"), Ok(Duration::from_secs(90)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("250us"), Ok(Duration::from_micros(250)));
        assert_eq!(duration("90"), Ok(Duration::from_secs(90)));
        for wrong in ["", "x", "5 parsecs", "0s", "-3s", "1e40h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes_are_read_with_their_units_and_are_megabytes_without() {
        assert_eq!(bytes("1GB"), Ok(1 << 30));
        assert_eq!(bytes("1.5g"), Ok(3 << 29));
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("64k"), Ok(64 << 10));
        assert_eq!(bytes("2T"), Ok(2 << 40));
        assert_eq!(bytes("4096"), Ok(4 << 30));
        for wrong in ["", "x", "5 parsecs", "0", "-3MB", "1e40", "nan"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
