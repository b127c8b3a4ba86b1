//! What had not ended when the recording did, or when an excerpt of it is written: threads that are
//! off the CPU, and waits that are over and were not reported, as their threads have not come back
//! from the call.
//!
//! ```text
//!   read() ─▶ ▐███ waits ███▌ stopped by a signal ▐███████▌ the call begins anew ▐███ waits ███ … end
//!             reported       kept: no call has returned since                     off the CPU
//! ```
//!
//! Such a thread has not been in Java since, so that where it is now is where it was.

use std::collections::{HashMap, HashSet};

use fathom_recording::StackId;
use fathom_recording::vocabulary::{figure, kind, label};

use super::event::{Off, Unreported, seen_from_ns, syscall_name};
use super::short::{self, Sum};
use super::skeleton::types::thread;
use super::{Sched, Watched, kernel_stack};
use crate::bpf::record;
use crate::collector::Context;
use crate::procfs;
use crate::unwind::asleep;

impl Sched {
    /// Ends the watch of threads whose end was not reported, as where so many end that the buffer
    /// has no room: when they were last seen.
    pub(super) fn unwatch_ended(&mut self, cx: &mut Context<'_>) {
        let mut left: HashMap<u32, HashSet<i32>> = HashMap::new();
        for watched in self.threads.values() {
            let pid = watched.pid;
            left.entry(pid).or_insert_with(|| procfs::tasks(pid.cast_signed()).into_iter().collect());
        }
        // Of a process that has ended, its own end says when.
        let has_ended = |(tid, watched): &(&u32, &Watched)| {
            let left = &left[&watched.pid];
            !left.is_empty() && !left.contains(&tid.cast_signed())
        };
        let ended = self.threads.iter().filter(has_ended).map(|(tid, watched)| (*tid, watched.last_ns));
        for (tid, last_ns) in ended.collect::<Vec<_>>() {
            self.unwatch(tid, last_ns, cx);
        }
    }

    /// Threads that are off the CPU at the end, as the kernel still has them: from when they were
    /// switched out, or from the start of the watch for those that never ran.
    pub(super) fn still_off(&mut self, now_ns: u64, cx: &mut Context<'_>) {
        let mut off: HashMap<u32, Option<Off>> = HashMap::new();
        let mut unknown: Vec<(u32, u64)> = Vec::new();
        let mut owing: Vec<(u32, Unreported)> = Vec::new();
        if let Some(map) = self.loaded.as_ref().map(|loaded| &loaded.maps.threads) {
            for (tid, thread) in record::all::<u32, thread>(map) {
                off.insert(tid, Off::of(&thread));
                owing.extend(Unreported::of(&thread).map(|owed| (tid, owed)));
                let is_new = !self.threads.contains_key(&tid);
                unknown.extend(seen_from_ns(&thread).filter(|_| is_new).map(|from_ns| (tid, from_ns)));
            }
        }
        // One that was made while recording and hangs since has reported nothing yet.
        for (tid, from_ns) in unknown {
            let status = procfs::read_to_string(procfs::path(tid.cast_signed(), "status"));
            let pid = status.and_then(|status| procfs::number(&status, "Tgid:")?.try_into().ok());
            if let Some(pid) = pid.filter(|pid: &u32| cx.targets.get(pid.cast_signed()).is_some()) {
                self.watch(pid, tid, None, from_ns.max(self.attached_ns), cx);
            }
        }
        let mut off_still: Vec<(u32, Off)> = Vec::new();
        for (tid, watched) in &self.threads {
            let since = match off.get(tid) {
                Some(off) => off.map(|off| Off { since_ns: off.since_ns.max(watched.since_ns), ..off }),
                // The kernel has no word of it: it has not run since the watch began.
                None => Some(Off::asleep(watched.since_ns)),
            };
            off_still.extend(since.filter(|off| off.since_ns < now_ns).map(|off| (*tid, off)));
        }
        let java = self.java_stacks_of(&off_still, cx);
        for (tid, owed) in owing {
            self.write_unreported(tid, &owed, java.get(&tid).copied(), now_ns, cx);
        }
        for (tid, off) in off_still {
            let Some(watched) = self.threads.remove(&tid) else { continue };
            let stack = asleep::kernel_stack(tid, java.get(&tid).copied(), cx.sink);
            let cut = [(label::CUT, "the recording ended")];
            let ready_ns = off.ready_ns.max(off.since_ns);
            let runq = [(figure::RUNQ_NS, now_ns.saturating_sub(ready_ns) as f64)];
            let runq = if off.ready_ns > 0 { &runq[..] } else { &[] };
            let ends = (off.since_ns, now_ns);
            self.span(kind::SCHED_OFF, off.state, &watched, ends, stack, runq, &cut, cx);
            self.threads.insert(tid, watched);
        }
    }

    /// Writes what a thread has waited and would report when it returns from its call, into which
    /// `caller` leads.
    fn write_unreported(
        &self,
        tid: u32,
        owed: &Unreported,
        caller: Option<StackId>,
        now_ns: u64,
        cx: &mut Context<'_>,
    ) {
        let Some(watched) = self.threads.get(&tid) else { return };
        let sum = Sum { at_ns: now_ns, blocked_ns: owed.owed_ns, runq_ns: owed.owed_runq_ns };
        short::write(watched, &[sum], None, cx);
        let Some((off_ns, on_ns, runq_ns)) = owed.wait.filter(|(_, on_ns, _)| *on_ns > watched.since_ns)
        else {
            return;
        };
        let labels = syscall_name(owed.syscall).map(|name| (label::SYSCALL, name));
        let labels: Vec<(&str, &str)> = labels.into_iter().collect();
        let figures = [(figure::RUNQ_NS, runq_ns as f64)];
        let ends = (off_ns.max(watched.since_ns), on_ns);
        let stack = kernel_stack(&owed.kernel, caller, cx);
        self.span(kind::SCHED_OFF, owed.state(), watched, ends, stack, &figures, &labels, cx);
    }

    /// Where threads that are off the CPU left Java, by thread.
    fn java_stacks_of(&self, off: &[(u32, Off)], cx: &mut Context<'_>) -> HashMap<u32, StackId> {
        let Some(unwinder) = cx.services.unwinder().cloned() else { return HashMap::new() };
        let mut by_process: HashMap<i32, HashSet<u32>> = HashMap::new();
        for (tid, _) in off {
            let Some(watched) = self.threads.get(tid) else { continue };
            by_process.entry(watched.pid.cast_signed()).or_default().insert(*tid);
        }
        let mut unwinder = unwinder.borrow_mut();
        by_process.iter().flat_map(|(pid, tids)| unwinder.asleep(*pid, tids, cx.sink)).collect()
    }
}
