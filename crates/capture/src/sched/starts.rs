//! Starts of threads, as they are written.

use fathom_recording::SpanRow;
use fathom_recording::vocabulary::{figure, kind, label};

use crate::collector::Context;
use crate::procfs;
use crate::starts::Start;
use crate::target::Target;

/// Writes starts of threads of targets that live.
pub(super) fn write_starts(starts: &[Start], now_ns: u64, cx: &mut Context<'_>) {
    for start in starts {
        if let Some(target) =
            cx.targets.get(start.child.pid.cast_signed()).filter(|target| target.jvm).cloned()
        {
            write_start(start, &target, now_ns, cx);
        }
    }
}

/// Writes the start of a thread, as what its parent did.
pub(super) fn write_start(start: &Start, target: &Target, now_ns: u64, cx: &mut Context<'_>) {
    let (from_ns, to_ns) = start.lasted_ns(now_ns);
    let took = |(from, to): (u64, u64)| to.saturating_sub(from) as f64;
    let known = |ends: &(u64, u64)| ends.0 > 0;
    let mut figures = vec![(figure::NEW_TID, f64::from(start.child.tid))];
    figures.extend(start.call_ns.map(|ends| (figure::CALL_NS, took(ends))));
    figures.extend(start.cloned_ns.filter(known).map(|ends| (figure::CLONE_NS, took(ends))));
    figures.extend(start.waited_ns().map(|ns| (figure::WAITED_NS, ns as f64)));
    figures.extend(start.ran_ns.map(|ran_ns| (figure::RUNQ_NS, took((start.child.born_ns, ran_ns)))));
    let java_ns = start.java.as_ref().map(|java| (start.child.born_ns, java.t_ns));
    figures.extend(java_ns.map(|ends| (figure::TO_JAVA_NS, took(ends))));
    let cut = [(label::CUT, "the recording ended before it ran")];
    let labels = if start.ran_ns.is_none() { &cut[..] } else { &[] };
    let comm = || procfs::read_to_string(procfs::path(start.child.tid.cast_signed(), "comm"));
    let name = match &start.java {
        Some(java) => java.name.clone(),
        None => comm().map(|comm| comm.trim_end().to_owned()).unwrap_or_default(),
    };
    let parent = cx.targets.thread_of(target, start.child.parent.cast_signed(), None, cx.sink);
    cx.sink.span(&SpanRow {
        kind: kind::THREAD_STARTUP,
        name: &name,
        t0_ns: cx.clock.epoch_ns(from_ns.cast_signed()),
        t1_ns: cx.clock.epoch_ns(to_ns.cast_signed()),
        process: target.process,
        thread: Some(parent),
        stack: start.stack,
        source: cx.source,
        line: 0,
        key: -1,
        parent: None,
        figures: &figures,
        labels,
    });
}
