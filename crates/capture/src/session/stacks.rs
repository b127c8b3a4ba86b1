//! What all stacks are walked by: made and kept up to date by the session, whichever collectors
//! run, as waits, calls and faults have stacks as well as CPU samples.

use super::Session;
use super::output::Output;
use crate::Unavailable;
use crate::services::Services;
use crate::target::{Change, TargetEvent, Targets};
use crate::unwind;

impl Session {
    /// Makes the tables for the first collector that needs them, and reads the processes that are
    /// there.
    pub(super) fn make_unwinder(&mut self, writer: &mut dyn Output) {
        match unwind::Unwinder::load(self.targets.selection().is_whole_host()) {
            Ok(unwinder) => self.services.unwinder = Some(unwinder),
            Err(unseen) => return self.say_unseen(unseen, writer),
        }
        for target in self.targets.iter() {
            self.services.read_code(target.pid, target.jvm, &self.targets);
        }
    }

    /// Reads JVMs that were not ready yet.
    pub(super) fn keep_stacks_up(&mut self, writer: &mut dyn Output) {
        let Some(unwinder) = &self.services.unwinder else { return };
        let mut unwinder = unwinder.borrow_mut();
        for pid in unwinder.code.pids() {
            if unwinder.code.waits_for_jvm(pid) {
                unwinder.code.refresh(pid, true);
            }
        }
        let (_, _, refused) = unwinder.code.tables.used();
        drop(unwinder);
        if refused > 0 {
            let unseen = Unavailable {
                scope: None,
                what: format!("callers of native code in {refused} files"),
                why: "the tables of unwind rows are full".into(),
                remedy: "record fewer processes (-p PID)".into(),
            };
            self.say_unseen(unseen, writer);
        }
    }

    /// Says what was not seen of stacks.
    pub(super) fn end_stacks(&mut self, writer: &mut dyn Output) {
        let Some(unwinder) = self.services.unwinder.take() else { return };
        let mut unwinder = unwinder.borrow_mut();
        let unnamed = unwinder.stacks.unnamed;
        if unnamed > 0 {
            let unseen = Unavailable {
                scope: None,
                what: format!("names of {unnamed} Java frames"),
                why: "their code was freed before it was looked at".into(),
                remedy: String::new(),
            };
            self.say_unseen(unseen, writer);
        }
        for pid in unwinder.code.pids() {
            if let Some(why) = unwinder.code.get_mut(pid).and_then(|known| known.jvm_error.clone()) {
                let what = format!("Java frames of process {pid}");
                self.say_unseen(Unavailable { scope: None, what, why, remedy: String::new() }, writer);
            }
        }
    }

    /// Says that something cannot be seen, once.
    pub(super) fn say_unseen(&self, unseen: Unavailable, writer: &mut dyn Output) {
        let list = &mut writer.source_mut(self.source).unseen;
        if !list.contains(&unseen) && list.len() < crate::collector::MAX_UNSEEN {
            list.push(unseen);
        }
    }
}

impl Services {
    /// Forgets the code of a process that is gone or another program.
    pub(super) fn forget_code(&self, event: &TargetEvent) {
        if let Some(unwinder) = self.unwinder.as_ref().filter(|_| event.leaves()) {
            unwinder.borrow_mut().forget(event.target.pid);
        }
    }

    /// A process came or became something else: its stacks can be walked when this returns.
    pub(super) fn meet_code(&mut self, event: &TargetEvent, targets: &Targets) {
        if event.change != Change::Gone {
            self.read_code(event.target.pid, event.target.jvm, targets);
        }
    }

    fn read_code(&mut self, pid: i32, is_jvm: bool, targets: &Targets) {
        // A command before its exec is a copy of fathom: nobody wants its stacks.
        if let Some(unwinder) = self.unwinder.as_ref().filter(|_| !targets.is_held(pid)) {
            unwinder.borrow_mut().renew(pid, is_jvm);
            self.contexts.want(pid);
        }
    }

    /// Makes ready to name the code of a process, which takes longer than to walk it.
    pub(super) fn learn_code(&self, pid: i32) {
        if let Some(unwinder) = &self.unwinder {
            unwinder.borrow_mut().learn(pid);
        }
    }
}
