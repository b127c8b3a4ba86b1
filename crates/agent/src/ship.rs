//! From the spool into the place: one entry after the other, each removed from the spool only when
//! the place has confirmed all of its files.
//!
//! A kill in between puts the entry again, under the same names with the same content. The file
//! that makes the rows of a recording whole (`…-recordings.parquet`) is put last.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use fathom_recording::disk;

use crate::AgentError;
use crate::backoff::Backoff;
use crate::place::Place;
use crate::spool::{Entry, Kind, Spool, files, is_last};
use crate::status::Shared;

/// How often the spool is looked at: what is in it need not be announced.
const LOOK: Duration = Duration::from_secs(1);
/// How long is handed over until it is looked whether it is to end.
const AT_A_TIME: Duration = Duration::from_secs(10);
/// Directories of incidents in the place.
const INCIDENTS: &str = "incidents";

/// The thread that hands over.
pub(crate) struct Shipper {
    end: Sender<()>,
    thread: JoinHandle<()>,
}

impl Shipper {
    pub fn start(spool: Arc<Spool>, place: Box<dyn Place>, shared: Arc<Shared>) -> Result<Self, AgentError> {
        let (end, asked) = channel();
        let backoff = Backoff::new(u64::from(std::process::id()));
        let mut at_work = AtWork { spool, place, shared, backoff, says: None };
        let thread = std::thread::Builder::new().name("ship".into()).spawn(move || at_work.run(&asked));
        Ok(Self { end, thread: thread.map_err(AgentError::system("a thread"))? })
    }

    /// Hands over what the place takes now, and ends.
    pub fn finish(self) {
        // One that has ended already hears nothing.
        let _ = self.end.send(());
        let _ = self.thread.join();
    }
}

struct AtWork {
    spool: Arc<Spool>,
    place: Box<dyn Place>,
    shared: Arc<Shared>,
    backoff: Backoff,
    /// Why it failed, as it was last said on standard error.
    says: Option<String>,
}

impl AtWork {
    fn run(&mut self, end: &Receiver<()>) {
        let mut wait = Duration::ZERO;
        loop {
            let ends = match end.recv_timeout(wait) {
                Err(RecvTimeoutError::Timeout) => false,
                Ok(()) | Err(RecvTimeoutError::Disconnected) => true,
            };
            wait = self.hand_over().unwrap_or(LOOK);
            if ends {
                return;
            }
        }
    }

    /// Hands over all that is there; after a failure, how long to wait.
    fn hand_over(&mut self) -> Option<Duration> {
        // Whoever ends fathom does not wait for hundreds.
        let until = Instant::now() + AT_A_TIME;
        while let Some(entry) = self.spool.next() {
            match self.put(&entry) {
                Ok(()) => {
                    if let Err(error) = self.spool.done(&entry) {
                        return Some(self.failed(&error.to_string()));
                    }
                    self.backoff.reset();
                    if self.says.take().is_some() {
                        eprintln!("fathom: {} accepts uploads again", self.place.shown());
                    }
                    self.shared.with(|status| status.place.worked());
                }
                Err(why) => {
                    self.spool.release();
                    return Some(self.failed(&why));
                }
            }
            if Instant::now() > until {
                return Some(Duration::ZERO);
            }
        }
        None
    }

    fn failed(&mut self, why: &str) -> Duration {
        let wait = self.backoff.failed();
        if self.says.as_deref() != Some(why) {
            eprintln!("fathom: what was recorded waits on this host: {why}");
            self.says = Some(why.to_owned());
        }
        self.shared.with(|status| status.place.failed(why, wait));
        wait
    }

    fn put(&mut self, entry: &Entry) -> Result<(), String> {
        match entry.kind {
            Kind::Rows => {
                let named = |file: PathBuf| Some((file.strip_prefix(&entry.path).ok()?.to_path_buf(), file));
                let all = files(&entry.path).into_iter().filter_map(named);
                let (last, others): (Vec<_>, Vec<_>) = all.partition(|(_, file)| is_last(file));
                self.place.put(&others)?;
                self.place.put(&last)
            }
            Kind::Incident => self.put_incident(entry),
        }
    }

    /// An incident goes as one file.
    fn put_incident(&mut self, entry: &Entry) -> Result<(), String> {
        let name = incident_name(&entry.path, &entry.name)?;
        let packed = self.spool.dir().join("making").join(format!("{}.tar", entry.name));
        let pack = || -> Result<(), String> {
            let file = std::fs::File::create(&packed).map_err(|error| error.to_string())?;
            disk::pack(&entry.path, std::io::BufWriter::new(file), &packed).map_err(|error| error.to_string())
        };
        let put = pack().and_then(|()| self.place.put(&[(name, packed.clone())]));
        let _ = std::fs::remove_file(&packed);
        put
    }
}

/// `incidents/day=…/service=…/host=…/ID-NAME.fathom.tar`: the day is that of its start.
fn incident_name(dir: &Path, name: &str) -> Result<PathBuf, String> {
    let (identity, covers_ns) = disk::about(dir).map_err(|error| error.to_string())?;
    let t0_ns = covers_ns.map_or(0, |(t0, _)| t0);
    let day = jiff::Timestamp::from_nanosecond(i128::from(t0_ns)).unwrap_or_default().strftime("%Y-%m-%d");
    let dir = Path::new(INCIDENTS).join(fathom_fleet::partition(&day.to_string(), &identity));
    let id = identity.recording.unwrap_or_else(|| "unknown".into());
    Ok(dir.join(format!("{id}-{name}.tar")))
}
