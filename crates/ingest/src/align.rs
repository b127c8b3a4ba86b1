//! All sources on one clock.

use fathom_recording::{ClockBasis, Placement, Recording, SourceId};

use crate::inputs::{InputsError, Report};

/// Places the sources from `first_new` on.
pub(crate) fn align(
    recording: &mut Recording,
    first_new: usize,
    _by_hand: &[String],
    _report: &mut Report,
) -> Result<(), InputsError> {
    for i in first_new..recording.sources.len() {
        let source = &recording.sources[i];
        let placement = match (&source.anchor, source.clock) {
            (_, ClockBasis::Epoch) => Placement {
                wall: true,
                offset_ns: 0,
                uncertainty_ns: Some(0),
                how: "its stamps are wall-clock time".to_owned(),
            },
            (Some(anchor), _) => Placement {
                wall: true,
                offset_ns: anchor.zero_epoch_ns,
                uncertainty_ns: Some(anchor.uncertainty_ns),
                how: anchor.how.clone(),
            },
            (None, _) => Placement { how: "no wall-clock time in it".to_owned(), ..Placement::default() },
        };
        recording.place(SourceId(i as u32), placement.offset_ns);
        recording.sources[i].placement = placement;
    }
    Ok(())
}
