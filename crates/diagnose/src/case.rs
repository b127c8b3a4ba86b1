//! A case: a recording with its windows, and the few questions that rules ask of it.

use fathom_recording::{ProcessId, Recording, Span};

use crate::{Loss, Window};

/// A recording with its windows and its loss.
///
/// Where no slow window was given or found, the whole run is looked at: `slow` is then one window over all that the
/// recording covers, `base` is empty and `whole_run` is set. A rule then judges what stands out in absolute terms.
pub struct Case<'a> {
    /// The recording, sealed.
    pub recording: &'a Recording,
    /// Slow windows, sorted, without overlap.
    pub slow: Vec<Window>,
    /// Base windows, sorted, without overlap; may be empty.
    pub base: Vec<Window>,
    /// Whether `slow` is only "everything".
    pub whole_run: bool,
    /// What was lost.
    pub loss: Loss,
}

impl<'a> Case<'a> {
    /// Spans of a kind and process that overlap any of the windows, in order of start.
    pub fn spans_in(
        &self,
        kind: &str,
        process: ProcessId,
        windows: &[Window],
    ) -> impl Iterator<Item = Span<'a>> {
        let windows = windows.to_vec();
        let recording: &'a Recording = self.recording;
        recording.spans_of(kind).filter(move |span| {
            span.process() == process
                && windows.iter().any(|w| {
                    span.overlap_ns(w.from_ns, w.to_ns) > 0
                        || (span.t0_ns() == span.t1_ns() && (w.from_ns..w.to_ns).contains(&span.t0_ns()))
                })
        })
    }

    /// Time that spans of a kind spend within the windows, milliseconds, each span counted for itself.
    pub fn time_ms(&self, kind: &str, process: ProcessId, windows: &[Window]) -> f64 {
        let total: i64 = self
            .recording
            .spans_of(kind)
            .filter(|span| span.process() == process)
            .map(|span| windows.iter().map(|w| span.overlap_ns(w.from_ns, w.to_ns)).sum::<i64>())
            .sum();
        total as f64 / 1e6
    }

    /// Length of windows, milliseconds.
    pub fn length_ms(windows: &[Window]) -> f64 {
        windows.iter().map(Window::length_ns).sum::<i64>() as f64 / 1e6
    }

    /// Whether the recording holds any span of a kind for a process: whether the rule could have seen it at all.
    pub fn has(&self, kind: &str, process: ProcessId) -> bool {
        self.recording.spans_of(kind).any(|span| span.process() == process)
    }

    /// A cost as a share of the loss; `None` where the loss is not known.
    pub fn share(&self, cost_ms: f64) -> Option<f64> {
        (self.loss.lost_ms > 0.0).then(|| (cost_ms / self.loss.lost_ms).clamp(0.0, 1.0))
    }
}
