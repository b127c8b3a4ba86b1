//! The two ring buffers of an object: its events, and the stacks that belong to them.
//!
//! The program sends the stack first, then the event with the stack's stamp; here the events are
//! read first, so that the stack of each is there by then.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;

use fathom_recording::StackId;
use libbpf_rs::skel::Skel;

use crate::Unavailable;
use crate::bpf::kit::Loaded;
use crate::bpf::losses::Losses;
use crate::bpf::ring::Ring;
use crate::collector::Context;
use crate::thread_context::Seen;
use crate::unwind::SharedUnwinder;
use crate::unwind::samples::{Sample, context_of};

/// A thread, and when its stack was taken: monotonic nanoseconds.
type Stamp = (u32, u64);
/// A stack as the program sent it.
type Record = Box<[u8]>;

/// Events of type `E`, and what they left of stacks.
pub(crate) struct Events<E> {
    events: Ring<E>,
    stacks: Ring<(Stamp, Record)>,
    losses: Losses,
    /// Stacks that wait for their event.
    waiting: HashMap<Stamp, Record>,
    /// Tables and names, shared with the other collectors that take stacks; without it there are
    /// none.
    unwinder: Option<SharedUnwinder>,
    /// Of each, taken in one round and kept.
    most: usize,
}

impl<E: 'static> Events<E> {
    /// Of an object that is loaded: `parse` reads an event; at most `most` of them, and of stacks,
    /// are taken in one round.
    pub(crate) fn of<S: Skel<'static>>(
        loaded: &Loaded<S>,
        parse: fn(&[u8]) -> Option<E>,
        most: usize,
        cx: &Context<'_>,
    ) -> Result<Self, Unavailable> {
        let stamped = |bytes: &[u8]| {
            let head = Sample::parse(bytes)?.head;
            Some(((head.tid, head.t_ns), bytes.into()))
        };
        Ok(Self {
            events: loaded.ring("events", parse, most)?,
            stacks: loaded.ring("samples", stamped, most)?,
            losses: loaded.losses()?,
            waiting: HashMap::new(),
            unwinder: cx.services.unwinder().cloned(),
            most,
        })
    }

    /// What found no room since the last time.
    pub(crate) fn lost(&mut self) -> u64 {
        self.losses.take()
    }

    /// So many the program has left out so far, of a kind of its own.
    pub(crate) fn left_out(&self, kind: u32) -> u64 {
        self.losses.of(kind)
    }

    /// What came in since the last time.
    pub(crate) fn take(&mut self) -> Vec<E> {
        let events = self.events.take();
        // So many are of events that were lost.
        if self.waiting.len() >= self.most {
            self.waiting.clear();
        }
        self.waiting.extend(self.stacks.take());
        events
    }

    /// The stack of an event of this process and thread, by its stamp. It is given once.
    pub(crate) fn stack(
        &mut self,
        (pid, tid): (u32, u32),
        stack_ns: u64,
        cx: &mut Context<'_>,
    ) -> Option<StackId> {
        let record = self.waiting.remove(&(tid, stack_ns))?;
        self.walked(pid, &record, cx)
    }

    /// The same, and leaves it there for another event with the same stamp.
    pub(crate) fn shared_stack(
        &mut self,
        (pid, tid): (u32, u32),
        stack_ns: u64,
        cx: &mut Context<'_>,
    ) -> Option<StackId> {
        let record = self.waiting.get(&(tid, stack_ns))?;
        self.walked(pid, record, cx)
    }

    /// Where the kernel was called from, by the stack of an event; it is left there.
    pub(crate) fn caller(
        &self,
        (pid, tid): (u32, u32),
        stack_ns: u64,
        cx: &mut Context<'_>,
    ) -> Option<StackId> {
        let sample = Sample::parse(self.waiting.get(&(tid, stack_ns))?)?;
        self.placed(pid, &sample.without_kernel(), cx)
    }

    /// The context of the thread when the stack of an event was taken; the stack is left there.
    pub(crate) fn context(&self, tid: u32, stack_ns: u64) -> Seen {
        let sample = self.waiting.get(&(tid, stack_ns)).and_then(|record| Sample::parse(record));
        sample.map_or(Seen::Unknown, |sample| context_of(&sample.head))
    }

    /// Whether stacks are walked at all.
    pub(crate) fn has_stacks(&self) -> bool {
        self.unwinder.is_some()
    }

    fn walked(&self, pid: u32, record: &Record, cx: &mut Context<'_>) -> Option<StackId> {
        self.placed(pid, &Sample::parse(record)?, cx)
    }

    fn placed(&self, pid: u32, sample: &Sample<'_>, cx: &mut Context<'_>) -> Option<StackId> {
        let is_jvm = cx.targets.get(pid.cast_signed()).is_some_and(|target| target.jvm);
        self.unwinder.as_ref()?.borrow_mut().stack(sample, is_jvm, cx.sink)
    }

    /// A stack that nobody will ask for.
    pub(crate) fn forget(&mut self, tid: u32, stack_ns: u64) {
        self.waiting.remove(&(tid, stack_ns));
    }

    /// Readable when much waits, or something that should not.
    pub(crate) fn wake(&self) -> BorrowedFd<'_> {
        self.events.wake()
    }
}
