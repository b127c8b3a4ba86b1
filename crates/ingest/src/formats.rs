//! The formats that fathom knows: what implements [`Format`] is one line here, and nothing below
//! knows of it.

use crate::Format;

/// All formats. Where two are equally sure, the first wins.
#[rustfmt::skip] // one line per format
pub const FORMATS: &[&dyn Format] = &[
    &crate::jfr::Jfr,
    &crate::pprof::Pprof,
    &crate::otlp::Otlp,
    &crate::unified::UnifiedLog,
    &crate::jdk8::Jdk8GcLog,
    &crate::jit::LogCompilation,
    &crate::jit::PrintCompilation,
    &crate::strace::Strace,
    &crate::access_log::AccessLog,
    &crate::perf_script::PerfScript,
    &crate::folded::Folded,
    &crate::table::Table,
];
