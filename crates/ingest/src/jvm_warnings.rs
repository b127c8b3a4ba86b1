//! Lines in which a JVM reports trouble, wherever it prints them: on its standard output, bypassing
//! any log, between the records of an old log, or under a tag of a unified one. Each becomes an
//! event of kind `jvm.warning`.

/// How much of a line is kept, characters.
const TEXT: usize = 200;

/// How many of them, and of warnings, are kept per run. A hundred thousand warnings of a JVM say no
/// more than ten thousand.
pub(crate) const MOST: u64 = 10_000;

/// Beginnings of such lines, without leading spaces.
const BEGINNINGS: [&[u8]; 9] = [
    // JDK 6 to 8, Parallel and CMS: a JNI critical section prevented a young collection.
    b"GC locker: Trying a full collection because scavenge failed",
    // `adaptiveSizePolicy.cpp` of JDK 6 to 8; parallelScavengeHeap.cpp since JDK 23.
    b"GC time is exceeding GCTimeLimit of",
    b"GC time would exceed GCTimeLimit of",
    b"GC is exceeding overhead limit of",
    b"GC would exceed overhead limit of",
    b"GC Overhead Limit exceeded too often",
    // ZGC, with the thread's name.
    b"Out Of Memory (",
    // -XX:+SafepointTimeout: JDK 8 prints it bypassing its log.
    b"# SafepointSynchronize::begin: Timeout detected",
    b"Exception <a 'java/lang/OutOfMemoryError'",
];

/// The complaint of the JVM in a line, if there is one, truncated to what is kept of it. An error
/// is returned without what the application printed before it, so that the same error is the same
/// text.
pub(crate) fn said_in(line: &[u8]) -> Option<String> {
    let line = line.trim_ascii();
    let from = if BEGINNINGS.iter().any(|words| line.starts_with(words)) {
        0
    } else {
        memchr::memmem::find(line, b"java.lang.OutOfMemoryError").filter(|at| is_error(line, *at))?
    };
    Some(text(line.get(from..)?))
}

/// What the parallel collector of JDK 6 to 8 prints within a record of a full collection, on its
/// line.
pub(crate) fn limit_in(line: &[u8]) -> Option<String> {
    let at = memchr::memmem::find(line, b"GCTimeLimit")?;
    let from = memchr::memmem::rfind(line.get(..at)?, b"GC time ")?;
    let (head, words) = line.split_at_checked(from)?;
    // On a line of its own it is [`said_in`].
    memchr::memchr(b'[', head)?;
    Some(text(words.split(|b| *b == b',' || *b == b'[').next().unwrap_or(words)))
}

/// Whether the class is named as what was thrown: by itself or with its message, and not as a class
/// about which something is logged, or in the text of a flag.
fn is_error(line: &[u8], at: usize) -> bool {
    let after = line.get(at + "java.lang.OutOfMemoryError".len()..).unwrap_or_default();
    let before = line.get(..at).unwrap_or_default();
    matches!(after, [] | [b':', ..]) && before.last().is_none_or(|b| matches!(b, b' ' | b'"' | b'\t'))
}

/// A line as it is kept.
pub(crate) fn text(line: &[u8]) -> String {
    let text = String::from_utf8_lossy(line.get(..4 * TEXT).unwrap_or(line));
    text.trim().chars().take(TEXT).map(|c| if c.is_control() { ' ' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_within_a_record_is_recognised() {
        let line = b"1.5: [Full GC [PSYoungGen: 9K->8K(10K)] 19K->18K(20K)\tGC time is exceeding GCTimeLimit of 98%, 9.6 secs]";
        assert_eq!(limit_in(line).as_deref(), Some("GC time is exceeding GCTimeLimit of 98%"));
        assert_eq!(limit_in(b"GC time is exceeding GCTimeLimit of 98%"), None, "it is reported by itself");
        assert_eq!(limit_in(b"1.5: [Full GC 19K->18K(20K), 9.6 secs]"), None);
    }

    #[test]
    fn an_error_that_was_thrown_is_trouble_and_its_class_is_not() {
        let said = |line: &str| said_in(line.as_bytes());
        let heap = Some("java.lang.OutOfMemoryError: Java heap space".to_owned());
        assert_eq!(said("java.lang.OutOfMemoryError: Java heap space"), heap);
        assert_eq!(said("Exception in thread \"main\" java.lang.OutOfMemoryError: Java heap space\r"), heap);
        assert_eq!(said("2026-01-01 ERROR x Caused by: java.lang.OutOfMemoryError: Java heap space"), heap);
        assert!(said("Out Of Memory (main)").is_some());
        for line in [
            "java.lang.OutOfMemoryError source: jrt:/java.base",
            "[Loaded java.lang.OutOfMemoryError from shared objects file]",
            "CommandLine flags: -XX:+HeapDumpOnOutOfMemoryError",
            "",
        ] {
            assert_eq!(said(line), None, "{line}");
        }
    }
}
