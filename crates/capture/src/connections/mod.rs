//! What the TCP connections of a process are limited by, once a second: the round trip to the peer,
//! the receive windows of both sides, the send buffer, what was not read; and how many connections
//! wait to be accepted.
//!
//! ```text
//!   once a second: iterator over the files of the process ─▶ its TCP sockets (`sample`)
//!     ─▶ what rose since the second before, by peer (`sums`) ─▶ process.connections…, process.accept-queue
//! ```
//!
//! A slow peer, a slow way to it, a window that is too small and a program that does not read make
//! the same waits of threads: the kernel's figures of the connection distinguish them. They are
//! those that `ss -ti` shows (tcp_info of include/uapi/linux/tcp.h).
//!
//! What cannot be seen: connections that begin and end between two readings. The round trip is
//! until the peer's kernel acknowledges, which it may put off while the peer has nothing to send: a
//! short one says that the way is short, a long one of up to 40 ms may be a slow peer.

mod sample;
mod sums;

use std::collections::{BTreeMap, HashMap};
use std::time::{Duration, Instant};

use fathom_recording::vocabulary::{live, source};
use fathom_recording::{ProcessId, Scope, quantity};
use rustix::time::{ClockId, clock_getres};

use crate::bpf::iterator::OfProcess;
use crate::bpf::object::skeleton;
use crate::clock::nanos;
use crate::growing_series::{Gauge, Points};
use crate::target::Change;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Settings, TargetEvent, Unavailable};
use sample::Socket;
use sums::{Connections, Sum};

skeleton!("connections");
use skeleton::{ConnectionsSkel, ConnectionsSkelBuilder};

/// What cannot be seen without it.
const WHAT: &str = "what TCP connections are limited by";

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: source::CONNECTIONS,
    about: "what TCP connections are limited by: round trip, receive windows, send buffer, accept queue",
    engine: CaptureEngine::Ebpf,
    needs: &[],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Collected::default()),
};

/// How often sockets are read; of processes with very many, less often: they are read for one part
/// in [`PART`] of the time at most.
const PERIOD: Duration = Duration::from_secs(1);
const PART: u32 = 200;
/// Processes that are read.
const MOST_PROCESSES: usize = 64;

/// The series of one peer.
struct Gauges {
    connections: Gauge,
    round_trip: Gauge,
    window: Gauge,
    busy: Gauge,
    window_full: Gauge,
    buffer_short: Gauge,
    unread: Gauge,
    unacknowledged: Gauge,
}

impl Gauges {
    fn of(process: ProcessId, peer: &str) -> Self {
        let gauge = |word| Gauge::of(word, peer, process);
        Self {
            connections: gauge(live::CONNECTIONS),
            round_trip: gauge(live::ROUND_TRIP),
            window: gauge(live::RECEIVE_WINDOW),
            busy: gauge(live::SENDING),
            window_full: gauge(live::PEER_WINDOW_FULL),
            buffer_short: gauge(live::SEND_BUFFER_SHORT),
            unread: gauge(live::UNREAD),
            unacknowledged: gauge(live::UNACKNOWLEDGED),
        }
    }

    /// `dt_ns`: since the reading before; `None`: this is the first.
    fn write(&mut self, sum: &Sum, dt_ns: Option<i64>, points: &mut Points<'_, '_>) {
        let Some(dt_ns) = dt_ns else { return };
        let each = |seconds: f64| seconds / (dt_ns as f64 / 1e9);
        points.point(&mut self.connections, dt_ns, sum.connections);
        points.point(&mut self.busy, dt_ns, each(sum.busy_s));
        points.point(&mut self.window_full, dt_ns, each(sum.window_full_s));
        points.point(&mut self.buffer_short, dt_ns, each(sum.buffer_short_s));
        points.point(&mut self.unread, dt_ns, sum.unread);
        points.point(&mut self.unacknowledged, dt_ns, sum.unacknowledged);
        for (gauge, value) in [(&mut self.round_trip, sum.round_trip_ms), (&mut self.window, sum.window)] {
            value.into_iter().for_each(|value| points.point(gauge, dt_ns, value));
        }
    }
}

/// A process whose sockets are read.
struct Watched {
    sockets: OfProcess,
    connections: Connections,
    gauges: BTreeMap<String, Gauges>,
    queues: BTreeMap<u16, (Gauge, Gauge)>,
    next: Instant,
    last_ns: Option<i64>,
}

impl Watched {
    fn new(sockets: OfProcess) -> Self {
        let (gauges, queues) = (BTreeMap::new(), BTreeMap::new());
        let connections = Connections::default();
        Self { sockets, connections, gauges, queues, next: Instant::now(), last_ns: None }
    }

    fn read(&mut self, pid: i32, tick_s: f64, cx: &mut Context<'_>) -> std::io::Result<()> {
        let before = nanos(ClockId::ThreadCPUTime);
        let sockets = sample::sockets(&self.sockets)?;
        let now_ns = cx.ends_ns().cast_signed();
        let dt_ns = self.last_ns.replace(now_ns).map(|last| (now_ns - last).max(1));
        let dt_s = dt_ns.unwrap_or(0) as f64 / 1e9;
        let mut sums = self.connections.take(&sockets, tick_s, dt_s);
        // Peers without a connection by now have none, and are not forgotten.
        for peer in self.gauges.keys().filter(|peer| !sums.contains_key(*peer)).cloned().collect::<Vec<_>>() {
            sums.insert(peer, Sum::default());
        }
        let mut points = Points::new(cx, dt_ns.map(|dt| now_ns - dt), now_ns);
        for (peer, sum) in sums {
            let process = points.process(pid);
            let gauges = self.gauges.entry(peer).or_insert_with_key(|peer| Gauges::of(process, peer));
            gauges.write(&sum, dt_ns, &mut points);
        }
        for socket in sockets {
            let Socket::Listens { port, queue, most } = socket else { continue };
            let process = points.process(pid);
            let (waiting, limit) = self.queues.entry(port).or_insert_with(|| {
                let gauge = |word| Gauge::of(word, &format!(":{port}"), process);
                (gauge(live::ACCEPT_QUEUE), gauge(live::ACCEPT_QUEUE_LIMIT))
            });
            points.gauge(waiting, queue.into());
            points.gauge(limit, most.into());
        }
        let written = points.written();
        cx.source_mut().records += written;
        let took = Duration::from_nanos((nanos(ClockId::ThreadCPUTime) - before).max(0).cast_unsigned());
        self.next = Instant::now() + PERIOD.max(took * PART);
        Ok(())
    }
}

/// The collector.
#[derive(Default)]
struct Collected {
    loaded: Option<ConnectionsSkel<'static>>,
    watched: HashMap<i32, Watched>,
    tick_s: f64,
    /// Processes for which there was no room.
    left_out: usize,
}

impl Collector for Collected {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let loaded = cx.kit(&ENTRY, WHAT).open(ConnectionsSkelBuilder::default())?.load()?;
        self.loaded = Some(loaded.skel);
        // The coarse clock moves at each tick.
        self.tick_s = clock_getres(ClockId::MonotonicCoarse).tv_nsec as f64 / 1e9;
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        if event.leaves() {
            self.watched.remove(&pid);
        }
        if event.change == Change::Gone || self.watched.contains_key(&pid) {
            return;
        }
        if self.watched.len() >= MOST_PROCESSES {
            self.left_out += 1;
            return;
        }
        let Some(loaded) = &self.loaded else { return };
        match OfProcess::attach(&loaded.progs.on_file, pid) {
            Ok(sockets) => drop(self.watched.insert(pid, Watched::new(sockets))),
            Err(error) => cx.unseen(unreadable(pid, &error)),
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let now = Instant::now();
        let tick_s = self.tick_s;
        let mut failed = Vec::new();
        for (pid, watched) in self.watched.iter_mut().filter(|(_, watched)| now >= watched.next) {
            if let Err(error) = watched.read(*pid, tick_s, cx) {
                failed.push((*pid, error));
            }
        }
        for (pid, error) in failed {
            self.watched.remove(&pid);
            cx.unseen(unreadable(pid, &error));
        }
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        let tick_s = self.tick_s;
        let due = Instant::now() + PERIOD / 2;
        for (pid, watched) in self.watched.iter_mut().filter(|(_, watched)| due >= watched.next) {
            // A process that has ended has no sockets.
            let _ = watched.read(*pid, tick_s, cx);
        }
        if self.left_out > 0 {
            cx.unseen(Unavailable {
                scope: Some(Scope::nothing()),
                what: format!("{WHAT}, of {}", quantity::plural(self.left_out, "process", "processes")),
                why: format!("{MOST_PROCESSES} others are read"),
                remedy: "record the process alone, with -p".into(),
            });
        }
        self.watched.clear();
        self.loaded = None;
    }
}

fn unreadable(pid: i32, error: &std::io::Error) -> Unavailable {
    Unavailable {
        // Figures of connections alone: everything else of the process is seen.
        scope: Some(Scope::nothing()),
        what: format!("{WHAT}, of process {pid}"),
        why: format!("the sockets of the process cannot be read: {error}"),
        remedy: "Linux 6.1 or newer; `ss -ti` shows the same figures meanwhile".into(),
    }
}
