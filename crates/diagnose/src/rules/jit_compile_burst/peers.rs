//! The other JVMs of the recording: one in which much more became hot leads, and this one follows.

use fathom_recording::ProcessId;

use super::super::jit_case::JitCase;
use super::burst::Burst;
use crate::facts::{Value, compile};
use crate::{Fact, Window};

/// A JVM with a third of another's tasks in the same windows follows that one: its own new work is
/// to talk to it.
pub(super) const FOLLOWS: usize = 3;

/// Another JVM in which many times as much became hot in the same windows.
pub(super) fn leader(jit: &JitCase<'_, '_>, bursts: &[Burst<'_>]) -> Option<Fact> {
    let windows: Vec<Window> = bursts.iter().map(|b| b.window).collect();
    let own = jit.asked_in(&windows).count();
    let counts = others(jit).map(|other| (other.asked_in(&windows).count(), other.jvm));
    let (most, jvm) = counts.max_by_key(|(n, jvm)| (*n, std::cmp::Reverse(*jvm)))?;
    (most >= FOLLOWS * own).then(|| {
        let fact = compile::LEADER.is(Value::count(most)).with("own", Value::count(own));
        fact.with("jvm", Value::name(jit.case.jvm_name(jvm)))
    })
}

/// The compilations of the other JVMs.
pub(super) fn others<'j, 'a>(jit: &'j JitCase<'j, 'a>) -> impl Iterator<Item = JitCase<'j, 'a>> {
    let jvms = jit.case.recording.processes.iter().enumerate().filter(|(_, p)| p.jvm);
    let others = jvms.map(|(i, _)| ProcessId(i as u32)).filter(|jvm| *jvm != jit.jvm);
    others.map(|jvm| JitCase::read(jit.case, jvm)).filter(|other| !other.tasks.is_empty())
}
