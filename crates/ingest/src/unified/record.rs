//! The form of a collector's record: words, qualifiers in parentheses, sizes, duration.
//!
//! ```text
//! Pause Young (Normal) (G1 Evacuation Pause) (Evacuation Failure: Pinned) 294M->287M(300M) 9.115ms
//! └ words     └ groups, any number, in any order                          └ change         └ duration
//! Concurrent Mark (0.101s, 0.104s) 3.2ms          JDK 9 and 10 print start and end
//! Minor Collection (Allocation Rate) 122M(41%)->54M(18%) 0.012s
//! ```
//!
//! Whatever is in parentheses is a group; its meaning is decided by lists of words (`gcCause.cpp`,
//! the collectors' sources, JDK 9 to 25). A group that is in no list is passed on as a qualifier
//! and never makes the record a different one.

use super::scan::{self, Change};

/// How many groups of one record are looked at. HotSpot prints up to four.
pub(super) const GROUPS: usize = 6;

/// A parsed record.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Record<'a> {
    /// "Pause Young", "Concurrent Mark", "Minor Collection".
    pub(crate) words: &'a [u8],
    /// Words and the groups that belong to the name: "Pause Young (Normal)".
    pub(crate) name: &'a [u8],
    groups: [(Group, &'a [u8]); GROUPS],
    group_count: usize,
    /// Heap before, after and its capacity.
    pub(crate) change: Option<Change>,
    /// As printed. A record without one opens a pause or a phase.
    pub(crate) duration_ns: Option<i64>,
}

/// The meaning of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// A kind of collection: part of the record's name.
    Sort,
    /// The cause.
    Cause,
    /// Objects could not be moved, due to lack of room or because they were pinned.
    EvacuationFailure,
    /// Start and end on the JVM's clock.
    Timestamps,
    /// Unknown.
    Unknown,
}

impl<'a> Record<'a> {
    /// A record of which only words and name are known.
    pub(super) fn new(words: &'a [u8], name: &'a [u8]) -> Self {
        let groups = [(Group::Unknown, &b""[..]); GROUPS];
        Self { words, name, groups, group_count: 0, change: None, duration_ns: None }
    }

    /// Parses a body. Always returns a record; the caller decides by its words whether it is one.
    pub(crate) fn parse(body: &'a [u8]) -> Self {
        let mut record = Self::new(b"", b"");
        let mut rest = body;
        let mut name_open = true;
        let mut words_end = None;
        while let Some((token, after)) = token(rest) {
            let start = body.len() - rest.len() + leading_blanks(rest);
            rest = after;
            match token {
                Token::Group(group) => {
                    words_end.get_or_insert(start);
                    let kind = kind_of(group);
                    if name_open && kind == Group::Sort {
                        record.name = body.get(..body.len() - rest.len()).unwrap_or_default();
                    } else {
                        name_open = false;
                    }
                    record.add_group(kind, group);
                }
                Token::Change(change) => {
                    words_end.get_or_insert(start);
                    name_open = false;
                    record.change.get_or_insert(change);
                }
                Token::Duration(ns) => {
                    words_end.get_or_insert(start);
                    name_open = false;
                    record.duration_ns = Some(ns);
                }
                // A word after a group is not part of the name; an unknown word loses nothing by
                // it.
                Token::Word(word) if words_end.is_some() => record.add_group(kind_of(word), word),
                Token::Word(_) => {}
            }
        }
        record.words = body.get(..words_end.unwrap_or(body.len())).unwrap_or_default().trim_ascii_end();
        if record.name.is_empty() {
            record.name = record.words;
        }
        record
    }

    /// Adds a group; those beyond the limit are left out.
    pub(super) fn add_group(&mut self, kind: Group, group: &'a [u8]) {
        if let Some(free) = self.groups.get_mut(self.group_count) {
            *free = (kind, group);
            self.group_count += 1;
        }
    }

    /// All groups with their kinds.
    pub(crate) fn groups(&self) -> impl Iterator<Item = (Group, &'a [u8])> + '_ {
        self.groups.iter().take(self.group_count).copied()
    }

    /// The first group of a kind.
    pub(crate) fn group(&self, kind: Group) -> Option<&'a [u8]> {
        self.groups().find(|(k, _)| *k == kind).map(|(_, group)| group)
    }

    /// Whether one thread did it: "(ZWorker#0)", "(VM Thread)". ZGC prints such records at debug
    /// and trace level.
    pub(crate) fn names_a_thread(&self) -> bool {
        self.group(Group::Unknown).is_some_and(|g| g.contains(&b'#') || g == b"VM Thread" || g == b"ZDriver")
    }

    /// Whether the body is one of a stop-the-world pause.
    pub(crate) fn is_pause(&self) -> bool {
        self.words.starts_with(b"Pause ") || self.words == b"Pause"
    }
}

enum Token<'a> {
    Word(&'a [u8]),
    Group(&'a [u8]),
    Change(Change),
    Duration(i64),
}

fn leading_blanks(text: &[u8]) -> usize {
    text.iter().take_while(|b| **b == b' ').count()
}

/// Takes the next token from the beginning.
fn token(text: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let text = text.get(leading_blanks(text)..)?;
    match text.first()? {
        b'(' => {
            let end = closing(text).unwrap_or(text.len());
            let group = text.get(1..end).unwrap_or_default();
            Some((Token::Group(group), text.get(end + 1..).unwrap_or_default()))
        }
        b'0'..=b'9' => {
            if let Some((change, rest)) = scan::change(text) {
                return Some((Token::Change(change), rest));
            }
            match scan::billionths(text) {
                // Some builds put a blank before the unit.
                Some((value, [b'm', b's', rest @ ..] | [b' ', b'm', b's', rest @ ..])) if ends_word(rest) => {
                    Some((Token::Duration(value / 1_000), rest))
                }
                Some((value, [b's', rest @ ..])) if ends_word(rest) => Some((Token::Duration(value), rest)),
                _ => Some(word(text)),
            }
        }
        _ => Some(word(text)),
    }
}

fn ends_word(rest: &[u8]) -> bool {
    matches!(rest.first(), None | Some(b' ' | b'(' | b',' | b';'))
}

fn word(text: &[u8]) -> (Token<'_>, &[u8]) {
    let end = text.iter().position(|b| *b == b' ').unwrap_or(text.len());
    let (word, rest) = text.split_at_checked(end).unwrap_or((text, b""));
    (Token::Word(word), rest)
}

/// Position of the parenthesis that closes the first one: "(System.gc())" has one within.
fn closing(text: &[u8]) -> Option<usize> {
    let mut depth = 0u32;
    for (at, byte) in text.iter().enumerate() {
        match byte {
            b'(' => depth += 1,
            b')' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return Some(at);
                }
            }
            _ => {}
        }
    }
    None
}

fn kind_of(group: &[u8]) -> Group {
    if is_sort(group) {
        Group::Sort
    } else if group.starts_with(b"Evacuation Failure") || group.starts_with(b"To-space") {
        Group::EvacuationFailure
    } else if is_cause(group) {
        Group::Cause
    } else if is_time_range(group) {
        Group::Timestamps
    } else {
        Group::Unknown
    }
}

/// "0.101s, 0.104s".
fn is_time_range(group: &[u8]) -> bool {
    matches!(scan::billionths(group), Some((_, rest)) if rest.starts_with(b"s"))
}

/// Whether it is a kind of collection: G1's young pauses, Shenandoah's qualifiers, the phase at
/// which a Shenandoah cycle degenerated, generational ZGC's young collections.
fn is_sort(group: &[u8]) -> bool {
    matches!(
        group,
        b"Normal"
            | b"Mixed"
            | b"Prepare Mixed"
            | b"Concurrent Start"
            | b"Concurrent End"
            | b"Initial Mark"
            | b"Mixed Start"
            | b"unload classes"
            | b"process weakrefs"
            | b"update refs"
            | b"preserve wakeups"
            | b"Young"
            | b"Old"
            | b"Global"
            | b"Bootstrap Old"
            | b"Mark"
            | b"Evacuation"
            | b"Update Refs"
            | b"Update References"
            | b"Roots"
            | b"Outside of Cycle"
            | b"Major"
            | b"Promote All"
            | b"Collect Roots"
    )
}

/// Whether it is one of `GCCause::to_string` of JDK 9 to 25.
fn is_cause(group: &[u8]) -> bool {
    matches!(
        group,
        b"G1 Evacuation Pause"
            | b"Allocation Failure"
            | b"G1 Humongous Allocation"
            | b"Ergonomics"
            | b"System.gc()"
            | b"Allocation Rate"
            | b"Allocation Stall"
            | b"Proactive"
            | b"Warmup"
            | b"Timer"
            | b"High Usage"
            | b"G1 Compaction Pause"
            | b"G1 Preventive Collection"
            | b"G1 Periodic Collection"
            | b"GCLocker Initiated GC"
            | b"Metadata GC Threshold"
            | b"Metadata GC Clear Soft References"
            | b"CodeCache GC Threshold"
            | b"CodeCache GC Aggressive"
            | b"Diagnostic Command"
            | b"Heap Inspection Initiated GC"
            | b"Heap Dump Initiated GC"
            | b"JvmtiEnv ForceGarbageCollection"
            | b"Last ditch collection"
            | b"CMS Generation Full"
            | b"CMS Initial Mark"
            | b"CMS Final Remark"
            | b"CMS Concurrent Mark"
            | b"Tenured Generation Full"
            | b"Old Generation Expanded On Last Scavenge"
            | b"Old Generation Too Full To Scavenge"
            | b"Concurrent GC"
            | b"Upgrade To Full GC"
            | b"Allocation Failure During Evacuation"
            | b"Concurrent Mode Failure"
            | b"Shenandoah Allocation Failure Evac"
            | b"Shenandoah Concurrent GC"
            | b"Shenandoah Upgrade To Full GC"
            | b"FullGCAlot"
            | b"ScavengeAlot"
            | b"Allocation Profiler"
            | b"WhiteBox Initiated Young GC"
            | b"WhiteBox Initiated Concurrent Mark"
            | b"WhiteBox Initiated Full GC"
            | b"WhiteBox Initiated Run to Breakpoint"
            | b"Adaptive Size Policy"
            | b"Update Allocation Context Stats"
            | b"No GC"
            | b"Archive Shared Objects"
            | b"DCmd"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const MIB: f64 = 1048576.0;

    fn parse(body: &str) -> Record<'_> {
        Record::parse(body.as_bytes())
    }

    #[test]
    fn a_young_pause_of_g1() {
        let pause = parse("Pause Young (Normal) (G1 Evacuation Pause) 205M->52M(4096M) 42.700ms");
        assert!(pause.is_pause());
        assert_eq!(pause.words, b"Pause Young");
        assert_eq!(pause.name, b"Pause Young (Normal)");
        assert_eq!(pause.group(Group::Cause), Some(&b"G1 Evacuation Pause"[..]));
        assert_eq!(pause.duration_ns, Some(42_700_000));
        let with_a_blank =
            parse("Pause Young (Concurrent Start) (G1 Humongous Allocation) 3M->2M(5M) 6.363 ms");
        assert_eq!(with_a_blank.duration_ns, Some(6_363_000));
        let change = pause.change.unwrap();
        assert_eq!(
            (change.before, change.after, change.capacity),
            (205.0 * MIB, 52.0 * MIB, Some(4096.0 * MIB))
        );
    }

    #[test]
    fn a_suffix_of_jdk_22_is_an_evacuation_failure() {
        for suffix in ["Allocation", "Pinned", "Allocation / Pinned"] {
            let line = format!(
                "Pause Young (Mixed) (G1 Evacuation Pause) (Evacuation Failure: {suffix}) 3M->2M(4M) 9.1ms"
            );
            let pause = parse(&line);
            assert_eq!(pause.duration_ns, Some(9_100_000));
            assert!(pause.group(Group::EvacuationFailure).is_some());
            assert_eq!(pause.group(Group::Unknown), None);
        }
    }

    #[test]
    fn what_nobody_knows_is_a_qualifier_and_the_pause_a_pause() {
        let pause =
            parse("Pause Young (Sideways) (G1 Evacuation Pause) (Moon: full) 3M->2M(4M) 9.1ms (tail)");
        assert_eq!(pause.name, b"Pause Young");
        assert_eq!(pause.duration_ns, Some(9_100_000));
        let unknown: Vec<_> = pause.groups().filter(|(k, _)| *k == Group::Unknown).map(|(_, g)| g).collect();
        assert_eq!(unknown, [&b"Sideways"[..], b"Moon: full", b"tail"]);
    }

    #[test]
    fn a_cause_with_parentheses_of_its_own() {
        let pause = parse("Pause Full (System.gc()) 33M->7M(300M) 3.9ms");
        assert_eq!((pause.name, pause.group(Group::Cause)), (&b"Pause Full"[..], Some(&b"System.gc()"[..])));
    }

    #[test]
    fn a_start_has_no_duration() {
        let start = parse("Pause Young (Concurrent Start) (G1 Humongous Allocation)");
        assert_eq!((start.duration_ns, start.change), (None, None));
        assert_eq!(parse("Pause Remark").words, b"Pause Remark");
    }

    #[test]
    fn records_of_the_other_collectors() {
        let z = parse("Minor Collection (Allocation Rate) 122M(41%)->54M(18%) 0.012s");
        assert_eq!((z.words, z.duration_ns), (&b"Minor Collection"[..], Some(12_000_000)));
        assert_eq!(z.change.unwrap().after, 54.0 * MIB);
        let z = parse("Pause Mark Start (Major) 0.005ms");
        assert_eq!((z.name, z.duration_ns), (&b"Pause Mark Start (Major)"[..], Some(5_000)));
        let shenandoah = parse("Pause Degenerated GC (Outside of Cycle) 282M->106M(300M) 15.538ms");
        assert_eq!(shenandoah.name, b"Pause Degenerated GC (Outside of Cycle)");
        let nine = parse("Concurrent Mark (0.101s, 0.104s) 3.238ms");
        assert_eq!((nine.words, nine.duration_ns), (&b"Concurrent Mark"[..], Some(3_238_000)));
        assert_eq!(nine.group(Group::Unknown), None);
        assert_eq!(parse("Pause Young (Allocation Failure) 1G->0,5G(2G) 3,5ms").duration_ns, Some(3_500_000));
    }

    #[test]
    fn damage_gives_a_record_without_what_is_missing() {
        assert_eq!(parse("").words, b"");
        assert_eq!(parse("Pause Young (Norm").duration_ns, None);
        assert_eq!(parse("Pause Young (Normal) (G1 Evacuation Pause) 205M->5").duration_ns, None);
        assert_eq!(parse("Pause Young (Normal) 12.3m").duration_ns, None);
    }
}
