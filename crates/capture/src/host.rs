//! The machine and the recorded processes in numbers, once a second, from `/proc` and
//! `/sys/fs/cgroup`.
//!
//! One file a source, one line in `sources`. Every source reads its files in full each second, so
//! that a second costs what it costs and not more; together they stay below half a percent of a
//! CPU (measured and recorded as
//! [`live::FATHOM_CPU`]), and those whose cost depends on the machine (one file for each process)
//! read less often when
//! they would pass that.

use std::time::{Duration, Instant};

use fathom_recording::vocabulary::live;
use rustix::time::ClockId;

use crate::clock::{monotonic_ns, nanos};
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::Stat;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Settings, TargetEvent, Unavailable};

mod cgroup;
mod cgroup_io;
mod cpu;
mod disk;
mod memory;
mod network;
mod pressure;
mod process;
mod roles;
mod top;

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: "host",
    about: "machine and processes in numbers: CPU, run queue, memory, pressure, disks, network, cgroups",
    engine: CaptureEngine::Any,
    needs: &[],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Host::new()),
};

/// How often everything is read.
const PERIOD: Duration = Duration::from_secs(1);

/// One source of numbers.
trait HostSource {
    /// Looks whether its files are there. `Err`: it is left out.
    fn start(&mut self) -> Result<(), Unavailable> {
        Ok(())
    }

    /// Reads, and writes what it read. The first reading makes counters known and gives no rates.
    fn read(&mut self, points: &mut Points<'_, '_>);

    /// A target came, changed or went.
    fn target(&mut self, _event: &TargetEvent) {}
}

fn sources() -> Vec<Box<dyn HostSource>> {
    vec![
        Box::new(cpu::Cpu::default()),
        Box::new(memory::Memory::default()),
        Box::new(pressure::Pressure::default()),
        Box::new(disk::Disks::default()),
        Box::new(network::Network::default()),
        Box::new(top::Top::default()),
        Box::new(process::Processes::default()),
        Box::new(roles::Roles::default()),
        Box::new(cgroup::Cgroups::default()),
        Box::new(cgroup_io::CgroupIo::default()),
    ]
}

/// The collector.
struct Host {
    sources: Vec<Box<dyn HostSource>>,
    next: Instant,
    /// Monotonic time of the reading before.
    last_ns: Option<i64>,
    own_cpu: Gauge,
    all_cpu: Counter,
    rss: Gauge,
}

impl Host {
    fn new() -> Self {
        let own_cpu = Gauge::new(live::FATHOM_CPU, "host");
        let all_cpu = Counter::new(Gauge::new(live::FATHOM_CPU, "all"), 1e-9);
        let rss = Gauge::new(live::FATHOM_RSS, "all");
        Self { sources: sources(), next: Instant::now(), last_ns: None, own_cpu, all_cpu, rss }
    }

    fn read(&mut self, cx: &mut Context<'_>) {
        let cpu_before = thread_cpu_ns();
        let now_ns = monotonic_ns();
        let mut points = Points::new(cx, self.last_ns, now_ns);
        for source in &mut self.sources {
            source.read(&mut points);
        }
        let cpu_ns = thread_cpu_ns() - cpu_before;
        if let Some(last_ns) = self.last_ns {
            points.gauge(&mut self.own_cpu, cpu_ns as f64 / (now_ns - last_ns).max(1) as f64);
        }
        points.counter(&mut self.all_cpu, nanos(ClockId::ProcessCPUTime).max(0) as u64);
        let own = Stat::of(std::process::id() as i32);
        let page = rustix::param::page_size() as f64;
        own.into_iter().for_each(|stat| points.gauge(&mut self.rss, stat.rss_pages as f64 * page));
        let written = points.written();
        cx.source_mut().records += written;
        self.last_ns = Some(now_ns);
    }
}

impl Collector for Host {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.sources.retain_mut(|source| match source.start() {
            Ok(()) => true,
            Err(unseen) => {
                cx.unseen(unseen);
                false
            }
        });
        self.read(cx);
        self.next = Instant::now() + PERIOD;
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, _cx: &mut Context<'_>) {
        self.sources.iter_mut().for_each(|source| source.target(event));
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let now = Instant::now();
        if now >= self.next {
            // A late reading does not make the next one early.
            self.next = (self.next + PERIOD).max(now + PERIOD / 2);
            self.read(cx);
        }
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        self.read(cx);
    }
}

/// CPU time of this thread.
fn thread_cpu_ns() -> i64 {
    nanos(ClockId::ThreadCPUTime)
}
