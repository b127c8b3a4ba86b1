//! The JDKs of this machine, and programs of `tests/java` that are compiled for them.

use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::json;

/// Release and home of each JDK as `fathom jdks` lists them, and whether it has a compiler.
fn listed() -> Vec<(u64, PathBuf, bool)> {
    let listed = json(Path::new("."), &["jdks"]);
    let jdks = listed["jdks"].as_array().unwrap().iter();
    let known = jdks.filter_map(|jdk| {
        Some((jdk["feature"].as_u64()?, PathBuf::from(jdk["home"].as_str()?), jdk["javac"] == true))
    });
    known.collect()
}

/// Release and home of the first JDK of each release.
pub fn all() -> Vec<(u64, PathBuf)> {
    let mut found: Vec<(u64, PathBuf)> = Vec::new();
    for (release, home, _) in listed() {
        if found.iter().all(|(known, _)| *known != release) {
            found.push((release, home));
        }
    }
    found
}

/// Those of these releases, in their order; the missing ones are reported.
pub fn of(releases: &[u64]) -> Vec<(u64, PathBuf)> {
    let mut found = all();
    found.retain(|(release, _)| releases.contains(release));
    found.sort_by_key(|(release, _)| releases.iter().position(|asked| asked == release));
    if found.len() < releases.len() {
        let there: Vec<u64> = found.iter().map(|(release, _)| *release).collect();
        fathom_testing::skip(&format!("in part: of the JDKs {releases:?} only {there:?} are here"));
    }
    found
}

/// Compiles programs into a folder, for a release and all later ones; the home of the JDK that did
/// so, or `None`, loudly, without a compiler.
pub fn compile(dir: &Path, release: u64, programs: &[&str]) -> Option<PathBuf> {
    // The compiler of JDK 8 does not know of --release.
    let compiler = listed().into_iter().find(|(release, _, compiles)| *compiles && *release >= 11);
    let Some((_, home, _)) = compiler else {
        fathom_testing::skip("no JDK with a compiler was found");
        return None;
    };
    let mut javac = Command::new(home.join("bin/javac"));
    javac.args(["--release", &release.to_string(), "-nowarn", "-d"]).arg(dir);
    javac.args(programs.iter().map(|name| format!("{}/tests/java/{name}.java", env!("CARGO_MANIFEST_DIR"))));
    let output = javac.output().unwrap();
    assert!(output.status.success(), "{programs:?}: {}", super::said(&output));
    Some(home)
}

/// What a test that is tried again has passed so far.
#[derive(Default)]
struct Tries {
    /// Calls of [`each`] in this try: a test may go over its JDKs several times, for different
    /// things.
    calls: usize,
    /// JDKs that passed, by the call that handed them out.
    passed: Vec<(usize, PathBuf)>,
}

thread_local! {
    static TRIES: RefCell<Tries> = RefCell::default();
}

/// Forgets what an earlier test of this thread has passed.
pub fn begin_tries() {
    TRIES.with_borrow_mut(|tries| *tries = Tries::default());
}

/// Begins a try that leaves out what has passed.
pub fn begin_another_try() {
    TRIES.with_borrow_mut(|tries| tries.calls = 0);
}

/// Hands out JDKs one by one, without those on which an earlier try of the test has passed. One has
/// passed when the next is asked for.
pub fn each(jdks: Vec<(u64, PathBuf)>) -> impl Iterator<Item = (u64, PathBuf)> {
    let (call, passed) = TRIES.with_borrow_mut(|tries| {
        tries.calls += 1;
        (tries.calls, tries.passed.clone())
    });
    let mut left = jdks.into_iter().filter(move |(_, home)| !passed.contains(&(call, home.clone())));
    let mut last: Option<PathBuf> = None;
    std::iter::from_fn(move || {
        if let Some(home) = last.take() {
            TRIES.with_borrow_mut(|tries| tries.passed.push((call, home)));
        }
        let next = left.next()?;
        last = Some(next.1.clone());
        Some(next)
    })
}

/// The JDKs from 11 on, with a program compiled into a folder; none, loudly, without a compiler.
pub fn with_program(dir: &Path, program: &str) -> Vec<(u64, PathBuf)> {
    let mut found = all();
    found.retain(|(release, _)| *release >= 11);
    compile(dir, 11, &[program]).map_or_else(Vec::new, |_| found)
}
