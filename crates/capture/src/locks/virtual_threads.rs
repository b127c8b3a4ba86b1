//! Locks that virtual threads wait for: `bpf/virtual_locks.bpf.c` hangs on functions of libjvm
//! through which a virtual thread leaves its carrier and comes back, where libjvm has the names of
//! its own functions; loaded only once a JVM has virtual threads.
//!
//! Locks of `java.util.concurrent` from JDK 21 on, monitors from JDK 25 on: until JDK 23 a virtual
//! thread that waits for one holds on to its carrier, whose wait is reported. JDK 24 was not tried;
//! what its libjvm may lack is reported.
//!
//! A hit costs what a trap costs, so that both groups of probes have a budget: what monitors need
//! is hit where a virtual thread waits for one; what `java.util.concurrent` needs is hit some seven
//! times (measured) whenever one leaves its carrier and comes back, to sleep and to read, too: its
//! frames come back one by one.

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use fathom_hotspot::Vm;
use fathom_hotspot::locks::Locks;
use fathom_hotspot::virtual_threads::VirtualThread;
use fathom_recording::quantity;
use fathom_recording::vocabulary::{figure, label};
use fathom_recording::{Role, Scope, SpanRow, StackId};
use libbpf_rs::MapCore;
use zerocopy::{IntoBytes, transmute};

use super::event::{self, Event, Waited};
use super::jvm::Jvm;
use super::virtual_probes::skeleton::types::{
    lock_loss, virtual_hits, virtual_jvm, virtual_thread, virtual_wait,
};
use super::virtual_probes::{
    Attach, Group, VirtualLocksSkel, YIELD_FUNCTIONS, attach_monitors, attach_yields, load, now_ns, places,
};
use super::virtual_samples::Samples;
use crate::bpf::record::{self, read};
use crate::bpf::remedy_of_uprobe;
use crate::event_stacks::Events;
use crate::jvm_events::budget::{Verdict, put_back};
use crate::{Context, Unavailable};

/// Events taken in one round, and stacks that wait for theirs.
const MOST_EVENTS: usize = 20_000;
/// Virtual threads that are distinguished; a server makes millions of them.
const MOST_DISTINGUISHED: usize = 10_000;
/// The first JDK in which a virtual thread is the current one until it has left its carrier.
const FIRST_TO_STAY_CURRENT: u32 = 25;
/// The first in which it leaves its carrier for a monitor (JEP 491).
const FIRST_TO_LEAVE_FOR_MONITORS: u32 = 24;
/// A virtual thread at work is looked for for so long and so often, where several JVMs have none in
/// round; after a while less often.
const LOOK: Duration = Duration::from_millis(1);
const LOOK_EVERY: Duration = Duration::from_millis(50);
const PATIENCE: Duration = Duration::from_secs(60);
const SELDOM: Duration = Duration::from_secs(1);
const NONE_AT_WORK: &str = "none of them was seen at work, which is needed to follow them before JDK 25";
/// What is not seen of virtual threads that are looked at some times a second.
const SHORT_WAITS: &str = "single short waits";

/// A wait of a virtual thread. The thread id is that of the carrier it left.
pub(super) struct Wait {
    pub(super) event: Event,
    pub(super) number: u64,
}

impl Wait {
    /// As the program sends and keeps it; `None` where its kind is not known.
    fn of(wait: &virtual_wait) -> Option<Self> {
        Some(Self { event: Event::of(&transmute!(wait.wait))?, number: wait.number })
    }
}

/// A JVM that is followed.
struct Followed {
    monitors: Group,
    yields: Group,
}

/// The program, once there are virtual threads.
#[derive(Default)]
pub(super) struct VirtualThreads {
    loaded: Option<VirtualLocksSkel<'static>>,
    events: Option<Events<Wait>>,
    followed: HashMap<u32, Followed>,
    /// JVMs of which no virtual thread was seen at work, as is needed to follow them: since when
    /// that is looked for, and when next.
    looking: HashMap<u32, (Instant, Instant)>,
    /// JVMs whose virtual threads cannot be followed.
    given_up: HashSet<u32>,
    distinguished: HashSet<(u32, u64)>,
    /// What is read of JVMs while their probes are off.
    samples: HashMap<u32, Samples>,
}

impl VirtualThreads {
    /// Follows the virtual threads of a JVM; says so when it cannot.
    pub(super) fn follow(&mut self, (pid, jvm): (u32, &mut Jvm), min_ns: u64, cx: &mut Context<'_>) {
        if self.followed.contains_key(&pid) || self.given_up.contains(&pid) {
            return;
        }
        match self.find_way(pid, jvm) {
            Ok(true) => {}
            Ok(false) => {
                self.samples.entry(pid).or_insert_with(Samples::new);
                return;
            }
            Err(why) => return self.give_up(pid, Some(jvm.vm()), why, cx),
        }
        match self.load(min_ns, cx).and_then(|()| self.attach(pid, jvm)) {
            Ok(None) => {}
            Ok(Some(why)) => cx.unseen(unseen("monitors", pid, why)),
            Err(why) => self.give_up(pid, Some(jvm.vm()), why, cx),
        }
    }

    /// Whether it is known how to get to the virtual thread that a thread carries; not yet where
    /// none was seen at work.
    fn find_way(&mut self, pid: u32, jvm: &mut Jvm) -> Result<bool, String> {
        if jvm.feature() >= FIRST_TO_STAY_CURRENT {
            return Ok(true);
        }
        if !self.looking.contains_key(&pid) {
            places(pid, &YIELD_FUNCTIONS)?;
        }
        let (now, others) = (Instant::now(), self.looking.len() as u32);
        let (since, next) = self.looking.entry(pid).or_insert((now, now));
        if now < *next {
            return Ok(false);
        }
        // Where none is at work for long, it is no matter when one is found.
        let pause = if since.elapsed() < PATIENCE { LOOK_EVERY } else { SELDOM };
        *next = now + pause * others.max(1);
        let is_found = jvm.find_continuation(LOOK).is_some();
        if is_found {
            self.looking.remove(&pid);
        }
        Ok(is_found)
    }

    fn give_up(&mut self, pid: u32, vm: Option<&Vm>, why: String, cx: &mut Context<'_>) {
        self.looking.remove(&pid);
        self.given_up.insert(pid);
        let samples = self.samples.entry(pid).or_insert_with(Samples::new);
        let reads = vm.map_or(samples.is_ready(), |vm| samples.prepare(vm).is_ok());
        let unseen = unseen("locks", pid, why);
        cx.unseen(match reads {
            true => Unavailable {
                what: format!("{SHORT_WAITS} of virtual threads of process {pid} without their carriers"),
                why: format!("{}; it is read some times a second where they wait", unseen.why),
                scope: Some(Scope::of_process(i64::from(pid)).of_virtual_threads(false)),
                ..unseen
            },
            false => unseen,
        });
    }

    fn load(&mut self, min_ns: u64, cx: &Context<'_>) -> Result<(), String> {
        if self.loaded.is_none() {
            let loaded = load(min_ns, cx).map_err(|error| error.why)?;
            let events = Events::of(&loaded, |bytes| Wait::of(&read(bytes)?), MOST_EVENTS, cx)
                .map_err(|error| error.why)?;
            (self.loaded, self.events) = (Some(loaded.skel), Some(events));
        }
        Ok(())
    }

    /// Attaches to a JVM. What is returned: why monitors cannot be followed, where they cannot and
    /// the rest can.
    fn attach(&mut self, pid: u32, jvm: &Jvm) -> Result<Option<String>, String> {
        let loaded = self.loaded.as_ref().ok_or("no program")?;
        let mut followed = Followed { monitors: Group::new(), yields: Group::new() };
        let hits = record::put(&loaded.maps.virtual_hits, &pid, &virtual_hits::default());
        hits.map_err(|error| format!("too many JVMs have virtual threads ({error})"))?;
        followed.yields.links = attach_yields(loaded, pid)?;
        let mut why = None;
        // Before, they do not leave their carriers for them.
        if jvm.feature() >= FIRST_TO_LEAVE_FOR_MONITORS {
            match attach_monitors(loaded, pid) {
                Ok(links) => followed.monitors.links = links,
                Err(error) => why = Some(error),
            }
        }
        self.followed.insert(pid, followed);
        self.samples.entry(pid).or_insert_with(Samples::new);
        self.send_jvm(pid, jvm);
        Ok(why)
    }

    /// Sends the program the layout of a JVM, and since when it is followed.
    pub(super) fn send_jvm(&self, pid: u32, jvm: &Jvm) {
        let (Some(loaded), Some(followed)) = (&self.loaded, self.followed.get(&pid)) else { return };
        let way = jvm.continuation.unwrap_or_default();
        let sent = virtual_jvm {
            jvm: transmute!(event::jvm_of(&jvm.constants, jvm.exclusive_owner)),
            carrier_object: jvm.constants.carrier_object,
            thread_number: jvm.constants.thread_number,
            entry: way.entry,
            continuation: way.continuation,
            target: way.target,
            virtual_thread: way.virtual_thread,
            monitors_since_ns: followed.monitors.since_ns,
            yields_since_ns: followed.yields.since_ns,
        };
        // A full map: attaching has failed before.
        let _ = record::put(&loaded.maps.virtual_jvms, &pid, &sent);
    }

    /// A process is gone, or another program.
    pub(super) fn leave(&mut self, pid: u32) {
        self.followed.remove(&pid);
        self.looking.remove(&pid);
        self.given_up.remove(&pid);
        self.samples.remove(&pid);
        let Some(loaded) = &self.loaded else { return };
        let key = pid.to_ne_bytes();
        for map in [&loaded.maps.virtual_jvms, &loaded.maps.virtual_hits] {
            // Not there any more is as good as deleted.
            let _ = map.delete(&key);
        }
        self.forget(|wait| wait.event.pid == pid);
    }

    /// Waits whose end will not be seen: they would take the room of others.
    fn forget(&self, which: impl Fn(&Wait) -> bool) {
        let Some(loaded) = &self.loaded else { return };
        for (key, _) in self.waiting().into_iter().filter(|(_, wait)| which(wait)) {
            let _ = loaded.maps.virtual_waits.delete(key.as_bytes());
        }
    }

    /// Waits that go on.
    fn waiting(&self) -> Vec<(virtual_thread, Wait)> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        let all = record::all(&loaded.maps.virtual_waits).into_iter();
        all.filter_map(|(thread, wait)| Some((thread, Wait::of(&wait)?))).collect()
    }

    /// Writes what came in.
    pub(super) fn take(&mut self, min_ns: u64, jvms: &mut HashMap<u32, Jvm>, cx: &mut Context<'_>) {
        for wait in self.events.as_mut().map(Events::take).unwrap_or_default() {
            let Some(events) = &mut self.events else { return };
            let (event, carrier) = (&wait.event, (wait.event.pid, wait.event.tid));
            if event.on_ns.saturating_sub(event.off_ns) < min_ns {
                events.forget(event.tid, event.stack_ns);
                continue;
            }
            cx.source_mut().records += 1;
            let stack = if event.apart {
                events.shared_stack(carrier, event.stack_ns, cx)
            } else {
                events.stack(carrier, event.stack_ns, cx)
            };
            self.write(&wait, stack, None, jvms, cx);
        }
    }

    /// Reads where virtual threads wait for what no probe reports, and writes what is over of it:
    /// all waits while probes are off, and sleep and sockets, which have no lock, at any time.
    pub(super) fn sample(&mut self, jvms: &mut HashMap<u32, Jvm>, cx: &mut Context<'_>) {
        let mut over = Vec::new();
        for (pid, samples) in &mut self.samples {
            let Some(jvm) = jvms.get(pid) else { continue };
            let is_on = |group: &Group| !group.links.is_empty();
            let (parks, monitors) =
                self.followed.get(pid).map_or((false, false), |f| (is_on(&f.yields), is_on(&f.monitors)));
            match samples.prepare(jvm.vm()) {
                Ok(true) => {
                    let wanted = |thread: &VirtualThread, waited| match waited {
                        Waited::Park => !parks || thread.blocker.is_none(),
                        _ => !monitors,
                    };
                    over.extend(samples.look((*pid, jvm.vm()), wanted, cx));
                }
                Ok(false) => {}
                Err(why) => {
                    let why = why.to_owned();
                    if samples.is_first_failure() {
                        cx.unseen(unseen("sleep and sockets", *pid, why));
                    }
                }
            }
        }
        for (wait, stack) in over {
            cx.source_mut().records += 1;
            self.write(&wait, stack, None, jvms, cx);
        }
    }

    /// Writes what was seen of waits that may go on.
    pub(super) fn end_samples(&mut self, now_ns: u64, jvms: &mut HashMap<u32, Jvm>, cx: &mut Context<'_>) {
        let all: Vec<_> =
            self.samples.iter_mut().flat_map(|(pid, samples)| samples.end(*pid, now_ns)).collect();
        for (wait, stack) in all {
            self.write(&wait, stack, Some("the recording ended"), jvms, cx);
        }
    }

    /// Writes waits that have not ended.
    pub(super) fn still_waiting(
        &mut self,
        (now_ns, min_ns): (u64, u64),
        jvms: &mut HashMap<u32, Jvm>,
        cx: &mut Context<'_>,
    ) {
        for (_, mut wait) in self.waiting() {
            let Some(jvm) = self.followed.get(&wait.event.pid) else { continue };
            let by = if wait.event.waited == Waited::Park { &jvm.yields } else { &jvm.monitors };
            // Its end would have been missed.
            let is_true = !by.links.is_empty() && wait.event.off_ns >= by.since_ns;
            if is_true && now_ns.saturating_sub(wait.event.off_ns) >= min_ns {
                wait.event.on_ns = now_ns;
                self.write(&wait, None, Some("the recording ended"), jvms, cx);
            }
        }
    }

    fn write(
        &mut self,
        wait: &Wait,
        stack: Option<StackId>,
        cut: Option<&str>,
        jvms: &mut HashMap<u32, Jvm>,
        cx: &mut Context<'_>,
    ) {
        let event = &wait.event;
        let Some(jvm) = jvms.get_mut(&event.pid) else { return };
        let class = jvm.class(event);
        let offset = class.as_ref().and_then(|class| class.exclusive_owner).unwrap_or(0);
        if offset > 0 && jvm.exclusive_owner == 0 {
            // From now on the program reads the owner too.
            jvm.exclusive_owner = offset;
            self.send_jvm(event.pid, jvm);
        }
        let has_owner = match event.waited {
            Waited::Monitor => true,
            Waited::Park => offset > 0,
            Waited::Wait | Waited::Native => false,
        };
        let has_number =
            event.owner > 0 && (event.waited == Waited::Park || !Locks::is_anonymous(event.owner));
        let number = Some(event.owner).filter(|number| has_owner && has_number && *number != wait.number);
        let owner_tid = number.and_then(|number| jvm.numbered(number));
        let owner_name = match (owner_tid.and_then(|tid| jvm.name(tid)), number) {
            (Some(name), _) => Some(name.to_owned()),
            (None, Some(number)) if self.distinguished.contains(&(event.pid, number)) => {
                Some(name_of(number))
            }
            // The JDK numbers all its threads in one row: this may be one of the platform that has
            // just started.
            (None, Some(number)) => Some(format!("thread #{number}")),
            (None, None) => None,
        };
        let address = format!("{:#x}", event.lock);
        // Asleep, or at a socket: there is no lock.
        let has_lock = event.lock != 0;
        let mut labels: Vec<(&str, &str)> =
            has_lock.then_some((label::ADDRESS, address.as_str())).into_iter().collect();
        labels.extend(owner_name.as_deref().map(|name| (label::OWNER, name)));
        labels.extend(cut.map(|why| (label::CUT, why)));
        let figures: Vec<(&str, f64)> =
            owner_tid.map(|tid| (figure::OWNER_TID, f64::from(tid))).into_iter().collect();
        let process = cx.process(event.pid.cast_signed());
        let is_known = self.distinguished.contains(&(event.pid, wait.number));
        let thread = if is_known || self.distinguished.len() < MOST_DISTINGUISHED {
            self.distinguished.insert((event.pid, wait.number));
            name_of(wait.number)
        } else {
            "virtual thread".to_owned()
        };
        let thread = cx.sink.thread(process, None, &thread, Role::App);
        cx.sink.span(&SpanRow {
            thread: Some(thread),
            stack,
            figures: &figures,
            labels: &labels,
            ..SpanRow::new(
                event.waited.kind(),
                class.as_ref().map_or("", |class| &class.name),
                (cx.clock.epoch_ns(event.off_ns.cast_signed()), cx.clock.epoch_ns(event.on_ns.cast_signed())),
                process,
                cx.source,
            )
        });
    }

    /// Takes probes off that are hit too often, and puts them back when it is time.
    pub(super) fn keep_budgets(&mut self, jvms: &HashMap<u32, Jvm>, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let (mut taken_off, mut changed) = (Vec::new(), Vec::new());
        for (pid, jvm) in &mut self.followed {
            let hits: virtual_hits = record::value(&loaded.maps.virtual_hits, pid).unwrap_or_default();
            let groups = [
                (&mut jvm.monitors, hits.monitors, attach_monitors as Attach, "monitors", "waits for them"),
                (&mut jvm.yields, hits.yields, attach_yields, "locks of java.util.concurrent", "switches"),
            ];
            for (group, hits, attach, locks, what) in groups {
                group.budget.hit(u32::try_from(hits.saturating_sub(group.hits)).unwrap_or(u32::MAX));
                group.hits = hits;
                match group.budget.judge(!group.links.is_empty()) {
                    Verdict::Stay => {}
                    Verdict::TakeOff { per_s, pause } => {
                        group.links.clear();
                        taken_off.push((*pid, what == "switches"));
                        let samples = self.samples.entry(*pid).or_insert_with(Samples::new);
                        let reads = jvms.get(pid).map_or(Ok(false), |jvm| samples.prepare(jvm.vm()));
                        let off = format!(
                            "with {what} of virtual threads, there were {} hits of probes a second, and each costs \
                             microseconds: taken off for {} s, and longer each time",
                            quantity::count(per_s),
                            pause.as_secs()
                        );
                        let hidden = reads.is_err();
                        let (which, why) = match reads {
                            Ok(_) => (
                                SHORT_WAITS,
                                format!("{off}; meanwhile it is read some times a second where they wait"),
                            ),
                            Err(why) => ("waits", format!("{off}; and {why}")),
                        };
                        cx.unseen(Unavailable {
                            scope: Some(Scope::of_process(i64::from(*pid)).of_virtual_threads(hidden)),
                            what: format!(
                                "{which} of virtual threads of process {pid} for {locks}, for part of the time"
                            ),
                            why,
                            remedy: "a flight recording (fathom record --engine jfr) has waits from 20 ms on"
                                .into(),
                        });
                    }
                    Verdict::PutBack => {
                        let what = || format!("waits of virtual threads of process {pid} for {locks}");
                        let (links, unseen) = put_back(attach(loaded, *pid), pid.cast_signed(), what);
                        group.links = links;
                        let scope = Some(Scope::of_process(i64::from(*pid)).of_virtual_threads(true));
                        unseen
                            .into_iter()
                            .for_each(|unseen| cx.unseen(Unavailable { scope: scope.clone(), ..unseen }));
                        group.since_ns = now_ns();
                        changed.push(*pid);
                    }
                }
            }
        }
        for (pid, of_yields) in taken_off {
            self.forget(|wait| wait.event.pid == pid && (wait.event.waited == Waited::Park) == of_yields);
        }
        for pid in changed {
            if let Some(jvm) = jvms.get(&pid) {
                self.send_jvm(pid, jvm);
            }
        }
    }

    /// What found no room since the last time.
    pub(super) fn lost(&mut self) -> u64 {
        self.events.as_mut().map_or(0, Events::lost)
    }

    /// Waits for locks without their stack, and waits for work that are not reported, as there were
    /// too many.
    pub(super) fn limits(&self) -> (u64, u64) {
        let of = |kind: lock_loss| self.events.as_ref().map_or(0, |events| events.left_out(kind.0));
        (of(lock_loss::LOCK_WITHOUT_STACK), of(lock_loss::UNREPORTED_WORK))
    }

    /// Takes everything down.
    pub(super) fn stop(&mut self, cx: &mut Context<'_>) {
        let looking: Vec<u32> = self.looking.keys().copied().collect();
        looking.into_iter().for_each(|pid| self.give_up(pid, None, NONE_AT_WORK.into(), cx));
        self.followed.clear();
        (self.events, self.loaded) = (None, None);
    }
}

/// As `Thread.threadId()` and thread dumps number it.
fn name_of(number: u64) -> String {
    format!("virtual thread #{number}")
}

/// What virtual threads wait for that is not seen.
fn unseen(what: &str, pid: u32, why: String) -> Unavailable {
    let dump = || format!("jcmd {pid} Thread.dump_to_file -format=json threads.json shows where they wait");
    Unavailable {
        scope: Some(Scope::of_process(i64::from(pid)).of_virtual_threads(true)),
        what: format!("{what} that virtual threads of process {pid} wait for without their carriers"),
        remedy: remedy_of_uprobe().map_or_else(dump, str::to_owned),
        why,
    }
}

#[cfg(test)]
mod tests;
