//! `fathom ps`: the JVMs of this machine.

use fathom_hotspot::find::{self, Found, Hidden, Jvm, Kind};
use serde_json::json;

use crate::columns::columns;
use crate::exit::Outcome;
use crate::output::{print, print_json};
use crate::user_names::{Users, own_uid};

/// Digits of a container's id that are shown, as Docker does.
const ID_SHOWN: usize = 12;
/// What lets one see the JVMs of others; root itself lacks a right in containers only, as a rule.
fn remedy() -> &'static str {
    remedy_of(fathom_capture::privileges::ptrace_any(), own_uid() == 0)
}

fn remedy_of(may_ptrace: bool, is_root: bool) -> &'static str {
    if may_ptrace {
        "the kernel refuses although CAP_SYS_PTRACE is there: a security module, or a user namespace with more rights"
    } else if is_root {
        "they have more rights than this root, which needs CAP_SYS_PTRACE"
    } else {
        "sudo fathom ps"
    }
}

/// Arguments of `fathom ps`.
#[derive(clap::Args, Debug)]
#[command(
    about = "List the JVMs that run on this machine",
    long_about = "Lists the JVMs of this machine: what they run, on which JDK, since when, with which collector, \
in which container.

They are found by the library that they have mapped, whatever their program is called; nothing is asked of them \
and nothing is changed. JVMs in containers are included, as seen from the host. Without root, only a user's own \
JVMs are seen, and what could not be inspected is reported. Values of options whose name suggests a secret are \
shown as ***.",
    after_long_help = "Examples:
  fathom ps                                         what runs here
  sudo fathom ps                                    other users' JVMs and those in containers, too
  fathom ps -l                                      with their options
  fathom ps --json | jq -r '.jvms[] | select(.collector == \"G1\") | .pid'
  fathom record -p $(fathom ps --json | jq '.jvms[0].pid') -d 60s"
)]
pub struct Args {
    /// Show the JVM's options below each line
    #[arg(short, long)]
    long: bool,
    /// As JSON (schema fathom.ps/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Lists the JVMs.
    pub fn run(self) -> anyhow::Result<Outcome> {
        let found = find::all()?;
        let users = Users::read();
        if self.json {
            print_json(&as_json(&found, &users))?;
            return Ok(Outcome::Done);
        }
        print(&self.text(&found, &users))?;
        if let Some(unseen) = unseen(&found) {
            eprintln!("fathom: {unseen}");
        }
        Ok(Outcome::Done)
    }

    fn text(&self, found: &Found, users: &Users) -> String {
        if found.jvms.is_empty() && found.hidden.is_empty() {
            return "no JVM runs here\n".to_owned();
        }
        let header = ["PID", "USER", "UP", "JDK", "GC", "CONTAINER", "MAIN"];
        let mut rows = vec![header.iter().map(ToString::to_string).collect::<Vec<_>>()];
        rows.extend(found.jvms.iter().map(|jvm| row(jvm, users)));
        rows.extend(found.hidden.iter().map(|hidden| hidden_row(hidden, users)));
        let table = columns(&rows);
        if !self.long {
            return table;
        }
        let mut lines = table.lines();
        let mut text = format!("{}\n", lines.next().unwrap_or_default());
        for (i, line) in lines.enumerate() {
            text += &format!("{line}\n");
            for option in found.jvms.get(i).map_or(&[][..], |jvm| &jvm.about.options) {
                text += &format!("        {}\n", fathom_render::printable(option));
            }
        }
        text
    }
}

fn row(jvm: &Jvm, users: &Users) -> Vec<String> {
    let about = &jvm.about;
    let unknown = || "?".to_owned();
    let runtime = match &jvm.kind {
        Kind::HotSpot { .. } => about.java_version.clone().unwrap_or_else(unknown),
        Kind::OpenJ9 => "OpenJ9".to_owned(),
        Kind::ThirtyTwoBit => "32-bit".to_owned(),
        Kind::NativeImage => "native".to_owned(),
        Kind::Other => unknown(),
    };
    let mut main = about.main.clone().unwrap_or_else(|| format!("[{}]", jvm.status.command));
    if let Kind::HotSpot { deleted: true, .. } = jvm.kind {
        main += "  (its JDK was replaced)";
    }
    vec![
        jvm.pid.to_string(),
        users.name(jvm.status.uid),
        up(jvm.uptime_s),
        runtime,
        about.collector.map_or_else(|| "-".to_owned(), |collector| collector.name().to_owned()),
        container(jvm),
        main,
    ]
}

fn hidden_row(hidden: &Hidden, users: &Users) -> Vec<String> {
    let cell = |text: &str| text.to_owned();
    let main = hidden.main.clone().unwrap_or_else(|| cell("[java]"));
    vec![hidden.pid.to_string(), users.name(hidden.uid), cell("?"), cell("?"), cell("?"), cell("?"), main]
}

/// The short id of its container; "yes" where it has namespaces of its own and no id names a
/// container.
fn container(jvm: &Jvm) -> String {
    match &jvm.confinement.container {
        Some(id) => id.chars().take(ID_SHOWN).collect(),
        None if jvm.is_contained() => "yes".to_owned(),
        None => "-".to_owned(),
    }
}

/// "12s", "5m03s", "2h04m", "3d07h".
fn up(seconds: f64) -> String {
    let s = seconds as u64;
    match s {
        0..60 => format!("{s}s"),
        60..3600 => format!("{}m{:02}s", s / 60, s % 60),
        3600..86_400 => format!("{}h{:02}m", s / 3600, s % 3600 / 60),
        _ => format!("{}d{:02}h", s / 86_400, s % 86_400 / 3600),
    }
}

/// What could not be seen, and what would let it be seen.
fn unseen(found: &Found) -> Option<String> {
    let processes = if found.closed == 1 { "process" } else { "processes" };
    (found.closed > 0).then(|| {
        format!(
            "{} {processes} could not be inspected, {} of them called java: {}",
            found.closed,
            found.hidden.len(),
            remedy()
        )
    })
}

fn as_json(found: &Found, users: &Users) -> serde_json::Value {
    let jvms: Vec<_> = found.jvms.iter().map(|jvm| jvm_json(jvm, users)).collect();
    let hidden = found
        .hidden
        .iter()
        .map(|h| json!({ "pid": h.pid, "uid": h.uid, "user": users.name(h.uid), "main": h.main }));
    json!({
        "schema": "fathom.ps/1",
        "jvms": jvms,
        "not_seen": {
            "processes": found.closed,
            "java": hidden.collect::<Vec<_>>(),
            "remedy": (found.closed > 0).then(remedy),
        },
    })
}

fn jvm_json(jvm: &Jvm, users: &Users) -> serde_json::Value {
    let about = &jvm.about;
    let (runtime, libjvm, replaced) = match &jvm.kind {
        Kind::HotSpot { libjvm, deleted } => ("hotspot", Some(libjvm), *deleted),
        Kind::OpenJ9 => ("openj9", None, false),
        Kind::ThirtyTwoBit => ("32-bit", None, false),
        Kind::NativeImage => ("native-image", None, false),
        Kind::Other => ("other", None, false),
    };
    json!({
        "pid": jvm.pid,
        "own_pid": jvm.status.own_pid(),
        "uid": jvm.status.uid,
        "user": users.name(jvm.status.uid),
        "runtime": runtime,
        "main": about.main,
        "options": about.options,
        "uptime_s": jvm.uptime_s,
        "threads": jvm.status.threads,
        "jdk": about.feature(),
        "java_version": about.java_version,
        "vm_version": about.vm_version,
        "vendor": about.vendor,
        "collector": about.collector.map(|collector| collector.name()),
        "home": about.home,
        "libjvm": libjvm,
        "jdk_replaced": replaced,
        "publishes_counters": about.publishes,
        "contained": jvm.is_contained(),
        "container": jvm.confinement.container,
        "cgroup": jvm.confinement.cgroup,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uptimes_are_short() {
        assert_eq!([up(3.9), up(303.0), up(7500.0), up(284_400.0)], ["3s", "5m03s", "2h05m", "3d07h"]);
    }

    #[test]
    fn who_has_the_right_is_not_told_to_get_it() {
        for root in [false, true] {
            let text = remedy_of(true, root);
            assert!(text.contains("although CAP_SYS_PTRACE is there") && !text.contains("needs"), "{text}");
        }
        assert!(remedy_of(false, true).ends_with("needs CAP_SYS_PTRACE"));
        assert_eq!(remedy_of(false, false), "sudo fathom ps");
    }
}
