//! The first three lines of a log (JDK 7u2 on, again in every rotated file) describe the JVM and
//! its machine.
//!
//! ```text
//! OpenJDK 64-Bit Server VM (25.252-b09) for linux-amd64 JRE (1.8.0_252-8u252-b09-1ubuntu1-b09), built on …
//! Memory: 4k page, physical 24684092k(21050908k free), swap 0k(0k free)
//! CommandLine flags: -XX:InitialHeapSize=4294967296 -XX:+UseG1GC
//! ```
//!
//! The flags are those that differ from the JVM's defaults, so that a boolean that is missing is
//! off. System properties are not among them, and thus no secrets.

use std::collections::BTreeMap;

use fathom_recording::vocabulary::fact;
use memchr::memmem;

/// Flags are truncated to this length.
const MAX_ARGS: usize = 8192;

/// Facts of a header so far.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Header {
    /// By the keys of [`fact`].
    pub facts: BTreeMap<String, String>,
}

impl Header {
    /// Takes a line; false when it does not belong to a header.
    pub fn line(&mut self, line: &[u8]) -> bool {
        if let Some(flags) = line.strip_prefix(b"CommandLine flags:") {
            self.flags(&String::from_utf8_lossy(flags.get(..MAX_ARGS).unwrap_or(flags)));
        } else if line.starts_with(b"Memory: ") && memmem::find(line, b" physical ").is_some() {
            self.memory(line);
        } else if Self::starts(line) {
            self.version(&String::from_utf8_lossy(line.get(..1024).unwrap_or(line)));
        } else {
            return false;
        }
        true
    }

    /// Whether a line is the first of a header.
    pub fn starts(line: &[u8]) -> bool {
        memmem::find(line, b" VM (").is_some() && memmem::find(line, b" JRE (").is_some()
    }

    fn set(&mut self, key: &str, value: impl Into<String>) {
        self.facts.insert(key.to_owned(), value.into());
    }

    fn version(&mut self, line: &str) {
        let Some(version) = line.split(" JRE (").nth(1).and_then(|rest| rest.split(')').next()) else {
            return;
        };
        let mut numbers = version.split(|c: char| !c.is_ascii_digit());
        let feature = match (numbers.next(), numbers.next()) {
            (Some("1"), Some(feature)) => feature,
            (Some(feature), _) => feature,
            _ => "",
        };
        if !feature.is_empty() {
            self.set(fact::JDK, feature);
        }
        self.set(fact::JVM_VERSION, version);
    }

    fn memory(&mut self, line: &[u8]) {
        let kilobytes = |key: &[u8]| {
            let at = memmem::find(line, key)? + key.len();
            super::numbers::leading_integer(line.get(at..)?)?.checked_mul(1024)
        };
        let free = |key: &[u8]| {
            let rest = line.get(memmem::find(line, key)?..)?;
            let open = memchr::memchr(b'(', rest)?;
            super::numbers::leading_integer(rest.get(open + 1..)?)?.checked_mul(1024)
        };
        for (key, bytes) in [
            (fact::MEMORY_BYTES, kilobytes(b" physical ")),
            (fact::SWAP_TOTAL_BYTES, kilobytes(b" swap ")),
            (fact::SWAP_FREE_BYTES, free(b" swap ")),
        ] {
            if let Some(bytes) = bytes {
                self.set(key, bytes.to_string());
            }
        }
    }

    fn flags(&mut self, flags: &str) {
        let flags = flags.trim();
        self.set(fact::JVM_ARGS, flags);
        let on = |name: &str| flags.split_ascii_whitespace().any(|f| f.strip_prefix("-XX:+") == Some(name));
        let value = |name: &str| {
            let mut words = flags.split_ascii_whitespace().filter_map(|f| f.strip_prefix("-XX:"));
            words.find_map(|f| f.strip_prefix(name)?.strip_prefix('=')).map(str::to_owned)
        };
        for (key, name) in [
            (fact::HEAP_MAX_BYTES, "MaxHeapSize"),
            (fact::HEAP_INITIAL_BYTES, "InitialHeapSize"),
            (fact::REGION_BYTES, "G1HeapRegionSize"),
            (fact::GC_WORKERS, "ParallelGCThreads"),
            (fact::GC_CONCURRENT_WORKERS, "ConcGCThreads"),
            (fact::CODE_CACHE_BYTES, "ReservedCodeCacheSize"),
        ] {
            if let Some(value) = value(name) {
                self.set(key, value);
            }
        }
        for (flag, collector) in [
            ("UseSerialGC", "Serial"),
            ("UseParallelGC", "Parallel"),
            ("UseParallelOldGC", "Parallel"),
            ("UseConcMarkSweepGC", "CMS"),
            ("UseG1GC", "G1"),
            ("UseShenandoahGC", "Shenandoah"),
        ] {
            if on(flag) {
                self.set(fact::COLLECTOR, collector);
            }
        }
        self.set(fact::PRETOUCH, if on("AlwaysPreTouch") { "enabled" } else { "disabled" });
        let pages = match (on("UseTransparentHugePages"), on("UseLargePages")) {
            (true, _) => "Enabled (Transparent)",
            (_, true) => "Enabled",
            _ => "Disabled",
        };
        self.set(fact::LARGE_PAGES, pages);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_three_lines_give_version_memory_and_flags() {
        let mut header = Header::default();
        for line in [
            "OpenJDK 64-Bit Server VM (25.252-b09) for linux-amd64 JRE (1.8.0_252-8u252-b09), built on Apr 16 2020",
            "Memory: 4k page, physical 24684092k(21050908k free), swap 1024k(512k free)",
            "CommandLine flags: -XX:MaxHeapSize=4294967296 -XX:+UseG1GC -XX:+AlwaysPreTouch ",
        ] {
            assert!(header.line(line.as_bytes()), "{line}");
        }
        assert!(!header.line(b"Memory: app uses 3 MB"));
        let fact = |key: &str| header.facts.get(key).map(String::as_str);
        assert_eq!(fact(fact::JVM_VERSION), Some("1.8.0_252-8u252-b09"));
        assert_eq!(fact(fact::JDK), Some("8"));
        assert_eq!(fact(fact::SWAP_FREE_BYTES), Some("524288"));
        assert_eq!(fact(fact::MEMORY_BYTES), Some("25276510208"));
        assert_eq!(fact(fact::HEAP_MAX_BYTES), Some("4294967296"));
        assert_eq!(fact(fact::COLLECTOR), Some("G1"));
        assert_eq!(fact(fact::PRETOUCH), Some("enabled"));
    }
}
