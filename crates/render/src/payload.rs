//! The lanes' data as it is in the page: base64 of raw deflate of
//!
//! ```text
//! u32 (little endian) length of the header · header (JSON) · columns, one after the other
//! ```
//!
//! Columns hold what is big: times as differences, small numbers, 32-bit floats. Measured on
//! made-up recordings this is a third of the same data as JSON, and a browser unpacks it with what
//! it has (`DecompressionStream`). Read by ui/src/payload.ts.

use std::io::{self, Write};

use base64::engine::general_purpose::STANDARD;
use base64::write::EncoderWriter;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use serde::Serialize;

/// Number of a column among all of a page.
#[derive(Clone, Copy, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ColumnId(usize);

/// What of a column stands in the header.
#[derive(Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct Column {
    /// How its numbers are coded.
    #[serde(rename = "as")]
    coding: Coding,
    /// How many there are.
    n: usize,
    /// How many bytes they take.
    bytes: usize,
}

#[derive(Serialize)]
#[serde(rename_all = "lowercase")]
#[cfg_attr(test, derive(ts_rs::TS))]
enum Coding {
    Delta,
    Varint,
    F32,
    Planes,
}

/// The columns of a page, coded as they come.
#[derive(Default)]
pub(crate) struct Columns {
    columns: Vec<Column>,
    blocks: Vec<u8>,
}

impl Columns {
    /// Times or other numbers that rise slowly: zigzag differences.
    pub(crate) fn delta(&mut self, values: impl Iterator<Item = i64>) -> ColumnId {
        let mut last = 0_i64;
        self.column(Coding::Delta, values, |value, block| {
            let step = value.wrapping_sub(last);
            last = value;
            varint(((step << 1) ^ (step >> 63)) as u64, block);
        })
    }

    /// Small numbers.
    pub(crate) fn small(&mut self, values: impl Iterator<Item = u64>) -> ColumnId {
        self.column(Coding::Varint, values, varint)
    }

    /// Whole numbers below 2^32 that follow no order: all lowest bytes, then all next ones, as many
    /// as are needed. Where few numbers are common and these are small, upper bytes hold little;
    /// deflate finds that only when they are apart.
    pub(crate) fn planes(&mut self, values: &[u32]) -> ColumnId {
        let most = values.iter().copied().max().unwrap_or(0);
        let bytes = (4 - most.leading_zeros() / 8).max(1);
        let before = self.blocks.len();
        for plane in 0..bytes {
            self.blocks.extend(values.iter().map(|value| (value >> (8 * plane)) as u8));
        }
        let bytes = self.blocks.len() - before;
        self.add(Column { coding: Coding::Planes, n: values.len(), bytes })
    }

    /// Values that are shown with three digits; not-a-number is "none".
    pub(crate) fn figures(&mut self, values: impl Iterator<Item = f64>) -> ColumnId {
        self.column(Coding::F32, values, |value, block| {
            block.extend_from_slice(&rounded(value as f32).to_le_bytes())
        })
    }

    fn column<T>(
        &mut self,
        coding: Coding,
        values: impl Iterator<Item = T>,
        mut code: impl FnMut(T, &mut Vec<u8>),
    ) -> ColumnId {
        let before = self.blocks.len();
        let n = values.map(|value| code(value, &mut self.blocks)).count();
        self.add(Column { coding, n, bytes: self.blocks.len() - before })
    }

    fn add(&mut self, column: Column) -> ColumnId {
        self.columns.push(column);
        ColumnId(self.columns.len() - 1)
    }

    /// Writes header and columns as the text of a script element.
    pub(crate) fn write<H: Serialize>(&self, header: &H, out: &mut impl Write) -> io::Result<()> {
        let mut text = EncoderWriter::new(out, &STANDARD);
        self.pack(header, &mut text, Compression::default())?;
        text.finish()?;
        Ok(())
    }

    /// Writes header and columns without the coding for a page: what a server sends.
    pub(crate) fn pack<H: Serialize>(
        &self,
        header: &H,
        out: &mut impl Write,
        level: Compression,
    ) -> io::Result<()> {
        #[derive(Serialize)]
        struct WithColumns<'a, H> {
            #[serde(flatten)]
            header: &'a H,
            columns: &'a [Column],
        }
        let header = serde_json::to_vec(&WithColumns { header, columns: &self.columns })?;
        let length = u32::try_from(header.len()).map_err(io::Error::other)?;
        let mut packed = DeflateEncoder::new(out, level);
        packed.write_all(&length.to_le_bytes())?;
        packed.write_all(&header)?;
        packed.write_all(&self.blocks)?;
        packed.finish()?;
        Ok(())
    }
}

/// The nearest number of 17 significant bits, five digits: the other bits are noise, and noise does
/// not pack.
fn rounded(value: f32) -> f32 {
    const LEFT_OUT: u32 = 7;
    if !value.is_finite() {
        return value;
    }
    let bits = value.to_bits();
    let near = f32::from_bits(bits.saturating_add(1 << (LEFT_OUT - 1)) & !((1 << LEFT_OUT) - 1));
    if near.is_finite() { near } else { value }
}

/// LEB128: seven bits a byte, the lowest first, the high bit set on all but the last.
fn varint(mut value: u64, block: &mut Vec<u8>) {
    while value >= 0x80 {
        block.push(value as u8 | 0x80);
        value >>= 7;
    }
    block.push(value as u8);
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::*;

    #[test]
    fn rounding_keeps_five_digits_and_what_is_no_number() {
        for value in [1.0_f32, 0.1, 123_456.7, 4.2e-30, -7.77e20, f32::MAX, f32::MIN_POSITIVE] {
            assert!(((rounded(value) - value) / value).abs() < 1e-5, "{value}");
        }
        assert_eq!(rounded(0.0), 0.0);
        assert_eq!(rounded(65_536.0), 65_536.0);
        assert!(rounded(f32::NAN).is_nan() && rounded(f32::INFINITY).is_infinite());
    }

    #[test]
    fn what_was_packed_can_be_unpacked() {
        let mut columns = Columns::default();
        columns.delta([5, 3, i64::MAX, i64::MIN].into_iter());
        columns.small([0, 127, 128, u64::MAX].into_iter());
        columns.figures([1.5, f64::NAN].into_iter());
        columns.planes(&[0x01_02, 3]);
        let mut text = Vec::new();
        columns.write(&serde_json::json!({"schema": "x"}), &mut text).unwrap();
        assert!(text.iter().all(|b| b.is_ascii_alphanumeric() || b"+/=".contains(b)));
        let packed = base64::Engine::decode(&STANDARD, &text).unwrap();
        let mut bytes = Vec::new();
        flate2::read::DeflateDecoder::new(&packed[..]).read_to_end(&mut bytes).unwrap();
        let length = u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize;
        let header: serde_json::Value = serde_json::from_slice(&bytes[4..4 + length]).unwrap();
        assert_eq!(header["columns"][0], serde_json::json!({"as": "delta", "n": 4, "bytes": 2 + 10 + 1}));
        let blocks = &bytes[4 + length..];
        assert_eq!(&blocks[..2], [10, 3], "+5, then -2");
        assert_eq!(&blocks[13..17], [0, 127, 0x80, 1]);
        assert_eq!(&blocks[27..31], 1.5_f32.to_le_bytes());
        assert_eq!(&blocks[blocks.len() - 4..], [2, 3, 1, 0]);
    }
}
