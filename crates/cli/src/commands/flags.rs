//! `fathom flags`: what differs between the flags of two JVMs.

use std::io::{Read, Seek};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail};
use fathom_compare::flags::{Flag, Flags, differences, of_arguments, printed};
use fathom_hotspot::{Vm, flags};
use fathom_recording::vocabulary::fact;

use crate::exit::{Environment, Outcome};
use crate::inputs::InputArgs;
use crate::jdk::{self, Jdk};
use crate::output::{print_fitted, print_json};

/// More is not read of what a JVM prints, bytes: JDK 8 prints 150 kB with all flags.
const MOST_PRINTED: u64 = 4 << 20;
/// Bytes of what a JVM said that an error quotes.
const MOST_SAID: u64 = 2_000;

/// Arguments of `fathom flags`.
#[derive(clap::Args, Debug)]
#[command(
    about = "Compare the flags of two JVMs: what differs, who set it, and what it is for",
    long_about = "Shows what differs between the flags of two JVMs: those that were set, those that the JVMs chose \
by themselves (ergonomics), and defaults; each with its purpose where that is known.

A JVM is the id of a running process (its own table is read from outside), a JDK's home or release (`jdk=17`), its \
`java` with options ('java -Xmx1g -XX:+UseZGC', which is started with -version to ask it), the text that \
-XX:+PrintFlagsFinal printed, or a recording or log that holds a command line; of the last only the flags on it \
are known.",
    after_long_help = "Examples:
  fathom flags 4711 4712                                    two running JVMs
  fathom flags jdk=17 jdk=25                                 what another release does by default on this machine
  fathom flags 'java -Xmx1g' 'java -Xmx40g'                 what follows from a flag
  fathom flags gc-old.log gc-new.log --json"
)]
pub struct Args {
    /// The first JVM
    #[arg(value_name = "JVM A")]
    first: String,
    /// The second JVM
    #[arg(value_name = "JVM B")]
    second: String,
    /// All differences, including defaults and flags that only one side has
    #[arg(long)]
    all: bool,
    /// As JSON (schema fathom.flags/1)
    #[arg(long)]
    json: bool,
}

impl Args {
    /// Prints the differences.
    pub fn run(self) -> Result<Outcome> {
        let (first, second) = (of(&self.first)?, of(&self.second)?);
        let report = differences([self.first, self.second], [&first, &second]);
        if self.json {
            print_json(&report)?;
        } else {
            print_fitted(&fathom_render::compare::flags(&report, self.all))?;
        }
        Ok(Outcome::Done)
    }
}

/// The flags of what was named.
fn of(named: &str) -> Result<Flags> {
    let path = Path::new(named);
    if let Ok(pid) = named.parse::<u32>() {
        return running(pid).with_context(|| format!("process {pid}"));
    }
    if let Some(release) = named.strip_prefix("jdk=") {
        let found =
            jdk::find().into_iter().find(|j| j.version == release || j.feature.to_string() == release);
        let found = found
            .ok_or_else(|| Environment(format!("no JDK {release} was found; fathom jdks lists them")))?;
        return asked(&found.program("java"), &[]);
    }
    if let Some(jdk) = Jdk::at(path) {
        return asked(&jdk.program("java"), &[]);
    }
    if path.is_file() && path.file_name().is_some_and(|name| name == "java") {
        return asked(path, &[]);
    }
    if path.exists() {
        return of_file(path);
    }
    let words: Vec<&str> = named.split_whitespace().collect();
    match words.as_slice() {
        [java, options @ ..] if java.ends_with("java") => asked(Path::new(java), options),
        _ => bail!("{named}: no process, no JDK, no file, and no command that begins with java"),
    }
}

/// Those of a running JVM, out of its memory.
fn running(pid: u32) -> Result<Flags> {
    let read = flags::Flags::read(&Vm::open(pid)?)?;
    let flag = |flag: &flags::Flag| {
        let origin = Some(flag.origin.text().to_owned());
        (flag.name.clone(), Flag { value: flag.value.to_string(), origin, ..Flag::default() })
    };
    Ok(Flags { flags: read.iter().map(flag).collect(), whole: true })
}

/// Those that a JVM of these options says to have.
fn asked(java: &Path, options: &[&str]) -> Result<Flags> {
    let named = || java.display().to_string();
    let mut said = tempfile::tempfile().context("a temporary file")?;
    let errors = said.try_clone().context("a temporary file")?;
    let mut child = Command::new(java)
        .args(options)
        .args([
            "-XX:+UnlockDiagnosticVMOptions",
            "-XX:+UnlockExperimentalVMOptions",
            "-XX:+PrintFlagsFinal",
            "-version",
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .with_context(named)?;
    let mut text = Vec::new();
    let out = child.stdout.take().with_context(named)?;
    out.take(MOST_PRINTED).read_to_end(&mut text).with_context(named)?;
    let status = child.wait().with_context(named)?;
    if !status.success() {
        let mut why = Vec::new();
        said.rewind()
            .and_then(|()| said.take(MOST_SAID).read_to_end(&mut why))
            .context("a temporary file")?;
        text.truncate(MOST_SAID as usize);
        why.extend(text);
        bail!("{}: ended with {status}\n{}", named(), String::from_utf8_lossy(&why).trim_end());
    }
    printed(&String::from_utf8_lossy(&text)).with_context(|| format!("{}: it printed no flags", named()))
}

/// Those that a file has.
fn of_file(path: &Path) -> Result<Flags> {
    if path.is_file() {
        let mut text = Vec::new();
        let file = std::fs::File::open(path).with_context(|| path.display().to_string())?;
        file.take(MOST_PRINTED).read_to_end(&mut text).with_context(|| path.display().to_string())?;
        if let Some(flags) = printed(&String::from_utf8_lossy(&text)) {
            return Ok(flags);
        }
    }
    let inputs = vec![PathBuf::from(path)];
    let recording = InputArgs { inputs, align: Vec::new() }.load()?.recording;
    let arguments = recording.processes.iter().filter_map(|process| process.fact(fact::JVM_ARGS));
    let arguments: Vec<&str> = arguments.collect();
    match arguments.as_slice() {
        [] => bail!("{}: it has no JVM's command line", path.display()),
        [arguments] => Ok(of_arguments(arguments)),
        several => bail!("{}: it has {} JVMs; give one of them", path.display(), several.len()),
    }
}
