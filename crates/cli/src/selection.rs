//! Which samples a command takes: window, process, threads, roles, kinds, packages.

use anyhow::{Context, Result};
use clap::ValueEnum;
use fathom_diagnose::stacks::{ProcessChoice, Selection, kinds, waits};
use fathom_diagnose::{Window, WindowError, WindowSpec};
use fathom_recording::{Recording, Role};
use jiff::tz::TimeZone;
use regex_lite::RegexBuilder;

/// Memory that a pattern may take when compiled, bytes: one that is written by hand takes
/// thousands.
const LARGEST_PATTERN: usize = 1 << 20;

/// Arguments of every command that takes samples.
#[derive(clap::Args, Debug)]
pub struct SelectionArgs {
    /// Only an interval of time: FROM..TO in seconds, 115s..125s, or clock times,
    /// 22:00:23..22:00:45; may be given several times
    #[arg(long, value_name = "WINDOW", value_parser = window, allow_hyphen_values = true)]
    pub window: Vec<WindowSpec>,
    /// Only the process with an id, or those whose name and arguments of the main class match a
    /// regular expression, such as 'StartUp db2'; `fathom info` lists them
    #[arg(long, value_name = "PID|RE")]
    pub process: Option<String>,
    /// Only threads whose name matches a regular expression
    #[arg(long, value_name = "RE")]
    pub thread: Option<String>,
    /// Only threads of these roles
    #[arg(long, value_name = "ROLE,…", value_delimiter = ',')]
    pub role: Vec<RoleName>,
    /// Only samples of these kinds: cpu (on a CPU), waits (all waits, long and short), off-cpu (the
    /// short ones alone), wall, alloc, lock …, or a kind of span with stacks, such as lock.monitor;
    /// `fathom info` lists them
    #[arg(long, value_name = "KIND,…", value_delimiter = ',')]
    pub kind: Vec<String>,
    /// Only samples with a frame of one of these Java packages or classes anywhere in their stack
    #[arg(long, value_name = "PACKAGE,…", value_delimiter = ',')]
    pub package: Vec<String>,
}

/// A role as it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RoleName {
    /// The application's own threads
    App,
    /// Garbage collector
    Gc,
    /// JIT compilers
    Jit,
    /// Other threads of the JVM
    Vm,
    /// Not known
    Other,
}

impl From<RoleName> for Role {
    fn from(name: RoleName) -> Self {
        match name {
            RoleName::App => Self::App,
            RoleName::Gc => Self::Gc,
            RoleName::Jit => Self::Jit,
            RoleName::Vm => Self::Vm,
            RoleName::Other => Self::Other,
        }
    }
}

/// A window as it is written.
pub fn window(text: &str) -> Result<WindowSpec, WindowError> {
    text.parse()
}

/// Windows as they are written, on the clock of a recording.
pub fn windows(recording: &Recording, specs: &[WindowSpec]) -> Result<Vec<Window>> {
    let resolve = |spec| fathom_diagnose::resolve(recording, spec, TimeZone::system());
    specs.iter().map(resolve).collect::<Result<_, _>>().map_err(Into::into)
}

impl SelectionArgs {
    /// The selection, its kind still open.
    pub fn selection(&self, recording: &Recording) -> Result<Selection> {
        let compile = |option: &str, text: &String| {
            let built = RegexBuilder::new(text).size_limit(LARGEST_PATTERN).build();
            built.with_context(|| format!("{option} {text}"))
        };
        let process = |text: &String| match text.parse() {
            Ok(pid) => Ok(ProcessChoice::Pid(pid)),
            Err(_) => compile("--process", text).map(ProcessChoice::Named),
        };
        Ok(Selection {
            kind: String::new(),
            windows: windows(recording, &self.window)?,
            process: self.process.as_ref().map(process).transpose()?,
            thread: self.thread.as_ref().map(|text| compile("--thread", text)).transpose()?,
            roles: self.role.iter().map(|r| (*r).into()).collect(),
            packages: self.package.clone(),
            sources_from: 0,
            sources_to: None,
        })
    }

    /// The kinds that are asked for, else all that there are, in the order in which they are shown.
    pub fn kinds(&self, recording: &Recording) -> Result<Vec<String>> {
        if !self.kind.is_empty() {
            return Ok(self.kind.clone());
        }
        let found: Vec<String> = kinds(recording).into_iter().map(|k| k.name).collect();
        anyhow::ensure!(
            !found.is_empty(),
            "nothing in {} has stacks; samples come from a JFR file, a profiler's output, or fathom record",
            crate::inputs::in_words(recording)
        );
        Ok(found)
    }

    /// Says so where a kind was asked for that holds a part of the waits only.
    pub fn warn_of_parts(&self, recording: &Recording) {
        let has_long = waits::long(recording).next().is_some();
        if has_long && self.kind.iter().any(|kind| kind == waits::SHORT) {
            eprintln!(
                "fathom: {} holds only the sums of short waits, the long ones are spans; --kind {} has all of them",
                waits::SHORT,
                waits::WAITS
            );
        }
    }

    /// What is chosen, in words; empty when everything is.
    pub fn in_words(&self) -> String {
        let mut words = Vec::new();
        words.extend(self.process.as_ref().map(|process| format!("process {process}")));
        words.extend(self.thread.as_ref().map(|re| format!("threads matching {re}")));
        if !self.role.is_empty() {
            let roles: Vec<_> = self.role.iter().map(|r| format!("{r:?}").to_lowercase()).collect();
            words.push(format!("role {}", roles.join(", ")));
        }
        if !self.package.is_empty() {
            words.push(format!("package {}", self.package.join(", ")));
        }
        words.join("; ")
    }
}
