//! Programs of Python that are given work as JSON and answer as JSON: engines, and what makes
//! tables of Iceberg. Exit status 3 is a module that is not installed, 5 a Java that is missing.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::FleetError;

/// Names the Python that has the modules, where it is not `python3`.
const PYTHON: &str = "FATHOM_FLEET_PYTHON";

/// The Python that is asked: `python3`, or what `FATHOM_FLEET_PYTHON` names.
pub fn python() -> String {
    std::env::var(PYTHON).unwrap_or_else(|_| "python3".into())
}

/// Has a program do work. `who` it is that answers or is missing, and `package` what pip installs.
pub(crate) fn drive(
    python: &str,
    program: &str,
    work: &Value,
    who: &'static str,
    package: &str,
) -> Result<Value, FleetError> {
    let refused = |why: String| FleetError::Refused { engine: who, why };
    let started = Command::new(python)
        .args(["-c", program])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let mut child = match started {
        Err(cause) if cause.kind() == std::io::ErrorKind::NotFound => {
            return Err(FleetError::NoPython { python: python.to_owned() });
        }
        child => child.map_err(|cause| refused(cause.to_string()))?,
    };
    if let Some(mut input) = child.stdin.take() {
        // Who does not read says why when it ends.
        let _ = input.write_all(work.to_string().as_bytes());
    }
    let output = child.wait_with_output().map_err(|cause| refused(cause.to_string()))?;
    match output.status.code() {
        Some(0) => {
            serde_json::from_slice(&output.stdout).map_err(|_| refused("its answer is not JSON".into()))
        }
        Some(3) => Err(FleetError::NoSqlEngine {
            engine: who,
            remedy: format!("{python} -m pip install {package}"),
            python: python.to_owned(),
        }),
        Some(5) => Err(FleetError::NoJava),
        _ => Err(refused(last_words(&String::from_utf8_lossy(&output.stderr)))),
    }
}

/// What a program says at its end; engines write logs before it.
fn last_words(stderr: &str) -> String {
    stderr.rsplit_once("\nfathom: ").map_or(stderr, |(_, words)| words).trim().to_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;
    use serde_json::json;

    #[test]
    fn what_a_program_says_at_its_end_is_the_error_and_what_is_missing_is_named() {
        let said = |program: &str| {
            drive("python3", program, &json!({}), "spark", "pyspark").unwrap_err().to_string()
        };
        let failing =
            "import sys; print('WARN a log\\n\\nfathom: no such table', file=sys.stderr); sys.exit(4)";
        assert_eq!(said(failing), "spark: no such table");
        let missing = said("import sys; sys.exit(3)");
        assert!(missing.contains("install it: python3 -m pip install pyspark; "), "{missing}");
        assert!(missing.ends_with("FATHOM_FLEET_PYTHON"), "{missing}");
        assert!(said("import sys; sys.exit(5)").contains("JAVA_HOME"));
        assert_eq!(said("print('x')"), "spark: its answer is not JSON");
    }
}
