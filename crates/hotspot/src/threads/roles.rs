//! What a thread is for, by its name.
//!
//! Names are those that HotSpot gives (src/hotspot/share: gc/*, compiler/compileBroker.cpp, runtime/*); the kernel cuts
//! them to 15 characters, so the beginnings below are no longer than that.

use fathom_recording::Role;

use super::ThreadInfo;

/// Beginnings of names of the collectors' threads. Serial has none: it runs on the VM thread.
const GC: &[&str] = &[
    "GC Thread#",
    "ParGC Thread#",
    "G1 ",
    "Concurrent Mark",
    "CMS ",
    "Gang worker#",
    "ZDirector",
    "ZDriver",
    "ZWorker",
    "ZStat",
    "ZUncommitter",
    "ZUnmapper",
    "RuntimeWorker#",
    "XDirector",
    "XDriver",
    "XWorker",
    "XStat",
    "XUncommitter",
    "XUnmapper",
    "Shenandoah",
    "GC task thread#",
    "StringDedup",
    "String Dedup",
    "Epsilon",
];
/// Beginnings of names of compiler threads.
const JIT: &[&str] = &["C1 Compiler", "C2 Compiler", "JVMCI Compiler", "JVMCI-native Co", "Graal Compiler"];
/// Beginnings of names of the JVM's own native threads.
const VM: &[&str] =
    &["VM Thread", "VM Periodic Tas", "Unified Logging", "AsyncLog Thread", "JFR ", "Logger Thread"];
/// Names of Java threads that the JVM and its class library start by themselves.
const VM_JAVA: &[&str] = &[
    "Reference Handler",
    "Finalizer",
    "Signal Dispatcher",
    "Common-Cleaner",
    "Service Thread",
    "Sweeper thread",
    "Monitor Deflation Thread",
    "Notification Thread",
    "Attach Listener",
    "Surrogate Locker Thread (Concurrent GC)",
    "JFR Recorder Thread",
    "JFR Periodic Tasks",
    "JFR Recording Scheduler",
    "JFR Shutdown Hook",
    "DestroyJavaVM",
    "Jvmti Agent Event Thread",
    "Cleaner-0",
    "process reaper",
    "Java2D Disposer",
    "VM JFR Buffer Thread",
];

/// What a thread of this name is for; `java`: whether it is a Java thread.
pub fn role_of_name(name: &str, java: bool) -> Role {
    let begins = |list: &[&str]| list.iter().any(|start| name.starts_with(start));
    // An application may name its threads as it likes: what is no Java thread is told by other names.
    if java {
        return match () {
            () if begins(JIT) => Role::Jit,
            () if VM_JAVA.contains(&name) || name.starts_with("JFR ") => Role::Vm,
            () => Role::App,
        };
    }
    match () {
        () if begins(GC) => Role::Gc,
        () if begins(JIT) => Role::Jit,
        () if begins(VM) => Role::Vm,
        () => Role::Other,
    }
}

/// Roles of the native threads of a JVM that names none of them (JDK 8). They are told by the order in which it starts
/// threads (`Threads::create_vm`): the main Java thread, those of the collector, the VM thread, then the first Java
/// threads of its own ("Reference Handler") and the one that keeps its time.
pub(super) fn of_nameless(all: &mut [ThreadInfo]) {
    all.sort_by_key(|thread| thread.tid);
    let handler = all.iter().position(|thread| thread.java.is_some() && thread.name == "Reference Handler");
    let main = all.iter().position(|thread| thread.java.is_some());
    let (Some(main), Some(handler)) = (main, handler) else { return };
    // Ids that wrapped around are in no order.
    if main >= handler {
        return;
    }
    // The first one behind is the VM's own clock; what comes later may be of anyone.
    let watcher = (handler..all.len()).find(|i| all[*i].java.is_none());
    for (i, thread) in all.iter_mut().enumerate().filter(|(_, thread)| thread.java.is_none()) {
        thread.role = match i {
            _ if i < main => Role::Other,
            _ if i + 1 == handler => Role::Vm,
            _ if i < handler => Role::Gc,
            _ if Some(i) == watcher => Role::Vm,
            _ => Role::Other,
        };
        if i + 1 == handler {
            thread.name = "VM Thread".to_owned();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_of_the_application_may_have_any_name() {
        assert_eq!(role_of_name("G1 racing team", true), Role::App);
        assert_eq!(role_of_name("G1 Main Marker", false), Role::Gc);
        assert_eq!(role_of_name("C2 CompilerThread0", true), Role::Jit);
        assert_eq!(role_of_name("VM Periodic Tas", false), Role::Vm);
        assert_eq!(role_of_name("Finalizer", true), Role::Vm);
        assert_eq!(role_of_name("java", false), Role::Other);
    }

    #[test]
    fn beginnings_fit_into_what_the_kernel_keeps() {
        for start in GC.iter().chain(JIT).chain(VM) {
            assert!(start.len() <= 15, "{start}");
        }
    }
}
