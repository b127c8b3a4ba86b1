//! `fathom trace` of programs of `tests/java`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::process::Talking;
use super::recorder::Recorder;
use super::{FATHOM, fathom, jdks, said};

/// A program of tests/java, ready; `None`, loudly, without a compiler.
pub fn program(dir: &Path, home: &Path, name: &str, args: &[&str]) -> Option<Talking> {
    program_with(&["-XX:+UseSerialGC"], dir, home, name, args)
}

/// The same, with other options of the JVM.
pub fn program_with(options: &[&str], dir: &Path, home: &Path, name: &str, args: &[&str]) -> Option<Talking> {
    jdks::compile(dir, if name == "Locks" { 8 } else { 11 }, &[name])?;
    let mut java = Command::new(home.join("bin/java"));
    Some(Talking::start(java.args(options).arg("-cp").arg(dir).arg(name).args(args)))
}

/// Events and summary of a trace; `None`, loudly, where eBPF is not allowed.
pub fn trace(dir: &Path, args: &[&str]) -> Option<(Vec<Value>, Value)> {
    let output = fathom(dir, &[&["trace", "--json"], args].concat());
    if output.status.code() == Some(3) && said(&output).contains("eBPF") {
        fathom_testing::skip(&said(&output));
        return None;
    }
    assert!(output.status.success(), "{}", said(&output));
    let text = String::from_utf8(output.stdout).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.remove(0)["schema"], "fathom.trace/1");
    let summary = lines.pop().unwrap()["summary"].take();
    Some((lines.into_iter().map(|mut line| line["event"].take()).collect(), summary))
}

/// Names of the frames of an event, the innermost first.
pub fn names(event: &Value) -> Vec<&str> {
    event["stack"].as_array().unwrap().iter().map(|frame| frame["name"].as_str().unwrap()).collect()
}

/// Traces a program of ours while it does what it does: lines that it said, events, summary;
/// `None`, loudly, where eBPF is not allowed.
pub fn while_it_runs(
    dir: &Path,
    jvm: &mut Talking,
    probe: &[&str],
) -> Option<(Vec<String>, Vec<Value>, Value)> {
    let mut trace = Command::new(FATHOM);
    // To a file: nobody reads a pipe while the program runs.
    let events = std::fs::File::create(dir.join("events")).unwrap();
    trace.current_dir(dir).arg("trace").args(probe).args(["-p", &jvm.pid(), "--json"]).stdout(events);
    let trace = match Recorder::start(&mut trace, "tracing") {
        Ok(trace) => trace,
        Err((code, reported)) => {
            assert_eq!(code, Some(3), "{reported}");
            fathom_testing::skip(&format!("{probe:?} cannot be traced here: {reported}"));
            return None;
        }
    };
    jvm.send("");
    jvm.until("done");
    let said = jvm.said().to_vec();
    let (code, reported) = trace.end("INT");
    assert_eq!(code, Some(0), "{reported}");
    let text = std::fs::read_to_string(dir.join("events")).unwrap();
    let mut lines: Vec<Value> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap()["summary"].take();
    Some((said, lines.into_iter().skip(1).map(|mut line| line["event"].take()).collect(), summary))
}
