//! What makes the values of a source doubtful: checks of what was read that failed, lines that were
//! not understood, records that were lost. Every command that prints values says it.

use fathom_recording::{Recording, Source};

use crate::Statement;
use crate::facts::{Value, doubts};
use crate::sight::losses;

/// Of one source.
pub(crate) fn of_source(source: &Source) -> Vec<Statement> {
    let failed = source.checks.iter().filter(|check| !check.holds).map(|check| {
        doubts::CHECK_FAILED.is(Value::name(&check.claim)).with("detail", Value::name(&check.detail))
    });
    // Some lines of the application among those of the JVM are usual; many are another log, or
    // another format.
    let many = source.skipped.saturating_mul(10) >= source.lines.max(1) && source.skipped > 0;
    let not_understood = many.then(|| {
        let skipped = doubts::NOT_UNDERSTOOD.is(Value::counted(source.skipped as f64));
        skipped.with("lines", Value::counted(source.lines as f64))
    });
    let lost = (source.lost > 0).then(|| doubts::TOO_LOW.fact().with("lost", Value::from(losses(source))));
    let cut = source.cut.then(|| doubts::INPUT_CUT.fact());
    let all = failed.chain(not_understood).chain(lost).chain(cut);
    all.map(|fact| fact.with("source", Value::name(&source.name)).into()).collect()
}

/// Of all sources of a recording.
pub(crate) fn of_sources(recording: &Recording) -> Vec<Statement> {
    recording.sources.iter().flat_map(of_source).collect()
}
