//! `fathom check`: what can be seen here, what stands in the way, and what would change it.

use anyhow::Result;
use fathom_capture::CaptureEngine;
use fathom_capture::check::{self, Item, JvmCheck, Machine, State};
use fathom_hotspot::find;
use serde_json::json;

use crate::columns::columns;
use crate::exit::{Environment, Outcome};
use crate::output::{self, print, print_json};
use crate::user_names::{Users, own_uid};

/// The engines, by the names that `fathom record --engine` takes.
const ENGINES: [(&str, CaptureEngine); 2] = [("ebpf", CaptureEngine::Ebpf), ("jfr", CaptureEngine::Jfr)];

/// Arguments of `fathom check`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Check what can be recorded on this machine, what prevents the rest, and how to change that",
    long_about = "Shows what each engine can observe on this machine, as this user, and of a JVM; what prevents \
the rest; and the command that changes that.

It finds out by trying: programs are loaded and dropped, events are opened and closed, a JVM's tables are read. \
Without -p, JVMs are looked at from outside only; with -p, fathom attaches to the JVM as jcmd does, to see whether \
its flight recorder answers.

Exit status: 3 when -p names a process that is not a JVM, or a JVM that no engine can observe.",
    after_long_help = "Examples:
  fathom check                       this machine and all JVMs that this user may see
  sudo fathom check                  the same as root: what sudo would change
  fathom check -p 4711               one JVM, its flight recorder tried
  fathom check --json | jq -r '.items[] | select(.state != \"works\") | .remedy'"
)]
pub struct Args {
    /// A JVM to check
    #[arg(short, long, value_name = "PID", value_parser = clap::value_parser!(u32).range(1..))]
    pid: Option<u32>,
    /// As JSON (schema fathom.check/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Looks and reports.
    pub fn run(self) -> Result<Outcome> {
        let jvms = self.jvms()?;
        let machine = check::machine();
        let users = Users::read();
        if self.json {
            print_json(&as_json(&machine, &jvms, &users))?;
        } else {
            print(&fathom_render::fit(&text(&machine, &jvms, &users), output::columns()))?;
        }
        match (self.pid, jvms.first()) {
            (Some(pid), Some(jvm)) if ENGINES.iter().all(|(_, e)| obstacle(&machine, jvm, *e).is_some()) => {
                Err(Environment(format!("no engine can observe JVM {pid} here, see above")).into())
            }
            _ => Ok(Outcome::Done),
        }
    }

    fn jvms(&self) -> Result<Vec<JvmCheck>> {
        let Some(pid) = self.pid else {
            let found = find::all()?;
            return Ok(found.jvms.into_iter().map(|jvm| check::jvm(jvm, false)).collect());
        };
        let found = find::Jvm::of(pid).map_err(|error| Environment(error.to_string()))?;
        let Some(jvm) = found else {
            return Err(
                Environment(format!("process {pid} is not a JVM: fathom ps lists those that run")).into()
            );
        };
        Ok(vec![check::jvm(jvm, true)])
    }
}

/// What keeps an engine from seeing a JVM here.
fn obstacle<'a>(machine: &'a Machine, jvm: &'a JvmCheck, engine: CaptureEngine) -> Option<&'a Item> {
    let foreign = || check::obstacle(&jvm.items, CaptureEngine::Any);
    machine.obstacle(engine).or_else(foreign).or_else(|| check::obstacle(&jvm.items, engine))
}

fn text(machine: &Machine, jvms: &[JvmCheck], users: &Users) -> String {
    let place = if machine.contained { ", in a container" } else { "" };
    let user = users.name(own_uid());
    let mut text =
        format!("This machine (Linux {}{place}), as {user}\n{}", machine.kernel, table(&machine.items));
    for (name, engine) in ENGINES {
        if let Some(item) = machine.obstacle(engine) {
            text += &format!("\nEngine {name} does not work here: {}: {}\n", item.what, item.found);
        }
    }
    for jvm in jvms {
        let main = jvm.jvm.about.main.clone().unwrap_or_else(|| format!("[{}]", jvm.jvm.status.command));
        text += &format!("\nJVM {} {}: ", jvm.jvm.pid, fathom_render::printable(&main));
        let engines = ENGINES.iter().map(|(name, engine)| match obstacle(machine, jvm, *engine) {
            None => format!("engine {name} works"),
            Some(item) => format!("engine {name} does not ({})", item.what),
        });
        text += &format!("{}\n{}", engines.collect::<Vec<_>>().join(", "), table(&jvm.items));
    }
    if jvms.is_empty() {
        text += "\nNo JVM runs here that this user may observe (fathom ps).\n";
    }
    text
}

/// A line for each item, and below it what it costs and what would help, where it does not work.
fn table(items: &[Item]) -> String {
    let row = |item: &Item| {
        let found = format!("{} {}", mark(item.state), item.what);
        vec![found, item.found.clone()]
    };
    let table = columns(&items.iter().map(row).collect::<Vec<_>>());
    let mut text = String::new();
    for (line, item) in table.lines().zip(items) {
        text += &format!("  {line}\n");
        if !item.loss.is_empty() {
            text += &format!("      not seen: {}\n", item.loss);
        }
        if !item.remedy.is_empty() {
            text += &format!("      to change it: {}\n", fathom_render::printable(&item.remedy));
        }
    }
    text
}

/// A mark that stands out without colour.
fn mark(state: State) -> &'static str {
    match state {
        State::Works => "✓",
        State::Limited => "~",
        State::Missing => "✗",
    }
}

fn as_json(machine: &Machine, jvms: &[JvmCheck], users: &Users) -> serde_json::Value {
    let engine = |(name, engine): (&str, CaptureEngine)| {
        let obstacle = machine.obstacle(engine);
        json!({ "engine": name, "works": obstacle.is_none(), "obstacle": obstacle.map(|item| item.id) })
    };
    let jvm = |jvm: &JvmCheck| {
        let engines = ENGINES.map(|(name, engine)| {
            let obstacle = obstacle(machine, jvm, engine);
            json!({ "engine": name, "works": obstacle.is_none(), "obstacle": obstacle.map(|item| item.id) })
        });
        json!({
            "pid": jvm.jvm.pid,
            "main": jvm.jvm.about.main,
            "user": users.name(jvm.jvm.status.uid),
            "engines": engines,
            "items": jvm.items.iter().map(item_json).collect::<Vec<_>>(),
        })
    };
    json!({
        "schema": "fathom.check/1",
        "kernel": machine.kernel,
        "contained": machine.contained,
        "user": users.name(own_uid()),
        "engines": ENGINES.map(engine),
        "items": machine.items.iter().map(item_json).collect::<Vec<_>>(),
        "jvms": jvms.iter().map(jvm).collect::<Vec<_>>(),
    })
}

fn item_json(item: &Item) -> serde_json::Value {
    let engine = ENGINES.iter().find(|(_, engine)| *engine == item.engine).map_or("any", |(name, _)| name);
    json!({
        "id": item.id,
        "what": item.what,
        "engine": engine,
        "state": match item.state {
            State::Works => "works",
            State::Limited => "limited",
            State::Missing => "missing",
        },
        "found": item.found,
        "not_seen": item.loss,
        "remedy": item.remedy,
    })
}
