//! `--where`: a condition on the fields of an event.
//!
//! ```text
//!   either     = both ( "||" both )*
//!   both       = one ( "&&" one )*
//!   one        = "!" one | "(" either ")" | field operator value
//!   operator   = "==" "=" "!=" "<" "<=" ">" ">=" "~" "!~"
//!   value      = number [unit] | "text" | 'text' | word
//! ```
//! Units: ns, us, ms, s for times (compared in nanoseconds); k, M, G and kB, MB, GB for sizes (of
//! 1024). `~` looks for a regular expression. A comparison with a field that an event does not have
//! is false, whatever the operator: nothing is known of it.

use std::collections::BTreeSet;

use regex_lite::Regex;

/// Bytes of a condition, and how deep it may nest: it comes from a person.
const LONGEST: usize = 4096;
const DEEPEST: usize = 64;

/// The value of a field of an event.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number; times in nanoseconds, sizes in bytes.
    Number(f64),
    /// Text.
    Text(String),
}

/// A condition, read.
#[derive(Clone, Debug)]
pub struct Condition(Node);

#[derive(Clone, Debug)]
enum Node {
    Either(Vec<Node>),
    Both(Vec<Node>),
    Not(Box<Node>),
    Compare { field: String, operator: Operator, with: Wanted },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
    Matches,
    Differs,
}

#[derive(Clone, Debug)]
enum Wanted {
    Number(f64),
    Text(String),
    Pattern(Regex),
}

impl Condition {
    /// Reads a condition; the error says what is wrong and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        if text.len() > LONGEST {
            return Err(format!("longer than {LONGEST} bytes"));
        }
        let mut parser = Parser { text, at: 0 };
        let node = parser.either(0)?;
        parser.blanks();
        match parser.rest() {
            "" => Ok(Self(node)),
            rest => {
                Err(parser.wrong(&format!("\"&&\", \"||\" or the end was expected, not \"{}\"", brief(rest))))
            }
        }
    }

    /// Whether it holds, with `value` giving the fields.
    pub fn holds(&self, value: &dyn Fn(&str) -> Option<Value>) -> bool {
        holds(&self.0, value)
    }

    /// The fields that it asks for.
    pub fn fields(&self) -> BTreeSet<&str> {
        let (mut fields, mut open) = (BTreeSet::new(), vec![&self.0]);
        while let Some(node) = open.pop() {
            match node {
                Node::Either(nodes) | Node::Both(nodes) => open.extend(nodes),
                Node::Not(node) => open.push(node),
                Node::Compare { field, .. } => {
                    fields.insert(field.as_str());
                }
            }
        }
        fields
    }
}

fn holds(node: &Node, value: &dyn Fn(&str) -> Option<Value>) -> bool {
    match node {
        Node::Either(nodes) => nodes.iter().any(|node| holds(node, value)),
        Node::Both(nodes) => nodes.iter().all(|node| holds(node, value)),
        Node::Not(node) => !holds(node, value),
        Node::Compare { field, operator, with } => {
            value(field).is_some_and(|value| compare(&value, *operator, with))
        }
    }
}

fn compare(value: &Value, operator: Operator, with: &Wanted) -> bool {
    let ordered = |order: Option<std::cmp::Ordering>| {
        order.is_some_and(|order| match operator {
            Operator::Equal => order.is_eq(),
            Operator::Unequal => order.is_ne(),
            Operator::Less => order.is_lt(),
            Operator::AtMost => order.is_le(),
            Operator::More => order.is_gt(),
            Operator::AtLeast => order.is_ge(),
            Operator::Matches | Operator::Differs => false,
        })
    };
    match (value, with) {
        (Value::Number(is), Wanted::Number(wanted)) => ordered(is.partial_cmp(wanted)),
        (Value::Text(is), Wanted::Number(wanted)) => {
            ordered(is.parse::<f64>().ok().and_then(|is| is.partial_cmp(wanted)))
        }
        (Value::Text(is), Wanted::Text(wanted)) => ordered(Some(is.as_str().cmp(wanted))),
        (Value::Number(is), Wanted::Text(wanted)) => ordered(Some(is.to_string().as_str().cmp(wanted))),
        (is, Wanted::Pattern(pattern)) => {
            let found = match is {
                Value::Number(is) => pattern.is_match(&is.to_string()),
                Value::Text(is) => pattern.is_match(is),
            };
            found == (operator == Operator::Matches)
        }
    }
}

struct Parser<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> Parser<'a> {
    fn rest(&self) -> &'a str {
        self.text.get(self.at..).unwrap_or_default()
    }

    fn blanks(&mut self) {
        self.at += self.rest().len() - self.rest().trim_start().len();
    }

    fn eat(&mut self, token: &str) -> bool {
        self.blanks();
        let is_there = self.rest().starts_with(token);
        self.at += if is_there { token.len() } else { 0 };
        is_there
    }

    fn take(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        let rest = self.rest();
        let (taken, _) = rest.split_at(rest.find(|c| !is_part(c)).unwrap_or(rest.len()));
        self.at += taken.len();
        taken
    }

    fn wrong(&self, what: &str) -> String {
        let column = self.text.get(..self.at).map_or(0, |before| before.chars().count()) + 1;
        format!("at character {column}: {what}")
    }

    fn either(&mut self, depth: usize) -> Result<Node, String> {
        let mut nodes = vec![self.both(depth)?];
        while self.eat("||") {
            nodes.push(self.both(depth)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Either(nodes) })
    }

    fn both(&mut self, depth: usize) -> Result<Node, String> {
        let mut nodes = vec![self.one(depth)?];
        while self.eat("&&") {
            nodes.push(self.one(depth)?);
        }
        Ok(if nodes.len() == 1 { nodes.remove(0) } else { Node::Both(nodes) })
    }

    fn one(&mut self, depth: usize) -> Result<Node, String> {
        if depth > DEEPEST {
            return Err(self.wrong("nested too deeply"));
        }
        if self.eat("(") {
            let node = self.either(depth + 1)?;
            return if self.eat(")") {
                Ok(node)
            } else {
                Err(self.wrong("a closing parenthesis is missing"))
            };
        }
        if self.eat("!") {
            return Ok(Node::Not(Box::new(self.one(depth + 1)?)));
        }
        self.blanks();
        let field = self.take(|c| c.is_ascii_alphanumeric() || c == '_' || c == '.' || c == '-').to_owned();
        if !field.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            self.at -= field.len();
            return Err(self.wrong("the name of a field was expected, as in dur > 10ms or path ~ \"log\""));
        }
        let operator = self.operator(&field)?;
        let with = self.value(operator)?;
        Ok(Node::Compare { field, operator, with })
    }

    fn operator(&mut self, field: &str) -> Result<Operator, String> {
        use Operator::*;
        const ALL: [(&str, Operator); 9] = [
            ("==", Equal),
            ("!=", Unequal),
            ("!~", Differs),
            ("<=", AtMost),
            (">=", AtLeast),
            ("=", Equal),
            ("<", Less),
            (">", More),
            ("~", Matches),
        ];
        let found = ALL.into_iter().find(|(token, _)| self.eat(token)).map(|(_, operator)| operator);
        found.ok_or_else(|| self.wrong(&format!("after {field}, one of == != < <= > >= ~ !~ was expected")))
    }

    fn value(&mut self, operator: Operator) -> Result<Wanted, String> {
        let is_next = !self.rest().starts_with(char::is_whitespace);
        self.blanks();
        let begin = self.at;
        let quote = self.rest().chars().next().filter(|c| matches!(c, '"' | '\''));
        let text = if let Some(quote) = quote {
            self.at += 1;
            let text = self.take(|c| c != quote);
            if !self.rest().starts_with(quote) {
                self.at = begin;
                return Err(self.wrong("this string is not terminated"));
            }
            self.at += 1;
            text
        } else {
            self.take(|c| !c.is_whitespace() && !matches!(c, '&' | '|' | '(' | ')' | '"' | '\''))
        };
        // Two operators in a row are a slip of the hand, and what follows would be looked for in
        // vain. `name == <init>` is not a condition of that form.
        if quote.is_none() && is_next && text.starts_with(['<', '>', '=', '!', '~']) {
            self.at = begin;
            return Err(self.wrong("a value was expected: 10ms, 4096, \"text\""));
        }
        if text.is_empty() && quote.is_none() {
            return Err(self.wrong("a value was expected: 10ms, 4096, \"text\""));
        }
        if matches!(operator, Operator::Matches | Operator::Differs) {
            let pattern = Regex::new(text);
            self.at = if pattern.is_err() { begin } else { self.at };
            return pattern
                .map(Wanted::Pattern)
                .map_err(|error| self.wrong(&format!("not a regular expression: {error}")));
        }
        match number(text) {
            Some(number) if quote.is_none() => Ok(Wanted::Number(number)),
            _ => Ok(Wanted::Text(text.to_owned())),
        }
    }
}

/// "10ms", "-1", "0x1000", "64k", "4096".
fn number(text: &str) -> Option<f64> {
    let (sign, digits) = text.strip_prefix('-').map_or((1.0, text), |digits| (-1.0, digits));
    if let Some(hex) = digits.strip_prefix("0x") {
        return u64::from_str_radix(hex, 16).ok().map(|value| sign * value as f64);
    }
    if !digits.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let (number, unit) =
        digits.split_at(digits.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(digits.len()));
    let by = match unit {
        "" | "ns" | "B" => 1.0,
        "us" => 1e3,
        "ms" => 1e6,
        "s" => 1e9,
        "m" | "min" => 60e9,
        "k" | "kB" => 1024.0,
        "M" | "MB" => 1024.0 * 1024.0,
        "G" | "GB" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    number.parse::<f64>().ok().map(|number| sign * number * by)
}

fn brief(text: &str) -> String {
    text.chars().take(20).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn event(field: &str) -> Option<Value> {
        Some(match field {
            "dur" => Value::Number(25e6),
            "ret" => Value::Number(-2.0),
            "arg0" => Value::Number(8192.0),
            "path" => Value::Text("/var/log/app.log".into()),
            "thread" => Value::Text("worker-1".into()),
            _ => return None,
        })
    }

    fn holds(text: &str) -> bool {
        Condition::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).holds(&event)
    }

    #[test]
    fn comparisons_take_units_signs_and_patterns() {
        for (text, expected) in [
            ("dur > 10ms", true),
            ("dur>=25ms", true),
            ("dur < 0.02s", false),
            ("ret < 0", true),
            ("ret == -2", true),
            ("arg0 > 4k", true),
            ("arg0 == 0x2000", true),
            ("path ~ \"log\"", true),
            ("path !~ '\\.log$'", false),
            ("path == /var/log/app.log", true),
            ("thread = \"worker-1\"", true),
        ] {
            assert_eq!(holds(text), expected, "{text}");
        }
    }

    #[test]
    fn and_binds_tighter_than_or_and_parentheses_tighter_than_both() {
        assert!(holds("ret < 0 || dur > 1s && dur < 1ms"));
        assert!(!holds("(ret < 0 || dur > 1s) && dur < 1ms"));
        assert!(holds("!(dur < 10ms) && !path ~ tmp"));
    }

    #[test]
    fn what_an_event_does_not_tell_makes_a_comparison_false_either_way() {
        assert!(!holds("peer == x"));
        assert!(!holds("peer != x"));
        assert!(holds("peer == x || ret < 0"));
    }

    #[test]
    fn errors_say_where_and_what() {
        for (text, expected) in [
            ("", "at character 1: the name of a field"),
            ("dur", "after dur, one of =="),
            ("dur >", "a value was expected"),
            ("dur >> 1ms", "at character 6: a value was expected"),
            ("dur > 1ms dur", "at character 11: \"&&\", \"||\" or the end"),
            ("(dur > 1ms", "a closing parenthesis"),
            ("path ~ \"a", "at character 8: this string is not terminated"),
            ("path ~ \"(\"", "not a regular expression"),
        ] {
            let error = Condition::parse(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn fields_are_known() {
        let condition = Condition::parse("a > 1 && (b ~ x || !c == 2)").unwrap();
        assert_eq!(condition.fields().into_iter().collect::<Vec<_>>(), ["a", "b", "c"]);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "[-a-z0-9_.<>=!~&|() \"'xms(äß)]{0,80}|.{0,80}") {
            if let Ok(condition) = Condition::parse(&text) {
                condition.holds(&event);
            }
        }

        #[test]
        fn depth_is_bounded(depth in 0_usize..3000, token in "[(!]") {
            let text = token.repeat(depth) + "a == 1";
            prop_assert!(depth <= DEEPEST || Condition::parse(&text).is_err());
        }
    }
}
