//! The flags of two JVMs: which differ, who set them, and what they are for.
//!
//! A set is whole (a running JVM's own table, or what `-XX:+PrintFlagsFinal` prints) or it is what
//! a command line says. Of the latter a flag that is not there is not known: it may have its
//! default, or what the JVM's ergonomics chose.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;

/// The schema of the JSON form. A field is only added within a version, never renamed or removed.
pub const SCHEMA: &str = "fathom.flags/1";
/// Flags read of one JVM at most; JDK 8 has 1448 with all that can be unlocked.
const MOST: usize = 10_000;

/// Flags that a JVM draws at random at each start, by the randomised layout of its memory.
const RANDOM: [&str; 1] = ["SharedBaseAddress"];

/// A flag as a JVM has it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Flag {
    /// Its value in the words of the JVM.
    pub value: String,
    /// "bool", "uintx", "size_t"; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub r#type: Option<String>,
    /// "product", "C2 diagnostic", "manageable"; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// What set it: "default", "command line", "ergonomic"; absent where it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
}

/// The flags of one JVM.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// All that are known, by name.
    pub flags: BTreeMap<String, Flag>,
    /// Whether a flag that is not among them does not exist.
    pub whole: bool,
}

/// Two sets compared with each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FlagsReport {
    /// [`SCHEMA`].
    pub schema: &'static str,
    /// What the two are.
    pub of: [String; 2],
    /// Flags known of each.
    pub known: [usize; 2],
    /// Whether all flags of each are known.
    pub whole: [bool; 2],
    /// Flags that differ: what somebody set first, then what the JVMs chose, then defaults.
    pub differ: Vec<Difference>,
    /// Flags that only the first JVM has.
    pub only_first: Vec<String>,
    /// Flags that only the second JVM has.
    pub only_second: Vec<String>,
}

/// A flag that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Its name.
    pub name: String,
    /// What the first has; absent where it has no such flag, or it is not known.
    pub first: Option<Flag>,
    /// What the second has.
    pub second: Option<Flag>,
    /// Why they differ, in a word.
    pub because: Because,
    /// What the flag is for, where we know it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub meaning: Option<&'static str>,
}

/// Why a flag differs, the surest reason first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Because {
    /// Somebody set it: the command line, the environment, a file, a tool.
    Set,
    /// A JVM chose it by the machine and by other flags.
    Ergonomics,
    /// Its default is another.
    Default,
    /// Not known.
    Unknown,
}

/// What `-XX:+PrintFlagsFinal` printed: "     bool UseG1GC   = true   {product} {ergonomic}";
/// before JDK 9 "uintx X := 5 {product}".
/// `None`: it is no such text.
pub fn printed(text: &str) -> Option<Flags> {
    let mut lines = text.lines().skip_while(|line| !line.starts_with("[Global flags]"));
    lines.next()?;
    let flags: BTreeMap<String, Flag> = lines.filter_map(line).take(MOST).collect();
    (!flags.is_empty()).then_some(Flags { flags, whole: true })
}

fn line(line: &str) -> Option<(String, Flag)> {
    let (left, right) = line.split_once('=')?;
    let changed = left.ends_with(':');
    let (kind_of_value, name) = left.trim_end_matches(':').trim().split_once(char::is_whitespace)?;
    let mut rest = right.trim();
    let mut braces = Vec::new();
    while let Some((before, word)) = rest.strip_suffix('}').and_then(|r| r.rsplit_once('{')) {
        braces.push(word.trim().to_owned());
        rest = before.trim_end();
    }
    let kind = braces.pop();
    // JDK 8 shows only whether it was changed.
    let origin = braces.pop().or_else(|| (!changed).then(|| "default".to_owned()));
    let flag = Flag { value: rest.to_owned(), r#type: Some(kind_of_value.to_owned()), kind, origin };
    Some((name.trim().to_owned(), flag))
}

/// What a command line says: `-XX:` flags and the short forms of sizes and modes.
pub fn of_arguments(arguments: &str) -> Flags {
    let mut flags = BTreeMap::new();
    let mut put = |name: &str, value: &str| {
        let origin = Some("command line".to_owned());
        if flags.len() < MOST {
            flags.insert(name.to_owned(), Flag { value: value.to_owned(), origin, ..Flag::default() });
        }
    };
    for word in arguments.split_whitespace() {
        if let Some(flag) = word.strip_prefix("-XX:") {
            match (flag.strip_prefix('+'), flag.strip_prefix('-'), flag.split_once('=')) {
                (Some(name), ..) => put(name, "true"),
                (_, Some(name), _) => put(name, "false"),
                (_, _, Some((name, value))) => put(name, &in_bytes(value)),
                _ => {}
            }
            continue;
        }
        let sizes = [("-Xmx", "MaxHeapSize"), ("-Xms", "InitialHeapSize"), ("-Xmn", "MaxNewSize")];
        for (short, name) in sizes {
            if let Some(size) = word.strip_prefix(short) {
                put(name, &in_bytes(size));
            }
        }
        match word {
            "-Xint" => put("UseCompiler", "false"),
            "-Xshare:off" => put("UseSharedSpaces", "false"),
            _ => {}
        }
    }
    Flags { flags, whole: false }
}

/// A size as the JVM's table has it: "1g" is "1073741824"; anything else is left as it is.
fn in_bytes(value: &str) -> String {
    let shift = match value.bytes().last().map(|b| b.to_ascii_lowercase()) {
        Some(b'k') => 10,
        Some(b'm') => 20,
        Some(b'g') => 30,
        Some(b't') => 40,
        _ => return value.to_owned(),
    };
    let number = value[..value.len() - 1].parse::<u64>().ok();
    let bytes = number.and_then(|n| n.checked_mul(1 << shift));
    bytes.map_or_else(|| value.to_owned(), |bytes| bytes.to_string())
}

/// What differs between two JVMs.
pub fn differences(of: [String; 2], [first, second]: [&Flags; 2]) -> FlagsReport {
    let names: std::collections::BTreeSet<&String> = first.flags.keys().chain(second.flags.keys()).collect();
    let (mut differ, mut only_first, mut only_second) = (Vec::new(), Vec::new(), Vec::new());
    for name in names {
        let (a, b) = (first.flags.get(name), second.flags.get(name));
        match (a, b) {
            (Some(a), Some(b)) if is_same(&a.value, &b.value) => continue,
            (Some(a), Some(b)) if RANDOM.contains(&name.as_str()) && !is_set(a) && !is_set(b) => continue,
            // One that exists on one side only and has its default there is no difference of how
            // the JVMs were started.
            (Some(a), None) if second.whole && !is_set(a) => only_first.push(name.clone()),
            (None, Some(b)) if first.whole && !is_set(b) => only_second.push(name.clone()),
            // What a command line does not say is not known to differ.
            (Some(a), None) if !second.whole && !is_set(a) => continue,
            (None, Some(b)) if !first.whole && !is_set(b) => continue,
            _ => differ.push(Difference {
                name: name.clone(),
                first: a.cloned(),
                second: b.cloned(),
                because: because(a, b),
                meaning: meaning(name),
            }),
        }
    }
    differ.sort_by(|a, b| {
        (a.because, a.meaning.is_none(), &a.name).cmp(&(b.because, b.meaning.is_none(), &b.name))
    });
    FlagsReport {
        schema: SCHEMA,
        of,
        known: [first, second].map(|f| f.flags.len()),
        whole: [first.whole, second.whole],
        differ,
        only_first,
        only_second,
    }
}

/// Whether two values are one: a flag whose type became `double` has "0.000000" in place of "0".
fn is_same(a: &str, b: &str) -> bool {
    let number = |text: &str| text.parse::<f64>().ok();
    a == b || (a.contains('.') != b.contains('.') && number(a).is_some() && number(a) == number(b))
}

fn is_set(flag: &Flag) -> bool {
    of_origin(flag) == Because::Set
}

fn of_origin(flag: &Flag) -> Because {
    let set = ["command line", "environment", "config file", "management", "attach"];
    match flag.origin.as_deref() {
        // "command line, ergonomic": the JVM has changed what was asked for.
        Some(origin) if set.iter().any(|word| origin.starts_with(word)) => Because::Set,
        Some("ergonomic" | "internal" | "jimage") => Because::Ergonomics,
        Some("default") => Because::Default,
        _ => Because::Unknown,
    }
}

fn because(a: Option<&Flag>, b: Option<&Flag>) -> Because {
    let reasons = a.into_iter().chain(b).map(of_origin);
    reasons.min().unwrap_or(Because::Unknown)
}

/// What a flag is for.
pub fn meaning(name: &str) -> Option<&'static str> {
    static MEANINGS: LazyLock<BTreeMap<&str, &str>> = LazyLock::new(|| {
        let lines = include_str!("../data/flags.tsv").lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(|line| line.split_once('\t')).collect()
    });
    MEANINGS.get(name).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    const JDK_17: &str = "[Global flags]\n     bool UseG1GC                  = true      {product} {ergonomic}\n   \
        size_t MaxHeapSize            = 1073741824     {product} {command line, ergonomic}\n    \
        ccstr HeapDumpPath             =            {manageable} {default}\n     intx Old = 1 {C2 pd product} {default}\n\
        openjdk version \"17.0.15\"\n";
    const JDK_8: &str = "[Global flags]\n     bool UseG1GC                  = false   {product}\n    uintx MaxHeapSize \
         := 536870912     {product}\n";

    #[test]
    fn what_the_jvm_prints_is_read_in_both_forms() {
        let flags = printed(JDK_17).unwrap().flags;
        assert_eq!(flags.len(), 4);
        assert_eq!(flags["MaxHeapSize"].origin.as_deref(), Some("command line, ergonomic"));
        assert_eq!(
            (flags["HeapDumpPath"].value.as_str(), flags["Old"].kind.as_deref()),
            ("", Some("C2 pd product"))
        );
        let old = printed(JDK_8).unwrap().flags;
        assert_eq!(
            (old["MaxHeapSize"].origin.as_deref(), old["UseG1GC"].origin.as_deref()),
            (None, Some("default"))
        );
        assert_eq!((printed("nothing"), printed("[Global flags]\n")), (None, None));
    }

    #[test]
    fn what_was_set_comes_first_and_what_exists_on_one_side_only_is_listed_apart() {
        let (a, b) = (printed(JDK_8).unwrap(), printed(JDK_17).unwrap());
        let report = differences(["a".into(), "b".into()], [&a, &b]);
        let names: Vec<&str> = report.differ.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["MaxHeapSize", "UseG1GC"]);
        assert_eq!(report.differ[1].because, Because::Ergonomics);
        assert!(report.differ[0].meaning.unwrap().contains("-Xmx"));
        assert_eq!(report.only_second, ["HeapDumpPath", "Old"]);
    }

    #[test]
    fn a_command_line_says_what_it_says_and_nothing_of_the_rest() {
        let some = of_arguments("-Xmx1g -XX:+UseG1GC -XX:NewRatio=3 -Dx=y -XX:-Old -Xint");
        assert_eq!(some.flags["MaxHeapSize"].value, "1073741824");
        assert_eq!(
            (some.flags["UseG1GC"].value.as_str(), some.flags["Old"].value.as_str()),
            ("true", "false")
        );
        let whole = printed(JDK_17).unwrap();
        let report = differences(["a".into(), "b".into()], [&some, &whole]);
        let names: Vec<&str> = report.differ.iter().map(|d| d.name.as_str()).collect();
        assert_eq!(names, ["NewRatio", "Old", "UseCompiler"], "MaxHeapSize and UseG1GC are the same");
        assert!(report.only_second.is_empty());
    }

    /// JDK 11 to 17 map the archive of their classes where the layout of memory has room.
    #[test]
    fn an_address_that_a_jvm_draws_is_no_difference_and_one_that_was_given_is() {
        let at = |address: &str, origin: &str| {
            printed(&format!(
                "[Global flags]\n size_t SharedBaseAddress = {address} {{product}} {{{origin}}}\n"
            ))
        };
        let differ = |a: Option<Flags>, b: Option<Flags>| {
            differences(["a".into(), "b".into()], [&a.unwrap(), &b.unwrap()]).differ.len()
        };
        assert_eq!(differ(at("140491450482688", "default"), at("140333945978880", "default")), 0);
        assert_eq!(differ(at("140491450482688", "default"), at("34359738368", "command line")), 1);
    }

    #[test]
    fn a_number_that_became_a_decimal_one_is_the_same() {
        assert!(is_same("10", "10.000000") && is_same("true", "true"));
        assert!(!is_same("10", "10.5") && !is_same("10", "11") && !is_same("/a.b", "/a"));
    }

    #[test]
    fn each_flag_of_the_list_has_one_meaning() {
        let lines: Vec<&str> =
            include_str!("../data/flags.tsv").lines().filter(|l| !l.starts_with('#')).collect();
        let names: std::collections::BTreeSet<_> = lines.iter().filter_map(|l| l.split_once('\t')).collect();
        assert_eq!(names.len(), lines.len());
        assert!(meaning("UseG1GC").is_some() && meaning("NoSuchFlag").is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "\\PC{0,200}") {
            printed(&format!("[Global flags]\n{text}"));
            of_arguments(&text);
        }
    }
}
