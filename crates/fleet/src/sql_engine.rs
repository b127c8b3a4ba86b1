//! Engines that answer: programs that exist, found on the machine and called with SQL.
//!
//! DuckDB as a library would be minutes of C++ in every build, for a command that few use; the
//! module that `pip` installs is the same engine. What differs between dialects is a prelude:
//! settings, and a view for each table.

/// An engine that answers SQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SqlEngine {
    /// DuckDB: PyPI's `duckdb`.
    DuckDb,
    /// ClickHouse, within one process: PyPI's `chdb`.
    ClickHouse,
    /// Spark: PyPI's `pyspark`, with a Java. On this machine, or on a cluster that
    /// `FATHOM_FLEET_SPARK` names.
    Spark,
    /// Trino: a server, asked with PyPI's `trino`. It has tables, those of [`crate::register()`].
    Trino,
}

impl SqlEngine {
    /// Its word.
    pub fn name(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::ClickHouse => "clickhouse",
            Self::Spark => "spark",
            Self::Trino => "trino",
        }
    }

    /// What is installed for it.
    pub(crate) fn package(self) -> &'static str {
        match self {
            Self::DuckDb => "duckdb",
            Self::ClickHouse => "chdb",
            Self::Spark => "pyspark",
            Self::Trino => "trino",
        }
    }

    /// A text as a literal. ClickHouse and Spark know the backslash as an escape; to Spark before 4
    /// two quotes are the end of one literal and the beginning of another.
    pub(crate) fn quoted(self, text: &str) -> String {
        let (backslash, quote) = match self {
            Self::DuckDb | Self::Trino => ("\\", "''"),
            Self::ClickHouse => ("\\\\", "''"),
            Self::Spark => ("\\\\", "\\'"),
        };
        format!("'{}'", text.replace('\\', backslash).replace('\'', quote))
    }
}
