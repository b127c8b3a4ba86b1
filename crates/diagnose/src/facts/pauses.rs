//! What collections took and why.

use super::{Evidence, Value};
use crate::collections::Pause;

super::metrics! {
    /// CPU time of the kernel in pauses, with the collector's own.
    KERNEL_TIME = "gc-kernel-time",
        "{pauses|pause|pauses} of {paused} in all, with {value} of kernel and {user} of user time";
    /// A pause with the CPU time used in it.
    PAUSE_CPU = "pause-cpu", "{pause} of {value} with {kernel} kernel and {user} user time";
    /// How the JVM uses large pages, as its log states it.
    LARGE_PAGES = "large-pages", "large pages: {value}";
}

/// A pause with the CPU time used in it.
pub(crate) fn with_cpu(pause: &Pause<'_>) -> Evidence {
    let cpu = pause.cpu().unwrap_or_default();
    let fact = PAUSE_CPU.is(Value::ms(pause.ms())).with("pause", Value::name(pause.span.name()));
    let fact = fact.with("kernel", Value::seconds(cpu.sys_s)).with("user", Value::seconds(cpu.user_s));
    Evidence::cited(&pause.span, fact)
}
