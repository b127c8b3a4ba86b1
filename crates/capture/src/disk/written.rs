//! Files that the page cache writes back: large and slow ones one by one, all of them in sums by
//! who wrote to them last.

use std::collections::HashMap;

use fathom_recording::vocabulary::{figure, kind, label, live};

use super::record::{WrittenBack, WrittenFile};
use super::{MOST_SERIES, span};
use crate::collector::Context;
use crate::growing_series::{Gauge, Points};
use crate::procfs::Mounts;

/// What is known of it so far.
#[derive(Default)]
pub(super) struct Written {
    mounts: Mounts,
    /// By device, process and name of the writer.
    series: HashMap<(String, u32, String), Sum>,
}

/// The sum of a writer on a device.
struct Sum {
    gauge: Gauge,
    bytes: u64,
    /// Whether the last point was not zero.
    is_nonzero: bool,
}

impl Written {
    /// Writes a file.
    pub(super) fn one(&mut self, file: &WrittenFile, cx: &mut Context<'_>) {
        let event = &file.event;
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let process = cx.process(pid);
        let thread = (tid > 0).then(|| cx.thread_called(pid, tid, &event.comm));
        let path = self.mounts.path(event.dev, &file.path).unwrap_or_else(|| file.path.clone());
        let own = file.path.rsplit('/').next().unwrap_or_default();
        let nameless = format!("inode {}", event.inode);
        let name = match own {
            _ if file.metadata => "metadata",
            "" => nameless.as_str(),
            own => own,
        };
        let writer = file.writer.as_ref().map(|(pid, comm)| writer(*pid, comm));
        let labels: Vec<_> = [
            Some((label::DEVICE, event.name.as_str())),
            Some((label::PATH, path.as_str())).filter(|(_, path)| !path.is_empty()),
            writer.as_deref().map(|writer| (label::WRITER, writer)),
        ]
        .into_iter()
        .flatten()
        .collect();
        let figures = [(figure::BYTES, event.bytes as f64)];
        span(event, kind::DISK_WRITEBACK_FILE, name, (process, thread), None, &figures, &labels, cx);
        cx.source_mut().records += 1;
    }

    /// Writes the sums of the time since the last time.
    pub(super) fn write(&mut self, sums: Vec<WrittenBack>, from_ns: i64, now_ns: i64, cx: &mut Context<'_>) {
        let length = (now_ns - from_ns).max(1);
        for sum in sums {
            let key = (sum.device, sum.pid, sum.comm);
            if !self.series.contains_key(&key) {
                if self.series.len() >= MOST_SERIES {
                    continue;
                }
                let gauge = gauge(&key, cx);
                self.series.insert(key.clone(), Sum { gauge, bytes: 0, is_nonzero: false });
            }
            let Some(known) = self.series.get_mut(&key) else { continue };
            let rise = sum.bytes.saturating_sub(known.bytes);
            known.bytes = sum.bytes;
            if rise > 0 || known.is_nonzero {
                let rate = rise as f64 * 1e9 / length as f64;
                Points::new(cx, Some(from_ns), now_ns).point(&mut known.gauge, length, rate);
            }
            known.is_nonzero = rise > 0;
        }
    }
}

/// "dd (4711)"; a process of another PID namespace has no number here.
fn writer(pid: u32, comm: &str) -> String {
    if pid == 0 { comm.to_owned() } else { format!("{comm} ({pid})") }
}

fn gauge((device, pid, comm): &(String, u32, String), cx: &mut Context<'_>) -> Gauge {
    if *pid > 0 {
        let process = cx.process(pid.cast_signed());
        let instance = format!("{device} {} ({pid})", cx.sink.process_mut(process).name);
        return Gauge::of(live::DISK_WRITTEN_BACK, &instance, process);
    }
    let who = if comm.is_empty() { "unknown" } else { comm };
    Gauge::new(live::DISK_WRITTEN_BACK, &format!("{device} {who}"))
}
