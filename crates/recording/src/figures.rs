//! The figures (numeric fields) of all spans, stored compactly: a 4 GB GC log has a million pauses
//! with some forty figures each.
//!
//! Two properties make them small. Spans of a kind have mostly the same keys in the same order, so
//! that a span keeps the id of its *shape* (a list of keys that is stored once) in place of the
//! keys. And most figures are counts, whole kilobytes, or times printed in thousandths, which one
//! word of 32 bits holds exactly in one of three [forms](form); any other takes two. The form of a
//! figure is given by bits in front of a span's values. The encoding is lossless.

use std::collections::HashMap;

use rustc_hash::FxBuildHasher;

use crate::narrow::Narrow;
use crate::{StrId, Strings};

/// Figures of all spans, in the order of the spans.
#[derive(Clone, Debug, Default)]
pub(crate) struct Figures {
    /// Lists of keys; the shape of a span is an index into it.
    shapes: Vec<Shape>,
    shape_ids: HashMap<Box<[StrId]>, u32, FxBuildHasher>,
    /// The shape of each span.
    shape: Vec<u32>,
    /// Where each span's words start below.
    start: Narrow,
    /// For each span: two bits per figure that give its form (in whole words), then the figures.
    words: Vec<u32>,
    /// Keys of the span that is being added; kept to reuse its memory.
    keys: Vec<StrId>,
}

/// A list of keys.
#[derive(Clone, Debug)]
struct Shape {
    keys: Box<[StrId]>,
    /// The smallest key.
    first: u32,
    /// Where each key from the smallest to the largest is in the list, [`NOWHERE`] where it is not:
    /// looked up for every span of a recording. Empty for the shapes that are too many or too wide
    /// for it, which are searched.
    places: Box<[u16]>,
}

/// How many shapes have `places`, and how far apart their keys may be. A log has a few dozen shapes
/// with keys from the beginning of the dictionary; each takes two bytes per key between.
const PLACED: (usize, usize) = (256, 2048);
const NOWHERE: u16 = u16::MAX;

impl Shape {
    fn new(keys: &[StrId], placed: bool) -> Self {
        let first = keys.iter().map(|key| key.0).min().unwrap_or(0);
        let width = keys.iter().map(|key| (key.0 - first) as usize + 1).max().unwrap_or(0);
        let fits = placed && width <= PLACED.1 && keys.len() < usize::from(NOWHERE);
        let mut places = vec![NOWHERE; if fits { width } else { 0 }];
        // If a key occurs twice, the first one counts.
        for (n, key) in keys.iter().enumerate().rev().filter(|_| fits) {
            places[(key.0 - first) as usize] = n as u16;
        }
        Self { keys: keys.into(), first, places: places.into() }
    }

    /// Where a key is in the list.
    fn place(&self, key: StrId) -> Option<usize> {
        if self.places.is_empty() {
            return self.keys.iter().position(|k| *k == key);
        }
        let place = *self.places.get(key.0.checked_sub(self.first)? as usize)?;
        (place != NOWHERE).then_some(usize::from(place))
    }
}

/// How many forms one word encodes.
const FORMS: usize = u32::BITS as usize / 2;

/// The encoding of a figure.
mod form {
    /// The bits of an `f32`: whole numbers up to 2²⁴, and larger ones that are multiples of powers
    /// of two.
    pub(super) const SHORT: u32 = 0b00;
    /// Thousandths, as an `i32`: 12.3 ms, 0.06 s.
    pub(super) const THOUSANDTHS: u32 = 0b01;
    /// A whole number, as a `u32`: nanoseconds up to four seconds.
    pub(super) const WHOLE: u32 = 0b10;
    /// The value in two words. The only form with both bits.
    pub(super) const WIDE: u32 = 0b11;
    /// The lower bit of each form of a word.
    pub(super) const LOWER: u32 = 0x5555_5555;
}

impl Figures {
    /// Adds the figures of the next span.
    pub(crate) fn push(&mut self, figures: impl Iterator<Item = (StrId, f64)> + Clone) {
        self.keys.clear();
        self.keys.extend(figures.clone().map(|(key, _)| key));
        let shape = self.shape_of_keys();
        self.push_values(shape, figures.map(|(_, value)| value));
    }

    /// Adds the figures of the next span with keys that are still text. They are probably those of
    /// span `like`, which is cheaper to check than to look each of them up.
    pub(crate) fn push_texts(&mut self, figures: &[(&str, f64)], like: Option<usize>, strings: &mut Strings) {
        let is_like = |i: &usize| {
            let model = self.keys_of(*i);
            model.len() == figures.len()
                && model.iter().zip(figures).all(|(key, (text, _))| strings.is(*key, text))
        };
        if let Some(i) = like.filter(is_like) {
            return self.push_values(self.shape[i], figures.iter().map(|(_, value)| *value));
        }
        let mut keys = std::mem::take(&mut self.keys);
        keys.clear();
        let model = like.map_or(&[][..], |i| self.keys_of(i));
        let mut rest = model;
        for (text, _) in figures {
            let key = match rest.first() {
                Some(key) if strings.is(*key, text) => *key,
                _ => strings.intern(text),
            };
            match rest {
                [first, behind @ ..] if *first == key => rest = behind,
                _ => rest = rest.iter().position(|k| *k == key).map_or(rest, |at| &rest[at + 1..]),
            }
            keys.push(key);
        }
        self.keys = keys;
        let shape = self.shape_of_keys();
        self.push_values(shape, figures.iter().map(|(_, value)| *value));
    }

    /// Adds the figures of span `i` of `other`, whose keys are of the same dictionary.
    pub(crate) fn push_from(&mut self, other: &Self, i: usize) {
        self.keys.clear();
        self.keys.extend_from_slice(other.keys_of(i));
        let shape = self.shape_of_keys();
        self.push_values(shape, other.of(i).map(|(_, value)| value));
    }

    /// Adds the figures of all spans of `other`; `text` maps keys to their ids here.
    pub(crate) fn append(&mut self, other: Self, text: impl Fn(StrId) -> StrId) {
        let mut shapes = Vec::with_capacity(other.shapes.len());
        for shape in &other.shapes {
            self.keys.clear();
            self.keys.extend(shape.keys.iter().map(|key| text(*key)));
            shapes.push(self.shape_of_keys());
        }
        let words = self.words.len();
        self.shape.extend(other.shape.into_iter().map(|shape| shapes[shape as usize]));
        for start in other.start.rows(0..other.start.len()) {
            self.start.push(start + words as u64);
        }
        self.words.extend(other.words);
    }

    /// Memory that the spans take, bytes.
    pub(crate) fn bytes(&self) -> usize {
        let shapes: usize =
            self.shapes.iter().map(|s| 2 * size_of_val(&*s.keys) + size_of_val(&*s.places)).sum();
        shapes + 4 * (self.shape.capacity() + self.start.len() + self.words.capacity())
    }

    /// Releases reserved memory.
    pub(crate) fn shrink(&mut self) {
        self.shape.shrink_to_fit();
        self.start.shrink();
        self.words.shrink_to_fit();
    }

    /// Drops the spans. Shapes stay: the next spans will have them too.
    #[cfg(feature = "disk")]
    pub(crate) fn clear(&mut self) {
        self.shape.clear();
        self.start.clear();
        self.words.clear();
    }

    /// Figures of span `i`.
    pub(crate) fn of(&self, i: usize) -> impl Iterator<Item = (StrId, f64)> + Clone + '_ {
        let keys = self.keys_of(i);
        let start = self.start_of(i);
        let mut at = start + keys.len().div_ceil(FORMS);
        keys.iter().enumerate().map(move |(n, key)| {
            let form = self.form(start, n);
            let value = self.read(at, form);
            at += 1 + usize::from(form == form::WIDE);
            (*key, value)
        })
    }

    /// The figure of span `i` with a key.
    pub(crate) fn get(&self, i: usize, key: StrId) -> Option<f64> {
        let n = self.shapes[self.shape[i] as usize].place(key)?;
        Some(self.value(i, n))
    }

    /// Changes the value of a figure of span `i`. `false`: it has none with this key.
    pub(crate) fn set(&mut self, i: usize, key: StrId, value: f64) -> bool {
        let Some(n) = self.shapes[self.shape[i] as usize].place(key) else { return false };
        let start = self.start_of(i);
        let at = self.place(i, n);
        match (self.form(start, n), packed(value)) {
            (form::WIDE, _) => [self.words[at], self.words[at + 1]] = halves(value),
            (_, Some((form, word))) => {
                let forms = &mut self.words[start + n / FORMS];
                let bit = 2 * (n % FORMS);
                *forms = *forms & !(form::WIDE << bit) | form << bit;
                self.words[at] = word;
            }
            (_, None) => {
                // It has outgrown its word: the span's words are rewritten at the end, the old ones
                // are wasted.
                let mut values: Vec<f64> = self.of(i).map(|(_, value)| value).collect();
                values[n] = value;
                self.start.set(i, self.words.len() as u64);
                self.write(values.into_iter(), self.keys_of(i).len());
            }
        }
        true
    }

    /// The shape of span `i`: spans of one shape have the same keys in the same order.
    pub(crate) fn shape(&self, i: usize) -> usize {
        self.shape[i] as usize
    }

    /// The keys of span `i`.
    pub(crate) fn keys_of(&self, i: usize) -> &[StrId] {
        &self.shapes[self.shape[i] as usize].keys
    }

    /// The id of the shape whose keys are in `self.keys`.
    fn shape_of_keys(&mut self) -> u32 {
        if let Some(id) = self.shape_ids.get(self.keys.as_slice()) {
            return *id;
        }
        let id = self.shapes.len() as u32;
        self.shapes.push(Shape::new(&self.keys, self.shapes.len() < PLACED.0));
        self.shape_ids.insert(self.keys.as_slice().into(), id);
        id
    }

    fn push_values(&mut self, shape: u32, values: impl Iterator<Item = f64>) {
        self.shape.push(shape);
        self.start.push(self.words.len() as u64);
        self.write(values, self.shapes[shape as usize].keys.len());
    }

    /// Writes the words of a span with `count` values at the end.
    fn write(&mut self, values: impl Iterator<Item = f64>, count: usize) {
        let start = self.words.len();
        self.words.resize(start + count.div_ceil(FORMS), 0);
        for (n, value) in values.enumerate() {
            let form = match packed(value) {
                Some((form, word)) => {
                    self.words.push(word);
                    form
                }
                None => {
                    self.words.extend(halves(value));
                    form::WIDE
                }
            };
            self.words[start + n / FORMS] |= form << (2 * (n % FORMS));
        }
    }

    fn start_of(&self, i: usize) -> usize {
        self.start.get(i) as usize
    }

    /// The form of the `n`th figure of the span whose words start at `start`.
    fn form(&self, start: usize, n: usize) -> u32 {
        self.words[start + n / FORMS] >> (2 * (n % FORMS)) & form::WIDE
    }

    /// The position of the `n`th figure of span `i`: after those before it, of which wide ones take
    /// one word more.
    fn place(&self, i: usize, n: usize) -> usize {
        let start = self.start_of(i);
        let wide = |forms: u32| (forms & forms >> 1 & form::LOWER).count_ones();
        let full: u32 = self.words[start..start + n / FORMS].iter().map(|forms| wide(*forms)).sum();
        let last = wide(self.words[start + n / FORMS] & ((1 << (2 * (n % FORMS))) - 1));
        start + self.keys_of(i).len().div_ceil(FORMS) + n + (full + last) as usize
    }

    /// The `n`th figure of span `i`.
    fn value(&self, i: usize, n: usize) -> f64 {
        self.read(self.place(i, n), self.form(self.start_of(i), n))
    }

    fn read(&self, at: usize, form: u32) -> f64 {
        let word = self.words[at];
        match form {
            form::SHORT => f64::from(f32::from_bits(word)),
            form::THOUSANDTHS => f64::from(word as i32) / 1e3,
            form::WHOLE => f64::from(word),
            _ => f64::from_bits(u64::from(self.words[at + 1]) << 32 | u64::from(word)),
        }
    }
}

/// The form and the word of a value, where one word holds it exactly.
fn packed(value: f64) -> Option<(u32, u32)> {
    let short = value as f32;
    if f64::from(short).to_bits() == value.to_bits() {
        return Some((form::SHORT, short.to_bits()));
    }
    // Casts saturate: a value that does not fit does not convert back to itself.
    let whole = value as u32;
    if f64::from(whole).to_bits() == value.to_bits() {
        return Some((form::WHOLE, whole));
    }
    let thousandths = (value * 1e3).round() as i32;
    let same = (f64::from(thousandths) / 1e3).to_bits() == value.to_bits();
    same.then_some((form::THOUSANDTHS, thousandths as u32))
}

/// The bits of a value, the lower half first.
fn halves(value: f64) -> [u32; 2] {
    let bits = value.to_bits();
    [bits as u32, (bits >> 32) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Values of every form, mixed.
    fn values(count: usize) -> Vec<f64> {
        let some = [
            0.0,
            -0.0,
            1.0,
            0.1,
            f64::MAX,
            f64::MIN_POSITIVE,
            16_777_217.0,
            45e6,
            f64::INFINITY,
            -1.5e300,
            -32.417,
            4_294_967_295.0,
            4_294_967_296.5,
            2_147_483.648,
            0.0001,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
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
        let set = |figures: &mut Figures, key, value| assert!(figures.set(1, StrId(key), value));
        set(&mut figures, 6, 0.0001);
        [(7, 0.1), (7, 1e-300), (7, 0.2), (8, 9.0), (9, 0.5), (9, 16_777_217.0)]
            .into_iter()
            .for_each(|(key, value)| set(&mut figures, key, value));
        assert!(!figures.set(1, StrId(40), 1.0));
        for i in 0..3 {
            for (key, value) in figures.of(i) {
                let expected = match (i, key.0) {
                    (1, 6) => 0.0001,
                    (1, 7) => 0.2,
                    (1, 8) => 9.0,
                    (1, 9) => 16_777_217.0,
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
                figures.push_texts(row, model.filter(|i| *i < figures.shape.len()), &mut strings);
                let last = figures.shape.len() - 1;
                let read: Vec<_> = figures.of(last).map(|(key, value)| (strings.get(key), value)).collect();
                assert_eq!(read, row);
            }
        }
        assert_eq!(figures.shapes.len(), rows.len());
    }

    #[test]
    fn a_key_is_found_in_shapes_of_any_width_and_number() {
        let mut figures = Figures::default();
        for i in 0..2 * PLACED.0 as u32 {
            let keys = [i + 7, i, PLACED.1 as u32 * (i % 3) + i + 8, i];
            figures.push(keys.into_iter().enumerate().map(|(n, key)| (StrId(key), n as f64)));
            let i = i as usize;
            let found: Vec<_> = keys.iter().map(|key| figures.get(i, StrId(*key))).collect();
            assert_eq!(found, [Some(0.0), Some(1.0), Some(2.0), Some(1.0)]);
            assert_eq!(figures.get(i, StrId(i as u32 + 3)), None);
            assert_eq!(figures.get(i, StrId(u32::MAX)), None);
        }
    }
}
