//! A part of a loss and what it is attributed to, by id and in words.

use serde::Serialize;

use crate::Statement;
use crate::waits::Category;

/// A part of the loss, and what it is attributed to.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Charge {
    /// The culprit of the finding, a part of the time that grew and that no finding explains, the
    /// rest of stops, or that nothing recorded shows it.
    pub to: Statement,
    /// What kind of charge it is.
    pub kind: ChargeKind,
    /// Of a part that grew: on what the time was spent; `None` of the others.
    pub category: Option<Category>,
    /// The finding, as a place in `findings`; `None` where none explains it.
    pub finding: Option<usize>,
    /// Milliseconds of the loss.
    pub ms: f64,
    /// The same as a share of the loss; all charges add up to 1.
    pub share: f64,
}

#[cfg(test)]
impl Charge {
    /// Whether it is of a method or a resource: by a finding, or by what grew.
    pub(crate) fn names(&self, what: &str) -> bool {
        ["value", "place"].iter().any(|name| self.to.fact().name(name) == Some(what))
    }
}

/// What a part of the loss is attributed to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum ChargeKind {
    /// A finding.
    Finding,
    /// A part of the time that grew and that no finding explains.
    Grew,
    /// Several such parts that are small.
    SmallerParts,
    /// Stops of which nothing explains why they take so long.
    OtherStops,
    /// Nothing that was recorded.
    NotKnown,
}
