//! What a collector is, and what it works with.

use std::os::fd::BorrowedFd;

use fathom_recording::{ProcessId, Sink, Source, SourceId, ThreadId};

use crate::bpf::kit::Kit;
use crate::capture_engine::CaptureEngine;
use crate::clock::monotonic_ns;
use crate::services::{Service, Services};
use crate::settings::Settings;
use crate::unwind::share_tables;
use crate::{Clock, TargetEvent, Targets, Unavailable, WrittenFile};

/// A source of live data. One module, one line in [`COLLECTORS`](crate::COLLECTORS).
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
    pub engine: CaptureEngine,
    /// What it needs of the session.
    pub needs: &'static [Service],
    /// Whether a recording is worth having when this is all that works: it shows what the target
    /// itself does.
    pub essential: bool,
    /// Whether it runs without being asked for by `--with`.
    pub default: bool,
    /// When it starts and stops among the others.
    pub order: Order,
    /// Makes one.
    pub make: fn(&Settings) -> Box<dyn Collector>,
}

impl Entry {
    /// Whether it is to run with an engine.
    pub(crate) fn is_wanted(&self, settings: &Settings, engine: CaptureEngine) -> bool {
        let named = |list: &[String]| list.iter().any(|id| id == self.id);
        let engine_fits = self.engine == CaptureEngine::Any || self.engine == engine;
        engine_fits && (self.default || named(&settings.with)) && !named(&settings.without)
    }
}

/// When a collector starts and stops: in the order of the list unless it says otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// In the order of the list.
    Listed,
    /// Starts before all others: what is there already runs on while the rest is made ready.
    StartsFirst,
    /// Stops after all others: the kernel takes up to a second for it.
    StopsLast,
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
    /// What the session offers to its collectors.
    pub services: &'a mut Services,
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
        self.services.ended_ns.unwrap_or_else(|| monotonic_ns().max(0).cast_unsigned())
    }

    /// For the object of a collector: with what the collector needs of the session.
    pub(crate) fn kit(&self, entry: &Entry, what: &'static str) -> Kit<'_> {
        let needs = |service| entry.needs.contains(&service);
        let unwinder = needs(Service::Unwinder).then(|| self.services.unwinder()).flatten();
        let targets = self.targets.map();
        let mut kit = Kit::alone(what)
            .sees_all(self.targets.selection().is_whole_host())
            .shares(move |object| share_tables(object, unwinder, targets));
        if needs(Service::Interrupts) {
            kit = kit.sees_interrupts(self.services.interrupts().ok());
        }
        if needs(Service::Dispatcher) {
            kit = kit.reached_by(self.services.dispatcher());
        }
        kit
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
