//! VM operations that have work of their own: what they do, who asks for them, what can be done
//! about them. Collections are not among them: their pauses are known as such.
//!
//! Names are HotSpot's (vmOperation.hpp, `VM_OPS_DO`, JDK 8 to 25), as logs, flight recordings and
//! probes have them.

use fathom_recording::vocabulary::{kind, label};
use fathom_recording::{ProcessId, Recording, Span, StrId};
use rustc_hash::FxHashMap;

use crate::facts::{Metric, remedies};

/// A VM operation, or several that are alike.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Operation {
    /// HotSpot's names.
    names: &'static [&'static str],
    /// One of them, and several: "heap dump", "heap dumps".
    pub(crate) words: (&'static str, &'static str),
    /// Who asks for it.
    pub(crate) by: &'static str,
    /// The causes of collections that it begins with (gcCause.cpp).
    causes: &'static [&'static str],
    /// Whether it may well take a second, as it walks through the heap, all threads or all classes:
    /// of one that does next to nothing a long time is a wait for something else.
    pub(crate) works_long: bool,
    /// What to do.
    pub(crate) remedies: &'static [&'static Metric],
}

const OPERATIONS: &[Operation] = &[
    Operation {
        names: &["HeapDumper", "HeapDumpMerge"],
        words: ("heap dump", "heap dumps"),
        by: "jcmd GC.heap_dump, jmap -dump, HotSpotDiagnosticMXBean.dumpHeap, or -XX:+HeapDumpOnOutOfMemoryError",
        causes: &["Heap Dump Initiated GC"],
        works_long: true,
        remedies: &[&remedies::DUMPS_ASIDE, &remedies::PARALLEL_DUMP],
    },
    Operation {
        names: &["GC_HeapInspection"],
        words: ("class histogram", "class histograms"),
        by: "jmap -histo, jcmd GC.class_histogram, or a monitoring agent",
        causes: &["Heap Inspection Initiated GC"],
        works_long: true,
        remedies: &[&remedies::FEWER_HISTOGRAMS],
    },
    Operation {
        names: &[
            "ThreadDump",
            "PrintThreads",
            "PrintJNI",
            "GetAllStackTraces",
            "GetThreadListStackTraces",
            "GetStackTrace",
            "GetMultipleStackTraces",
        ],
        words: ("thread dump", "thread dumps"),
        by: "jstack, jcmd Thread.print, ThreadMXBean.dumpAllThreads, Thread.getAllStackTraces, a monitoring agent or a profiler",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::FEWER_STACKS, &remedies::NO_LIST_OF_LOCKS],
    },
    Operation {
        names: &["FindDeadlocks"],
        words: ("search for deadlocks", "searches for deadlocks"),
        by: "ThreadMXBean.findDeadlockedThreads, called by a monitoring agent or console",
        causes: &[],
        works_long: false,
        remedies: &[&remedies::FEWER_DEADLOCK_SEARCHES],
    },
    Operation {
        names: &["RedefineClasses"],
        words: ("redefinition of classes", "redefinitions of classes"),
        by: "an agent that instruments classes (APM, profiler, debugger), or a flight recording that begins",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::INSTRUMENT_AT_LOAD],
    },
    Operation {
        names: &[
            "ChangeBreakpoints",
            "ChangeSingleStep",
            "GetOrSetLocal",
            "BaseGetOrSetLocal",
            "SetFramePop",
            "UpdateForPopTopFrame",
            "GetFrameCount",
            "GetFrameLocation",
            "GetObjectMonitorUsage",
            "GetCurrentContendedMonitor",
            "GetOwnedMonitorInfo",
            "EnterInterpOnlyMode",
            "SetFramesPop",
        ],
        words: ("request of a debugger", "requests of a debugger"),
        by: "a debugger or an agent, through JVMTI",
        causes: &[],
        works_long: false,
        remedies: &[&remedies::DETACH_DEBUGGER],
    },
    Operation {
        names: &["HeapWalkOperation", "HeapIterateOperation"],
        words: ("heap walk by an agent", "heap walks by an agent"),
        by: "an agent or a debugger, through JVMTI",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::CONFIGURE_AGENT],
    },
    Operation {
        names: &["JFROldObject"],
        words: ("search for paths to old objects", "searches for paths to old objects"),
        by: "the flight recorder (jdk.OldObjectSample with paths to the GC roots)",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::NO_PATHS_TO_ROOTS],
    },
    Operation {
        names: &["BulkRevokeBias", "RevokeBias", "EnableBiasedLocking"],
        words: ("revocation of biased locks", "revocations of biased locks"),
        by: "biased locking, when a thread wants a lock that another one is biased to",
        causes: &[],
        works_long: false,
        remedies: &[&remedies::NO_BIASED_LOCKING],
    },
    Operation {
        names: &["Deoptimize", "DeoptimizeFrame", "DeoptimizeAll", "DeoptimizeTheWorld"],
        words: ("deoptimization", "deoptimizations"),
        by: "the JVM, where compiled code rests on what is no longer so (a class was loaded), or an agent",
        causes: &[],
        works_long: false,
        remedies: &[&remedies::FIND_RECOMPILED],
    },
    Operation {
        names: &[
            "ClassLoaderStatsOperation",
            "PrintClassHierarchy",
            "PrintClasses",
            "PrintClassLayout",
            "PrintMetadata",
            "PrintCompileQueue",
            "PrintCodeList",
            "PrintCodeCache",
            "DumpHashtable",
            "DumpTouchedMethods",
        ],
        words: ("diagnostic command", "diagnostic commands"),
        by: "jcmd (VM.classloader_stats, VM.class_hierarchy, VM.metaspace, VM.symboltable and their like)",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::FEWER_COMMANDS],
    },
    Operation {
        names: &["Verify"],
        words: ("verification of the heap", "verifications of the heap"),
        by: "a flag for the JVM's own tests (-XX:+VerifyBeforeGC and its like)",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::NO_VERIFICATION],
    },
    Operation {
        names: &["ReportJavaOutOfMemory"],
        words: ("report of an OutOfMemoryError", "reports of an OutOfMemoryError"),
        by: "the JVM, which ran out of memory and runs the command of -XX:OnOutOfMemoryError",
        causes: &[],
        works_long: true,
        remedies: &[&remedies::SHORT_COMMAND],
    },
];

/// Any other one.
const OTHER: Operation = Operation {
    names: &[],
    words: ("VM operation", "VM operations"),
    by: "",
    causes: &[],
    works_long: false,
    remedies: &[],
};

/// Parts of names of collections, of pauses of a cycle and of what belongs to one.
const COLLECTIONS: [&str; 15] = [
    "Collect",
    "GC",
    "CMS",
    "G1",
    "ZMark",
    "ZRelocate",
    "ZVerify",
    "ZOperation",
    "XMark",
    "XRelocate",
    "XVerify",
    "Shenandoah",
    "FailedAllocation",
    "ConcMark",
    "Pause",
];

/// Safepoints without an operation, and operations that do nothing: what takes long in them is not
/// their doing. The end of the JVM is no stop of it.
const IDLE: [&str; 12] = [
    "",
    "stopped",
    "Cleanup",
    "None",
    "no vm operation",
    "ForceSafepoint",
    "ForceAsyncSafepoint",
    "SafepointALot",
    "ICBufferFull",
    "Halt",
    "Exit",
    "HandshakeAllThreads",
];

/// The operation of a name that has work of its own; `None` of a collection, and of a safepoint
/// without an operation.
pub(crate) fn known(name: &str) -> Option<&'static Operation> {
    let listed = OPERATIONS.iter().find(|operation| operation.names.contains(&name));
    let is_other = || !IDLE.contains(&name) && COLLECTIONS.iter().all(|part| !name.contains(part));
    listed.or_else(|| is_other().then_some(&OTHER))
}

/// The operation that begins with a collection of a cause.
pub(crate) fn with_cause(cause: &str) -> Option<&'static Operation> {
    OPERATIONS.iter().find(|operation| operation.causes.contains(&cause))
}

/// Operations by the names of spans: a long log has few names and many spans.
#[derive(Default)]
pub(crate) struct Named(FxHashMap<StrId, Option<&'static Operation>>);

impl Named {
    /// The operation of a safepoint, see [`known`].
    pub(crate) fn of(&mut self, safepoint: &Span<'_>) -> Option<&'static Operation> {
        *self.0.entry(safepoint.name_id()).or_insert_with(|| known(safepoint.name()))
    }
}

/// Collections of a JVM that an operation begins with, by their causes, in order of start.
pub(crate) fn begun_with(recording: &Recording, jvm: ProcessId) -> Vec<(Span<'_>, &'static Operation)> {
    let cause = recording.label_of(label::CAUSE);
    let mut causes: FxHashMap<StrId, Option<&'static Operation>> = FxHashMap::default();
    let mut of = |span: &Span<'_>| {
        let cause = cause(span)?;
        *causes.entry(cause).or_insert_with(|| with_cause(recording.strings.get(cause)))
    };
    let own = recording.spans_of(kind::GC_PAUSE).filter(|pause| pause.process() == jvm);
    own.filter_map(|pause| Some((pause, of(&pause)?))).collect()
}

impl Operation {
    /// HotSpot's own name; empty of one that is not listed.
    pub(crate) fn name(&self) -> &'static str {
        self.names.first().copied().unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_known_by_their_own_names_and_collections_are_none() {
        assert_eq!(known("HeapDumper").unwrap().words.0, "heap dump");
        assert_eq!(with_cause("Heap Inspection Initiated GC").unwrap().name(), "GC_HeapInspection");
        assert_eq!(known("JVMCIResizeCounters"), Some(&OTHER));
        let collections = [
            "G1CollectForAllocation",
            "CGC_Operation",
            "ZMarkEnd",
            "GenCollectFull",
            "ParallelGCFailedAllocation",
            "CMS_Final_Remark",
            "Shenandoah Init Marking",
            "CollectForMetadataAllocation",
            "Cleanup",
            "stopped",
            "",
        ];
        for collection in collections {
            assert_eq!(known(collection), None, "{collection}");
        }
        let mut names: Vec<&str> = OPERATIONS.iter().flat_map(|of| of.names.iter().copied()).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "a name stands once");
    }
}
