//! What a finding rests on, as data: a metric with its value and baseline, further quantities and
//! names, and where they were recorded. The sentences that people read are made from this data by
//! one template a metric.
//!
//! A rule states facts and writes no sentence about them:
//! `pauses::KERNEL_TIME.is(Value::seconds(1.2)).with("user", …)`. The catalogue of all metrics, one
//! file a subject, is printed in docs/evidence.md. JSON has the data and the sentence.

mod evidence;
mod sentence;
mod statement;
mod value;

pub(crate) mod account;
pub(crate) mod checks;
pub(crate) mod compile;
pub(crate) mod cpu;
pub(crate) mod culprits;
pub(crate) mod doubts;
pub(crate) mod faults;
pub(crate) mod growth;
pub(crate) mod headlines;
pub(crate) mod judged;
pub(crate) mod links;
pub(crate) mod live_set;
pub(crate) mod locks;
pub(crate) mod meanings;
pub(crate) mod mechanisms;
pub(crate) mod merged;
pub(crate) mod operations;
pub(crate) mod pauses;
pub(crate) mod reasons;
pub(crate) mod remedies;
pub(crate) mod ruled_out;
pub(crate) mod scope;
pub(crate) mod switch_on;
pub(crate) mod titles;
pub(crate) mod waits;
pub(crate) mod windows;
pub(crate) mod written;

pub use evidence::{Evidence, Origin};
pub use remedies::Remedy;
pub use statement::Statement;
pub use value::{Unit, Value};

/// Something that can be measured or named: its id, and the sentence that states it.
#[derive(Debug, PartialEq, Eq)]
pub struct Metric {
    /// Stable, in kebab-case; empty for text that is no metric.
    pub id: &'static str,
    /// A template: `{value}`, `{baseline}` and `{detail}` stand for quantities and names,
    /// `{detail|pause|pauses}` for a number with its noun, `{detail?was|were}` for the noun or verb
    /// alone, `{list*; }` for a list with its separator, `{detail!}` for the time of a single
    /// operation, `{detail:.1}` for a number with so many digits, `{line#}` for one that names
    /// and does not count, `{title@who}` for a title with whom it is of behind its first
    /// part. What stands within `[ ]` is left out where it names a quantity that is not known;
    /// in `[ | ]` the second part takes its place.
    pub words: &'static str,
    /// Of a remedy: since which JDK (or for which range) it exists, and what it costs or risks;
    /// templates as well, empty of all else.
    pub applies_to: &'static str,
    /// See [`Self::applies_to`].
    pub risk: &'static str,
}

/// A metric with what was measured.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "evidence::WrittenFact<'static>"))]
pub struct Fact {
    /// What was measured.
    pub metric: &'static Metric,
    /// Its value, where it has one of its own.
    pub value: Option<Value>,
    /// The same in the baseline.
    pub baseline: Option<Value>,
    /// Further quantities, names and lists, by their names in the template.
    pub details: Vec<(&'static str, Value)>,
}

impl Metric {
    /// A metric, or anything else that is known by an id and stated by a sentence.
    pub const fn new(id: &'static str, words: &'static str) -> Self {
        Self { id, words, applies_to: "", risk: "" }
    }

    /// The metric with its value.
    pub fn is(&'static self, value: Value) -> Fact {
        Fact { value: Some(value), ..self.fact() }
    }

    /// The metric without a value of its own: all there is to it are names, or details.
    pub fn fact(&'static self) -> Fact {
        Fact { metric: self, value: None, baseline: None, details: Vec::new() }
    }
}

/// What has no value and no details.
impl From<&'static Metric> for Fact {
    fn from(metric: &'static Metric) -> Self {
        metric.fact()
    }
}

impl Fact {
    /// The same in the baseline.
    #[must_use]
    pub fn over(mut self, baseline: impl Into<Option<Value>>) -> Self {
        self.baseline = baseline.into();
        self
    }

    /// With a further quantity, or nothing where it is not known.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: impl Into<Option<Value>>) -> Self {
        self.details.extend(value.into().map(|value| (name, value)));
        self
    }

    /// A detail by its name.
    pub fn detail(&self, name: &str) -> Option<&Value> {
        self.details.iter().find(|(known, _)| *known == name).map(|(_, value)| value)
    }

    /// The value, the baseline or a detail, by its name in the template.
    pub fn named(&self, name: &str) -> Option<&Value> {
        match name {
            "value" => self.value.as_ref(),
            "baseline" => self.baseline.as_ref(),
            _ => self.detail(name),
        }
    }

    /// The same as a sentence has it; empty where it is not known.
    #[cfg(test)]
    pub(crate) fn shows(&self, name: &str) -> String {
        self.named(name).map_or_else(String::new, |value| value.words(None, ", "))
    }

    /// The same as a name.
    pub fn name(&self, name: &str) -> Option<&str> {
        self.named(name)?.as_name()
    }

    /// Its value and its details.
    pub fn values(&self) -> impl Iterator<Item = &Value> {
        self.value.iter().chain(self.details.iter().map(|(_, value)| value))
    }

    /// The fact of a metric: this one, or one among its lists.
    pub fn find(&self, metric: &Metric) -> Option<&Self> {
        match self.metric.id == metric.id {
            true => Some(self),
            false => self.values().flat_map(Value::parts).find_map(|part| part.find(metric)),
        }
    }

    /// The same as a number, in the unit that it has.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.named(name)?.number()
    }
}

/// Text that is no metric.
pub(crate) static TEXT: Metric = Metric::new("", "{value}");

impl Default for Fact {
    fn default() -> Self {
        TEXT.is(Value::name(""))
    }
}

/// A file of the catalogue: its metrics as constants, and `ALL` of them in order.
macro_rules! metrics {
    ($($(#[$doc:meta])* $name:ident = $id:literal, $words:literal;)*) => {
        $($(#[$doc])* pub(crate) static $name: $crate::facts::Metric = $crate::facts::Metric::new($id, $words);)*
        /// The metrics of this file.
        pub(super) static ALL: &[&$crate::facts::Metric] = &[$(&$name),*];
    };
}
pub(crate) use metrics;

/// A subject and its metrics.
pub type Subject = (&'static str, &'static [&'static Metric]);

/// The catalogue: subjects with their metrics.
pub fn catalogue() -> Vec<Subject> {
    let mut all = vec![
        ("The headline", headlines::ALL),
        ("Titles of findings", titles::ALL),
        ("Culprits", culprits::ALL),
        ("What findings mean", meanings::ALL),
        ("What running time is spent on", mechanisms::ALL),
        ("Why a finding is as sure as it is", reasons::ALL),
        ("The account of the loss", account::ALL),
        ("How to see that it helped", checks::ALL),
        ("Collections", pauses::ALL),
        ("The live set", live_set::ALL),
        ("Compilers", compile::ALL),
        ("CPUs", cpu::ALL),
        ("Waits", waits::ALL),
        ("Locks", locks::ALL),
        ("Links of chains", links::ALL),
        ("Single operations", operations::ALL),
        ("Writes of the log", written::ALL),
        ("Page faults", faults::ALL),
        ("What grew", growth::ALL),
        ("Findings that explain the same time", merged::ALL),
        ("How slow windows were found", windows::ALL),
        ("Ruled out", ruled_out::ALL),
        ("What could be looked at", scope::ALL),
        ("What would show it", switch_on::ALL),
        ("Why metrics are judged as they are", judged::ALL),
        ("What makes values doubtful", doubts::ALL),
    ];
    all.extend(remedies::catalogue());
    all
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn ids_are_stable_words_and_each_stands_for_one_metric() {
        let mut seen = BTreeSet::new();
        for metric in catalogue().iter().flat_map(|(_, metrics)| metrics.iter()) {
            let is_word = |word: &str| {
                !word.is_empty() && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
            };
            assert!(metric.id.split('-').all(is_word), "{}", metric.id);
            assert!(seen.insert(metric.id), "{} twice", metric.id);
        }
    }
}
