//! Memory: page faults of the targets by thread and mapping, with sampled stacks; what holds their
//! threads up for memory.
//!
//! ```text
//!   page-faults-min, -maj ──▶ bpf/memory.bpf.c ─┬─ counts by thread and mapping ──▶ counts: once a second ──▶ recording
//!   reclaim, compaction,                        └─ one fault in n with its stack, stalls that are long ──▶ samples, spans
//!   mmap_lock, OOM, mmap …
//! ```
//! Every fault that the kernel counts for a process is counted here too, and timed, up to the rate
//! of a storm ([`pace`]). The stack of one in n is taken, n following the rate, so that a storm of
//! faults costs no more stacks than a breeze.

mod counts;
mod mappings;
mod pace;
mod program;
mod record;

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use fathom_recording::quantity;
use fathom_recording::vocabulary::{count, fault, kind, label, sample};
use fathom_recording::{CountRow, FrameType, ProcessId, SampleRow, SpanRow, StackId};

use crate::bpf::record::read;
use crate::clock::monotonic_ns;
use crate::kernel_symbols::KernelSymbols;
use crate::unwind::SharedUnwinder;
use crate::unwind::samples::Sample;
use crate::unwind::shared::StackSample;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable};
use counts::{Interval, LastCounts};
use mappings::Mappings;
use pace::{Pace, SOON_NS};
use program::Program;
use record::{Tail, What};

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: fathom_recording::vocabulary::source::MEMORY,
    about: "page faults by thread and mapping, counted, timed and sampled with stacks; reclaim, compaction, waits for the address space",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder, Service::Dispatcher],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Memory::default()),
};

/// Stalls and faults of at least this length are reported one by one, nanoseconds, where the user
/// did not say.
const MIN_NS: u64 = 1_000_000;
/// How often counts are written.
const SECOND_NS: i64 = 1_000_000_000;
/// How often they are written because a process ended.
const SHORTEST_NS: i64 = 200_000_000;
/// How often the offsets of faults within their pages are written.
const OFFSETS_NS: i64 = 10_000_000_000;
/// Faults that are not timed without a storm: those under way when it begins, and of threads whose
/// slots were taken.
const SOME_UNTIMED: u64 = 1000;
/// Bytes of a page that one number of the offsets stands for: a cache line.
const LINE: u64 = 64;
/// Lines of a page.
const LINES: usize = 64;

/// The collector.
#[derive(Default)]
struct Memory {
    program: Option<Program>,
    unwinder: Option<SharedUnwinder>,
    mappings: Mappings,
    counts: LastCounts,
    pace: Pace,
    /// Faults by cache line within their pages.
    offsets: HashMap<ProcessId, [u64; LINES]>,
    /// When counts, and offsets, were written last.
    written_ns: i64,
    offsets_ns: i64,
}

impl Collector for Memory {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.unwinder = cx.services.unwinder().cloned();
        let (program, unseen) = Program::start(cx.settings.min_ns.unwrap_or(MIN_NS), cx)?;
        self.program = Some(program);
        unseen.into_iter().for_each(|unseen| cx.unseen(unseen));
        (self.written_ns, self.offsets_ns) = (monotonic_ns(), monotonic_ns());
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        if event.leaves() {
            // What is still on its way belongs to what the process was.
            self.take(cx);
            // On a host processes end by the hundred.
            if monotonic_ns() - self.written_ns >= SHORTEST_NS {
                self.write(cx);
            }
            self.mappings.forget(pid.cast_unsigned());
        }
        let Some(program) = &self.program else { return };
        if !program.follow(event) {
            cx.unseen(Unavailable {
                scope: None,
                what: format!("page faults of process {pid}"),
                why: "as many processes as can be watched are watched already".into(),
                remedy: "record fewer processes".into(),
            });
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.take(cx);
        let now_ns = monotonic_ns();
        let past_ns = now_ns - self.written_ns;
        let rate = self.program.as_ref().map_or(0.0, |program| program.rate_now(now_ns));
        let is_sudden = past_ns >= SOON_NS && self.pace.is_sudden(rate);
        if past_ns >= SECOND_NS || is_sudden {
            let rate = self.write(cx).max(if is_sudden { rate } else { 0.0 });
            if let Some(program) = &mut self.program {
                program.look(self.pace.next(rate));
            }
        }
        if monotonic_ns() - self.offsets_ns >= OFFSETS_NS {
            self.write_offsets(cx);
        }
        Ok(())
    }

    fn begin(&mut self, cx: &mut Context<'_>) {
        self.write(cx);
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        if let Some(program) = &mut self.program {
            program.detach();
        }
        self.mappings.look_once_more();
        self.take(cx);
        self.write(cx);
        self.write_offsets(cx);
        self.report_limits(cx);
        (self.program, self.unwinder) = (None, None);
    }

    fn wake(&self) -> Option<BorrowedFd<'_>> {
        self.program.as_ref().map(Program::wake)
    }
}

impl Memory {
    /// Writes what was counted; how many faults a second there were.
    fn write(&mut self, cx: &mut Context<'_>) -> f64 {
        let Some(program) = &mut self.program else { return 0.0 };
        let now_ns = monotonic_ns();
        let interval = Interval { from_ns: self.written_ns, to_ns: now_ns };
        let one_in = program.one_in();
        let rate = self.counts.write(program, &mut self.mappings, (interval, one_in), cx);
        cx.source_mut().lost += program.lost();
        self.written_ns = now_ns;
        rate
    }

    /// What a storm of faults was too strong for.
    fn report_limits(&self, cx: &mut Context<'_>) {
        let [uncounted, untimed] = self.counts.unseen();
        let limits = [
            (uncounted, "page faults: others of their processes stand for them"),
            (
                untimed,
                "page faults' times, and which of them took long: they are taken to be as long as others",
            ),
        ];
        for (n, what) in limits.into_iter().filter(|(n, _)| *n > SOME_UNTIMED) {
            cx.unseen(Unavailable {
                scope: None,
                what: format!("{} {what}", quantity::count(n as f64)),
                why: "there were more page faults a second than can be looked at one by one".into(),
                remedy: "nothing to do: counts and times stand for all of them".into(),
            });
        }
    }

    fn write_offsets(&mut self, cx: &mut Context<'_>) {
        let now_ns = monotonic_ns();
        let interval = Interval { from_ns: self.offsets_ns, to_ns: now_ns };
        self.offsets_ns = now_ns;
        for (process, lines) in std::mem::take(&mut self.offsets) {
            let names: Vec<String> = (0..LINES as u64).map(|line| (line * LINE).to_string()).collect();
            let seen = names.iter().zip(lines).filter(|(_, count)| *count > 0);
            let figures: Vec<(&str, f64)> = seen.map(|(name, count)| (name.as_str(), count as f64)).collect();
            let sum = lines.iter().sum();
            cx.sink.count(&CountRow {
                figures: &figures,
                ..counts::counted(count::PAGE_FAULT_OFFSETS, "", interval, process, sum, cx)
            });
        }
    }

    /// Takes samples and stalls.
    fn take(&mut self, cx: &mut Context<'_>) {
        let records = self.program.as_mut().map(Program::records).unwrap_or_default();
        for record in &records {
            if self.one(record, cx).is_none() {
                cx.source_mut().skipped += 1;
            }
        }
    }

    fn one(&mut self, record: &[u8], cx: &mut Context<'_>) -> Option<()> {
        let (sample, tail) = Sample::split(record)?;
        let tail = Tail::of(&read(tail)?)?;
        let (pid, tid) = (sample.head.pid.cast_signed(), sample.head.tid.cast_signed());
        if tail.what == What::Oom {
            self.killed(&tail, cx);
            return Some(());
        }
        let process = cx.process(pid);
        let thread = cx.thread_called(pid, tid, &sample.comm());
        let is_jvm = cx.targets.get(pid).is_some_and(|target| target.jvm);
        let stall = !matches!(tail.what, What::Fault | What::Major | What::SlowMinor);
        let trimmed = if stall { Self::without_our_own(&sample) } else { None };
        let sample = trimmed.as_ref().map_or(sample, |(head, stack)| Sample { head: *head, stack });
        let unwinder = self.unwinder.clone();
        let mut stack =
            unwinder.as_ref().and_then(|unwinder| unwinder.borrow_mut().stack(&sample, is_jvm, cx.sink));
        let epoch = |ns: u64| cx.clock.epoch_ns(ns.cast_signed());
        let (t0_ns, t1_ns) =
            (epoch(if tail.from_ns > 0 { tail.from_ns } else { tail.to_ns }), epoch(tail.to_ns));
        let mut mapping = String::new();
        if !stall {
            mapping = self.mappings.name(sample.head.pid, &tail.mapping, tail.address, unwinder.as_ref());
            stack = Some(leaf(stack, &mapping, cx));
            let line = (tail.address % 4096 / LINE) as usize;
            self.offsets.entry(process).or_insert([0; LINES])[line] += u64::from(tail.weight);
        }
        let (source, thread) = (cx.source, Some(thread));
        if tail.weight > 0 && !stall {
            let (kind, weight) = (sample::PAGE_FAULT, i64::from(tail.weight));
            cx.sink.sample(&SampleRow { kind, t_ns: t1_ns, process, thread, stack, weight, source });
        }
        let (kind, name) = match tail.what {
            What::Fault | What::Oom => return Some(()),
            What::Major | What::SlowMinor => (kind::PAGE_FAULT, tail.what.name()),
            What::MapLock => (kind::MEMORY_MAP_LOCK, if tail.argument == 0 { "read" } else { "write" }),
            What::Reclaim | What::GroupReclaim | What::Compaction => (kind::MEMORY_STALL, tail.what.name()),
        };
        let address = format!("{:#x}", tail.address);
        let of_fault = [(label::PATH, mapping.as_str()), (label::ADDRESS, address.as_str())];
        let labels: &[(&str, &str)] = match tail.what {
            What::Major | What::SlowMinor if mapping.starts_with('/') => &of_fault,
            What::Major | What::SlowMinor => &of_fault[1..],
            _ => &[],
        };
        let (line, key, parent, figures) = (0, -1, None, &[][..]);
        cx.sink.span(&SpanRow {
            kind,
            name,
            t0_ns,
            t1_ns,
            process,
            thread,
            stack,
            source,
            line,
            key,
            parent,
            figures,
            labels,
        });
        cx.source_mut().records += 1;
        Some(())
    }

    /// Somebody is to be killed.
    fn killed(&self, tail: &Tail, cx: &mut Context<'_>) {
        let victim = i32::try_from(tail.argument).unwrap_or(0);
        let process = cx.process(victim);
        let at_ns = cx.clock.epoch_ns(tail.to_ns.cast_signed());
        cx.sink.span(&SpanRow {
            key: i64::from(victim),
            ..SpanRow::new(kind::MEMORY_OOM, &tail.mapping.name, (at_ns, at_ns), process, cx.source)
        });
        cx.source_mut().records += 1;
    }

    /// The record without the innermost frames of the kernel that are the tracing itself; `None`:
    /// there are none.
    fn without_our_own(sample: &Sample<'_>) -> Option<(StackSample, Vec<u8>)> {
        let symbols = KernelSymbols::get();
        let own = |pc: &u64| {
            symbols.find(*pc).is_none_or(|(name, _)| {
                ["bpf_", "__bpf_", "__traceiter_", "trace_", "__mmap_lock_do_trace_"]
                    .iter()
                    .any(|p| name.starts_with(p))
            })
        };
        let ours = sample.kernel().take_while(own).count();
        let head = StackSample { kernel_frames: sample.head.kernel_frames - ours as u16, ..sample.head };
        let (user, kernel) =
            sample.stack.split_at(sample.stack.len() - 8 * usize::from(sample.head.kernel_frames));
        (ours > 0).then(|| (head, [user, &kernel[8 * ours..]].concat()))
    }
}

/// The frame below the function that faulted, which says where.
fn leaf(stack: Option<StackId>, mapping: &str, cx: &mut Context<'_>) -> StackId {
    let frame = cx.sink.frame(&fault::frame(mapping), "kernel", FrameType::Kernel, -1);
    cx.sink.stack(stack, frame)
}
