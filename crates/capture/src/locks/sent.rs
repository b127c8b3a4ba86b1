//! What the programs in the kernel are sent to know of a JVM: its layout, the ids of its threads,
//! and those that wait already.

use std::time::Duration;

use libbpf_rs::MapCore;
use syscalls::Sysno;

use super::skeleton::types::java_thread;
use super::{LockWaits, event};
use crate::bpf::record;
use crate::clock::monotonic_ns;
use crate::procfs;

/// New threads in a round that are looked at for whether they wait: each look reads a file of
/// /proc.
pub(super) const MOST_FRESH: usize = 256;
/// A thread that the JVM does not list as one of its Java threads after this time is not one.
const NO_JAVA_THREAD_AFTER: Duration = Duration::from_secs(1);

impl LockWaits {
    /// Sends the program the layout of a JVM.
    pub(super) fn send_jvm(&self, pid: u32) {
        let (Some(loaded), Some(jvm)) = (&self.loaded, self.jvms.get(&pid)) else { return };
        self.virtual_threads.send_jvm(pid, jvm);
        let sent = event::jvm_of(&jvm.constants, jvm.exclusive_owner);
        // A full map: its waits are reported as those of a process that is no JVM.
        let _ = record::put(&loaded.maps.lock_jvms, &pid, &sent);
    }

    /// Sends the program the threads that wait already: it would see them only when they have got
    /// the lock, and never those that wait for each other.
    pub(super) fn send_waits(&self, pid: u32) {
        let Some(jvm) = self.jvms.get(&pid) else { return };
        for (tid, address) in jvm.threads() {
            self.send_wait((pid, tid), address);
        }
    }

    /// Enters a thread into the program's map of waits, if it waits.
    fn send_wait(&self, (pid, tid): (u32, u32), address: u64) {
        let (Some(loaded), Some(jvm)) = (&self.loaded, self.jvms.get(&pid)) else { return };
        let map = &loaded.maps.waits;
        // Number and arguments of the call that it sleeps in; "running" when it does not (proc(5)).
        let path = procfs::path(pid.cast_signed(), "task").join(tid.to_string()).join("syscall");
        let futex = format!("{} ", Sysno::futex.id());
        let call = || procfs::read_to_string(&path).filter(|call| call.starts_with(&futex));
        let Some(before) = call() else { return };
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let Some(waiting) = jvm.waiting(address) else { return };
        let wait = event::waits_since(now_ns, pid, tid, &waiting);
        // The program leaves a wait there that is over; one that is not, it has seen itself.
        let is_seen = self.waits_now(tid).is_some_and(|event| event.off_ns > 0);
        let sent = !is_seen && record::put(map, &tid, &wait).is_ok();
        // It woke up meanwhile: what was read may be of another wait.
        if sent && call().as_ref() != Some(&before) {
            let _ = map.delete(&tid.to_ne_bytes());
        }
    }

    /// Sends the program the ids of Java's threads.
    pub(super) fn send_threads(&mut self) {
        let Some(loaded) = &self.loaded else { return };
        let map = &loaded.maps.java_threads;
        let send = |tid: u32, address: u64| {
            let _ = record::put(map, &tid, &address);
        };
        let mut fresh: Vec<((u32, u32), u64)> = Vec::new();
        for (pid, jvm) in &mut self.jvms {
            for (tid, address) in jvm.new_threads(!self.unknown.is_empty()) {
                send(tid, address);
                self.unknown.remove(&tid);
                fresh.push(((*pid, tid), address));
            }
        }
        self.unknown.retain(|tid, since| {
            // The program asked before the answer was there.
            let known = self.jvms.iter().find_map(|(pid, jvm)| Some(((*pid, *tid), jvm.address(*tid)?)));
            let looked = self.jvms.values().all(|jvm| jvm.has_looked_since(*since));
            let settled = known.is_none() && looked && since.elapsed() > NO_JAVA_THREAD_AFTER;
            if settled {
                send(*tid, java_thread::NO_JAVA_THREAD.0.into());
            }
            fresh.extend(known);
            !settled && known.is_none()
        });
        // One that went to sleep before it was known may not wake up again. Where threads come by
        // the hundred, the last ones.
        for (thread, address) in fresh.into_iter().rev().take(MOST_FRESH) {
            self.send_wait(thread, address);
        }
    }
}
