//! The messages of `profile.proto`, each read on its own.
//!
//! A profile is one message whose strings come last, so that nothing can be understood before the
//! end; but its parts are small. They are decoded one at a time, in place, so that a hostile file
//! takes no more memory than its own size.

use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

/// Field numbers of a profile (github.com/google/pprof, `proto/profile.proto`).
pub(super) mod field {
    pub(crate) const SAMPLE_TYPE: u32 = 1;
    pub(crate) const SAMPLE: u32 = 2;
    pub(crate) const MAPPING: u32 = 3;
    pub(crate) const LOCATION: u32 = 4;
    pub(crate) const FUNCTION: u32 = 5;
    pub(crate) const STRING: u32 = 6;
    pub(crate) const TIME_NANOS: u32 = 9;
    pub(crate) const DURATION_NANOS: u32 = 10;
}

/// What the values of samples are.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct ValueType {
    #[prost(int64, tag = "1")]
    pub(super) name: i64,
    #[prost(int64, tag = "2")]
    pub(super) unit: i64,
}

/// A sample: its stack, the innermost location first, and a value of each type.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Sample {
    #[prost(uint64, repeated, tag = "1")]
    pub(super) location: Vec<u64>,
    #[prost(int64, repeated, tag = "2")]
    pub(super) value: Vec<i64>,
    #[prost(message, repeated, tag = "3")]
    pub(super) label: Vec<Label>,
}

/// A label of a sample: a string or a number.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Label {
    #[prost(int64, tag = "1")]
    pub(super) key: i64,
    #[prost(int64, tag = "2")]
    pub(super) text: i64,
    #[prost(int64, tag = "3")]
    pub(super) number: i64,
}

/// A library or program in memory.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Mapping {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "5")]
    pub(super) file: i64,
}

/// An address, with the functions that it is in: the innermost inlined one first.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Location {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(uint64, tag = "2")]
    pub(super) mapping: u64,
    #[prost(uint64, tag = "3")]
    pub(super) address: u64,
    #[prost(message, repeated, tag = "4")]
    pub(super) line: Vec<Line>,
}

/// A function and a line in it.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Line {
    #[prost(uint64, tag = "1")]
    pub(super) function: u64,
    #[prost(int64, tag = "2")]
    pub(super) line: i64,
}

/// A function.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Function {
    #[prost(uint64, tag = "1")]
    pub(super) id: u64,
    #[prost(int64, tag = "2")]
    pub(super) name: i64,
}

/// A field of a profile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Part<'a> {
    /// A message or a string.
    Bytes(u32, &'a [u8]),
    /// A number.
    Number(u32, i64),
}

/// The fields of a profile one after another.
pub(super) struct Parts<'a> {
    rest: &'a [u8],
    /// Whether it ended within a field, or in bytes that are not one.
    pub(super) damaged: bool,
}

impl<'a> Parts<'a> {
    pub(super) fn of(data: &'a [u8]) -> Self {
        Self { rest: data, damaged: false }
    }

    fn take(&mut self) -> Option<Part<'a>> {
        let (wire, number) = {
            let (number, wire) = decode_key(&mut self.rest).ok()?;
            (wire, number)
        };
        match wire {
            WireType::Varint => Some(Part::Number(number, decode_varint(&mut self.rest).ok()? as i64)),
            WireType::LengthDelimited => {
                let length = usize::try_from(decode_varint(&mut self.rest).ok()?).ok()?;
                let taken = self.rest.get(..length)?;
                self.rest.advance(length);
                Some(Part::Bytes(number, taken))
            }
            WireType::SixtyFourBit => self.skip(8, number),
            WireType::ThirtyTwoBit => self.skip(4, number),
            WireType::StartGroup | WireType::EndGroup => None,
        }
    }

    fn skip(&mut self, bytes: usize, number: u32) -> Option<Part<'a>> {
        self.rest = self.rest.get(bytes..)?;
        Some(Part::Number(number, 0))
    }
}

impl<'a> Iterator for Parts<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        if self.rest.is_empty() || self.damaged {
            return None;
        }
        let part = self.take();
        self.damaged = part.is_none();
        part
    }
}
