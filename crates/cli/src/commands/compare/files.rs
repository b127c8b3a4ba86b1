//! Recordings, logs and results of JMH against each other.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fathom_compare::recordings::{self, RecordingsReport};
use fathom_recording::Recording;

use crate::inputs::InputArgs;

/// Compares what two paths hold.
pub(super) fn recordings(first: &Path, second: &Path, margin: f64) -> Result<RecordingsReport> {
    let (a, b) = (load(first)?, load(second)?);
    let of = [first, second].map(|path| path.display().to_string());
    let report = recordings::compare(of, [a, b], margin);
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
