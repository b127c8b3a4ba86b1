//! Changes of the JDK that make the same program run otherwise, and which of them touch what
//! changed here.
//!
//! The list is in `data/jdk_changes.json`. Each entry names releases that have the change,
//! frames or flags in which it shows, and its primary source. An entry matches when one side has it
//! and the other has not; it is reported as *touching* what changed when one of its frames moved or
//! one of its flags is on a command line, and otherwise only counted. It matches as well where both
//! sides have it and an option that switches it is on one command line, or has another value there.

use std::sync::LazyLock;

use serde::{Deserialize, Serialize};

/// A change.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// "JDK-8130150", "JEP 374".
    pub id: String,
    /// Releases that have it: "9" and all later ones; "8u262" and later updates of 8; "11.0.7" of
    /// 11.
    pub since: Vec<String>,
    /// What it does, in a sentence.
    pub what: String,
    /// Parts of names of frames in which it shows.
    #[serde(default)]
    pub frames: Vec<String>,
    /// Flags and system properties that it is about.
    #[serde(default)]
    pub flags: Vec<String>,
    /// How options begin that switch it on or off, against what is usual with it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<_>", optional))]
    pub switches: Vec<String>,
    /// Feature releases of which some updates have it, and nobody has looked up which: of these
    /// nothing is said.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[cfg_attr(feature = "typescript", ts(as = "Option<_>", optional))]
    pub unsure: Vec<u32>,
    /// The primary source: where its authors describe it.
    pub url: String,
}

/// A change that lies between the two sides.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "typescript", derive(ts_rs::TS), ts(rename = "KnownChange"))]
pub struct Match {
    /// The change.
    #[serde(flatten)]
    pub change: &'static Change,
    /// Whether the second side has it; else the first.
    pub second_has_it: bool,
    /// Whether both releases have it, and flags that switch it differ: those are what it touches.
    pub in_both: bool,
    /// Frames that moved, and flags on a command line, that it is about; empty where it only lies
    /// between the releases.
    pub touches: Vec<String>,
}

/// A release: feature and update, 8 and 252 of "1.8.0_252-b09" or "25.252", 17 and 15 of
/// "17.0.15+6".
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Release {
    /// Feature release.
    pub feature: u32,
    /// Update of it.
    pub update: u32,
}

impl Release {
    /// From a version as a JVM or a list has it; `None` where it is not a version.
    pub fn of(text: &str) -> Option<Self> {
        let number = |text: &str| {
            let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
            digits.parse::<u32>().ok()
        };
        let of_update = text.split_once('u').filter(|(f, _)| f.chars().all(|c| c.is_ascii_digit()));
        if let Some((feature, update)) = of_update {
            return Some(Self { feature: number(feature).filter(|f| *f >= 5)?, update: number(update)? });
        }
        // HotSpot of JDK 8 calls itself 25.UPDATE-b, and JDK 25 itself 25.0.UPDATE+BUILD.
        let build = text.split_once("-b").filter(|_| text.starts_with("25.") && !text.contains('+'));
        if let Some((version, _)) = build {
            return Some(Self { feature: 8, update: number(&version[3..])? });
        }
        let mut parts = text.split(['.', '_']);
        match number(parts.next()?)? {
            1 => {
                let feature = number(parts.next()?)?;
                Some(Self { feature, update: text.split_once('_').and_then(|(_, u)| number(u)).unwrap_or(0) })
            }
            feature => {
                let update = text.split(['+', '-']).next()?.split('.').nth(2).and_then(number).unwrap_or(0);
                Some(Self { feature, update })
            }
        }
    }
}

impl Change {
    /// Whether a release has it.
    pub fn is_in(&self, release: Release) -> bool {
        self.since.iter().any(|since| {
            let Some(first) = Release::of(since) else { return false };
            // "9" is in all later releases; "8u262" and "11.0.7" are in later updates of theirs.
            let update_only = since.contains(['u', '.']);
            if update_only {
                first.feature == release.feature && release.update >= first.update
            } else {
                release.feature >= first.feature
            }
        })
    }
}

/// All that are known.
pub fn all() -> &'static [Change] {
    static ALL: LazyLock<Vec<Change>> = LazyLock::new(|| {
        serde_json::from_str(include_str!("../data/jdk_changes.json")).expect("a test reads the same list")
    });
    &ALL
}

/// Those that lie between two releases or are switched by flags that differ, the ones that touch
/// what changed first: command lines, or the frames that moved, by name.
pub fn matching(releases: [Option<String>; 2], arguments: &[String; 2], moved: &[&str]) -> Vec<Match> {
    let parsed = releases.each_ref().map(|r| r.as_deref().and_then(Release::of));
    let [Some(first), Some(second)] = parsed else { return Vec::new() };
    let is_known =
        |change: &&Change| [first, second].iter().all(|release| !change.unsure.contains(&release.feature));
    let matched = |change: &'static Change| match [first, second].map(|release| change.is_in(release)) {
        [false, false] => None,
        [true, true] => {
            let mut touches: Vec<String> = Vec::new();
            for switch in &change.switches {
                let [a, b] = arguments.each_ref().map(|a| begun_with(a, switch).collect::<Vec<_>>());
                if a != b {
                    touches.extend(a.into_iter().chain(b).map(str::to_owned));
                }
            }
            let found = Match { change, second_has_it: true, in_both: true, touches };
            (!found.touches.is_empty()).then_some(found)
        }
        [_, second_has_it] => {
            let shows = change.frames.iter();
            let shows = shows.filter_map(|part| moved.iter().find(|name| name.contains(part.as_str())));
            let flags = change.flags.iter().filter(|flag| arguments.iter().any(|a| names_flag(a, flag)));
            let mut touches: Vec<String> = shows.map(|name| (*name).to_owned()).collect();
            touches.extend(flags.cloned());
            touches.sort_unstable();
            touches.dedup();
            Some(Match { change, second_has_it, in_both: false, touches })
        }
    };
    let mut found: Vec<Match> = all().iter().filter(is_known).filter_map(matched).collect();
    found.sort_by_key(|m| m.touches.is_empty());
    found
}

/// Options of a command line that begin so.
fn begun_with<'a>(arguments: &'a str, switch: &'a str) -> impl Iterator<Item = &'a str> {
    arguments.split_whitespace().filter(move |word| word.starts_with(switch))
}

/// Whether a command line has a flag or a system property: "-XX:+UseBiasedLocking",
/// "-XX:LockingMode=1", "-Djdk.tls.useExtendedMasterSecret=false".
fn names_flag(arguments: &str, flag: &str) -> bool {
    arguments.split_whitespace().any(|word| {
        let name = word.strip_prefix("-XX:").map(|w| w.trim_start_matches(['+', '-']));
        let name = name.or_else(|| word.strip_prefix("-D"));
        name.is_some_and(|name| name.split('=').next() == Some(flag))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases_are_told_in_all_their_forms() {
        let of = |text: &str| Release::of(text).map(|r| (r.feature, r.update));
        assert_eq!(of("1.8.0_252-b09"), Some((8, 252)));
        assert_eq!(
            (of("25.252-b09"), of("8u74"), of("8u74-b02")),
            (Some((8, 252)), Some((8, 74)), Some((8, 74)))
        );
        assert_eq!((of("17.0.15+6-Debian-1deb12u1"), of("25.0.3+9-LTS")), (Some((17, 15)), Some((25, 3))));
        assert_eq!((of("25"), of("9"), of("11.0.7")), (Some((25, 0)), Some((9, 0)), Some((11, 7))));
        assert_eq!((of(""), of("unknown"), of("u7")), (None, None, None));
    }

    #[test]
    fn the_list_is_whole_and_each_entry_has_a_source() {
        let changes: Vec<Change> = serde_json::from_str(include_str!("../data/jdk_changes.json")).unwrap();
        let ids: std::collections::BTreeSet<&str> = changes.iter().map(|c| c.id.as_str()).collect();
        assert_eq!(ids.len(), changes.len(), "an id stands twice");
        for change in &changes {
            let number = change.id.rsplit(['-', ' ']).next().unwrap();
            assert!(change.url.starts_with("https://") && change.url.ends_with(number), "{change:?}");
            assert!(
                !change.since.is_empty() && change.since.iter().all(|s| Release::of(s).is_some()),
                "{change:?}"
            );
            let is_of_it = |switch: &String| change.flags.iter().any(|flag| names_flag(switch, flag));
            assert!(change.switches.iter().all(is_of_it), "{change:?}");
            assert!(change.what.len() > 30 && !change.what.ends_with('.'), "{change:?}");
        }
    }

    #[test]
    fn a_change_lies_between_and_touches_what_moved() {
        let change = |since: &[&str]| Change {
            id: "JDK-1".into(),
            since: since.iter().map(|s| (*s).to_owned()).collect(),
            what: String::new(),
            frames: Vec::new(),
            flags: Vec::new(),
            switches: Vec::new(),
            unsure: Vec::new(),
            url: String::new(),
        };
        let is_in = |since: &[&str], release: &str| change(since).is_in(Release::of(release).unwrap());
        assert!(is_in(&["9"], "17.0.1") && !is_in(&["9"], "8u400"));
        assert!(is_in(&["9", "8u262"], "8u300") && !is_in(&["9", "8u262"], "8u252"));
        assert!(!is_in(&["11.0.7"], "17.0.1"), "an update of 11 says nothing of 17");

        let moved = ["java.lang.StringLatin1.hashCode"];
        let releases = || [Some("8u400".to_owned()), Some("17.0.15+6".to_owned())];
        let none = [String::new(), "-XX:-UseBiasedLocking".to_owned()];
        let found = matching(releases(), &none, &moved);
        let touched: Vec<&str> =
            found.iter().filter(|m| !m.touches.is_empty()).map(|m| m.change.id.as_str()).collect();
        assert!(touched.contains(&"JEP 254") && touched.contains(&"JEP 374"), "{touched:?}");
        assert!(found.iter().all(|m| m.second_has_it) && found.len() > touched.len());
        assert!(found.iter().all(|m| m.change.id != "JDK-8130150"), "some updates of 8 have it");
        let property = ["-Djdk.tls.useExtendedMasterSecret=false".to_owned(), String::new()];
        let updates = [Some("8u74".to_owned()), Some("8u202".to_owned())];
        let found = matching(updates, &property, &[]);
        let touched = |id: &str| found.iter().any(|m| m.change.id == id && !m.touches.is_empty());
        assert!(touched("JDK-8148421"), "{found:?}");
        let same = [Some("17.0.15+6".to_owned()), Some("17.0.15+6".to_owned())];
        assert!(matching(same, &none, &moved).is_empty());
        assert!(matching([None, releases()[1].clone()], &none, &[]).is_empty());
    }

    /// The intrinsic that one side goes without, and the handshakes that it does not resume: one
    /// release, another flag.
    #[test]
    fn a_change_of_both_is_named_where_a_flag_that_switches_it_differs() {
        let ids = |release: &str, flags: [&str; 2]| -> Vec<&str> {
            let found = matching([0, 1].map(|_| Some(release.to_owned())), &flags.map(str::to_owned), &[]);
            assert!(found.iter().all(|m| m.in_both && !m.touches.is_empty()), "{found:?}");
            found.iter().map(|m| m.change.id.as_str()).collect()
        };
        let without = "-Xmx1g -XX:-UseMontgomeryMultiplyIntrinsic";
        assert_eq!(ids("25.0.3+9", [without, "-Xmx1g"]), ["JDK-8130150"]);
        assert_eq!(ids("17.0.15+6", ["", "-Djdk.tls.useExtendedMasterSecret=false"]), ["JDK-8148421"]);
        assert!(ids("25.0.3+9", [without, without]).is_empty(), "the same on both sides");
        assert!(ids("8u74", ["", "-Djdk.tls.useExtendedMasterSecret=false"]).is_empty(), "neither has it");
        // Biased locking is off by default since 15: a flag that brings it back undoes that.
        assert_eq!(ids("17.0.15+6", ["-XX:+UseBiasedLocking", ""]), ["JEP 374"]);
        assert!(ids("17.0.15+6", ["-XX:-UseBiasedLocking", ""]).is_empty(), "as it is by default");
    }
}
