//! System calls: all of a target's counted and summed in the kernel, long ones reported one by one
//! with what they were on.
//!
//! ```text
//!   raw_syscalls tracepoints ─▶ bpf/syscalls.bpf.c ─┬─▶ totals by thread, call and end ── once a second ─▶ syscall.totals
//!                                                   └─▶ calls from MIN_NS on, user stack ── ring buffers ─▶ syscall
//! ```
//!
//! A file is named in the kernel at the time at which the call returns: a descriptor may stand
//! for another file shortly afterwards. Calls in which a thread waits by choice (futex, epoll,
//! sleeping) are only counted: the scheduler's spans show those waits already, with their
//! stacks.
//!
//! Calls that are not over when the recording ends are written with their time so far, of what the
//! kernel still knows of them: a program walks over all threads then. Of those, a `poll` of a
//! socket is left to the scheduler's spans.
//!
//! Of threads that live for milliseconds, by the thousand, the kernel keeps no entries of their
//! own: their calls are written as those of the threads of their process that have ended.
//!
//! What cannot be seen: what goes around system calls (io_uring, mapped files, the vdso's clocks).

mod arguments;
mod calls;
mod event;
mod figures;
mod totals;

pub use calls::check_name;

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io::Read;
use std::os::unix::fs::FileExt;
use std::time::{Duration, Instant};

use fathom_recording::quantity;
use fathom_recording::vocabulary::kind;
use fathom_recording::{SpanRow, StackId};
use libbpf_rs::{Iter, Link, MapCore, MapFlags};
use syscalls::Sysno;

use crate::bpf::attached::attached;
use crate::bpf::dispatcher::{EVERY, Hook, Registered};
use crate::bpf::kit::Loaded;
use crate::bpf::object::skeleton;
use crate::bpf::record::{self, split};
use crate::bpf::unavailable;
use crate::clock::monotonic_ns;
use crate::dns_queries::DnsQuery;
use crate::event_stacks::Events;
use crate::procfs;
use crate::target::Change;
use crate::unwind::asleep;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable};
use event::{Event, Kind};
use figures::Attributes;
use totals::Totals;

skeleton!("syscalls");
use skeleton::types::{call_limit, call_loss, loss};
use skeleton::{SyscallsSkel, SyscallsSkelBuilder};

attached!(SyscallsSkel, SyscallsMaps, SyscallsLinks: entries, runs, since, targets, totals);

/// What cannot be seen without it.
const WHAT: &str = "system calls";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::SYSCALLS,
    about: "system calls: all counted by thread, long ones with file or peer, error and stack",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder, Service::Dispatcher],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Syscalls::default()),
};

/// Calls of at least this length are reported one by one, nanoseconds, unless the settings say
/// otherwise.
const MIN_NS: u64 = 1_000_000;
/// Calls recorded with a stack, per second per CPU: an unwind takes some ten microseconds, so that
/// they are at most 2% of it.
const MOST_STACKS: u32 = 2_000;
/// Calls reported, per second per CPU.
const MOST_REPORTED: u32 = 20_000;
/// Calls of a thread within `HOT_INTERVAL_NS`, 100 ms, above which not all of them are timed.
const HOT_CALLS: u32 = 10_000;
/// Events taken in one round; what is left waits in the kernel's buffer.
const MOST_EVENTS: usize = 100_000;
/// How often the totals are written.
const INTERVAL: Duration = Duration::from_secs(1);
/// How often when there are many of them: a recording of days must not consist of them.
const LONG_INTERVAL: Duration = Duration::from_secs(10);
/// Rows of an interval from which on they are written less often.
const MANY_ROWS: usize = 2_000;
/// Threads that ended in an interval, of some ten entries each, after which totals are written
/// sooner, and how soon: those of a program whose threads live for milliseconds are written by
/// process from so many on (`bpf/call_folds.h`), and those of a thousand children one by one.
const MANY_ENDED: usize = 1_000;
const SHORT_INTERVAL: Duration = Duration::from_millis(500);
/// Bytes of a path that is read from a thread's memory.
const MOST_PATH: usize = 256;
/// How long the ports that a process listens on are taken for known, and of how many processes at
/// most.
const LISTENING_FOR: Duration = Duration::from_secs(10);
const MOST_LISTENERS: usize = 1024;
/// Calls with a number below this are counted each by itself.
const NUMBERS: u16 = call_limit::MOST_CALLS.0 as u16;

/// Whether long calls of a name are reported one by one, and not only counted; `None`: there is no
/// such call.
pub(crate) fn is_reported(name: &str) -> Option<bool> {
    calls::number(name).map(|number| calls::shape(number, None).report != calls::Report::Never as u8)
}

/// The names of all calls.
pub(crate) fn names() -> Vec<String> {
    (0..NUMBERS).filter(|number| Sysno::new(usize::from(*number)).is_some()).map(calls::name).collect()
}

/// The collector.
#[derive(Default)]
struct Syscalls {
    registered: Vec<Registered>,
    loaded: Option<Attached>,
    events: Option<Events<Event>>,
    totals: Totals,
    /// Threads that have ended since the totals were written.
    ended: HashMap<u32, String>,
    next_totals: Option<Instant>,
    wrote_totals: Option<Instant>,
    /// Ports that processes listen on, and when that was read.
    listening: HashMap<i32, (Instant, HashSet<u16>)>,
}

impl Collector for Syscalls {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let load = |walks| load(cx, walks);
        let (loaded, cannot_walk) = match load(true) {
            Ok(loaded) => (Ok(loaded), None),
            Err(why) => (load(false), Some(why)),
        };
        let mut loaded = loaded?;
        if let Some(why) = cannot_walk {
            cx.unseen(Unavailable {
                what: "system calls that had not ended with the recording".into(),
                ..why
            });
        }
        let wanted: Vec<u16> = cx.settings.syscalls.iter().filter_map(|name| calls::number(name)).collect();
        let wanted = (!cx.settings.syscalls.is_empty()).then_some(wanted);
        for number in 0..NUMBERS {
            let shape = calls::shape(number, wanted.as_deref());
            record::put(&loaded.skel.maps.shapes, &u32::from(number), &shape)
                .map_err(loaded.failed("telling the calls to"))?;
        }
        let parse = |bytes: &[u8]| split(bytes).and_then(|(event, text)| Event::of(&event, text));
        self.events = Some(Events::of(&loaded, parse, MOST_EVENTS, cx)?);
        self.registered = loaded.attach()?;
        self.totals.begin(&loaded.skel.maps.entries, cx.clock.epoch_now_ns());
        self.loaded = Some(loaded.keep(Attached::of)?);
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        let key = pid.cast_unsigned().to_ne_bytes();
        let Some(maps) = self.loaded.as_ref().map(|loaded| &loaded.maps) else { return };
        match event.change {
            Change::Appeared | Change::Exec | Change::BecameJvm => {
                let now_ns = monotonic_ns().max(0).cast_unsigned();
                let entered = maps.since.update(&key, &now_ns.to_ne_bytes(), MapFlags::NO_EXIST);
                let is_seen = event.mark(&maps.targets);
                let exists = maps.since.lookup(&key, MapFlags::ANY).ok().flatten().is_some();
                if !is_seen || (entered.is_err() && !exists) {
                    cx.unseen(Unavailable {
                        scope: None,
                        what: format!("system calls of process {pid}"),
                        why: "as many processes as can be watched are watched already".into(),
                        remedy: "record fewer processes".into(),
                    });
                }
            }
            Change::Gone => {
                event.mark(&maps.targets);
                let _ = maps.since.delete(&key);
            }
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.take_events(cx);
        let now = Instant::now();
        // The kernel's room is for threads that live: where hundreds end, it is given back sooner.
        let rests = || self.wrote_totals.is_some_and(|wrote| now.duration_since(wrote) < SHORT_INTERVAL);
        let is_due = |next: Instant| now >= next || (self.ended.len() >= MANY_ENDED && !rests());
        if self.next_totals.is_none_or(is_due) {
            let rows = self.write_totals(cx);
            self.wrote_totals = Some(now);
            self.next_totals = Some(now + if rows > MANY_ROWS { LONG_INTERVAL } else { INTERVAL });
        }
        Ok(())
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        self.write_totals(cx);
    }

    fn write_unfinished(&mut self, cx: &mut Context<'_>) {
        let loaded = self.loaded.as_mut();
        let Some(walk) = loaded.and_then(|loaded| loaded.links.each_task.take()) else { return };
        self.take_events(cx);
        self.walk(&walk, cx);
        if let Some(loaded) = &mut self.loaded {
            loaded.links.each_task = Some(walk);
        }
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        let walk = self.loaded.as_mut().and_then(|loaded| {
            let walk = loaded.links.each_task.take();
            // What ends from here on would be written twice.
            self.registered.clear();
            loaded.links = skeleton::SyscallsLinks::default();
            totals::add_kept(&loaded.maps.runs, &loaded.maps.totals);
            walk
        });
        self.take_events(cx);
        if let Some(walk) = walk {
            self.walk(&walk, cx);
        }
        self.write_totals(cx);
        self.report_limits(cx);
        (self.events, self.loaded) = (None, None);
    }
}

impl Syscalls {
    /// Has the kernel's program look at all threads, and writes the calls that it finds.
    fn walk(&mut self, walk: &Link, cx: &mut Context<'_>) {
        // It writes to the ring buffer, and nothing to be read here.
        let walked = Iter::new(walk).and_then(|mut walk| Ok(walk.read(&mut [0; 64])?));
        if let Err(error) = walked {
            cx.unseen(unavailable("system calls that had not ended with the recording", "walking", &error));
        }
        self.take_events(cx);
    }

    fn take_events(&mut self, cx: &mut Context<'_>) {
        let mut events = self.events.as_mut().map(Events::take).unwrap_or_default();
        let unfinished: Vec<Event> = events.extract_if(.., |event| event.unfinished).collect();
        self.write_all_unfinished(&unfinished, cx);
        for event in &events {
            match event.kind {
                Kind::Call => {
                    let stack = self.stack(event, cx);
                    self.write(event, stack, cx);
                }
                Kind::ThreadEnded => {
                    self.ended.insert(event.tid, event.comm.clone());
                }
            }
        }
        cx.source_mut().lost += self.events.as_mut().map_or(0, Events::lost);
    }

    /// How many rows of threads that live there were: those of threads that have ended come once,
    /// however long an interval is.
    fn write_totals(&mut self, cx: &mut Context<'_>) -> usize {
        let Some(loaded) = &self.loaded else { return 0 };
        let maps = &loaded.maps;
        let (rows, of_living) = self.totals.write((&maps.totals, &maps.entries), &self.ended, cx);
        self.ended.clear();
        cx.source_mut().records += rows as u64;
        of_living
    }

    /// Calls of threads that hang in them. Nobody walks those in the kernel: their stacks are read
    /// from outside.
    fn write_all_unfinished(&mut self, events: &[Event], cx: &mut Context<'_>) {
        let mut by_process: HashMap<i32, HashSet<u32>> = HashMap::new();
        for event in events {
            by_process.entry(event.pid.cast_signed()).or_default().insert(event.tid);
        }
        let mut java: HashMap<u32, StackId> = HashMap::new();
        if let Some(unwinder) = cx.services.unwinder().cloned() {
            let mut unwinder = unwinder.borrow_mut();
            java.extend(by_process.iter().flat_map(|(pid, tids)| unwinder.asleep(*pid, tids, cx.sink)));
        }
        let ended_ns = cx.ends_ns();
        for event in events {
            let stack = asleep::kernel_stack(event.tid, java.get(&event.tid).copied(), cx.sink);
            let path = event.path.clone().or_else(|| path_argument(event));
            let exit_ns = event.exit_ns.min(ended_ns).max(event.enter_ns);
            self.write(&Event { path, exit_ns, ..event.clone() }, stack, cx);
        }
    }

    fn write(&mut self, event: &Event, stack: Option<StackId>, cx: &mut Context<'_>) {
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let process = cx.process(pid);
        let thread = cx.thread_called(pid, tid, &event.comm);
        let accepted = event.ends.own().is_some_and(|own| self.listens_on(pid, own.port()));
        let attributes = Attributes::of(event, accepted);
        if let Some(query) = dns_query(event).filter(|_| !event.unfinished) {
            cx.services.dns_queries.add(event.tid, query);
        }
        cx.sink.span(&SpanRow {
            thread: Some(thread),
            stack,
            figures: &attributes.figures,
            labels: &attributes.labels.iter().map(|(key, text)| (*key, text.as_str())).collect::<Vec<_>>(),
            ..SpanRow::new(
                kind::SYSCALL,
                &calls::name(event.number),
                (
                    cx.clock.epoch_ns(event.enter_ns.cast_signed()),
                    cx.clock.epoch_ns(event.exit_ns.cast_signed()),
                ),
                process,
                cx.source,
            )
        });
        cx.source_mut().records += 1;
    }

    /// Whether a process listens on a port, as it was seconds ago.
    fn listens_on(&mut self, pid: i32, port: u16) -> bool {
        if self.listening.len() > MOST_LISTENERS {
            self.listening.clear();
        }
        let now = Instant::now();
        let read = || (now, procfs::listening::ports(pid));
        let (at, ports) = self.listening.entry(pid).or_insert_with(read);
        if now.duration_since(*at) > LISTENING_FOR {
            (*at, *ports) = read();
        }
        ports.contains(&port)
    }

    fn stack(&mut self, event: &Event, cx: &mut Context<'_>) -> Option<StackId> {
        self.events.as_mut()?.stack((event.pid, event.tid), event.stack_ns, cx)
    }

    /// Says what was left out because there was too much of it.
    fn report_limits(&mut self, cx: &mut Context<'_>) {
        let of = |kind: u32| self.events.as_ref().map_or(0, |events| events.left_out(kind));
        let untimed = self.totals.untimed();
        let most = "fathom record --min with a longer time";
        let limits = [
            (
                of(loss::LOST_ENTRY.0),
                "system calls in the totals",
                "there are as many threads and calls as can be counted",
            ),
            (
                of(call_loss::UNREPORTED_CALL.0),
                "long system calls one by one; they are in the totals",
                "there were too many a second",
            ),
            (
                untimed,
                "system calls' times; those that outlasted two ticks of the kernel are reported all the same",
                "their threads made more than 100,000 calls a second, of which some 5,000 were timed",
            ),
            (
                of(call_loss::CALL_WITHOUT_STACK.0),
                "stacks of long system calls",
                "there were too many a second",
            ),
        ];
        for (n, what, why) in limits.into_iter().filter(|(n, ..)| *n > 0) {
            cx.unseen(Unavailable {
                scope: None,
                what: format!("{} {what}", quantity::count(n as f64)),
                why: why.to_owned(),
                remedy: most.to_owned(),
            });
        }
    }
}

/// A wait for an answer of a resolver, seen as the long `poll` of one socket to its port.
fn dns_query(event: &Event) -> Option<DnsQuery> {
    let polls = calls::find(event.number).is_some_and(|call| call.polls);
    let server = event.ends.peer("").filter(|peer| polls && peer.ends_with(":53"))?;
    Some(DnsQuery { waited_ns: (event.enter_ns, event.exit_ns), server, timed_out: event.result == 0 })
}

/// The file that a call that hangs names in the memory of its thread.
fn path_argument(event: &Event) -> Option<String> {
    let at = event.arguments.get(calls::find(event.number)?.path?).copied()?;
    let memory = File::open(procfs::path(event.pid.cast_signed(), "mem")).ok()?;
    let mut bytes = [0; MOST_PATH];
    let read = memory.read_at(&mut bytes, at).ok()?;
    let path = bytes.get(..read)?.split(|byte| *byte == 0).next().filter(|path| !path.is_empty())?;
    Some(String::from_utf8_lossy(path).into_owned())
}

/// Errors that the kernel keeps to itself (include/linux/errno.h): the call was interrupted and is
/// made again, or returns EINTR.
fn restarts(number: i32) -> String {
    match number {
        512 => "ERESTARTSYS".to_owned(),
        513 => "ERESTARTNOINTR".to_owned(),
        514 => "ERESTARTNOHAND".to_owned(),
        516 => "ERESTART_RESTARTBLOCK".to_owned(),
        other => format!("error {other}"),
    }
}

/// Loads the programs. `walks`: with the one that looks at all threads.
fn load(cx: &Context<'_>, walks: bool) -> Result<Loaded<SyscallsSkel<'static>>, Unavailable> {
    let settings = cx.settings;
    // First the way out: a call that nobody has seen begin is not counted.
    let mut open = cx
        .kit(&ENTRY, WHAT)
        .hooked("on_sys_exit", Hook::Out, &[EVERY])
        .hooked("on_sys_enter", Hook::In, &[EVERY])
        .open(SyscallsSkelBuilder::default())?;
    open.skel.progs.each_task.set_autoload(walks);
    // Whoever asks for short calls one by one wants each of them.
    let each = settings.min_ns.is_some_and(|min| min < MIN_NS) || !settings.syscalls.is_empty();
    let config = &mut open.constants().config;
    config.min_ns = settings.min_ns.unwrap_or(MIN_NS);
    config.most_stacks = MOST_STACKS;
    config.most_events = MOST_REPORTED;
    config.hot_calls = if each { u32::MAX } else { HOT_CALLS };
    open.load()
}
