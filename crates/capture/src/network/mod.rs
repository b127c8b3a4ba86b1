//! The network: connections that are made, names that are resolved, segments that are sent again.
//!
//! ```text
//!   tracepoint inet_sock_set_state: SYN sent ─▶ established, refused, timed out, closed ─▶ net.connect
//!   getaddrinfo of the mapped C library: entered ─▶ one of its returns ─────────────────▶ net.dns
//!   tracepoint tcp_retransmit_skb, summed up by connection, once a second ──────────────▶ net.retransmit
//! ```
//!
//! Waits for peers once connected are system calls (`syscalls`) and waits of the scheduler
//! (`sched`). DNS queries that a resolver left unanswered are seen in the long `poll` of a look-up,
//! where `syscalls` runs too.
//!
//! What cannot be seen: names that Java resolves itself (Netty's resolver, JNDI), and TLS, which in
//! Java is Java code.

mod event;
mod resolver;
pub(crate) mod socket_ends;
mod sockets;

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_recording::quantity;
use fathom_recording::vocabulary::{figure, kind, label};
use fathom_recording::{Scope, SpanRow, StackId};
use libbpf_rs::{Link, MapCore, UprobeOpts};
use syscalls::Errno;

use self::socket_ends::Ends;
use crate::bpf::object::skeleton;
use crate::bpf::record::{self, read};
use crate::bpf::{remedy_of_uprobe, whole};
use crate::event_stacks::Events;
use crate::jvm_events::budget::{Budget, Verdict, put_back};
use crate::procfs;
use crate::target::Change;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable};
use event::{Event, Kind};
use sockets::Sockets;

skeleton!("network");
use skeleton::{NetworkSkel, NetworkSkelBuilder, types};

/// What cannot be seen without it.
const WHAT: &str = "connections and name look-ups";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::NETWORK,
    about: "connections being made, names being resolved, retransmitted segments, with peer and stack",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Network::default()),
};

/// Connections and look-ups recorded with a stack, per second per CPU.
const MOST_STACKS: u32 = 500;
/// Events taken in one round; what is left waits in the kernel's buffer.
const MOST_EVENTS: usize = 50_000;
/// How often segments that were sent again are asked for.
const SECOND: Duration = Duration::from_secs(1);
/// How long a C library is waited for in a process that has just begun, and how often it is looked
/// for.
const PATIENCE: Duration = Duration::from_secs(5);
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// The probes of a process' C library.
struct Lookups {
    links: Vec<Link>,
    budget: Budget,
    /// Until when, and from when on, a library is looked for that is not mapped yet.
    until: Option<(Instant, Instant)>,
}

/// The collector.
#[derive(Default)]
struct Network {
    lookups: HashMap<i32, Lookups>,
    loaded: Option<NetworkSkel<'static>>,
    events: Option<Events<Event>>,
    /// Look-ups that are written the next time, with their stacks: by then what `syscalls` saw of
    /// them is known.
    held: Vec<(Event, Option<StackId>)>,
    sockets: Sockets,
    next_again: Option<Instant>,
    /// Processes that ended before a probe could be set in their C library.
    ended: u64,
}

impl Collector for Network {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let mut open = cx.kit(&ENTRY, WHAT).open(NetworkSkelBuilder::default())?;
        let config = &mut open.constants().config;
        (config.min_ns, config.most_stacks) = (cx.settings.min_ns.unwrap_or(0), MOST_STACKS);
        let mut loaded = open.load()?;
        self.events = Some(Events::of(&loaded, |bytes| Event::of(&read(bytes)?), MOST_EVENTS, cx)?);
        loaded.attach()?;
        self.loaded = Some(loaded.skel);
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        let Some(loaded) = &self.loaded else { return };
        // Where it finds no room, the scheduler's collector says so.
        event.mark(&loaded.maps.targets);
        if event.leaves() {
            self.lookups.remove(&pid);
        }
        if event.change == Change::Gone {
            return;
        }
        if self.lookups.get(&pid).is_none_or(|lookups| lookups.links.is_empty()) {
            let now = Instant::now();
            let until = Some((now + PATIENCE, now));
            self.lookups.insert(pid, Lookups { links: Vec::new(), budget: Budget::default(), until });
            self.look_for_libraries(cx);
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.look_for_libraries(cx);
        self.take_events(cx);
        self.keep_budgets(cx);
        let now = Instant::now();
        if self.next_again.is_none_or(|next| now >= next) {
            self.next_again = Some(now + SECOND);
            self.write_again(cx);
        }
        Ok(())
    }

    fn write_unfinished(&mut self, cx: &mut Context<'_>) {
        // Their stacks are given once, and are wanted when they are over.
        self.still_going(|_, _, _| None, cx);
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        self.take_events(cx);
        self.write_again(cx);
        self.still_going(Self::stack, cx);
        if let Some(loaded) = &mut self.loaded {
            loaded.links = skeleton::NetworkLinks::default();
        }
        self.lookups.clear();
        for (event, stack) in std::mem::take(&mut self.held) {
            self.write_lookup(&event, stack, cx);
        }
        let stackless = |events: &Events<Event>| events.left_out(types::network_loss::WITHOUT_STACK.0);
        let stackless = self.events.as_ref().map_or(0, stackless);
        if stackless > 0 {
            cx.unseen(Unavailable {
                scope: Some(Scope::nothing()),
                what: format!("stacks of {} connections and look-ups", quantity::count(stackless as f64)),
                why: "there were too many a second".into(),
                remedy: String::new(),
            });
        }
        if self.ended > 0 {
            cx.unseen(Unavailable {
                scope: Some(Scope::nothing()),
                what: format!(
                    "names looked up by short-lived children ({})",
                    quantity::count(self.ended as f64)
                ),
                why: "they ended before a probe was set".into(),
                remedy: String::new(),
            });
        }
        (self.events, self.loaded) = (None, None);
    }
}

impl Network {
    /// Attaches to the C libraries of processes that have one by now.
    fn look_for_libraries(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let now = Instant::now();
        for (pid, lookups) in &mut self.lookups {
            let Some((until, next)) = lookups.until.filter(|(_, next)| now >= *next) else { continue };
            match attach(loaded, *pid) {
                Ok(Some(links)) => (lookups.links, lookups.until) = (links, None),
                Ok(None) if now < until => lookups.until = Some((until, next + LOOK_EVERY)),
                // A process without a C library of its own resolves no names with it.
                Ok(None) => lookups.until = None,
                // It ended meanwhile: there may be hundreds of that kind, reported together.
                Err(_) if std::fs::read_link(procfs::path(*pid, "exe")).is_err() => {
                    (lookups.until, self.ended) = (None, self.ended + 1);
                }
                Err(why) => {
                    lookups.until = None;
                    cx.unseen(Unavailable {
                        scope: Some(Scope::of_process(i64::from(*pid))),
                        what: format!("names that process {pid} resolves"),
                        remedy: remedy_of_uprobe()
                            .unwrap_or("strace -f -ttt -T -e trace=network -p PID shows the queries")
                            .to_owned(),
                        why,
                    });
                }
            }
        }
    }

    /// Takes probes off that are hit too often, and puts them back when it is time.
    fn keep_budgets(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let mut taken_off = Vec::new();
        for (pid, lookups) in &mut self.lookups {
            match lookups.budget.judge(!lookups.links.is_empty()) {
                Verdict::Stay => {}
                Verdict::TakeOff { per_s, pause } => {
                    lookups.links.clear();
                    taken_off.push(*pid);
                    cx.unseen(Unavailable { scope: Some(Scope::of_process(i64::from(*pid))),
                        what: format!("names that process {pid} resolves, for part of the time"),
                        why: format!(
                            "there were {} a second, and each hit of a probe costs microseconds: taken off for \
                             {} s, and longer each time",
                            quantity::count(per_s),
                            pause.as_secs()
                        ),
                        remedy: String::new(),
                    });
                }
                Verdict::PutBack => {
                    let what = || format!("names that process {pid} resolves");
                    let (links, unseen) = put_back(attach(loaded, *pid), *pid, what);
                    lookups.links = links.unwrap_or_default();
                    let scope = Some(Scope::of_process(i64::from(*pid)));
                    unseen
                        .into_iter()
                        .for_each(|unseen| cx.unseen(Unavailable { scope: scope.clone(), ..unseen }));
                }
            }
        }
        taken_off.into_iter().for_each(|pid| self.forget_lookups(pid));
    }

    /// Forgets the look-ups under way of a process whose probes were taken off: their ends will not
    /// be seen, and must not be taken from later ones.
    fn forget_lookups(&self, pid: i32) {
        let Some(map) = self.loaded.as_ref().map(|loaded| &loaded.maps.lookups) else { return };
        for (key, event) in record::all::<u64, types::network_event>(map) {
            if event.pid.cast_signed() == pid {
                // One that was over by itself meanwhile is gone already.
                let _ = map.delete(&key.to_ne_bytes());
            }
        }
    }

    fn take_events(&mut self, cx: &mut Context<'_>) {
        let events = self.events.as_mut().map(Events::take).unwrap_or_default();
        for (event, stack) in std::mem::take(&mut self.held) {
            self.write_lookup(&event, stack, cx);
        }
        for event in events {
            // Now, while its process lives.
            let stack = self.stack(&event, cx);
            match event.kind {
                Kind::Connect => self.write_connect(&event, stack, cx),
                Kind::Lookup => {
                    if let Some(lookups) = self.lookups.get_mut(&event.pid.cast_signed()) {
                        lookups.budget.hit(1);
                    }
                    self.held.push((event, stack));
                }
            }
        }
        cx.source_mut().lost += self.events.as_mut().map_or(0, Events::lost);
    }

    fn write_connect(&mut self, event: &Event, stack: Option<StackId>, cx: &mut Context<'_>) {
        let mut labels: Vec<(&str, String)> = Vec::new();
        labels.extend(event.ends.peer("").map(|peer| (label::PEER, peer)));
        let error = (event.result != 0).then(|| Errno::new(event.result).name().unwrap_or("an error"));
        labels.extend(error.map(|error| (label::ERROR, error.to_owned())));
        if event.end_ns > 0 && !event.established && event.result == 0 {
            labels.push((label::REASON, "given up by the program".to_owned()));
        }
        let figures = [(figure::NONBLOCKING, f64::from(u8::from(event.nonblocking)))];
        self.span(kind::NET_CONNECT, "connect", (event, stack), &figures, labels, cx);
        if cx.targets.get(event.pid.cast_signed()).is_some_and(|target| target.jvm) {
            cx.unseen(Unavailable {
                scope: Some(Scope::of_kinds(&[kind::NET_TLS])),
                what: "TLS handshakes".into(),
                why: "a JVM's TLS is Java code: no system call and no probe shows one".into(),
                remedy: "a JFR file of the time with the recording: jcmd PID JFR.start settings=profile \
                         (jdk.TLSHandshake)"
                    .into(),
            });
        }
    }

    fn write_lookup(&mut self, event: &Event, stack: Option<StackId>, cx: &mut Context<'_>) {
        let end_ns = if event.end_ns > 0 { event.end_ns } else { u64::MAX };
        let asked = cx.services.dns_queries.within(event.tid, event.begin_ns, end_ns);
        let mut figures = vec![(figure::RESULT, f64::from(event.result))];
        let mut labels: Vec<(&str, String)> = Vec::new();
        if let Some(last) = asked.last() {
            labels.push((label::PEER, last.server.clone()));
            let timeouts = asked.iter().filter(|query| query.timed_out).count();
            figures.push((figure::TIMEOUTS, timeouts as f64));
        }
        labels.extend(event::lookup_error(event.result).map(|error| (label::ERROR, error)));
        self.span(kind::NET_DNS, &event.host, (event, stack), &figures, labels, cx);
    }

    /// What is not over at the end: of a peer that does not answer this may be all there is.
    fn still_going(
        &mut self,
        stack: fn(&mut Self, &Event, &mut Context<'_>) -> Option<StackId>,
        cx: &mut Context<'_>,
    ) {
        let ends_ns = cx.ends_ns();
        let Some(maps) = self.loaded.as_ref().map(|loaded| &loaded.maps) else { return };
        let mut left: Vec<(u64, types::network_event)> = record::all(&maps.connecting);
        left.extend(record::all(&maps.lookups));
        let left: Vec<Event> = left.iter().filter_map(|(_, event)| Event::of(event)).collect();
        for event in left.iter().filter(|event| event.begin_ns > 0 && event.begin_ns < ends_ns) {
            let stack = stack(self, event, cx);
            match event.kind {
                Kind::Connect => self.write_connect(event, stack, cx),
                Kind::Lookup => self.write_lookup(event, stack, cx),
            }
        }
    }

    fn span(
        &mut self,
        kind: &str,
        name: &str,
        (event, stack): (&Event, Option<StackId>),
        figures: &[(&str, f64)],
        mut labels: Vec<(&'static str, String)>,
        cx: &mut Context<'_>,
    ) {
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let mut end_ns = event.end_ns;
        if end_ns == 0 {
            end_ns = cx.ends_ns();
            labels.push((label::CUT, "the recording ended".to_owned()));
        }
        let process = cx.process(pid);
        let thread = cx.thread_called(pid, tid, &event.comm);
        cx.sink.span(&SpanRow {
            thread: Some(thread),
            stack,
            figures,
            labels: &labels.iter().map(|(key, text)| (*key, text.as_str())).collect::<Vec<_>>(),
            ..SpanRow::new(
                kind,
                name,
                (cx.clock.epoch_ns(event.begin_ns.cast_signed()), cx.clock.epoch_ns(end_ns.cast_signed())),
                process,
                cx.source,
            )
        });
        cx.source_mut().records += 1;
    }

    fn stack(&mut self, event: &Event, cx: &mut Context<'_>) -> Option<StackId> {
        self.events.as_mut()?.stack((event.pid, event.tid), event.stack_ns, cx)
    }

    /// Segments that were sent again since the last time, of sockets of the targets.
    fn write_again(&mut self, cx: &mut Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let map = &loaded.maps.again;
        let Ok(taken) = whole::taken::<u64, types::network_again>(map) else { return };
        let taken: Vec<_> = taken.map(|(_, again)| again).collect();
        let now_ns = cx.clock.epoch_now_ns();
        for again in taken {
            let pids = self.lookups.keys().copied();
            let begun = (again.pid > 0).then(|| again.pid.cast_signed());
            let Some(pid) = begun.or_else(|| self.sockets.owner(again.inode, pids)) else { continue };
            let process = cx.process(pid);
            let peer = Ends::of(&again.ends).peer("").unwrap_or_default();
            cx.sink.span(&SpanRow {
                figures: &[(figure::SEGMENTS, again.segments as f64)],
                labels: &[(label::PEER, peer.as_str())],
                ..SpanRow::new(kind::NET_RETRANSMIT, "retransmit", (now_ns, now_ns), process, cx.source)
            });
            cx.source_mut().records += 1;
        }
    }
}

/// Attaches to the C library of a process. `Ok(None)`: it has mapped none.
fn attach(loaded: &NetworkSkel<'_>, pid: i32) -> Result<Option<Vec<Link>>, String> {
    let Some(resolver) = resolver::find(pid)? else { return Ok(None) };
    let at = |offset: usize, program: &libbpf_rs::ProgramMut<'_>| {
        let opts = UprobeOpts { func_name: Some(resolver::FUNCTION.to_owned()), ..UprobeOpts::default() };
        let link = program.attach_uprobe_with_opts(pid, &resolver.library, offset, opts);
        link.map_err(|error| format!("{}: {error:#}", resolver.library.display()))
    };
    let mut links = Vec::new();
    // Ends first, so that no look-up begins whose end is missed.
    for offset in &resolver.returns {
        links.push(at(*offset, &loaded.progs.on_lookup_end)?);
    }
    links.push(at(0, &loaded.progs.on_lookup)?);
    Ok(Some(links))
}
