//! Requests that a JVM answers: how many, and how long from the first bytes of each to the first of
//! its answer, by what comes and goes over the connections that it accepted. And how long its peers
//! take to answer, over the connections that it made ([`peers`]).
//!
//! ```text
//!   accepted: tracepoint sock_recv_length ─▶ a request has begun on its connection ─┐
//!             tracepoint sock_send_length ─▶ it is answered ────────────────────────┴─▶ process.requests, process.request-time
//!   made:     tracepoint sock_send_length ─▶ an answer is waited for ───────────────┐
//!             tracepoint sk_data_ready ────▶ it arrives ────────────────────────────┼─▶ process.peer.answer-time
//!             tracepoint sock_recv_length ─▶ it is read ────────────────────────────┴─▶ process.peer.unread-time, all twice a second
//!             tracepoint inet_sock_set_state ─▶ it is closed before that ─▶ process.peer.given-up
//! ```
//!
//! What threads do for a request is seen elsewhere. This time belongs to no thread: a request that
//! is in a queue, or whose answer is held back until a timer fires, takes as long as one that a
//! thread works on.
//!
//! What cannot be seen: how long a request waits in the kernel before the JVM reads it. Several
//! requests at a time over one connection (HTTP/2, pipelines) count as one until the next answer. A
//! server that sends without being asked is not counted. A connection that was accepted at a port
//! on which the JVM began to listen less than two seconds ago counts as made until then.

mod peers;

use std::collections::{HashMap, HashSet};
use std::time::{Duration, Instant};

use fathom_recording::ProcessId;
use fathom_recording::vocabulary::{live, source};
use libbpf_rs::{MapCore, MapFlags};

use crate::bpf::attached::attached;
use crate::bpf::losses::Losses;
use crate::bpf::object::skeleton;
use crate::bpf::whole;
use crate::clock::monotonic_ns;
use crate::growing_series::{Gauge, Points};
use crate::{CaptureEngine, Collector, Context, Entry, Order, Settings, Unavailable, procfs};

skeleton!("requests");
use peers::Peers;
use skeleton::RequestsSkelBuilder;
use skeleton::types::answered;

attached!(RequestsSkel, RequestsMaps, RequestsLinks: answers, listening, peer_answers, watched);

/// What cannot be seen without it.
const WHAT: &str = "requests that a JVM answers, and how long they take";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: source::REQUESTS,
    about: "how long requests took to be answered: by the JVM and, over connections that it made, by its peers",
    engine: CaptureEngine::Ebpf,
    needs: &[],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Requests::default()),
};

/// How often answers are taken out of the kernel.
const TICK: Duration = Duration::from_millis(500);
/// How often the ports are read on which JVMs listen, and of how many JVMs.
const PORTS_EVERY: Duration = Duration::from_secs(2);
const MOST_JVMS: usize = 64;
/// Ports of one JVM's network namespace that are watched at most.
const MOST_PORTS: usize = 120;

/// The series of a process.
struct Gauges {
    requests: Gauge,
    time: Gauge,
    longest: Gauge,
}

impl Gauges {
    fn of(process: ProcessId) -> Self {
        let gauge = |word| Gauge::of(word, "", process);
        Self {
            requests: gauge(live::PROCESS_REQUESTS),
            time: gauge(live::PROCESS_REQUEST_TIME),
            longest: gauge(live::PROCESS_REQUEST_LONGEST),
        }
    }
}

/// The collector.
#[derive(Default)]
struct Requests {
    loaded: Option<Attached>,
    losses: Option<Losses>,
    /// Keys of the map of ports.
    ports: HashSet<u64>,
    /// Keys of the map of processes.
    jvms: HashSet<u32>,
    gauges: HashMap<i32, Gauges>,
    peers: Peers,
    next_ports: Option<Instant>,
    next_tick: Option<Instant>,
    last_ns: Option<i64>,
}

impl Collector for Requests {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let mut loaded = cx.kit(&ENTRY, WHAT).open(RequestsSkelBuilder::default())?.load()?;
        self.losses = Some(loaded.losses()?);
        loaded.attach()?;
        self.loaded = Some(loaded.keep(Attached::of)?);
        self.watch_ports(cx);
        Ok(())
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        self.watch_ports(cx);
        self.take();
        if let Some(loaded) = &self.loaded {
            peers::take(&loaded.maps.peer_answers);
        }
        self.last_ns = Some(monotonic_ns());
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let now = Instant::now();
        if self.next_ports.is_none_or(|next| now >= next) {
            self.next_ports = Some(now + PORTS_EVERY);
            self.watch_ports(cx);
        }
        if self.next_tick.is_none_or(|next| now >= next) {
            self.next_tick = Some(now + TICK);
            self.write(cx);
        }
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        if let Some(loaded) = &mut self.loaded {
            loaded.links = skeleton::RequestsLinks::default();
        }
        self.write(cx);
        self.loaded = None;
    }
}

impl Requests {
    /// Enters the JVMs, and the ports on which they listen, into the maps of the programs.
    fn watch_ports(&mut self, cx: &Context<'_>) {
        let Some(loaded) = &self.loaded else { return };
        let jvms = || cx.targets.iter().filter(|target| target.jvm).take(MOST_JVMS);
        let of_jvm = |pid: i32| {
            let mut ports: Vec<u16> = procfs::listening::ports(pid).into_iter().collect();
            ports.sort_unstable();
            let key = move |port: u16| u64::from(pid.cast_unsigned()) << 16 | u64::from(port);
            ports.into_iter().take(MOST_PORTS).map(key)
        };
        // The maps have room for all of them, and what is not there any more is as good as deleted.
        let wanted: HashSet<u64> = jvms().flat_map(|target| of_jvm(target.pid)).collect();
        let map = &loaded.maps.listening;
        for gone in self.ports.difference(&wanted) {
            let _ = map.delete(&gone.to_ne_bytes());
        }
        for new in wanted.difference(&self.ports) {
            let _ = map.update(&new.to_ne_bytes(), &[1], MapFlags::ANY);
        }
        self.ports = wanted;
        // After the ports: a connection that was accepted must not count as made.
        let wanted: HashSet<u32> = jvms().map(|target| target.pid.cast_unsigned()).collect();
        let map = &loaded.maps.watched;
        for gone in self.jvms.difference(&wanted) {
            let _ = map.delete(&gone.to_ne_bytes());
        }
        for new in wanted.difference(&self.jvms) {
            let _ = map.update(&new.to_ne_bytes(), &[1], MapFlags::ANY);
        }
        self.jvms = wanted;
    }

    /// By process, what was answered since the last time.
    fn take(&self) -> Vec<(i32, answered)> {
        let Some(loaded) = &self.loaded else { return Vec::new() };
        whole::taken(&loaded.maps.answers).map(Iterator::collect).unwrap_or_default()
    }

    fn write(&mut self, cx: &mut Context<'_>) {
        let now_ns = cx.ends_ns().cast_signed();
        let taken = self.take();
        let by_peers = self.loaded.as_ref().map(|loaded| peers::take(&loaded.maps.peer_answers));
        let Some(last_ns) = self.last_ns.replace(now_ns) else { return };
        let dt_ns = (now_ns - last_ns).max(1);
        let mut silent: HashSet<i32> = self.gauges.keys().copied().collect();
        let mut points = Points::new(cx, Some(last_ns), now_ns);
        for (pid, answered) in taken.into_iter().filter(|(_, answered)| answered.count > 0) {
            silent.remove(&pid);
            let process = points.process(pid);
            let gauges = self.gauges.entry(pid).or_insert_with(|| Gauges::of(process));
            let count = answered.count as f64;
            points.point(&mut gauges.requests, dt_ns, count / (dt_ns as f64 / 1e9));
            points.point(&mut gauges.time, dt_ns, answered.total_ns as f64 / count / 1e6);
            points.point(&mut gauges.longest, dt_ns, answered.longest_ns as f64 / 1e6);
        }
        // A JVM that answered before and answers nothing now.
        for pid in silent {
            if let Some(gauges) = self.gauges.get_mut(&pid) {
                points.point(&mut gauges.requests, dt_ns, 0.0);
            }
        }
        self.peers.write(&mut points, dt_ns, by_peers.unwrap_or_default());
        let written = points.written();
        let lost = self.losses.as_mut().map_or(0, Losses::take);
        let source = cx.source_mut();
        source.records += written;
        source.lost += lost;
    }
}
