//! What to change: the change, where it can be made, and what it costs or risks, one file a
//! subject.

use serde::Serialize;

use super::{Fact, Metric, Statement};

mod growth;
mod heap;
mod jit;
mod machine;
mod mechanisms;
mod network;
mod stops;
mod threads;

pub(crate) use growth::*;
pub(crate) use heap::*;
pub(crate) use jit::*;
pub(crate) use machine::*;
pub(crate) use mechanisms::*;
pub(crate) use network::*;
pub(crate) use stops::*;
pub(crate) use threads::*;

/// A change that helps.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
pub struct Remedy {
    /// The exact flag, setting or change.
    pub change: Statement,
    /// Since which JDK (or for which range) it exists; empty when that does not matter.
    pub applies_to: String,
    /// What it costs or risks.
    pub risk: String,
}

impl From<Fact> for Remedy {
    fn from(fact: Fact) -> Self {
        let [applies_to, risk] = [fact.metric.applies_to, fact.metric.risk];
        let [applies_to, risk] = [applies_to, risk].map(|words| fact.filled(words).unwrap_or_default());
        Self { change: fact.into(), applies_to, risk }
    }
}

impl Metric {
    /// A remedy that names no values.
    pub(crate) fn remedy(&'static self) -> Remedy {
        self.fact().into()
    }
}

/// A file of remedies: the id of each, the change, where it applies, its risk; and `ALL` of them.
macro_rules! remedies {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $change:literal, $applies_to:literal, $risk:literal;)*) => {
        $($(#[$doc])* pub(crate) static $name: $crate::facts::Metric = $crate::facts::Metric {
            applies_to: $applies_to,
            risk: $risk,
            ..$crate::facts::Metric::new($id, $change)
        };)*
        /// The remedies of this file.
        pub(super) static ALL: &[&$crate::facts::Metric] = &[$(&$name),*];
    };
}
use remedies;

/// All of them, by subject.
pub(super) fn catalogue() -> [super::Subject; 8] {
    [
        ("Remedies: the heap", heap::ALL),
        ("Remedies: stops of the JVM", stops::ALL),
        ("Remedies: compiled code", jit::ALL),
        ("Remedies: the machine", machine::ALL),
        ("Remedies: threads and locks", threads::ALL),
        ("Remedies: the network", network::ALL),
        ("Remedies: what grew", growth::ALL),
        ("Remedies: what running time is spent on", mechanisms::ALL),
    ]
}
