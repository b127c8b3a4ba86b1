//! Short names of sources, for reading: "gc.log" and not "/srv/incident/2026-11-20/node-7/gc.log".
//!
//! A name is shortened to the last parts of its path that still distinguish it from every other
//! input.

use std::collections::{BTreeMap, BTreeSet};

use fathom_recording::Recording;

/// Shortens the names of the sources from `first` on, of their segments, and of processes that are
/// named after them.
pub fn shorten(recording: &mut Recording, first: usize) {
    let mut full: BTreeSet<String> = BTreeSet::new();
    for (i, source) in recording.sources.iter().enumerate() {
        // Names of sources that were there before stay, and new ones must not become equal to them.
        full.insert(source.name.clone());
        if i >= first {
            full.extend(source.segments.iter().map(|segment| segment.name.clone()));
        }
    }
    let short = shortest(&full);
    let new = |name: &mut String| {
        if let Some(short) = short.get(name.as_str()) {
            name.clone_from(short);
        }
    };
    for source in &mut recording.sources[first..] {
        new(&mut source.name);
        source.segments.iter_mut().for_each(|segment| new(&mut segment.name));
    }
    recording.processes.iter_mut().for_each(|process| new(&mut process.name));
}

/// The shortest distinguishing suffix of each path.
fn shortest(full: &BTreeSet<String>) -> BTreeMap<String, String> {
    let mut tails: BTreeMap<&str, usize> = BTreeMap::new();
    for name in full {
        for tail in tails_of(name) {
            *tails.entry(tail).or_default() += 1;
        }
    }
    let of = |name: &String| {
        let unique = tails_of(name).find(|tail| !tail.is_empty() && tails.get(tail) == Some(&1));
        (name.clone(), unique.unwrap_or(name).to_owned())
    };
    full.iter().map(of).collect()
}

/// "c", "b/c", "a/b/c" of "a/b/c".
fn tails_of(name: &str) -> impl Iterator<Item = &str> {
    let suffixes = name.rmatch_indices('/').map(|(at, _)| &name[at + 1..]);
    suffixes.chain(std::iter::once(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_as_much_of_its_path_as_distinguishes_it() {
        let full = ["/x/a/gc.log", "/x/b/gc.log", "/x/b/jit.xml", "-", "dir/"].map(String::from);
        let short = shortest(&full.into_iter().collect());
        let short: Vec<_> = short.values().map(String::as_str).collect();
        assert_eq!(short, ["-", "a/gc.log", "b/gc.log", "jit.xml", "dir/"]);
    }
}
