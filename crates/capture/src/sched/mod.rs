//! The scheduler: when each thread of the targets was off a CPU, why, and for how long it waited to get one.
//!
//! `bpf/sched.bpf.c` sums up in the kernel; here waits become rows: those from [`MIN_NS`] on a span each
//! ([`kind::SCHED_OFF`]), shorter ones samples that stand for all of them since the last. A thread's [`kind::SCHED_WATCHED`]
//! says from when to when nothing of it was missed, so that what is not waiting was running.

mod event;
mod skeleton {
    #![allow(
        clippy::all,
        clippy::unwrap_used,
        missing_docs,
        dead_code,
        unsafe_op_in_unsafe_fn,
        reason = "generated"
    )]
    include!(concat!(env!("OUT_DIR"), "/sched.skel.rs"));
}

use std::cell::RefCell;
use std::collections::HashMap;
use std::mem::MaybeUninit;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::rc::Rc;

use fathom_recording::vocabulary::{figure, kind, label, sample};
use fathom_recording::{FrameType, ProcessId, SampleRow, SpanRow, StackId, ThreadId};
use libbpf_rs::skel::{OpenSkel, Skel, SkelBuilder};
use libbpf_rs::{MapCore, MapFlags, OpenObject, RingBuffer, RingBufferBuilder};
use syscalls::Sysno;

use crate::bpf::{silence, unavailable};
use crate::clock::monotonic_ns;
use crate::collector::{Collector, Context, Engine, Entry, Settings, Unavailable};
use crate::kernel_symbols::KernelSymbols;
use crate::procfs::Stat;
use crate::target::Change;
use crate::unwind::SharedEngine;
use crate::unwind::samples::Sample;
use crate::{TargetEvent, procfs};
use event::Event;
use skeleton::{SchedSkel, SchedSkelBuilder};

/// What cannot be seen without it.
const WHAT: &str = "what threads wait for";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: "sched",
    about: "every switch of the targets' threads: what they waited for, how long for a CPU, who woke them",
    engine: Engine::Ebpf,
    essential: true,
    default: true,
    make: |_: &Settings| Box::new(Sched::default()),
};

/// Waits as long are told one by one, nanoseconds. What is shorter is told once it adds up to as much, so that a
/// thread that switches a million times a second is told of at most a thousand times.
const MIN_NS: u64 = 1_000_000;
/// Events taken in one turn; what is left waits in the kernel's buffer.
const MOST_EVENTS: usize = 200_000;

/// Records of stacks by thread and stamp.
type Pending = HashMap<(u32, u64), Box<[u8]>>;

/// A thread that is watched.
struct Watched {
    process: ProcessId,
    thread: ThreadId,
    /// Monotonic time from which on nothing of it was missed.
    since_ns: u64,
    /// Last time it was told to have run.
    last_ns: u64,
}

/// The collector.
#[derive(Default)]
struct Sched {
    loaded: Option<SchedSkel<'static>>,
    ring: Option<RingBuffer<'static>>,
    events: Rc<RefCell<Vec<Event>>>,
    stack_ring: Option<RingBuffer<'static>>,
    /// Stacks that wait for their event, by thread and stamp: the record as the program sent it.
    pending: Rc<RefCell<Pending>>,
    /// Tables and names, shared with the other collectors that take stacks; `None`: the kernel's part alone is told.
    engine: Option<SharedEngine>,
    threads: HashMap<u32, Watched>,
    symbols: KernelSymbols,
    /// Events and threads lost so far.
    lost: u64,
    attached_ns: u64,
}

impl Collector for Sched {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.engine = cx.shared.stacks.clone();
        let mut loaded = load(cx.targets.selection().is_whole_host(), self.engine.as_ref())?;
        self.attached_ns = monotonic_ns().max(0).cast_unsigned();
        let events = Rc::clone(&self.events);
        let mut builder = RingBufferBuilder::new();
        let broken = |error: libbpf_rs::Error| unavailable(WHAT, "mapping the ring buffer of", &error);
        let take = move |bytes: &[u8]| {
            let mut events = events.borrow_mut();
            events.extend(Event::parse(bytes));
            i32::from(events.len() >= MOST_EVENTS)
        };
        builder.add(&loaded.maps.events, take).map_err(broken)?;
        self.ring = Some(builder.build().map_err(broken)?);
        let pending = Rc::clone(&self.pending);
        let keep = move |bytes: &[u8]| {
            let mut pending = pending.borrow_mut();
            if let (Some(sample), true) = (Sample::parse(bytes), pending.len() < MOST_EVENTS) {
                pending.insert((sample.head.tid, sample.head.t_ns), bytes.into());
            }
            0
        };
        let mut builder = RingBufferBuilder::new();
        builder.add(&loaded.maps.samples, keep).map_err(broken)?;
        self.stack_ring = Some(builder.build().map_err(broken)?);
        loaded.attach().map_err(|error| unavailable(WHAT, "attaching", &error))?;
        self.loaded = Some(loaded);
        self.symbols = KernelSymbols::read();
        if self.symbols.is_empty() {
            cx.unseen(Unavailable {
                what: "functions of the kernel by name".into(),
                why: "/proc/kallsyms shows no addresses".into(),
                remedy: "sysctl kernel.kptr_restrict=0, or run fathom as root".into(),
            });
        }
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        let key = pid.cast_unsigned().to_ne_bytes();
        let Some(loaded) = &self.loaded else { return };
        let map = &loaded.maps.targets;
        let mut sleeping = Vec::new();
        match event.change {
            Change::Appeared | Change::Exec | Change::BecameJvm => {
                if map.update(&key, &[1], MapFlags::ANY).is_err() {
                    cx.unseen(Unavailable {
                        what: format!("waits of process {pid}"),
                        why: "as many processes as can be watched are watched already".into(),
                        remedy: "record fewer processes".into(),
                    });
                    return;
                }
                // Its threads are watched from now on. One that sleeps has been off the CPU since before; the kernel's
                // program knows only what it has seen, and is told so. Where it has seen more meanwhile, that holds.
                let now_ns = monotonic_ns().max(0).cast_unsigned();
                for tid in procfs::tasks(pid) {
                    let path = format!("/proc/{pid}/task/{tid}/stat");
                    let state = procfs::read_to_string(path).and_then(|line| Some(Stat::parse(&line)?.state));
                    if state.is_some_and(|state| state != b'R') {
                        let mut value = vec![0; map_value_size(&loaded.maps.threads)];
                        value[..8].copy_from_slice(&now_ns.to_ne_bytes());
                        // The state "sleeping".
                        value[20] = 1;
                        let _ = loaded.maps.threads.update(&tid.to_ne_bytes(), &value, MapFlags::NO_EXIST);
                    }
                    sleeping.push((tid, now_ns));
                }
            }
            Change::Gone => {
                // Not there any more is as good as deleted.
                let _ = map.delete(&key);
            }
        }
        for (tid, since_ns) in sleeping {
            self.watch(pid.cast_unsigned(), tid.cast_unsigned(), since_ns, cx);
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        if let Some(ring) = &self.ring {
            // A full turn ends the reading early, with an error that is none.
            let _ = ring.consume_raw();
        }
        // Events first: the stack of each was sent before it, and is there by now.
        let events = std::mem::take(&mut *self.events.borrow_mut());
        if let Some(ring) = &self.stack_ring {
            let _ = ring.consume_raw();
        }
        for event in &events {
            self.take(event, cx);
        }
        // What is left is of events that were lost, or still on their way.
        let mut pending = self.pending.borrow_mut();
        if pending.len() >= MOST_EVENTS {
            pending.clear();
        }
        drop(pending);
        self.count_losses(cx);
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        // What breaks down now was told when it did.
        let _ = self.drain(cx);
        self.still_off(now_ns, cx);
        (self.ring, self.stack_ring, self.loaded, self.engine) = (None, None, None, None);
        let left: Vec<u32> = self.threads.keys().copied().collect();
        for tid in left {
            self.unwatch(tid, now_ns, cx);
        }
    }
}

impl Sched {
    fn watch(&mut self, pid: u32, tid: u32, since_ns: u64, cx: &mut Context<'_>) {
        if self.threads.contains_key(&tid) {
            return;
        }
        let process = cx.process(pid.cast_signed());
        let thread = cx.thread(pid.cast_signed(), tid.cast_signed());
        self.threads.insert(tid, Watched { process, thread, since_ns, last_ns: since_ns });
    }

    /// Ends the watch of a thread.
    fn unwatch(&mut self, tid: u32, until_ns: u64, cx: &mut Context<'_>) {
        let Some(watched) = self.threads.remove(&tid) else { return };
        let ends = (watched.since_ns, until_ns.max(watched.since_ns));
        self.span(kind::SCHED_WATCHED, "", &watched, ends, None, &[], &[], cx);
    }

    fn take(&mut self, event: &Event, cx: &mut Context<'_>) {
        // A thread that was born while recording: from its first switch on.
        let first_ns = if event.off_ns > 0 { event.off_ns } else { event.on_ns };
        self.watch(event.pid, event.tid, first_ns.max(self.attached_ns), cx);
        let Some(mut watched) = self.threads.remove(&event.tid) else { return };
        watched.last_ns = watched.last_ns.max(event.on_ns);
        let stack = self.stack(event, cx);
        if event.off_ns > 0 {
            let waker = (event.waker > 0).then(|| self.name_of(event.waker, cx)).flatten();
            let syscall = syscall_name(event.syscall);
            let mut labels: Vec<(&str, &str)> = Vec::new();
            labels.extend(syscall.map(|name| (label::SYSCALL, name)));
            labels.extend(waker.as_deref().map(|name| (label::WAKER, name)));
            let figures = [(figure::RUNQ_NS, event.runq_ns as f64)];
            let ends = (event.off_ns.max(watched.since_ns), event.on_ns);
            self.span(kind::SCHED_OFF, event.state(), &watched, ends, stack, &figures, &labels, cx);
        }
        // Short waits have no stack of their own but that of the call that ended the count: the same, mostly.
        for (kind, owed_ns) in [(sample::OFF_CPU, event.owed_ns), (sample::RUN_QUEUE, event.owed_runq_ns)] {
            if owed_ns > 0 {
                let t_ns = cx.clock.epoch_ns(event.on_ns.cast_signed());
                let (process, thread) = (watched.process, Some(watched.thread));
                let weight = owed_ns.cast_signed();
                let source = cx.source;
                cx.sink.sample(&SampleRow { kind, t_ns, process, thread, stack, weight, source });
            }
        }
        cx.source_mut().records += 1;
        let tid = event.tid;
        self.threads.insert(tid, watched);
        if event.ended() {
            self.unwatch(tid, event.on_ns, cx);
        }
    }

    /// Threads that sleep at the end, as the kernel still has them: from when they were switched out, or from the
    /// start of the watch for those that never ran.
    fn still_off(&mut self, now_ns: u64, cx: &mut Context<'_>) {
        let mut off: HashMap<u32, u64> = HashMap::new();
        if let Some(map) = self.loaded.as_ref().map(|loaded| &loaded.maps.threads) {
            for key in map.keys() {
                let value = map.lookup(&key, MapFlags::ANY).ok().flatten();
                let off_ns = value.as_deref().and_then(|v| v.first_chunk()).map(|b| u64::from_ne_bytes(*b));
                if let (Some(tid), Some(off_ns)) = (key.first_chunk().map(|b| u32::from_ne_bytes(*b)), off_ns)
                {
                    off.insert(tid, off_ns);
                }
            }
        }
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        for tid in tids {
            let Some(watched) = self.threads.remove(&tid) else { continue };
            let since_ns = match off.get(&tid) {
                Some(0) => None,
                Some(off_ns) => Some((*off_ns).max(watched.since_ns)),
                // The kernel has no word of it: it has not run since the watch began.
                None => Some(watched.since_ns),
            };
            if let Some(since_ns) = since_ns.filter(|since| *since < now_ns) {
                let stack = self.kernel_stack_of(tid, cx);
                self.span(kind::SCHED_OFF, "sleeping", &watched, (since_ns, now_ns), stack, &[], &[], cx);
            }
            self.threads.insert(tid, watched);
        }
    }

    /// A lost event leaves a hole of unknown length in one thread that nobody can name: all watches begin anew.
    fn count_losses(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let lost: u64 = (0..2_u32).map(|which| counted(&loaded.maps.losses, which)).sum();
        if lost == self.lost {
            return;
        }
        cx.source_mut().lost += lost - self.lost;
        self.lost = lost;
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let tids: Vec<u32> = self.threads.keys().copied().collect();
        for tid in tids {
            let Some(watched) = self.threads.get(&tid) else { continue };
            let (process, thread, last_ns) = (watched.process, watched.thread, watched.last_ns);
            self.unwatch(tid, last_ns, cx);
            self.threads.insert(tid, Watched { process, thread, since_ns: now_ns, last_ns: now_ns });
        }
    }

    fn stack(&mut self, event: &Event, cx: &mut Context<'_>) -> Option<StackId> {
        let record = self.pending.borrow_mut().remove(&(event.tid, event.stack_ns));
        if let (Some(record), Some(engine)) = (record, &self.engine)
            && let Some(sample) = Sample::parse(&record)
        {
            let is_jvm = cx.targets.get(event.pid.cast_signed()).is_some_and(|target| target.jvm);
            return engine.borrow_mut().stack(&sample, is_jvm, cx.sink);
        }
        // Outermost first: callers before callees.
        let names = event.kernel.iter().rev().map(|pc| self.symbols.find(*pc));
        names.fold(None, |caller, symbol| {
            let (name, module) = symbol.unwrap_or(("[unknown]", "kernel"));
            let frame = cx.sink.frame(name, module, FrameType::Kernel, -1);
            Some(cx.sink.stack(caller, frame))
        })
    }

    /// Where a thread sleeps, as the kernel tells root: `/proc/PID/stack`.
    fn kernel_stack_of(&self, tid: u32, cx: &mut Context<'_>) -> Option<StackId> {
        let text = procfs::read_to_string(procfs::path(tid.cast_signed(), "stack"))?;
        let mut names: Vec<&str> =
            text.lines().filter_map(|l| l.split_whitespace().nth(1)?.split('+').next()).collect();
        names.reverse();
        names.into_iter().fold(None, |caller, name| {
            let frame = cx.sink.frame(name, "kernel", FrameType::Kernel, -1);
            Some(cx.sink.stack(caller, frame))
        })
    }

    /// Name of a thread that woke another: the kernel's.
    fn name_of(&self, tid: u32, _cx: &mut Context<'_>) -> Option<String> {
        let name = procfs::read_to_string(procfs::path(tid.cast_signed(), "comm"))?;
        Some(format!("{} ({tid})", name.trim_end()))
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

/// Loads the programs; attaching them is the caller's. With an engine they walk by its tables.
fn load(whole_host: bool, engine: Option<&SharedEngine>) -> Result<SchedSkel<'static>, Unavailable> {
    silence();
    // The skeleton borrows the place of its object. One word a recording is never given back.
    let place: &'static mut MaybeUninit<OpenObject> = Box::leak(Box::new(MaybeUninit::uninit()));
    let failed = |step: &'static str| move |error: libbpf_rs::Error| unavailable(WHAT, step, &error);
    let mut open = SchedSkelBuilder::default().open(place).map_err(failed("opening"))?;
    if let Some(data) = open.maps.rodata_data.as_deref_mut() {
        data.config.min_ns = MIN_NS;
        data.own_pid = std::process::id();
        data.all_processes = u8::from(whole_host);
        if let Ok(namespace) = std::fs::metadata("/proc/self/ns/pid") {
            (data.pidns_dev, data.pidns_ino) = (namespace.dev(), namespace.ino());
        }
    }
    if let Some(engine) = engine {
        let (maps, own) = (&engine.borrow().maps, &mut open.maps);
        let reused = [
            own.unwind_rows.reuse_fd(maps.rows.as_fd()),
            own.row_pages.reuse_fd(maps.pages.as_fd()),
            own.code_mappings.reuse_fd(maps.mappings.as_fd()),
            own.jvm_codes.reuse_fd(maps.jvms.as_fd()),
            own.processes.reuse_fd(maps.processes.as_fd()),
        ];
        reused.into_iter().collect::<Result<Vec<()>, _>>().map_err(failed("sharing the tables of"))?;
    }
    open.load().map_err(failed("loading"))
}

/// The sum over all processors of one number of a per-processor array.
fn counted(map: &impl MapCore, which: u32) -> u64 {
    let values = map.lookup_percpu(&which.to_ne_bytes(), MapFlags::ANY).ok().flatten();
    let number = |bytes: &Vec<u8>| bytes.first_chunk().map_or(0, |eight| u64::from_ne_bytes(*eight));
    values.map_or(0, |values| values.iter().map(number).sum())
}

fn map_value_size(map: &impl MapCore) -> usize {
    (map.value_size() as usize).max(24)
}

fn syscall_name(number: i32) -> Option<&'static str> {
    Sysno::new(usize::try_from(number).ok()?).map(|call| call.name())
}
