//! Counters that a HotSpot JVM publishes in a file: hsperfdata, which `jstat` and `jps` read.
//!
//! Every JVM keeps them unless it was started with `-XX:-UsePerfData`, and updates them in place,
//! so that reading them costs it nothing. Written from HotSpot's `runtime/perfMemory.hpp` and
//! `perfData.hpp` (layout 2.0, the same since JDK 5):
//!
//! ```text
//!   prologue   magic cafec0c0 · byte order · version · accessible · used · overflow · mod time · first entry · entries
//!   entry      length · name at · elements · type · flags · unit · variability · data at │ name\0 │ data
//! ```
//!
//! Limit: it is read while the JVM writes. A value of 8 bytes is consistent; several counters may
//! be of different times.

mod place;

use std::collections::BTreeMap;

pub use place::read;

/// First four bytes of the file.
const MAGIC: [u8; 4] = [0xca, 0xfe, 0xc0, 0xc0];
/// Bytes of the prologue and of an entry's head.
const PROLOGUE: usize = 32;
const ENTRY_HEAD: usize = 20;
/// Counters read at most; JDK 8 to 25 have 200 to 600.
const MOST_COUNTERS: usize = 1 << 16;
/// Longest name or text kept, bytes. The JVM itself truncates command lines to 4 kB
/// (`PerfMaxStringConstLength`).
const LONGEST_TEXT: usize = 1 << 16;

/// What a counter's number counts (`PerfData::Units`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// A number of nothing in particular.
    None,
    /// Bytes.
    Bytes,
    /// Ticks of the JVM's clock; `sun.os.hrt.frequency` of them make a second.
    Ticks,
    /// Events.
    Events,
    /// A text.
    Text,
    /// Events per second.
    Hertz,
    /// One that this reader does not know.
    Unknown(u8),
}

/// How a counter may change (`PerfData::Variability`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variability {
    /// Never.
    Constant,
    /// It only grows.
    Monotonic,
    /// Up and down.
    Variable,
    /// One that this reader does not know.
    Unknown(u8),
}

/// What a counter holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value {
    /// A number.
    Number(i64),
    /// A text.
    Text(String),
}

/// One counter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counter {
    /// What it holds.
    pub value: Value,
    /// What its number counts.
    pub unit: Unit,
    /// How it may change.
    pub variability: Variability,
}

/// The counters of a JVM by name: "sun.rt.javaCommand", "sun.gc.collector.0.invocations".
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PerfData {
    /// All that could be read.
    pub counters: BTreeMap<String, Counter>,
    /// Entries that could not: of an unknown type, damaged, or beyond the end.
    pub skipped: u32,
    /// When the JVM added its last counter, ticks since it started; the file is complete soon after
    /// the start.
    pub modified_ticks: i64,
}

/// Why a file cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    /// It is not an hsperfdata file.
    #[error("it does not begin as hsperfdata does")]
    NotPerfData,
    /// An unknown layout.
    #[error("its layout is version {0}.{1}; only 2.0 is known")]
    Version(u8, u8),
    /// The JVM has not filled it yet.
    #[error("the JVM has not filled it yet")]
    NotReady,
}

impl PerfData {
    /// The counters in the bytes of a file. Damaged entries are counted and left out.
    pub fn parse(bytes: &[u8]) -> Result<Self, Damage> {
        let head = bytes.get(..PROLOGUE).filter(|head| head[..4] == MAGIC).ok_or(Damage::NotPerfData)?;
        let (order, major, minor, accessible) = (head[4], head[5], head[6], head[7]);
        if major != 2 {
            return Err(Damage::Version(major, minor));
        }
        if accessible == 0 {
            return Err(Damage::NotReady);
        }
        let input = Input { bytes, big_endian: order == 0 };
        let entries = input.int(28).unwrap_or(0).clamp(0, MOST_COUNTERS as i32);
        let mut data = Self { modified_ticks: input.long(16).unwrap_or(0), ..Self::default() };
        let mut at = input.int(24).and_then(|first| usize::try_from(first).ok()).unwrap_or(usize::MAX);
        for read in 0..entries {
            // An entry that is shorter than its header would not lead on: the rest cannot be found.
            let length = input.int(at).and_then(|l| usize::try_from(l).ok()).filter(|l| *l >= ENTRY_HEAD);
            let Some(entry) = length.and_then(|length| input.part(at, length)) else {
                data.skipped += (entries - read) as u32;
                break;
            };
            match entry.counter() {
                Some((name, counter)) => {
                    data.counters.insert(name, counter);
                }
                None => data.skipped += 1,
            }
            at += entry.bytes.len();
        }
        Ok(data)
    }

    /// A text counter, when it is there and not empty.
    pub fn text(&self, name: &str) -> Option<&str> {
        match &self.counters.get(name)?.value {
            Value::Text(text) if !text.is_empty() => Some(text),
            _ => None,
        }
    }

    /// A number counter.
    pub fn number(&self, name: &str) -> Option<i64> {
        match self.counters.get(name)?.value {
            Value::Number(number) => Some(number),
            Value::Text(_) => None,
        }
    }

    /// A counter of ticks in seconds.
    pub fn seconds(&self, name: &str) -> Option<f64> {
        let frequency = self.number("sun.os.hrt.frequency").filter(|hz| *hz > 0)?;
        Some(self.number(name)? as f64 / frequency as f64)
    }
}

/// Bytes with the order of their numbers.
struct Input<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Input<'a> {
    fn int(&self, at: usize) -> Option<i32> {
        let bytes = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big_endian { i32::from_be_bytes(bytes) } else { i32::from_le_bytes(bytes) })
    }

    fn long(&self, at: usize) -> Option<i64> {
        let bytes = self.bytes.get(at..at.checked_add(8)?)?.try_into().ok()?;
        Some(if self.big_endian { i64::from_be_bytes(bytes) } else { i64::from_le_bytes(bytes) })
    }

    fn part(&self, at: usize, length: usize) -> Option<Input<'a>> {
        let bytes = self.bytes.get(at..at.checked_add(length)?)?;
        Some(Input { bytes, big_endian: self.big_endian })
    }

    /// The counter of an entry.
    fn counter(&self) -> Option<(String, Counter)> {
        let name = self.text(usize::try_from(self.int(4)?).ok()?, LONGEST_TEXT)?;
        let elements = usize::try_from(self.int(8)?).ok()?;
        let (kind, unit, variability) = (*self.bytes.get(12)?, *self.bytes.get(14)?, *self.bytes.get(15)?);
        let data = usize::try_from(self.int(16)?).ok()?;
        let value = match (kind, elements) {
            (b'J', 0) => Value::Number(self.long(data)?),
            // The only arrays are of bytes, and those are texts.
            (b'B', 1..) => Value::Text(self.text(data, elements.min(LONGEST_TEXT))?),
            _ => return None,
        };
        let unit = match unit {
            1 => Unit::None,
            2 => Unit::Bytes,
            3 => Unit::Ticks,
            4 => Unit::Events,
            5 => Unit::Text,
            6 => Unit::Hertz,
            other => Unit::Unknown(other),
        };
        let variability = match variability {
            1 => Variability::Constant,
            2 => Variability::Monotonic,
            3 => Variability::Variable,
            other => Variability::Unknown(other),
        };
        Some((name, Counter { value, unit, variability }))
    }

    /// A text that ends with NUL, or after this many bytes, or with the entry.
    fn text(&self, at: usize, longest: usize) -> Option<String> {
        let rest = self.bytes.get(at..)?;
        let rest = &rest[..rest.len().min(longest)];
        let end = rest.iter().position(|byte| *byte == 0).unwrap_or(rest.len());
        Some(String::from_utf8_lossy(&rest[..end]).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one number and one text, in either byte order.
    fn file(big_endian: bool) -> Vec<u8> {
        let int = |value: i32| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        let long = |value: i64| if big_endian { value.to_be_bytes() } else { value.to_le_bytes() };
        let mut out = MAGIC.to_vec();
        out.extend([u8::from(!big_endian), 2, 0, 1]);
        [int(112), int(0)].iter().for_each(|bytes| out.extend(bytes));
        out.extend(long(77));
        [int(32), int(2)].iter().for_each(|bytes| out.extend(bytes));
        // "a.b": 3 bytes and NUL after the header, then the number.
        [int(32), int(20), int(0)].iter().for_each(|bytes| out.extend(bytes));
        out.extend([b'J', 1, 3, 2]);
        out.extend(int(24));
        out.extend(b"a.b\0");
        out.extend(long(-5));
        [int(48), int(20), int(16)].iter().for_each(|bytes| out.extend(bytes));
        out.extend([b'B', 1, 5, 1]);
        out.extend(int(24));
        out.extend(b"txt\0hello\0");
        out.resize(112, 0);
        out
    }

    #[test]
    fn both_byte_orders_are_read_with_unit_and_variability() {
        for big_endian in [false, true] {
            let data = PerfData::parse(&file(big_endian)).unwrap();
            assert_eq!((data.number("a.b"), data.text("txt")), (Some(-5), Some("hello")));
            assert_eq!((data.skipped, data.modified_ticks), (0, 77));
            let counter = &data.counters["a.b"];
            assert_eq!((counter.unit, counter.variability), (Unit::Ticks, Variability::Monotonic));
        }
    }

    #[test]
    fn a_damaged_entry_is_counted_and_the_others_kept() {
        let mut bytes = file(false);
        bytes[32 + 12] = b'Z';
        let data = PerfData::parse(&bytes).unwrap();
        assert_eq!((data.text("txt"), data.skipped), (Some("hello"), 1));
        let mut bytes = file(false);
        // An entry of no length would be read for ever.
        bytes[32..36].fill(0);
        assert_eq!(PerfData::parse(&bytes).unwrap().skipped, 2);
    }

    #[test]
    fn what_is_not_a_file_of_counters_is_an_error() {
        assert_eq!(PerfData::parse(b"nonsense"), Err(Damage::NotPerfData));
        let mut bytes = file(false);
        bytes[7] = 0;
        assert_eq!(PerfData::parse(&bytes), Err(Damage::NotReady));
        bytes[5] = 3;
        assert_eq!(PerfData::parse(&bytes), Err(Damage::Version(3, 0)));
    }

    proptest::proptest! {
        #[test]
        fn no_bytes_make_it_panic(length in 0_usize..112, at in 0_usize..112, value: u8, big_endian: bool) {
            let mut bytes = file(big_endian);
            bytes[at] = value;
            bytes.truncate(length);
            if let Ok(data) = PerfData::parse(&bytes) {
                assert!(data.counters.len() <= 2);
            }
        }
    }
}
