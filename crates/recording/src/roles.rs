//! The role of a thread by its name: the one place that knows HotSpot's names.
//!
//! Names are those that HotSpot of JDK 8 to 25 gives (`compileBroker.cpp`, `vmThread.cpp`, the
//! collectors' sources) and those of the Java threads that it and its class library start. The
//! kernel truncates a name to 15 bytes ("C2 CompilerThre"), so whole and truncated names are
//! recognised.

use serde::{Deserialize, Serialize};

/// The role of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// A thread of the application.
    App,
    /// A worker of the garbage collector.
    Gc,
    /// A thread of a JIT compiler.
    Jit,
    /// Another thread of the JVM.
    Vm,
    /// Unknown, or none of these.
    Other,
}

/// Bytes of a name that the kernel keeps (`TASK_COMM_LEN` of 16, with the zero at the end).
const KEPT: usize = 15;
/// How names of compiler threads begin; a number follows.
const JIT: &[&str] = &["C1 Compiler", "C2 Compiler", "JVMCI Compiler", "JVMCI-native Co", "Graal Compiler"];
/// How names of the collectors' threads begin; most are followed by a number or by what the thread
/// does. Serial has none: it runs on the VM thread. None of them is a Java thread.
const GC: &[&str] = &[
    "GC Thread#",
    "GC task thread#",
    "ParGC Thread#",
    "Gang worker#",
    "Concurrent Mark",
    "CMS Main Thread",
    "CMS Thread#",
    "G1 Conc#",
    "G1 Concurrent",
    "G1 Main",
    "G1 Parallel Mar",
    "G1 Refine",
    "G1 Service",
    "G1 Young Rem",
    "RuntimeWorker#",
    "XDirector",
    "XDriver",
    "XStat",
    "XUncommitter",
    "XUnmapper",
    "XWorker",
    "ZDirector",
    "ZDriver",
    "ZStat",
    "ZUncommitter",
    "ZUnmapper",
    "ZWorker",
    "Shenandoah",
    "ShenWorker",
];
/// How names of families of the JVM's other threads begin, and of Java threads that serve it.
const VM: &[&str] = &["JFR ", "VM JFR", "AsyncLog", "StringDedup", "StrDedup", "Cleaner-"];
/// The JVM's other threads, and the Java threads that it and its class library start by themselves.
const VM_NAMES: &[&str] = &[
    "Attach Listener",
    "Common-Cleaner",
    "DestroyJavaVM",
    "Finalizer",
    "Java2D Disposer",
    "Jvmti Agent Event Thread",
    "Logger Thread",
    "Monitor Deflation Thread",
    "Notification Thread",
    "Reference Handler",
    "Service Thread",
    "Signal Dispatcher",
    "Surrogate Locker Thread (Concurrent GC)",
    "Sweeper thread",
    "Unified Logging",
    "VM Operation Thread",
    "VM Periodic Task Thread",
    "VM Thread",
    "WatcherThread",
    "process reaper",
];

impl Role {
    /// The role of a thread of a JVM. `java`: whether it is a Java thread, where that is known: an
    /// application may name its threads as it likes, so that a Java thread is never a collector's,
    /// and a thread that is neither the JVM's nor a Java thread is [`Role::Other`]. Where it is not
    /// known, a thread that is not the JVM's is the application's.
    pub fn of_named(name: &str, java: Option<bool>) -> Self {
        let begins = |beginnings: &[&str]| beginnings.iter().any(|known| name.starts_with(known));
        let truncated = |whole: &str| name.len() >= KEPT && whole.starts_with(name);
        match () {
            () if begins(JIT) => Self::Jit,
            () if java != Some(true) && begins(GC) => Self::Gc,
            () if begins(VM) || VM_NAMES.iter().any(|whole| name == *whole || truncated(whole)) => Self::Vm,
            () if java == Some(false) => Self::Other,
            () => Self::App,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_follow_from_whole_and_truncated_names() {
        let roles = [
            ("C2 CompilerThread0", Role::Jit),
            ("C2 CompilerThre", Role::Jit),
            ("G1 Conc#0", Role::Gc),
            ("G1 Main Marker", Role::Gc),
            ("CMS Main Thread", Role::Gc),
            ("VM Periodic Tas", Role::Vm),
            ("VM Periodic Task Thread", Role::Vm),
            ("Signal Dispatch", Role::Vm),
            ("Surrogate Locke", Role::Vm),
            ("StringDedupProcessor", Role::Vm),
        ];
        for (name, role) in roles {
            assert_eq!(Role::of_named(name, None), role, "{name}");
            assert_eq!(Role::of_named(name, Some(false)), role, "{name}");
        }
    }

    #[test]
    fn a_thread_of_the_application_may_have_any_name() {
        for name in ["main", "G1 racing team", "ZWorker#0", "Finalizer-pool-1", "VM Thread pool", "Signal"] {
            assert_eq!(Role::of_named(name, Some(true)), Role::App, "{name}");
        }
        assert_eq!(Role::of_named("C2 CompilerThread0", Some(true)), Role::Jit);
        assert_eq!(Role::of_named("Finalizer", Some(true)), Role::Vm);
        assert_eq!(Role::of_named("JFR Recorder Thread", Some(true)), Role::Vm);
    }

    #[test]
    fn what_nobody_knows_is_the_applications_unless_it_is_no_java_thread() {
        for name in ["main", "grpc-worker", "G1 of the app"] {
            assert_eq!(Role::of_named(name, None), Role::App, "{name}");
            assert_eq!(Role::of_named(name, Some(false)), Role::Other, "{name}");
        }
    }

    #[test]
    fn beginnings_fit_into_what_the_kernel_keeps() {
        for start in GC.iter().chain(JIT).chain(VM) {
            assert!(start.len() <= KEPT, "{start}");
        }
    }
}
