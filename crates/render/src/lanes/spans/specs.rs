//! What the lanes of spans show, from top to bottom.

use fathom_recording::vocabulary::{figure, kind, label};

use super::{PLAIN, Spec, compiler, gc_class};

/// The lanes of a process, from top to bottom.
pub(in crate::lanes) const SPECS: [Spec; 30] = [
    Spec {
        kinds: &[kind::GC_PAUSE],
        title: "GC pauses",
        classes: &["young", "mixed", "full", "other pause"],
        class: gc_class,
        facts: &[
            (figure::HEAP_BEFORE_BYTES, "heap before", "bytes"),
            (figure::HEAP_AFTER_BYTES, "heap after", "bytes"),
            (figure::HEAP_CAPACITY_BYTES, "heap size", "bytes"),
            (figure::USER_S, "user CPU", "s"),
            (figure::SYS_S, "system CPU", "s"),
            (figure::REAL_S, "real", "s"),
            (figure::WORKERS, "workers", ""),
            (figure::IDLE_GAP_MS, "idle gap", "ms"),
        ],
        labels: &[(label::CAUSE, "cause"), (label::QUALIFIER, "qualifier"), (label::CUT, "cut off")],
        ..PLAIN
    },
    Spec { kinds: &[kind::GC_CONCURRENT], title: "Concurrent GC", classes: &["concurrent"], ..PLAIN },
    Spec { kinds: &[kind::GC_STALL], title: "Threads held up by GC", classes: &["stall"], ..PLAIN },
    Spec {
        kinds: &[kind::SAFEPOINT],
        title: "Safepoints",
        parts: &[
            (figure::REACH_NS, "reaching the safepoint"),
            (figure::CLEANUP_NS, "clean-up"),
            (figure::AT_NS, "at the safepoint"),
            (figure::LEAVE_NS, "leaving"),
        ],
        facts: &[(figure::THREADS, "threads", ""), (figure::THREADS_RUNNABLE, "threads running", "")],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::JIT_COMPILE],
        title: "Compiler threads",
        classes: &["C1", "C2", "compiler unknown"],
        class: |span| compiler(span),
        by_thread: true,
        facts: &[
            (figure::TIER, "tier", ""),
            (figure::BYTECODES, "bytecodes", ""),
            (figure::NMETHOD_BYTES, "machine code", "bytes"),
            (figure::OSR_BCI, "on-stack replacement at", ""),
        ],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::JIT_INVALIDATE, kind::JIT_TRAP, kind::JIT_DEPENDENCY, kind::JIT_FAILURE],
        title: "Deoptimisation",
        classes: &["made not entrant", "uncommon trap", "dependency broken", "compile failed"],
        class: |span| match span.kind() {
            kind::JIT_TRAP => 1,
            kind::JIT_DEPENDENCY => 2,
            kind::JIT_FAILURE => 3,
            _ => 0,
        },
        labels: &[(label::REASON, "reason"), (label::ACTION, "action")],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::JIT_CODE_CACHE_FULL, kind::JIT_SWEEP],
        title: "Code cache",
        classes: &["full", "sweep"],
        class: |span| usize::from(span.kind() == kind::JIT_SWEEP),
        facts: &[
            (figure::CODE_CACHE_FREE_BYTES, "free", "bytes"),
            (figure::CODE_CACHE_SIZE_BYTES, "reserved", "bytes"),
        ],
        labels: &[(label::SEGMENT, "segment")],
        ..PLAIN
    },
    Spec { kinds: &[kind::VM_OPERATION], title: "VM operations", ..PLAIN },
    Spec { kinds: &[kind::SCHED_OFF], title: "Waits of threads", by_cause: true, by_thread: true, ..PLAIN },
    Spec {
        kinds: &[kind::LOCK_MONITOR, kind::LOCK_WAIT, kind::LOCK_PARK, kind::LOCK_NATIVE],
        title: "Locks and waits",
        classes: &["monitor", "Object.wait", "park", "native lock"],
        class: |span| match span.kind() {
            kind::LOCK_WAIT => 1,
            kind::LOCK_PARK => 2,
            kind::LOCK_NATIVE => 3,
            _ => 0,
        },
        by_thread: true,
        ..PLAIN
    },
    Spec { kinds: &[kind::THREAD_PINNED], title: "Virtual threads pinned", by_thread: true, ..PLAIN },
    Spec { kinds: &[kind::SAFEPOINT_LATE], title: "Late to a safepoint", by_thread: true, ..PLAIN },
    Spec { kinds: &[kind::SYSCALL], title: "System calls", by_thread: true, ..PLAIN },
    Spec {
        kinds: &[kind::IO_FILE, kind::IO_SOCKET],
        title: "Files and sockets",
        classes: &["file", "socket"],
        class: |span| usize::from(span.kind() == kind::IO_SOCKET),
        by_thread: true,
        ..PLAIN
    },
    Spec {
        kinds: &[kind::NET_DNS, kind::NET_CONNECT, kind::NET_TLS, kind::NET_RETRANSMIT],
        title: "DNS, connections, TLS handshakes",
        classes: &["name", "connection", "TLS handshake", "sent again"],
        class: |span| match span.kind() {
            kind::NET_CONNECT => 1,
            kind::NET_TLS => 2,
            kind::NET_RETRANSMIT => 3,
            _ => 0,
        },
        ..PLAIN
    },
    Spec { kinds: &[kind::DISK_SYNC], title: "Writeback of files", by_thread: true, ..PLAIN },
    Spec {
        kinds: &[kind::DISK_REQUEST],
        title: "Disk requests",
        classes: &["read", "write", "flush", "other"],
        class: |span| match span.name() {
            "read" => 0,
            "write" => 1,
            "flush" => 2,
            _ => 3,
        },
        ..PLAIN
    },
    Spec {
        kinds: &[kind::DISK_COMMIT, kind::DISK_WRITEBACK, kind::DISK_THROTTLE],
        title: "Journal, writeback, throttled writers",
        classes: &["journal commit", "writeback", "throttled writer"],
        class: |span| match span.kind() {
            kind::DISK_WRITEBACK => 1,
            kind::DISK_THROTTLE => 2,
            _ => 0,
        },
        ..PLAIN
    },
    Spec {
        kinds: &[kind::DISK_WRITEBACK_FILE],
        title: "Files written back",
        facts: &[(figure::BYTES, "written back", "bytes")],
        labels: &[(label::PATH, "file"), (label::WRITER, "last written by"), (label::DEVICE, "device")],
        ..PLAIN
    },
    Spec {
        kinds: &[kind::PAGE_FAULT],
        title: "Long page faults",
        classes: &["minor", "major", "write-protect"],
        class: |span| match span.name() {
            "major" => 1,
            "write-protect" => 2,
            _ => 0,
        },
        by_thread: true,
        ..PLAIN
    },
    Spec {
        kinds: &[kind::MEMORY_STALL, kind::MEMORY_MAP_LOCK],
        title: "Held up for memory",
        classes: &["direct reclaim", "compaction", "address space lock"],
        class: |span| match (span.kind(), span.name()) {
            (kind::MEMORY_MAP_LOCK, _) => 2,
            (_, "compaction") => 1,
            _ => 0,
        },
        by_thread: true,
        ..PLAIN
    },
    Spec { kinds: &[kind::MEMORY_OOM], title: "Killed for lack of memory", ..PLAIN },
    Spec { kinds: &[kind::EXCEPTION], title: "Exceptions", ..PLAIN },
    Spec { kinds: &[kind::THREAD_SLEEP], title: "Sleeping threads", by_thread: true, ..PLAIN },
    Spec { kinds: &[kind::THREAD_STARTUP], title: "Threads being started", by_thread: true, ..PLAIN },
    Spec {
        kinds: &[kind::THREAD_START, kind::THREAD_END],
        title: "Threads that began and ended",
        classes: &["began", "ended"],
        class: |span| usize::from(span.kind() == kind::THREAD_END),
        ..PLAIN
    },
    Spec {
        kinds: &[kind::CLASS_LOAD, kind::CLASS_UNLOAD],
        title: "Classes",
        classes: &["loaded", "unloaded"],
        class: |span| usize::from(span.kind() == kind::CLASS_UNLOAD),
        ..PLAIN
    },
    Spec {
        kinds: &[kind::OPERATION],
        title: "Requests",
        classes: &["answered", "refused (4xx)", "failed (5xx)"],
        class: |span| match span.figure(figure::STATUS) {
            Some(status) if status >= 500.0 => 2,
            Some(status) if status >= 400.0 => 1,
            _ => 0,
        },
        facts: &[(figure::STATUS, "status", "")],
        ..PLAIN
    },
    Spec { kinds: &[kind::JVM_WARNING], title: "Warnings of the JVM", ..PLAIN },
    Spec { kinds: &[kind::EVENT], title: "Other events", ..PLAIN },
];
