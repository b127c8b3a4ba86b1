//! Which JVMs of a host are meant: by main class, control group, or something that they were
//! started with.
//!
//! What is looked at is what the kernel publishes of a process: its command line, its environment,
//! its control group. A process counts as a JVM once it maps HotSpot's library; one whose map this
//! user may not read counts when its command line is a `java`'s, so that it can be said that it is
//! there and may not be looked into.

use std::str::FromStr;

use fathom_hotspot::find::CommandLine;
use fathom_recording::secrets::is_secret;

use super::NamePattern;
use super::identity::is_jvm;
use crate::identity::{cgroup, unit, variable};
use crate::procfs::{self, Stat};

/// Something that a JVM must have.
#[derive(Clone, Debug)]
pub enum Condition {
    /// A main class, jar or command.
    Name(NamePattern),
    /// A control group, or one below it: its path as in `/proc/PID/cgroup`.
    Cgroup(String),
    /// A variable of its environment with a value.
    Env(String, String),
    /// A system property on its command line with a value.
    Property(String, String),
    /// The systemd service that it runs in.
    Unit(String),
}

impl FromStr for Condition {
    type Err = String;

    /// `env:NAME=VALUE`, `property:NAME=VALUE`, `unit:NAME`.
    fn from_str(text: &str) -> Result<Self, String> {
        let how = "write env:NAME=VALUE, property:NAME=VALUE or unit:NAME";
        let (kind, rest) = text.split_once(':').ok_or(how)?;
        let pair = || match rest.split_once('=') {
            Some((name, _)) if is_secret(name) => Err(format!("{name} looks like the name of a secret")),
            Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
            _ => Err(how.to_owned()),
        };
        match kind {
            "env" => pair().map(|(name, value)| Self::Env(name, value)),
            "property" => pair().map(|(name, value)| Self::Property(name, value)),
            "unit" if !rest.is_empty() => {
                Ok(Self::Unit(rest.strip_suffix(".service").unwrap_or(rest).to_owned()))
            }
            _ => Err(how.to_owned()),
        }
    }
}

impl Condition {
    /// A control group, as `/proc/PID/cgroup` or as a directory below `/sys/fs/cgroup`.
    pub fn cgroup(path: &str) -> Self {
        let path = path.strip_prefix("/sys/fs/cgroup").unwrap_or(path).trim_matches('/');
        Self::Cgroup(format!("/{path}"))
    }

    fn matches(&self, pid: i32) -> bool {
        match self {
            Self::Name(pattern) => pattern.matches(pid),
            Self::Cgroup(path) => group(pid).is_some_and(|group| is_within(&group, path)),
            Self::Env(name, value) => {
                let environment = procfs::read(procfs::path(pid, "environ")).unwrap_or_default();
                variable(&environment, format!("{name}=").as_bytes()).as_ref() == Some(value)
            }
            Self::Property(name, value) => has_property(&procfs::arguments(pid), name, value),
            Self::Unit(name) => group(pid).as_deref().and_then(unit).as_ref() == Some(name),
        }
    }

    fn description(&self) -> String {
        match self {
            Self::Name(pattern) => format!("named {}", pattern.as_str()),
            Self::Cgroup(path) => format!("in the cgroup {path}"),
            Self::Env(name, value) => format!("with {name}={value} in the environment"),
            Self::Property(name, value) => format!("with -D{name}={value}"),
            Self::Unit(name) => format!("of the unit {name}"),
        }
    }
}

/// Which JVMs: those that fit all conditions; of several of one kind, any of these.
#[derive(Clone, Debug, Default)]
pub struct JvmFilter(pub Vec<Condition>);

impl JvmFilter {
    /// Whether a process is a JVM that fits.
    pub(super) fn matches(&self, pid: i32) -> bool {
        looks_like_a_jvm(pid) && self.fits(|condition| condition.matches(pid))
    }

    /// JVMs that fit and that this user may not look into, as far as their command lines show: id
    /// and owner.
    pub fn closed(&self) -> Vec<(i32, Option<u32>)> {
        let is_closed = |pid: &i32| {
            let maps = procfs::path(*pid, "maps");
            procfs::read(maps).is_none() && self.matches(*pid)
        };
        procfs::pids().into_iter().filter(is_closed).map(|pid| (pid, procfs::owner(pid))).collect()
    }

    /// Of each kind that is asked for, one condition must hold.
    fn fits(&self, mut holds: impl FnMut(&Condition) -> bool) -> bool {
        let kind = |condition: &Condition| std::mem::discriminant(condition);
        let mut open: Vec<_> = self.0.iter().map(kind).collect();
        for condition in &self.0 {
            if open.contains(&kind(condition)) && holds(condition) {
                open.retain(|of| *of != kind(condition));
            }
        }
        open.is_empty()
    }

    /// In words.
    pub fn description(&self) -> String {
        let conditions: Vec<String> = self.0.iter().map(Condition::description).collect();
        match conditions.is_empty() {
            true => "every JVM".to_owned(),
            false => format!("JVMs {}", conditions.join(", ")),
        }
    }
}

/// Whether a process has mapped libjvm; of one that may not be read, whether it was started as a
/// `java`.
fn looks_like_a_jvm(pid: i32) -> bool {
    let Some(stat) = Stat::of(pid).filter(|stat| !matches!(stat.state, b'Z' | b'X')) else { return false };
    // A thread of the kernel has no memory, and costs no further look.
    if stat.rss_pages == 0 {
        return false;
    }
    match procfs::read(procfs::path(pid, "maps")) {
        Some(_) => is_jvm(pid, &stat),
        None => CommandLine::of(&procfs::arguments(pid)).main.is_some(),
    }
}

fn group(pid: i32) -> Option<String> {
    cgroup(&procfs::read_to_string(procfs::path(pid, "cgroup"))?)
}

/// Whether a group is this one or lies below it.
fn is_within(group: &str, path: &str) -> bool {
    group
        .strip_prefix(path.trim_end_matches('/'))
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn has_property(arguments: &[String], name: &str, value: &str) -> bool {
    let given = |argument: &String| {
        let (given, its) = argument.strip_prefix("-D")?.split_once('=')?;
        (given == name).then(|| its == value)
    };
    // The last one counts, as for the JVM.
    arguments.iter().filter_map(given).next_back() == Some(true)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test panics where it fails")]
    use super::*;

    #[test]
    fn a_condition_is_read_and_one_on_a_secret_is_refused() {
        assert!(matches!("env:TEAM=shop".parse(), Ok(Condition::Env(n, v)) if n == "TEAM" && v == "shop"));
        assert!(matches!("unit:shop.service".parse(), Ok(Condition::Unit(n)) if n == "shop"));
        assert!("env:DB_PASSWORD=x".parse::<Condition>().unwrap_err().contains("secret"));
        assert!(["env:TEAM", "unit:", "team=shop", "env:=x"].iter().all(|t| t.parse::<Condition>().is_err()));
    }

    #[test]
    fn of_one_kind_any_condition_is_enough_and_of_each_kind_one_is_needed() {
        let of = |texts: &[&str]| JvmFilter(texts.iter().map(|t| t.parse().unwrap()).collect());
        let holds = |names: &'static [&'static str]| move |c: &Condition| matches!(c, Condition::Env(n, _) | Condition::Unit(n) if names.contains(&n.as_str()));
        let filter = of(&["env:A=1", "env:B=1", "unit:u"]);
        assert!(filter.fits(holds(&["B", "u"])) && !filter.fits(holds(&["A", "B"])));
        assert!(of(&[]).fits(holds(&[])));
    }

    #[test]
    fn a_group_below_is_within_and_one_with_a_longer_name_is_not() {
        let Condition::Cgroup(path) = Condition::cgroup("/sys/fs/cgroup/shop.slice/") else { panic!() };
        assert!(is_within("/shop.slice", &path) && is_within("/shop.slice/a.service", &path));
        assert!(!is_within("/shop.slice2", &path) && is_within("/x", "/"));
    }

    #[test]
    fn the_last_of_several_properties_counts() {
        let arguments: Vec<String> = ["java", "-Da=1", "-Da=2", "-Db", "X"].map(str::to_owned).into();
        assert!(has_property(&arguments, "a", "2") && !has_property(&arguments, "a", "1"));
        assert!(!has_property(&arguments, "b", ""));
    }

    #[test]
    fn this_process_is_no_jvm() {
        assert!(!JvmFilter::default().matches(std::process::id() as i32));
    }
}
