//! The two ways in which fathom sees what a JVM does.

/// The way in which a JVM's own doings are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureEngine {
    /// Needs none: reads what the kernel and the JVM publish.
    Any,
    /// eBPF programs: root, or CAP_BPF and CAP_PERFMON.
    Ebpf,
    /// The JVM's flight recorder, switched on through the attach protocol: the same user as the
    /// JVM.
    Jfr,
}
