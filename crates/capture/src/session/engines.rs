//! Which engine records, and what it can be asked for.

use crate::CaptureEngine;
use crate::Unavailable;
use crate::error::CaptureError;
use crate::settings::Settings;
use crate::{CpuEvent, check};

/// Whoever asks for another event than the usual one does not want a recording without its samples.
pub(super) fn check_event(settings: &Settings, engine: CaptureEngine) -> Result<(), CaptureError> {
    let event = settings.cpu_event;
    if event == CpuEvent::default() || !crate::cpu::ENTRY.is_wanted(settings, CaptureEngine::Ebpf) {
        return Ok(());
    }
    if engine != CaptureEngine::Ebpf {
        return Err(CaptureError::NotHere(Unavailable {
            scope: None,
            what: format!("CPU samples by {}", event.name()),
            why: "the flight recorder samples by a clock of its own".into(),
            remedy: "record with the eBPF engine (as root), or without --event".into(),
        }));
    }
    event.check(settings.frequency_hz).map_err(CaptureError::NotHere)
}

/// The engine that is used, and why not the better one. An error: the one that was asked for cannot
/// be used.
pub(super) fn choose_engine(settings: &Settings) -> Result<(CaptureEngine, Vec<Unavailable>), CaptureError> {
    match (settings.engine, check::ebpf()) {
        (Some(CaptureEngine::Jfr), _) => Ok((CaptureEngine::Jfr, Vec::new())),
        (_, Ok(())) => Ok((CaptureEngine::Ebpf, Vec::new())),
        (Some(_), Err(why)) => Err(CaptureError::NotHere(why)),
        (None, Err(why)) => Ok((CaptureEngine::Jfr, vec![why])),
    }
}
