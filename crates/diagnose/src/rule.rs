//! What a rule is.

use fathom_recording::{ProcessId, StackId};

use crate::facts::Metric;
use crate::waits::Category;
use crate::{BlindSpot, Case, Finding, Layer, Sight, Statement, Sure};

/// A share of the time in each stack, 0 to 1.
pub type ShareOfCode<'a> = Box<dyn Fn(StackId) -> f64 + 'a>;

/// A known cause of a slow JVM: looks for its exact evidence in one JVM, and says what it found or
/// which value rules it out. One file a rule under `rules/`, one line in `rules::RULES`.
///
/// A rule never fires on hints alone: each confounder has its discriminator, each threshold its
/// reason, and a finding must matter (its cost a good part of what was lost). It never looks for
/// the name of a particular program.
pub trait Rule: Sync {
    /// Its id: "jit-compile-burst". It begins with its subject: of "gc", "jit", "safepoint",
    /// "lock", "cpu", "page-fault" and "dns" it is known what time of threads findings report.
    fn id(&self) -> &'static str;

    /// The layer that its cause lies in.
    fn layer(&self) -> Layer;

    /// For the documentation, in Markdown: what the cause is, the evidence asked for, its
    /// confounders and how they are distinguished, and what it can say from which inputs.
    fn about(&self) -> &'static str;

    /// What it must have seen before it may rule its cause out. The pipeline cuts the case to what
    /// is covered of that, and where little of the slow windows is ([`crate::COVERED`]), the cause
    /// is not known rather than ruled out.
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

    /// Whether it says why the JVM was stopped: what only sums up stops gives way to it.
    fn is_about_stops(&self) -> bool {
        matches!(self.layer(), Layer::Gc | Layer::Safepoint) && !self.yields()
    }

    /// Whether its cause acts on many machines all the time, so that what is usual is not known
    /// without a baseline: it weighs little where no loss was measured, and over a whole run it is
    /// no news where windows in which threads did something else show none of it.
    fn may_be_usual(&self) -> bool {
        false
    }

    /// Rules on what its cause brings about, by their ids: where it is more than possible, they
    /// stand behind it.
    fn brings_about(&self) -> &'static [&'static str] {
        &[]
    }

    /// Whether a finding of it reports time of threads under a category in a method, beyond what
    /// the subject of its id says.
    fn reports(&self, _finding: &Finding, _category: Category, _method: &str) -> bool {
        false
    }

    /// What of the time in code its cause accounts for, beyond what it can measure itself, as a
    /// share by stack; and the reason by which its finding says so.
    fn slows_code<'a>(
        &self,
        _case: &Case<'a>,
        _jvm: ProcessId,
    ) -> Option<(&'static Metric, ShareOfCode<'a>)> {
        None
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
