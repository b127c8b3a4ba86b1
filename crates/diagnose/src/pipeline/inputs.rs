//! The inputs of a verdict, and what its reader must know about them.

use fathom_recording::{ProcessId, Recording, SourceId};

use crate::facts::{Value, doubts};
use crate::source_warnings::of_source;
use crate::timeline::Timeline;
use crate::{Input, Statement};

/// An input as the verdict lists it.
pub(super) fn input(recording: &Recording, source: SourceId) -> Option<Input> {
    let of =
        recording.parts().into_iter().find(|part| (part.sources.from..part.sources.to).contains(&source.0));
    let source = recording.sources.get(source.index())?;
    Some(Input {
        name: source.name.clone(),
        format: source.format.clone(),
        process: source.process.map(|id| recording.process_name(ProcessId(id)).to_owned()),
        process_id: source.process.map(ProcessId),
        recording: of.and_then(|part| part.recording),
        records: source.records,
        skipped: source.skipped,
        lost: source.lost,
        placed: source.placement.how.clone(),
        uncertainty_ns: source.placement.uncertainty_ns,
    })
}

/// What the reader of the verdict must know about its inputs.
pub(super) fn warnings(recording: &Recording, timeline: &Timeline<'_>) -> Vec<Statement> {
    let mut warnings: Vec<Statement> = Vec::new();
    for (i, source) in recording.sources.iter().enumerate() {
        if !timeline.is_placed(SourceId(i as u32)) {
            let left_out = doubts::LEFT_OUT.fact().with("source", Value::name(&source.name));
            warnings.push(left_out.with("how", Value::name(&source.placement.how)).into());
        }
        warnings.extend(of_source(source));
    }
    if !timeline.series_usable {
        warnings.push(doubts::SERIES_NOT_USED.fact().into());
    }
    if recording.cut {
        warnings.push(doubts::RECORDING_CUT.fact().into());
    }
    warnings
}
