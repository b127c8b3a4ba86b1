//! Where a session writes: a recording on disk, a ring that keeps the latest, or whoever shows rows
//! as they come.

use fathom_recording::{RecordingError, Sink, Writer};

/// A [`Sink`] that is called when a round of the session is over.
pub trait Output: Sink {
    /// The end of a round: what is kept back goes out when it is due. An error ends the session.
    fn checkpoint(&mut self) -> Result<(), RecordingError>;

    /// Whether what has not ended yet is to be written as it is now
    /// ([`crate::Collector::write_unfinished`]). Asked for behind each
    /// [`Output::checkpoint`].
    fn wants_unfinished(&mut self) -> bool {
        false
    }

    /// All collectors have written it.
    fn has_unfinished(&mut self) {}

    /// Whether the ids of frames and stacks that were handed out are to be forgotten. Asked for as
    /// above.
    fn wants_new_names(&self) -> bool {
        false
    }

    /// They are.
    fn has_new_names(&mut self) {}

    /// How many CPU samples per second per CPU are to be taken from now on; 0: none. `None`: as
    /// many as so far. Asked for as above.
    fn wants_rate_hz(&mut self) -> Option<u32> {
        None
    }

    /// Whether the session is to end. Asked for as above.
    fn wants_end(&mut self) -> bool {
        false
    }
}

impl Output for Writer {
    fn checkpoint(&mut self) -> Result<(), RecordingError> {
        Writer::checkpoint(self)
    }
}
