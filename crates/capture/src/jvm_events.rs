//! The JVM's own events: collections, safepoints, VM operations, compilations,
//! classes, threads.
//!
//! HotSpot carries USDT probes for them that need no flag (`hotspot.d`, `hs_private.d`,
//! src/hotspot/share/utilities/dtrace.hpp; JDK 8 to 25 wherever the vendor builds with
//! `--enable-dtrace`, which most do). A hit costs some microseconds on real machines and ten on a
//! nested virtual one, so that only probes of low rates are used, and those that are hit too often
//! are taken off for a while ([`budget`]). A library without probes that still has its symbols is
//! watched by its functions ([`functions`]).
//!
//! ```text
//!   probe ─▶ jvm_events.bpf.c ─▶ ring buffer ─▶ Record ─▶ Assembly of its target ─▶ spans
//! ```

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use fathom_recording::SpanRow;
use fathom_recording::quantity;
use fathom_recording::vocabulary::kind;

use crate::bpf::remedy_of_uprobe;
use crate::clock::monotonic_ns;
use crate::perf_memory::PerfMemory;
use crate::starts::Expected;
use crate::target::{Change, Target, TargetEvent};
use crate::{CaptureEngine, Collector, Context, Entry, Order, Settings, Unavailable};
use assembly::Assembly;
use budget::{Budget, Verdict, put_back};
use functions::Names;
use probes::{GROUPS, Group, Loaded};

mod assembly;
pub(crate) mod budget;
mod functions;
mod names;
mod probes;
mod record;

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::JVM_EVENTS,
    about: "collections, safepoints, VM operations, compilations, classes, threads, through libjvm's probes",
    engine: CaptureEngine::Ebpf,
    needs: &[],
    essential: true,
    default: true,
    order: Order::StopsLast,
    make: |_: &Settings| Box::new(JvmEvents::default()),
};

/// What cannot be seen without it.
const WHAT: &str = "events of the JVM (collections, safepoints, compilations, classes, threads)";

/// JVMs that are followed at a time: the map of losses has as many entries.
const MAX_SLOTS: usize = 256;

/// How long is waited for a young JVM to publish its counters.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often it is written down that a JVM's stops are being watched: what a killed recording
/// forgets.
const RUN_PIECE: Duration = Duration::from_secs(10);

/// The collector.
#[derive(Default)]
pub struct JvmEvents {
    loaded: Option<Loaded>,
    /// By slot.
    jvms: BTreeMap<u32, Jvm>,
    next_slot: u32,
    /// What comes in later is not taken, monotonic clock: probes stay for some time after the end
    /// was signalled.
    until_ns: Option<i64>,
}

/// A JVM with its probes.
struct Jvm {
    target: Target,
    assembly: Assembly,
    /// In the order of [`GROUPS`].
    groups: Vec<Attached>,
    /// Since when its stops are watched and not yet written down, recording's clock.
    watched_since_ns: Option<i64>,
    next_piece: Instant,
    /// Until when the causes of its collections are looked for; `None` once they are found or given
    /// up.
    causes_until: Option<Instant>,
    lost: u64,
    /// Where functions stand in for probes: what they are called with.
    functions: Option<Names>,
}

struct Attached {
    links: Vec<libbpf_rs::Link>,
    budget: Budget,
}

impl JvmEvents {
    fn attach(&mut self, target: &Target, cx: &mut Context<'_>) {
        let Some(loaded) = &mut self.loaded else { return };
        let already = self.jvms.values().any(|jvm| jvm.target.pid == target.pid);
        if !target.jvm || already {
            return;
        }
        let slot = (0..MAX_SLOTS as u32).map(|i| (self.next_slot + i) % MAX_SLOTS as u32);
        let Some(slot) = slot.into_iter().find(|slot| !self.jvms.contains_key(slot)) else {
            cx.unseen(Unavailable {
                scope: None,
                what: format!("events of further JVMs (pid {} and later ones)", target.pid),
                why: format!("{MAX_SLOTS} are followed already"),
                remedy: "record fewer at a time: -p PID or --name RE".into(),
            });
            return;
        };
        self.next_slot = slot + 1;
        let mut groups = Vec::new();
        let mut missing: Vec<&str> = Vec::new();
        let mut refused: Vec<(&str, String)> = Vec::new();
        let mut why = String::new();
        for group in &GROUPS {
            let attached = loaded.attach(group, target.pid, slot);
            match &attached {
                Ok(_) => {}
                // Only probes on functions take a further right.
                Err(error) if group.is_of_functions() && remedy_of_uprobe().is_some() => {
                    refused.push((group.what, error.clone()));
                }
                Err(error) => {
                    missing.push(group.what);
                    why.clone_from(error);
                }
            }
            groups.push(Attached { links: attached.unwrap_or_default(), budget: Budget::default() });
        }
        let functions = groups[..probes::STOPS]
            .iter()
            .all(|group| group.links.is_empty())
            .then(|| stand_in(loaded, target.pid, slot, &mut groups, &mut missing))
            .flatten();
        for (what, why) in refused {
            let name = cx.sink.process_mut(target.process).name.clone();
            cx.unseen(Unavailable {
                scope: None,
                what: format!("{what} of {name} (pid {})", target.pid),
                why,
                remedy: remedy_of_uprobe().unwrap_or_default().into(),
            });
        }
        if !missing.is_empty() {
            let name = cx.sink.process_mut(target.process).name.clone();
            cx.unseen(Unavailable { scope: None,
                what: format!("{} of {name} (pid {})", missing.join(", "), target.pid),
                why: format!("its libjvm has no such probes, or they cannot be attached ({why})"),
                remedy: "a GC log: -Xlog:gc*,safepoint:file=gc.log (JDK 8: -Xloggc:gc.log); or a JDK built with --enable-dtrace (Temurin, \
                         Debian)"
                    .into(),
            });
        }
        let now_ns = cx.clock.epoch_now_ns();
        let sees_stops =
            functions.is_some() || groups[..probes::STOPS].iter().all(|group| !group.links.is_empty());
        let jvm = Jvm {
            target: target.clone(),
            assembly: Assembly::new(target.clone()),
            groups,
            watched_since_ns: sees_stops.then_some(now_ns),
            next_piece: Instant::now() + RUN_PIECE,
            causes_until: Some(Instant::now() + PATIENCE),
            lost: 0,
            functions,
        };
        self.jvms.insert(slot, jvm);
        self.find_causes(cx);
    }

    /// Looks where the causes of collections stand: a JVM publishes its counters some time after
    /// its start.
    fn find_causes(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        for (slot, jvm) in &mut self.jvms {
            let Some(until) = jvm.causes_until else { continue };
            let pid = jvm.target.pid;
            if loaded.send_causes(*slot, PerfMemory::find(pid).as_ref()) {
                jvm.causes_until = None;
            } else if Instant::now() >= until {
                jvm.causes_until = None;
                cx.unseen(Unavailable {
                    scope: None,
                    what: format!("causes of collections of pid {pid}"),
                    why: "the JVM does not publish its counters".into(),
                    remedy:
                        "leave -XX:-UsePerfData and -XX:+PerfDisableSharedMem out, or a GC log: -Xlog:gc*"
                            .into(),
                });
            }
        }
    }

    /// Takes the probes of a JVM off and writes down what is left of it.
    fn detach(&mut self, pid: i32, cx: &mut Context<'_>) {
        self.take_records(cx);
        let slots: Vec<u32> =
            self.jvms.iter().filter(|(_, j)| j.target.pid == pid).map(|(s, _)| *s).collect();
        for slot in slots {
            if let Some(mut jvm) = self.jvms.remove(&slot) {
                jvm.watched_until(cx.clock.epoch_now_ns(), cx);
                jvm.assembly.finish(cx);
            }
        }
    }

    /// Turns what came in into spans. Losses are counted from the map that the program keeps.
    fn take_records(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &mut self.loaded else { return };
        let mut records = loaded.records();
        let until_ns = self.until_ns.unwrap_or(i64::MAX);
        for record in records.iter_mut().filter(|record| record.t_ns <= until_ns) {
            let Some(jvm) = self.jvms.get_mut(&record.slot) else { continue };
            if let Some(attached) = jvm.groups.get_mut(probes::group_of(record.kind)) {
                attached.budget.hit(1);
            }
            record.of_function = jvm.functions.is_some();
            if jvm.functions.as_mut().is_none_or(|functions| functions.complete(record)) {
                jvm.assembly.take(record, cx);
            }
        }
        cx.source_mut().records += records.len() as u64;
        for (slot, jvm) in &mut self.jvms {
            if let Some(why) = jvm.functions.as_mut().and_then(Names::take_failure) {
                cx.unseen(Unavailable {
                    scope: None,
                    what: format!("compilations and classes of pid {}", jvm.target.pid),
                    why,
                    remedy: "a JIT log: -XX:+UnlockDiagnosticVMOptions -XX:+LogCompilation".into(),
                });
            }
            let count = loaded.lost(*slot);
            if count > jvm.lost {
                cx.sink.source_mut(cx.source).lost += count - jvm.lost;
                jvm.lost = count;
                jvm.assembly.forget();
            }
        }
    }

    /// Says what will be reported of starts of threads, for whoever waits for the rest of one.
    fn expect_starts(&self, cx: &mut Context<'_>) {
        cx.services.starts.seen(monotonic_ns().max(0).cast_unsigned());
        for jvm in self.jvms.values() {
            let is_on = |group: usize| jvm.groups.get(group).is_some_and(|group| !group.links.is_empty());
            let expected = Expected { java: is_on(probes::THREADS), calls: is_on(probes::STARTS) };
            cx.services.starts.expect(jvm.target.pid, expected);
        }
    }

    /// Takes probes off that are hit too often, and puts them back when it is time.
    fn keep_budgets(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &mut self.loaded else { return };
        for (slot, jvm) in &mut self.jvms {
            for (i, group) in GROUPS.iter().enumerate() {
                let Some(attached) = jvm.groups.get_mut(i) else { continue };
                match attached.budget.judge(!attached.links.is_empty()) {
                    Verdict::Stay => {}
                    Verdict::TakeOff { per_s, pause } => {
                        attached.links.clear();
                        cx.unseen(too_many(group, jvm.target.pid, per_s, pause));
                        if i == probes::STARTS {
                            cx.services.starts.calls_are_off(monotonic_ns().max(0).cast_unsigned());
                        }
                        if i < probes::STOPS {
                            jvm.watched_until(cx.clock.epoch_now_ns(), cx);
                            jvm.watched_since_ns = None;
                            jvm.assembly.forget();
                        }
                    }
                    Verdict::PutBack => {
                        let (pid, by_functions) = (jvm.target.pid, jvm.functions.is_some());
                        let links = match functions::of_group(i).filter(|_| by_functions) {
                            Some(functions) => loaded.attach_functions(functions, pid, *slot),
                            None => loaded.attach(group, pid, *slot),
                        };
                        let (links, unseen) = put_back(links, pid, || format!("{} of pid {pid}", group.what));
                        attached.links = links;
                        unseen.into_iter().for_each(|unseen| cx.unseen(unseen));
                        let seen = by_functions && i == probes::OPERATIONS && !attached.links.is_empty();
                        if seen || jvm.groups[..probes::STOPS].iter().all(|group| !group.links.is_empty()) {
                            jvm.watched_since_ns.get_or_insert(cx.clock.epoch_now_ns());
                        }
                    }
                }
            }
        }
    }
}

/// Attaches to functions of a library that has no probes, and takes what they report from what is
/// missing. `None`: it has no such functions either.
fn stand_in(
    loaded: &mut Loaded,
    pid: i32,
    slot: u32,
    groups: &mut [Attached],
    missing: &mut Vec<&str>,
) -> Option<Names> {
    let mut names = None;
    for (group, functions) in functions::STAND_INS {
        let Ok(links) = loaded.attach_functions(functions, pid, slot) else { continue };
        if group != probes::OPERATIONS && names.is_none() {
            return None;
        }
        names.get_or_insert_with(|| Names::of(pid, &probes::library_of(pid).unwrap_or_default()));
        groups[group].links = links;
        missing.retain(|what| *what != GROUPS[group].what);
    }
    if names.is_some() {
        // Those are known by the operations that make them.
        missing.retain(|what| *what != GROUPS[0].what);
        missing.extend((!groups[probes::CLASSES].links.is_empty()).then_some("unloaded classes"));
    }
    names
}

fn too_many(group: &Group, pid: i32, per_s: f64, pause: Duration) -> Unavailable {
    Unavailable {
        scope: None,
        what: format!("{} of pid {pid}, for part of the time", group.what),
        why: format!(
            "there were {} a second, and each hit of a probe costs microseconds: taken off for {} s, and longer \
             each time",
            quantity::count(per_s),
            pause.as_secs()
        ),
        remedy: group.instead.into(),
    }
}

impl Jvm {
    /// Writes down that its stops were watched until now: without it, an interval without a
    /// collection would look like one of which nothing is known.
    fn watched_until(&mut self, now_ns: i64, cx: &mut Context<'_>) {
        self.write_watched(now_ns, cx);
        self.watched_since_ns = self.watched_since_ns.map(|_| now_ns);
    }

    fn write_watched(&self, now_ns: i64, cx: &mut Context<'_>) {
        let Some(since_ns) = self.watched_since_ns else { return };
        cx.sink.span(&SpanRow::new(
            kind::RUN,
            "watched by probes",
            (since_ns, now_ns),
            self.target.process,
            cx.source,
        ));
    }
}

impl Collector for JvmEvents {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.loaded = Some(Loaded::load(cx.kit(&ENTRY, WHAT))?);
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        match event.change {
            Change::Appeared | Change::BecameJvm => self.attach(&event.target, cx),
            Change::Exec => {
                self.detach(event.target.pid, cx);
                self.attach(&event.target, cx);
            }
            Change::Gone => self.detach(event.target.pid, cx),
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.expect_starts(cx);
        self.take_records(cx);
        self.keep_budgets(cx);
        self.find_causes(cx);
        let now = Instant::now();
        for jvm in self.jvms.values_mut().filter(|jvm| now >= jvm.next_piece) {
            jvm.next_piece = now + RUN_PIECE;
            jvm.watched_until(cx.clock.epoch_now_ns(), cx);
        }
        Ok(())
    }

    fn write_unfinished(&mut self, cx: &mut Context<'_>) {
        let now_ns = cx.clock.epoch_now_ns();
        for jvm in self.jvms.values() {
            jvm.write_watched(now_ns, cx);
            jvm.assembly.write_unfinished(cx);
        }
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        // The kernel takes its time to let go of probes: what is watched ends before that.
        self.until_ns = Some(monotonic_ns());
        let now_ns = cx.clock.epoch_now_ns();
        for jvm in self.jvms.values_mut() {
            jvm.watched_until(now_ns, cx);
            jvm.watched_since_ns = None;
        }
        self.jvms.values_mut().flat_map(|jvm| &mut jvm.groups).for_each(|group| group.links.clear());
        self.take_records(cx);
        let pids: Vec<i32> = self.jvms.values().map(|jvm| jvm.target.pid).collect();
        pids.into_iter().for_each(|pid| self.detach(pid, cx));
        self.loaded = None;
    }
}
