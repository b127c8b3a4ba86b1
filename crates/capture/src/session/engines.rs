//! Which engine records, and what it can be asked for.

use crate::Engine;
use crate::Unavailable;
use crate::error::CaptureError;
use crate::settings::Settings;
use crate::{CpuEvent, check};

/// Whoever asks for another event than the usual one does not want a recording without its samples.
pub(super) fn check_event(settings: &Settings, engine: Engine) -> Result<(), CaptureError> {
    let event = settings.cpu_event;
    if event == CpuEvent::default() || !crate::cpu::ENTRY.is_wanted(settings, Engine::Ebpf) {
        return Ok(());
    }
    if engine != Engine::Ebpf {
        return Err(CaptureError::NotHere(Unavailable {
            what: format!("CPU samples by {}", event.name()),
            why: "the flight recorder samples by a clock of its own".into(),
            remedy: "record with the eBPF engine (as root), or without --event".into(),
        }));
    }
    event.check(settings.frequency_hz).map_err(CaptureError::NotHere)
}

/// The engine that is used, and why not the better one. An error: the one that was asked for cannot
/// be used.
pub(super) fn choose_engine(settings: &Settings) -> Result<(Engine, Vec<Unavailable>), CaptureError> {
    match (settings.engine, check::ebpf()) {
        (Some(Engine::Jfr), _) => Ok((Engine::Jfr, Vec::new())),
        (_, Ok(())) => Ok((Engine::Ebpf, Vec::new())),
        (Some(_), Err(why)) => Err(CaptureError::NotHere(why)),
        (None, Err(why)) => Ok((Engine::Jfr, vec![why])),
    }
}
