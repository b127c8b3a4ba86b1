//! Waits of virtual threads that no probe follows: where each of them waits is read out of the
//! JVM's memory some times a second.
//!
//! ```text
//!   looks at a thread      1        2        3        4
//!   where it waits         A        A        B        -
//!   span written         ├─── A ────────┼─── B ───┤            borders in the middle between two looks
//! ```
//! So the spans of many threads add up to the number that wait at a time; the length of a single
//! short wait is not known. Of very many threads a part is looked at in each round, one part after
//! another, and what is seen of one stands until it is read again.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use fathom_hotspot::code_cache::CodeCache;
use fathom_hotspot::symbols::{JavaFrame, Lost, Symbolizer};
use fathom_hotspot::virtual_threads::{State, VirtualThread, VirtualThreads};
use fathom_hotspot::walk::WalkedFrame;
use fathom_hotspot::{Error, Result, Vm};
use fathom_recording::{FrameType, StackId};

use super::event::{Event, Waited};
use super::virtual_probes::now_ns;
use super::virtual_threads::Wait;
use crate::collector::Context;

/// Threads that are read in one round, and how often a round is at most.
const MOST: usize = 500;
const EVERY: Duration = Duration::from_millis(100);
/// Rounds take this part of one CPU's time at most.
const REST: u32 = 100;
/// A JVM that has just got its first virtual thread is tried again.
const AGAIN: Duration = Duration::from_millis(500);
/// The oldest frame of a stack that could not be walked to its root.
const CUT: &str = "[stack cut: virtual thread]";

/// What a thread was seen to wait in, since when.
struct Open {
    thread: VirtualThread,
    waited: Waited,
    since_ns: u64,
    stack: Option<StackId>,
}

struct Reader {
    threads: VirtualThreads,
    symbols: Symbolizer,
}

/// The samples of one JVM.
pub(super) struct Samples {
    reader: Option<Reader>,
    /// Why it cannot be read, once that is known, and whether it was reported.
    failed: Option<String>,
    is_reported: bool,
    next: Instant,
    part: u32,
    /// Of how many threads one is looked at in a round.
    k: u32,
    /// By part: when its threads were looked at last, monotonic nanoseconds.
    looked: HashMap<u32, u64>,
    /// By part and number.
    open: HashMap<(u32, u64), Open>,
}

impl Samples {
    pub(super) fn new() -> Self {
        Self {
            reader: None,
            failed: None,
            is_reported: false,
            next: Instant::now(),
            part: 0,
            k: 1,
            looked: HashMap::new(),
            open: HashMap::new(),
        }
    }

    /// Whether threads can be looked at; why not, where that is known.
    pub(super) fn prepare(&mut self, vm: &Vm) -> std::result::Result<bool, &str> {
        if self.reader.is_none() && self.failed.is_none() && Instant::now() >= self.next {
            match open(vm) {
                Ok(reader) => self.reader = Some(reader),
                Err(Error::NotReady { .. }) => self.next = Instant::now() + AGAIN,
                Err(error) => self.failed = Some(error.to_string()),
            }
        }
        match &self.failed {
            Some(why) => Err(why),
            None => Ok(self.reader.is_some()),
        }
    }

    /// Whether threads were looked at.
    pub(super) fn is_ready(&self) -> bool {
        self.reader.is_some()
    }

    /// Whether that they cannot be looked at is known for the first time.
    pub(super) fn is_first_failure(&mut self) -> bool {
        self.failed.is_some() && !std::mem::replace(&mut self.is_reported, true)
    }

    /// Looks at threads when it is time. `wanted` says which waits nobody else reports. What is
    /// returned is over.
    pub(super) fn look(
        &mut self,
        (pid, vm): (u32, &Vm),
        wanted: impl Fn(&VirtualThread, Waited) -> bool,
        cx: &mut Context<'_>,
    ) -> Vec<(Wait, Option<StackId>)> {
        let begun = Instant::now();
        if begun < self.next {
            return Vec::new();
        }
        let Some(mut reader) = self.reader.take() else { return Vec::new() };
        let over = self.round(&mut reader, (pid, vm), wanted, cx).unwrap_or_default();
        self.reader = Some(reader);
        self.next = Instant::now() + (begun.elapsed() * REST).max(EVERY);
        over
    }

    /// One round; `None` where nothing could be read.
    fn round(
        &mut self,
        reader: &mut Reader,
        (pid, vm): (u32, &Vm),
        wanted: impl Fn(&VirtualThread, Waited) -> bool,
        cx: &mut Context<'_>,
    ) -> Option<Vec<(Wait, Option<StackId>)>> {
        let now = now_ns();
        let (snapshot, k) = reader.threads.read(vm, MOST, self.part).ok()?;
        let mut over = Vec::new();
        if k != self.k {
            over = self.end(pid, now);
            self.k = k;
        }
        let part = self.part % k;
        self.part = self.part.wrapping_add(1);
        // The middle since the last look at the same threads.
        let border = self.looked.insert(part, now).map_or(now, |last| last + (now - last.min(now)) / 2);
        let mut before: HashMap<u64, Open> = HashMap::new();
        let of_part: Vec<(u32, u64)> = self.open.keys().filter(|(of, _)| *of == part).copied().collect();
        for key in of_part {
            if let Some(open) = self.open.remove(&key) {
                before.insert(key.1, open);
            }
        }
        for thread in snapshot.threads {
            let waited = match thread.state {
                State::Parked => Waited::Park,
                State::Blocked => Waited::Monitor,
                State::Waiting => Waited::Wait,
                State::Runnable | State::Other => continue,
            };
            if !wanted(&thread, waited) {
                continue;
            }
            let number = thread.number;
            let same = |open: &Open| open.waited == waited && is_same_wait(&open.thread, &thread);
            let open = match before.remove(&number) {
                Some(open) if same(&open) => Open { thread, ..open },
                last => {
                    over.extend(last.map(|last| last.over(pid, border)));
                    let stack = stack(&mut reader.symbols, &thread, cx);
                    Open { thread, waited, since_ns: border, stack }
                }
            };
            self.open.insert((part, number), open);
        }
        over.extend(before.into_values().map(|open| open.over(pid, border)));
        Some(over)
    }

    /// Ends all waits that were seen: nobody looks any more, or others do.
    pub(super) fn end(&mut self, pid: u32, now_ns: u64) -> Vec<(Wait, Option<StackId>)> {
        self.looked.clear();
        self.open.drain().map(|(_, open)| open.over(pid, now_ns)).collect()
    }
}

impl Open {
    fn over(self, pid: u32, until_ns: u64) -> (Wait, Option<StackId>) {
        let blocker = self.thread.blocker;
        let event = Event {
            off_ns: self.since_ns,
            on_ns: until_ns.max(self.since_ns),
            lock: blocker.map_or(0, |blocker| blocker.at),
            owner: blocker.and_then(|blocker| blocker.owner).unwrap_or(0),
            header: blocker.map_or([0; 2], |blocker| blocker.header),
            stack_ns: 0,
            pid,
            tid: 0,
            waker: 0,
            waited: self.waited,
            owner_tid: 0,
            apart: false,
            later: false,
        };
        (Wait { event, number: self.thread.number }, self.stack)
    }
}

/// Whether a thread is in the same wait as when it was looked at before, as far as can be seen.
/// A lock may be moved by the collector and have another owner meanwhile. Of what has no owner, a
/// future or a condition, another address is another wait: an operation that waits in the same
/// place as the one before has a future of its own. Where the collector has moved that, one long
/// wait is written as two that follow each other.
fn is_same_wait(before: &VirtualThread, now: &VirtualThread) -> bool {
    let unowned = |thread: &VirtualThread| thread.blocker.filter(|it| it.owner.is_none()).map(|it| it.at);
    let is_other = matches!((unowned(before), unowned(now)), (Some(one), Some(other)) if one != other);
    before.frames == now.frames && !is_other
}

fn open(vm: &Vm) -> Result<Reader> {
    let code = CodeCache::read(vm)?;
    Ok(Reader {
        threads: VirtualThreads::new(vm, code.clone())?,
        symbols: Symbolizer::new(vm.clone(), code)?,
    })
}

/// The stack of a thread, as far as it can be named.
fn stack(symbols: &mut Symbolizer, thread: &VirtualThread, cx: &mut Context<'_>) -> Option<StackId> {
    let mut stack = None;
    if thread.truncated.is_some() {
        let frame = cx.sink.frame(CUT, "", FrameType::Unknown, -1);
        stack = Some(cx.sink.stack(None, frame));
    }
    for frame in thread.frames.iter().rev() {
        let inlined: std::result::Result<Vec<JavaFrame>, Lost> = match *frame {
            WalkedFrame::Compiled { nmethod, compile_id, pc } => {
                symbols.compiled(nmethod, compile_id, pc).map(|frames| frames.to_vec())
            }
            WalkedFrame::Interpreted { method, bci } => {
                symbols.interpreted(method, None, bci).map(|frame| vec![frame])
            }
            WalkedFrame::Stub { pc } => symbols.stub(pc).map(|frame| vec![frame]),
        };
        for java in inlined.ok()?.iter().rev() {
            let line = java.line.map_or(-1, |line| i32::try_from(line).unwrap_or(-1));
            let frame = cx.sink.frame(&java.name, "", java.frame_type, line);
            stack = Some(cx.sink.stack(stack, frame));
        }
    }
    stack
}

#[cfg(test)]
mod tests {
    use fathom_hotspot::virtual_threads::Blocker;

    use super::*;

    #[test]
    fn another_future_in_the_same_place_is_another_wait_and_a_lock_that_moved_is_not() {
        let waits_for = |at: u64, owner: Option<u64>, pc: u64| VirtualThread {
            number: 41,
            state: State::Parked,
            blocker: Some(Blocker { at, header: [0; 2], owner }),
            frames: vec![WalkedFrame::Stub { pc }],
            truncated: None,
        };
        let future = waits_for(0x1000, None, 7);
        assert!(is_same_wait(&future, &waits_for(0x1000, None, 7)));
        assert!(!is_same_wait(&future, &waits_for(0x2000, None, 7)));
        assert!(!is_same_wait(&future, &waits_for(0x1000, None, 8)), "another place");
        assert!(is_same_wait(&waits_for(0x1000, Some(3), 7), &waits_for(0x2000, Some(4), 7)), "a lock");
        let for_a_socket = VirtualThread { blocker: None, ..future.clone() };
        assert!(is_same_wait(&for_a_socket, &for_a_socket.clone()));
    }
}
