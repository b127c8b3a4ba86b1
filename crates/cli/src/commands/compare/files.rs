//! Recordings, logs and JMH results against each other.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use fathom_compare::judge::Report;
use fathom_compare::recordings::{self, Asked, RecordingsReport, Sampled};
use fathom_diagnose::stacks::Normalisation;
use fathom_diagnose::{Options, Window, WindowError, WindowSpec, diagnose};
use fathom_recording::Recording;
use fathom_render::flame::About;

use crate::inputs::InputArgs;
use crate::output::write_file;
use crate::selection::windows;

/// Compares what two paths hold, within a window of both, or of each.
pub(super) fn recordings(
    first: &Path,
    second: &Path,
    within: &[WindowSpec],
    asked: Asked,
) -> Result<(RecordingsReport, Sampled)> {
    ensure!(within.len() <= 2, "--window is given once for both, or once for each");
    let (a, b) = (load(first)?, load(second)?);
    let (of_first, of_second) = (within.first(), within.last());
    let resolved = |recording: &Recording, spec: Option<&WindowSpec>| -> Result<Option<Window>> {
        let specs: Vec<WindowSpec> = spec.into_iter().cloned().collect();
        Ok(windows(recording, &specs)?.first().copied())
    };
    let asked = Asked { within: [resolved(&a, of_first)?, resolved(&b, of_second)?], ..asked };
    let of = [first, second].map(|path| path.display().to_string());
    // A window is not diagnosed: its causes may act just as well without.
    let whole = asked.within.iter().all(Option::is_none);
    let diagnosed = |recording: &Recording| diagnose(recording, &Options::default());
    let diagnoses = whole.then(|| Ok::<_, WindowError>([diagnosed(&a)?, diagnosed(&b)?])).transpose()?;
    let (mut report, sampled) = recordings::compare_sampled(of, [a, b], &asked);
    ensure!(
        !report.measures.is_empty() || report.frames.is_some(),
        "{} and {} have nothing that can be compared",
        report.of[0],
        report.of[1]
    );
    if let Some([a, b]) = &diagnoses {
        report.explained_by([a, b]);
    }
    Ok((report, sampled))
}

/// Writes the page: the flame graphs are per operation where both sides count operations. `runs`:
/// those that the recordings explain.
pub(super) fn page(
    runs: Option<&Report>,
    report: &RecordingsReport,
    sampled: &Sampled,
    path: &Path,
) -> Result<()> {
    let by = if report.costs.is_some() { Normalisation::Operation } else { Normalisation::Share };
    let flames = sampled.flames(by);
    let title = format!("{} and {}", report.of[0], report.of[1]);
    let about = About::of(sampled.recording(), title, String::new(), false);
    write_file(path, |out| fathom_render::compare::page_of_recordings(report, runs, &flames, &about, out))
}

fn load(path: &Path) -> Result<Recording> {
    let inputs = vec![PathBuf::from(path)];
    Ok(InputArgs { inputs, align: Vec::new() }.load()?.recording)
}
