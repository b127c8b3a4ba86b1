//! The JFR engine: what a JVM's own flight recorder writes, for users who may not load eBPF
//! programs.
//!
//! The recorder is switched on through the attach protocol, by the JVM's own user or by root, with
//! settings of ours; what it wrote is read behind the recording by the reader of flight recordings,
//! as any other file. No flag, no agent.
//!
//! What it sees: Java stacks, waits, locks, I/O of Java code, collections, safepoints,
//! compilations. What it does not: native and kernel frames, threads of the JVM itself, why a
//! thread was off the CPU.
//!
//! What it leaves: nothing of ours in the JVM or on disk, also when fathom is killed (see
//! [`flight`], [`crate::jvm_folder`]). While it runs, another recording of the same JVM gets
//! its events too: HotSpot takes the sum of all settings. What stays as after any flight recording:
//! threads of the recorder, and classes that it has instrumented.

pub(crate) mod chunks;
mod flight;
mod settings;

use std::collections::BTreeMap;
use std::sync::mpsc::{self, Receiver, Sender};
use std::thread::JoinHandle;

use crate::target::{Change, Target};
use crate::{
    CaptureEngine, Collector, Context, Entry, Order, Selection, TargetEvent, Unavailable, WrittenFile,
};
use flight::{Flight, Landed, News};

/// Its line in the list.
pub const ENTRY: Entry = Entry {
    id: "jfr",
    about: "the JVM's flight recorder: Java stacks, waits, locks, I/O, collections, safepoints, compilations",
    engine: CaptureEngine::Jfr,
    needs: &[],
    essential: true,
    default: true,
    order: Order::Listed,
    make: |settings| Box::new(Jfr::new(settings.frequency_hz)),
};

/// JVMs that are recorded at once: each costs a thread and a file.
const MOST_JVMS: usize = 64;

/// The recorders of all JVMs that are recorded.
struct Jfr {
    frequency_hz: u32,
    flying: BTreeMap<i32, Flying>,
    /// Chunks of the flights that are over.
    landed: u64,
    left: Vec<WrittenFile>,
}

/// A flight on its own thread: a JVM that answers late must hold up nothing else.
struct Flying {
    /// The JVM, as soon as the session has found it.
    target: Option<Target>,
    /// Dropped to end it.
    stop: Option<Sender<()>>,
    news: Receiver<News>,
    thread: JoinHandle<Result<Landed, Unavailable>>,
    seen_chunks: u64,
}

impl Flying {
    /// Chunks so far.
    fn chunks(&mut self) -> u64 {
        if let Some(news) = self.news.try_iter().last() {
            self.seen_chunks = news.chunks;
        }
        self.seen_chunks
    }
}

impl Collector for Jfr {
    fn start(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        // JVMs that were asked for by their ids are known now: when none of them can be recorded,
        // nothing is.
        let Selection::Pids(pids) = cx.targets.selection() else { return Ok(()) };
        let mut why = None;
        for pid in pids.clone() {
            match Flight::start(pid.cast_unsigned(), self.frequency_hz) {
                Ok(flight) => self.take_off(pid, Some(flight)),
                Err(unseen) => why = Some(unseen),
            }
        }
        match why {
            Some(why) if self.flying.is_empty() => Err(why),
            Some(why) => {
                cx.unseen(why);
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn target(&mut self, event: &TargetEvent, cx: &mut Context<'_>) {
        let pid = event.target.pid;
        if event.leaves() {
            self.land(pid, cx);
        }
        if event.change == Change::Gone || !event.target.jvm {
            return;
        }
        if let Some(flying) = self.flying.get_mut(&pid) {
            flying.target = Some(event.target.clone());
            return;
        }
        if self.flying.len() >= MOST_JVMS {
            cx.unseen(Unavailable {
                scope: None,
                what: format!("more than {MOST_JVMS} JVMs at once"),
                why: "each costs a thread".into(),
                remedy: "record fewer, or use --engine ebpf (as root)".into(),
            });
            return;
        }
        self.take_off(pid, None);
        if let Some(flying) = self.flying.get_mut(&pid) {
            flying.target = Some(event.target.clone());
        }
    }

    fn drain(&mut self, cx: &mut Context<'_>) -> Result<(), Unavailable> {
        let landed_and_flying: u64 = self.flying.values_mut().map(Flying::chunks).sum::<u64>() + self.landed;
        cx.source_mut().records = landed_and_flying;
        let landed: Vec<i32> =
            self.flying.iter().filter(|(_, f)| f.thread.is_finished()).map(|(pid, _)| *pid).collect();
        landed.into_iter().for_each(|pid| self.land(pid, cx));
        Ok(())
    }

    fn stop(&mut self, cx: &mut Context<'_>) {
        // All are signalled before the first is waited for.
        self.flying.values_mut().for_each(|flying| flying.stop = None);
        let pids: Vec<i32> = self.flying.keys().copied().collect();
        pids.into_iter().for_each(|pid| self.land(pid, cx));
    }

    fn leave(&mut self) -> Vec<WrittenFile> {
        std::mem::take(&mut self.left)
    }
}

impl Jfr {
    fn new(frequency_hz: u32) -> Self {
        Self { frequency_hz, flying: BTreeMap::new(), landed: 0, left: Vec::new() }
    }

    /// Lets a flight go on its own thread, starting it there when it was not yet.
    fn take_off(&mut self, pid: i32, started: Option<Flight>) {
        let (stop, stopped) = mpsc::channel();
        let (news_of_it, news) = mpsc::channel();
        let frequency_hz = self.frequency_hz;
        let fly = move || {
            let flight = match started {
                Some(flight) => flight,
                None => Flight::start(pid.cast_unsigned(), frequency_hz)?,
            };
            Ok(flight.fly(&stopped, &news_of_it))
        };
        // Without a thread there is nothing to land; the JVM's slice comes to its own end.
        let Ok(thread) = std::thread::Builder::new().name("fathom-jfr".into()).spawn(fly) else { return };
        self.flying.insert(pid, Flying { target: None, stop: Some(stop), news, thread, seen_chunks: 0 });
    }

    /// Ends a flight, waits for it, and keeps what it brought.
    fn land(&mut self, pid: i32, cx: &mut Context<'_>) {
        let Some(flying) = self.flying.remove(&pid) else { return };
        drop(flying.stop);
        let seen_of = |why: String| Unavailable {
            scope: None,
            what: format!("what the flight recorder of JVM {pid} saw, or a part of it"),
            why,
            remedy: "record again; fathom info shows what was read".into(),
        };
        match flying.thread.join() {
            Ok(Ok(landed)) => {
                for fault in landed.faults {
                    cx.unseen(seen_of(fault));
                }
                self.landed += landed.chunks;
                let landed_chunks = self.landed;
                let source = cx.source_mut();
                source.records = landed_chunks;
                source.lost += landed.refused;
                match (landed.file, flying.target) {
                    (Some(file), Some(target)) => self.left.push(WrittenFile {
                        path: format!("jvm-{pid}.jfr").into(),
                        process: target.process,
                        pid,
                        start_ticks: target.start_ticks,
                        size_at_start: 0,
                        file,
                    }),
                    _ => cx.unseen(seen_of("nothing came of it".into())),
                }
            }
            Ok(Err(unseen)) => cx.unseen(unseen),
            Err(_) => cx.unseen(seen_of("its thread failed".into())),
        }
    }
}

impl Drop for Jfr {
    fn drop(&mut self) {
        for (_, mut flying) in std::mem::take(&mut self.flying) {
            flying.stop = None;
            let _ = flying.thread.join();
        }
    }
}
