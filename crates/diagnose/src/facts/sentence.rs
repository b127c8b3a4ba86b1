//! The sentence of a fact: its metric's template, filled with its values.
//!
//! Names come from the recording and may hold anything: they are put in as they are and never read
//! as a template.

use super::{Fact, Unit, Value};
use crate::quantity;

impl Fact {
    /// The fact in words, values and units included.
    pub fn sentence(&self) -> String {
        let filled = self.filled(self.metric.words);
        debug_assert!(filled.is_some(), "{:?} lacks what its sentence names", self);
        filled.unwrap_or_else(|| self.metric.id.replace('-', " "))
    }

    /// A template filled in; `None` where a value that it names is not known.
    pub(super) fn filled(&self, words: &str) -> Option<String> {
        let mut text = String::with_capacity(words.len());
        let mut rest = words;
        while let Some(at) = rest.find(['{', '[']) {
            let (plain, from) = rest.split_at(at);
            text.push_str(plain);
            if let Some(from) = from.strip_prefix('{') {
                let (key, behind) = from.split_once('}')?;
                text.push_str(&self.put(key)?);
                rest = behind;
            } else {
                let (part, behind) = from.strip_prefix('[')?.split_once(']')?;
                let (known, otherwise) = divided(part);
                text.push_str(&self.filled(known).or_else(|| self.filled(otherwise)).unwrap_or_default());
                rest = behind;
            }
        }
        text.push_str(rest);
        Some(text)
    }

    /// What stands for one pair of braces.
    fn put(&self, key: &str) -> Option<String> {
        let end = key.find(['|', '?', '*', ':', '!', '#', '@']).unwrap_or(key.len());
        let (name, how) = key.split_at(end);
        let value = self.named(name)?;
        // The ends of a window with the digits that its length calls for.
        let of_window = || match (self.number("from")?, self.number("to")?) {
            (from, to) if value.unit() == Some(Unit::Seconds) && to - from < 1.0 => {
                Some(quantity::window_digits(to - from))
            }
            _ => None,
        };
        let plain = |digits: Option<usize>| value.words(digits.or_else(of_window), ", ");
        Some(match how.chars().next() {
            Some('|') => format!("{} {}", plain(None), noun(value, how.get(1..)?)?),
            Some('?') => noun(value, how.get(1..)?)?.to_owned(),
            Some('*') => value.words(None, how.get(1..)?),
            Some('!') => quantity::of_one(value.number()?),
            Some('#') => format!("{:.0}", value.number()?),
            // A title may go on to say why.
            Some('@') => {
                let (title, who) = (plain(None), self.named(how.get(1..)?)?.words(None, ", "));
                let (first, why) = title.split_at(title.find("; ").unwrap_or(title.len()));
                format!("{first}{who}{why}")
            }
            Some(':') => plain(Some(how.get(2..)?.parse().ok()?)),
            _ => plain(None),
        })
    }
}

/// What is said where all that it names is known, and what in its place.
fn divided(part: &str) -> (&str, &str) {
    let mut depth = 0;
    let at = part.find(|c| {
        depth += i32::from(c == '{') - i32::from(c == '}');
        c == '|' && depth == 0
    });
    at.map_or((part, ""), |at| (&part[..at], &part[at + 1..]))
}

/// One of two words by a number.
fn noun<'w>(value: &Value, words: &'w str) -> Option<&'w str> {
    let (one, many) = words.split_once('|')?;
    Some(if value.number()?.round() == 1.0 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::super::Metric;
    use super::*;

    static PAUSES: Metric = Metric::new(
        "test-pauses",
        "{value|pause|pauses} of {total}[ ({of} of {all})][; {list*; }], {load:.1}; {value?it|each} waited for {file}",
    );
    static PART: Metric = Metric::new("test-part", "{value}: {what}");

    fn pauses(n: usize) -> Fact {
        let fact = PAUSES.is(Value::count(n)).with("total", Value::ms(2_500.0));
        fact.with("load", Value::plain(1.25)).with("file", Value::name("gc{value}[0].log"))
    }

    #[test]
    fn a_template_is_filled_and_names_are_not_read_as_templates() {
        assert_eq!(pauses(1).sentence(), "1 pause of 2.50 s, 1.2; it waited for gc{value}[0].log");
        assert_eq!(pauses(3).sentence(), "3 pauses of 2.50 s, 1.2; each waited for gc{value}[0].log");
    }

    #[test]
    fn numbers_that_count_have_groups_of_three_and_others_do_not() {
        static OPS: Metric = Metric::new("test-operations", "{value} of {value:.1} a second at line {line#}");
        let ops = OPS.is(Value::counted(12_345.25)).with("line", Value::counted(12_345.0));
        assert_eq!(ops.sentence(), "12,345 of 12,345.2 a second at line 12345");
    }

    #[test]
    fn the_ends_of_a_short_window_can_be_told_apart() {
        static AT: Metric = Metric::new("test-at", "at {from}–{to} s");
        let at = |from: i64, to: i64| AT.fact().with("from", Value::at(from)).with("to", Value::at(to));
        assert_eq!(at(17_648_000_000, 17_702_000_000).sentence(), "at 17.648–17.702 s");
        assert_eq!(at(17_000_000_000, 36_900_000_000).sentence(), "at 17–36.9 s");
    }

    #[test]
    fn what_is_not_known_has_its_own_words_behind_a_bar() {
        static TOOK: Metric =
            Metric::new("test-took", "[{who|thread|threads} waited {value!}|took {value!}] or more");
        let took = TOOK.is(Value::ms(0.25));
        assert_eq!(took.sentence(), "took 250 µs or more");
        assert_eq!(took.with("who", Value::count(2)).sentence(), "2 threads waited 250 µs or more");
    }

    #[test]
    fn what_is_not_known_leaves_out_the_part_that_speaks_of_it() {
        let part = |ms: f64, what: &str| PART.is(Value::ms(ms)).with("what", Value::name(what));
        let half = pauses(2).with("of", Value::count(1));
        assert!(!half.sentence().contains('('), "{}", half.sentence());
        let full =
            half.with("all", Value::count(9)).with("list", Value::list([part(1.0, "a"), part(2.0, "b")]));
        assert!(
            full.sentence().starts_with("2 pauses of 2.50 s (1 of 9); 1.00 ms: a; 2.00 ms: b, "),
            "{full:?}"
        );
    }
}
