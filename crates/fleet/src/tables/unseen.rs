//! `unseen`: what a recording was asked for and could not see, and why: what has no rows elsewhere
//! is not zero.

use super::Input;
use crate::columns::Rows;

const COLUMNS: &[&str] = &["source", "what", "why", "remedy"];

pub(super) fn rows(input: &Input<'_>) -> Rows {
    let mut rows = Rows::new("unseen", COLUMNS);
    for source in &input.recording.sources {
        let name = if source.format.is_empty() { &source.name } else { &source.format };
        for unseen in &source.unseen {
            rows.push([name, &unseen.what, &unseen.why, &unseen.remedy].map(|text| text.as_str().into()));
        }
    }
    rows
}
