//! Columns of rows as Arrow arrays, and back with every value checked.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{
    Array, ArrayRef, BooleanArray, DictionaryArray, Float64Array, Int32Array, Int64Array, MapArray,
    PrimitiveArray, RecordBatch, StringArray, StructArray,
};
use arrow_buffer::{OffsetBuffer, ScalarBuffer};
use arrow_schema::{DataType, Field, Fields};
use rustc_hash::FxBuildHasher;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::spans::NONE;
use crate::{StrId, Strings};

/// Names are truncated to this many bytes: those of methods and files have hundreds, and one of
/// megabytes makes a page useless.
pub(super) const LONGEST_TEXT: usize = 64 << 10;

/// What is wrong with a batch.
#[derive(Debug)]
pub(super) struct Damage(pub String);

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

type Checked<T> = Result<T, Damage>;

// Types of columns.

/// A required column of nanoseconds, counts or bytes.
pub(super) fn long(name: &str) -> Field {
    Field::new(name, DataType::Int64, false)
}

/// A required column of dense ids.
pub(super) fn id(name: &str) -> Field {
    Field::new(name, DataType::Int32, false)
}

/// A required column of floating-point numbers.
pub(super) fn double(name: &str) -> Field {
    Field::new(name, DataType::Float64, false)
}

/// A required column of booleans.
pub(super) fn flag(name: &str) -> Field {
    Field::new(name, DataType::Boolean, false)
}

/// A required column of text, dictionary-encoded.
pub(super) fn text(name: &str) -> Field {
    Field::new_dictionary(name, DataType::Int32, DataType::Utf8, false)
}

/// A required column of key-value lists; keys are text, and so are values where `values` is.
pub(super) fn map(name: &str, values: Field) -> Field {
    Field::new(name, DataType::Map(Arc::new(entries(values)), false), false)
}

/// The same column, but nullable.
pub(super) fn optional(field: Field) -> Field {
    field.with_nullable(true)
}

fn entries(values: Field) -> Field {
    // The names are Parquet's own for maps.
    let fields = Fields::from(vec![text("key"), values]);
    Field::new("key_value", DataType::Struct(fields), false)
}

// Rows into columns.

/// Ids. Tables hold fewer than 2³¹ rows ([`super::parquet_file`] refuses more), so that the cast
/// keeps them.
pub(super) fn ids(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(Int32Array::from_iter_values(values.map(|id| id as i32)))
}

/// Ids, where [`NONE`] becomes null.
pub(super) fn optional_ids(values: impl Iterator<Item = u32>) -> ArrayRef {
    Arc::new(values.map(|id| (id != NONE).then_some(id as i32)).collect::<Int32Array>())
}

/// Integers.
pub(super) fn longs(values: impl Iterator<Item = i64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values))
}

/// Integers that may be null.
pub(super) fn optional_longs(values: impl Iterator<Item = Option<i64>>) -> ArrayRef {
    Arc::new(values.collect::<Int64Array>())
}

/// Counts; those beyond `i64::MAX` are written as that.
pub(super) fn counts(values: impl Iterator<Item = u64>) -> ArrayRef {
    longs(values.map(|count| i64::try_from(count).unwrap_or(i64::MAX)))
}

/// Floating-point numbers.
pub(super) fn doubles(values: impl Iterator<Item = f64>) -> ArrayRef {
    Arc::new(Float64Array::from_iter_values(values))
}

/// Booleans.
pub(super) fn flags(values: impl Iterator<Item = bool>) -> ArrayRef {
    Arc::new(values.map(Some).collect::<BooleanArray>())
}

/// Strings of a recording's dictionary, with a dictionary of only those that occur, because each
/// batch must be complete in itself.
pub(super) fn texts(strings: &Strings, ids: impl Iterator<Item = StrId>) -> ArrayRef {
    let mut seen: HashMap<StrId, i32, FxBuildHasher> = HashMap::default();
    let mut values = StringBuilder::new();
    let mut last = None;
    let mut key_of = |id: StrId| match last {
        Some((same, key)) if same == id => key,
        _ => {
            let next = seen.len() as i32;
            let key = *seen.entry(id).or_insert_with(|| {
                values.append_value(strings.get(id));
                next
            });
            last = Some((id, key));
            key
        }
    };
    let keys: Int32Array = PrimitiveArray::from_iter_values(ids.map(&mut key_of));
    Arc::new(DictionaryArray::new(keys, Arc::new(values.finish())))
}

/// Text that is not in a recording's dictionary: tables of a few rows.
pub(super) fn plain_texts<T: AsRef<str>>(values: impl Iterator<Item = T>) -> ArrayRef {
    let mut strings = Strings::default();
    let ids: Vec<StrId> = values.map(|text| strings.intern(text.as_ref())).collect();
    texts(&strings, ids.into_iter())
}

/// Values of an enum, as serde names them.
pub(super) fn words<T: Serialize>(values: impl Iterator<Item = T>) -> ArrayRef {
    plain_texts(values.map(|value| match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }))
}

/// Lists and structs as JSON text; for what is rarely queried and never grouped by.
pub(super) fn json<T: Serialize>(values: impl Iterator<Item = T>) -> ArrayRef {
    plain_texts(values.map(|value| serde_json::to_string(&value).unwrap_or_default()))
}

/// Key-value lists: `ends[i]` is the end of row `i`'s entries, the first of which is entry 0.
pub(super) fn maps(
    ends: impl Iterator<Item = u32>,
    keys: ArrayRef,
    values: ArrayRef,
    field: Field,
) -> ArrayRef {
    let offsets: Vec<i32> = std::iter::once(0).chain(ends.map(|end| end as i32)).collect();
    let DataType::Map(entries, sorted) = field.data_type() else { unreachable!("made by map()") };
    let DataType::Struct(fields) = entries.data_type() else { unreachable!("made by entries()") };
    let entry_array = StructArray::new(fields.clone(), vec![keys, values], None);
    let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
    Arc::new(MapArray::new(Arc::clone(entries), offsets, entry_array, None, *sorted))
}

// Columns into rows.

/// The columns of an untrusted batch, by name.
pub(super) struct Columns<'a>(pub &'a RecordBatch);

impl<'a> Columns<'a> {
    /// Rows of the batch.
    pub fn rows(&self) -> usize {
        self.0.num_rows()
    }

    fn column(&self, name: &str) -> Checked<&'a ArrayRef> {
        self.0.column_by_name(name).ok_or_else(|| Damage(format!("there is no column {name}")))
    }

    fn required(&self, name: &str) -> Checked<&'a ArrayRef> {
        let column = self.column(name)?;
        match column.logical_null_count() {
            0 => Ok(column),
            nulls => Err(Damage(format!("column {name} lacks {nulls} values"))),
        }
    }

    /// Integers.
    pub fn longs(&self, name: &str) -> Checked<&'a [i64]> {
        let column = self.required(name)?.as_primitive_opt::<Int64Type>();
        Ok(column.ok_or_else(|| wrong_type(name, "INT64"))?.values())
    }

    /// Integers that may be null.
    pub fn optional_longs(&self, name: &str) -> Checked<Vec<Option<i64>>> {
        let column = self.column(name)?.as_primitive_opt::<Int64Type>();
        Ok(column.ok_or_else(|| wrong_type(name, "INT64"))?.iter().collect())
    }

    /// Counts.
    pub fn counts(&self, name: &str) -> Checked<Vec<u64>> {
        let count = |n: &i64| u64::try_from(*n).map_err(|_| Damage(format!("{name} is negative: {n}")));
        self.longs(name)?.iter().map(count).collect()
    }

    /// Counts that may be null.
    pub fn optional_counts(&self, name: &str) -> Checked<Vec<Option<u64>>> {
        let count = |n: i64| u64::try_from(n).map_err(|_| Damage(format!("{name} is negative: {n}")));
        self.optional_longs(name)?.into_iter().map(|n| n.map(count).transpose()).collect()
    }

    /// Floating-point numbers.
    pub fn doubles(&self, name: &str) -> Checked<&'a [f64]> {
        let column = self.required(name)?.as_primitive_opt::<Float64Type>();
        Ok(column.ok_or_else(|| wrong_type(name, "DOUBLE"))?.values())
    }

    /// Booleans.
    pub fn flags(&self, name: &str) -> Checked<Vec<bool>> {
        let column = self.required(name)?.as_boolean_opt();
        Ok(column.ok_or_else(|| wrong_type(name, "BOOLEAN"))?.iter().flatten().collect())
    }

    /// 32-bit integers.
    pub fn ints(&self, name: &str) -> Checked<&'a [i32]> {
        let column = self.required(name)?.as_primitive_opt::<Int32Type>();
        Ok(column.ok_or_else(|| wrong_type(name, "INT32"))?.values())
    }

    /// 32-bit integers that may be null.
    pub fn optional_ints(&self, name: &str) -> Checked<Vec<Option<i32>>> {
        let column = self.column(name)?.as_primitive_opt::<Int32Type>();
        Ok(column.ok_or_else(|| wrong_type(name, "INT32"))?.iter().collect())
    }

    /// Ids of a table of `rows` rows.
    pub fn ids(&self, name: &str, rows: usize) -> Checked<Vec<u32>> {
        self.ints(name)?.iter().map(|id| check_id(name, *id, rows)).collect()
    }

    /// Ids of a table of `rows` rows; [`NONE`] for null.
    pub fn optional_ids(&self, name: &str, rows: usize) -> Checked<Vec<u32>> {
        let id_or_none = |id: Option<i32>| id.map_or(Ok(NONE), |id| check_id(name, id, rows));
        self.optional_ints(name)?.into_iter().map(id_or_none).collect()
    }

    /// The same for a column that is missing in recordings of older versions.
    pub fn added_ids(&self, name: &str, rows: usize) -> Checked<Vec<u32>> {
        if self.0.column_by_name(name).is_none() { Ok(Vec::new()) } else { self.optional_ids(name, rows) }
    }

    /// Checks that the table's own ids continue from `first`.
    pub fn counts_on_from(&self, name: &str, first: usize) -> Checked<()> {
        for (row, id) in self.ints(name)?.iter().enumerate() {
            if usize::try_from(*id) != Ok(first + row) {
                return Err(Damage(format!("{name} is {id} where {} must follow", first + row)));
            }
        }
        Ok(())
    }

    /// Text, put into a dictionary.
    pub fn texts(&self, name: &str, strings: &mut Strings) -> Checked<Vec<StrId>> {
        texts_of(self.required(name)?, name, strings, LONGEST_TEXT)
    }

    /// Text, whole.
    pub fn strings(&self, name: &str) -> Checked<Vec<String>> {
        let mut strings = Strings::default();
        let ids = texts_of(self.required(name)?, name, &mut strings, usize::MAX)?;
        Ok(ids.into_iter().map(|id| strings.get(id).to_owned()).collect())
    }

    /// Values of an enum.
    pub fn words<T: DeserializeOwned>(&self, name: &str) -> Checked<Vec<T>> {
        let value = |word: String| {
            serde_json::from_value(serde_json::Value::String(word))
                .map_err(|e| Damage(format!("{name}: {e}")))
        };
        self.strings(name)?.into_iter().map(value).collect()
    }

    /// Lists and structs.
    pub fn json<T: DeserializeOwned>(&self, name: &str) -> Checked<Vec<T>> {
        let value = |text: String| serde_json::from_str(&text).map_err(|e| Damage(format!("{name}: {e}")));
        self.strings(name)?.into_iter().map(value).collect()
    }

    /// The same for a column that is missing in recordings of older versions.
    pub fn added_json<T: DeserializeOwned>(&self, name: &str) -> Checked<Vec<T>> {
        if self.0.column_by_name(name).is_none() { Ok(Vec::new()) } else { self.json(name) }
    }

    /// Key-value lists: where each row's entries end, their keys, and the column of their values.
    pub fn maps(&self, name: &str, strings: &mut Strings) -> Checked<(Vec<usize>, Vec<StrId>, &'a ArrayRef)> {
        let map = self.required(name)?.as_map_opt().ok_or_else(|| wrong_type(name, "MAP"))?;
        let offsets = map.value_offsets();
        let from = offsets.first().copied().unwrap_or(0);
        // Arrow has checked that offsets ascend and stay within the entries.
        let ends = offsets.iter().skip(1).map(|end| (end - from) as usize).collect::<Vec<_>>();
        if from != 0 || ends.last().copied().unwrap_or(0) != map.keys().len() {
            return Err(Damage(format!("{name} does not use all of its entries")));
        }
        if map.keys().logical_null_count() + map.values().logical_null_count() > 0 {
            return Err(Damage(format!("{name} lacks keys or values")));
        }
        Ok((ends, texts_of(map.keys(), name, strings, LONGEST_TEXT)?, map.values()))
    }
}

/// Text of an array, put into a dictionary, each truncated to this many bytes.
pub(super) fn texts_of(
    array: &ArrayRef,
    name: &str,
    strings: &mut Strings,
    longest: usize,
) -> Checked<Vec<StrId>> {
    let wrong = || wrong_type(name, "STRING");
    let dictionary = array.as_dictionary_opt::<Int32Type>().ok_or_else(wrong)?;
    let values: &StringArray = dictionary.values().as_string_opt().ok_or_else(wrong)?;
    let begin = |text: &'_ str| text.floor_char_boundary(longest);
    let mut intern = |text: &str| strings.intern(&text[..begin(text)]);
    let ids: Vec<StrId> = values.iter().map(|text| intern(text.unwrap_or_default())).collect();
    let id_of = |key: &i32| {
        let id = usize::try_from(*key).ok().and_then(|key| ids.get(key)).copied();
        id.ok_or_else(|| Damage(format!("{name} refers to text that is not there")))
    };
    dictionary.keys().values().iter().map(id_of).collect()
}

/// Numbers of an array.
pub(super) fn doubles_of<'a>(array: &'a ArrayRef, name: &str) -> Checked<&'a [f64]> {
    Ok(array.as_primitive_opt::<Float64Type>().ok_or_else(|| wrong_type(name, "DOUBLE"))?.values())
}

fn wrong_type(name: &str, expected: &str) -> Damage {
    Damage(format!("column {name} is not of type {expected}"))
}

fn check_id(name: &str, id: i32, rows: usize) -> Checked<u32> {
    match u32::try_from(id) {
        Ok(valid) if (valid as usize) < rows => Ok(valid),
        _ => Err(Damage(format!("{name} {id} points outside of its table of {rows} rows"))),
    }
}
