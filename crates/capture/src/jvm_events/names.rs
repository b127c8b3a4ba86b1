//! What the JVM's logs call what its probes report.

/// Parts of names of VM operations that are pauses of a collector, with what a GC log calls the
/// pause; the first that is found decides (`vmOperation.hpp`, the collectors' `*VMOperations.hpp`,
/// zGeneration.cpp, JDK 8 to 25). The probes do not distinguish mixed collections and concurrent
/// starts from plain young ones.
const PAUSES: [(&str, &str); 24] = [
    ("Degenerated", "Pause Degenerated GC"),
    ("FullGC", "Pause Full"),
    ("CollectFull", "Pause Full"),
    ("SystemGC", "Pause Full"),
    ("ForMetadataAllocation", "Pause Full"),
    ("G1PauseRemark", "Pause Remark"),
    ("G1PauseCleanup", "Pause Cleanup"),
    ("CMS_Initial_Mark", "Pause Initial Mark"),
    ("CMS_Final_Remark", "Pause Remark"),
    ("ZMarkStart", "Pause Mark Start"),
    ("ZMarkEnd", "Pause Mark End"),
    ("ZRelocateStart", "Pause Relocate Start"),
    ("XMarkStart", "Pause Mark Start"),
    ("XMarkEnd", "Pause Mark End"),
    ("XRelocateStart", "Pause Relocate Start"),
    ("ShenandoahInitMark", "Pause Init Mark"),
    ("ShenandoahFinalMark", "Pause Final Mark"),
    ("ShenandoahInitUpdateRef", "Pause Init Update Refs"),
    ("ShenandoahFinalUpdateRef", "Pause Final Update Refs"),
    ("ShenandoahFinalRoots", "Pause Final Roots"),
    ("CollectForAllocation", "Pause Young"),
    ("FailedAllocation", "Pause Young"),
    ("IncCollectionPause", "Pause Young"),
    ("TryInitiateConcMark", "Pause Young (Concurrent Start)"),
];

/// Beginnings of the names of memory pools outside of the heap (memoryPool.cpp, memoryService.cpp,
/// JDK 8 to 25). The probes of a collection report all pools that its manager or any other looks
/// after.
const OUTSIDE_THE_HEAP: [&str; 5] =
    ["CodeHeap ", "CodeCache", "Code Cache", "Metaspace", "Compressed Class Space"];

/// Managers of the pools of collections of the whole heap that begin within a young one
/// (psParallelCompact.cpp and parallelScavengeHeap.cpp, genCollectedHeap.cpp and serialHeap.cpp,
/// JDK 8 to 25).
const OF_ALL: [&str; 2] = ["PS MarkSweep", "MarkSweepCompact"];

/// Whether the collections of a manager are of the whole heap.
pub fn collects_all(manager: &str) -> bool {
    OF_ALL.contains(&manager)
}

/// Whether a memory pool is a part of the heap.
pub fn is_of_the_heap(pool: &str) -> bool {
    OUTSIDE_THE_HEAP.iter().all(|name| !pool.starts_with(name))
}

/// What a GC log calls the pause that an operation is; `None` when it is not known as one.
pub fn known_pause(operation: &str) -> Option<&'static str> {
    // Shenandoah's have blanks in their names from JDK 22 on: "Shenandoah Init Marking".
    let operation = operation.replace(' ', "");
    PAUSES.iter().find(|(part, _)| operation.contains(part)).map(|(_, name)| *name)
}

/// The name that a GC log gives to the pause in which an operation does its work.
pub fn pause(operation: &str, full: bool) -> String {
    if full && !operation.contains("Degenerated") {
        return "Pause Full".into();
    }
    match known_pause(operation) {
        Some(name) => name.into(),
        None if operation.is_empty() => "Pause".into(),
        None => format!("Pause ({operation})"),
    }
}

/// "java.lang.String.indexOf" of "java/lang/String" and "indexOf", as the readers of JIT logs have
/// it: overloads count as copies of a name.
pub fn method(class: &str, name: &str) -> String {
    format!("{}.{name}", self::class(class))
}

/// "java.lang.String" of "java/lang/String". The number of a hidden class keeps its slash, as in
/// the JVM's logs.
pub fn class(class: &str) -> String {
    let mut name = String::with_capacity(class.len());
    let mut chars = class.chars().peekable();
    while let Some(c) = chars.next() {
        let is_number = chars.peek().is_some_and(char::is_ascii_digit);
        name.push(if c == '/' && !is_number { '.' } else { c });
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_called_as_in_a_log() {
        assert_eq!(pause("G1CollectForAllocation", false), "Pause Young");
        assert_eq!(pause("G1CollectFull", true), "Pause Full");
        assert_eq!(pause("G1PauseRemark", false), "Pause Remark");
        assert_eq!(pause("ZMarkEndYoung", false), "Pause Mark End");
        assert_eq!(pause("ParallelGCFailedAllocation", false), "Pause Young");
        assert_eq!(pause("Shenandoah Final Update References", false), "Pause Final Update Refs");
        assert_eq!(pause("Something", false), "Pause (Something)");
    }
}
