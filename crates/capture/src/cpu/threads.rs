//! Names and roles of the threads of JVMs, as the JVM has them.

use std::borrow::Cow;
use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_recording::Role;

use super::role_of;
use crate::unwind::Jvm;
use crate::unwind::processes::Known;
use crate::unwind::samples::Sample;

/// How often all threads of a JVM are read: some 10 us a thread.
const EVERY: Duration = Duration::from_secs(1);
/// A thread that is new is looked for this soon.
const SOON: Duration = Duration::from_millis(100);

#[derive(Default)]
struct Named {
    by_tid: HashMap<u32, (String, Role)>,
    read: Option<Instant>,
    /// A thread was seen that is not among them.
    new: bool,
}

/// Names of threads by process.
#[derive(Default)]
pub struct ThreadNames {
    by_pid: HashMap<i32, Named>,
}

impl ThreadNames {
    /// Name and role of the thread of a sample.
    pub fn of<'a>(
        &'a mut self,
        pid: i32,
        sample: &'a Sample<'_>,
        known: Option<&Known>,
    ) -> (Cow<'a, str>, Role) {
        let named = self.by_pid.entry(pid).or_default();
        if let Some((name, role)) = named.by_tid.get(&sample.head.tid) {
            return (Cow::Borrowed(name), *role);
        }
        named.new = true;
        let comm = sample.comm();
        let role = role_of(&comm, known.is_some_and(|known| known.jvm.is_some()));
        (comm, role)
    }

    /// Reads the threads of a JVM when it is time.
    pub fn refresh(&mut self, pid: i32, jvm: &mut Jvm) {
        let named = self.by_pid.entry(pid).or_default();
        let after = if named.new { SOON } else { EVERY };
        if named.read.is_some_and(|read| read.elapsed() < after) {
            return;
        }
        named.read = Some(Instant::now());
        named.new = false;
        let Some(threads) = &mut jvm.threads else { return };
        if let Ok(all) = threads.all(&jvm.vm) {
            named.by_tid = all.into_iter().map(|thread| (thread.tid, (thread.name, thread.role))).collect();
        }
    }

    /// Forgets a process.
    pub fn forget(&mut self, pid: i32) {
        self.by_pid.remove(&pid);
    }
}
