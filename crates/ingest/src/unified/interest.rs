//! Lines that no reader takes: which of them are known to be of no interest, and which are unknown.
//!
//! They are classified by `-Xlog`'s tags and levels: what a part of the JVM other than its
//! collectors and safepoints prints is of no interest if its tags are HotSpot's, and so are the
//! collectors' debug and trace lines. At info level a collector prints what a log is read for, so
//! there the combinations of tags are listed, and for those that hold something that is read, the
//! messages that are not. A new line of a new JDK is in none of these lists and is counted.
//!
//! Limits: where no level is printed, or no tags, an info line cannot be distinguished from a debug
//! one: then HotSpot's tags, and a collection's number, are enough.

use super::decorators::{Decorated, Level, set};

/// Whether a line that no reader took is known to be of no interest. `of_collection`: what follows
/// a collection's number, if it has one.
pub(crate) fn is_of_none(line: &Decorated<'_>, of_collection: Option<&[u8]>) -> bool {
    let message = of_collection.unwrap_or(line.body).trim_ascii();
    if line.tags.is_empty() {
        return of_collection.is_some() && !message.starts_with(b"Pause");
    }
    let leveled = line.set & set::LEVEL != 0;
    if !is_of_a_collector(line.tags) || !leveled || line.level < Level::Info {
        // A line about a pause that is not understood might be a lost pause.
        let loses_a_pause = || line.tags == b"gc" && memchr::memmem::find(message, b"Pause ").is_some();
        return line.tags.split(|b| *b == b',').all(is_hotspots) && !loses_a_pause();
    }
    message.is_empty()
        || WHOLE.contains(&line.tags)
        || is_listed(line.tags, without_generation(message))
        || line.tags == b"safepoint,stats" && is_count(message)
}

/// `G1CollectForAllocation               12`: how often each operation ran, at the end of the
/// table.
fn is_count(message: &[u8]) -> bool {
    let mut words = message.split(|b| *b == b' ').filter(|word| !word.is_empty());
    let (name, count, rest) = (words.next(), words.next(), words.next());
    name.is_some() && rest.is_none() && count.is_some_and(|count| count.iter().all(u8::is_ascii_digit))
}

/// Whether a line continues the message of the line before it: since JDK 22 such lines have blank
/// decorations.
pub(crate) fn continues(raw: &[u8]) -> bool {
    let blanks = raw.strip_prefix(b"[").and_then(|rest| rest.split(|b| *b == b']').next());
    blanks.is_some_and(|blanks| {
        blanks.len() + 1 < raw.len() && blanks.starts_with(b" ") && blanks.trim_ascii().is_empty()
    })
}

/// The sort of a line: its tags, and its text up to the first digit.
pub(crate) fn sort(line: &Decorated<'_>, of_collection: Option<&[u8]>) -> Vec<u8> {
    let message = without_generation(of_collection.unwrap_or(line.body).trim_ascii());
    let digit = message.iter().position(u8::is_ascii_digit).unwrap_or(message.len());
    let said = message.get(..digit.min(SORT)).unwrap_or_default();
    [line.tags, b" ", said].concat()
}

/// How much of a message belongs to its sort, bytes.
const SORT: usize = 40;

fn is_of_a_collector(tags: &[u8]) -> bool {
    matches!(tags.split(|b| *b == b',').next(), Some(b"gc" | b"safepoint"))
}

fn is_listed(tags: &[u8], message: &[u8]) -> bool {
    let of_tags = MESSAGES.iter().filter(|(of, _)| *of == tags);
    of_tags.flat_map(|(_, messages)| *messages).any(|begin| message.starts_with(begin))
}

/// Generational ZGC prints a prefix `y: `, `Y: ` or `O: `.
fn without_generation(message: &[u8]) -> &[u8] {
    match message {
        [b'y' | b'Y' | b'O', b':', rest @ ..] => rest.trim_ascii_start(),
        _ => message,
    }
}

fn is_hotspots(tag: &[u8]) -> bool {
    TAGS.binary_search(&tag).is_ok()
}

/// Combinations of tags of which no info line is of interest: collectors on their own decisions,
/// tables of counters, the state of the heap when the JVM ends.
#[rustfmt::skip]
const WHOLE: [&[u8]; 28] = [
    b"gc,alloc", b"gc,cds", b"gc,classhisto", b"gc,classhisto,start", b"gc,compaction", b"gc,ergo", b"gc,ergo,heap",
    b"gc,exit", b"gc,free", b"gc,heap,exit", b"gc,heap,numa", b"gc,humongous", b"gc,load", b"gc,marking", b"gc,mmu",
    b"gc,nmethod", b"gc,numa", b"gc,ref", b"gc,reloc", b"gc,stats", b"gc,stringdedup", b"gc,stringdedup,init",
    b"gc,stringtable", b"gc,thread", b"gc,tlab", b"gc,verify", b"gc,verify,start", b"safepoint,cleanup",
];

/// Combinations of tags that have lines of interest, with the beginnings of their other lines,
/// trimmed.
const MESSAGES: [(&[u8], &[&[u8]]); 6] = [
    (
        b"gc",
        &[
            b"Bootstrap cycle for old generation was cancelled",
            b"Cancel marking:",
            b"Cancelling GC:",
            b"Cancelling concurrent GC:",
            b"Consider",
            b"Elastic TLABs",
            b"Failed to allocate",
            b"GC request for",
            b"Heap:",
            b"Heuristics ergonomically sets",
            b"Min heap equals to max heap",
            b"Non-resizeable heap;",
            b"Periodic GC",
            b"Resizeable heap;",
            b"Serial collector GC overhead ergonomics",
            b"Soft Max Heap Size:",
            b"Terminating old gc cycle",
            b"Trigger",
            b"Using TLAB allocation",
        ],
    ),
    (b"gc,age", &[b"New tenuring threshold"]),
    (
        b"gc,heap",
        &[
            // The parts of ZGC's table, and messages about its cache.
            b"Mark Start",
            b"Min Capacity:",
            b"Max Capacity:",
            b"Soft Max Capacity:",
            b"Capacity:",
            b"Reserve:",
            b"Free:",
            b"Used:",
            b"Live:",
            b"Allocated:",
            b"Garbage:",
            b"Reclaimed:",
            b"Promoted:",
            b"Compacted:",
            b"Heap Statistics:",
            b"Young Generation Statistics:",
            b"Old Generation Statistics:",
            b"Page Cache Flushed:",
            b"Uncommitted:",
            // G1, CMS, and the sizes of generations as they are set up.
            b"Archive regions:",
            b"Old:",
            b"Minimum",
            b"1: Minimum",
            // Outside of a collection that stops the application.
            b"CMS:",
        ],
    ),
    (
        b"gc,init",
        &[
            b"Humongous object threshold:",
            b"Initial number of regions:",
            b"Initialize Shenandoah heap:",
            b"Max TLAB size:",
            b"Maximum number of regions:",
            b"Parallel reference processing enabled:",
            b"Reference processing:",
            b"Region size",
            b"Regions:",
            b"Safepointing mechanism:",
            b"Shenandoah GC mode:",
            b"Shenandoah heuristics:",
        ],
    ),
    (
        b"gc,metaspace",
        &[
            b"CDS archive(s)",
            b"Compressed class space",
            b"Encoding Range:",
            b"Klass ID Range:",
            b"Klass Range:",
            b"Metaspace:",
            b"Narrow klass",
            b"Protection zone:",
            b"UseCompressedClassPointers",
        ],
    ),
    // The column headers of the table, and the extremes at its end.
    (b"safepoint,stats", &[b"Maximum", b"VM Operation"]),
];

/// Tags of HotSpot: `java -Xlog:help` of JDK 11, 17, 21 and 25.
#[rustfmt::skip]
const TAGS: [&[u8]; 183] = [
    b"add", b"age", b"alloc", b"annotation", b"aot", b"arguments", b"array", b"attach", b"barrier",
    b"biasedlocking", b"blocks", b"bot", b"breakpoint", b"bytecode", b"cause", b"cds", b"census", b"class",
    b"classhisto", b"cleanup", b"codecache", b"compaction", b"compilation", b"condy", b"constantpool",
    b"constraints", b"container", b"continuations", b"coops", b"cpu", b"cset", b"data", b"datacreation",
    b"dcmd", b"decoder", b"defaultmethods", b"deoptimization", b"dependencies", b"director", b"dump",
    b"dynamic", b"ergo", b"event", b"exceptions", b"exit", b"fastlock", b"finalizer", b"fingerprint", b"free",
    b"freelist", b"gc", b"handshake", b"hashtables", b"heap", b"heapdump", b"humongous", b"ihop", b"iklass",
    b"indy", b"init", b"inlinecache", b"inlining", b"install", b"interpreter", b"itables", b"jfr", b"jit",
    b"jmethod", b"jni", b"jvmci", b"jvmti", b"lambda", b"library", b"link", b"liveness", b"load", b"loader",
    b"logging", b"malloc", b"map", b"mark", b"marking", b"membername", b"memops", b"metadata", b"metaspace",
    b"methodcomparator", b"methodhandles", b"methodtrace", b"mirror", b"mmu", b"module", b"monitorinflation",
    b"monitormismatch", b"monitortable", b"native", b"nestmates", b"nmethod", b"nmt", b"normalize", b"numa",
    b"objecttagging", b"obsolete", b"oldobject", b"oom", b"oopmap", b"oops", b"oopstorage", b"os", b"owner",
    b"page", b"pagesize", b"parser", b"patch", b"path", b"perf", b"periodic", b"phases", b"plab",
    b"placeholders", b"preempt", b"preorder", b"preview", b"promotion", b"protectiondomain", b"ptrqueue",
    b"purge", b"record", b"redefine", b"ref", b"refine", b"region", b"reloc", b"remset", b"resolve",
    b"safepoint", b"sampling", b"scavenge", b"sealed", b"setting", b"smr", b"stackbarrier", b"stackmap",
    b"stacktrace", b"stackwalk", b"start", b"startup", b"startuptime", b"state", b"stats", b"streaming",
    b"stringdedup", b"stringtable", b"stubs", b"subclass", b"survivor", b"suspend", b"sweep", b"symboltable",
    b"system", b"table", b"task", b"thread", b"throttle", b"time", b"timer", b"tlab", b"tracking", b"training",
    b"trimnative", b"unload", b"unmap", b"unshareable", b"update", b"valuebasedclasses", b"verification",
    b"verify", b"vmmutex", b"vmoperation", b"vmthread", b"vtables", b"vtablestubs", b"workgang",
];

#[cfg(test)]
mod tests {
    use super::super::decorators::{Before, take_apart};
    use super::super::run::gc_id;
    use super::*;

    fn is_known(line: &str) -> bool {
        let line = take_apart(line.as_bytes(), &mut Before::default());
        is_of_none(&line, gc_id(line.body).map(|(_, said)| said))
    }

    #[test]
    fn what_hotspot_says_elsewhere_or_in_detail_is_of_no_interest() {
        for line in [
            "[0.1s][info ][class,load] java.lang.Object source: shared objects file",
            "[0.1s][debug][gc,ergo,cset] GC(1) whatever is said here: 12",
            "[0.1s][trace][gc,tlab     ] ThreadLocalAllocBuffer::compute_size(3) returns failure",
            "[0.1s][info ][gc,stats    ] GC(1)   Memory: Allocation Rate   0 / 0  0 / 0  0 / 0  0 / 0  MB/s",
            "[0.1s][info ][gc,heap     ] GC(1) y:   Capacity:  200M (100%)  200M (100%)",
            "[0.1s][info ][gc,heap,exit]   region size 1024K, 3 young (3072K), 0 survivors (0K)",
            "[0.1s][info ][safepoint,stats] G1CollectForAllocation               12",
            "[0.1s][info ][gc,start    ] GC(1) ",
            "[0.1s][gc,heap] no level is printed, so this may be a debug line",
        ] {
            assert!(is_known(line), "{line}");
        }
    }

    #[test]
    fn what_is_new_in_a_new_jdk_is_known_to_nobody() {
        for line in [
            "[0.1s][info ][gc,newthing ] GC(1) A thing that nobody knows: 12ms",
            "[0.1s][info ][newthing    ] of another part of the JVM",
            "[0.1s][debug][gc,newthing ] GC(1) in detail",
            "[0.1s][info ][gc,heap     ] GC(1) Frozen regions: 1->2",
            "[0.1s][info ][gc          ] Something was decided",
            "[0.1s][info ][safepoint   ] Safepoint of a new form",
            "[0.1s][info ][safepoint,stats] name 3 rest",
            "[0.1s][gc] Pause in words that nobody knows",
        ] {
            assert!(!is_known(line), "{line}");
        }
    }

    #[test]
    fn a_message_of_several_lines_is_one() {
        assert!(continues(b"[                                    ]  active_workers_by_JT: 6"));
        for line in [&b"[0.1s][info] x"[..], b"[   not closed", b"[]", b"", b"x"] {
            assert!(!continues(line));
        }
    }

    #[test]
    fn tags_are_in_order_to_be_found() {
        assert!(TAGS.is_sorted());
        assert!(WHOLE.iter().flat_map(|tags| tags.split(|b| *b == b',')).all(is_hotspots));
    }
}
