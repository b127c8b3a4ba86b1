//! Targets that come and go during a recording.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

use super::output::Output;
use super::signals::Signals;
use super::{Running, Session};
use crate::CaptureEngine;
use crate::services::Service;
use crate::target::TargetEvent;
use crate::{Context, Unavailable};

impl Session {
    pub(super) fn watch_births(&mut self) -> Result<(), Unavailable> {
        if self.engine == CaptureEngine::Ebpf { self.targets.watch_births() } else { Ok(()) }
    }

    /// Waits for the next round, or for something to happen (`births`: the kernel's news too).
    /// Whether a target may have ended.
    pub(super) fn wait(&self, signals: &Signals, timeout: Duration, births: bool) -> bool {
        let targets: Vec<BorrowedFd<'_>> = self.targets.pidfds().collect();
        let wakes = self.running.iter().filter(|r| r.works).filter_map(|r| r.collector.wake());
        let births = self.targets.wake().filter(|_| births);
        let fds = std::iter::once(signals.wake()).chain(targets.iter().copied()).chain(wakes).chain(births);
        let mut fds: Vec<PollFd<'_>> = fds.map(|fd| PollFd::from_borrowed_fd(fd, PollFlags::IN)).collect();
        let timeout =
            Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: i64::from(timeout.subsec_nanos()) };
        // An interrupted wait is a round that came early.
        let _ = poll(&mut fds, Some(&timeout));
        fds.iter().skip(1).take(targets.len()).any(|fd| !fd.revents().is_empty())
    }

    /// Passes what became of the targets to the collectors: by the kernel's news, and by a look at
    /// all processes.
    pub(super) fn news(&mut self, writer: &mut dyn Output, scan: bool) {
        let mut events = std::mem::take(&mut self.events);
        self.targets.hear(writer, &mut events);
        if scan {
            self.targets.scan(writer, &mut events);
            self.written.look(&self.targets);
        }
        self.ever_had_a_target |= !self.targets.is_empty();
        events.iter().for_each(|event| self.facts.target(event));
        self.facts.write(writer);
        for event in &events {
            self.pass_on(event, writer);
        }
        events.clear();
        self.events = events;
    }

    /// Passes what became of a target to the collectors.
    pub(super) fn pass_on(&mut self, event: &TargetEvent, writer: &mut dyn Output) {
        if event.leaves() {
            self.each(writer, |running| running.works, |running, cx| running.collector.left(event, cx));
            self.services.forget_code(event);
            self.end_contexts(event, writer);
        }
        let mut is_met = false;
        let mut meet = |running: &Running, cx: &mut Context<'_>| {
            if !is_met && running.entry.needs.contains(&Service::Unwinder) {
                is_met = true;
                cx.services.meet_code(event, cx.targets);
            }
        };
        self.each(
            writer,
            |running| running.works,
            |running, cx| {
                meet(running, cx);
                running.collector.target(event, cx);
            },
        );
        if !is_met {
            self.services.meet_code(event, &self.targets);
        }
        self.services.learn_code(event.target.pid);
    }
}
