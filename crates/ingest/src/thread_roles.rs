//! What a thread of a JVM is for, by its name.
//!
//! The kernel cuts names after 15 characters ("C2 CompilerThre"), so only their beginnings are looked at. Names as in
//! HotSpot of JDK 8 to 25 (`compileBroker.cpp`, `vmThread.cpp`, the collectors' sources).

use fathom_recording::Role;

/// How names of compiler threads begin.
const JIT: &[&str] = &[
    "C1 CompilerThre",
    "C2 CompilerThre",
    "JVMCI CompilerT",
    "JVMCI-native Co",
    "C1 Compiler",
    "C2 Compiler",
];
/// How names of the collectors' threads begin.
const GC: &[&str] = &[
    "GC Thread#",
    "GC task thread#",
    "ParGC Thread#",
    "Gang worker#",
    "Concurrent Mark-Sweep",
    "Concurrent Mark",
    "G1 ",
    "Z Worker",
    "ZWorker",
    "ZDirector",
    "ZDriver",
    "ZStat",
    "ZUncommitter",
    "ZUnmapper",
    "XWorker",
    "XDirector",
    "XDriver",
    "Shenandoah",
    "ShenWorker",
    "Epsilon",
    "RuntimeWorker#",
];
/// How names of the JVM's other threads begin, and of the JDK's own Java threads that serve it.
const VM: &[&str] = &[
    "VM Thread",
    "VM Periodic Tas",
    "VM JFR",
    "VM Operation",
    "WatcherThread",
    "Signal Dispatch",
    "Attach Listener",
    "Service Thread",
    "Monitor Deflati",
    "Notification Th",
    "Sweeper thread",
    "Common-Cleaner",
    "Reference Handl",
    "Finalizer",
    "AsyncLog Thread",
    "AsyncLog",
    "StringDedupProc",
    "JFR ",
    "Surrogate Locke",
];

/// The role of a thread with a name. `java`: whether it is known to run Java code.
pub(crate) fn of(name: &str, java: bool) -> Role {
    let begins = |names: &[&str]| names.iter().any(|known| name.starts_with(known));
    if begins(JIT) {
        Role::Jit
    } else if begins(GC) && !java {
        Role::Gc
    } else if begins(VM) {
        Role::Vm
    } else if java {
        Role::App
    } else {
        Role::Other
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_told_by_names_whole_or_cut() {
        assert_eq!(of("C2 CompilerThread0", true), Role::Jit);
        assert_eq!(of("C2 CompilerThre", false), Role::Jit);
        assert_eq!(of("G1 Conc#0", false), Role::Gc);
        assert_eq!(of("G1 worker of the application", true), Role::App);
        assert_eq!(of("VM Periodic Task Thread", false), Role::Vm);
        assert_eq!(of("main", true), Role::App);
        assert_eq!(of("grpc-worker", false), Role::Other);
    }
}
