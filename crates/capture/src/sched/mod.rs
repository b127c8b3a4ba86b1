//! The scheduler: when each thread of the targets was off a CPU, why, and for how long it waited to
//! get one.
//!
//! `bpf/sched.bpf.c` sums up in the kernel; here waits become rows: those from [`MIN_NS`] on a span
//! each ([`kind::SCHED_OFF`]), shorter ones samples that stand for all of them since the last. A
//! thread's [`kind::SCHED_WATCHED`] says from when to when nothing of it was missed, so that what
//! is not waiting was running. Starts of a JVM's threads are put together from what the program
//! sees of them and what the JVM's probes report ([`crate::starts`]): [`kind::THREAD_STARTUP`].

mod at_end;
mod contexts;
mod event;
mod losses;
mod short;
mod start_event;
mod starts;
mod wakers;

use std::collections::{HashMap, HashSet};

use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{FrameType, ProcessId, SpanRow, StackId, ThreadId};
use libbpf_rs::{MapCore, MapFlags};
use syscalls::Sysno;
use zerocopy::IntoBytes;

use crate::bpf::attached::attached;
use crate::bpf::dispatcher::{Hook, Registered, SWITCH_WAITS, WAITS};
use crate::bpf::object::skeleton;
use crate::bpf::record::read;
use crate::bpf::ring::Ring;
use crate::clock::monotonic_ns;
use crate::event_stacks::Events;
use crate::kernel_symbols::KernelSymbols;
use crate::procfs::Stat;
use crate::target::Change;
use crate::thread_context::{Seen, SpanTexts};
use crate::{
    CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable, jvm_events,
    procfs,
};
use event::{Event, asleep_since, syscall_name};
use short::Unplaced;
use start_event::{Part, StartEvent};
use starts::{write_start, write_starts};
use wakers::Wakers;

skeleton!("sched");
use skeleton::SchedSkelBuilder;
use skeleton::types::thread;

attached!(SchedSkel, SchedMaps, SchedLinks: targets, threads);

/// What cannot be seen without it.
const WHAT: &str = "what threads wait for";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::SCHED,
    about: "every switch of the targets' threads: what they waited for, how long for a CPU, who woke them; their starts",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder, Service::Dispatcher, Service::Interrupts],
    essential: true,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Sched::default()),
};

/// Waits of at least this length are reported one by one, nanoseconds, unless the settings say
/// otherwise. Shorter ones are reported once they add up to it, so that a thread that switches a
/// million times a second sends at most a thousand events; and where waits are many, the length
/// grows (`bpf/pace.h`).
const MIN_NS: u64 = 1_000_000;
/// Who ran instead is reported of waits for a CPU of at least this length: shorter ones are the
/// time that a switch takes.
const INSTEAD_NS: u64 = 100_000;
/// Switches not seen that are reported: more than one in so many waits.
const MISSED_ONE_IN: u64 = 1000;
/// Waits within one call that are kept for its stack.
const MOST_WITHIN_A_CALL: usize = 64;
/// Events taken in one turn; what is left waits in the kernel's buffer.
const MOST_EVENTS: usize = 200_000;

/// A thread that is watched.
struct Watched {
    pid: u32,
    process: ProcessId,
    thread: ThreadId,
    /// Monotonic time from which on nothing of it was missed.
    since_ns: u64,
    /// Last time it was reported to have run.
    last_ns: u64,
    /// Times it was moved to another CPU.
    migrations: u64,
    /// Short waits whose place is not known yet.
    unplaced: Unplaced,
    /// Waits within a call that has not returned, before the last one of it.
    within_call: Vec<Event>,
}

impl Watched {
    /// A thread of which nothing is known before a timestamp.
    fn since(since_ns: u64, pid: u32, process: ProcessId, thread: ThreadId) -> Self {
        let (unplaced, within_call) = (Unplaced::default(), Vec::new());
        Self { pid, process, thread, since_ns, last_ns: since_ns, migrations: 0, unplaced, within_call }
    }

    /// The same thread, watched anew from a timestamp on.
    fn anew(&self, since_ns: u64) -> Self {
        Self::since(since_ns, self.pid, self.process, self.thread)
    }
}

/// The collector.
#[derive(Default)]
struct Sched {
    registered: Vec<Registered>,
    loaded: Option<Attached>,
    events: Option<Events<Event>>,
    /// Parts of starts of threads, where those are reported.
    starts: Option<Ring<StartEvent>>,
    threads: HashMap<u32, Watched>,
    wakers: Wakers,
    /// Parts of starts lost so far.
    lost_starts: u64,
    /// Switches that were not seen before the recording began: CPUs reach the programs one
    /// after the other.
    missed_before: u64,
    attached_ns: u64,
}

impl Collector for Sched {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        // Those of a JVM, which is known for one where its own events are seen.
        let with_starts = jvm_events::ENTRY.is_wanted(cx.settings, CaptureEngine::Ebpf);
        let making = [Sysno::clone, Sysno::clone3].map(|call| call.id().cast_unsigned());
        // Calls that make threads come by a slot of their own: those of a hot thread may be counted
        // before the other.
        let mut kit = cx
            .kit(&ENTRY, WHAT)
            .hooked("on_sys_exit", Hook::Out, &[WAITS, making[0], making[1]])
            .hooked("on_waking", Hook::Wakeup, &[SWITCH_WAITS])
            .hooked("on_switch", Hook::Switch, &[SWITCH_WAITS]);
        if with_starts {
            kit = kit.hooked("on_clone_enter", Hook::In, &making);
        }
        let mut open = kit.open(SchedSkelBuilder::default())?;
        open.skel.progs.on_clone_enter.set_autoload(with_starts);
        let constants = open.constants();
        constants.config.min_ns = cx.settings.min_ns.unwrap_or(MIN_NS);
        constants.config.starts = u64::from(with_starts);
        constants.always_ns = cx.settings.always_ns;
        let mut loaded = open.load()?;
        match cx.services.interrupts() {
            Ok(interrupts) => interrupts.unseen().iter().for_each(|unseen| cx.unseen(unseen.clone())),
            Err(why) => cx.unseen(why),
        }
        self.attached_ns = monotonic_ns().max(0).cast_unsigned();
        self.events = Some(Events::of(&loaded, |bytes| Some(Event::of(&read(bytes)?)), MOST_EVENTS, cx)?);
        self.registered = loaded.attach()?;
        if with_starts {
            self.starts = Some(loaded.ring("starts", |bytes| StartEvent::of(&read(bytes)?), MOST_EVENTS)?);
            cx.services.starts.are_wanted = true;
        }
        self.loaded = Some(loaded.keep(Attached::of)?);
        if KernelSymbols::are_hidden() {
            cx.unseen(Unavailable {
                scope: None,
                what: "functions of the kernel by name".into(),
                why: "/proc/kallsyms shows no addresses".into(),
                remedy: crate::check::SHOW_SYMBOLS.into(),
            });
        }
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid.cast_unsigned();
        if event.leaves() {
            // What is still on its way belongs to what the process was. What breaks down is
            // reported by the next turn.
            let _ = self.drain(cx);
            let last_ns = self.unwatch_process(pid, event.at_ns, cx);
            if let (Change::Exec, Some(last_ns)) = (event.change, last_ns) {
                self.watch(pid, pid, None, last_ns, cx);
            }
            let of_it = cx.services.starts.take_all(Some(pid), |_| event.target.jvm);
            of_it.iter().for_each(|start| write_start(start, &event.target, event.at_ns, cx));
        }
        let Some(loaded) = &self.loaded else { return };
        let is_seen = event.mark(&loaded.maps.targets);
        if event.change == Change::Gone {
            return;
        }
        if !is_seen {
            cx.unseen(Unavailable {
                scope: None,
                what: format!("waits of process {pid}"),
                why: "as many processes as can be watched are watched already".into(),
                remedy: "record fewer processes".into(),
            });
            return;
        }
        // Its threads are watched from now on, or from when they were made where that was seen.
        // One that sleeps has been off the CPU since before; the kernel's program knows only what
        // it has seen, so it is entered here. Where it has seen more meanwhile, that holds.
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let entry = asleep_since(now_ns);
        let mut since_ns: Vec<(u32, u64)> = Vec::new();
        for tid in procfs::tasks(event.target.pid) {
            let path = format!("/proc/{pid}/task/{tid}/stat");
            let state = procfs::read_to_string(path).and_then(|line| Some(Stat::parse(&line)?.state));
            let key = tid.to_ne_bytes();
            if state.is_some_and(|state| state != b'R') {
                let _ = loaded.maps.threads.update(&key, entry.as_bytes(), MapFlags::NO_EXIST);
            }
            let known = loaded.maps.threads.lookup(&key, MapFlags::ANY).ok().flatten();
            let made_ns = known.and_then(|bytes| Some(read::<thread>(&bytes)?.born_ns)).filter(|ns| *ns > 0);
            let since = made_ns.map_or(now_ns, |ns| ns.clamp(self.attached_ns.min(now_ns), now_ns));
            since_ns.push((tid.cast_unsigned(), since));
        }
        for (tid, since_ns) in since_ns {
            self.watch(pid, tid, None, since_ns, cx);
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        // Before the stacks, which come before what they belong to.
        let starts = self.starts.as_mut().map(Ring::take).unwrap_or_default();
        let events = self.events.as_mut().map(Events::take).unwrap_or_default();
        for event in &starts {
            self.take_start(event, cx);
        }
        for event in &events {
            self.take(event, cx);
        }
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let jvms: HashSet<u32> =
            cx.targets.iter().filter(|target| target.jvm).map(|target| target.pid.cast_unsigned()).collect();
        let complete = cx.services.starts.take(|pid| jvms.contains(&pid));
        write_starts(&complete, now_ns, cx);
        self.count_losses(cx);
        Ok(())
    }

    fn write_unfinished(&mut self, cx: &mut Context<'_>) {
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        self.unwatch_ended(cx);
        self.still_off(now_ns, cx);
        let threads = std::mem::take(&mut self.threads);
        for watched in threads.values() {
            let ends = (watched.since_ns, now_ns.max(watched.since_ns));
            self.write_within_call(watched, None, cx);
            short::write(watched, watched.unplaced.sums(), None, cx);
            self.span(kind::SCHED_WATCHED, "", watched, ends, None, &[], &[], cx);
        }
        self.threads = threads;
    }

    fn begin(&mut self, _cx: &mut Context<'_>) {
        self.missed_before = self.missed();
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        let now_ns = cx.ends_ns();
        self.report_missed(cx);
        // What breaks down now was reported when it did.
        let _ = self.drain(cx);
        self.unwatch_ended(cx);
        self.still_off(now_ns, cx);
        let left = cx.services.starts.take_all(None, |_| true);
        write_starts(&left, now_ns, cx);
        self.report_limits(cx);
        self.registered.clear();
        (self.events, self.starts, self.loaded) = (None, None, None);
        let left: Vec<u32> = self.threads.keys().copied().collect();
        for tid in left {
            self.unwatch(tid, now_ns, cx);
        }
    }
}

impl Sched {
    /// Watches a thread, unless it is watched already. `comm`: its name at the kernel, where that
    /// is known.
    fn watch(&mut self, pid: u32, tid: u32, comm: Option<&str>, since_ns: u64, cx: &mut Context<'_>) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let process = cx.process(pid.cast_signed());
        let thread = match comm {
            Some(comm) => cx.thread_called(pid.cast_signed(), tid.cast_signed(), comm),
            None => cx.thread(pid.cast_signed(), tid.cast_signed()),
        };
        self.threads.insert(tid, Watched::since(since_ns, pid, process, thread));
    }

    /// Ends the watch of all threads of a process that is gone, or is another program from
    /// `until_ns` on: those that are left of it belong to another row of the recording. Threads
    /// that were made since are of the new program, of which news may come late. Returns until when
    /// its first thread was watched.
    fn unwatch_process(&mut self, pid: u32, until_ns: u64, cx: &mut Context<'_>) -> Option<u64> {
        let is_of_it = |watched: &Watched| watched.pid == pid && watched.since_ns < until_ns;
        let of_it = self.threads.iter().filter(|(_, watched)| is_of_it(watched));
        let of_it: Vec<(u32, u64)> = of_it.map(|(tid, watched)| (*tid, watched.last_ns)).collect();
        let mut first = None;
        for (tid, last_ns) in of_it {
            let last_ns = until_ns.max(last_ns);
            self.unwatch(tid, last_ns, cx);
            if tid == pid {
                first = Some(last_ns);
                continue;
            }
            // Exec leaves the first thread alone, whatever its number was; what the program knows
            // of it goes on.
            if let Some(loaded) = &self.loaded {
                let _ = loaded.maps.threads.delete(&tid.to_ne_bytes());
            }
        }
        first
    }

    /// Ends the watch of a thread.
    fn unwatch(&mut self, tid: u32, until_ns: u64, cx: &mut Context<'_>) {
        let Some(mut watched) = self.threads.remove(&tid) else { return };
        self.write_within_call(&watched, None, cx);
        let unplaced = watched.unplaced.take();
        short::write(&watched, &unplaced, None, cx);
        let ends = (watched.since_ns, until_ns.max(watched.since_ns));
        let moved = [(figure::MIGRATIONS, watched.migrations as f64)];
        let moved = if watched.migrations > 0 { &moved[..] } else { &[] };
        self.span(kind::SCHED_WATCHED, "", &watched, ends, None, moved, &[], cx);
    }

    fn take(&mut self, event: &Event, cx: &mut Context<'_>) {
        // A thread that was made while recording: from then on; of another one that nothing has
        // reported, from its first wait on.
        let first_ns = [event.born_ns, event.off_ns, event.on_ns].into_iter().find(|ns| *ns > 0).unwrap_or(0);
        self.watch(event.pid, event.tid, Some(&event.comm), first_ns.max(self.attached_ns), cx);
        let Some(mut watched) = self.threads.remove(&event.tid) else { return };
        watched.last_ns = watched.last_ns.max(event.on_ns);
        watched.migrations += u64::from(event.migrations);
        let has_stacks = self.events.as_ref().is_some_and(Events::has_stacks);
        if has_stacks && event.is_within_call() && watched.within_call.len() < MOST_WITHIN_A_CALL {
            short::take(&mut watched, event, None, cx);
            watched.within_call.push(event.clone());
            self.threads.insert(event.tid, watched);
            cx.source_mut().records += event.waits();
            return;
        }
        self.write_within_call(&watched, Some(event), cx);
        watched.within_call.clear();
        let context = self.context(event);
        watched.take_in_context(event, context, cx);
        let stack = self.stack(event, cx);
        if event.off_ns > 0 && !event.is_missed() {
            self.write_wait(event, &watched, (stack, context), cx);
        }
        short::take(&mut watched, event, stack, cx);
        cx.source_mut().records += event.waits();
        let (tid, whose) = (event.tid, watched.whose());
        if event.is_missed() {
            let anew = watched.anew(event.on_ns);
            self.threads.insert(tid, watched);
            self.unwatch(tid, event.off_ns, cx);
            self.threads.insert(tid, anew);
            return;
        }
        self.threads.insert(tid, watched);
        if event.ended() {
            contexts::leave_all(whose, event.on_ns, cx);
            self.unwatch(tid, event.on_ns, cx);
            cx.services.starts.ended(tid, event.on_ns);
        }
    }

    /// Writes the waits within a call that has returned, or of which no more is known. They were
    /// called from where `last` was, which ended the call.
    fn write_within_call(&mut self, watched: &Watched, last: Option<&Event>, cx: &mut Context<'_>) {
        if watched.within_call.is_empty() {
            return;
        }
        let caller =
            last.and_then(|last| self.events.as_ref()?.caller((last.pid, last.tid), last.stack_ns, cx));
        let context = last.map_or(Seen::Unknown, |last| self.context(last));
        for event in &watched.within_call {
            let is_same = last.is_some_and(|last| last.syscall == event.syscall);
            let stack = kernel_stack(&event.kernel, caller.filter(|_| is_same), cx);
            let context = if is_same { context } else { Seen::Unknown };
            watched.take_in_context(event, context, cx);
            self.write_wait(event, watched, (stack, context), cx);
        }
    }

    fn write_wait(
        &mut self,
        event: &Event,
        watched: &Watched,
        (stack, context): (Option<StackId>, Seen),
        cx: &mut Context<'_>,
    ) {
        let waker = self.wakers.name(event.waker);
        let syscall = syscall_name(event.syscall);
        let mut labels: Vec<(&str, &str)> = Vec::new();
        labels.extend(syscall.map(|name| (label::SYSCALL, name)));
        labels.extend(waker.as_ref().map(|(label, name)| (*label, name.as_str())));
        let instead = (event.instead > 0 && event.runq_ns >= INSTEAD_NS)
            .then(|| format!("{} ({})", event.instead_comm, event.instead));
        labels.extend(instead.as_deref().map(|name| (label::RAN_INSTEAD, name)));
        let ids = context.ids().map(|ids| ids.texts());
        labels.extend(ids.iter().flat_map(SpanTexts::labels));
        let mut figures = vec![(figure::RUNQ_NS, event.runq_ns as f64)];
        let throttled_ns = event.throttled_ns;
        figures.extend((throttled_ns > 0).then_some((figure::THROTTLED_NS, throttled_ns as f64)));
        let ends = (event.off_ns.max(watched.since_ns), event.on_ns);
        self.span(kind::SCHED_OFF, event.state(), watched, ends, stack, &figures, &labels, cx);
    }

    fn take_start(&mut self, event: &StartEvent, cx: &mut Context<'_>) {
        cx.source_mut().records += 1;
        let of = event.of;
        match event.part {
            Part::Cloned { stack_ns, is_shared } => {
                let thread = (of.pid, of.parent);
                let events = self.events.as_mut();
                let stack = events.and_then(|events| match is_shared {
                    true => events.shared_stack(thread, stack_ns, cx),
                    false => events.stack(thread, stack_ns, cx),
                });
                cx.services.starts.cloned(of, event.ends_ns, stack);
            }
            Part::Ran => cx.services.starts.ran(of, event.ends_ns.1),
            Part::Waited => cx.services.starts.waited(of, event.ends_ns),
        }
    }

    fn stack(&mut self, event: &Event, cx: &mut Context<'_>) -> Option<StackId> {
        let of = (event.pid, event.tid);
        let whole = self.events.as_mut().and_then(|events| events.stack(of, event.stack_ns, cx));
        if whole.is_some() {
            return whole;
        }
        kernel_stack(&event.kernel, None, cx)
    }

    #[allow(clippy::too_many_arguments, reason = "the one place that writes spans")]
    fn span(
        &self,
        kind: &str,
        name: &str,
        watched: &Watched,
        (from_ns, to_ns): (u64, u64),
        stack: Option<StackId>,
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
        cx: &mut Context<'_>,
    ) {
        cx.sink.span(&SpanRow {
            kind,
            name,
            t0_ns: cx.clock.epoch_ns(from_ns.cast_signed()),
            t1_ns: cx.clock.epoch_ns(to_ns.cast_signed()),
            process: watched.process,
            thread: Some(watched.thread),
            stack,
            source: cx.source,
            line: 0,
            key: -1,
            parent: None,
            figures,
            labels,
        });
    }
}

/// A stack of addresses in the kernel, innermost first, upon what called the kernel.
fn kernel_stack(kernel: &[u64], caller: Option<StackId>, cx: &mut Context<'_>) -> Option<StackId> {
    if kernel.is_empty() {
        return caller;
    }
    let symbols = KernelSymbols::get();
    // Outermost first: callers before callees.
    let names = kernel.iter().rev().map(|pc| symbols.find(*pc));
    names.fold(caller, |caller, symbol| {
        let (name, module) = symbol.unwrap_or(("[unknown]", "kernel"));
        let frame = cx.sink.frame(name, module, FrameType::Kernel, -1);
        Some(cx.sink.stack(caller, frame))
    })
}
