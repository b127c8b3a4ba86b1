//! What makes the values of a source doubtful: checks of what was read that failed, lines that were
//! not understood, records that were lost. Every command that prints values says it.

use fathom_recording::{Recording, Source};

use crate::quantity::count;
use crate::sight::losses;

/// Of one source, without its name.
pub(crate) fn of_source(source: &Source) -> Vec<String> {
    let mut warnings: Vec<String> = Vec::new();
    let failed = source.checks.iter().filter(|check| !check.holds);
    warnings.extend(failed.map(|check| format!("self-check failed: {}: {}", check.claim, check.detail)));
    // Some lines of the application among those of the JVM are usual; many are another log, or
    // another format.
    if source.skipped.saturating_mul(10) >= source.lines.max(1) && source.skipped > 0 {
        let [skipped, lines] = [source.skipped, source.lines].map(|n| count(n as f64));
        warnings
            .push(format!("{skipped} of {lines} lines were not understood; fathom info shows some of them"));
    }
    if source.lost > 0 {
        warnings.push(format!("{}: its values are too low", losses(source).sentence()));
    }
    if source.cut {
        warnings.push(
            "its last line has no end, or its last record is truncated: what came last may be missing".into(),
        );
    }
    warnings
}

/// Of all sources of a recording, each with its name.
pub(crate) fn of_sources(recording: &Recording) -> Vec<String> {
    let named = |source: &Source| {
        let name = source.name.clone();
        of_source(source).into_iter().map(move |warning| format!("{name}: {warning}"))
    };
    recording.sources.iter().flat_map(named).collect()
}
