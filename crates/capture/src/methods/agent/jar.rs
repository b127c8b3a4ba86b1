//! Where the agent's jar is: it is built by `make agent` and is no part of the program.

use std::path::{Path, PathBuf};

/// Its name.
pub(super) const NAME: &str = "fathom-calls.jar";
/// Names a jar that lies elsewhere.
const VARIABLE: &str = "FATHOM_AGENT_JAR";
/// Largest jar taken.
const MOST_BYTES: u64 = 16 << 20;
/// Where it lies, from the folder of the program: next to it, as a package puts it, and where maven
/// builds it in fathom's own tree.
const PLACES: [&str; 4] = ["", "../lib/fathom", "../share/fathom", "../../jvmagent/target"];

/// The jar's bytes, or in words why there are none.
pub(super) fn read() -> Result<Vec<u8>, String> {
    let program = std::env::current_exe().unwrap_or_default();
    let path =
        find(std::env::var_os(VARIABLE).map(PathBuf::from), program.parent().unwrap_or(Path::new("")))?;
    let cannot = |error: std::io::Error| format!("{}: {error}", path.display());
    let size = path.metadata().map_err(cannot)?.len();
    if size > MOST_BYTES {
        return Err(format!("{}: {size} bytes are too many for the agent's jar", path.display()));
    }
    let bytes = std::fs::read(&path).map_err(cannot)?;
    if !bytes.starts_with(b"PK") {
        return Err(format!("{}: this is no jar", path.display()));
    }
    Ok(bytes)
}

fn find(named: Option<PathBuf>, folder: &Path) -> Result<PathBuf, String> {
    if let Some(named) = named {
        return if named.is_file() {
            Ok(named)
        } else {
            Err(format!("{VARIABLE} names {}, which is no file", named.display()))
        };
    }
    let places = PLACES.iter().map(|place| folder.join(place).join(NAME));
    places.into_iter().find(|path| path.is_file()).ok_or_else(|| {
        format!(
            "the agent's jar, {NAME}, lies neither next to fathom in {} nor where {VARIABLE} says: make agent builds it in \
             fathom's sources",
            folder.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_jar_is_found_next_to_the_program_and_a_missing_one_is_named_with_the_command() {
        let dir = tempfile::tempdir().unwrap();
        let missing = find(None, dir.path()).unwrap_err();
        assert!(missing.contains("make agent") && missing.contains(VARIABLE), "{missing}");
        std::fs::create_dir_all(dir.path().join("lib/fathom")).unwrap();
        std::fs::create_dir_all(dir.path().join("bin")).unwrap();
        let packaged = dir.path().join("lib/fathom").join(NAME);
        std::fs::write(&packaged, "PK").unwrap();
        let found = find(None, &dir.path().join("bin")).unwrap();
        assert_eq!(found.canonicalize().unwrap(), packaged.canonicalize().unwrap());
        assert!(find(Some(dir.path().join("none")), dir.path()).unwrap_err().contains("no file"));
    }
}
