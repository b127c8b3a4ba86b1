//! Compilations, their failures, and the code cache.

use fathom_recording::vocabulary::{figure, kind, label, series};

use super::{Event, Kind, Reader, known};

pub(super) const KINDS: &[Kind] = &[
    Kind {
        name: "jdk.Compilation",
        fields: &[
            "compileId",
            "compiler",
            "method",
            "compileLevel",
            "succeded",
            "isOsr",
            "codeSize",
            "inlinedBytes",
        ],
        read: compilation,
    },
    Kind { name: "jdk.CompilationFailure", fields: &["compileId", "failureMessage"], read: failure },
    Kind {
        name: "jdk.Deoptimization",
        fields: &["compileId", "compiler", "method", "bci", "reason", "action"],
        read: deoptimization,
    },
    Kind {
        name: "jdk.CodeCacheFull",
        fields: &["codeBlobType", "unallocatedCapacity", "codeCacheMaxCapacity"],
        read: code_cache_full,
    },
    Kind {
        name: "jdk.CodeCacheStatistics",
        fields: &["codeBlobType", "unallocatedCapacity", "startAddress", "reservedTopAddress"],
        read: code_cache,
    },
    Kind { name: "jdk.SweepCodeCache", fields: &["sweptCount"], read: sweep },
    Kind { name: "jdk.CompilerQueueUtilization", fields: &["compiler", "queueSize"], read: queue },
];

/// `jdk.Compilation` records only those that last longer than its threshold: 1 s, or 100 ms with
/// `profile.jfc`.
fn compilation<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let id = event.integer(0)?;
    let compiler = reader.text(event.field(1)).unwrap_or_default();
    let method = reader.text(event.field(2))?;
    let threshold_ns = reader.writer.setting_ns("jdk.Compilation", "threshold").filter(|ns| *ns > 0);
    let mut figures = known([
        (figure::TIER, event.number(3)),
        (figure::SUCCESS, event.number(4)),
        (figure::NMETHOD_BYTES, event.number(6)),
        (figure::INLINED_BYTES, event.number(7)),
        (figure::THRESHOLD_NS, threshold_ns.map(|ns| ns as f64)),
    ]);
    if event.is(5) {
        // The event has no bytecode index, only that it is an on-stack replacement.
        figures.push((figure::OSR_BCI, 0.0));
    }
    let compiler = compiler.to_ascii_lowercase();
    reader.span_with_key(event, kind::JIT_COMPILE, &method, id, &figures, &[(label::COMPILER, &compiler)])
}

fn failure<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let id = event.integer(0)?;
    let why = reader.text(event.field(1)).unwrap_or_default();
    let name = format!("compilation {id}");
    reader.span_with_key(event, kind::JIT_FAILURE, &name, id, &[], &[(label::REASON, &why)])
}

fn deoptimization<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let id = event.integer(0)?;
    let method = reader.text(event.field(2))?;
    let compiler = reader.text(event.field(1)).unwrap_or_default().to_ascii_lowercase();
    let (reason, action) =
        (reader.text(event.field(4)).unwrap_or_default(), reader.text(event.field(5)).unwrap_or_default());
    let mut labels =
        vec![(label::REASON, &*reason), (label::ACTION, &*action), (label::COMPILER, &*compiler)];
    labels.retain(|(_, text)| !text.is_empty());
    let figures = known([(figure::BCI, event.number(3))]);
    reader.span_with_key(event, kind::JIT_TRAP, &method, id, &figures, &labels)
}

fn code_cache_full<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let segment = reader.text(event.field(0)).unwrap_or_default();
    let figures = known([
        (figure::CODE_CACHE_FREE_BYTES, event.number(1)),
        (figure::CODE_CACHE_SIZE_BYTES, event.number(2)),
    ]);
    reader.span(event, kind::JIT_CODE_CACHE_FULL, "code cache full", &figures, &[(label::SEGMENT, &segment)])
}

/// The used part of a segment: what is reserved less what is not allocated.
fn code_cache<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let segment = reader.text(event.field(0))?;
    let reserved = event.number(3)? - event.number(2)?;
    let used = reserved - event.number(1)?;
    reader.writer.gauge(series::CODE_CACHE_USED, "bytes", &segment, event.t0_ns()?, used.max(0.0));
    Some(())
}

fn sweep<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    reader.span(event, kind::JIT_SWEEP, "code cache sweep", &[], &[])
}

fn queue<'a>(reader: &mut Reader<'_, 'a, '_>, event: &Event<'_, 'a>) -> Option<()> {
    let compiler = reader.text(event.field(0))?.to_ascii_lowercase();
    reader.writer.gauge(series::COMPILE_QUEUE, "tasks", &compiler, event.t0_ns()?, event.number(1)?);
    Some(())
}
