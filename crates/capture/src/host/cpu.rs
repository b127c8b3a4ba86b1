//! CPUs and the run queue: `/proc/stat`, `/proc/loadavg` (fs/proc/stat.c, fs/proc/loadavg.c).

use fathom_recording::vocabulary::live;

use super::{HostSource, Unavailable};
use crate::growing_series::{Counter, Gauge, Points};
use crate::procfs::{Repeated, ticks_per_second};

/// CPUs with series of their own; of more, only the first so many. Nobody looks at a thousand
/// lanes.
const MAX_CPUS: usize = 256;

/// The source.
#[derive(Default)]
pub struct Cpu {
    stat: Option<Repeated>,
    loadavg: Option<Repeated>,
    cpus: Vec<OneCpu>,
    tasks: Option<Tasks>,
}

struct OneCpu {
    busy: Counter,
    kernel: Counter,
    iowait: Counter,
    steal: Counter,
}

impl OneCpu {
    fn new(number: usize) -> Self {
        let instance = format!("cpu{number}");
        let second = 1.0 / ticks_per_second() as f64;
        let counter = |word| Counter::new(Gauge::new(word, &instance), second);
        Self {
            busy: counter(live::HOST_CPU_BUSY),
            kernel: counter(live::HOST_CPU_KERNEL),
            iowait: counter(live::HOST_CPU_IOWAIT),
            steal: counter(live::HOST_CPU_STEAL),
        }
    }
}

struct Tasks {
    runnable: Gauge,
    blocked: Gauge,
    load: Gauge,
    switches: Counter,
    forks: Counter,
}

impl Tasks {
    fn new() -> Self {
        Self {
            runnable: Gauge::new(live::HOST_RUNNABLE, ""),
            blocked: Gauge::new(live::HOST_BLOCKED, ""),
            load: Gauge::new(live::HOST_LOAD, ""),
            switches: Counter::new(Gauge::new(live::HOST_SWITCHES, ""), 1.0),
            forks: Counter::new(Gauge::new(live::HOST_FORKS, ""), 1.0),
        }
    }
}

impl HostSource for Cpu {
    fn start(&mut self) -> Result<(), Unavailable> {
        self.stat = Repeated::open("/proc/stat");
        self.loadavg = Repeated::open("/proc/loadavg");
        self.tasks = Some(Tasks::new());
        self.stat.is_some().then_some(()).ok_or_else(|| Unavailable {
            scope: None,
            what: "CPUs and the run queue of the machine".into(),
            why: "/proc/stat cannot be read".into(),
            remedy: "mount /proc where fathom runs".into(),
        })
    }

    fn read(&mut self, points: &mut Points<'_, '_>) {
        let Some(tasks) = &mut self.tasks else { return };
        let text = self.stat.as_mut().and_then(Repeated::read).unwrap_or_default();
        for line in text.lines() {
            let Some((label, values)) = line.split_once(' ') else { continue };
            let first = || values.split_ascii_whitespace().next()?.parse::<u64>().ok();
            match label {
                "procs_running" => {
                    // The reader itself runs while it reads.
                    let others = first().map(|n| n.saturating_sub(1));
                    others.into_iter().for_each(|n| points.gauge(&mut tasks.runnable, n as f64));
                }
                "procs_blocked" => {
                    first().into_iter().for_each(|n| points.gauge(&mut tasks.blocked, n as f64))
                }
                "ctxt" => first().into_iter().for_each(|n| points.counter(&mut tasks.switches, n)),
                "processes" => first().into_iter().for_each(|n| points.counter(&mut tasks.forks, n)),
                _ => {
                    if let Some(number) = label.strip_prefix("cpu").and_then(|n| n.parse::<usize>().ok()) {
                        one_cpu(&mut self.cpus, number, values, points);
                    }
                }
            }
        }
        let load = self.loadavg.as_mut().and_then(Repeated::read).unwrap_or_default();
        if let Some(load) = load.split(' ').next().and_then(|load| load.parse().ok()) {
            points.gauge(&mut tasks.load, load);
        }
    }
}

/// user nice system idle iowait irq softirq steal guest guest_nice, ticks. Guest time is within
/// user.
fn one_cpu(cpus: &mut Vec<OneCpu>, number: usize, values: &str, points: &mut Points<'_, '_>) {
    if number >= MAX_CPUS {
        return;
    }
    while cpus.len() <= number {
        cpus.push(OneCpu::new(cpus.len()));
    }
    let mut ticks = [0_u64; 8];
    for (tick, value) in ticks.iter_mut().zip(values.split_ascii_whitespace()) {
        *tick = value.parse().unwrap_or(0);
    }
    let [user, nice, system, _idle, iowait, irq, softirq, steal] = ticks;
    let cpu = &mut cpus[number];
    points.counter(&mut cpu.busy, user + nice + system + irq + softirq);
    points.counter(&mut cpu.kernel, system + irq + softirq);
    points.counter(&mut cpu.iowait, iowait);
    points.counter(&mut cpu.steal, steal);
}
