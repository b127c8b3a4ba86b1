//! A wait for a lock as a span: of which class the lock is, who held it, who woke the thread that
//! waited.

use fathom_recording::vocabulary::{figure, label};
use fathom_recording::{SpanRow, StackId};

use super::LockWaits;
use super::event::{Event, Waited};
use crate::collector::Context;
use crate::procfs;

impl LockWaits {
    /// Writes a wait; `cut`: why it has no end.
    pub(super) fn write(
        &mut self,
        event: &Event,
        stack: Option<StackId>,
        cut: Option<&str>,
        cx: &mut Context<'_>,
    ) {
        let jvm = self.jvms.get_mut(&event.pid);
        let (class, owner) = match jvm {
            Some(jvm) => {
                let class = jvm.class(event);
                let mut owner = jvm.owner(event, class.as_ref());
                if owner.is_none() && cut.is_some() && event.waited == Waited::Monitor {
                    owner = jvm.holder(event.tid);
                }
                (class, owner)
            }
            None => (None, None),
        };
        let offset = class.as_ref().and_then(|class| class.exclusive_owner).unwrap_or(0);
        if let Some(jvm) = self.jvms.get_mut(&event.pid).filter(|jvm| offset > 0 && jvm.exclusive_owner == 0)
        {
            // From now on the program reads the owner too.
            jvm.exclusive_owner = offset;
            self.send_jvm(event.pid);
        }
        // Who woke it has left the lock; of conditions and the like it is not the owner of
        // anything.
        let has_owner = match event.waited {
            Waited::Monitor | Waited::Native => true,
            Waited::Park => offset > 0,
            Waited::Wait => false,
        };
        // Where interrupts are not seen, one wakes in the name of whoever it interrupted.
        let by_another = |waker: &u32| *waker > 0 && *waker != event.tid && self.is_of(event.pid, *waker);
        let waker = Some(event.waker).filter(by_another);
        let by_waker = owner.is_none();
        self.ownerless += u64::from(event.later && has_owner && by_waker);
        let owner = owner.or(waker.filter(|_| has_owner));
        let on_carrier =
            owner.is_some_and(|tid| self.jvms.get(&event.pid).is_some_and(|jvm| jvm.is_carrier(tid)));
        let name = match (&class, event.waited) {
            (Some(class), _) => class.name.clone(),
            (None, Waited::Native) => "mutex".to_owned(),
            (None, _) => String::new(),
        };
        let mut owner_name = owner.and_then(|tid| self.name(event.pid, tid));
        if on_carrier {
            // Where it held the lock asleep, its carrier did something else meanwhile.
            let on = if by_waker { "a virtual thread, in the end on" } else { "a virtual thread on" };
            owner_name = owner_name.map(|carrier| format!("{on} {carrier}"));
        }
        let waker_name = waker.and_then(|tid| self.name(event.pid, tid));
        let address = format!("{:#x}", event.lock);
        let mut labels: Vec<(&str, &str)> = vec![(label::ADDRESS, &address)];
        labels.extend(owner_name.as_deref().map(|name| (label::OWNER, name)));
        labels.extend(waker_name.as_deref().map(|name| (label::WAKER, name)));
        labels.extend(cut.map(|why| (label::CUT, why)));
        let owner = owner.filter(|_| !(on_carrier && by_waker));
        let owner_tid = owner.map(|tid| (figure::OWNER_TID, f64::from(tid)));
        let figures: Vec<(&str, f64)> = owner_tid.into_iter().collect();
        let (pid, tid) = (event.pid.cast_signed(), event.tid.cast_signed());
        let (process, thread) = (cx.process(pid), cx.thread(pid, tid));
        cx.sink.span(&SpanRow {
            thread: Some(thread),
            stack,
            figures: &figures,
            labels: &labels,
            ..SpanRow::new(
                event.waited.kind(),
                &name,
                (cx.clock.epoch_ns(event.off_ns.cast_signed()), cx.clock.epoch_ns(event.on_ns.cast_signed())),
                process,
                cx.source,
            )
        });
    }

    /// Whether a thread is one of a process.
    pub(super) fn is_of(&self, pid: u32, tid: u32) -> bool {
        let known = self.jvms.get(&pid).is_some_and(|jvm| jvm.name(tid).is_some());
        known || procfs::path(pid.cast_signed(), "task").join(tid.to_string()).exists()
    }

    fn name(&self, pid: u32, tid: u32) -> Option<String> {
        if let Some(name) = self.jvms.get(&pid).and_then(|jvm| jvm.name(tid)) {
            return Some(name.to_owned());
        }
        let name = procfs::read_to_string(procfs::path(tid.cast_signed(), "comm"))?;
        Some(name.trim_end().to_owned())
    }
}
