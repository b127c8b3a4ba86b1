//! Disks: requests of the whole host by device, kind and issuer; what of writing to files holds
//! threads up.
//!
//! `bpf/disk.bpf.c` counts every request from its making to its completion; here the sums become
//! series once a second, and what took long spans: requests, commits of a journal, rounds of
//! writeback, `fsync` and the like with stack and file.

mod program;
mod record;
mod written;

use std::collections::HashMap;
use std::os::unix::fs::MetadataExt;

use fathom_recording::quantity;
use fathom_recording::vocabulary::{figure, kind, label, live};
use fathom_recording::{ProcessId, SpanRow, StackId, ThreadId};

use crate::bpf::record::read;
use crate::clock::monotonic_ns;
use crate::growing_series::{Gauge, Points};
use crate::procfs;
use crate::unwind::SharedUnwinder;
use crate::unwind::samples::Sample;
use crate::{CaptureEngine, Collector, Context, Entry, Order, Service, Settings, TargetEvent, Unavailable};
use program::Program;
use program::skeleton::types::disk_key;
use program::skeleton::types::disk_loss;
use record::{Counts, Event, What, WrittenFile, op_name, reason_name, sync_name};
use written::Written;

/// The line in the list of collectors.
pub const ENTRY: Entry = Entry {
    id: "disk",
    about: "requests to disks by device and issuer, journal commits, writeback, throttled writers, fsync with its stack",
    engine: CaptureEngine::Ebpf,
    needs: &[Service::Unwinder, Service::Dispatcher],
    essential: false,
    default: true,
    order: Order::Listed,
    make: |_: &Settings| Box::new(Disk::default()),
};

/// What took at least this long is reported one by one, nanoseconds, where the user did not say: a
/// disk with moving parts takes ten milliseconds for any request.
const MIN_NS: u64 = 10_000_000;
/// How often sums are written.
const SECOND_NS: i64 = 1_000_000_000;
/// Series at most.
const MOST_SERIES: usize = 2048;

/// Series of requests, with the number of each second that they are: see [`live`].
const SERIES: [live::Word; 4] =
    [live::DISK_IO_REQUESTS, live::DISK_IO_BYTES, live::DISK_IO_QUEUED, live::DISK_IO_IN_DEVICE];

/// The collector.
#[derive(Default)]
struct Disk {
    program: Option<Program>,
    unwinder: Option<SharedUnwinder>,
    /// Counts as they were when written last.
    totals: HashMap<disk_key, Counts>,
    /// By device, kind and issuer, with whether the last point was not zero.
    series: HashMap<disk_key, ([Gauge; 4], bool)>,
    written_ns: i64,
    written: Written,
}

impl Collector for Disk {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.unwinder = cx.services.unwinder().cloned();
        let (program, unseen) = Program::start(cx.settings.min_ns.unwrap_or(MIN_NS), cx)?;
        self.program = Some(program);
        unseen.into_iter().for_each(|unseen| cx.unseen(unseen));
        self.written_ns = monotonic_ns();
        Ok(())
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        if event.leaves() {
            self.take(cx);
        }
        if let Some(program) = &self.program {
            program.follow(event);
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        self.take(cx);
        if monotonic_ns() - self.written_ns >= SECOND_NS {
            self.write(cx);
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
        self.take(cx);
        self.write(cx);
        let of = |which| self.program.as_ref().map_or(0, |program| program.unreported(which));
        unreported(of(disk_loss::UNREPORTED_REQUESTS), of(disk_loss::UNREPORTED_FILES))
            .for_each(|what| cx.unseen(what));
        (self.program, self.unwinder) = (None, None);
    }
}

/// What is summed up and not reported one by one, because there was too much of it.
fn unreported(requests: u64, files: u64) -> impl Iterator<Item = Unavailable> {
    let all = [
        (requests, "slow requests to disks", "disk.io.*"),
        (files, "large files that were written back", live::DISK_WRITTEN_BACK.name),
    ];
    all.into_iter().filter(|(n, ..)| *n > 0).map(|(n, what, series)| Unavailable {
        scope: None,
        what: format!("each of {} {what}", quantity::count(n as f64)),
        why: "there were more than are listed one by one".into(),
        remedy: format!("nothing to do: the series {series} of the time have them"),
    })
}

impl Disk {
    fn take(&mut self, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        let (events, stacks) = (program.events(), program.stacks());
        for bytes in &events {
            let file = read(bytes).and_then(|file| WrittenFile::of(&file));
            let event = read(bytes).and_then(|event| Event::of(&event));
            match (file, event) {
                (Some(file), _) => self.written.one(&file, cx),
                (None, Some(event)) => self.one(&event, None, cx),
                (None, None) => cx.source_mut().skipped += 1,
            }
        }
        for record in &stacks {
            let Some((sample, event)) = Sample::split(record) else { continue };
            let Some(event) = read(event).and_then(|event| Event::of(&event)) else {
                cx.source_mut().skipped += 1;
                continue;
            };
            let is_jvm = cx.targets.get(event.pid.cast_signed()).is_some_and(|target| target.jvm);
            let unwinder = self.unwinder.clone();
            let stack = unwinder.and_then(|unwinder| unwinder.borrow_mut().stack(&sample, is_jvm, cx.sink));
            let comm = sample.comm().into_owned();
            self.one(&Event { comm, ..event }, stack, cx);
        }
    }

    fn one(&self, event: &Event, stack: Option<StackId>, cx: &mut Context<'_>) {
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let process = cx.process(pid);
        let thread = (tid > 0).then(|| cx.thread_called(pid, tid, &event.comm));
        let device = (label::DEVICE, event.name.as_str());
        match event.what {
            What::Request => {
                let queue_ns = event.issued_ns.saturating_sub(event.from_ns);
                let figures = [
                    (figure::BYTES, event.bytes as f64),
                    (figure::QUEUE_NS, queue_ns as f64),
                    (figure::RESULT, f64::from(event.result)),
                ];
                let labels = [device, (label::ISSUER, event.comm.as_str())];
                let name = op_name(event.number);
                // It is no time of the thread that issued it, which may do something else
                // meanwhile.
                span(event, kind::DISK_REQUEST, name, (process, None), None, &figures, &labels, cx);
            }
            What::Commit => {
                span(event, kind::DISK_COMMIT, "commit", (process, thread), None, &[], &[device], cx);
            }
            What::Writeback => {
                let reason = reason_name(event.number);
                span(event, kind::DISK_WRITEBACK, reason, (process, thread), None, &[], &[device], cx);
            }
            What::Throttle => {
                span(
                    event,
                    kind::DISK_THROTTLE,
                    "asked to pause",
                    (process, thread),
                    None,
                    &[],
                    &[device],
                    cx,
                );
            }
            // Its own record reports it.
            What::File => return,
            What::Sync => {
                let path = path_of(event).unwrap_or_else(|| event.name.clone());
                let labels: &[(&str, &str)] =
                    if path.is_empty() { &[] } else { &[(label::PATH, path.as_str())] };
                let figures = [(figure::RESULT, f64::from(event.result))];
                span(
                    event,
                    kind::DISK_SYNC,
                    sync_name(event.number),
                    (process, thread),
                    stack,
                    &figures,
                    labels,
                    cx,
                );
            }
        }
        cx.source_mut().records += 1;
    }

    /// Writes the sums of the time since the last time.
    fn write(&mut self, cx: &mut Context<'_>) {
        let Some(program) = &mut self.program else { return };
        let now_ns = monotonic_ns();
        let (from_ns, length) = (self.written_ns, (now_ns - self.written_ns).max(1));
        self.written_ns = now_ns;
        let seconds = length as f64 / 1e9;
        cx.source_mut().lost += program.lost();
        let totals = program.totals();
        for (key, counts) in totals {
            let rise = counts.since(self.totals.get(&key));
            if !self.series.contains_key(&key) {
                if self.series.len() >= MOST_SERIES {
                    continue;
                }
                let gauges = gauges(&counts, cx);
                self.series.insert(key, (gauges, false));
            }
            let Some((gauges, was_nonzero)) = self.series.get_mut(&key) else { continue };
            let mut points = Points::new(cx, Some(from_ns), now_ns);
            let values = [
                rise.count as f64 / seconds,
                rise.bytes as f64 / seconds,
                rise.queue_ns as f64 / length as f64,
                rise.device_ns as f64 / length as f64,
            ];
            if rise.count > 0 || *was_nonzero {
                gauges.iter_mut().zip(values).for_each(|(gauge, value)| points.point(gauge, length, value));
            }
            *was_nonzero = rise.count > 0;
            cx.source_mut().records += rise.count;
            self.totals.insert(key, counts);
        }
        self.written.write(program.written_back(), from_ns, now_ns, cx);
    }
}

/// The series of a device, kind and issuer: "vda write OrderService (4711)", "vda write kworker".
fn gauges(counts: &Counts, cx: &mut Context<'_>) -> [Gauge; 4] {
    let process: Option<ProcessId> = (counts.pid > 0).then(|| cx.process(counts.pid.cast_signed()));
    let issuer = match process {
        Some(process) => format!("{} ({})", cx.sink.process_mut(process).name, counts.pid),
        None => counts.comm.clone(),
    };
    let instance = format!("{} {} {issuer}", counts.device, op_name(counts.op));
    SERIES.map(|word| match process {
        Some(process) => Gauge::of(word, &instance, process),
        None => Gauge::new(word, &instance),
    })
}

/// The file of a sync, if its descriptor is still of it.
fn path_of(event: &Event) -> Option<String> {
    let place = procfs::path(event.pid.cast_signed(), &format!("fd/{}", event.fd));
    let same = std::fs::metadata(&place).is_ok_and(|info| info.ino() == event.inode);
    let path = std::fs::read_link(&place).ok().filter(|_| same)?;
    Some(path.to_string_lossy().into_owned())
}

#[allow(clippy::too_many_arguments, reason = "the one place that writes spans")]
fn span(
    event: &Event,
    kind: &str,
    name: &str,
    (process, thread): (ProcessId, Option<ThreadId>),
    stack: Option<StackId>,
    figures: &[(&str, f64)],
    labels: &[(&str, &str)],
    cx: &mut Context<'_>,
) {
    cx.sink.span(&SpanRow {
        thread,
        stack,
        figures,
        labels,
        ..SpanRow::new(
            kind,
            name,
            (cx.clock.epoch_ns(event.from_ns.cast_signed()), cx.clock.epoch_ns(event.to_ns.cast_signed())),
            process,
            cx.source,
        )
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_sums_have_is_not_said_to_be_missing() {
        let all: Vec<_> = unreported(59, 0).collect();
        assert_eq!(all.len(), 1);
        assert_eq!(all[0].what, "each of 59 slow requests to disks");
        assert!(all[0].remedy.starts_with("nothing to do"), "{}", all[0].remedy);
    }
}
