//! What the JVM's logs call what its probes tell of.

/// The name that a GC log gives to the pause in which a VM operation does its work (`vmOperation.hpp`, the collectors'
/// `*VMOperations.hpp`, JDK 8 to 25). The probes do not tell mixed collections and concurrent starts from plain young ones.
pub fn pause(operation: &str, full: bool) -> String {
    /// Parts of names of VM operations, the first that is found decides.
    const NAMES: [(&str, &str); 25] = [
        ("Degenerated", "Pause Degenerated GC"),
        ("FullGC", "Pause Full"),
        ("CollectFull", "Pause Full"),
        ("SystemGC", "Pause Full"),
        ("HeapDumper", "Pause Full"),
        ("ForMetadataAllocation", "Pause Full"),
        ("Remark", "Pause Remark"),
        ("Cleanup", "Pause Cleanup"),
        ("CMS_Initial_Mark", "Pause Initial Mark"),
        ("CMS_Final_Remark", "Pause Remark"),
        ("MarkStartYoungAndOld", "Pause Mark Start"),
        ("MarkStart", "Pause Mark Start"),
        ("MarkEnd", "Pause Mark End"),
        ("RelocateStart", "Pause Relocate Start"),
        ("InitMark", "Pause Init Mark"),
        ("FinalMark", "Pause Final Mark"),
        ("InitUpdateRefs", "Pause Init Update Refs"),
        ("FinalUpdateRefs", "Pause Final Update Refs"),
        ("FinalRoots", "Pause Final Roots"),
        ("InitTraversal", "Pause Init Traversal"),
        ("FinalTraversal", "Pause Final Traversal"),
        ("CollectForAllocation", "Pause Young"),
        ("FailedAllocation", "Pause Young"),
        ("IncCollectionPause", "Pause Young"),
        ("TryInitiateConcMark", "Pause Young (Concurrent Start)"),
    ];
    if full && !operation.contains("Degenerated") {
        return "Pause Full".into();
    }
    let known = NAMES.iter().find(|(part, _)| operation.contains(part)).map(|(_, name)| *name);
    match known {
        Some(name) => name.into(),
        None if operation.is_empty() => "Pause".into(),
        None => format!("Pause ({operation})"),
    }
}

/// "java.lang.String.indexOf" of "java/lang/String" and "indexOf", as the readers of JIT logs have it: overloads count as
/// copies of a name.
pub fn method(class: &str, name: &str) -> String {
    format!("{}.{name}", self::class(class))
}

/// "java.lang.String" of "java/lang/String". The number of a hidden class keeps its slash, as in the JVM's logs.
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
        assert_eq!(pause("Something", false), "Pause (Something)");
    }
}
