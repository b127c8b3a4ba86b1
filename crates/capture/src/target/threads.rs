//! Threads of recorded processes: each has one row in the recording, whoever sees it first.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_hotspot::Vm;
use fathom_hotspot::threads::ThreadInfo;
use fathom_recording::{ProcessId, Role, Sink, ThreadId};

use crate::procfs;

/// Rows that are remembered; a machine that makes more threads than this in one recording gets
/// further rows for those that it has forgotten, which costs room and nothing else.
const MAX_THREADS: usize = 262_144;

/// Rows from which on it is looked which threads have ended, and again whenever they have doubled:
/// in a recording of days ids are given anew, and a new thread is not the one that had its id
/// before.
const MANY_THREADS: usize = 4096;

/// How often a JVM's threads are read anew for names that are not known yet: one that starts a
/// thousand threads a second must not be read a thousand times.
const REFRESH: Duration = Duration::from_millis(250);
/// Where there are many, the next time is so many times later as it took (40 threads take 1.5 ms,
/// 5000 take 180 ms) ...
const REST: u32 = 20;
/// ... but not later than this: a new thread's name is waited for no longer than [`SETTLES`].
const LATEST: Duration = Duration::from_secs(1);
/// JVMs whose tables are kept, some 280 KB each: to look them up takes 3 ms.
const MOST_READERS: usize = 32;

/// How long a thread may take to name itself: until then it is called as its maker, and its row is
/// looked at again.
const SETTLES: Duration = Duration::from_secs(2);

/// Rows of threads by process row and thread id.
#[derive(Default)]
pub(super) struct Threads {
    rows: HashMap<(ProcessId, i32), ThreadId>,
    /// Those whose name is the kernel's and may change.
    unsettled: HashMap<(ProcessId, i32), Unsettled>,
    names: HashMap<ProcessId, Names>,
    /// Rows that were left when it was looked for the last time which have ended.
    left: usize,
}

struct Unsettled {
    pid: i32,
    name: String,
    since: Instant,
}

/// What a JVM says of one of its threads.
#[derive(Clone)]
struct Known {
    /// In full.
    name: String,
    /// Whether it is a Java thread. Known of the process' first thread, which is the launcher's;
    /// another may be one whose id the JVM does not have yet.
    is_java: Option<bool>,
}

/// What the kernel calls the JDK's launcher.
const LAUNCHER: &str = "java";

/// Names of a JVM's threads as they were when read last.
struct Names {
    /// Not to be read anew before.
    next: Instant,
    by_tid: HashMap<u32, Known>,
    /// Of a JVM of which a name was read with it: one that has just begun does not have all that it
    /// takes.
    reader: Option<Reader>,
}

/// Reads the threads of one JVM.
struct Reader {
    pid: i32,
    vm: Vm,
    threads: fathom_hotspot::threads::Threads,
}

impl Threads {
    /// The row of a thread, made when there is none, with the name that the kernel has for it.
    /// `jvm`: whether its process is a JVM, whose threads' names say what they are for.
    pub fn row(
        &mut self,
        sink: &mut dyn Sink,
        process: ProcessId,
        pid: i32,
        tid: i32,
        jvm: bool,
    ) -> ThreadId {
        if let Some(row) = self.rows.get(&(process, tid)) {
            let row = *row;
            self.settle(sink, (process, pid, tid), row, None, jvm);
            return row;
        }
        let known = jvm.then(|| self.known(process, pid, tid)).flatten();
        match known {
            Some(Known { name, is_java }) => self.put(sink, process, tid, &name, role(jvm, &name, is_java)),
            None => {
                let name = name_of(pid, tid).unwrap_or_default();
                self.put_unsettled(sink, process, (pid, tid), name, jvm)
            }
        }
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
            let row = *row;
            self.settle(sink, (process, pid, tid), row, Some(comm), jvm);
            return row;
        }
        match jvm.then(|| self.known(process, pid, tid)).flatten() {
            Some(Known { name, is_java }) => self.put(sink, process, tid, &name, role(jvm, &name, is_java)),
            // A thread is called as its maker until it names itself: what it is called now, while
            // it lives, is better.
            None => {
                let name = name_of(pid, tid).unwrap_or_else(|| comm.to_owned());
                self.put_unsettled(sink, process, (pid, tid), name, jvm)
            }
        }
    }

    /// Makes the row of a thread of which only the kernel's name is known.
    fn put_unsettled(
        &mut self,
        sink: &mut dyn Sink,
        process: ProcessId,
        (pid, tid): (i32, i32),
        name: String,
        jvm: bool,
    ) -> ThreadId {
        let row = self.put(sink, process, tid, &name, role(jvm, &name, not_java(pid, tid, &name)));
        self.unsettled.insert((process, tid), Unsettled { pid, name, since: Instant::now() });
        row
    }

    /// Gives the row of a young thread the name that it has got meanwhile. `comm`: the kernel's,
    /// where that is known.
    fn settle(
        &mut self,
        sink: &mut dyn Sink,
        (process, pid, tid): (ProcessId, i32, i32),
        row: ThreadId,
        comm: Option<&str>,
        jvm: bool,
    ) {
        let key = (process, tid);
        let Some(unsettled) = self.unsettled.get(&key) else { return };
        let (is_old, is_renamed) =
            (unsettled.since.elapsed() > SETTLES, comm.is_some_and(|comm| comm != unsettled.name));
        // The names of a JVM are read every so often, and whoever named itself is among them.
        let known = jvm.then(|| self.known(process, pid, tid)).flatten();
        if let Some(Known { name, is_java }) = known {
            sink.rename_thread(row, &name, Role::of_named(&name, is_java));
            self.unsettled.remove(&key);
        } else if let (Some(comm), true) = (comm, is_renamed) {
            sink.rename_thread(row, comm, role(jvm, comm, not_java(pid, tid, comm)));
            self.unsettled.insert(key, Unsettled { pid, name: comm.to_owned(), since: Instant::now() });
        } else if is_old {
            self.unsettled.remove(&key);
        }
    }

    /// Gives rows of threads that have had the time to name themselves their names: one that waits
    /// from then on (a worker of a collector that has nothing to do) is seen by nobody again.
    pub fn settle_old(&mut self, sink: &mut dyn Sink, is_jvm: impl Fn(i32) -> bool) {
        let due = self.unsettled.iter().filter(|(_, unsettled)| unsettled.since.elapsed() > SETTLES);
        let due: Vec<_> = due.map(|(key, unsettled)| (*key, unsettled.pid)).collect();
        for ((process, tid), pid) in due {
            let Some(row) = self.rows.get(&(process, tid)).copied() else { continue };
            let comm = name_of(pid, tid);
            self.settle(sink, (process, pid, tid), row, comm.as_deref(), is_jvm(pid));
        }
    }

    /// Makes room for the tables of another JVM; names are kept for what is still on its way.
    pub fn ended(&mut self, process: ProcessId) {
        if let Some(names) = self.names.get_mut(&process) {
            names.reader = None;
        }
    }

    /// Forgets threads that have ended, once there are many. `lives`: whether a process does.
    pub fn forget_ended(&mut self, lives: impl Fn(ProcessId) -> bool) {
        if self.rows.len() < 2 * self.left + MANY_THREADS {
            return;
        }
        self.rows.retain(|(_, tid), _| procfs::lives(i64::from(*tid), None));
        self.unsettled.retain(|key, _| self.rows.contains_key(key));
        self.names.retain(|process, _| lives(*process));
        self.left = self.rows.len();
    }

    /// What the JVM says of a thread. `None`: it cannot be read (not now, or not by this user).
    fn known(&mut self, process: ProcessId, pid: i32, tid: i32) -> Option<Known> {
        let tid = u32::try_from(tid).ok()?;
        let known = self.names.get(&process);
        let begun = Instant::now();
        if known.is_none_or(|names| !names.by_tid.contains_key(&tid) && begun >= names.next) {
            let kept = self.names.remove(&process).and_then(|names| names.reader);
            let mut reader = kept.or_else(|| Reader::open(pid));
            let by_tid = reader.as_mut().and_then(Reader::names).unwrap_or_default();
            let readers = self.names.values().filter(|names| names.reader.is_some()).count();
            let works = readers < MOST_READERS && by_tid.values().any(|known| known.is_java.is_none());
            let next = Instant::now() + (begun.elapsed() * REST).clamp(REFRESH, LATEST);
            self.names.insert(process, Names { next, by_tid, reader: reader.filter(|_| works) });
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
        let row = self.put(sink, process, tid, name, role(jvm, name, None));
        // Whoever saw it before had only the kernel's name, perhaps that of its maker.
        if self.unsettled.remove(&(process, tid)).is_some_and(|unsettled| unsettled.name != name) {
            sink.rename_thread(row, name, role(jvm, name, None));
        }
        row
    }

    fn put(&mut self, sink: &mut dyn Sink, process: ProcessId, tid: i32, name: &str, role: Role) -> ThreadId {
        if let Some(row) = self.rows.get(&(process, tid)) {
            return *row;
        }
        if self.rows.len() >= MAX_THREADS {
            self.rows.clear();
            self.unsettled.clear();
        }
        let row = sink.thread(process, Some(i64::from(tid)), name, role);
        self.rows.insert((process, tid), row);
        row
    }
}

fn role(jvm: bool, name: &str, is_java: Option<bool>) -> Role {
    if jvm { Role::of_named(name, is_java) } else { Role::Other }
}

/// The first thread of a process that the JDK's launcher made runs no Java: it waits for the main
/// thread that it started (`CallJavaMainInNewThread` of `java_md.c`), and so long nothing happens
/// in it by which it could be asked for again.
fn not_java(pid: i32, tid: i32, comm: &str) -> Option<bool> {
    (pid == tid && comm == LAUNCHER).then_some(false)
}

impl Reader {
    fn open(pid: i32) -> Option<Self> {
        let vm = Vm::open(u32::try_from(pid).ok()?).ok()?;
        let threads = fathom_hotspot::threads::Threads::new(&vm).ok()?;
        Some(Self { pid, vm, threads })
    }

    /// What the JVM says of its threads; `None`: it cannot be read (any more).
    fn names(&mut self) -> Option<HashMap<u32, Known>> {
        let known = |thread: ThreadInfo| {
            let is_first = i32::try_from(thread.tid) == Ok(self.pid);
            // What the kernel calls a thread may still change.
            let is_final = thread.named_by_jvm || is_first;
            let is_java = is_first.then_some(thread.java.is_some());
            is_final.then_some((thread.tid, Known { name: thread.name, is_java }))
        };
        Some(self.threads.all(&self.vm).ok()?.into_iter().filter_map(known).collect())
    }
}

/// What the kernel calls a thread: at most 15 bytes. `None` when it is gone.
fn name_of(pid: i32, tid: i32) -> Option<String> {
    let name = procfs::read(format!("/proc/{pid}/task/{tid}/comm"))?;
    Some(fathom_recording::jvm_text(name.strip_suffix(b"\n").unwrap_or(&name)).into_owned())
}

#[cfg(test)]
mod tests {
    use fathom_recording::{Process, Recording};

    use super::*;

    #[test]
    fn the_launchers_first_thread_is_no_thread_of_the_application() {
        const NO_PID: i32 = i32::MAX - 1;
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let mut threads = Threads::default();
        let mut role = |tid: i32, comm: &str| {
            let row = threads.called(&mut recording, process, NO_PID, tid, comm, true);
            recording.threads[row.index()].role
        };
        assert_eq!(role(NO_PID, "java"), Role::Other);
        // JDK 8 names none of its threads, and another launcher may run Java in its first one.
        assert_eq!(role(NO_PID - 1, "java"), Role::App);
        assert_eq!(role(NO_PID - 2, "main"), Role::App);
    }

    /// A worker of a collector that had not named itself when it was seen, and does nothing more.
    #[test]
    fn a_thread_that_is_seen_once_gets_the_name_that_it_gives_itself_later() {
        let pid = i32::try_from(std::process::id()).expect("a process id");
        let (ids, ends) = (std::sync::mpsc::channel::<i32>(), std::sync::mpsc::channel::<()>());
        let waits = std::thread::spawn(move || {
            let own = std::fs::read_link("/proc/thread-self").expect("a link");
            let tid = own.file_name().and_then(|tid| tid.to_str()).and_then(|tid| tid.parse().ok());
            ids.0.send(tid.expect("a thread id")).expect("the test waits for it");
            ends.1.recv().expect("the test ends it");
        });
        let tid = ids.1.recv().expect("the thread's id");
        let mut recording = Recording::new();
        let process = recording.add_process(Process { jvm: true, ..Process::default() });
        let mut threads = Threads::default();
        let row = threads.row(&mut recording, process, pid, tid, true);
        std::fs::write(format!("/proc/self/task/{tid}/comm"), "G1 Conc#0").expect("its name");
        threads.settle_old(&mut recording, |_| true);
        assert_eq!(recording.threads[row.index()].role, Role::App, "it may not have named itself yet");
        let long_ago = Instant::now().checked_sub(2 * SETTLES).expect("the machine is up for longer");
        threads.unsettled.values_mut().for_each(|unsettled| unsettled.since = long_ago);
        threads.settle_old(&mut recording, |_| true);
        assert_eq!(recording.threads[row.index()].role, Role::Gc);
        ends.0.send(()).expect("the thread waits for it");
        waits.join().expect("the thread ends");
    }
}
