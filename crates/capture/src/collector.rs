//! What a collector is, and the one list of them.

use std::cell::OnceCell;
use std::os::fd::BorrowedFd;
use std::rc::Rc;

use fathom_recording::{ProcessId, Sink, Source, SourceId, ThreadId, Unseen};

use crate::bpf::dispatcher::Dispatcher;
use crate::bpf::interrupts::Interrupts;
use crate::clock::monotonic_ns;
use crate::cpu::CpuEvent;
use crate::{Clock, TargetEvent, Targets, WrittenFile};

/// Something that could not be seen, and what would let it be seen. A value that is in the
/// recording, no error.
pub type Unavailable = Unseen;

/// A source of live data. One module, one line in [`COLLECTORS`].
///
/// Life of one: `start`, then `target` for every process that is there already, then `left`,
/// `target` and `drain` alternately (some ten times a second, and whenever [`Collector::wake`] is
/// readable), then `stop`. All on one thread; one that needs threads of its own ends them in `stop`
/// and in its `Drop`.
///
/// Whatever it changes in the system must be tied to this process' life (file descriptors), so that
/// a kill of fathom leaves nothing behind. Its memory and CPU must be bounded, its losses counted
/// in its source.
pub trait Collector {
    /// Makes ready, attaches what does not depend on a target. `Err`: it cannot work here; nothing
    /// is attached.
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable>;

    /// The recording begins: what was seen and summed up until now is not of it. Everything is
    /// attached.
    fn begin(&mut self, _cx: &mut Context<'_>) {}

    /// A target is gone or another program by now: writes what is still on its way of what it was,
    /// whose code is forgotten when this returns. Before [`Collector::target`] hears of it.
    fn left(&mut self, _event: &TargetEvent, _cx: &mut Context<'_>) {}

    /// A target came, changed or went.
    fn target(&mut self, _event: &TargetEvent, _cx: &mut Context<'_>) {}

    /// Writes what came in since the last time. `Err`: it broke down and is not called again but
    /// for `stop`.
    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable>;

    /// Writes what has not ended as if it ended now, and goes on: it will be written again when it
    /// has. For an excerpt of a recording that goes on.
    fn write_unfinished(&mut self, _cx: &mut Context<'_>) {}

    /// Takes so many samples per second per CPU from now on, where it takes any at a rate; 0:
    /// none.
    fn set_rate(&mut self, _hz: u32, _cx: &mut Context<'_>) {}

    /// Detaches everything, then writes what is left. Also called when `drain` has failed, never
    /// when `start` has.
    fn stop(&mut self, cx: &mut Context<'_>);

    /// Files that are to be read into the recording behind it, of JVMs that it saw. Asked for once,
    /// behind `stop`.
    fn leave(&mut self) -> Vec<WrittenFile> {
        Vec::new()
    }

    /// A descriptor that is readable when `drain` should not wait for the next round.
    fn wake(&self) -> Option<BorrowedFd<'_>> {
        None
    }
}

/// A collector in the list.
pub struct Entry {
    /// Its id, for `--with` and `--without`, and the format of its source.
    pub id: &'static str,
    /// What it sees, one line for the help.
    pub about: &'static str,
    /// Which engine it belongs to.
    pub engine: Engine,
    /// Whether a recording is worth having when this is all that works: it shows what the target
    /// itself does.
    pub essential: bool,
    /// Whether it runs without being asked for by `--with`.
    pub default: bool,
    /// Makes one.
    pub make: fn(&Settings) -> Box<dyn Collector>,
}

/// The way in which a JVM's own doings are seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Engine {
    /// Needs none: reads what the kernel and the JVM publish.
    Any,
    /// eBPF programs: root, or CAP_BPF and CAP_PERFMON.
    Ebpf,
    /// The JVM's flight recorder, switched on through the attach protocol: the same user as the
    /// JVM.
    Jfr,
}

/// All collectors, in the order in which they hear of targets: the probes of a JVM that has just
/// begun come first, even before its stacks are made ready, which takes longer. They start in this
/// order too, but for `cpu`, which is the first.
pub static COLLECTORS: &[Entry] = &[
    crate::jvm_events::ENTRY,
    crate::cpu::ENTRY,
    crate::jfr::ENTRY,
    crate::jvm_counters::ENTRY,
    crate::sched::ENTRY,
    crate::locks::ENTRY,
    crate::syscalls::ENTRY,
    crate::memory::ENTRY,
    crate::disk::ENTRY,
    crate::network::ENTRY,
    crate::requests::ENTRY,
    crate::probes::ENTRY,
    crate::host::ENTRY,
];

/// What a user may ask of all collectors.
#[derive(Clone, Debug)]
pub struct Settings {
    /// CPU samples per second per CPU.
    pub frequency_hz: u32,
    /// What takes them.
    pub cpu_event: CpuEvent,
    /// Waits, system calls and faults of at least this length are reported one by one,
    /// nanoseconds; `None`: each collector's own default.
    pub min_ns: Option<u64>,
    /// Waits of at least this length are reported one by one however many there are
    /// (`bpf/pace.h`), nanoseconds.
    pub always_ns: u64,
    /// System calls that are reported one by one, by name, also those in which a thread waits by
    /// choice (futex, epoll_wait); empty: all others.
    pub syscalls: Vec<String>,
    /// Functions, USDT probes and tracepoints that are asked for; seen by the collector `probes`.
    pub probes: Vec<crate::probes::Spec>,
    /// Calls of those functions of at least this length are reported, nanoseconds; `None`: as
    /// `min_ns`, or all.
    pub probes_min_ns: Option<u64>,
    /// Engine to use; `None`: the best that works here.
    pub engine: Option<Engine>,
    /// Ids of collectors in addition to those that run by default.
    pub with: Vec<String>,
    /// Ids of collectors that are to be left out.
    pub without: Vec<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            frequency_hz: 99,
            cpu_event: CpuEvent::CpuClock,
            min_ns: None,
            always_ns: 1_000_000_000,
            syscalls: Vec::new(),
            probes: Vec::new(),
            probes_min_ns: None,
            engine: None,
            with: Vec::new(),
            without: Vec::new(),
        }
    }
}

impl Settings {
    /// Whether a collector is to run with an engine.
    pub(crate) fn wants(&self, entry: &Entry, engine: Engine) -> bool {
        let named = |list: &[String]| list.iter().any(|id| id == entry.id);
        let engine_fits = entry.engine == Engine::Any || entry.engine == engine;
        engine_fits && (entry.default || named(&self.with)) && !named(&self.without)
    }
}

/// What the collectors of a session have in common. Each part is made by the first that needs it.
#[derive(Default)]
pub struct Shared {
    /// Tables and names for stacks, kept by the session; `None` where no collector takes any.
    pub stacks: Option<crate::unwind::SharedEngine>,
    /// When the recording ended, monotonic nanoseconds: collectors are stopped one after the other.
    pub(crate) ended_ns: Option<u64>,
    /// What threads asked of resolvers, seen by `syscalls`.
    pub(crate) dns_queries: crate::dns_queries::DnsQueries,
    /// Starts of threads, of which `sched` and `jvm-events` see a part each. Written by `sched`.
    pub(crate) starts: crate::starts::Starts,
    /// See [`Shared::dispatcher`].
    dispatcher: OnceCell<Option<Rc<Dispatcher>>>,
    /// See [`Shared::interrupts`].
    interrupts: OnceCell<Result<Rc<Interrupts>, Unavailable>>,
}

impl Shared {
    /// The programs on the tracepoints of system calls and switches; `None` where they cannot be
    /// loaded, and each collector attaches its own.
    pub(crate) fn dispatcher(&self) -> Option<Rc<Dispatcher>> {
        self.dispatcher.get_or_init(|| Dispatcher::load().ok()).clone()
    }

    /// What interrupts CPUs; `Err` where that cannot be seen, and whoever is interrupted
    /// passes for the waker.
    pub(crate) fn interrupts(&self) -> &Result<Rc<Interrupts>, Unavailable> {
        self.interrupts.get_or_init(Interrupts::start)
    }
}

/// What a collector works with.
pub struct Context<'a> {
    /// Where it writes. Times are on the recording's clock: see [`Context::clock`].
    pub sink: &'a mut dyn Sink,
    /// Its source in the recording; made by the session.
    pub source: SourceId,
    /// The processes that are recorded.
    pub targets: &'a mut Targets,
    /// Monotonic time onto the recording's clock.
    pub clock: Clock,
    /// What the user asked for.
    pub settings: &'a Settings,
    /// What collectors have in common.
    pub shared: &'a mut Shared,
}

impl Context<'_> {
    /// Its source, whose counters (`records`, `lost`, `skipped`) it keeps up to date.
    pub fn source_mut(&mut self) -> &mut Source {
        self.sink.source_mut(self.source)
    }

    /// Says that something cannot be seen while the rest goes on. The same thing said twice stands
    /// there once.
    pub fn unseen(&mut self, unseen: Unavailable) {
        let list = &mut self.source_mut().unseen;
        if !list.contains(&unseen) && list.len() < MAX_UNSEEN {
            list.push(unseen);
        }
    }

    /// Until when what has not ended is written, monotonic nanoseconds: now, or when the watch of
    /// threads ended. Collectors are stopped one after the other, and a wait must not outlast the
    /// watch of its thread.
    pub(crate) fn ends_ns(&self) -> u64 {
        self.shared.ended_ns.unwrap_or_else(|| monotonic_ns().max(0).cast_unsigned())
    }

    /// The recording's row of a thread of a process.
    pub fn thread(&mut self, pid: i32, tid: i32) -> ThreadId {
        self.targets.thread(pid, tid, self.sink)
    }

    /// The same, with the name that the kernel had for it when it was seen: it may be gone by now.
    pub fn thread_called(&mut self, pid: i32, tid: i32, comm: &str) -> ThreadId {
        self.targets.thread_called(pid, tid, comm, self.sink)
    }

    /// The recording's row of a process, which is made when there is none: a sample of the whole
    /// host may come from a process that nobody has looked at yet.
    pub fn process(&mut self, pid: i32) -> ProcessId {
        self.targets.process(pid, self.sink)
    }
}

/// Blind spots that one source may list: a host with thousands of JVMs must not fill the recording
/// with them.
pub(crate) const MAX_UNSEEN: usize = 64;
