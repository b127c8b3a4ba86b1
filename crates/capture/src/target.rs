//! The processes that are recorded: which ones, what became of them, and who joined them.
//!
//! ```text
//!   Selection ─ pids ───────── they and their descendants
//!             ─ name, cgroup ─ who matches now or later, and their descendants
//!             ─ all ────────── every process with a command line
//!             ─ command ────── started stopped by fathom (see [`Command`]); its descendants
//! ```
//! Where eBPF works, forks and execs are reported by the kernel as they happen (`births`);
//! elsewhere, and for what gets lost there, `/proc` is looked at a few times a second.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use fathom_recording::{Process, ProcessId, Sink, ThreadId};
use libbpf_rs::MapHandle;
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::Unavailable;
use crate::clock::monotonic_ns;
use crate::error::CaptureError;
use crate::procfs::{self, Stat};
use births::{Birth, Births};

mod births;
mod command;
mod event;
mod identity;
mod jvms;
mod select;
mod threads;

pub use command::Command;
pub use event::{Change, Target, TargetEvent};
use identity::is_jvm;
pub use identity::{Identity, jvm_library};
pub use jvms::{Condition, JvmFilter};
pub use select::{NamePattern, Selection};

/// How long a new process is looked at again: a shell becomes a JVM by exec, a launcher maps libjvm
/// some milliseconds after its start (a second on a loaded machine).
const YOUNG: Duration = Duration::from_secs(5);

/// A target that has settled is looked at closely at each of so many scans.
const CLOSER: u32 = 16;
/// Targets up to this are looked at at each round while they are young.
const FEW: usize = 16;

/// Targets whose exit is waited for by descriptor; of more, it is noticed at the next scan.
const MAX_PIDFDS: usize = 64;

/// A target with what is needed to follow it.
struct Followed {
    target: Target,
    identity: Identity,
    pidfd: Option<OwnedFd>,
    since: Instant,
    /// It is fathom's own child and stands before its first exec, which does not make another
    /// process of it.
    held: bool,
}

/// How long at least what has ended is still known: so long what it did may wait in the kernel's
/// buffers, as fathom itself has to wait on a busy machine.
const INTERVAL: Duration = Duration::from_secs(5);

/// The processes that are recorded, and all others that were named in the recording.
pub struct Targets {
    selection: Selection,
    followed: BTreeMap<i32, Followed>,
    /// Rows of the recording by process id, for ids that are still in use.
    rows: HashMap<i32, ProcessId>,
    /// The same of those that have ended, in this interval of [`INTERVAL`] and in the one before:
    /// what they did just before may still be on its way.
    former: [HashMap<i32, ProcessId>; 2],
    interval_since: Instant,
    /// All process ids of the last scan.
    seen: HashSet<i32>,
    /// Those that are young, with the time at which they were seen first.
    young: HashMap<i32, Instant>,
    /// Matching processes that may not be looked into.
    foreign: HashSet<i32>,
    threads: threads::Threads,
    scans: u32,
    /// News from the kernel; `None` where eBPF is not used.
    births: Option<Births>,
}

impl Targets {
    /// Finds what is selected. Fails when it names a process that is not there or may not be
    /// recorded.
    pub fn find(selection: Selection) -> Result<Self, CaptureError> {
        if let Selection::Pids(pids) = &selection {
            pids.iter().try_for_each(|pid| select::check_recordable(*pid))?;
        }
        Ok(Self {
            selection,
            followed: BTreeMap::new(),
            rows: HashMap::new(),
            former: Default::default(),
            interval_since: Instant::now(),
            seen: HashSet::new(),
            young: HashMap::new(),
            foreign: HashSet::new(),
            threads: threads::Threads::default(),
            scans: 0,
            births: None,
        })
    }

    /// Lets the kernel report forks and execs from now on.
    pub(crate) fn watch_births(&mut self) -> Result<(), Unavailable> {
        self.births = Some(Births::watch(!self.selection.is_closed())?);
        Ok(())
    }

    /// The map of all that is recorded, for programs: a child of a target is entered by the kernel.
    pub(crate) fn map(&self) -> Option<&MapHandle> {
        self.births.as_ref().map(Births::targets)
    }

    /// Takes in the kernel's news without acting upon them; whether there are any. What is read
    /// afterwards of a process that has come and gone has its name by then.
    pub(crate) fn listen(&mut self) -> bool {
        self.births.as_mut().is_some_and(Births::listen)
    }

    /// Readable when the kernel has news.
    pub(crate) fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.births.as_ref().map(Births::wake)
    }

    /// Acts upon the kernel's news.
    pub(crate) fn hear(&mut self, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        let news = self.births.as_mut().map(Births::news).unwrap_or_default();
        for birth in news {
            let pid = birth.pid;
            if birth.forked {
                self.former.iter_mut().for_each(|rows| _ = rows.remove(&pid));
            }
            if let Some(followed) = self.followed.get_mut(&pid) {
                if !birth.forked {
                    let rows = &mut self.rows;
                    let has_become = became(pid, followed, birth.t_ns, rows, sink, events);
                    if !has_become && birth.comm != followed.identity.name && !Identity::is_there(pid) {
                        let identity = Identity::gone(birth.comm);
                        replaced(pid, followed, identity, birth.t_ns, rows, sink, events);
                    }
                }
            } else if birth.heir || self.selection.matches(pid) {
                self.add(pid, birth.t_ns, sink, events);
                if !birth.forked && !self.followed.contains_key(&pid) {
                    self.name_gone(&birth, sink);
                }
            } else if !birth.forked && matches!(self.selection, Selection::Jvms(_)) {
                // Another program, which may map libjvm soon.
                self.young.insert(pid, Instant::now());
            }
        }
    }

    /// A process that ended before it could be followed, and has a row for what it did: it is
    /// called what it was at last.
    fn name_gone(&self, exec: &Birth, sink: &mut dyn Sink) {
        let row =
            self.rows.get(&exec.pid).or_else(|| self.former.iter().find_map(|rows| rows.get(&exec.pid)));
        if let Some(process) = row.map(|row| sink.process_mut(*row)).filter(|process| !process.jvm) {
            process.name.clone_from(&exec.comm);
        }
    }

    /// The command that fathom started, if it did.
    pub fn command(&mut self) -> Option<&mut Command> {
        match &mut self.selection {
            Selection::Command(command) => Some(command),
            _ => None,
        }
    }

    /// What was asked for.
    pub fn selection(&self) -> &Selection {
        &self.selection
    }

    /// The targets that live.
    pub fn iter(&self) -> impl Iterator<Item = &Target> {
        self.followed.values().map(|followed| &followed.target)
    }

    /// A target that lives, by its id.
    pub fn get(&self, pid: i32) -> Option<&Target> {
        self.followed.get(&pid).map(|followed| &followed.target)
    }

    /// Whether it is the command, standing before its exec.
    pub(crate) fn is_held(&self, pid: i32) -> bool {
        self.followed.get(&pid).is_some_and(|followed| followed.held)
    }

    /// How many live.
    pub fn len(&self) -> usize {
        self.followed.len()
    }

    /// Whether none lives.
    pub fn is_empty(&self) -> bool {
        self.followed.is_empty()
    }

    /// How many processes match and belong to somebody else, so that they may not be recorded.
    pub fn foreign(&self) -> usize {
        self.foreign.len()
    }

    /// Whether everything that was asked for is over: no target lives and none can come.
    pub fn is_over(&self) -> bool {
        self.followed.is_empty() && self.selection.is_closed()
    }

    /// Whether a few processes have just started, of which something is expected: an exec, a JVM.
    /// They are worth looking at more often.
    pub fn are_unsettled(&self) -> bool {
        let unsettled = |f: &Followed| !f.target.jvm && f.since.elapsed() < YOUNG;
        self.followed.len() <= FEW && self.selection.is_closed() && self.followed.values().any(unsettled)
    }

    /// Descriptors that become readable when a target ends.
    pub fn pidfds(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        self.followed.values().filter_map(|followed| Some(followed.pidfd.as_ref()?.as_fd()))
    }

    /// The row of any process, made when there is none.
    pub fn process(&mut self, pid: i32, sink: &mut dyn Sink) -> ProcessId {
        // One that is only named, as a neighbour that takes CPU time, is not a JVM that the
        // recording is about.
        if let Some(row) = self.rows.get(&pid).or_else(|| self.former.iter().find_map(|rows| rows.get(&pid)))
        {
            return *row;
        }
        let births = &mut self.births;
        // Of one that is gone already, the kernel's news may know the name.
        let mut gone = || {
            births.iter_mut().for_each(|births| _ = births.listen());
            Identity::gone(births.as_ref().and_then(|births| births.comm(pid)).unwrap_or_default())
        };
        let add = || {
            sink.add_process(Process { jvm: false, ..Identity::of(pid).unwrap_or_else(&mut gone).row(pid) })
        };
        *self.rows.entry(pid).or_insert_with(add)
    }

    /// The row of a thread of a process, made when there is none.
    pub fn thread(&mut self, pid: i32, tid: i32, sink: &mut dyn Sink) -> ThreadId {
        let process = self.process(pid, sink);
        let jvm = self.get(pid).is_some_and(|target| target.jvm);
        self.threads.row(sink, process, pid, tid, jvm)
    }

    /// The same, with what the kernel called the thread when it was seen: it may be gone by now.
    pub fn thread_called(&mut self, pid: i32, tid: i32, comm: &str, sink: &mut dyn Sink) -> ThreadId {
        let process = self.process(pid, sink);
        let jvm = self.get(pid).is_some_and(|target| target.jvm);
        self.threads.called(sink, process, pid, tid, comm, jvm)
    }

    /// The same of a target that may have ended by now, with the whole name of the thread where
    /// that is known.
    pub fn thread_of(
        &mut self,
        target: &Target,
        tid: i32,
        name: Option<&str>,
        sink: &mut dyn Sink,
    ) -> ThreadId {
        match name {
            Some(name) => self.threads.named(sink, target.process, tid, name, target.jvm),
            None => self.threads.row(sink, target.process, target.pid, tid, target.jvm),
        }
    }

    /// Looks at what changed since the last scan. Costs a listing of `/proc` and two reads for each
    /// process that is new or a target.
    pub fn scan(&mut self, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        let now = Instant::now();
        let pids = procfs::pids();
        let current: HashSet<i32> = pids.iter().copied().collect();
        if self.interval_since.elapsed() >= INTERVAL {
            self.interval_since = now;
            self.former[1] = std::mem::take(&mut self.former[0]);
            self.births.iter_mut().for_each(Births::age);
            let (rows, former) = (&self.rows, &self.former);
            let known = || rows.values().chain(former.iter().flat_map(HashMap::values));
            self.threads.forget_ended(|process| known().any(|row| *row == process));
        }
        let former = &mut self.former[0];
        self.rows.retain(|pid, row| {
            let lives = current.contains(pid);
            if !lives {
                former.insert(*pid, *row);
            }
            lives
        });
        self.foreign.retain(|pid| current.contains(pid));
        self.follow(&current, sink, events);

        self.scans = self.scans.wrapping_add(1);
        let first = self.seen.is_empty();
        let mut candidates: Vec<i32> = pids.iter().filter(|pid| !self.seen.contains(pid)).copied().collect();
        for pid in &candidates {
            // What runs already may have started just now, or long ago.
            if !first || age(*pid).is_some_and(|age| age < YOUNG) {
                self.young.insert(*pid, now);
            }
        }
        self.young.retain(|pid, since| current.contains(pid) && now.duration_since(*since) < YOUNG);
        match self.selection.members() {
            // A process that was named by its id is meant, and not a later one that got the same
            // id.
            Some(members) if first || !self.selection.is_closed() => candidates = members,
            Some(_) => candidates.clear(),
            None => candidates.extend(self.young.keys()),
        }
        for pid in candidates {
            if !self.followed.contains_key(&pid) && self.selection.matches(pid) {
                self.add(pid, now_ns(), sink, events);
            }
        }
        // Descendants: a parent can stand behind its child in the listing (ids wrap), hence until
        // nothing changes.
        while self.adopt_children(first.then_some(&pids), sink, events) {}
        self.seen = current;
        let followed = &self.followed;
        let is_jvm = |pid| followed.get(&pid).is_some_and(|followed| followed.target.jvm);
        self.threads.settle_old(sink, is_jvm);
    }

    /// Makes targets of the children of targets, among those that are young, or among all at the
    /// first scan.
    fn adopt_children(
        &mut self,
        among: Option<&Vec<i32>>,
        sink: &mut dyn Sink,
        events: &mut Vec<TargetEvent>,
    ) -> bool {
        let parent_is_target = |pid: &&i32| {
            let parent = (!self.followed.contains_key(pid)).then(|| Stat::of(**pid)).flatten();
            parent.is_some_and(|stat| self.followed.contains_key(&stat.ppid))
        };
        let children: Vec<i32> = match among {
            Some(pids) => pids.iter().filter(parent_is_target).copied().collect(),
            None => self.young.keys().filter(parent_is_target).copied().collect(),
        };
        let before = self.followed.len();
        children.into_iter().for_each(|pid| self.add(pid, now_ns(), sink, events));
        self.followed.len() > before
    }

    fn add(&mut self, pid: i32, at_ns: u64, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        if self.followed.contains_key(&pid) || pid == std::process::id() as i32 {
            return;
        }
        let Some(mut identity) = Identity::of(pid) else { return };
        let held = matches!(&self.selection, Selection::Command(command) if command.pid() == pid && command.is_held());
        if let (Selection::Command(command), true) = (&self.selection, held) {
            identity.name = command.program().to_owned();
        }
        if !identity.readable {
            self.foreign.insert(pid);
            return;
        }
        let process = *self.rows.entry(pid).or_insert_with(|| sink.add_process(identity.row(pid)));
        let row = sink.process_mut(process);
        row.jvm |= identity.jvm;
        // It may have become another program since it was named.
        row.name.clone_from(&identity.row(pid).name);
        let target = Target { pid, start_ticks: identity.start_ticks, process, jvm: identity.jvm };
        let room = self.followed.len() < MAX_PIDFDS;
        let pidfd = room.then(|| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()).flatten();
        events.push(TargetEvent { change: Change::Appeared, target: target.clone(), at_ns });
        self.followed.insert(pid, Followed { target, identity, pidfd, since: Instant::now(), held });
    }

    /// Looks after those that are targets: gone, another program, a JVM by now.
    fn follow(&mut self, current: &HashSet<i32>, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        let mut gone = Vec::new();
        for (pid, followed) in &mut self.followed {
            let target = &mut followed.target;
            let young = followed.since.elapsed() < YOUNG;
            // Of one that has settled, a closer look now and then is enough: it is in the listing.
            let closer =
                young || followed.pidfd.is_some() || pid.unsigned_abs() % CLOSER == self.scans % CLOSER;
            let as_it_was =
                || Stat::of(*pid).is_some_and(|s| s.start_ticks == target.start_ticks && s.state != b'Z');
            let lives = current.contains(pid) && (!closer || as_it_was());
            if !lives {
                // What it became at last may not have been acted upon yet.
                self.births.iter_mut().for_each(|births| _ = births.listen());
                let last = self.births.as_ref().and_then(|births| births.last_exec(*pid));
                if let Some(exec) = last.filter(|e| !target.jvm && e.comm != followed.identity.name) {
                    let identity = Identity::gone(exec.comm.clone());
                    replaced(*pid, followed, identity, exec.t_ns, &mut self.rows, sink, events);
                }
                let target = followed.target.clone();
                events.push(TargetEvent { change: Change::Gone, target, at_ns: now_ns() });
                gone.push(*pid);
                continue;
            }
            if closer && became(*pid, followed, now_ns(), &mut self.rows, sink, events) {
                continue;
            }
            let target = &mut followed.target;
            if !target.jvm && young && Stat::of(*pid).is_some_and(|stat| is_jvm(*pid, &stat)) {
                target.jvm = true;
                sink.process_mut(target.process).jvm = true;
                let at_ns = now_ns();
                events.push(TargetEvent { change: Change::BecameJvm, target: target.clone(), at_ns });
            }
        }
        for pid in gone {
            if let Some(followed) = self.followed.remove(&pid) {
                self.threads.ended(followed.target.process);
            }
            let row = self.rows.remove(&pid);
            self.former[0].extend(row.map(|row| (pid, row)));
        }
    }
}

/// Whether a target is another program by now; that is reported.
fn became(
    pid: i32,
    followed: &mut Followed,
    at_ns: u64,
    rows: &mut HashMap<i32, ProcessId>,
    sink: &mut dyn Sink,
    events: &mut Vec<TargetEvent>,
) -> bool {
    if !followed.identity.program_changed(pid) {
        return false;
    }
    let Some(identity) = Identity::of(pid) else { return false };
    replaced(pid, followed, identity, at_ns, rows, sink, events);
    true
}

/// A target is another program from now on.
fn replaced(
    pid: i32,
    followed: &mut Followed,
    identity: Identity,
    at_ns: u64,
    rows: &mut HashMap<i32, ProcessId>,
    sink: &mut dyn Sink,
    events: &mut Vec<TargetEvent>,
) {
    let target = &mut followed.target;
    if followed.held {
        *sink.process_mut(target.process) = identity.row(pid);
    } else {
        target.process = sink.add_process(identity.row(pid));
    }
    followed.held = false;
    target.jvm = identity.jvm;
    rows.insert(pid, target.process);
    followed.identity = identity;
    followed.since = Instant::now();
    events.push(TargetEvent { change: Change::Exec, target: target.clone(), at_ns });
}

fn now_ns() -> u64 {
    monotonic_ns().max(0).cast_unsigned()
}

/// How long a process has run.
pub(crate) fn age(pid: i32) -> Option<Duration> {
    let since_boot =
        Duration::from_millis(Stat::of(pid)?.start_ticks.saturating_mul(1000) / procfs::ticks_per_second());
    let now = Duration::from_nanos(u64::try_from(crate::clock::boottime_ns()).ok()?);
    Some(now.saturating_sub(since_boot))
}
