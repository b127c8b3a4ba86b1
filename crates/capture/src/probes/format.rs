//! The record of a tracepoint: its fields by name, as its `format` file lists them
//! (Documentation/trace/events.rst).

use crate::bpf::record::text;

/// Bytes of a `format` file that are read, and fields of it.
const LARGEST: usize = 64 << 10;
const MOST_FIELDS: usize = 64;

/// Fields of a tracepoint's record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Format {
    /// Its number at the kernel.
    pub(super) id: u64,
    fields: Vec<Field>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    name: String,
    offset: usize,
    size: usize,
    signed: bool,
    kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Address,
    /// Characters in place.
    Text,
    /// Place and length of characters.
    TextElsewhere,
    /// Nothing that a line could show.
    Other,
}

/// A field's value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Number(f64),
    Text(String),
}

impl Format {
    /// Of the text of the file; `None` when it has no number.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut format = Self::default();
        let mut has_id = false;
        for line in text.get(..text.len().min(LARGEST)).unwrap_or_default().lines() {
            if let Some(id) = line.strip_prefix("ID:") {
                format.id = id.trim().parse().ok()?;
                has_id = true;
            }
            if let (Some(field), true) = (field(line), format.fields.len() < MOST_FIELDS) {
                format.fields.push(field);
            }
        }
        has_id.then_some(format)
    }

    /// The fields of a record.
    pub(super) fn values<'a>(&'a self, raw: &'a [u8]) -> impl Iterator<Item = (&'a str, Value)> {
        self.fields.iter().filter_map(|field| Some((field.name.as_str(), field.value(raw)?)))
    }
}

impl Field {
    fn value(&self, raw: &[u8]) -> Option<Value> {
        let bytes = raw.get(self.offset..self.offset.checked_add(self.size)?)?;
        match self.kind {
            Kind::Text => Some(Value::Text(text(bytes))),
            Kind::TextElsewhere => {
                let place = u32::from_le_bytes(*bytes.first_chunk()?);
                let (at, length) = ((place & 0xffff) as usize, (place >> 16) as usize);
                Some(Value::Text(text(raw.get(at..(at + length).min(raw.len()))?)))
            }
            Kind::Number => number(bytes, self.signed).map(|number| Value::Number(number as f64)),
            Kind::Address => number(bytes, false).map(|address| Value::Text(format!("{address:#x}"))),
            Kind::Other => None,
        }
    }
}

/// "\tfield:char comm[16];\toffset:8;\tsize:16;\tsigned:0;", but not those that all tracepoints
/// have.
fn field(line: &str) -> Option<Field> {
    let mut parts = line.trim().split(';').map(str::trim);
    let declared = parts.next()?.strip_prefix("field:")?;
    let mut number = |key: &str| parts.next()?.strip_prefix(key)?.strip_prefix(':')?.parse::<usize>().ok();
    let (offset, size, signed) = (number("offset")?, number("size")?, number("signed").unwrap_or(0) != 0);
    let (declared, is_array) = match declared.split_once('[') {
        // "__data_loc char[] name": the brackets belong to the type.
        Some((_, rest)) if rest.split_once(']').is_some_and(|(_, name)| !name.trim().is_empty()) => {
            (declared, false)
        }
        Some((before, _)) => (before, true),
        None => (declared, false),
    };
    let (kind, name) = declared.rsplit_once(|c: char| c.is_whitespace() || c == '*')?;
    if name.is_empty() || name.starts_with("common_") {
        return None;
    }
    let is_text = kind.contains("char");
    let kind = if kind.starts_with("__data_loc") {
        if is_text { Kind::TextElsewhere } else { Kind::Other }
    } else if is_array {
        if is_text { Kind::Text } else { Kind::Other }
    } else if declared.contains('*') {
        Kind::Address
    } else {
        Kind::Number
    };
    Some(Field { name: name.to_owned(), offset, size, signed, kind })
}

fn number(bytes: &[u8], signed: bool) -> Option<i128> {
    let length = bytes.len();
    if !matches!(length, 1 | 2 | 4 | 8) {
        return None;
    }
    let mut wide = [0_u8; 8];
    wide[..length].copy_from_slice(bytes);
    let value = u64::from_le_bytes(wide);
    let unused = 64 - 8 * length as u32;
    Some(if signed { i128::from((value << unused).cast_signed() >> unused) } else { i128::from(value) })
}

#[cfg(test)]
mod tests {
    use super::*;

    const FORK: &str = "name: sched_process_fork
ID: 330
format:
\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;
\tfield:int common_pid;\toffset:4;\tsize:4;\tsigned:1;

\tfield:__data_loc char[] parent_comm;\toffset:8;\tsize:4;\tsigned:0;
\tfield:pid_t parent_pid;\toffset:12;\tsize:4;\tsigned:1;
\tfield:char comm[8];\toffset:16;\tsize:8;\tsigned:0;
\tfield:void * place;\toffset:24;\tsize:8;\tsigned:0;
\tfield:long list[2];\toffset:32;\tsize:16;\tsigned:1;

print fmt: \"x\"
";

    #[test]
    fn fields_are_read_by_their_format() {
        let format = Format::parse(FORK).unwrap();
        assert_eq!(format.id, 330);
        let mut raw = vec![0; 64];
        raw[8..12].copy_from_slice(&(48_u32 | 5 << 16).to_le_bytes());
        raw[12..16].copy_from_slice(&(-7_i32).to_le_bytes());
        raw[16..20].copy_from_slice(b"java");
        raw[24..32].copy_from_slice(&0xffff_8000_0000_0001_u64.to_le_bytes());
        raw[48..53].copy_from_slice(b"bash\0");
        let values: Vec<_> = format.values(&raw).collect();
        let text = |text: &str| Value::Text(text.into());
        let expected = [
            ("parent_comm", text("bash")),
            ("parent_pid", Value::Number(-7.0)),
            ("comm", text("java")),
            ("place", text("0xffff800000000001")),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn damage_is_left_out() {
        let format = Format::parse(FORK).unwrap();
        assert_eq!(format.values(&[0; 10]).count(), 0);
        let mut raw = vec![0xff; 64];
        raw[..8].fill(0);
        assert!(format.values(&raw).count() <= 4);
        for end in 0..FORK.len() {
            let _ = Format::parse(&FORK[..end]);
        }
        assert_eq!(Format::parse("ID: x"), None);
    }
}
