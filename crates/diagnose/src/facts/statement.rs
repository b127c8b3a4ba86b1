//! A fact with its sentence: titles and culprits of findings, and what verdicts say of causes that
//! were ruled out or could not be seen.

use std::fmt;
use std::ops::Deref;

use serde::Serialize;
use serde::ser::Serializer;

use super::{Fact, Value};

/// A fact and the sentence that states it. It reads as its sentence; JSON has both.
#[derive(Clone, Default, PartialEq)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "Fact"))]
pub struct Statement {
    fact: Box<Fact>,
    text: String,
}

impl Statement {
    /// What it states, as data.
    pub fn fact(&self) -> &Fact {
        &self.fact
    }

    /// Several of them as one sentence.
    pub fn joined(all: &[Self]) -> String {
        all.iter().map(|one| one.text.as_str()).collect::<Vec<_>>().join("; ")
    }

    /// Adds a further quantity, name or list, or nothing where it is not known.
    pub fn add(&mut self, name: &'static str, value: impl Into<Option<Value>>) {
        *self = std::mem::take(&mut *self.fact).with(name, value).into();
    }
}

#[cfg(test)]
impl Statement {
    /// Fails unless it states a metric, or that is a part of it, with these values, as a sentence
    /// would have them: ("value", "30%").
    #[track_caller]
    pub(crate) fn states(&self, metric: &super::Metric, named: &[(&str, &str)]) {
        let fact = self.fact.find(metric).unwrap_or_else(|| panic!("no {} in {self:?}", metric.id));
        for (name, words) in named {
            assert_eq!(fact.shows(name), *words, "{name} of {fact:?}");
        }
    }
}

impl Deref for Statement {
    type Target = str;

    fn deref(&self) -> &str {
        &self.text
    }
}

impl PartialEq<&str> for Statement {
    fn eq(&self, other: &&str) -> bool {
        self.text == *other
    }
}

impl fmt::Display for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.text)
    }
}

/// The sentence and the data, for tests that fail.
impl fmt::Debug for Statement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.text, self.fact)
    }
}

impl<F: Into<Fact>> From<F> for Statement {
    fn from(fact: F) -> Self {
        let fact = Box::new(fact.into());
        Self { text: fact.sentence(), fact }
    }
}

/// A statement within a fact.
impl From<&Statement> for Value {
    fn from(statement: &Statement) -> Self {
        statement.fact().clone().into()
    }
}

impl Serialize for Statement {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fact.serialize(serializer)
    }
}
