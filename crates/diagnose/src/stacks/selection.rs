//! Which samples a call tree is made of.

use fathom_recording::vocabulary::fact;
use fathom_recording::{Process, ProcessId, Recording, Role, StackId, ThreadId};
use regex_lite::Regex;

use crate::Window;

/// Which process is meant.
#[derive(Clone, Debug)]
pub enum ProcessChoice {
    /// That with an id at the kernel.
    Pid(i64),
    /// Those whose name, with the arguments of its main class behind it, matches.
    Named(Regex),
}

impl ProcessChoice {
    fn holds(&self, process: &Process) -> bool {
        match self {
            Self::Pid(pid) => process.pid == Some(*pid),
            Self::Named(re) => {
                let args = process.fact(fact::MAIN_ARGS).unwrap_or_default();
                re.is_match(&format!("{} {args}", process.name))
            }
        }
    }
}

/// A choice of samples. What is left empty chooses everything.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The kind of sample ("cpu", "off-cpu") or of span with a stack ("lock.monitor").
    pub kind: String,
    /// Intervals of time; a sample at their end is not in them.
    pub windows: Vec<Window>,
    /// Of which process.
    pub process: Option<ProcessChoice>,
    /// Matched against thread names.
    pub thread: Option<Regex>,
    /// Roles of threads.
    pub roles: Vec<Role>,
    /// Java packages ("org.example"): only samples with a frame of one of them anywhere in their
    /// stack.
    pub packages: Vec<String>,
    /// Sources from this one on, and those before it: distinguishes two recordings that were put
    /// together.
    pub sources_from: u32,
    /// See `sources_from`.
    pub sources_to: Option<u32>,
}

impl Selection {
    /// Which threads are chosen, by id; a sample without a thread is chosen when `None` would be.
    pub(super) fn threads(&self, recording: &Recording) -> impl Fn(Option<ThreadId>) -> bool + use<> {
        let everything = self.thread.is_none() && self.roles.is_empty();
        let chosen: Vec<bool> = recording
            .threads
            .iter()
            .map(|thread| {
                let name = recording.strings.get(thread.name);
                self.thread.as_ref().is_none_or(|re| re.is_match(name))
                    && (self.roles.is_empty() || self.roles.contains(&thread.role))
            })
            .collect();
        move |thread| match thread {
            Some(id) => chosen.get(id.index()).copied().unwrap_or(everything),
            None => everything,
        }
    }

    /// Which processes are chosen, by id.
    pub(super) fn processes(&self, recording: &Recording) -> impl Fn(ProcessId) -> bool + use<> {
        let holds = |process| self.process.as_ref().is_none_or(|choice| choice.holds(process));
        let chosen: Vec<bool> = recording.processes.iter().map(holds).collect();
        let everything = self.process.is_none();
        move |process| chosen.get(process.index()).copied().unwrap_or(everything)
    }

    /// Which stacks are chosen.
    pub(super) fn stacks(&self, recording: &Recording) -> impl Fn(Option<StackId>) -> bool + use<> {
        let everything = self.packages.is_empty();
        let frames: Vec<bool> = recording
            .frames
            .iter()
            .map(|frame| {
                frame.frame_type.is_java()
                    && self.packages.iter().any(|p| is_in(recording.strings.get(frame.name), p))
            })
            .collect();
        let mut chosen: Vec<bool> = Vec::new();
        if !everything {
            chosen.reserve(recording.stacks.len());
            for node in &recording.stacks {
                let caller = node.parent.and_then(|p| chosen.get(p.index()).copied()).unwrap_or(false);
                chosen.push(caller || frames.get(node.frame.index()).copied().unwrap_or(false));
            }
        }
        move |stack| everything || stack.and_then(|id| chosen.get(id.index()).copied()).unwrap_or(false)
    }
}

/// Whether a method "org.example.Orders.total" is in a package, or is of a class, or is the method
/// itself.
fn is_in(name: &str, package: &str) -> bool {
    let package = package.trim_end_matches(['.', '*']);
    name.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '$']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_package_is_a_whole_one() {
        assert!(is_in("org.example.Orders.total", "org.example"));
        assert!(is_in("org.example.Orders.total", "org.example.*"));
        assert!(is_in("org.example.Orders$1.run", "org.example.Orders"));
        assert!(!is_in("org.examples.Orders.total", "org.example"));
    }
}
