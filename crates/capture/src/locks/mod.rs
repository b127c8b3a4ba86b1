//! Locks: for which one each thread waits, of which class it is, and who holds it; read from
//! outside, without a flag or a probe in the JVM.
//!
//! `bpf/locks.bpf.c` reads it out of the JVM's memory when a thread goes to sleep in `futex()`: the
//! monitor that it wants to enter, the object in whose `wait` it is, the blocker that it is parked
//! for, or the mutex of the C library. Here that gets names and becomes spans with the times of the
//! scheduler: [`kind::LOCK_MONITOR`], [`kind::LOCK_WAIT`],
//! [`kind::LOCK_PARK`], [`kind::LOCK_NATIVE`].
//!
//! Virtual threads leave their carriers while they wait, and are no threads of the kernel's:
//! [`virtual_threads`] follows them, and
//! [`virtual_samples`] looks at them now and then while they switch too often for that.
//!
//! Limits. A thread that spins and gets the lock did not wait. The wait of a virtual thread that
//! cannot leave its carrier (`synchronized` until JDK 23) is reported as the carrier's. Where a
//! virtual thread held the lock, the owner is the carrier that it was on. The owner is who held the
//! lock when the wait began; where the lock does not say (a monitor that was inflated just now), it
//! is who woke the waiting thread, which is who left it last. The C library's mutexes are reported,
//! conditions are not: they are waits for work as well. A thread that sleeps thousands of times a
//! second is not asked each time what for (`bpf/locks.h`): of its long waits, the lock is read at
//! the end, and who held it while it lasts, from outside, once it has lasted [`OUTLASTS_NS`]; of
//! those between, who woke the thread counts as the owner.

mod event;
mod jvm;
mod losses;
mod owners;
mod sent;
mod spans;
mod virtual_probes;
mod virtual_samples;
mod virtual_threads;

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use fathom_hotspot::locks::Waiting;
use fathom_recording::{Scope, StackId};
use libbpf_rs::MapCore;
use syscalls::Sysno;

use crate::bpf::attached::attached;
use crate::bpf::dispatcher::{Hook, Registered, SWITCH_LOCKS};
use crate::bpf::object::skeleton;
use crate::bpf::record::{self, read};
use crate::clock::monotonic_ns;
use crate::event_stacks::Events;
use crate::target::Change;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable};
use event::{Event, Record, Unasked, Waited};
use jvm::Jvm;
use virtual_threads::VirtualThreads;

skeleton!("locks");
use skeleton::LocksSkelBuilder;
use skeleton::types::lock_event;

attached!(LocksSkel, LocksMaps, LocksLinks: java_threads, lock_jvms, targets, waits);

/// What cannot be seen without it.
const WHAT: &str = "which locks threads wait for, and who holds them";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::LOCKS,
    about: "monitors, java.util.concurrent locks, mutexes: who waited for which, how long, who held it",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder, Service::Dispatcher, Service::Interrupts],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |settings| Box::new(LockWaits::new(settings)),
};

/// Waits of at least this length are reported unless the caller wants others: nanoseconds, and the
/// least that may be asked for.
const MIN_NS: u64 = 1_000_000;
const LEAST_NS: u64 = 10_000;
/// Waits of one thread for one lock with less between them are one: it was woken, and another was
/// faster. HotSpot also looks after its monitors now and then, each second at last
/// (`ObjectMonitor::EnterI` until JDK 22), and sleeps on.
const GAP_NS: u64 = 500_000;
/// How long a wait is kept back to see whether it goes on.
const KEPT_NS: u64 = 100_000_000;
/// Events taken in one round; what is left waits in the kernel's buffer.
const MOST_EVENTS: usize = 100_000;
/// A wait of a thread that was not asked is looked into when it has lasted as long: nanoseconds.
const OUTLASTS_NS: u64 = 20_000_000;
/// To look for such waits may take this part of one CPU's time at most, and is done so often
/// at most.
const LOOK_REST: u32 = 100;
const LOOK_EVERY: Duration = Duration::from_millis(50);
/// A JVM that starts is looked at again so often and for so long.
const AGAIN: Duration = Duration::from_millis(250);
const PATIENCE: Duration = Duration::from_secs(30);

/// What was found is kept for so long: its end is reported within a round.
const FOUND_FOR_NS: u64 = 2_000_000_000;

/// The collector.
struct LockWaits {
    min_ns: u64,
    registered: Vec<Registered>,
    loaded: Option<Attached>,
    events: Option<Events<Record>>,
    jvms: HashMap<u32, Jvm>,
    virtual_threads: VirtualThreads,
    /// JVMs that are not ready: when to look again, and until when.
    waited_for: HashMap<u32, (Instant, Instant)>,
    /// Threads of JVMs of which is not known whether they are Java's: since when.
    unknown: HashMap<u32, Instant>,
    /// The last wait of each thread, which may go on.
    open: HashMap<u32, Event>,
    /// What threads that were not asked wait for, as read from outside: since when, and for which
    /// lock, if any.
    found: HashMap<u32, (u64, Option<Waiting>)>,
    next_look: Instant,
    /// Waits of which the owner is not known, as their threads were not asked.
    ownerless: u64,
}

impl LockWaits {
    fn new(settings: &Settings) -> Self {
        Self {
            min_ns: settings.min_ns.unwrap_or(MIN_NS).max(LEAST_NS),
            registered: Vec::new(),
            loaded: None,
            events: None,
            jvms: HashMap::new(),
            virtual_threads: VirtualThreads::default(),
            waited_for: HashMap::new(),
            unknown: HashMap::new(),
            open: HashMap::new(),
            found: HashMap::new(),
            next_look: Instant::now(),
            ownerless: 0,
        }
    }

    /// Opens the JVMs that are ready.
    fn open_jvms(&mut self, cx: &mut Context<'_>) {
        let now = Instant::now();
        let due: Vec<u32> =
            self.waited_for.iter().filter(|(_, (at, _))| now >= *at).map(|(pid, _)| *pid).collect();
        for pid in due {
            let Some((at, until)) = self.waited_for.get_mut(&pid) else { continue };
            match Jvm::open(pid) {
                Ok(jvm) => {
                    self.waited_for.remove(&pid);
                    self.jvms.insert(pid, jvm);
                    self.send_jvm(pid);
                    self.send_threads();
                    self.send_waits(pid);
                }
                Err(_) if now < *until => *at = now + AGAIN,
                Err(error) => {
                    self.waited_for.remove(&pid);
                    cx.unseen(Unavailable {
                        scope: Some(Scope::of_process(i64::from(pid))),
                        what: format!("Java locks of process {pid}"),
                        why: error.to_string(),
                        remedy: "a flight recording (fathom record --engine jfr) has waits from 20 ms on"
                            .into(),
                    });
                }
            }
        }
    }

    fn take_events(&mut self, cx: &mut Context<'_>) {
        // Of waits that end from here on, nothing is read yet.
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let events = self.events.as_mut().map(Events::take).unwrap_or_default();
        for record in events {
            match record {
                Record::Wait(event) => self.take(event, cx),
                Record::Unknown(tid) => {
                    self.unknown.entry(tid).or_insert_with(Instant::now);
                }
                Record::Ended { pid, tid, at_ns } => {
                    self.jvms.get_mut(&pid).into_iter().for_each(|jvm| jvm.thread_ended(tid, at_ns));
                }
            }
        }
        let over = |event: &Event| event.on_ns.saturating_add(KEPT_NS) < now_ns;
        let mut over: Vec<u32> =
            self.open.iter().filter(|(_, event)| over(event)).map(|(tid, _)| *tid).collect();
        // One that waits again has not got it yet: it is reported when it has.
        over.retain(|tid| !self.waits_now(*tid).is_some_and(|event| self.goes_on(&event)));
        for tid in over {
            self.close(tid, cx);
        }
        self.virtual_threads.take(self.min_ns, &mut self.jvms, cx);
    }

    /// Threads that sleep, were not asked what for, and have done so for long enough to be looked
    /// into.
    fn unasked(&self, now_ns: u64, outlasts_ns: u64) -> Vec<Unasked> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        let sleeping = waits(loaded).into_iter().filter_map(|event| Unasked::of(&event));
        sleeping.filter(|thread| now_ns.saturating_sub(thread.off_ns) >= outlasts_ns).collect()
    }

    /// What such a thread waits for: `None` when it is no lock, or when the thread has woken
    /// meanwhile.
    fn look_into(&self, thread: Unasked) -> Option<Waiting> {
        let jvm = self.jvms.get(&thread.pid)?;
        let waiting = jvm.waiting(jvm.address(thread.tid)?)?;
        let now = record::value(&self.loaded.as_ref()?.maps.waits, &thread.tid)?;
        (Unasked::of(&now) == Some(thread)).then_some(waiting)
    }

    /// Looks into waits of threads that were not asked while they last, for who holds the lock.
    fn look_at_unasked(&mut self) {
        let begun = Instant::now();
        if begun < self.next_look || self.jvms.is_empty() {
            return;
        }
        let now_ns = monotonic_ns().max(0).cast_unsigned();
        let sleeping = self.unasked(now_ns, OUTLASTS_NS);
        let known = |thread: &Unasked| {
            self.found.get(&thread.tid).is_some_and(|(off_ns, _)| *off_ns == thread.off_ns)
        };
        let (known, fresh): (Vec<Unasked>, Vec<Unasked>) = sleeping.into_iter().partition(known);
        let known: Vec<u32> = known.into_iter().map(|thread| thread.tid).collect();
        // What is over has been reported by now, or was no lock.
        self.found
            .retain(|tid, (off_ns, _)| known.contains(tid) || *off_ns > now_ns.saturating_sub(FOUND_FOR_NS));
        for thread in fresh.into_iter().take(sent::MOST_FRESH) {
            self.found.insert(thread.tid, (thread.off_ns, self.look_into(thread)));
        }
        self.next_look = Instant::now() + (begun.elapsed() * LOOK_REST).max(LOOK_EVERY);
    }

    /// Gives a wait of a thread that was not asked the owner that was seen while it lasted.
    fn complete(&mut self, event: &mut Event) {
        let seen = self.found.remove(&event.tid).filter(|(off_ns, _)| *off_ns == event.off_ns);
        if let Some(seen) = seen.and_then(|(_, seen)| seen).filter(|seen| seen.lock == event.lock) {
            (event.owner, event.owner_tid, event.later) = (seen.owner, seen.owner_tid, false);
        }
    }

    /// Keeps a wait back, or adds it to the one before.
    fn take(&mut self, mut event: Event, cx: &mut Context<'_>) {
        cx.source_mut().records += 1;
        if event.later {
            self.complete(&mut event);
        }
        let goes_on = self.goes_on(&event);
        if let Some(last) = self.open.get_mut(&event.tid).filter(|_| goes_on) {
            (last.on_ns, last.waker) = (event.on_ns, event.waker);
            if let Some(events) = &mut self.events {
                events.forget(event.tid, event.stack_ns);
            }
            return;
        }
        self.close(event.tid, cx);
        // The rest of a wait that was thought to go on.
        if event.on_ns.saturating_sub(event.off_ns) >= self.min_ns {
            self.open.insert(event.tid, event);
        }
    }

    /// Whether a wait is the last one of its thread, going on.
    fn goes_on(&self, event: &Event) -> bool {
        let of = |last: &&Event| {
            (last.lock, last.waited) == (event.lock, event.waited) && event.waited != Waited::Wait
        };
        self.open.get(&event.tid).filter(of).is_some_and(|last| {
            let gap_ns = event.off_ns.saturating_sub(last.on_ns);
            // A thread that nobody woke was not given the monitor, however long it took to get a
            // CPU and to look. Where it got it all the same it went on to something else.
            let by_time = || last.waited == Waited::Monitor && !self.is_of(last.pid, last.waker);
            !event.apart && (gap_ns < GAP_NS || (gap_ns < KEPT_NS && by_time()))
        })
    }

    /// The wait in which a thread is now, as the kernel's program has it.
    fn waits_now(&self, tid: u32) -> Option<Event> {
        let event = record::value(&self.loaded.as_ref()?.maps.waits, &tid)?;
        Event::of(&event).filter(|event| event.on_ns == 0)
    }

    /// Writes the last wait of a thread.
    fn close(&mut self, tid: u32, cx: &mut Context<'_>) {
        let Some(event) = self.open.remove(&tid) else { return };
        let stack = self.stack(&event, cx);
        self.write(&event, stack, None, cx);
    }

    fn stack(&mut self, event: &Event, cx: &mut Context<'_>) -> Option<StackId> {
        self.events.as_mut()?.stack((event.pid, event.tid), event.stack_ns, cx)
    }

    /// Follows virtual threads, where there are some.
    fn follow_virtual_threads(&mut self, cx: &mut Context<'_>) {
        for (pid, jvm) in self.jvms.iter_mut().filter(|(_, jvm)| jvm.has_virtual_threads()) {
            self.virtual_threads.follow((*pid, jvm), self.min_ns, cx);
        }
        self.virtual_threads.keep_budgets(&self.jvms, cx);
        self.virtual_threads.sample(&mut self.jvms, cx);
    }

    /// Waits that have not ended: of threads that wait for each other these are all there are.
    fn still_waiting(&mut self, now_ns: u64, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let waits = waits(loaded).into_iter().filter_map(|event| Event::of(&event));
        let mut waits: Vec<Event> = waits.filter(|event| event.on_ns == 0).collect();
        waits.extend(self.unasked(now_ns, self.min_ns).into_iter().filter_map(|thread| {
            Event::going_on((thread.pid, thread.tid), thread.off_ns, &self.look_into(thread)?)
        }));
        for mut event in waits {
            if self.goes_on(&event) {
                event.off_ns = self.open.get(&event.tid).map_or(event.off_ns, |last| last.off_ns);
            }
            if now_ns.saturating_sub(event.off_ns) >= self.min_ns {
                event.on_ns = now_ns;
                self.write(&event, None, Some("the recording ended"), cx);
            }
        }
        self.virtual_threads.still_waiting((now_ns, self.min_ns), &mut self.jvms, cx);
        self.virtual_threads.end_samples(now_ns, &mut self.jvms, cx);
    }
}

/// What the program keeps of threads that are off the CPU.
fn waits(loaded: &Attached) -> Vec<lock_event> {
    record::all::<u32, _>(&loaded.maps.waits).into_iter().map(|(_, event)| event).collect()
}

impl Collector for LockWaits {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let mut open = cx
            .kit(&ENTRY, WHAT)
            .hooked("lock_sys_exit", Hook::Out, &[Sysno::futex.id().cast_unsigned()])
            .hooked("lock_waking", Hook::Wakeup, &[SWITCH_LOCKS])
            .hooked("lock_switch", Hook::Switch, &[SWITCH_LOCKS])
            .open(LocksSkelBuilder::default())?;
        let constants = open.constants();
        (constants.min_ns, constants.always_ns) = (self.min_ns, cx.settings.always_ns);
        let mut loaded = open.load()?;
        self.events = Some(Events::of(&loaded, |bytes| Record::of(&read(bytes)?), MOST_EVENTS, cx)?);
        self.registered = loaded.attach()?;
        self.loaded = Some(loaded.keep(Attached::of)?);
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid.cast_unsigned();
        if event.leaves() {
            // What is still on its way belongs to what the process was.
            self.take_events(cx);
            let tids: Vec<u32> = self.open.values().filter(|e| e.pid == pid).map(|e| e.tid).collect();
            tids.into_iter().for_each(|tid| self.close(tid, cx));
            self.virtual_threads.leave(pid);
            self.jvms.remove(&pid);
            self.waited_for.remove(&pid);
        }
        let Some(loaded) = &self.loaded else { return };
        if event.leaves() {
            let _ = loaded.maps.lock_jvms.delete(&pid.to_ne_bytes());
        }
        // A full map: sched says so of the same processes.
        event.mark(&loaded.maps.targets);
        if event.change == Change::Gone {
            return;
        }
        if event.target.jvm && !self.jvms.contains_key(&pid) {
            self.waited_for.insert(pid, (Instant::now(), Instant::now() + PATIENCE));
            self.open_jvms(cx);
            self.send_threads();
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.open_jvms(cx);
        self.look_at_unasked();
        self.take_events(cx);
        self.send_threads();
        self.follow_virtual_threads(cx);
        self.count_losses(cx);
        Ok(())
    }

    fn write_unfinished(&mut self, cx: &mut Context<'_>) {
        self.still_waiting(cx.ends_ns(), cx);
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.events.as_ref().map(Events::wake)
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        let ends_ns = cx.ends_ns();
        self.take_events(cx);
        self.count_losses(cx);
        self.still_waiting(ends_ns, cx);
        let open: Vec<u32> = self.open.keys().copied().collect();
        let goes_on = |tid: &u32| self.waits_now(*tid).is_some_and(|event| self.goes_on(&event));
        let (_, open): (Vec<u32>, Vec<u32>) = open.into_iter().partition(goes_on);
        open.into_iter().for_each(|tid| self.close(tid, cx));
        self.report_limits(cx);
        self.virtual_threads.stop(cx);
        self.registered.clear();
        (self.events, self.loaded) = (None, None);
    }
}
