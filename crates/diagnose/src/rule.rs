//! What a rule is.

use fathom_recording::ProcessId;

use crate::{BlindSpot, Case, Finding, Layer, Sight, Statement, Sure};

/// A known cause of a slow JVM: looks for its exact evidence in one JVM, and says what it found or
/// which value rules it out. One file a rule under `rules/`, one line in `rules::RULES`.
///
/// A rule never fires on hints alone: each confounder has its discriminator, each threshold its
/// reason, and a finding must matter (its cost a good part of what was lost). It never looks for
/// the name of a particular program.
pub trait Rule: Sync {
    /// Its id: "jit-compile-burst".
    fn id(&self) -> &'static str;

    /// The layer that its cause lies in.
    fn layer(&self) -> Layer;

    /// For the documentation, in Markdown: what the cause is, the evidence asked for, its
    /// confounders and how they are distinguished, and what it can say from which inputs.
    fn about(&self) -> &'static str;

    /// What it must have seen before it may rule its cause out. The engine cuts the case to what is
    /// covered of that, and where little of the slow windows is ([`crate::COVERED`]), the cause is
    /// not known rather than ruled out.
    fn needs(&self) -> &'static [Sight];

    /// Whether its finding is but what is left when the others have explained theirs: it is
    /// attributed last, and where nothing is left it is added to the evidence of the first of them.
    fn yields(&self) -> bool {
        false
    }

    /// Whether its cause makes code slower that has nothing to do with it, so that this grows as
    /// well: where both explain about as much, it comes before what only grew.
    fn makes_others_grow(&self) -> bool {
        false
    }

    /// Whether its cause is one of any program, and not of a JVM alone.
    fn of_any_program(&self) -> bool {
        false
    }

    /// Judges one JVM of the case.
    fn judge(&self, case: &Case<'_>, jvm: ProcessId) -> Judgement;
}

/// What a rule says of one JVM.
#[derive(Clone, Debug, PartialEq)]
pub enum Judgement {
    /// It is there.
    Found(Box<Finding>),
    /// It was looked for and is not there.
    RuledOut {
        /// The metric that says so: "GC stopped the JVM for 0.31 s of 20 s, 0.29 s in as much
        /// baseline time".
        figure: Statement,
        /// Where the value comes from.
        source: String,
    },
    /// What it needs was not recorded.
    Inconclusive(BlindSpot),
    /// It cannot exist in this JVM (a G1 rule for a JVM that runs ZGC); not worth a line.
    NotApplicable,
}

impl Case<'_> {
    /// A finding of a rule on a JVM by [`Self::finding_by`].
    pub fn finding(&self, rule: &dyn Rule, jvm: ProcessId, sure: Sure, cost_ms: f64) -> Finding {
        self.finding_by(rule.id(), rule.layer(), jvm, sure, cost_ms)
    }
}
