//! What is said of a window in which no thread was watched.

use fathom_diagnose::Window;
use fathom_diagnose::thread_ledger::watched;
use fathom_recording::Recording;

/// "no thread was watched in 0.0 s to 0.6 s: context switches are recorded from 0.6 s to 65.8
/// s"; `None` where one was, or where no thread is watched at any time.
pub fn none(recording: &Recording, window: Window) -> Option<String> {
    let watched = watched(recording)?;
    let watched_window = watched.window;
    if watched_window.from_ns < window.to_ns && window.from_ns < watched_window.to_ns {
        return None;
    }
    let zero_ns = fathom_diagnose::zero_ns(recording);
    let from_to = |w: Window| fathom_render::window_text(w.from_ns, w.to_ns, zero_ns);
    Some(format!(
        "no thread was watched in {}: {} are recorded from {}",
        from_to(window),
        watched.what,
        from_to(watched_window)
    ))
}
