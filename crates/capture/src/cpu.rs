//! CPU samples: what ran at each tick of the CPUs' clocks, with whole stacks through Java,
//! JVM, native code and kernel.
//!
//! ```text
//!   a perf event a CPU ──▶ bpf/cpu.bpf.c: wanted? walk ──▶ ring buffer ──▶ drain: names ──▶ recording
//!     (cpu-clock, cycles)                ▲                                        │
//!                                        └─ unwind: mappings, rows, JVMs ◀────────┘ an address that is not known
//! ```
//! A stack that cannot be walked yet, as its JVM starts, comes as it lies in memory and is walked
//! when more is known ([`crate::unwind::kept`]). A sample stands for what its event had counted
//! since the one before, which the kernel reports with each: the time between two ticks, or cycles.
//! Idle CPUs are not woken.
//!
//! Time is the default, although `perf record` takes cycles where there are any: seconds add up
//! with those that a thread waited, whatever frequency the CPU had, and they are there on
//! every machine.

use std::os::fd::BorrowedFd;
use std::rc::Rc;

use fathom_recording::SampleRow;

use crate::thread_context::{Seen, Whose};
use crate::unwind::kept::{Awaited, Kept, Waiting};
use crate::unwind::reason_name;
use crate::unwind::samples::{Sample, context_of};
use crate::unwind::shared::StackSample;
use crate::{
    CaptureEngine, Collector, Context, CpuEvent, Entry, Order, Selection, Service, Settings, TargetEvent,
    Unavailable, perf_event,
};
use program::Program;

mod program;

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::CPU,
    about: "CPU samples with whole stacks: Java, JVM, native code and kernel (eBPF)",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder],
    essential: true,
    default: true,
    order: Order::StartsFirst,
    make: |settings: &Settings| Box::new(Cpu::new(settings)),
};

/// Samples that one drain takes in; the rest waits for the next, so that others are read too.
const MOST_RECORDS: usize = 50_000;

/// The collector.
struct Cpu {
    event: CpuEvent,
    rate_hz: u32,
    program: Option<Program>,
    records: Vec<u8>,
    ends: Vec<usize>,
    /// Stacks that could not be walked yet.
    waiting: Waiting,
}

impl Cpu {
    fn new(settings: &Settings) -> Self {
        Self {
            event: settings.cpu_event,
            rate_hz: settings.frequency_hz,
            program: None,
            records: Vec::new(),
            ends: Vec::new(),
            waiting: Waiting::default(),
        }
    }

    /// Has the program run at the ticks of every CPU.
    fn attach(&self, program: &Program) -> Result<(), Unavailable> {
        for cpu in perf_event::online() {
            let event =
                self.event.open(cpu, self.rate_hz).map_err(|error| self.event.refused(cpu, &error))?;
            program.attach(event)?;
        }
        Ok(())
    }

    /// Takes what is in the ring buffer into the recording.
    fn take(&mut self, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        program.read(&mut self.records, &mut self.ends, MOST_RECORDS);
        let records = std::mem::take(&mut self.records);
        let ends = std::mem::take(&mut self.ends);
        // Counted before they are written: those outside of the recording's time are taken off
        // again.
        cx.source_mut().records += ends.len() as u64;
        let mut begin = 0;
        for end in &ends {
            let record = &records[begin..*end];
            let taken = if Kept::is_one(record) {
                Kept::parse(record).map(|kept| {
                    Self::see_context(&kept.head, cx);
                    self.kept(kept, true, cx);
                })
            } else {
                Sample::parse(record).map(|sample| {
                    Self::see_context(&sample.head, cx);
                    self.one(&sample, cx);
                })
            };
            if taken.is_none() {
                cx.source_mut().skipped += 1;
            }
            begin = *end;
        }
        (self.records, self.ends) = (records, ends);
        cx.source_mut().lost += self.program.as_mut().map_or(0, Program::lost);
    }

    /// Walks a stack that was kept, or lets it wait for what is to become known of its process.
    fn kept(&mut self, kept: Kept, may_wait: bool, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        let pid = kept.head.pid as i32;
        let is_jvm = cx.targets.get(pid).is_some_and(|target| target.jvm);
        let mut unwinder = program.unwinder.borrow_mut();
        let walked = unwinder.walk_kept(&kept, is_jvm);
        let awaited = unwinder.awaited(&walked.sample()).filter(|_| may_wait && !kept.is_old());
        if let Some(awaited) = awaited {
            drop(unwinder);
            if let Some(oldest) = self.waiting.hold(kept, awaited) {
                self.kept(oldest, false, cx);
            }
            return;
        }
        unwinder.code.walked_late(pid, reason_name(walked.sample().head.reason).is_none());
        drop(unwinder);
        self.one(&walked.sample(), cx);
    }

    /// Walks those that have waited long enough: of a process, all.
    fn walk_waiting(&mut self, ends: Option<i32>, cx: &mut Context<'_>) {
        let Some(program) = &self.program else { return };
        let unwinder = Rc::clone(&program.unwinder);
        let is_due = |kept: &Kept, awaited: &Awaited| {
            let pid = kept.head.pid as i32;
            ends == Some(pid) || kept.is_old() || unwinder.borrow().has_come(pid, awaited)
        };
        for kept in self.waiting.take(is_due) {
            let may_wait = ends != Some(kept.head.pid as i32);
            self.kept(kept, may_wait, cx);
        }
    }

    /// Takes in which span the thread was in.
    fn see_context(head: &StackSample, cx: &mut Context<'_>) {
        let seen = context_of(head);
        if seen == Seen::Unknown {
            return;
        }
        let process = cx.process(head.pid.cast_signed());
        let thread = cx.thread(head.pid.cast_signed(), head.tid.cast_signed());
        cx.services.spans_seen.take_in(
            Whose { pid: head.pid, process, thread },
            (head.t_ns, head.t_ns),
            seen,
        );
    }

    fn one(&mut self, sample: &Sample<'_>, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        let (pid, tid) = (sample.head.pid as i32, sample.head.tid as i32);
        let is_jvm = cx.targets.get(pid).is_some_and(|target| target.jvm);
        let stack = program.unwinder.borrow_mut().stack(sample, is_jvm, cx.sink);
        let process = cx.process(pid);
        let thread = cx.thread_called(pid, tid, &sample.comm());
        let t_ns = cx.clock.epoch_ns(i64::try_from(sample.head.t_ns).unwrap_or(i64::MAX));
        cx.sink.sample(&SampleRow {
            kind: self.event.kind(),
            t_ns,
            process,
            thread: Some(thread),
            stack,
            weight: i64::try_from(sample.head.weight).unwrap_or(i64::MAX),
            source: cx.source,
        });
    }
}

impl Collector for Cpu {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let all = matches!(cx.targets.selection(), Selection::All);
        let unwinder = cx.services.unwinder().cloned().ok_or_else(|| Unavailable {
            scope: None,
            what: "CPU samples".into(),
            why: "the tables that stacks are walked by could not be made".into(),
            remedy: "`fathom check` lists what is missing".into(),
        })?;
        let program = Program::load(all, unwinder, cx.targets.map())?;
        self.attach(&program)?;
        cx.source_mut().sampling = Some(self.event.sampling(self.rate_hz));
        self.program = Some(program);
        Ok(())
    }

    fn set_rate(&mut self, hz: u32, cx: &mut Context<'_>) {
        if hz == self.rate_hz {
            return;
        }
        self.rate_hz = hz;
        let Some(mut program) = self.program.take() else { return };
        program.detach();
        if hz > 0 {
            if let Err(unseen) = self.attach(&program) {
                cx.unseen(unseen);
            }
            cx.source_mut().sampling = Some(self.event.sampling(hz));
        }
        self.program = Some(program);
    }

    fn left(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        self.take(cx);
        self.walk_waiting(Some(event.target.pid), cx);
    }

    fn target(&mut self, event: &TargetEvent, _cx: &mut Context<'_>) {
        let Some(program) = &self.program else { return };
        // Samples begin when its stacks can be walked. Those of a JVM at work that are kept from
        // before are walked a second later, when some of its code is no longer what it was: 1 to 6%
        // were cut when that was tried with a javac.
        program.follow(event);
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.take(cx);
        self.walk_waiting(None, cx);
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        if let Some(program) = &mut self.program {
            program.detach();
        }
        self.take(cx);
        for kept in self.waiting.take(|_, _| true) {
            self.kept(kept, false, cx);
        }
        self.program = None;
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.program.as_ref().and_then(Program::wake)
    }
}
