//! The processes that are recorded: which ones, what became of them, and who joined them.
//!
//! ```text
//!   Selection ─ pids ───────── they and their descendants
//!             ─ name, cgroup ─ who matches now or later, and their descendants
//!             ─ all ────────── every process with a command line
//!             ─ command ────── started stopped by fathom (see [`Command`]); its descendants
//! ```

use std::collections::{BTreeMap, HashMap, HashSet};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use fathom_recording::{Process, ProcessId, Sink, ThreadId};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::error::CaptureError;
use crate::procfs::{self, Stat};

mod command;
mod identity;
mod select;
mod threads;

pub use command::Command;
pub use identity::{Identity, jvm_library};
pub use select::{NamePattern, Selection};

/// How long a new process is looked at again: a shell becomes a JVM by exec, a launcher maps libjvm some
/// milliseconds after its start (a second on a loaded machine).
const YOUNG: Duration = Duration::from_secs(5);

/// A target that has settled is looked at closely at each of so many scans.
const CLOSER: u32 = 16;
/// Targets up to this are looked at at each turn while they are young.
const FEW: usize = 16;

/// Targets whose exit is waited for by descriptor; of more, it is noticed at the next scan.
const MAX_PIDFDS: usize = 64;

/// A process that is recorded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// Its id.
    pub pid: i32,
    /// When it started, ticks since boot.
    pub start_ticks: u64,
    /// Its row in the recording. One that turns into another program by exec gets a new row.
    pub process: ProcessId,
    /// Whether HotSpot's library is mapped in it.
    pub jvm: bool,
}

/// What happened to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// It is recorded from now on.
    Appeared,
    /// It became another program: what is known of its code is void. [`Target::process`] is a new row.
    Exec,
    /// It has mapped libjvm by now: it is a JVM.
    BecameJvm,
    /// It has ended. Its `/proc` entry may be gone.
    Gone,
}

/// News of a target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TargetEvent {
    /// What happened.
    pub change: Change,
    /// The target as it is after that.
    pub target: Target,
}

/// A target with what is needed to follow it.
struct Followed {
    target: Target,
    identity: Identity,
    pidfd: Option<OwnedFd>,
    since: Instant,
    /// It is fathom's own child and stands before its first exec, which does not make another process of it.
    held: bool,
}

/// The processes that are recorded, and all others that were named in the recording.
pub struct Targets {
    selection: Selection,
    followed: BTreeMap<i32, Followed>,
    /// Rows of the recording by process id, for ids that are still in use.
    rows: HashMap<i32, ProcessId>,
    /// All process ids of the last scan.
    seen: HashSet<i32>,
    /// Those that are young, with the time at which they were seen first.
    young: HashMap<i32, Instant>,
    /// Matching processes that may not be looked into.
    foreign: HashSet<i32>,
    threads: threads::Threads,
    scans: u32,
}

impl Targets {
    /// Finds what is selected. Fails when it names a process that is not there or may not be recorded.
    pub fn find(selection: Selection) -> Result<Self, CaptureError> {
        if let Selection::Pids(pids) = &selection {
            pids.iter().try_for_each(|pid| select::check_recordable(*pid))?;
        }
        Ok(Self {
            selection,
            followed: BTreeMap::new(),
            rows: HashMap::new(),
            seen: HashSet::new(),
            young: HashMap::new(),
            foreign: HashSet::new(),
            threads: threads::Threads::default(),
            scans: 0,
        })
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

    /// Whether a few processes have just started, of which something is expected: an exec, a JVM. They are worth looking
    /// at more often.
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
        // One that is only named, as a neighbour that takes CPU time, is not a JVM that the recording tells of.
        let add =
            || sink.add_process(Process { jvm: false, ..Identity::of(pid).unwrap_or_default().row(pid) });
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

    /// The same of a target that may have ended by now, with the whole name of the thread where that is known.
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

    /// Adds a process of which somebody else knows that it belongs to the targets (an eBPF program saw a target
    /// fork it). Nothing when it is a target already or is gone.
    pub fn adopt(&mut self, pid: i32, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        self.add(pid, sink, events);
    }

    /// Looks at what changed since the last scan. Costs a listing of `/proc` and two reads for each process that is
    /// new or a target.
    pub fn scan(&mut self, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        let now = Instant::now();
        let pids = procfs::pids();
        let current: HashSet<i32> = pids.iter().copied().collect();
        self.rows.retain(|pid, _| current.contains(pid));
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
            // A process that was named by its id is meant, and not a later one that got the same id.
            Some(members) if first || !self.selection.is_closed() => candidates = members,
            Some(_) => candidates.clear(),
            None => candidates.extend(self.young.keys()),
        }
        for pid in candidates {
            if !self.followed.contains_key(&pid) && self.selection.matches(pid) {
                self.add(pid, sink, events);
            }
        }
        // Descendants: a parent can stand behind its child in the listing (ids wrap), hence until nothing changes.
        while self.adopt_children(first.then_some(&pids), sink, events) {}
        self.seen = current;
    }

    /// Makes targets of the children of targets, among those that are young, or among all at the first scan.
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
        children.into_iter().for_each(|pid| self.add(pid, sink, events));
        self.followed.len() > before
    }

    fn add(&mut self, pid: i32, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
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
        sink.process_mut(process).jvm |= identity.jvm;
        let target = Target { pid, start_ticks: identity.start_ticks, process, jvm: identity.jvm };
        let room = self.followed.len() < MAX_PIDFDS;
        let pidfd = room.then(|| pidfd_open(Pid::from_raw(pid)?, PidfdFlags::empty()).ok()).flatten();
        events.push(TargetEvent { change: Change::Appeared, target: target.clone() });
        self.followed.insert(pid, Followed { target, identity, pidfd, since: Instant::now(), held });
    }

    /// Looks after those that are targets: gone, another program, a JVM by now.
    fn follow(&mut self, current: &HashSet<i32>, sink: &mut dyn Sink, events: &mut Vec<TargetEvent>) {
        let mut gone = Vec::new();
        for (pid, followed) in &mut self.followed {
            let target = &mut followed.target;
            let mut tell =
                |change, target: &Target| events.push(TargetEvent { change, target: target.clone() });
            let young = followed.since.elapsed() < YOUNG;
            // Of one that has settled, a closer look now and then is enough: it is in the listing.
            let closer =
                young || followed.pidfd.is_some() || pid.unsigned_abs() % CLOSER == self.scans % CLOSER;
            let as_it_was =
                || Stat::of(*pid).is_some_and(|s| s.start_ticks == target.start_ticks && s.state != b'Z');
            let lives = current.contains(pid) && (!closer || as_it_was());
            if !lives {
                tell(Change::Gone, target);
                gone.push(*pid);
                continue;
            }
            if closer && followed.identity.program_changed(*pid) {
                let Some(identity) = Identity::of(*pid) else { continue };
                if followed.held {
                    *sink.process_mut(target.process) = identity.row(*pid);
                } else {
                    target.process = sink.add_process(identity.row(*pid));
                }
                followed.held = false;
                target.jvm = identity.jvm;
                self.rows.insert(*pid, target.process);
                followed.identity = identity;
                followed.since = Instant::now();
                tell(Change::Exec, target);
            } else if !target.jvm && young && jvm_library(*pid).is_some() {
                target.jvm = true;
                sink.process_mut(target.process).jvm = true;
                tell(Change::BecameJvm, target);
            }
        }
        for pid in gone {
            self.followed.remove(&pid);
            self.rows.remove(&pid);
        }
    }
}

/// How long a process has run.
fn age(pid: i32) -> Option<Duration> {
    let since_boot =
        Duration::from_millis(Stat::of(pid)?.start_ticks.saturating_mul(1000) / procfs::ticks_per_second());
    let now = Duration::from_nanos(u64::try_from(crate::clock::boottime_ns()).ok()?);
    Some(now.saturating_sub(since_boot))
}
