//! The time of a diagnosis grows with its input and no faster: CPU time of this process for a run
//! and for one of eight times the length, of a log and of a live recording. One test alone in its
//! process, as what others compute would be counted too.

#![allow(clippy::unwrap_used, reason = "a test panics where it fails")]

use std::fmt::Write as _;

use fathom_diagnose::chain::Chains;
use fathom_diagnose::thread_ledger::{By, thread_ledger};
use fathom_diagnose::{Options, diagnose};
use fathom_recording::vocabulary::{figure, kind, label, live, sample, series, source};
use fathom_recording::{
    FrameType, Process, Recording, Role, SampleRow, SeriesInfo, SeriesKind, Sink, Source, SpanRow, ThreadId,
};
use rustix::time::{ClockId, clock_gettime};

/// How much longer the long run is.
const TIMES: usize = 8;
/// What it may take of the short one's time, as a multiple: sorting is a little more than linear,
/// and caches are smaller than recordings (measured: 6.5 to 7). What grows with the square takes up
/// to 64 times as long.
const MOST: f64 = 11.0;
/// Measured so often; the least counts, as others on the machine make caches cold.
const ROUNDS: usize = 3;

fn cpu_s(of: impl FnOnce()) -> f64 {
    let now = || {
        let time = clock_gettime(ClockId::ProcessCPUTime);
        time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
    };
    let begun = now();
    of();
    now() - begun
}

fn least_s(of: impl Fn()) -> f64 {
    (0..ROUNDS).map(|_| cpu_s(&of)).fold(f64::INFINITY, f64::min)
}

fn grows_no_faster(what: &str, units: usize, of: impl Fn(usize)) {
    let short_s = least_s(|| of(units));
    // One that is within the bound need not be measured again.
    let mut long_s = f64::INFINITY;
    for _ in 0..ROUNDS {
        long_s = long_s.min(cpu_s(|| of(units * TIMES)));
        if long_s <= MOST * short_s {
            break;
        }
    }
    eprintln!("{what}: {short_s:.2} s, {TIMES} times as much {long_s:.2} s");
    assert!(
        long_s <= MOST * short_s,
        "{what}: {short_s:.2} s, {TIMES} times as much {long_s:.2} s of CPU time"
    );
}

/// A log of G1 with so many pauses, two a second, of which some are long now and then.
fn log(pauses: usize) -> String {
    let mut log = String::from("[0.010s][info][gc] Using G1\n");
    for i in 0..pauses {
        let (begin_s, ms) = (1.0 + i as f64 / 2.0, if i % 400 < 8 { 310.0 } else { 4.0 + (i % 7) as f64 });
        let end_s = begin_s + ms / 1e3;
        let pause = format!("GC({i}) Pause Young (Normal) (G1 Evacuation Pause)");
        writeln!(log, "[{begin_s:.3}s][info][gc,start    ] {pause}").unwrap();
        writeln!(log, "[{begin_s:.3}s][info][gc,task     ] GC({i}) Using 2 workers of 2 for evacuation")
            .unwrap();
        for phase in ["Pre Evacuate Collection Set: 0.1ms", "Evacuate Collection Set: 3.1ms", "Other: 0.2ms"]
        {
            writeln!(log, "[{end_s:.3}s][info][gc,phases   ] GC({i})   {phase}").unwrap();
        }
        writeln!(log, "[{end_s:.3}s][info][gc,heap     ] GC({i}) Eden regions: 20->0(20)").unwrap();
        writeln!(log, "[{end_s:.3}s][info][gc,heap     ] GC({i}) Old regions: 30->3{}", i % 10).unwrap();
        writeln!(log, "[{end_s:.3}s][info][gc          ] {pause} 60M->4{}M(128M) {ms:.3}ms", i % 10).unwrap();
        writeln!(log, "[{end_s:.3}s][info][gc,cpu      ] GC({i}) User=0.01s Sys=0.00s Real=0.01s").unwrap();
        let ns = (ms * 1e6) as u64;
        writeln!(
            log,
            "[{end_s:.3}s][info][safepoint   ] Safepoint \"G1CollectForAllocation\", Time since last: 490000000 ns, \
             Reaching safepoint: 50000 ns, At safepoint: {ns} ns, Total: {} ns",
            ns + 50_000
        )
        .unwrap();
    }
    log
}

/// Rows of some threads that take turns on a lock, so many turns of each.
struct Service {
    recording: Recording,
    process: fathom_recording::ProcessId,
    source: fathom_recording::SourceId,
}

impl Service {
    fn of(turns: usize) -> Recording {
        let mut recording = Recording::new();
        let process = Process { name: "Service".into(), jvm: true, pid: Some(7), ..Process::default() };
        let process = recording.add_process(process);
        let end_ns = turns as i64 * 20_000_000;
        let covers_ns = Some((0, end_ns));
        let collector = |format: &str| Source { format: format.into(), covers_ns, ..Source::default() };
        let source = recording.add_source(collector(source::SCHED));
        recording.add_source(collector(source::LOCKS));
        let mut service = Self { recording, process, source };
        let threads: Vec<ThreadId> = (0..8)
            .map(|i| service.recording.thread(process, Some(10 + i), &format!("worker-{i}"), Role::App))
            .collect();
        for thread in &threads {
            service.span((kind::SCHED_WATCHED, ""), *thread, (0, end_ns), &[], &[], &[]);
        }
        let info = |name: &str, unit: &str| SeriesInfo {
            name: name.into(),
            unit: unit.into(),
            instance: String::new(),
            kind: SeriesKind::Rate,
            process: None,
            source,
        };
        let throughput = service.recording.add_series(info(series::THROUGHPUT, "ops/s"));
        let busy = service.recording.add_series(info(live::HOST_CPU_BUSY.name, live::HOST_CPU_BUSY.unit));
        for turn in 0..turns {
            service.turn(turn, &threads);
            if turn % 50 == 0 {
                let slow = (turn / 50) % 60 < 6;
                let t_ns = turn as i64 * 20_000_000;
                service.recording.point(throughput, t_ns, 1_000_000_000, if slow { 100.0 } else { 400.0 });
                service.recording.point(busy, t_ns, 1_000_000_000, 1.0);
            }
        }
        service.recording.seal();
        service.recording
    }

    /// One holds the lock and sleeps, one runs, the others wait for it.
    fn turn(&mut self, turn: usize, threads: &[ThreadId]) {
        let t_ns = turn as i64 * 20_000_000;
        let slow = (turn / 50) % 60 < 6;
        let held_ns = if slow { 18_000_000 } else { 4_000_000 };
        let owner = format!("worker-{}", turn % 8);
        for (i, thread) in threads.iter().enumerate() {
            let ends = (t_ns, t_ns + held_ns + i as i64 * 1_000);
            let (sleeps, waits) =
                (["Thread.sleep", "shop.Cart.add"], ["ObjectMonitor::enter", "shop.Cart.add"]);
            if i == turn % 8 {
                self.span((kind::SCHED_OFF, "sleeping"), *thread, ends, &[], &[], &sleeps);
                continue;
            }
            let labels = [(label::OWNER, owner.as_str()), (label::ADDRESS, "0x7000")];
            let tid = [(figure::OWNER_TID, 10.0 + (turn % 8) as f64)];
            self.span((kind::LOCK_MONITOR, "shop.Cart"), *thread, ends, &tid, &labels, &waits);
            let runq = [(figure::RUNQ_NS, 20_000.0)];
            let waker = [(label::WAKER, format!("{owner} ({})", 10 + turn % 8))];
            let waker = [(waker[0].0, waker[0].1.as_str())];
            self.span((kind::SCHED_OFF, "sleeping"), *thread, ends, &runq, &waker, &waits);
        }
        let stack = self.stack(&["shop.Cart.add", "shop.Orders.book"]);
        let (process, source, thread) = (self.process, self.source, Some(threads[turn % 8]));
        let t_ns = t_ns + 19_000_000;
        self.recording.sample(&SampleRow {
            kind: sample::CPU,
            t_ns,
            process,
            thread,
            stack,
            weight: 10_000_000,
            source,
        });
    }

    /// Innermost first.
    fn stack(&mut self, names: &[&str]) -> Option<fathom_recording::StackId> {
        names.iter().rev().fold(None, |caller, name| {
            let frame_type = if name.contains("::") { FrameType::Jvm } else { FrameType::C2 };
            let frame = self.recording.frame(name, "", frame_type, -1);
            Some(self.recording.stack(caller, frame))
        })
    }

    fn span(
        &mut self,
        (kind, name): (&str, &str),
        thread: ThreadId,
        (t0_ns, t1_ns): (i64, i64),
        figures: &[(&str, f64)],
        labels: &[(&str, &str)],
        stack: &[&str],
    ) {
        let stack = self.stack(stack);
        self.recording.span(&SpanRow {
            kind,
            name,
            t0_ns,
            t1_ns,
            process: self.process,
            thread: Some(thread),
            stack,
            source: self.source,
            line: 0,
            key: -1,
            parent: None,
            figures,
            labels,
        });
    }
}

#[test]
fn eight_times_the_input_takes_no_more_than_its_share() {
    let dir = tempfile::tempdir().unwrap();
    let path = |pauses: usize| dir.path().join(format!("{pauses}.log"));
    const PAUSES: usize = 5_000;
    for pauses in [PAUSES, PAUSES * TIMES] {
        std::fs::write(path(pauses), log(pauses)).unwrap();
    }
    grows_no_faster("a log is read and judged", PAUSES, |pauses| {
        let mut recording = Recording::new();
        let options = fathom_ingest::Options::default();
        fathom_ingest::read_inputs(&[path(pauses)], &options, &mut recording).unwrap();
        recording.seal();
        diagnose(&recording, &Options::default()).unwrap();
    });
    grows_no_faster("a live recording is judged", 1_500, |turns| {
        let recording = Service::of(turns);
        let diagnosis = diagnose(&recording, &Options::default()).unwrap();
        assert!(!diagnosis.findings.is_empty(), "{}", diagnosis.headline);
        let slow = diagnosis.windows.slow.first().copied();
        thread_ledger(&recording, slow, None, By::Thread);
        let chains = Chains::with_lock_holders(&recording);
        let window = slow.unwrap_or(fathom_diagnose::whole(&recording));
        for (thread, _) in chains.victims(window, &diagnosis.windows.base) {
            chains.of_victim(thread, window);
        }
    });
}
