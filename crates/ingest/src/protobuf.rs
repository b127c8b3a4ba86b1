//! The fields of a protobuf message one after another, where they lie: what is read in parts takes
//! no more memory than the message itself.

use prost::bytes::Buf;
use prost::encoding::{WireType, decode_key, decode_varint};

/// A field of a message.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Part<'a> {
    /// A message, a text or packed numbers.
    Bytes(u32, &'a [u8]),
    /// A number, also one of fixed width (of 32 bits: 0, as no format that is read has one).
    Number(u32, i64),
}

/// The fields of a message.
pub(crate) struct Parts<'a> {
    rest: &'a [u8],
    /// Whether what is cut off at the end of the bytes counts: see [`Parts::of_head`].
    head: bool,
    /// Whether it ended within a field, or in bytes that are not one.
    pub(crate) damaged: bool,
}

impl<'a> Parts<'a> {
    pub(crate) fn of(data: &'a [u8]) -> Self {
        Self { rest: data, head: false, damaged: false }
    }

    /// Of bytes that may be the beginning of the message only: the last field is as much of it as
    /// there is.
    pub(crate) fn of_head(data: &'a [u8]) -> Self {
        Self { head: true, ..Self::of(data) }
    }

    fn take(&mut self) -> Option<Part<'a>> {
        let (number, wire) = decode_key(&mut self.rest).ok()?;
        match wire {
            WireType::Varint => Some(Part::Number(number, decode_varint(&mut self.rest).ok()? as i64)),
            WireType::LengthDelimited => {
                let mut length = usize::try_from(decode_varint(&mut self.rest).ok()?).ok()?;
                if self.head {
                    length = length.min(self.rest.len());
                }
                let taken = self.rest.get(..length)?;
                self.rest.advance(length);
                Some(Part::Bytes(number, taken))
            }
            WireType::SixtyFourBit => {
                let (bytes, rest) = self.rest.split_first_chunk()?;
                self.rest = rest;
                Some(Part::Number(number, i64::from_le_bytes(*bytes)))
            }
            WireType::ThirtyTwoBit => {
                self.rest = self.rest.get(4..)?;
                Some(Part::Number(number, 0))
            }
            WireType::StartGroup | WireType::EndGroup => None,
        }
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
