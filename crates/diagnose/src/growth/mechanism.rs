//! What running time that grew is spent on: well-known work of the JDK, of the kernel and of
//! logging, by the frames that the time lies below. The method of the application says where it is
//! asked for, and seldom what it is.

use fathom_recording::{FrameType, Recording, StackId};

use super::callers::an_operation;
use super::parts::Part;
use super::{MOST, Per, classes};
use crate::facts::{Metric, Value, growth as facts, mechanisms, remedies};
use crate::own_code::is_made_at_run_time;
use crate::{Case, Evidence, Fact, Finding};

/// Share of what grew that must make classes, or interpret those that were made at run time, for
/// their number to be reported.
const WITH_CLASSES: f64 = 0.1;

/// Whose the frames are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Of {
    Java,
    Jvm,
    Kernel,
}

/// A kind of work: its words, the beginnings of its frames' names, and what helps.
struct Mechanism {
    words: &'static Metric,
    frames: &'static [&'static str],
    of: Of,
    remedy: Option<&'static Metric>,
}

const fn java(
    words: &'static Metric,
    frames: &'static [&'static str],
    remedy: Option<&'static Metric>,
) -> Mechanism {
    Mechanism { words, frames, of: Of::Java, remedy }
}

const fn kernel(
    words: &'static Metric,
    frames: &'static [&'static str],
    remedy: Option<&'static Metric>,
) -> Mechanism {
    Mechanism { words, frames, of: Of::Kernel, remedy }
}

const fn jvm(
    words: &'static Metric,
    frames: &'static [&'static str],
    remedy: Option<&'static Metric>,
) -> Mechanism {
    Mechanism { words, frames, of: Of::Jvm, remedy }
}

/// The special before the general: of what one is made of, another one may be a part.
static MECHANISMS: [Mechanism; 31] = [
    // logTagSet.cpp, logFileOutput.cpp.
    jvm(
        &mechanisms::JVM_LOG,
        &["LogTagSet::", "LogFileOutput::", "LogFileStreamOutput::"],
        Some(&remedies::LESS_OF_JVM_LOG),
    ),
    // g1DirtyCardQueue.cpp, g1RemSet.cpp: what the write barrier leaves to be done.
    jvm(
        &mechanisms::REFINEMENT,
        &["G1DirtyCardQueueSet::", "G1RemSet::refine_card", "G1RefineBufferedCards::"],
        Some(&remedies::LESS_REFINEMENT),
    ),
    // fs/proc/task_mmu.c.
    kernel(
        &mechanisms::SMAPS,
        &["show_smap", "show_smaps_rollup", "smap_gather_stats"],
        Some(&remedies::SMAPS_SELDOM),
    ),
    java(
        &mechanisms::TLS,
        &[
            "sun.security.ssl.HandshakeContext.",
            "sun.security.ssl.SSLHandshake.",
            "sun.security.ssl.SSLEngineImpl$DelegatedTask",
            // JDK 8.
            "sun.security.ssl.Handshaker",
            "sun.security.ssl.ServerHandshaker",
            "sun.security.ssl.ClientHandshaker",
        ],
        Some(&remedies::KEEP_TLS),
    ),
    java(
        &mechanisms::EXCEPTIONS,
        &["java.lang.Throwable.fillInStackTrace"],
        Some(&remedies::FEWER_EXCEPTIONS),
    ),
    // Sources: sharedRuntime.cpp, which asks for annotated methods when a stack overflows, and
    // opto/runtime.cpp.
    jvm(
        &mechanisms::UNWINDING,
        &[
            "SharedRuntime::look_for_reserved_stack_annotated_method",
            "SharedRuntime::raw_exception_handler_for_return_address",
            "SharedRuntime::compute_compiled_exc_handler",
            "OptoRuntime::handle_exception",
            "OptoRuntime::rethrow",
            "Runtime1::exception_handler_for_pc",
            "InterpreterRuntime::exception_handler_for_exception",
        ],
        Some(&remedies::END_THE_RECURSION),
    ),
    // biasedLocking.cpp, JDK 8 to 17.
    jvm(
        &mechanisms::REVOCATIONS,
        &["BiasedLocking::", "RevokeOneBias", "VM_BulkRevokeBias"],
        Some(&remedies::NO_BIASED_LOCKING),
    ),
    java(
        &mechanisms::STACK_WALKS,
        &["java.lang.StackWalker", "java.lang.StackStreamFactory", "java.lang.Thread.getStackTrace"],
        Some(&remedies::FEWER_STACK_WALKS),
    ),
    kernel(
        &mechanisms::PAGE_FAULTS,
        &["asm_exc_page_fault", "exc_page_fault", "do_user_addr_fault", "handle_mm_fault", "do_page_fault"],
        Some(&remedies::KEEP_MAPPED),
    ),
    kernel(
        &mechanisms::UNMAPPING,
        &["unmap_vmas", "unmap_region", "do_vmi_munmap", "__vm_munmap", "zap_pte_range", "madvise_"],
        Some(&remedies::KEEP_MAPPED),
    ),
    java(
        &mechanisms::LINKING,
        &[
            "java.lang.invoke.MethodHandleNatives.linkCallSite",
            "java.lang.invoke.LambdaMetafactory",
            "java.lang.invoke.InnerClassLambdaMetafactory",
            "java.lang.invoke.StringConcatFactory",
        ],
        Some(&remedies::LOAD_ONCE),
    ),
    java(
        &mechanisms::INTROSPECTION,
        &["java.beans.Introspector.", "com.sun.beans.introspect."],
        Some(&remedies::INSPECT_ONCE),
    ),
    java(
        &mechanisms::RESOURCES,
        &[
            "java.lang.ClassLoader.getResource",
            "java.lang.ClassLoader.findResource",
            "java.lang.Class.getResource",
            "java.net.URLClassLoader.getResource",
            "java.net.URLClassLoader.findResource",
        ],
        Some(&remedies::FIND_RESOURCES_ONCE),
    ),
    java(
        &mechanisms::CLASS_LOADING,
        &[
            "java.lang.ClassLoader.defineClass",
            "java.lang.ClassLoader.loadClass",
            "java.lang.ClassLoader.findClass",
            "jdk.internal.loader.",
            "java.net.URLClassLoader.",
        ],
        Some(&remedies::LOAD_ONCE),
    ),
    java(
        &mechanisms::REGEX_COMPILE,
        &["java.util.regex.Pattern.compile", "java.util.regex.Pattern.<init>"],
        Some(&remedies::COMPILE_PATTERN_ONCE),
    ),
    java(
        &mechanisms::REGEX,
        &["java.util.regex.Pattern$", "java.util.regex.Matcher."],
        Some(&remedies::SIMPLER_PATTERN),
    ),
    java(
        &mechanisms::COMPRESSION,
        &["java.util.zip.Deflater", "java.util.zip.Inflater", "java.util.zip.CRC32"],
        None,
    ),
    java(
        &mechanisms::SERIALISATION,
        &["java.io.ObjectInputStream", "java.io.ObjectOutputStream", "java.io.ObjectStreamClass"],
        None,
    ),
    java(&mechanisms::XML, &["com.sun.org.apache.xerces.", "com.sun.org.apache.xalan.", "javax.xml."], None),
    java(
        &mechanisms::COLLISIONS,
        &["java.util.HashMap$TreeNode.", "java.util.concurrent.ConcurrentHashMap$TreeNode."],
        Some(&remedies::BETTER_HASH),
    ),
    java(
        &mechanisms::COPY_ON_WRITE,
        &[
            "java.util.concurrent.CopyOnWriteArrayList.add",
            "java.util.concurrent.CopyOnWriteArrayList.remove",
            "java.util.concurrent.CopyOnWriteArrayList.set",
            "java.util.concurrent.CopyOnWriteArraySet.add",
            "java.util.concurrent.CopyOnWriteArraySet.remove",
        ],
        Some(&remedies::WRITE_SELDOM),
    ),
    java(
        &mechanisms::LIST_SEARCH,
        &[
            "java.util.ArrayList.contains",
            "java.util.ArrayList.indexOf",
            "java.util.ArrayList.remove",
            "java.util.LinkedList.",
            "java.util.concurrent.CopyOnWriteArrayList.contains",
            "java.util.concurrent.CopyOnWriteArrayList.indexOf",
            "java.util.concurrent.ConcurrentLinkedQueue.contains",
            "java.util.concurrent.ConcurrentLinkedQueue.remove",
            "java.util.concurrent.ConcurrentLinkedQueue.size",
            "java.util.concurrent.ConcurrentLinkedDeque.contains",
            "java.util.concurrent.ConcurrentLinkedDeque.remove",
            "java.util.concurrent.ConcurrentLinkedDeque.size",
        ],
        Some(&remedies::INDEX_INSTEAD),
    ),
    java(
        &mechanisms::SORTING,
        &["java.util.TimSort", "java.util.ComparableTimSort", "java.util.DualPivotQuicksort"],
        None,
    ),
    java(&mechanisms::BIG_NUMBERS, &["java.math."], Some(&remedies::ROUND_NUMBERS)),
    java(
        &mechanisms::RANDOM,
        &["java.security.SecureRandom", "sun.security.provider.NativePRNG", "sun.security.provider.DRBG"],
        None,
    ),
    java(
        &mechanisms::CRYPTOGRAPHY,
        &["javax.crypto.", "com.sun.crypto.provider.", "sun.security.provider.", "sun.security.rsa."],
        None,
    ),
    java(
        &mechanisms::DATES,
        &["java.time.format.", "java.text.SimpleDateFormat", "java.text.DateFormat"],
        None,
    ),
    java(&mechanisms::FORMATTING, &["java.util.Formatter", "java.text."], None),
    java(
        &mechanisms::REFLECTION,
        &["java.lang.Class.getMethod", "java.lang.Class.getDeclared", "java.lang.Class.privateGetDeclared"],
        None,
    ),
    java(&mechanisms::MANAGEMENT, &["sun.management.", "com.sun.management."], Some(&remedies::ASK_SELDOM)),
    java(
        &mechanisms::LOGGING,
        &["ch.qos.logback.", "org.apache.logging.log4j.", "org.apache.log4j.", "java.util.logging."],
        Some(&remedies::LOG_LESS),
    ),
];

impl Mechanism {
    fn has(&self, recording: &Recording, stack: StackId) -> bool {
        recording.frames_of(stack).any(|frame| {
            let is_of = match self.of {
                Of::Java => frame.is_java(),
                Of::Kernel => frame.frame_type() == FrameType::Kernel,
                Of::Jvm => !frame.is_java() && frame.frame_type() != FrameType::Kernel,
            };
            is_of && self.frames.iter().any(|beginning| frame.name().starts_with(beginning))
        })
    }
}

/// Adds to a finding about running time what most of it is spent on, where that is well known.
/// `parts`: those that it reports.
pub(super) fn add<'p, 'a: 'p>(
    case: &Case<'_>,
    per: &Per,
    parts: impl Iterator<Item = &'p Part<'a>>,
    finding: &mut Finding,
) {
    let recording = case.recording;
    let mut grew: Vec<(StackId, f64)> = Vec::new();
    for (stack, ms) in parts.flat_map(|part| &part.by_stack) {
        let (slow, base) = an_operation(ms, per);
        grew.extend((slow > base).then_some((*stack, slow - base)));
    }
    let all: f64 = grew.iter().map(|(_, by)| by).sum();
    let share = |mechanism: &Mechanism| {
        let of_it = grew.iter().filter(|(stack, _)| mechanism.has(recording, *stack));
        of_it.map(|(_, by)| by).sum::<f64>() / all.max(f64::MIN_POSITIVE)
    };
    let found = MECHANISMS.iter().map(|mechanism| (mechanism, share(mechanism)));
    if let Some((mechanism, share)) = { found }.find(|(_, share)| *share >= MOST) {
        let of_it =
            facts::MECHANISM.is(Value::share(share)).with("mechanism", Value::from(mechanism.words.fact()));
        put(finding, of_it, "stacks", mechanism.remedy);
    }
    // Of classes that are made for each operation, the time lies in part in making them, in part in
    // running each of them for the first time.
    let with_classes = grew.iter().filter(|(stack, _)| has_made_class(recording, *stack));
    if with_classes.map(|(_, by)| by).sum::<f64>() >= WITH_CLASSES * all
        && let Some(loaded) = classes::loaded_more(case, finding.process_id)
    {
        put(finding, loaded, "counters of the JVM", Some(&remedies::LOAD_ONCE));
    }
}

/// Puts a fact into the title and the evidence of a finding, and what helps before all else.
fn put(finding: &mut Finding, fact: Fact, source: &'static str, remedy: Option<&'static Metric>) {
    finding.title = fact.clone().with("title", Value::from(&finding.title)).into();
    let place = 1.min(finding.evidence.len());
    finding.evidence.insert(place, Evidence::summed(source, fact));
    if let Some(remedy) =
        remedy.filter(|remedy| finding.remedies.iter().all(|r| r.change.fact().metric != *remedy))
    {
        finding.remedies.insert(0, remedy.remedy());
    }
}

/// Whether a stack makes or loads a class, or interprets one that was made at run time.
fn has_made_class(recording: &Recording, stack: StackId) -> bool {
    let makes = |mechanism: &&Mechanism| mechanism.remedy == Some(&remedies::LOAD_ONCE);
    let innermost = recording.frames_of(stack).next();
    innermost.is_some_and(|frame| {
        frame.frame_type() == FrameType::Interpreted && is_made_at_run_time(frame.name())
    }) || MECHANISMS.iter().filter(makes).any(|mechanism| mechanism.has(recording, stack))
}

#[cfg(test)]
mod tests {
    use fathom_recording::FrameType::{C2, Kernel, Native};

    use super::*;
    use crate::built::{Built, whole_run};
    use crate::growth::Each;
    use crate::growth::parts::FRAMES;
    use crate::{Confidence, Layer};

    /// What is said of a part of which `share` grew in one stack, and the rest in code of its own.
    fn said(frames: &[(&str, FrameType)], share: f64) -> Finding {
        let mut built = Built::jvm("25", "G1", 10.0);
        let (one, own) = (built.stack(frames), built.stack(&[("shop.Orders.find", C2)]));
        let (jvm, recording) = (built.jvm, built.sealed());
        let mut part = Part::default();
        let ms = |grew: f64| [100.0 + 50.0 * grew, 100.0 + 50.0 * grew, 100.0];
        part.by_stack.insert(one.unwrap(), ms(share));
        part.by_stack.insert(own.unwrap(), ms(1.0 - share));
        let per = Per { each: Each::Operation, by: [100.0; FRAMES] };
        let case = whole_run(&recording);
        let sure = (Confidence::Likely, Vec::new());
        let mut finding = case.finding_by("largest-growth", Layer::Application, jvm, sure, 1_000.0);
        finding.title =
            facts::SHARE_OF.is(Value::share(1.0)).with("method", Value::name("Orders.find")).into();
        add(&case, &per, [&part].into_iter(), &mut finding);
        finding
    }

    #[test]
    fn what_most_of_the_growth_lies_below_is_reported_with_what_helps() {
        let tls =
            [("sun.security.rsa.RSACore.crypt", C2), ("sun.security.ssl.HandshakeContext.dispatch", C2)];
        let handshakes = said(&tls, 0.9);
        handshakes.title.states(&facts::MECHANISM, &[("value", "90%"), ("mechanism", "in TLS handshakes")]);
        assert!(handshakes.advises(&remedies::KEEP_TLS));
        assert!(said(&tls, 0.4).title.fact().find(&facts::MECHANISM).is_none(), "less than half");
    }

    #[test]
    fn frames_of_the_jvm_tell_of_stacks_that_overflow() {
        let unwinds =
            [("SharedRuntime::look_for_reserved_stack_annotated_method", Native), ("shop.Tree.path", C2)];
        let finding = said(&unwinds, 1.0);
        finding.title.states(&facts::MECHANISM, &[("mechanism", "unwinding exceptions")]);
        assert!(finding.advises(&remedies::END_THE_RECURSION));
    }

    #[test]
    fn frames_of_the_kernel_are_distinguished_from_methods_of_the_same_name() {
        let faults = |by| said(&[("do_user_addr_fault", by), ("shop.Index.scan", C2)], 1.0);
        faults(Kernel).title.states(&facts::MECHANISM, &[("mechanism", "in page faults")]);
        assert!(faults(C2).title.fact().find(&facts::MECHANISM).is_none());
    }
}
