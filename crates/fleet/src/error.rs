//! What can go wrong.

use std::path::{Path, PathBuf};

/// An error, with what it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FleetError {
    /// A file cannot be read or written.
    #[error("{}: {cause}", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// Why.
        cause: std::io::Error,
    },
    /// A bucket did not do it.
    #[error("{url}: {why}")]
    Bucket {
        /// The bucket, as the user wrote it.
        url: String,
        /// Why, without what the server answered.
        why: String,
    },
    /// A recording that cannot be added to others.
    #[error("{0}")]
    Unfit(String),
    /// A parameter that the question does not have, or that is not of its kind.
    #[error("{0}")]
    Parameter(String),
    /// The engine is not on this machine.
    #[error(
        "{engine} was not found by {python}; install it: {remedy}; or name a Python that has it in FATHOM_FLEET_PYTHON"
    )]
    NoSqlEngine {
        /// The engine.
        engine: &'static str,
        /// The Python that was asked.
        python: String,
        /// The command that installs it.
        remedy: String,
    },
    /// There is no such Python.
    #[error("{python}: no such program; FATHOM_FLEET_PYTHON names a Python that has the engine")]
    NoPython {
        /// What was to be run.
        python: String,
    },
    /// Spark is there, and Java is not.
    #[error("spark needs a Java, 17 or later, and found none: JAVA_HOME names the one to use")]
    NoJava,
    /// The engine refused the question.
    #[error("{engine}: {why}")]
    Refused {
        /// The engine.
        engine: &'static str,
        /// Its own words.
        why: String,
    },
}

impl FleetError {
    /// There is a place, and nothing in it.
    pub(crate) fn nothing_added(place: &str) -> Self {
        Self::Unfit(format!("no recording was added to {place}: fathom fleet add RECORDING --to {place}"))
    }

    /// Names the file.
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |cause| Self::Io { path: path.to_path_buf(), cause }
    }
}
