//! Reads a trace into the recording: clocks, processes and threads, calls in two parts.

mod traced;

use fathom_recording::quantity::whole;
use std::collections::BTreeMap;

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{
    Check, ClockBasis, Process, ProcessId, Role, Sink, Source, SourceId, SpanRow, ThreadId,
};

use super::files::{Files, Target, address, descriptor, quoted};
use super::line::{End, Line, Timestamp, What};
use super::lookups::{Lookup, Lookups, question};
use crate::Tally;
use traced::{Done, Entered, Group, Traced};

/// The most threads, and unfinished calls, that are tracked.
const MOST: usize = 1 << 20;
/// How long a thread's calls wait for its name: a new thread of a JVM names itself within its first
/// calls.
const NAMELESS: usize = 24;
/// How much of a path is kept, characters: strace truncates long strings, but not paths.
const PATH: usize = 512;

/// A trace.
pub(super) struct Run<'s> {
    sink: &'s mut dyn Sink,
    source: SourceId,
    clock: Option<ClockBasis>,
    now_ns: i64,
    /// Nanoseconds to add to times of day, once midnight has passed.
    days_ns: i64,
    covers_ns: Option<(i64, i64)>,
    groups: Vec<Group>,
    threads: BTreeMap<i64, Traced>,
    entered: BTreeMap<i64, Entered>,
    files: Files,
    lookups: Lookups,
    records: u64,
    lines: u64,
    /// Ends of calls without a beginning, and calls without an end.
    halves: u64,
    untimed: u64,
}

const DAY_NS: i64 = 86_400_000_000_000;

impl<'s> Run<'s> {
    pub(super) fn new(sink: &'s mut dyn Sink, name: &str) -> Self {
        let process = sink.add_process(Process { name: name.to_owned(), ..Process::default() });
        let source = sink.add_source(Source {
            name: name.to_owned(),
            format: super::ID.to_owned(),
            process: Some(process.0),
            ..Source::default()
        });
        let first = Group { id: process, pid: None, jvm: false, command: None };
        Self {
            sink,
            source,
            clock: None,
            now_ns: 0,
            days_ns: 0,
            covers_ns: None,
            groups: vec![first],
            threads: BTreeMap::new(),
            entered: BTreeMap::new(),
            files: Files::default(),
            lookups: Lookups::default(),
            records: 0,
            lines: 0,
            halves: 0,
            untimed: 0,
        }
    }

    /// Takes a line.
    pub(super) fn line(&mut self, line: &Line<'_>, number: u64) {
        self.lines += 1;
        self.stamp(line.stamp);
        let tid = line.tid.unwrap_or(0);
        match line.what {
            What::Call { name, args, end } => {
                let t0_ns = self.now_ns;
                self.untimed += u64::from(end.took_ns.is_none() && end.result.is_some());
                let t1_ns = t0_ns.saturating_add(end.took_ns.unwrap_or(0));
                let call = Entered { name: name.to_owned(), args: args.to_owned(), t0_ns, number };
                self.call(tid, &call, &end, t1_ns);
            }
            What::Unfinished { name, args } => {
                let call =
                    Entered { name: name.to_owned(), args: args.to_owned(), t0_ns: self.now_ns, number };
                if self.entered.len() < MOST && self.entered.insert(tid, call).is_some() {
                    self.halves += 1;
                }
                // A child's lines may come before its parent's call has returned.
                self.of(tid);
            }
            What::Resumed { name, args, end } => self.resumed(tid, name, args, &end),
            What::Signal(signal) => self.signal(tid, signal),
            What::Exit => {
                self.flush(tid);
                self.entered.remove(&tid);
            }
            What::Note => {}
        }
    }

    /// The thread's unfinished call, and how it ended. Its length gives the time of its entry more
    /// exactly than the line of its first half.
    fn resumed(&mut self, tid: i64, name: &str, args: &str, end: &End<'_>) {
        let Some(mut call) = self.entered.remove(&tid).filter(|call| call.name == name) else {
            self.halves += 1;
            return;
        };
        call.args.push_str(args);
        let t1_ns = end.took_ns.map_or(self.now_ns, |took| call.t0_ns.saturating_add(took));
        self.call(tid, &call, end, t1_ns);
    }

    fn stamp(&mut self, stamp: Option<Timestamp>) {
        let (basis, ns) = match stamp {
            Some(Timestamp::Epoch(ns)) => (ClockBasis::Epoch, ns),
            Some(Timestamp::OfDay(ns)) => {
                let ns = ns.saturating_add(self.days_ns);
                // Lines of threads are almost in order; half a day back is midnight.
                if ns < self.now_ns.saturating_sub(DAY_NS / 2) {
                    self.days_ns += DAY_NS;
                    (ClockBasis::SinceStart, ns.saturating_add(DAY_NS))
                } else {
                    (ClockBasis::SinceStart, ns)
                }
            }
            Some(Timestamp::Since(ns)) => (ClockBasis::SinceStart, self.now_ns.saturating_add(ns)),
            None => return,
        };
        // A trace has one kind of timestamp; a line that has another is damaged.
        if *self.clock.get_or_insert(basis) == basis {
            self.now_ns = ns;
            let (from, to) = self.covers_ns.unwrap_or((ns, ns));
            self.covers_ns = Some((from.min(ns), to.max(ns)));
        }
    }

    /// A call that has returned, or will not.
    fn call(&mut self, tid: i64, call: &Entered, end: &End<'_>, t1_ns: i64) {
        let group = self.of(tid);
        let of = group as i64;
        let (name, args) = (call.name.as_str(), call.args.as_str());
        let target = match name {
            "connect" | "sendto" if address(args).is_some() => address(args).map(Target::Peer),
            "execve" | "open" | "creat" | "access" | "stat" | "lstat" | "unlink" | "mkdir" | "readlink" => {
                quoted(args).map(Target::Path)
            }
            "openat" | "openat2" | "faccessat" | "faccessat2" | "newfstatat" | "unlinkat" | "mkdirat"
            | "readlinkat" | "execveat" => args
                .split_once(", ")
                .and_then(|(_, rest)| quoted(rest))
                .filter(|p| !p.is_empty())
                .map(Target::Path)
                .or_else(|| self.files.of(of, args)),
            _ => self.files.of(of, args),
        };
        self.files.follow(of, name, args, end);
        self.know(tid, group, name, args, end);
        self.look_up(tid, of, call, end, t1_ns);
        let moves = matches!(
            name,
            "read"
                | "write"
                | "pread64"
                | "pwrite64"
                | "readv"
                | "writev"
                | "preadv"
                | "pwritev"
                | "preadv2"
                | "pwritev2"
                | "sendto"
                | "recvfrom"
                | "sendmsg"
                | "recvmsg"
                | "sendfile"
                | "splice"
                | "copy_file_range"
        );
        let done = Done {
            kind: kind::SYSCALL,
            name: name.to_owned(),
            t0_ns: call.t0_ns,
            t1_ns,
            number: call.number,
            result: end.result,
            error: end.error.map(str::to_owned),
            bytes: end.result.filter(|n| moves && *n >= 0),
            target,
            timeouts: None,
        };
        if name == "connect"
            && let Some(Target::Peer(peer)) = &done.target
            && !peer.ends_with(":53")
            && !peer.starts_with('/')
        {
            let connect = Done {
                kind: kind::NET_CONNECT,
                name: "connect".to_owned(),
                target: done.target.clone(),
                error: done.error.clone(),
                ..done
            };
            self.hold(tid, connect);
        }
        self.hold(tid, done);
    }

    /// What a call shows of its thread and process.
    fn know(&mut self, tid: i64, group: usize, name: &str, args: &str, end: &End<'_>) {
        match name {
            "prctl" if args.starts_with("PR_SET_NAME") => {
                if let (Some(thread), Some(name)) = (self.threads.get_mut(&tid), quoted(args)) {
                    // A thread that renames itself is another row of the same id.
                    thread.name = name;
                    thread.id = None;
                }
                self.flush(tid);
            }
            "execve" if end.result == Some(0) => {
                let command = quoted(args).unwrap_or_default();
                let file = command.rsplit('/').next().unwrap_or_default().to_owned();
                if let Some(group) = self.groups.get_mut(group) {
                    group.jvm |= file == "java";
                    group.command = Some(file);
                    group.pid = group.pid.or((tid > 0).then_some(tid));
                }
            }
            "getpid" => {
                if let Some(group) = self.groups.get_mut(group) {
                    group.pid = group.pid.or(end.result.filter(|pid| *pid > 0));
                }
            }
            "openat" | "open" if args.contains("libjvm.so") || args.contains("/hsperfdata_") => {
                if let Some(group) = self.groups.get_mut(group) {
                    group.jvm = true;
                }
            }
            "clone" | "clone3" | "fork" | "vfork" => {
                if let Some(child) = end.result.filter(|child| *child > 0) {
                    self.child(group, child, args.contains("CLONE_THREAD"));
                }
            }
            _ => {}
        }
    }

    /// A new thread, or a new process.
    fn child(&mut self, parent: usize, child: i64, thread: bool) {
        if thread || self.threads.len() >= MOST {
            if let Some(known) = self.threads.get_mut(&child) {
                known.process = parent;
            } else {
                self.add_thread(child, parent);
            }
            return;
        }
        let name = format!("pid {child}");
        let id = self.sink.add_process(Process { pid: Some(child), name, ..Process::default() });
        self.groups.push(Group { id, pid: Some(child), jvm: false, command: None });
        let group = self.groups.len() - 1;
        self.files.fork(parent as i64, group as i64);
        // The process of the lines that were held back is its own.
        match self.threads.get_mut(&child) {
            Some(known) => known.process = group,
            None => self.add_thread(child, group),
        }
    }

    fn add_thread(&mut self, tid: i64, process: usize) {
        self.threads.insert(tid, Traced { process, name: String::new(), id: None, waiting: Vec::new() });
    }

    /// The process of a thread.
    fn of(&mut self, tid: i64) -> usize {
        if let Some(thread) = self.threads.get(&tid) {
            return thread.process;
        }
        // If strace was attached to a program, any thread may come first: its id is not that of the
        // process.
        self.add_thread(tid, 0);
        0
    }

    /// A signal. HotSpot raises some itself and survives them: that is how it tests registers and
    /// objects.
    fn signal(&mut self, tid: i64, signal: &str) {
        let group = self.of(tid);
        if signal.starts_with("SIGSEGV {")
            && let Some(group) = self.groups.get_mut(group)
        {
            group.jvm = true;
        }
        let name = signal.split([' ', '{']).next().unwrap_or_default();
        let done = Done {
            kind: kind::EVENT,
            name: name.to_owned(),
            t0_ns: self.now_ns,
            t1_ns: self.now_ns,
            number: 0,
            result: None,
            error: None,
            bytes: None,
            target: None,
            timeouts: None,
        };
        self.hold(tid, done);
    }

    fn look_up(&mut self, tid: i64, of: i64, call: &Entered, end: &End<'_>, t1_ns: i64) {
        let args = call.args.as_str();
        match call.name.as_str() {
            "poll" | "ppoll" => self.lookups.waited(tid, args, t1_ns, end.result == Some(0)),
            "recvfrom" | "recvmsg" | "recvmmsg" | "read" if end.result.is_some_and(|n| n > 0) => {
                if let Some((fd, _)) = descriptor(args) {
                    self.lookups.received(tid, fd, t1_ns);
                }
            }
            "sendto" | "send" | "sendmsg" | "sendmmsg" | "write" => {
                let server = match address(args).map(Target::Peer).or_else(|| self.files.of(of, args)) {
                    Some(Target::Peer(server)) if server.ends_with(":53") => server,
                    _ => return,
                };
                let (Some((fd, _)), Some(name)) = (descriptor(args), question(args)) else { return };
                let before = self.lookups.asked(tid, fd, &server, name, (call.t0_ns, t1_ns));
                self.looked_up(tid, before);
            }
            "close" => {
                if let Some((fd, _)) = descriptor(args) {
                    let closed = self.lookups.closed(tid, fd);
                    self.looked_up(tid, closed);
                }
            }
            _ => {}
        }
    }

    fn looked_up(&mut self, tid: i64, lookup: Option<Lookup>) {
        let Some(lookup) = lookup else { return };
        let done = Done {
            kind: kind::NET_DNS,
            name: lookup.name,
            t0_ns: lookup.t0_ns,
            t1_ns: lookup.t1_ns,
            number: 0,
            result: None,
            error: None,
            bytes: None,
            target: Some(Target::Peer(lookup.server)),
            timeouts: Some(lookup.timeouts),
        };
        self.hold(tid, done);
    }

    /// Writes the calls of a thread, once its name is known or will not come.
    fn hold(&mut self, tid: i64, done: Done) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        thread.waiting.push(done);
        if !thread.name.is_empty() || thread.waiting.len() > NAMELESS || thread.id.is_some() {
            self.flush(tid);
        }
    }

    fn flush(&mut self, tid: i64) {
        let Some(thread) = self.threads.get_mut(&tid) else { return };
        let waiting = std::mem::take(&mut thread.waiting);
        let process = self.groups.get(thread.process).map_or(ProcessId(0), |group| group.id);
        let id = match thread.id {
            Some(id) => id,
            None => {
                let role = Role::of_named(&thread.name, Some(false));
                let known = (tid > 0).then_some(tid);
                let id = self.sink.thread(process, known, &thread.name, role);
                thread.id = Some(id);
                id
            }
        };
        for done in waiting {
            self.write(process, id, &done);
        }
    }

    fn write(&mut self, process: ProcessId, thread: ThreadId, done: &Done) {
        self.records += 1;
        let mut figures = Vec::with_capacity(2);
        figures.extend(done.result.map(|result| (figure::RESULT, result as f64)));
        figures.extend(done.bytes.map(|bytes| (figure::BYTES, bytes as f64)));
        figures.extend(done.timeouts.map(|n| (figure::TIMEOUTS, f64::from(n))));
        let mut labels: Vec<(&str, &str)> = Vec::with_capacity(2);
        labels.extend(done.error.as_deref().map(|error| (label::ERROR, error)));
        labels.extend(done.target.as_ref().map(|target| match target {
            Target::Path(path) => (label::PATH, truncated(path)),
            Target::Peer(peer) => (label::PEER, truncated(peer)),
        }));
        self.sink.span(&SpanRow {
            thread: Some(thread),
            line: done.number,
            figures: &figures,
            labels: &labels,
            ..SpanRow::new(done.kind, &done.name, (done.t0_ns, done.t1_ns), process, self.source)
        });
        let (from, to) = self.covers_ns.unwrap_or((done.t0_ns, done.t1_ns));
        self.covers_ns = Some((from.min(done.t0_ns), to.max(done.t1_ns)));
    }

    /// The trace ends.
    pub(super) fn finish(mut self, tally: Tally, ends_in_line: bool) {
        for (tid, lookup) in self.lookups.finish() {
            self.looked_up(tid, Some(lookup));
        }
        // Calls that had not returned when the trace ended lasted until then at least.
        for (tid, call) in std::mem::take(&mut self.entered) {
            let now_ns = self.now_ns.max(call.t0_ns);
            self.call(tid, &call, &End::default(), now_ns);
            self.halves += 1;
        }
        let tids: Vec<i64> = self.threads.keys().copied().collect();
        for tid in tids {
            self.flush(tid);
        }
        for group in &self.groups {
            let process = self.sink.process_mut(group.id);
            process.jvm = group.jvm;
            process.pid = group.pid;
            if let Some(command) = &group.command {
                process.name.clone_from(command);
            }
        }
        let check = Check {
            claim: "calls are timed".to_owned(),
            holds: self.untimed == 0,
            detail: format!(
                "{} without a length (-T), {} with one half missing",
                whole(self.untimed),
                whole(self.halves)
            ),
        };
        let source = self.sink.source_mut(self.source);
        source.clock = self.clock.unwrap_or(ClockBasis::None);
        source.covers_ns = self.covers_ns;
        source.cut = ends_in_line;
        source.checks = vec![check];
        tally.add_to(source);
        source.records += self.records;
    }
}

fn truncated(text: &str) -> &str {
    text.char_indices().nth(PATH).map_or(text, |(at, _)| text.get(..at).unwrap_or(text))
}
