//! What a JVM prints about itself when it starts: collector, version, CPUs, memory, heap, workers.
//!
//! Since JDK 16 all collectors print `gc,init` in the same words; before, each had its own (ZGC) or
//! printed little (G1: `Heap region size: 1M`; all with compressed pointers: `Heap address: 0x…,
//! size: 300 MB, …`).

use fathom_recording::secrets::program_arguments;
use fathom_recording::vocabulary::fact;

use super::collections::Collections;
use super::out::Out;
use super::scan;
use crate::jvm_args;

/// The collector that a "Using …" line names. `None`: it is not such a line.
pub(crate) fn collector(body: &[u8]) -> Option<&'static str> {
    let name = body.strip_prefix(b"Using ")?;
    // `Using 2 workers of 2 for evacuation`, with each collection.
    if name.first().is_some_and(u8::is_ascii_digit) {
        return None;
    }
    Some(match name.trim_ascii_end() {
        b"Serial" => "Serial",
        b"Parallel" => "Parallel",
        b"Concurrent Mark Sweep" => "CMS",
        b"G1" => "G1",
        b"The Z Garbage Collector" => "Z",
        b"Shenandoah" => "Shenandoah",
        b"Epsilon" => "Epsilon",
        _ => return None,
    })
}

/// How much of a command line is kept; class paths of a hundred kilobytes are real.
const ARGUMENTS: usize = 64 << 10;

/// Takes a line of `-Xlog:arguments`, which JDK 21 and later write. False: it is not one that is of
/// interest.
///
/// ```text
/// jvm_args: -Xmx1g -Ddb.password=… -Xlog:gc*:file=gc.log
/// java_command: org.example.Main --port 8080
/// ```
///
/// Of the command the main class is kept, or the jar's name, and of the application's own arguments
/// those that cannot be secrets.
pub(crate) fn arguments(body: &[u8], out: &mut Out<'_>) -> bool {
    let body = body.get(..ARGUMENTS).unwrap_or(body);
    if let Some(args) = body.strip_prefix(b"jvm_args:") {
        let args = jvm_args::masked(&super::out::text(args));
        if !args.is_empty() {
            out.fact(fact::JVM_ARGS, args);
        }
        return true;
    }
    let Some(command) = body.strip_prefix(b"java_command:") else { return false };
    let command = super::out::text(command);
    let mut words = command.split_whitespace();
    if let Some(main) = words.next() {
        out.sink.process_mut(out.process).name = main.to_owned();
        out.fact(fact::MAIN, main);
        let program = program_arguments(words);
        if !program.is_empty() {
            out.fact(fact::MAIN_ARGS, program);
        }
    }
    true
}

/// Takes a line of the start. False: it is of no interest.
pub(crate) fn line(body: &[u8], gcs: &mut Collections, out: &mut Out<'_>) -> bool {
    if let Some(collector) = collector(body) {
        out.fact(fact::COLLECTOR, collector);
        return true;
    }
    let Some(colon) = memchr::memchr(b':', body) else { return without_colon(body, out) };
    let (word, value) = body.split_at_checked(colon).unwrap_or((body, b""));
    let value = value.get(1..).unwrap_or_default().trim_ascii();
    let key = match word {
        b"Version" => return version(value, out),
        b"CPUs" => return cpus(value, out),
        b"Memory" => fact::MEMORY_BYTES,
        b"Heap Max Capacity" | b"Max Capacity" => fact::HEAP_MAX_BYTES,
        b"Heap Initial Capacity" | b"Initial Capacity" => fact::HEAP_INITIAL_BYTES,
        b"Heap Region Size" | b"Heap region size" => return region(value, gcs, out),
        b"Heap address" => return heap_address(value, out),
        b"Pre-touch" | b"Pre-touching" => return text(fact::PRETOUCH, &value.to_ascii_lowercase(), out),
        b"Large Page Support" => return text(fact::LARGE_PAGES, value, out),
        b"Parallel Workers" | b"Runtime Workers" => return workers(fact::GC_WORKERS, value, out),
        b"Concurrent Workers" | b"GC Workers" | b"GC Workers Max" => {
            return workers(fact::GC_CONCURRENT_WORKERS, value, out);
        }
        b"Parallel GC threads" => return workers(fact::GC_WORKERS, value, out),
        b"Concurrent GC threads" => return workers(fact::GC_CONCURRENT_WORKERS, value, out),
        // ZGC up to JDK 15, Shenandoah up to 15.
        b"Workers" | b"GC threads" => return both_workers(value, out),
        b"Mode" if value == b"Generational" => return text(fact::GENERATIONAL, b"1", out),
        b"GC Workers for Young Generation" => return text(fact::GENERATIONAL, b"1", out),
        _ => return is_of_no_interest(word),
    };
    match scan::bytes(value) {
        Some((bytes, _)) => {
            out.fact(key, format!("{bytes:.0}"));
            true
        }
        None => false,
    }
}

fn without_colon(body: &[u8], out: &mut Out<'_>) -> bool {
    // `Initializing The Z Garbage Collector` comes with any log that has gc+init, also without
    // "Using".
    if body == b"Initializing The Z Garbage Collector" {
        out.fact(fact::COLLECTOR, "Z");
        return true;
    }
    body.starts_with(b"Using legacy single-generation mode") || body.starts_with(b"Consider enabling ")
}

/// Words of the start that hold no fact for us, listed so that a log without tags has no unknown
/// lines.
fn is_of_no_interest(word: &[u8]) -> bool {
    matches!(
        word,
        b"NUMA Support"
            | b"NUMA Nodes"
            | b"Compressed Oops"
            | b"Heap Min Capacity"
            | b"Min Capacity"
            | b"Soft Max Capacity"
            | b"Concurrent Refinement Workers"
            | b"Periodic GC"
            | b"CardTable entry size"
            | b"Card Set container configuration"
            | b"Alignments"
            | b"Heap Region Count"
            | b"Humongous Object Threshold"
            | b"TLAB Size Max"
            | b"TLAB Size Elasticity"
            | b"TLAB Size Decay Time"
            | b"Mode"
            | b"Heuristics"
            | b"Young Heuristics"
            | b"Old Heuristics"
            | b"Uncommit"
            | b"Uncommit Delay"
            | b"Medium Page Size"
            | b"Page Size Medium"
            | b"Address Space Type"
            | b"Address Space Size"
            | b"Reserved Space Type"
            | b"Reserved Space Size"
            | b"Heap Backing File"
            | b"Heap Backing Filesystem"
            | b"Heap backed by file"
            | b"Available space on backing filesystem"
            | b"Pre-mapping"
            | b"Soft Max Heap Size"
            | b"GC Workers for Old Generation"
            | b"Compressed class space mapped at"
            | b"Narrow klass base"
            | b"CDS archive(s) mapped at"
    )
}

/// `17.0.15+6-Debian-1deb12u1 (release)`.
fn version(value: &[u8], out: &mut Out<'_>) -> bool {
    let end = value.windows(2).position(|w| w == b" (").unwrap_or(value.len());
    let version = value.get(..end).unwrap_or(value);
    if let Some((feature, _)) = scan::integer(version) {
        out.fact(fact::JDK, feature.to_string());
        if feature <= LAST_WITHOUT_ASYNC {
            out.fact(fact::LOG_MODE, "sync");
        }
    }
    text(fact::JVM_VERSION, version, out)
}

/// `-Xlog:async` came with JDK 17 (JDK-8229517).
const LAST_WITHOUT_ASYNC: u64 = 16;

/// `8 total, 2 available`: a container sees the second.
fn cpus(value: &[u8], out: &mut Out<'_>) -> bool {
    let Some((total, rest)) = scan::integer(value) else { return false };
    let available = rest.strip_prefix(b" total, ").and_then(scan::integer).map_or(total, |(n, _)| n);
    out.fact(fact::CPUS, available.to_string());
    true
}

fn region(value: &[u8], gcs: &mut Collections, out: &mut Out<'_>) -> bool {
    let Some((bytes, _)) = scan::bytes(value).filter(|(bytes, _)| *bytes > 0.0) else { return false };
    gcs.set_region_bytes(bytes);
    out.fact(fact::REGION_BYTES, format!("{bytes:.0}"));
    true
}

/// `0x00000000ed400000, size: 300 MB, Compressed Oops mode: 32-bit`: the reserved heap, which is
/// its maximum.
fn heap_address(value: &[u8], out: &mut Out<'_>) -> bool {
    let Some(at) = memchr::memmem::find(value, b"size: ") else { return true };
    if let Some((size, b" MB")) =
        value.get(at + 6..).and_then(scan::integer).map(|(size, rest)| (size, rest.get(..3).unwrap_or(rest)))
    {
        out.fact(fact::HEAP_MAX_BYTES, size.saturating_mul(1 << 20).to_string());
    }
    true
}

/// `2`, `2 parallel`, `1 (dynamic)`.
fn workers(key: &str, value: &[u8], out: &mut Out<'_>) -> bool {
    let Some((count, _)) = scan::integer(value) else { return false };
    out.fact(key, count.to_string());
    true
}

/// `2 parallel, 1 concurrent`.
fn both_workers(value: &[u8], out: &mut Out<'_>) -> bool {
    for part in value.split(|b| *b == b',') {
        let Some((count, word)) = scan::integer(part.trim_ascii()) else { continue };
        match word {
            b" parallel" => out.fact(fact::GC_WORKERS, count.to_string()),
            b" concurrent" => out.fact(fact::GC_CONCURRENT_WORKERS, count.to_string()),
            _ => {}
        }
    }
    true
}

fn text(key: &str, value: &[u8], out: &mut Out<'_>) -> bool {
    out.fact(key, String::from_utf8_lossy(value));
    true
}
