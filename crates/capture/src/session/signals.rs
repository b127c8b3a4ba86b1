//! Signals that end a recording in order.

use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::Signal;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};

use crate::error::CaptureError;

/// Takes SIGINT, SIGTERM and SIGHUP while it lives.
pub struct Signals {
    last: Arc<AtomicUsize>,
    readable: OwnedFd,
    handlers: Vec<SigId>,
}

impl Signals {
    /// Takes them from now on.
    pub fn take_over() -> Result<Self, CaptureError> {
        let failed = |cause: std::io::Error| CaptureError::System { what: "signal handlers", cause };
        let pipe = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK);
        let (readable, writable) = pipe.map_err(CaptureError::system("a pipe"))?;
        let last = Arc::new(AtomicUsize::new(0));
        let mut handlers = Vec::new();
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            let flag = signal_hook::flag::register_usize(signal, Arc::clone(&last), signal as usize);
            handlers.push(flag.map_err(failed)?);
            let end = writable.try_clone().map_err(failed)?;
            handlers.push(signal_hook::low_level::pipe::register(signal, end).map_err(failed)?);
        }
        Ok(Self { last, readable, handlers })
    }

    /// The signal that came since the last call, the latest of several.
    pub fn take(&self) -> Option<Signal> {
        // One byte a signal; what is left in a full pipe does no harm.
        let mut bytes = [0; 64];
        while rustix::io::read(&self.readable, &mut bytes).is_ok_and(|n| n == bytes.len()) {}
        match self.last.swap(0, Ordering::Relaxed) as i32 {
            SIGINT => Some(Signal::INT),
            SIGTERM => Some(Signal::TERM),
            SIGHUP => Some(Signal::HUP),
            _ => None,
        }
    }

    /// Readable when a signal came.
    pub(super) fn wake(&self) -> BorrowedFd<'_> {
        self.readable.as_fd()
    }
}

impl Drop for Signals {
    fn drop(&mut self) {
        self.handlers.drain(..).for_each(|id| {
            signal_hook::low_level::unregister(id);
        });
    }
}
