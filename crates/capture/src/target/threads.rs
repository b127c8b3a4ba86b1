//! Threads of recorded processes: each has one row in the recording, whoever tells of it first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_recording::{ProcessId, Role, Sink, ThreadId};

use crate::procfs;

/// Rows that are remembered; a machine that makes more threads than this in one recording gets further rows for those
/// that it has forgotten, which costs room and nothing else.
const MAX_THREADS: usize = 262_144;

/// How often a JVM's threads are read anew for names that are not known yet: one that starts a thousand threads a second
/// must not be read a thousand times.
const REFRESH: Duration = Duration::from_millis(250);

/// Rows of threads by process row and thread id.
#[derive(Default)]
pub(super) struct Threads {
    rows: HashMap<(ProcessId, i32), ThreadId>,
    names: HashMap<ProcessId, Names>,
}

/// Names of a JVM's threads as they were when read last.
struct Names {
    read: Instant,
    by_tid: HashMap<u32, String>,
}

impl Threads {
    /// The row of a thread, made when there is none, with the name that the kernel has for it. `jvm`: whether its
    /// process is a JVM, whose threads' names say what they are for.
    pub fn row(
        &mut self,
        sink: &mut dyn Sink,
        process: ProcessId,
        pid: i32,
        tid: i32,
        jvm: bool,
    ) -> ThreadId {
        if let Some(row) = self.rows.get(&(process, tid)) {
            return *row;
        }
        let name = jvm.then(|| self.java_name(process, pid, tid)).flatten();
        let name = name.or_else(|| name_of(pid, tid)).unwrap_or_default();
        self.named(sink, process, tid, &name, jvm)
    }

    /// The same of a thread of which the kernel's name is known already.
    pub fn called(
        &mut self,
        sink: &mut dyn Sink,
        process: ProcessId,
        pid: i32,
        tid: i32,
        comm: &str,
        jvm: bool,
    ) -> ThreadId {
        if let Some(row) = self.rows.get(&(process, tid)) {
            return *row;
        }
        let name = jvm.then(|| self.java_name(process, pid, tid)).flatten();
        self.named(sink, process, tid, name.as_deref().unwrap_or(comm), jvm)
    }

    /// The name in full, as the JVM has it. `None`: it cannot be read (not now, or not by this user).
    fn java_name(&mut self, process: ProcessId, pid: i32, tid: i32) -> Option<String> {
        let tid = u32::try_from(tid).ok()?;
        let known = self.names.get(&process);
        if known.is_none_or(|names| !names.by_tid.contains_key(&tid) && names.read.elapsed() >= REFRESH) {
            let by_tid = read_names(pid).unwrap_or_default();
            self.names.insert(process, Names { read: Instant::now(), by_tid });
        }
        self.names.get(&process)?.by_tid.get(&tid).cloned()
    }

    /// The same with a name that is known better: the kernel cuts names after 15 bytes.
    pub fn named(
        &mut self,
        sink: &mut dyn Sink,
        process: ProcessId,
        tid: i32,
        name: &str,
        jvm: bool,
    ) -> ThreadId {
        if let Some(row) = self.rows.get(&(process, tid)) {
            return *row;
        }
        if self.rows.len() >= MAX_THREADS {
            self.rows.clear();
        }
        let role = if jvm { Role::of_jvm_thread(name) } else { Role::Other };
        let row = sink.thread(process, Some(i64::from(tid)), name, role);
        self.rows.insert((process, tid), row);
        row
    }
}

fn read_names(pid: i32) -> Option<HashMap<u32, String>> {
    let vm = fathom_hotspot::Vm::open(u32::try_from(pid).ok()?).ok()?;
    let threads = fathom_hotspot::threads::Threads::new(&vm).ok()?.all(&vm).ok()?;
    Some(threads.into_iter().map(|thread| (thread.tid, thread.name)).collect())
}

/// What the kernel calls a thread: at most 15 bytes. `None` when it is gone.
fn name_of(pid: i32, tid: i32) -> Option<String> {
    let name = procfs::read_to_string(format!("/proc/{pid}/task/{tid}/comm"))?;
    Some(name.trim_end_matches('\n').to_owned())
}
