//! The questions: one SQL file each in `fleet/`, and the list of them.
//!
//! A file begins with what it asks; a line `-- $NAME KIND = DEFAULT: MEANING` declares a parameter.
//! Values become literals, so that no text of a user is read as SQL. A line `-- step NAME` begins
//! a table that later steps read, which the engine keeps as long as the question takes: engines but
//! DuckDB would compute a part of a query again wherever it is named. `-- step` without a name
//! begins what answers.

use crate::{FleetError, SqlEngine};

/// A question.
#[derive(Clone, Copy, Debug)]
pub struct Question {
    /// Its name.
    pub name: &'static str,
    /// The file.
    pub sql: &'static str,
}

/// A question with the values of its parameters, as an engine is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Steps {
    /// Tables that are made first, in this order: name and SQL.
    pub tables: Vec<(String, String)>,
    /// The engine that answers.
    pub answer: String,
}

/// How a step begins.
const STEP: &str = "-- step";

/// A parameter of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it is a number; else a text.
    pub number: bool,
    /// What it is where none is given.
    pub default: &'static str,
    /// What it means.
    pub meaning: &'static str,
}

macro_rules! questions {
    ($($name:literal),*) => {
        /// All questions.
        pub const QUESTIONS: &[Question] =
            &[$(Question { name: $name, sql: include_str!(concat!("../../../fleet/", $name, ".sql")) }),*];
    };
}

questions!(
    "frames",
    "versions",
    "changes",
    "rules",
    "pauses",
    "locks",
    "calls",
    "outliers",
    "day",
    "trend",
    "recordings",
    "unseen"
);

impl Question {
    /// By its name.
    pub fn find(name: &str) -> Option<&'static Self> {
        QUESTIONS.iter().find(|question| question.name == name)
    }

    /// What it asks.
    pub fn about(&self) -> &'static str {
        self.sql.lines().next().and_then(|line| line.strip_prefix("-- ")).unwrap_or_default()
    }

    /// Its parameters.
    pub fn parameters(&self) -> Vec<Parameter> {
        let parameter = |line: &'static str| {
            let (declared, meaning) = line.strip_prefix("-- $")?.split_once(": ")?;
            let (head, default) = declared.split_once(" = ")?;
            let (name, kind) = head.split_once(' ')?;
            Some(Parameter { name, number: kind == "number", default: default.trim_matches('\''), meaning })
        };
        self.sql.lines().filter_map(parameter).collect()
    }

    /// The tables that it names.
    #[cfg(any(feature = "s3", test))]
    pub(crate) fn tables(&self) -> Vec<&'static str> {
        let body = self.body();
        crate::tables::NAMES.into_iter().filter(|table| body.contains(table)).collect()
    }

    /// What a parameter is; `None`: it has no such parameter.
    #[cfg(feature = "s3")]
    pub(crate) fn value<'a>(&self, name: &str, set: &'a [(String, String)]) -> Option<&'a str> {
        let parameter = self.parameters().into_iter().find(|parameter| parameter.name == name)?;
        let given = set.iter().rev().find(|(its, _)| its == name);
        Some(given.map_or(parameter.default, |(_, value)| value))
    }

    #[cfg(any(feature = "s3", test))]
    fn body(&self) -> String {
        let body: Vec<&str> = self.sql.lines().filter(|line| !line.starts_with("--")).collect();
        body.join("\n")
    }

    /// The SQL with the values of its parameters, step by step.
    pub(crate) fn steps(&self, engine: SqlEngine, set: &[(String, String)]) -> Result<Steps, FleetError> {
        let parameters = self.parameters();
        let known = |name: &str| parameters.iter().any(|parameter| parameter.name == name);
        if let Some((name, _)) = set.iter().find(|(name, _)| !known(name)) {
            let all: Vec<&str> = parameters.iter().map(|parameter| parameter.name).collect();
            return Err(FleetError::Parameter(format!(
                "{} has no {name}, but {}",
                self.name,
                all.join(", ")
            )));
        }
        // Split before values are put in: what a value says is not looked at.
        let mut steps: Vec<(&'static str, Vec<&str>)> = vec![("", Vec::new())];
        for line in self.sql.lines() {
            if let Some(name) = line.strip_prefix(STEP) {
                steps.push((name.trim(), Vec::new()));
            } else if !line.starts_with("--")
                && let Some((_, body)) = steps.last_mut()
            {
                body.push(line);
            }
        }
        steps.retain(|(_, body)| !body.is_empty());
        let (_, answer) = steps.pop().unwrap_or_default();
        // Trino keeps steps as tables that others see: two who ask at once have their own.
        let own = match engine {
            SqlEngine::Trino => format!("_{}_{}", std::process::id(), jiff::Timestamp::now().as_nanosecond()),
            _ => String::new(),
        };
        let named = |name: &str| format!("{name}{own}");
        let filled = |body: &[&str]| {
            let renamed = |text: String, (name, _): &(&str, Vec<&str>)| text.replace(name, &named(name));
            let body = steps.iter().fold(body.join("\n"), renamed);
            self.filled(&body, &parameters, engine, set)
        };
        let tables = steps.iter().map(|(name, body)| Ok((named(name), filled(body)?)));
        Ok(Steps { tables: tables.collect::<Result<_, FleetError>>()?, answer: filled(&answer)? })
    }

    /// SQL with literals for its parameters.
    fn filled(
        &self,
        body: &str,
        parameters: &[Parameter],
        engine: SqlEngine,
        set: &[(String, String)],
    ) -> Result<String, FleetError> {
        let mut rest = body;
        let mut out = String::with_capacity(rest.len());
        // In one pass: what a value says is not looked at again.
        while let Some(at) = rest.find('$') {
            let (before, behind) = (&rest[..at], &rest[at + 1..]);
            let end = behind.find(|c: char| !c.is_ascii_lowercase() && c != '_').unwrap_or(behind.len());
            let wanted = &behind[..end];
            if wanted.is_empty() {
                // The end of a line in a regular expression.
                out.push_str(&rest[..=at]);
                rest = behind;
                continue;
            }
            let Some(parameter) = parameters.iter().find(|parameter| parameter.name == wanted) else {
                return Err(FleetError::Parameter(format!("{}: ${wanted} is not declared", self.name)));
            };
            let given = set.iter().rev().find(|(name, _)| name == wanted);
            let value = given.map_or(parameter.default, |(_, value)| value.as_str());
            out.push_str(before);
            if parameter.number {
                let number: f64 = value.parse().ok().filter(|n: &f64| n.is_finite()).ok_or_else(|| {
                    FleetError::Parameter(format!("{wanted} is a number, which {value} is not"))
                })?;
                out.push_str(&number.to_string());
            } else {
                out.push_str(&engine.quoted(value));
            }
            rest = &behind[end..];
        }
        out.push_str(rest);
        Ok(out)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn every_question_says_what_it_asks_and_declares_what_it_uses() {
        for question in QUESTIONS {
            assert!(question.about().ends_with('?'), "{}", question.name);
            let steps = question.steps(SqlEngine::DuckDb, &[]).unwrap();
            for sql in steps.tables.iter().map(|(_, sql)| sql).chain([&steps.answer]) {
                assert!(!sql.replace("*$'", "").contains('$') && sql.contains("SELECT"), "{sql}");
            }
            // A step is read by a later one.
            for (i, (name, _)) in steps.tables.iter().enumerate() {
                let mut later = steps.tables[i + 1..].iter().map(|(_, sql)| sql).chain([&steps.answer]);
                assert!(later.any(|sql| sql.contains(name.as_str())), "{}: {name}", question.name);
                let alike = steps.tables.iter().filter(|(other, _)| other.contains(name.as_str()));
                assert_eq!(alike.count(), 1, "{}: {name} is a part of another name", question.name);
            }
            for parameter in question.parameters() {
                let marker = format!("${}", parameter.name);
                assert!(question.sql.matches(&marker).count() > 1, "{}: {marker} is not used", question.name);
            }
        }
    }

    /// Of a bucket only those are fetched.
    #[test]
    fn every_question_looks_at_the_days_and_services_that_are_asked_for_alone() {
        let asked = "day >= $since AND day <= $until AND ($service = '' OR service = $service)";
        for question in QUESTIONS {
            assert!(!question.tables().is_empty(), "{}", question.name);
            for (at, table) in question.tables().iter().flat_map(|table| question.sql.match_indices(table)) {
                if question.sql[..at].ends_with("FROM ") || question.sql[..at].ends_with("JOIN ") {
                    let behind = &question.sql[at + table.len()..];
                    let (_, conditions) = behind.split_once("WHERE ").unwrap_or_default();
                    let bare = |text: String, table: &&str| text.replace(&format!("{table}."), "");
                    let conditions = crate::tables::NAMES.iter().fold(conditions.to_owned(), bare);
                    assert!(conditions.starts_with(asked), "{}: {table}{behind}", question.name);
                }
            }
        }
    }

    #[test]
    fn a_value_stays_a_value() {
        let question =
            Question { name: "x", sql: "-- What?\n-- $a text = '': a\n-- $n number = 5: n\nSELECT $a, $n" };
        let set = |a: &str| vec![("a".to_owned(), a.to_owned())];
        let sql = |engine, a: &str| question.steps(engine, &set(a)).unwrap().answer;
        assert_eq!(sql(SqlEngine::DuckDb, "it's $n"), "SELECT 'it''s $n', 5");
        assert_eq!(sql(SqlEngine::ClickHouse, "\\'"), "SELECT '\\\\''', 5");
        assert_eq!(sql(SqlEngine::Spark, "\\'"), "SELECT '\\\\\\'', 5");
        // Nor is a line of it a step.
        assert_eq!(sql(SqlEngine::DuckDb, "\n-- step x\n"), "SELECT '\n-- step x\n', 5");
        let wrong = |name: &str, value: &str| {
            question.steps(SqlEngine::DuckDb, &[(name.into(), value.into())]).unwrap_err().to_string()
        };
        assert_eq!(wrong("n", "1; DROP"), "n is a number, which 1; DROP is not");
        assert_eq!(wrong("b", ""), "x has no b, but a, n");
    }
}
