//! The inputs of a verdict, and what its reader must know about them.

use fathom_recording::{ProcessId, Recording, SourceId};

use crate::Input;
use crate::source_warnings::of_source;
use crate::timeline::Timeline;

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
pub(super) fn warnings(recording: &Recording, timeline: &Timeline<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    for (i, source) in recording.sources.iter().enumerate() {
        let name = &source.name;
        let mut warn = |text: String| warnings.push(format!("{name}: {text}"));
        if !timeline.is_placed(SourceId(i as u32)) {
            let how = &source.placement.how;
            warn(format!("left out, because it cannot be time-aligned with the rest: {how}"));
        }
        of_source(source).into_iter().for_each(warn);
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
