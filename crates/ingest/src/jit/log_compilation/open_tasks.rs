//! The open compile tasks: what was queued, started and installed, joined by compile id.
//!
//! A complete log has the queue entries in its main stream and the tasks after it, thread by
//! thread, so that an entry stays open until its task is read, which may be at the end of the file.
//! An entry takes some 60 bytes, and its method's name once for all its compilations: about 5 MB
//! for a log of 400 MB.

use std::collections::hash_map::Entry;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{SpanRow, StrId, Strings};
use rustc_hash::FxHashMap;

use super::markup::Element;
use super::out::Out;

/// A compilation within one run. Up to JDK 8, on-stack replacements may be counted separately
/// (`CICountOSR`), so that the id alone is not unique.
pub(super) type Key = (i64, bool);

/// What is known of an open task.
struct Open {
    method: StrId,
    reason: StrId,
    /// -1: never seen in the queue.
    queued_ns: i64,
    line: u64,
    /// -1: not installed.
    installed_ns: i64,
    tier: u8,
    bytecodes: i32,
    osr_bci: i32,
}

/// Counts of the tasks of a run by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Fates {
    /// Entries of the queue.
    pub(super) queued: u64,
    /// Of them: started.
    pub(super) started: u64,
    /// Of them: not seen to start, but installed.
    pub(super) only_installed: u64,
    /// Of them: neither; they waited, or their thread's part of the log is missing.
    pub(super) open: u64,
    /// Tasks that were started without having been queued.
    pub(super) unqueued: u64,
    /// Entries whose id was in the queue already.
    pub(super) twice: u64,
    /// Waits that would be negative.
    pub(super) negative_waits: u64,
}

/// The open tasks of one run of a JVM.
#[derive(Default)]
pub(super) struct OpenTasks {
    open: FxHashMap<Key, Open>,
    names: Strings,
    pub(super) fates: Fates,
}

/// The key of the compilation that an element is about.
pub(super) fn key(element: &Element<'_>) -> Option<Key> {
    Some((element.number(b"compile_id")?, element.raw(b"compile_kind") == Some(b"osr")))
}

impl OpenTasks {
    /// Takes a `task_queued`. `false`: it lacks what it needs.
    pub(super) fn queued(&mut self, element: &Element<'_>, tier: u8, line: u64) -> bool {
        let (Some(key), Some(method), Some(queued_ns)) =
            (key(element), element.method(b"method"), element.stamp_ns())
        else {
            return false;
        };
        let open = Open {
            method: self.names.intern(&method),
            reason: self.names.intern(&element.text(b"comment").unwrap_or_default()),
            queued_ns,
            line,
            installed_ns: -1,
            tier,
            bytecodes: small(element.number(b"bytes")),
            osr_bci: small(element.number(b"osr_bci")),
        };
        self.fates.queued += 1;
        if let Some(old) = self.open.insert(key, open) {
            self.fates.twice += u64::from(old.queued_ns >= 0);
        }
        true
    }

    /// Takes the installation of code.
    pub(super) fn installed(&mut self, key: Key, method: &str, stamp_ns: i64) {
        match self.open.entry(key) {
            Entry::Occupied(mut known) => known.get_mut().installed_ns = stamp_ns,
            Entry::Vacant(free) => {
                free.insert(Open {
                    method: self.names.intern(method),
                    reason: self.names.intern(""),
                    queued_ns: -1,
                    line: 0,
                    installed_ns: stamp_ns,
                    tier: 0,
                    bytecodes: -1,
                    osr_bci: -1,
                });
            }
        }
    }

    /// The method of a compilation that was queued or installed.
    pub(super) fn method(&self, key: Key) -> Option<&str> {
        self.open.get(&key).map(|open| self.names.get(open.method))
    }

    /// A task starts: its wait is over. Tasks come after the whole main stream, so that the entry
    /// is not needed any more.
    pub(super) fn started(&mut self, key: Key, stamp_ns: i64, out: &mut Out<'_>) {
        match self.open.remove(&key) {
            Some(open) if open.queued_ns >= 0 => {
                self.fates.started += 1;
                self.fates.negative_waits += u64::from(stamp_ns < open.queued_ns);
                write_wait(&self.names, key, &open, stamp_ns, true, out);
            }
            _ => self.fates.unqueued += 1,
        }
    }

    /// The log ends: writes what never started, up to its installation, or as an event where that
    /// is not there either. The length of these waits is not known.
    pub(super) fn close(&mut self, out: &mut Out<'_>) {
        let mut left: Vec<_> = self.open.drain().filter(|(_, open)| open.queued_ns >= 0).collect();
        left.sort_unstable_by_key(|(_, open)| open.line);
        for (key, open) in &left {
            let until_ns = if open.installed_ns >= 0 {
                self.fates.only_installed += 1;
                open.installed_ns
            } else {
                self.fates.open += 1;
                open.queued_ns
            };
            write_wait(&self.names, *key, open, until_ns, false, out);
        }
    }
}

/// A number that fits 31 bits; -1: it is absent.
fn small(number: Option<i64>) -> i32 {
    number.and_then(|n| i32::try_from(n).ok()).unwrap_or(-1)
}

/// Writes a wait in the queue.
fn write_wait(names: &Strings, (id, _): Key, open: &Open, until_ns: i64, is_known: bool, out: &mut Out<'_>) {
    let mut figures = vec![(figure::TIER, f64::from(open.tier))];
    if open.bytecodes >= 0 {
        figures.push((figure::BYTECODES, f64::from(open.bytecodes)));
    }
    if open.osr_bci >= 0 {
        figures.push((figure::OSR_BCI, f64::from(open.osr_bci)));
    }
    if !is_known {
        figures.push((figure::WAIT_KNOWN, 0.0));
    }
    let mut labels = vec![(label::REASON, names.get(open.reason))];
    labels.retain(|(_, reason)| !reason.is_empty());
    let row = SpanRow {
        kind: kind::JIT_QUEUE,
        name: names.get(open.method),
        t0_ns: open.queued_ns,
        t1_ns: until_ns,
        line: open.line,
        key: id,
        figures: &figures,
        labels: &labels,
        ..out.row()
    };
    out.put(&row);
}
