//! An interval into the fleet's rows: a recording for each JVM, and one of the host.
//!
//! On a thread of its own, so that collectors are drained meanwhile. The host's recording is of the
//! service `fathom-agent`: it has the numbers of the machine, what the agent itself took, and what
//! it could not see; it is there in each interval, also when there was no JVM.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use fathom_capture::target::JvmFilter;
use fathom_recording::vocabulary::live::Word;
use fathom_recording::{
    ClockBasis, Excerpt, Identity, Placement, ProcessId, Recording, SeriesInfo, ServiceFrom, Sink, Source,
    Unseen,
};

use crate::AgentError;
use crate::spool::Spool;
use crate::status::Shared;

/// The service of the host's own recording.
pub const OWN_SERVICE: &str = "fathom-agent";
/// Format of the agent's source.
const FORMAT: &str = "agent";
/// Other users' JVMs that are listed one by one.
const MOST_LISTED: usize = 64;

/// An interval that is over.
pub(crate) struct Interval {
    /// From when to when, nanoseconds since the epoch.
    pub within_ns: (i64, i64),
    /// What came in; `None`: nothing was attached.
    pub excerpt: Option<Excerpt>,
    /// What each JVM is.
    pub jvms: HashMap<ProcessId, Identity>,
    /// What is to be said of it.
    pub notes: Vec<Unseen>,
    /// The agent's own numbers: of all of the interval.
    pub own: Vec<(Word, f64)>,
}

/// The thread that writes.
pub(crate) struct Rows {
    to: SyncSender<Interval>,
    busy: Arc<AtomicBool>,
    thread: JoinHandle<()>,
}

impl Rows {
    pub fn start(
        spool: Arc<Spool>,
        shared: Arc<Shared>,
        (host, filter): (Identity, JvmFilter),
    ) -> Result<Self, AgentError> {
        // None waits: what waits keeps its rows in memory.
        let (to, from) = sync_channel(0);
        let busy = Arc::new(AtomicBool::new(false));
        let writer = Writer { spool, shared, host, filter, busy: Arc::clone(&busy) };
        let thread = std::thread::Builder::new().name("rows".into()).spawn(move || writer.run(&from));
        Ok(Self { to, busy, thread: thread.map_err(AgentError::system("a thread"))? })
    }

    /// Whether nothing is being written.
    pub fn is_idle(&self) -> bool {
        !self.busy.load(Ordering::Acquire)
    }

    /// Has an interval written as soon as that can be.
    pub fn write(&self, interval: Interval) {
        self.busy.store(true, Ordering::Release);
        // A thread that panicked writes nothing any more; the status says when it wrote last.
        let _ = self.to.send(interval);
    }

    /// Waits for the last one.
    pub fn finish(self) {
        drop(self.to);
        let _ = self.thread.join();
    }
}

struct Writer {
    spool: Arc<Spool>,
    shared: Arc<Shared>,
    host: Identity,
    filter: JvmFilter,
    busy: Arc<AtomicBool>,
}

impl Writer {
    fn run(&self, from: &Receiver<Interval>) {
        for interval in from {
            let name = name(interval.within_ns.0);
            let result = self.write(interval, &name);
            // What the interval took is given back to the system, and not kept for the next.
            trim_memory();
            let error = result.err().map(|error| error.to_string());
            self.shared.with(|status| {
                status.intervals += u64::from(error.is_none());
                status.spool.error = error;
            });
            self.busy.store(false, Ordering::Release);
        }
    }

    fn write(&self, mut interval: Interval, name: &str) -> Result<(), AgentError> {
        interval.notes.extend(self.closed());
        self.shared.with(|status| status.unseen.clone_from(&interval.notes));
        let mut written = 0;
        let made = (|| -> Result<PathBuf, AgentError> {
            let made = self.spool.make(name)?;
            for recording in interval.recordings(&self.host) {
                written += 1;
                match fathom_fleet::add(&recording, &made) {
                    // A damaged timestamp must not cost the rest.
                    Err(error @ fathom_fleet::FleetError::Unfit(_)) => {
                        written -= 1;
                        self.spool.count_lost(&format!("{name}-{error}"), 1)?;
                    }
                    added => {
                        _ = added.map_err(|error| AgentError::io(&made)(std::io::Error::other(error)))?
                    }
                }
            }
            Ok(made)
        })();
        let made = made.inspect_err(|_| {
            // It may be the list of losses itself that cannot be written; it counts in memory.
            let _ = self.spool.count_lost(name, written);
        })?;
        self.spool.commit(&made)
    }

    /// JVMs that fit and may not be looked into.
    fn closed(&self) -> Vec<Unseen> {
        let closed = self.filter.closed();
        let one = |(pid, owner): &(i32, Option<u32>)| Unseen {
            scope: None,
            what: format!("the JVM {pid}"),
            why: match owner {
                Some(uid) => {
                    format!(
                        "it belongs to another user (uid {uid}), whose processes this user may not observe"
                    )
                }
                None => "this user may not observe it".into(),
            },
            remedy: "run fathom agent as root, or with the capabilities in docs/agent.md".into(),
        };
        closed.iter().take(MOST_LISTED).map(one).collect()
    }
}

impl Interval {
    /// Sealed recordings, made one by one.
    fn recordings(self, host: &Identity) -> impl Iterator<Item = Recording> {
        let jvms: Vec<(ProcessId, Identity)> = match &self.excerpt {
            Some(excerpt) => {
                let known = excerpt.jvms().filter_map(|(id, _)| Some((id, self.jvms.get(&id)?.clone())));
                known.collect()
            }
            None => Vec::new(),
        };
        let own = std::iter::once((None, own_identity(host)));
        let all = own.chain(jvms.into_iter().map(|(id, identity)| (Some(id), identity)));
        all.filter_map(move |(process, identity)| self.recording(process, identity))
    }

    /// The recording of a JVM, or of the host; `None` where nothing was seen of it.
    fn recording(&self, process: Option<ProcessId>, identity: Identity) -> Option<Recording> {
        let mut recording = match &self.excerpt {
            Some(excerpt) => excerpt.recording_of(&|of| of == process),
            None => Recording::new(),
        };
        if process.is_some() {
            recording.covers_ns()?;
        }
        let source = recording.add_source(self.source());
        if process.is_none() {
            for (word, value) in &self.own {
                let series = recording.add_series(SeriesInfo {
                    name: word.name.into(),
                    unit: word.unit.into(),
                    instance: FORMAT.into(),
                    kind: word.kind,
                    process: None,
                    source,
                });
                recording.point(series, self.within_ns.0, self.within_ns.1 - self.within_ns.0, *value);
            }
        }
        recording.identity = Identity { recording: Identity::new_recording_id(), ..identity };
        recording.identity.derive_service(&recording.processes);
        recording.seal();
        Some(recording)
    }

    fn source(&self) -> Source {
        Source {
            name: "fathom agent".into(),
            format: FORMAT.into(),
            clock: ClockBasis::Epoch,
            placement: Placement {
                wall: true,
                offset_ns: 0,
                uncertainty_ns: Some(0),
                how: "recorded live, timestamped by the machine's clock".into(),
            },
            covers_ns: Some(self.within_ns),
            unseen: self.notes.clone(),
            ..Source::default()
        }
    }
}

fn own_identity(host: &Identity) -> Identity {
    Identity {
        service: Some(OWN_SERVICE.into()),
        service_from: Some(ServiceFrom::Given),
        version: Some(env!("CARGO_PKG_VERSION").into()),
        ..host.clone()
    }
}

/// "2026-11-24T10-00-00.123Z-0123abcd": sorts by time, and is nobody else's.
fn name(t0_ns: i64) -> String {
    let time = jiff::Timestamp::from_nanosecond(i128::from(t0_ns)).unwrap_or_default();
    let own = Identity::new_recording_id().unwrap_or_default();
    let own = own.get(..8).unwrap_or("00000000");
    format!("{}-{own}", time.strftime("%Y-%m-%dT%H-%M-%S.%3fZ"))
}

/// Gives memory that is free back to the system.
pub(crate) fn trim_memory() {
    #[cfg(target_env = "gnu")]
    // SAFETY: malloc_trim(3) may be called by any thread at any time.
    unsafe {
        libc::malloc_trim(0);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use fathom_recording::vocabulary::live;

    use super::*;

    #[test]
    fn an_interval_in_which_nothing_was_attached_says_why_and_has_the_agents_numbers() {
        let note = Unseen {
            scope: None,
            what: "everything".into(),
            why: "it was paused".into(),
            remedy: String::new(),
        };
        let interval = Interval {
            within_ns: (1_000, 2_000),
            excerpt: None,
            jvms: HashMap::new(),
            notes: vec![note.clone()],
            own: vec![(live::AGENT_DROPPED, 7.0)],
        };
        let host = Identity { host: Some("web-1".into()), ..Identity::default() };
        let all: Vec<Recording> = interval.recordings(&host).collect();
        let [own] = &all[..] else { panic!("{} recordings", all.len()) };
        assert_eq!(own.identity.service.as_deref(), Some(OWN_SERVICE));
        assert_eq!((own.sources[0].unseen.as_slice(), own.series[0].value[0]), (&[note][..], 7.0));
        assert_eq!(own.covers_ns(), Some((1_000, 2_000)));
    }

    #[test]
    fn names_sort_by_time_and_differ() {
        assert!(name(0) != name(0) && name(1_700_000_000_000_000_000) < name(1_700_000_001_000_000_000));
        assert!(name(0).starts_with("1970-01-01T00-00-00.000Z-"), "{}", name(0));
    }
}
