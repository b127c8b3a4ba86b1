//! Recordings, logs and results of JMH against each other.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fathom_compare::recordings::{self, RecordingsReport};
use fathom_diagnose::{Window, WindowSpec};
use fathom_recording::Recording;

use crate::inputs::InputArgs;
use crate::selection::windows;

/// Compares what two paths hold, within a window of both, or of each.
pub(super) fn recordings(
    first: &Path,
    second: &Path,
    within: &[WindowSpec],
    margin: f64,
) -> Result<RecordingsReport> {
    ensure!(within.len() <= 2, "--window is given once for both, or once for each");
    let (a, b) = (load(first)?, load(second)?);
    let (of_first, of_second) = (within.first(), within.last());
    let resolved = |recording: &Recording, spec: Option<&WindowSpec>| -> Result<Option<Window>> {
        let specs: Vec<WindowSpec> = spec.into_iter().cloned().collect();
        Ok(windows(recording, &specs)?.first().copied())
    };
    let windows = [resolved(&a, of_first)?, resolved(&b, of_second)?];
    let of = [first, second].map(|path| path.display().to_string());
    let report = recordings::compare_within(of, [a, b], windows, margin);
    ensure!(
        !report.measures.is_empty() || report.frames.is_some(),
        "{} and {} have nothing that can be compared",
        report.of[0],
        report.of[1]
    );
    Ok(report)
}

fn load(path: &Path) -> Result<Recording> {
    let inputs = vec![PathBuf::from(path)];
    Ok(InputArgs { inputs, align: Vec::new() }.load()?.recording)
}
