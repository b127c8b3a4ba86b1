//! CPU samples: what ran at each tick of the processors' clocks, with whole stacks through Java, JVM, native code and
//! kernel.
//!
//! ```text
//!   a perf event a processor ──▶ bpf/cpu.bpf.c: wanted? walk ──▶ ring buffer ──▶ drain: names ──▶ recording
//!        (cpu-clock)                     ▲                                        │
//!                                        └─ unwind: mappings, rows, JVMs ◀────────┘ an address that is not known
//! ```
//! A sample stands for the time between two ticks. Idle processors are not woken.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use fathom_recording::vocabulary::sample;
use fathom_recording::{Role, SampleRow, ThreadId};

use crate::collector::{Collector, Context, Engine, Entry, Settings, Unavailable};
use crate::target::Change;
use crate::unwind::Capacity;
use crate::unwind::frames::Stacks;
use crate::unwind::samples::Sample;
use crate::{Selection, TargetEvent};
use program::Program;

mod perf_event;
mod program;
mod threads;

use threads::ThreadNames;

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
    stacks: Stacks,
    threads: ThreadNames,
    /// Counts programs of a process: what was learnt of one is void for the next.
    generations: HashMap<i32, u64>,
    generation: u64,
    records: Vec<u8>,
    ends: Vec<usize>,
}

impl Cpu {
    fn new(settings: &Settings) -> Self {
        Self {
            period_ns: 1_000_000_000 / u64::from(settings.frequency_hz.max(1)),
            program: None,
            stacks: Stacks::default(),
            threads: ThreadNames::default(),
            generations: HashMap::new(),
            generation: 0,
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
        let pid = sample.head.pid as i32;
        let code = &mut program.code;
        if program::wants_refresh(sample.head.reason) {
            let is_jvm = cx.targets.get(pid).is_some_and(|target| target.jvm);
            if code.refresh(pid, is_jvm)
                && let Some(known) = code.get_mut(pid)
            {
                self.stacks.learn(pid as u32, known);
            }
        }
        let generation = self.generations.get(&pid).copied().unwrap_or(0);
        let known = code.get_mut(pid);
        let (name, role) = self.threads.of(pid, sample, known.as_deref());
        let stack = self.stacks.stack(sample, known, generation, cx.sink);
        let process = cx.process(pid);
        let thread: ThreadId = cx.sink.thread(process, Some(i64::from(sample.head.tid)), &name, role);
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

    /// Reads names of threads, and JVMs that were not ready yet.
    fn keep_up(&mut self, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        for pid in program.code.pids() {
            if program.code.waits_for_jvm(pid) {
                program.code.refresh(pid, true);
            }
            if let Some(jvm) = program.code.get_mut(pid).and_then(|known| known.jvm.as_mut()) {
                self.threads.refresh(pid, jvm);
            }
        }
        let (_, _, refused) = program.code.tables.used();
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
        match event.change {
            Change::Gone => {
                program.unwatch(pid);
                program.code.forget(pid);
                self.threads.forget(pid);
                self.generations.remove(&pid);
                return;
            }
            Change::Exec => {
                program.code.forget(pid);
                self.threads.forget(pid);
            }
            Change::Appeared | Change::BecameJvm => {}
        }
        self.generation += 1;
        self.generations.insert(pid, self.generation);
        // Samples begin when its stacks can be walked.
        program.code.refresh(pid, event.target.jvm);
        program.watch(pid);
        if let Some(known) = program.code.get_mut(pid) {
            self.stacks.learn(pid as u32, known);
        }
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
        let unnamed = self.stacks.unnamed;
        if unnamed > 0 {
            cx.unseen(Unavailable {
                what: format!("names of {unnamed} Java frames"),
                why: "their code was freed before it was looked at".into(),
                remedy: String::new(),
            });
        }
        if let Some(program) = &mut self.program {
            for pid in program.code.pids() {
                if let Some(error) = program.code.get_mut(pid).and_then(|known| known.jvm_error.clone()) {
                    cx.unseen(Unavailable {
                        what: format!("Java frames of process {pid}"),
                        why: error,
                        remedy: String::new(),
                    });
                }
            }
        }
        self.program = None;
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.program.as_ref().and_then(Program::wake)
    }
}

/// The role of a thread of which only the kernel's name is known.
fn role_of(name: &str, is_jvm: bool) -> Role {
    if is_jvm { fathom_hotspot::threads::role_of_name(name, false) } else { Role::Other }
}
