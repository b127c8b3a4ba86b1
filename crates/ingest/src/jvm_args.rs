//! Numbers in a JVM's command line. Secrets are masked by [`fathom_recording::secrets`] before a
//! recording keeps it.

pub(crate) use fathom_recording::secrets::masked;

/// The value of a size option such as `-XX:ReservedCodeCacheSize=240m`, bytes; the last one counts,
/// as in the JVM.
pub(crate) fn size_bytes(args: &str, option: &str) -> Option<u64> {
    let value = args.split_whitespace().rev().find_map(|word| word.strip_prefix(option))?;
    let unit = match value.bytes().last()?.to_ascii_lowercase() {
        b'k' => 1 << 10,
        b'm' => 1 << 20,
        b'g' => 1 << 30,
        b't' => 1 << 40,
        _ => 1,
    };
    let number = if unit == 1 { value } else { &value[..value.len() - 1] };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_their_units_and_the_last_counts() {
        let args = "-XX:ReservedCodeCacheSize=64m -Xmx1g -XX:ReservedCodeCacheSize=5120K";
        assert_eq!(size_bytes(args, "-XX:ReservedCodeCacheSize="), Some(5 << 20));
        assert_eq!(size_bytes("-Xmx1g", "-Xmx"), Some(1 << 30));
        assert_eq!(size_bytes("-Xmx123", "-Xmx"), Some(123));
        assert_eq!(size_bytes("-Xmxgg", "-Xmx"), None);
        assert_eq!(size_bytes("-Xmx", "-Xmx"), None);
        assert_eq!(size_bytes("-Xmx99999999999999999g", "-Xmx"), None);
        assert_eq!(size_bytes("", "-Xmx"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_arguments_make_it_panic(args in "\\PC{0,80}") {
            size_bytes(&args, "-Xmx");
        }
    }
}
