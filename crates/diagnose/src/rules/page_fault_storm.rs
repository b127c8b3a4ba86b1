//! `page-fault-storm`: threads spend their time in the kernel's handling of page faults.

use fathom_recording::vocabulary::{fact, fault, kind};
use fathom_recording::{ProcessId, ThreadId};

use super::fault_case::{Faults, PAGE};
use super::gc_case::{WHOLE_RUN_SHARE, blind, remedy, summed};
use crate::intervals::Intervals;
use crate::waits::Heading;
use crate::{Case, Confidence, Finding, Judgement, Layer, Remedy, Rule, quantity};

/// Share of the fetched bytes that must have been given back meanwhile for the one to be blamed on the other.
const GIVEN_BACK: f64 = 0.5;
/// More of the heap than so many times its largest size was fetched: it is given back in between.
const AGAIN: f64 = 1.2;
/// Share of the faults from which on writes to protected pages are the story.
const PROTECTED: f64 = 0.5;
/// Mean length of a fault from which on it waited for something, milliseconds: to find a page takes some microseconds, to zero 2 MB
/// a tenth of a millisecond or two.
const WAITED_MS: f64 = 1.0;
/// Methods and threads that are named.
const NAMED: usize = 3;

/// The rule.
pub struct PageFaultStorm;

/// Why pages are fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The heap's memory was never used before.
    HeapGrows,
    /// The heap gives memory back and fetches it again.
    HeapReturned,
    /// The C library gives memory back and fetches it again.
    AllocatorReturns,
    /// Native memory that was never used before.
    NativeGrows,
    /// Threads begin.
    Stacks,
    /// A file is mapped rather than read.
    MappedFile,
    /// Pages are copied when they are written to.
    Copies,
    /// Each fault waited, for a disk or a file system: with the words of the chain.
    Waited,
    /// The control group is at its limit of memory: pages are dropped and read again.
    MemoryLimit,
    /// Nothing tells.
    Unknown,
}

impl Rule for PageFaultStorm {
    fn id(&self) -> &'static str {
        "page-fault-storm"
    }

    fn layer(&self) -> Layer {
        Layer::Memory
    }

    fn about(&self) -> &'static str {
        "The kernel hands out a page when it is first touched: the thread traps, the kernel finds or zeroes a page, maps it, \
         and the thread goes on some microseconds later. Memory that is given back and fetched again and again, or that \
         grows quickly, turns that into a large part of a thread's time. A profile shows it in whatever Java method happens \
         to touch the memory, which is innocent.\n\n\
         **Evidence.** Every fault as `fathom record` counts and times it, by thread and mapping: the time in faults above \
         the base's, for the application's threads and the collector's each by as many as share it. Without counts, CPU \
         samples with frames of the kernel (`asm_exc_page_fault`) tell the time, and not the mapping. The mapping, what \
         was given back to the kernel meanwhile (munmap, madvise) and who touched the pages tell why.\n\n\
         **Look-alikes.** Kernel time of system calls has no frame of a fault. Faults that take a millisecond and more on average waited for \
         something: a disk, a frozen file system (the chain says which), or, where the control group has no memory left, \
         pages that were dropped and are read again. Kernel-heavy collections of a log without a recording are \
         `gc-first-touch` or `gc-kernel-time`. At start-up every JVM fetches its memory: that counts only where it was a good part of the \
         time looked at.\n\n\
         **Ruled out** by the time in page faults found."
    }

    fn needs(&self) -> &'static [crate::Sight] {
        &[crate::Sight::PageFaults]
    }

    fn of_any_program(&self) -> bool {
        true
    }

    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement {
        let Some(faults) = Faults::of(case, jvm) else {
            return blind(
                self,
                "page faults",
                "fathom record (eBPF), or perf record -g with the kernel's frames",
            );
        };
        let cost_ms = faults.cost_ms();
        let measured_loss = !case.whole_run || case.loss.lost_ms > 0.0;
        let worth = case.matters(cost_ms)
            && (measured_loss || cost_ms >= WHOLE_RUN_SHARE * Case::length_ms(&case.slow));
        if !worth {
            let total = faults.total();
            let seconds = Case::length_ms(&case.slow) / 1e3;
            let rate = if faults.measured && seconds > 0.0 {
                format!(", {} faults a second", quantity::count((total.faults / seconds).round()))
            } else {
                String::new()
            };
            return Judgement::RuledOut {
                figure: format!(
                    "threads spent {} in page faults{rate}; {} of wall time{}",
                    quantity::millis(total.ms),
                    quantity::millis(cost_ms),
                    if case.base.is_empty() { "" } else { " above the base" }
                ),
                source: faults.source(),
            };
        }
        Judgement::Found(Box::new(found(self, &faults, jvm, cost_ms)))
    }
}

/// Why the dearest mapping is touched, as far as it can be told.
fn why(faults: &Faults<'_, '_>, mapping: &str, bytes: f64, protect_share: f64, heap_max: Option<f64>) -> Why {
    if protect_share >= PROTECTED || mapping.starts_with(fault::PRIVATE_COPY) {
        return Why::Copies;
    }
    match mapping {
        fault::HEAP if heap_max.is_some_and(|max| faults.ever_in(mapping) * PAGE > AGAIN * max) => {
            Why::HeapReturned
        }
        fault::HEAP => Why::HeapGrows,
        fault::ANONYMOUS | fault::MALLOC | fault::ARENA | fault::NOT_SEEN => {
            if faults.given_back_bytes() >= GIVEN_BACK * bytes {
                Why::AllocatorReturns
            } else {
                Why::NativeGrows
            }
        }
        fault::STACK => Why::Stacks,
        file if file.starts_with('/') => Why::MappedFile,
        _ => Why::Unknown,
    }
}

fn found(rule: &dyn Rule, faults: &Faults<'_, '_>, jvm: ProcessId, cost_ms: f64) -> Finding {
    let case = faults.case;
    let fact = |key: &str| case.recording.processes.get(jvm.index()).and_then(|p| p.fact(key));
    let heap_max = fact(fact::HEAP_MAX_BYTES).and_then(|bytes| bytes.parse().ok());
    let (total, base) = (faults.total(), faults.base_total());
    let mappings = faults.mappings();
    let (mapping, sum) = mappings.first().map_or(("", total), |(mapping, sum, _)| (*mapping, *sum));
    let known = faults.measured && !mapping.is_empty();
    let protect = if sum.faults > 0.0 { sum.protect / sum.faults } else { 0.0 };
    let waited = faults.measured && total.ms >= WAITED_MS * total.faults.max(1.0);
    let why = match () {
        () if at_its_limit(case, jvm) && total.major > 0.0 => Why::MemoryLimit,
        () if waited => Why::Waited,
        () if known => why(faults, mapping, sum.faults * PAGE, protect, heap_max),
        () => Why::Unknown,
    };
    let by_collector = known && faults.collectors_share(mapping) >= 0.5;
    let methods = faults.touched_by(known.then_some(mapping));
    let toucher = methods.first().map(|(method, _)| *method);

    let sure = match (faults.measured, case.share(cost_ms)) {
        (true, Some(share)) if share >= 0.5 => (
            Confidence::Proven,
            "each fault was counted and timed, and they explain half of the loss or more",
        ),
        (true, Some(_)) => {
            (Confidence::Likely, "each fault was counted and timed; they explain a part of the loss")
        }
        (true, None) => {
            (Confidence::Likely, "each fault was counted and timed; what the loss is was not measured")
        }
        (false, Some(share)) if share >= 0.5 => (
            Confidence::Likely,
            "CPU samples show the kernel's handling of faults; the faults were not counted",
        ),
        (false, _) => (
            Confidence::ConsistentWith,
            "CPU samples show the kernel's handling of faults; the faults were not counted",
        ),
    };
    let mut finding = case.finding(rule, jvm, sure.0, cost_ms);
    finding.why_confidence = sure.1.into();
    let place = if known { format!(" in {}", called(mapping)) } else { String::new() };
    finding.title =
        format!("threads spent {} in page faults{place}: {}", quantity::millis(total.ms), in_short(why));
    finding.culprit = match (known, toucher) {
        (true, Some(toucher)) => format!("{mapping}, touched by {toucher}"),
        (true, None) => mapping.to_owned(),
        (false, Some(toucher)) => format!("memory touched by {toucher}"),
        (false, None) => "memory".into(),
    };
    finding.meaning = meaning(why, by_collector, toucher);
    finding.windows = case.slow.clone();

    let source = faults.source();
    let seconds = |windows: &[crate::Window]| Case::length_ms(windows) / 1e3;
    if faults.measured {
        let rate = total.faults / seconds(&case.slow).max(1e-9);
        let before = if case.base.is_empty() {
            String::new()
        } else {
            format!(" (base: {})", quantity::count((base.faults / seconds(&case.base).max(1e-9)).round()))
        };
        finding.evidence.push(summed(
            source.clone(),
            format!(
                "{} page faults a second{before}, {:.1} µs each, {} of them major",
                quantity::count(rate.round()),
                total.ms * 1e3 / total.faults.max(1.0),
                quantity::count(total.major.round())
            ),
        ));
        let above = if case.base.is_empty() { "" } else { " above the base" };
        let one = |(mapping, sum, ms): &(&str, super::fault_case::Sum, f64)| {
            format!(
                "{mapping} ({} faults, {}{above})",
                quantity::count(sum.faults.round()),
                quantity::millis(*ms)
            )
        };
        let list: Vec<String> = mappings.iter().take(NAMED).map(one).collect();
        finding.evidence.push(summed(source.clone(), format!("by mapping: {}", list.join(", "))));
    } else {
        let text = format!("{} of CPU time below asm_exc_page_fault", quantity::millis(total.ms));
        finding.evidence.push(summed(source.clone(), text));
    }
    let listed = |list: Vec<(&str, f64)>, told: &dyn Fn(f64) -> String| {
        let one = |(name, number): &(&str, f64)| format!("{name} ({})", told(*number));
        list.iter().take(NAMED).map(one).collect::<Vec<_>>().join(", ")
    };
    if !methods.is_empty() {
        let text = format!("touched by {}", listed(methods, &quantity::share));
        finding.evidence.push(summed(source.clone(), text));
    }
    let threads = faults.threads();
    if !threads.is_empty() {
        let text = format!("time in faults by thread: {}", listed(threads, &quantity::millis));
        finding.evidence.push(summed(source.clone(), text));
    }
    let given = faults.given_back_bytes();
    if given > 0.0 {
        let text = format!("{} given back to the kernel meanwhile (munmap, madvise)", quantity::bytes(given));
        finding.evidence.push(summed(source, text));
    }
    if matches!(why, Why::Waited | Why::MemoryLimit) {
        let told: Vec<String> = (waited_for(case, jvm).iter().take(NAMED))
            .map(|(what, ms)| format!("{what} ({})", quantity::millis(*ms)))
            .collect();
        if let Some(most) = told.first() {
            finding.title = format!("{}; {most}", finding.title);
            let source = finding.evidence.first().map_or(String::new(), |e| e.source.clone());
            finding
                .evidence
                .push(summed(source, format!("in page faults, off the CPU: {}", told.join(", "))));
        }
    }
    finding.remedies = remedies(why);
    finding.verify = vec![
        "fathom record again: the series process.faults of this mapping falls, and fathom ledger shows less under \
         \"running: kernel, page faults\""
            .into(),
        "minflt of /proc/PID/stat (or perf stat -e minor-faults -p PID) rises more slowly under the same load".into(),
    ];
    finding
}

/// Whether the JVM was held up in the slow windows because its control group had no memory left.
fn at_its_limit(case: &Case<'_>, jvm: ProcessId) -> bool {
    case.spans_in(kind::MEMORY_STALL, jvm, &case.slow).any(|stall| stall.name().contains("control group"))
}

/// What threads of a JVM waited for in page faults of the slow windows, as the chain tells it, with milliseconds.
fn waited_for(case: &Case<'_>, jvm: ProcessId) -> Vec<(String, f64)> {
    let slow = Intervals::of_windows(&case.slow);
    let threads = case.recording.threads.iter().enumerate().filter(|(_, thread)| thread.process == jvm);
    let faulting = threads.filter_map(|(i, _)| {
        let thread = ThreadId(i as u32);
        let moments = case.chains().by_heading(thread)?[Heading::PageFault.index()].and(&slow);
        (!moments.is_empty()).then_some((thread, moments))
    });
    let moments: Vec<(ThreadId, Intervals)> = faulting.collect();
    case.chains().did(&moments).0
}

/// A mapping within a sentence.
fn called(mapping: &str) -> String {
    match mapping {
        fault::HEAP => "the Java heap".into(),
        fault::CODE_CACHE => "the code cache".into(),
        fault::CLASS_SPACE => "the class space".into(),
        fault::MALLOC => "the malloc heap".into(),
        fault::ARENA => "malloc's arenas".into(),
        fault::STACK => "stacks of threads".into(),
        other => other.into(),
    }
}

fn in_short(why: Why) -> &'static str {
    match why {
        Why::HeapGrows => "the heap is used for the first time",
        Why::HeapReturned => "the heap gives memory back and fetches it again",
        Why::AllocatorReturns => "native memory is given back and fetched again",
        Why::NativeGrows => "native memory is used for the first time",
        Why::Stacks => "new threads",
        Why::MappedFile => "a mapped file",
        Why::Copies => "pages are copied when they are written to",
        Why::Waited => "each waited for its page",
        Why::MemoryLimit => "the control group has no memory left, and pages are dropped and read again",
        Why::Unknown => "memory is touched that is not there",
    }
}

fn meaning(why: Why, by_collector: bool, toucher: Option<&str>) -> String {
    let what = match why {
        Why::HeapGrows if by_collector => {
            "The collector copies objects into parts of the heap that were never used, and the kernel zeroes each page first."
        }
        Why::HeapGrows => {
            "New objects are put into parts of the heap that were never used, and the kernel zeroes each page first."
        }
        Why::HeapReturned => {
            "More pages of the heap were fetched than it has: between collections it gives memory back to the kernel, and \
             every page costs a fault when it is used again."
        }
        Why::AllocatorReturns => {
            "The C library gives blocks back to the kernel when they are freed and asks for them again at the next \
             allocation; each time every page costs a fault and is zeroed."
        }
        Why::NativeGrows => {
            "Memory outside the heap is used for the first time, and the kernel zeroes each page first."
        }
        Why::Stacks => "Each new thread touches the pages of its own stack for the first time.",
        Why::MappedFile => {
            "The file is mapped: each page, or small group of pages, is mapped by a fault when first touched."
        }
        Why::Copies => {
            "The pages are there, but must not be written to: they are shared with a child after a fork, with the file that \
             they come from, or protected by somebody who wants to know of writes; the kernel copies each when it is."
        }
        Why::Waited => {
            "The page belongs to a file, or was moved away: it cannot be touched before it is read, or before its file system \
             lets it be written to."
        }
        Why::MemoryLimit => {
            "The control group may hold no more memory. The kernel takes away pages that files can be read from again, code \
             and libraries too, and threads wait for the disk when they touch them next."
        }
        Why::Unknown => "Memory is touched whose pages the kernel has to find or make first.",
    };
    match toucher {
        Some(toucher) => {
            format!(
                "{what} A profile shows that time in {toucher}, which only is the first to touch the memory."
            )
        }
        None => what.into(),
    }
}

fn remedies(why: Why) -> Vec<Remedy> {
    let pretouch = || {
        remedy(
            "-XX:+AlwaysPreTouch with -Xms equal to -Xmx",
            "any JDK; with several threads since JDK 9",
            "the JVM starts later and takes all its memory at once",
        )
    };
    let huge = || {
        remedy(
            "-XX:+UseTransparentHugePages (with madvise in /sys/kernel/mm/transparent_hugepage/enabled)",
            "Linux",
            "one fault in 512, each of which zeroes 2 MB: longer single stalls, and compaction when memory is fragmented",
        )
    };
    match why {
        Why::Waited => vec![
            remedy(
                "a file that is mapped on another file system, or in memory: for hsperfdata -XX:+PerfDisableSharedMem, or \
                 /tmp on tmpfs",
                "any JDK",
                "jps, jstat and tools that read hsperfdata no longer see the JVM",
            ),
            remedy(
                "see to what keeps the file system or the disk busy: fathom chain names it",
                "the host",
                "",
            ),
        ],
        Why::MemoryLimit => vec![
            remedy(
                "a larger limit of memory (memory.max, --memory, limits.memory): heap, metaspace, code, stacks, buffers and \
                 the files that are mapped must fit",
                "control groups",
                "memory",
            ),
            remedy("a smaller heap (-Xmx), so that what is beside it fits", "any JDK", "more collections"),
        ],
        Why::HeapGrows => vec![pretouch(), huge()],
        Why::HeapReturned => vec![
            remedy(
                "keep the heap: -Xms equal to -Xmx (G1: no G1PeriodicGCInterval; ZGC: -XX:-ZUncommit; Shenandoah: -XX:-ShenandoahUncommit)",
                "any JDK; ZUncommit since 13",
                "memory that the JVM does not need stays with it",
            ),
            pretouch(),
        ],
        Why::AllocatorReturns => vec![
            remedy(
                "use the buffer again instead of a new one for each operation (a pool, one for each thread)",
                "any",
                "it stays allocated",
            ),
            remedy(
                "MALLOC_MMAP_THRESHOLD_=33554432 MALLOC_TRIM_THRESHOLD_=268435456 in the JVM's environment",
                "glibc, which takes no more than 32 MB for the first: larger blocks are mapped and unmapped each time",
                "freed memory stays with the process",
            ),
            remedy(
                "-XX:TrimNativeHeapInterval=0, where trimming was switched on",
                "JDK 17.0.9, 21.0.1 and later",
                "freed memory stays with the process",
            ),
        ],
        Why::NativeGrows => vec![
            remedy(
                "allocate once and use again: pooled direct buffers, arenas that live as long as the work",
                "any",
                "it stays allocated",
            ),
            remedy("touch it before it matters, at the start", "any", "the start takes longer"),
        ],
        Why::Stacks => vec![remedy(
            "use threads again (a pool), or virtual threads",
            "virtual threads: JDK 21",
            "none for a pool; pinning until JDK 24",
        )],
        Why::MappedFile => vec![
            remedy("read the file with read() into a buffer that is used again", "any", "one copy more"),
            remedy("MappedByteBuffer.load(), once, before it matters", "any JDK", "reads the whole file"),
        ],
        Why::Copies => vec![
            remedy(
                "do not fork the JVM: -Djdk.lang.Process.launchMechanism=POSIX_SPAWN",
                "JDK 13 and later do so by themselves",
                "none known",
            ),
            remedy(
                "find who protects the pages: a snapshot (CRIU, userfaultfd), page merging (KSM), soft-dirty tracking",
                "Linux",
                "none",
            ),
        ],
        Why::Unknown => vec![remedy(
            "fathom record as root, which tells the mapping and who touches it",
            "Linux with eBPF",
            "about 0.3 µs for each fault",
        )],
    }
}

#[cfg(test)]
mod tests {
    use fathom_recording::vocabulary::{figure, kind};

    use super::*;
    use crate::built::{Built, judged};

    /// A run of `seconds` in which a thread has so many faults a second, each of two microseconds.
    fn run(mapping: &str, faults_a_second: f64, seconds: u32) -> Built {
        let mut built = Built::jvm("17", "G1", f64::from(seconds));
        for second in 0..seconds {
            let figures = [
                (figure::FAULTS, faults_a_second),
                (figure::MAJOR, 0.0),
                (figure::PROTECT, 0.0),
                (figure::FAULT_NS, faults_a_second * 2000.0),
            ];
            built.span(kind::PAGE_FAULTS, mapping, f64::from(second), 1000.0, &figures, &[]);
        }
        built
    }

    #[test]
    fn faults_that_take_a_third_of_the_time_are_a_finding_with_mapping_and_remedy() {
        let mut built = run(fault::HEAP, 150_000.0, 10);
        built.fact(fact::HEAP_MAX_BYTES, "68719476736");
        let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
        assert!((finding.cost_ms - 3000.0).abs() < 1.0, "{}", finding.cost_ms);
        assert!(finding.title.contains("the Java heap"), "{}", finding.title);
        assert!(finding.remedies[0].change.contains("AlwaysPreTouch"));
        assert!(finding.evidence[0].text.contains("150 000"), "{:?}", finding.evidence[0]);
    }

    /// One fault of 800 ms a second in a mapped file.
    fn waiting() -> Built {
        let mut built = Built::jvm("17", "G1", 10.0);
        for second in 0..10 {
            let figures = [
                (figure::FAULTS, 1.0),
                (figure::MAJOR, 1.0),
                (figure::PROTECT, 1.0),
                (figure::FAULT_NS, 800e6),
            ];
            built.span(kind::PAGE_FAULTS, "/tmp/hsperfdata_shop/7", f64::from(second), 1000.0, &figures, &[]);
        }
        built
    }

    #[test]
    fn a_few_long_faults_waited_for_their_pages_and_copied_nothing() {
        let Judgement::Found(finding) = judged(&PageFaultStorm, &waiting().sealed()) else { panic!() };
        assert!(finding.title.contains("each waited for its page"), "{}", finding.title);
        assert!(finding.remedies[0].change.contains("PerfDisableSharedMem"), "{:?}", finding.remedies);
        assert!(!finding.meaning.contains("copies"), "{}", finding.meaning);
        let mut built = waiting();
        built.on_thread(kind::MEMORY_STALL, "worker", "reclaim of the control group", 3.0, 20.0);
        let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
        assert!(finding.title.contains("control group has no memory left"), "{}", finding.title);
        assert!(finding.remedies[0].change.contains("memory.max"), "{:?}", finding.remedies);
    }

    #[test]
    fn a_heap_that_is_fetched_more_often_than_it_has_pages_was_given_back() {
        let mut built = run(fault::HEAP, 150_000.0, 10);
        built.fact(fact::HEAP_MAX_BYTES, "1073741824");
        let Judgement::Found(finding) = judged(&PageFaultStorm, &built.sealed()) else { panic!() };
        assert!(finding.remedies[0].change.contains("-Xms"), "{:?}", finding.remedies);
    }

    #[test]
    fn few_faults_are_ruled_out_with_their_rate_and_a_log_alone_cannot_tell() {
        let Judgement::RuledOut { figure, .. } =
            judged(&PageFaultStorm, &run(fault::ANONYMOUS, 2000.0, 10).sealed())
        else {
            panic!()
        };
        assert!(figure.contains("2 000 faults a second"), "{figure}");
        let log = Built::jvm("17", "G1", 60.0).sealed();
        assert!(matches!(judged(&PageFaultStorm, &log), Judgement::CannotTell(_)));
    }
}
