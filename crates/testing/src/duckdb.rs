//! A Python with DuckDB, made where it is missing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The Python of the environment `duckdb-venv` in a directory (`CARGO_TARGET_TMPDIR`, which all
/// crates share), with DuckDB, pandas and pyarrow from PyPI; `None` where these cannot be had.
#[must_use]
pub fn python(dir: &Path) -> Option<PathBuf> {
    let venv = dir.join("duckdb-venv");
    let python = venv.join("bin/python");
    let has_all = || runs(Command::new(&python).args(["-c", "import duckdb, pandas, pyarrow"]));
    if has_all() {
        return Some(python);
    }
    let pip = ["-m", "pip", "install", "-q", "--disable-pip-version-check", "duckdb", "pandas", "pyarrow"];
    let made = runs(Command::new("python3").args(["-m", "venv"]).arg(&venv))
        && runs(Command::new(&python).args(pip))
        && has_all();
    made.then_some(python)
}

fn runs(command: &mut Command) -> bool {
    let status = command.stdout(Stdio::null()).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}
