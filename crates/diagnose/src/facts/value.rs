//! Values of facts: a number with its unit, a name, a category of time, or a list of facts; and how
//! each is written.

use serde::Serialize;
use serde::ser::Serializer;

use super::{Fact, Statement};
use crate::quantity;
use crate::waits::Category;

/// What a number counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(rename_all = "kebab-case")]
pub enum Unit {
    /// Things.
    Count,
    /// A share, 0 to 1.
    Share,
    /// Milliseconds.
    Ms,
    /// Bytes.
    Bytes,
    /// Times a second.
    PerSecond,
    /// Bytes a second.
    BytesPerSecond,
    /// Bytes a minute.
    BytesPerMinute,
    /// CPUs kept busy.
    Cpus,
    /// A time in seconds.
    DurationSeconds,
    /// Running and runnable threads of a machine.
    Load,
    /// Seconds: a timestamp counts from `zero_ns`.
    Seconds,
    /// In the unit of a series, which the sentence names.
    OfSeries,
    /// A number without a unit.
    Number,
}

/// A number with its unit, a name, a category of time, or a list of facts.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(as = "WrittenValue<'static>"))]
pub enum Value {
    /// A number with its unit.
    Number(f64, Unit),
    /// A method, a lock, a file, a process, a cause: as the recording has it.
    Name(String),
    /// What time was spent on: JSON has the id, a sentence the words of the ledger of threads.
    Category(Category),
    /// The parts of something, largest first.
    List(Vec<Fact>),
}

impl Value {
    /// A number of things.
    pub fn count(n: usize) -> Self {
        Self::Number(n as f64, Unit::Count)
    }

    /// A number of things that was measured as a number.
    pub fn counted(n: f64) -> Self {
        Self::Number(n, Unit::Count)
    }

    /// A share, 0 to 1.
    pub fn share(share: f64) -> Self {
        Self::Number(share, Unit::Share)
    }

    /// A time, milliseconds.
    pub fn ms(ms: f64) -> Self {
        Self::Number(ms, Unit::Ms)
    }

    /// A time given in seconds.
    pub fn seconds(s: f64) -> Self {
        Self::ms(s * 1e3)
    }

    /// A size.
    pub fn bytes(bytes: f64) -> Self {
        Self::Number(bytes, Unit::Bytes)
    }

    /// How often a second.
    pub fn per_second(rate: f64) -> Self {
        Self::Number(rate, Unit::PerSecond)
    }

    /// Growth of a size, given in bytes a second.
    pub fn growth(bytes_per_s: f64) -> Self {
        Self::Number(bytes_per_s * 60.0, Unit::BytesPerMinute)
    }

    /// CPUs kept busy.
    pub fn cpus(cpus: f64) -> Self {
        Self::Number(cpus, Unit::Cpus)
    }

    /// A timestamp or a length, given in nanoseconds.
    pub fn at(ns: i64) -> Self {
        Self::Number(ns as f64 / 1e9, Unit::Seconds)
    }

    /// What a series has, in its unit.
    pub fn of_series(value: f64) -> Self {
        Self::Number(value, Unit::OfSeries)
    }

    /// A number without a unit.
    pub fn plain(number: f64) -> Self {
        Self::Number(number, Unit::Number)
    }

    /// A name.
    pub fn name(name: impl Into<String>) -> Self {
        Self::Name(name.into())
    }

    /// A name, where there is one.
    pub fn named(name: &str) -> Option<Self> {
        (!name.is_empty()).then(|| Self::name(name))
    }

    /// The parts of something.
    pub fn list(parts: impl IntoIterator<Item = Fact>) -> Self {
        Self::List(parts.into_iter().collect())
    }

    /// The number, in its unit.
    pub fn number(&self) -> Option<f64> {
        match self {
            Self::Number(number, _) => Some(*number),
            _ => None,
        }
    }

    /// The name.
    pub fn as_name(&self) -> Option<&str> {
        match self {
            Self::Name(name) => Some(name),
            _ => None,
        }
    }

    /// The parts.
    pub fn parts(&self) -> &[Fact] {
        match self {
            Self::List(parts) => parts,
            _ => &[],
        }
    }

    /// As it is in a sentence, with so many digits behind the point where the sentence asks for
    /// them.
    pub(super) fn words(&self, digits: Option<usize>, between: &str) -> String {
        match (self, digits) {
            (Self::Number(n, _), Some(digits)) => quantity::grouped(*n, digits),
            (Self::Number(n, unit), None) => match unit {
                Unit::Count => quantity::count(*n),
                Unit::Share => quantity::share(*n),
                // Of a fault or a call: a hundredth of a millisecond is not none.
                Unit::Ms if (f64::MIN_POSITIVE..0.01).contains(n) => quantity::of_one(*n),
                Unit::Ms => quantity::millis(*n),
                Unit::Bytes | Unit::BytesPerMinute => quantity::bytes(*n),
                Unit::BytesPerSecond => format!("{} a second", quantity::bytes(*n)),
                Unit::DurationSeconds => quantity::seconds(*n),
                Unit::PerSecond if *n >= 1e3 => quantity::count(*n),
                Unit::Number if *n >= 10.0 => quantity::count(*n),
                Unit::PerSecond | Unit::Number => format!("{n:.1}"),
                Unit::Cpus | Unit::Load => format!("{n:.2}"),
                Unit::Seconds => quantity::timestamp(*n),
                Unit::OfSeries => quantity::number(*n),
            },
            (Self::Name(name), _) => name.clone(),
            (Self::Category(category), _) => category.words().to_owned(),
            (Self::List(parts), _) => parts.iter().map(Fact::sentence).collect::<Vec<_>>().join(between),
        }
    }
}

/// Statements within a fact.
impl From<&[Statement]> for Value {
    fn from(statements: &[Statement]) -> Self {
        Self::list(statements.iter().map(|one| one.fact().clone()))
    }
}

/// A fact within another one.
impl From<Fact> for Value {
    fn from(fact: Fact) -> Self {
        Self::List(vec![fact])
    }
}

/// [`Value`] as JSON has it.
#[derive(Serialize)]
#[serde(untagged)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
enum WrittenValue<'v> {
    /// The parts of something, largest first.
    List { parts: &'v [Fact] },
    /// A number with its unit, or a name or the id of a category without one.
    One { value: Bare<'v>, unit: Option<Unit> },
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let written = match self {
            Self::List(parts) => WrittenValue::List { parts },
            one => WrittenValue::One { value: Bare(Some(one)), unit: one.unit() },
        };
        written.serialize(serializer)
    }
}

impl Value {
    /// What the number counts; `None` for a name.
    pub fn unit(&self) -> Option<Unit> {
        match self {
            Self::Number(_, unit) => Some(*unit),
            _ => None,
        }
    }
}

/// A value without its unit: a number, a string, or null.
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(type = "number | string | null"))]
pub(super) struct Bare<'v>(pub(super) Option<&'v Value>);

impl Serialize for Bare<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(Value::Number(number, _)) if number.is_finite() => serializer.serialize_f64(*number),
            Some(Value::Name(name)) => serializer.serialize_str(name),
            Some(Value::Category(category)) => category.serialize(serializer),
            _ => serializer.serialize_none(),
        }
    }
}
