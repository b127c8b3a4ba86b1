//! CPU samples: what ran at each tick of the processors' clocks, with whole stacks through Java, JVM, native code and
//! kernel.
//!
//! ```text
//!   a perf event a processor ──▶ bpf/cpu.bpf.c: wanted? walk ──▶ ring buffer ──▶ drain: names ──▶ recording
//!        (cpu-clock)                     ▲                                        │
//!                                        └─ unwind: mappings, rows, JVMs ◀────────┘ an address that is not known
//! ```
//! A sample stands for the time between two ticks. Idle processors are not woken.

use std::os::fd::BorrowedFd;
use std::rc::Rc;

use fathom_recording::SampleRow;
use fathom_recording::vocabulary::sample;

use crate::collector::{Collector, Context, Engine, Entry, Settings, Unavailable};
use crate::target::Change;
use crate::unwind::Capacity;
use crate::unwind::samples::Sample;
use crate::{Selection, TargetEvent};
use program::Program;

mod perf_event;
mod program;

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: "cpu",
    about: "CPU samples with whole stacks: Java, JVM, native code and kernel (eBPF)",
    engine: Engine::Ebpf,
    essential: true,
    default: true,
    make: |settings: &Settings| Box::new(Cpu::new(settings)),
};

/// Samples that one drain takes in; the rest waits for the next, so that others get their turn.
const MOST_RECORDS: usize = 50_000;

/// The collector.
struct Cpu {
    period_ns: u64,
    program: Option<Program>,
    records: Vec<u8>,
    ends: Vec<usize>,
}

impl Cpu {
    fn new(settings: &Settings) -> Self {
        Self {
            period_ns: 1_000_000_000 / u64::from(settings.frequency_hz.max(1)),
            program: None,
            records: Vec::new(),
            ends: Vec::new(),
        }
    }

    /// Takes what is in the ring buffer into the recording.
    fn take(&mut self, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        program.read(&mut self.records, &mut self.ends, MOST_RECORDS);
        let records = std::mem::take(&mut self.records);
        let ends = std::mem::take(&mut self.ends);
        let mut begin = 0;
        for end in &ends {
            match Sample::parse(&records[begin..*end]) {
                Some(sample) => self.one(&sample, cx),
                None => cx.source_mut().skipped += 1,
            }
            begin = *end;
        }
        cx.source_mut().records += ends.len() as u64;
        (self.records, self.ends) = (records, ends);
        if let Some(program) = &self.program {
            let lost = program.lost();
            cx.source_mut().lost = lost;
        }
    }

    fn one(&mut self, sample: &Sample<'_>, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        let (pid, tid) = (sample.head.pid as i32, sample.head.tid as i32);
        let is_jvm = cx.targets.get(pid).is_some_and(|target| target.jvm);
        let stack = program.engine.borrow_mut().stack(sample, is_jvm, cx.sink);
        let process = cx.process(pid);
        let thread = cx.thread_called(pid, tid, &sample.comm());
        let t_ns = cx.clock.epoch_ns(i64::try_from(sample.head.t_ns).unwrap_or(i64::MAX));
        cx.sink.sample(&SampleRow {
            kind: sample::CPU,
            t_ns,
            process,
            thread: Some(thread),
            stack,
            weight: self.period_ns as i64,
            source: cx.source,
        });
    }

    /// Reads JVMs that were not ready yet.
    fn keep_up(&mut self, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        let mut engine = program.engine.borrow_mut();
        for pid in engine.code.pids() {
            if engine.code.waits_for_jvm(pid) {
                engine.code.refresh(pid, true);
            }
        }
        let (_, _, refused) = engine.code.tables.used();
        if refused > 0 {
            cx.unseen(Unavailable {
                what: format!("callers of native code in {refused} files"),
                why: "the tables of unwind rows are full".into(),
                remedy: "record fewer processes (-p PID)".into(),
            });
        }
    }
}

impl Collector for Cpu {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let all = matches!(cx.targets.selection(), Selection::All);
        let program = Program::load(all, if all { Capacity::HOST } else { Capacity::SOME })?;
        for cpu in perf_event::online() {
            let event = perf_event::cpu_clock(cpu, self.period_ns).map_err(|error| Unavailable {
                what: "CPU samples".into(),
                why: format!("perf_event_open for processor {cpu}: {error}"),
                remedy: "run fathom as root, or lower kernel.perf_event_paranoid".into(),
            })?;
            program.attach(event)?;
        }
        cx.shared.stacks = Some(Rc::clone(&program.engine));
        self.program = Some(program);
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        if matches!(event.change, Change::Exec | Change::Gone) {
            // What is still on its way belongs to what the process was.
            self.take(cx);
        }
        let Some(program) = &mut self.program else { return };
        let mut engine = program.engine.borrow_mut();
        match event.change {
            Change::Gone => {
                program.unwatch(pid);
                engine.forget(pid);
                return;
            }
            Change::Exec => engine.forget(pid),
            Change::Appeared | Change::BecameJvm => {}
        }
        // Samples begin when its stacks can be walked.
        engine.renew(pid, event.target.jvm);
        program.watch(pid);
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.take(cx);
        self.keep_up(cx);
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        if let Some(program) = &mut self.program {
            program.detach();
        }
        self.take(cx);
        let Some(program) = self.program.take() else { return };
        let mut engine = program.engine.borrow_mut();
        let unnamed = engine.stacks.unnamed;
        if unnamed > 0 {
            cx.unseen(Unavailable {
                what: format!("names of {unnamed} Java frames"),
                why: "their code was freed before it was looked at".into(),
                remedy: String::new(),
            });
        }
        for pid in engine.code.pids() {
            if let Some(error) = engine.code.get_mut(pid).and_then(|known| known.jvm_error.clone()) {
                cx.unseen(Unavailable {
                    what: format!("Java frames of process {pid}"),
                    why: error,
                    remedy: String::new(),
                });
            }
        }
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.program.as_ref().and_then(Program::wake)
    }
}
