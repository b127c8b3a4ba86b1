//! The inputs of a verdict, and what its reader must know about them.

use fathom_recording::{ProcessId, Recording};

use crate::Input;
use crate::sight::losses;
use crate::timeline::Timeline;

/// An input as the verdict lists it.
pub(super) fn input(recording: &Recording, source: &fathom_recording::Source) -> Input {
    Input {
        name: source.name.clone(),
        format: source.format.clone(),
        process: source.process.map(|id| recording.process_name(ProcessId(id)).to_owned()),
        records: source.records,
        skipped: source.skipped,
        lost: source.lost,
        placed: placed(&source.placement),
    }
}

fn placed(placement: &fathom_recording::Placement) -> String {
    match placement.uncertainty_ns {
        Some(ns) if ns > 0 => {
            format!("{}, to within {}", placement.how, crate::quantity::millis(ns as f64 / 1e6))
        }
        _ => placement.how.clone(),
    }
}

/// What the reader of the verdict must know about its inputs.
pub(super) fn warnings(recording: &Recording, timeline: &Timeline<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (i, source) in recording.sources.iter().enumerate() {
        let name = &source.name;
        let mut warn = |text: String| warnings.push(format!("{name}: {text}"));
        if !timeline.is_placed(fathom_recording::SourceId(i as u32)) {
            let how = &source.placement.how;
            warn(format!("left out, because it cannot be time-aligned with the rest: {how}"));
        }
        for check in source.checks.iter().filter(|check| !check.holds) {
            warn(format!("self-check failed: {}: {}", check.claim, check.detail));
        }
        // Some lines of the application among those of the JVM are usual; many are another log, or
        // another format.
        if source.skipped.saturating_mul(10) >= source.lines.max(1) && source.skipped > 0 {
            let [skipped, lines] = [source.skipped, source.lines].map(|n| crate::quantity::count(n as f64));
            warn(format!("{skipped} of {lines} lines were not understood; fathom info shows some of them"));
        }
        if source.lost > 0 {
            warn(format!("{}: its values are too low", losses(source).sentence()));
        }
        if source.cut {
            warn("ends in the middle of a record".into());
        }
    }
    if !timeline.series_usable {
        warnings.push(
            "no JVM is time-aligned with the series: the series was not used; align one of them with --align"
                .into(),
        );
    }
    if recording.cut {
        warnings.push("the recording is truncated: what came last is missing".into());
    }
    warnings
}
