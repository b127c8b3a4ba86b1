//! The figures of all spans, small: a 4 GB GC log has a million pauses with some forty figures each.
//!
//! Two facts make them small. Spans of a kind have mostly the same keys in the same order, so that a span keeps the
//! id of its *shape* (a list of keys that is stored once) in place of the keys. And most figures are counts, whole
//! kilobytes or short times, which an `f32` holds exactly: such a figure takes one word of 32 bits and any other two.
//! Which are which is told by bits in front of a span's values. No bit of a figure is lost by it.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::{StrId, Strings};

/// Figures of all spans, in the order of the spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Lists of keys; the shape of a span is an index into it.
    shapes: Vec<Box<[StrId]>>,
    shape_ids: HashMap<Box<[StrId]>, u32, FxBuildHasher>,
    /// The shape of each span.
    shape: Vec<u32>,
    /// Where each span's words start below.
    start: Vec<usize>,
    /// For each span: a bit a figure that says whether it is wide (in whole words), then the figures.
    words: Vec<u32>,
    /// Keys of the span that is being added; kept for its memory.
    keys: Vec<StrId>,
}

const BITS: usize = u32::BITS as usize;

impl Figures {
    /// Adds the figures of the next span.
    #[cfg(any(feature = "disk", test))]
    pub(crate) fn push(&mut self, figures: impl Iterator<Item = (StrId, f64)> + Clone) {
        self.keys.clear();
        self.keys.extend(figures.clone().map(|(key, _)| key));
        let shape = self.shape_of_keys();
        self.push_values(shape, figures.map(|(_, value)| value));
    }

    /// Adds the figures of the next span with keys that are still text. They are probably those of span `like`, which
    /// is cheaper to see than to look each of them up.
    pub(crate) fn push_texts(&mut self, figures: &[(&str, f64)], like: Option<usize>, strings: &mut Strings) {
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        let model = like.map_or(&[][..], |i| self.keys_of(i));
        let mut rest = model;
        for (text, _) in figures {
            let key = match rest.first() {
                Some(key) if strings.get(*key) == *text => *key,
                _ => strings.intern(text),
            };
            if let Some(at) = rest.iter().position(|k| *k == key) {
                rest = &rest[at + 1..];
            }
            keys.push(key);
        }
        let same = like.filter(|_| model == keys).map(|i| self.shape[i]);
        self.keys = keys;
        let shape = same.unwrap_or_else(|| self.shape_of_keys());
        self.push_values(shape, figures.iter().map(|(_, value)| *value));
    }

    /// Adds the figures of span `i` of `other`, whose keys are of the same dictionary.
    pub(crate) fn push_from(&mut self, other: &Self, i: usize) {
        self.keys.clear();
        self.keys.extend_from_slice(other.keys_of(i));
        let shape = self.shape_of_keys();
        self.push_values(shape, other.of(i).map(|(_, value)| value));
    }

    /// Adds the figures of all spans of `other`; `text` gives the keys their ids here.
    pub(crate) fn append(&mut self, other: Self, text: impl Fn(StrId) -> StrId) {
        let mut shapes = Vec::with_capacity(other.shapes.len());
        for keys in &other.shapes {
            self.keys.clear();
            self.keys.extend(keys.iter().map(|key| text(*key)));
            shapes.push(self.shape_of_keys());
        }
        let words = self.words.len();
        self.shape.extend(other.shape.into_iter().map(|shape| shapes[shape as usize]));
        self.start.extend(other.start.into_iter().map(|start| start + words));
        self.words.extend(other.words);
    }

    /// Forgets the spans. Shapes stay: the next spans will have them too.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        self.shape.clear();
        self.start.clear();
        self.words.clear();
    }

    /// Figures of span `i`.
    pub(crate) fn of(&self, i: usize) -> impl Iterator<Item = (StrId, f64)> + Clone + '_ {
        let keys = self.keys_of(i);
        let mut at = self.start[i] + keys.len().div_ceil(BITS);
        keys.iter().enumerate().map(move |(n, key)| {
            let wide = self.is_wide(i, n);
            let value = self.read(at, wide);
            at += 1 + usize::from(wide);
            (*key, value)
        })
    }

    /// The figure of span `i` with a key.
    pub(crate) fn get(&self, i: usize, key: StrId) -> Option<f64> {
        let n = self.keys_of(i).iter().position(|k| *k == key)?;
        Some(self.read(self.place(i, n), self.is_wide(i, n)))
    }

    /// Gives the figure of span `i` with a key another value. `false`: it has none with this key.
    pub(crate) fn set(&mut self, i: usize, key: StrId, value: f64) -> bool {
        let Some(n) = self.keys_of(i).iter().position(|k| *k == key) else { return false };
        let at = self.place(i, n);
        if self.is_wide(i, n) {
            [self.words[at], self.words[at + 1]] = halves(value);
        } else if let Some(word) = short(value) {
            self.words[at] = word;
        } else {
            // It has outgrown its word: the span's words are written anew at the end, the old ones are lost.
            let mut values: Vec<f64> = self.of(i).map(|(_, value)| value).collect();
            values[n] = value;
            self.start[i] = self.words.len();
            self.write(values.into_iter(), self.keys_of(i).len());
        }
        true
    }

    fn keys_of(&self, i: usize) -> &[StrId] {
        &self.shapes[self.shape[i] as usize]
    }

    /// The id of the shape whose keys are in `self.keys`.
    fn shape_of_keys(&mut self) -> u32 {
        if let Some(id) = self.shape_ids.get(self.keys.as_slice()) {
            return *id;
        }
        let id = self.shapes.len() as u32;
        self.shapes.push(self.keys.as_slice().into());
        self.shape_ids.insert(self.keys.as_slice().into(), id);
        id
    }

    fn push_values(&mut self, shape: u32, values: impl Iterator<Item = f64>) {
        self.shape.push(shape);
        self.start.push(self.words.len());
        self.write(values, self.shapes[shape as usize].len());
    }

    /// Writes the words of a span with `count` values at the end.
    fn write(&mut self, values: impl Iterator<Item = f64>, count: usize) {
        let start = self.words.len();
        self.words.resize(start + count.div_ceil(BITS), 0);
        for (n, value) in values.enumerate() {
            match short(value) {
                Some(word) => self.words.push(word),
                None => {
                    self.words[start + n / BITS] |= 1 << (n % BITS);
                    self.words.extend(halves(value));
                }
            }
        }
    }

    /// Whether the `n`th figure of span `i` takes two words.
    fn is_wide(&self, i: usize, n: usize) -> bool {
        self.words[self.start[i] + n / BITS] >> (n % BITS) & 1 == 1
    }

    /// Where the `n`th figure of span `i` is: behind those before it and as many words more as they have wide ones.
    fn place(&self, i: usize, n: usize) -> usize {
        let start = self.start[i];
        let full: u32 = self.words[start..start + n / BITS].iter().map(|word| word.count_ones()).sum();
        let last = self.words[start + n / BITS] & ((1 << (n % BITS)) - 1);
        start + self.keys_of(i).len().div_ceil(BITS) + n + (full + last.count_ones()) as usize
    }

    fn read(&self, at: usize, wide: bool) -> f64 {
        if wide {
            f64::from_bits(u64::from(self.words[at + 1]) << 32 | u64::from(self.words[at]))
        } else {
            f64::from(f32::from_bits(self.words[at]))
        }
    }
}

/// The bits of a value as `f32`, where that is the same value to the last bit.
fn short(value: f64) -> Option<u32> {
    let short = value as f32;
    (f64::from(short).to_bits() == value.to_bits()).then_some(short.to_bits())
}

/// The bits of a value, the lower half first.
fn halves(value: f64) -> [u32; 2] {
    let bits = value.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values that an `f32` holds and values that it does not, mixed.
    fn values(count: usize) -> Vec<f64> {
        let some =
            [0.0, -0.0, 1.0, 0.1, f64::MAX, f64::MIN_POSITIVE, 16_777_217.0, 45e6, f64::INFINITY, -1.5e300];
        some.into_iter().cycle().take(count).collect()
    }

    fn bits(figures: &Figures, i: usize) -> Vec<(StrId, u64)> {
        figures.of(i).map(|(key, value)| (key, value.to_bits())).collect()
    }

    #[test]
    fn every_value_comes_back_to_the_bit_however_many_a_span_has() {
        let mut figures = Figures::default();
        for count in 0..100 {
            figures.push(values(count).into_iter().enumerate().map(|(n, v)| (StrId(n as u32), v)));
        }
        for count in 0..100 {
            let expected: Vec<_> =
                values(count).iter().enumerate().map(|(n, v)| (StrId(n as u32), v.to_bits())).collect();
            assert_eq!(bits(&figures, count), expected);
            for (key, value) in expected {
                assert_eq!(figures.get(count, key).map(f64::to_bits), Some(value));
            }
            assert_eq!(figures.get(count, StrId(100)), None);
        }
    }

    #[test]
    fn a_figure_that_outgrows_its_word_leaves_all_others_as_they_were() {
        let mut figures = Figures::default();
        for _ in 0..3 {
            figures.push((0..40).map(|n| (StrId(n), f64::from(n))));
        }
        assert!(
            figures.set(1, StrId(7), 0.1) && figures.set(1, StrId(7), 0.2) && figures.set(1, StrId(8), 9.0)
        );
        assert!(!figures.set(1, StrId(40), 1.0));
        for i in 0..3 {
            for (key, value) in figures.of(i) {
                let expected = match (i, key.0) {
                    (1, 7) => 0.2,
                    (1, 8) => 9.0,
                    (_, n) => f64::from(n),
                };
                assert_eq!((figures.get(i, key), value), (Some(expected), expected));
            }
        }
    }

    #[test]
    fn a_wrong_model_costs_time_and_changes_nothing() {
        let (mut figures, mut strings) = (Figures::default(), Strings::default());
        let rows: [&[(&str, f64)]; 5] = [
            &[("a", 1.0), ("b", 2.0), ("c", 3.0)],
            &[("a", 1.0), ("c", 3.0)],
            &[("c", 3.0), ("a", 1.0), ("new", 0.1), ("b", 2.0)],
            &[],
            &[("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 4.0)],
        ];
        for model in [None, Some(0), Some(1), Some(2), Some(3), Some(4)] {
            for row in rows {
                figures.push_texts(row, model.filter(|i| *i < figures.start.len()), &mut strings);
                let last = figures.start.len() - 1;
                let read: Vec<_> = figures.of(last).map(|(key, value)| (strings.get(key), value)).collect();
                assert_eq!(read, row);
            }
        }
        assert_eq!(figures.shapes.len(), rows.len());
    }
}
