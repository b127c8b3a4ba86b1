//! Lines that are known and of which nothing is kept: heap dumps, free lists, size policies.
//!
//! They are recognised so that the remaining unknown lines are really unknown, and so that their
//! brackets and seconds are not taken for a record's.

/// Beginnings of such lines, without leading spaces, grouped by the flag that prints them.
const KNOWN: &[&[u8]] = &[
    // PrintHeapAtGC, and the heap at exit with PrintGCDetails
    b"{Heap before",
    b"}",
    b"Heap",
    b"PSYoungGen",
    b"PSOldGen",
    b"ParOldGen",
    b"PSPermGen",
    b"par new generation",
    b"adaptive size par new generation",
    b"def new generation",
    b"tenured generation",
    b"concurrent mark-sweep generation",
    b"concurrent-mark-sweep perm gen",
    b"adaptive size concurrent mark-sweep generation",
    b"compacting perm gen",
    b"garbage-first heap",
    b"region size ",
    b"Metaspace ",
    b"class space",
    b"data space",
    b"eden space",
    b"from space",
    b"to space",
    b"to   space",
    b"object space",
    b"eden [",
    b"from [",
    b"to   [",
    b"object [",
    b"space ",
    b"the space ",
    b"ro space",
    b"rw space",
    b"No shared spaces configured",
    // PrintFLSStatistics, PrintFLSCensus
    b"Statistics for ",
    b"---",
    b"Total Free Space:",
    b"Max   Chunk Size:",
    b"Number of Blocks:",
    b"Av.  Block  Size:",
    b"Tree      Height:",
    b"Before GC:",
    b"After GC:",
    b"free=",
    b"size[",
    b"demand: ",
    b"CMS: Large block",
    b"CMS: Large Block:",
    b"Large block ",
    // PrintAdaptiveSizePolicy, PrintTenuringDistribution outside of a record
    b"AdaptiveSize",
    b"PSAdaptiveSize",
    b"CMSAdaptiveSize",
    b"AdaptiveSizeStart:",
    b"AdaptiveSizeStop:",
    b"avg_",
    b"minor_",
    b"major_",
    b"mutator_cost",
    b"promotion_",
    b"live_at_",
    b"desired_",
    b"old_gen_capacity",
    b"base_",
    b"PSScavenge::",
    b"Eden, from, to:",
    b"Desired survivor size",
    b"- age",
    b"Young generation size:",
    b"Survivor space size:",
    b"Base_footprint",
    b"live_space:",
    b"UseAdaptiveSizePolicy actions",
    b"GC overhead (%)",
    b"Tenuring threshold:",
    b"survivor_",
    b"capacities are the right sizes",
    b"Increasing to new size",
    // PrintCMSInitiationStatistics, PrintPromotionFailure, PrintTLAB, PrintGCTaskTimeStamps,
    // PrintParallelOldGCPhaseTimes
    b"CMSCollector",
    b"time_until_cms_gen_full",
    b"contiguous_available=",
    b"cms_allocation_rate=",
    b"cms_time_since_",
    b"occupancy=",
    b"initiatingOccupancy=",
    b"initiatingPermOccupancy=",
    b"metadata initialized",
    b"CMS: ",
    b"(cardTable:",
    b"Promotion failed:",
    b"promotion attempt is",
    b"promo attempt is",
    b"TLAB: ",
    b"TLAB totals:",
    b"VM-Thread ",
    b"GC-Thread ",
    b"GCTask-Thread ",
    // G1SummarizeRSetStats, G1TraceEagerReclaimHumongousObjects, G1PrintRegionLivenessInfo, marking
    b"###",
    b"Cumulative RS summary",
    b"Before GC RS summary",
    b"After GC RS summary",
    b"Recent concurrent refinement",
    b"Current rem set statistics",
    b"Concurrent RS ",
    b"Concurrent RS processed",
    b"Concurrent sampling threads",
    b"Conc RS threads times",
    b"Of ",
    b"Did ",
    b"Processed ",
    b"Total heap region",
    b"Total per region",
    b"Static structures",
    b"Max size region",
    b"Region with largest",
    b"Live humongous",
    b"Dead humongous",
    b"Mark stack is full",
    b"Setting abort in CSMarkOop",
    // PrintStringDeduplicationStatistics
    b"[Last Exec:",
    b"[Total Exec:",
    b"[Inspected:",
    b"[Skipped:",
    b"[Hashed:",
    b"[Known:",
    b"[New:",
    b"[Deduplicated:",
    b"[Young:",
    b"[Old:",
    b"[Table]",
    b"[Memory Usage:",
    b"[Size:",
    b"[Entries:",
    b"[Resize Count:",
    b"[Rehash Count:",
    b"[Age Threshold:",
    b"[Queue]",
    b"[Dropped:",
    // Class histograms
    b"num     #instances",
    b"num   #instances",
    // PrintSafepointStatistics, around its rows
    b"vmop  ",
    b"Polling page always armed",
    b"Maximum sync time",
    b"Maximum vm operation time",
    b"VM operations coalesced",
    // A JVM built for macOS prints this after its header
    b"/proc/meminfo:",
];

/// Whether a line, without leading spaces, belongs to PrintSafepointStatistics but is not a row:
/// its column headers, and its summary at the end.
pub(crate) fn is_around_safepoint_rows(line: &[u8]) -> bool {
    const WORDS: [&[u8]; 4] =
        [b"vmop  ", b"Polling page always armed", b"Maximum sync time", b"Maximum vm operation time"];
    WORDS.iter().any(|words| line.starts_with(words))
        || memchr::memmem::find(line, b" VM operations coalesced").is_some()
        || is_operation_total(line)
}

/// Whether a line, without leading spaces, is one of a dump.
pub(super) fn is_dump(line: &[u8]) -> bool {
    let Some(first) = line.first() else { return true };
    match first {
        b'0'..=b'9' => is_histogram_row(line) || is_statistics(line),
        b':' | b',' | b'(' if !line.starts_with(b"(cardTable") => false,
        _ => KNOWN.iter().any(|k| k[0] == *first && line.starts_with(k)) || is_operation_total(line),
    }
}

/// "   2:         1234       56789  [Ljava.lang.Object;" of a class histogram. Its bracket never closes.
fn is_histogram_row(line: &[u8]) -> bool {
    let mut words = line.split(|b| *b == b' ').filter(|w| !w.is_empty());
    let number = |w: Option<&[u8]>| w.is_some_and(|w| w.iter().all(u8::is_ascii_digit));
    let rank = words.next().and_then(|w| w.strip_suffix(b":"));
    number(rank) && number(words.next()) && number(words.next())
}

/// "    0 VM operations coalesced during safepoint", and the rows of G1SummarizeRSetStats: "259 (100.0%) by conc RS
/// threads.", "0 occupied cards represented.", or numbers alone.
fn is_statistics(line: &[u8]) -> bool {
    const WORDS: &[&[u8]] = &[b" VM operations coalesced", b"%) by ", b" occupied cards"];
    line.iter().all(|b| matches!(b, b'0'..=b'9' | b'.' | b' '))
        || WORDS.iter().any(|w| memchr::memmem::find(line, w).is_some())
}

/// "Deoptimize                     12": how often each VM operation ran, at the end of PrintSafepointStatistics; and
/// "Total     123    456" of a histogram.
fn is_operation_total(line: &[u8]) -> bool {
    let Some(gap) = memchr::memmem::find(line, b"  ") else { return false };
    let (word, count) = line.split_at(gap);
    let identifier = |b: &u8| b.is_ascii_alphanumeric() || *b == b'_';
    let numeric = |b: &u8| b.is_ascii_digit() || *b == b' ';
    word.iter().all(identifier) && count.iter().all(numeric) && count.iter().any(u8::is_ascii_digit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dumps_are_known_and_records_are_not() {
        for line in [
            "PSYoungGen      total 114688K, used 18786K [0x10010000, 0x18010000, 0x18010000)",
            "Total Free Space: 469745664",
            "2:         1234       56789  [Ljava.lang.Object;",
            "Deoptimize                         3",
            "0 VM operations coalesced during safepoint",
            "- age   1:   19742112 bytes,   19742112 total",
        ] {
            assert!(is_dump(line.as_bytes()), "{line}");
        }
        for line in [
            ": 830688K->25255K(1310720K), 0.1302057 secs] 1K->2K(3K), 0.2 secs]",
            ", 0.1 secs]",
            "(concurrent mode failure): 1K->2K(3K), 0.1 secs]",
            "0.123: [GC 1K->2K(3K), 0.1 secs]",
            "2026-01-01 INFO application started",
        ] {
            assert!(!is_dump(line.as_bytes()), "{line}");
        }
    }
}
