//! A libjvm that was built without probes, but still has its symbols: VM operations, safepoints,
//! compilations and loaded classes by its functions.
//!
//! `VM_Operation::evaluate` runs one operation, `SafepointSynchronize::begin` and `end` enclose a
//! safepoint, `CompileBroker::invoke_compiler_on_method` compiles what a task says,
//! `ClassLoadingService::notify_class_loaded` is where the probe of a class would be; all are
//! functions of their own in JDK 11 to 25. The name of an operation comes from its virtual table:
//! `_ZTV` and the class' name; without "VM_" that is the name that the probe would have reported
//! (`VM_Operation::name`). Collections are known by their operations, with their causes as the
//! JVM's counters have them at the end, and without sizes. Methods and classes are named when the
//! event is taken in, some tenths of a second later: what was unloaded by then has no name and is
//! left out, which is also why unloading is not reported.

use std::collections::HashMap;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};

use fathom_hotspot::symbols::Objects;
use fathom_hotspot::{Vm, maps};
use object::read::elf::ElfFile64;
use object::read::{Object, ObjectSymbol, ReadCache};

use super::probes::{self, Kind};
use super::record::Record;

/// A function that the program is attached to.
pub struct Function {
    /// As which event.
    pub kind: Kind,
    /// Its name in the library.
    pub symbol: &'static str,
    /// When it returns rather than when it is called.
    pub returns: bool,
    /// What its event carries.
    pub payload: Payload,
}

/// What the event of a function carries of its first argument, or of the JVM. The values are in
/// its cookie (`bpf/jvm_events.bpf.c`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Payload {
    /// Nothing.
    Nothing,
    /// The first word of its object.
    FirstWord,
    /// The address of its object.
    Address,
    /// The bytes of its object.
    Bytes,
    /// Why the JVM collects.
    Causes,
}

impl Payload {
    /// Its part of the cookie.
    pub fn cookie(self) -> u64 {
        match self {
            Self::Nothing => 0,
            Self::FirstWord => 1 << 12,
            Self::Address => 2 << 12,
            Self::Bytes => 1 << 8,
            Self::Causes => 1 << 16,
        }
    }
}

const EVALUATE: &str = "_ZN12VM_Operation8evaluateEv";

const COMPILE: &str = "_ZN13CompileBroker25invoke_compiler_on_methodEP11CompileTask";

const fn function(kind: Kind, symbol: &'static str, returns: bool, payload: Payload) -> Function {
    Function { kind, symbol, returns, payload }
}

/// Those that stand in for the second group of probes.
const OPERATION_FUNCTIONS: [Function; 4] = [
    function(Kind::SafepointBegin, "_ZN20SafepointSynchronize5beginEv", false, Payload::Nothing),
    function(Kind::SafepointEnd, "_ZN20SafepointSynchronize3endEv", true, Payload::Nothing),
    function(Kind::OperationBegin, EVALUATE, false, Payload::FirstWord),
    function(Kind::OperationEnd, EVALUATE, true, Payload::Causes),
];
const COMPILE_FUNCTIONS: [Function; 2] = [
    function(Kind::CompileBegin, COMPILE, false, Payload::Bytes),
    function(Kind::CompileEnd, COMPILE, true, Payload::Nothing),
];
const CLASS_FUNCTIONS: [Function; 1] = [function(
    Kind::ClassLoaded,
    "_ZN19ClassLoadingService19notify_class_loadedEP13InstanceKlassb",
    false,
    Payload::Address,
)];

/// The native side of `Thread.start` (`JVM_StartThread`, src/hotspot/share/prims/jvm.cpp, JDK 8 to
/// 25): from the call to where the new thread is let go. It has no probe, and every libjvm
/// exports it.
pub const START_FUNCTIONS: [Function; 2] = [
    function(Kind::StartReturned, "JVM_StartThread", true, Payload::Nothing),
    function(Kind::StartCalled, "JVM_StartThread", false, Payload::Nothing),
];

/// Groups of probes that functions can stand in for: an index of `GROUPS`, and the functions.
pub const STAND_INS: [(usize, &[Function]); 3] = [
    (probes::OPERATIONS, &OPERATION_FUNCTIONS),
    (probes::COMPILATIONS, &COMPILE_FUNCTIONS),
    (probes::CLASSES, &CLASS_FUNCTIONS),
];

/// The functions for a group.
pub fn of_group(group: usize) -> Option<&'static [Function]> {
    STAND_INS.iter().find(|(index, _)| *index == group).map(|(_, functions)| *functions)
}

/// A JVM that has just mapped its library needs some time until its tables can be read.
const PATIENCE: Duration = Duration::from_secs(10);
/// How often they are asked for meanwhile.
const RETRY: Duration = Duration::from_millis(100);

/// Names of what the functions of one JVM are called with.
pub struct Names {
    pid: i32,
    operations: Operations,
    objects: Option<Objects>,
    /// Until when its tables are asked for: from the first event on that needs them.
    until: Option<Instant>,
    /// When they are asked for again; `None`: not any more.
    next_try: Option<Instant>,
    /// Why they could not be read in the end, until it was reported.
    failure: Option<String>,
}

impl Names {
    /// Of a process whose library `file` opens.
    pub fn of(pid: i32, file: &Path) -> Self {
        let operations = Operations::of(pid, file);
        Self { pid, operations, objects: None, until: None, next_try: Some(Instant::now()), failure: None }
    }

    /// Why methods and classes have no names; reported once.
    pub fn take_failure(&mut self) -> Option<String> {
        self.failure.take()
    }

    fn objects(&mut self) -> Option<&Objects> {
        let now = Instant::now();
        if self.objects.is_none() && self.next_try.is_some_and(|next| now >= next) {
            let until = *self.until.get_or_insert(now + PATIENCE);
            self.next_try = (now < until).then_some(now + RETRY);
            match Vm::open(self.pid.cast_unsigned()).and_then(Objects::new) {
                Ok(objects) => self.objects = Some(objects),
                Err(error) if self.next_try.is_none() => self.failure = Some(error.to_string()),
                Err(_) => {}
            }
        }
        self.objects.as_ref()
    }

    /// Puts into a record what the probe would have reported. Whether it is worth having: an event
    /// without a name is none.
    pub fn complete(&mut self, record: &mut Record) -> bool {
        match record.kind {
            Kind::OperationBegin => {
                if let Some(name) = self.operations.name(record.numbers[0]) {
                    record.set_text(0, name);
                }
                true
            }
            Kind::CompileBegin => self.compilation(record).is_some(),
            Kind::ClassLoaded => {
                let name = self.objects().and_then(|o| o.class(record.numbers[1].cast_unsigned()).ok());
                name.map(|name| record.set_text(0, &name)).is_some()
            }
            _ => true,
        }
    }

    /// Compiler, class and method as the probe has them; tier and bytecode index, which it has not.
    fn compilation(&mut self, record: &mut Record) -> Option<()> {
        let objects = self.objects()?;
        let compiling = objects.compiling(record.object())?;
        let method = objects.method(compiling.method).ok()?;
        // Tier 4 is C2's (or JVMCI's in its place); compilationPolicy.hpp, `CompLevel`.
        record.set_text(0, if compiling.level == 4 { "c2" } else { "c1" });
        record.set_text(1, &method.class);
        record.set_text(2, &method.name);
        record.numbers = [0, compiling.level.into(), compiling.osr_bci.map_or(-1, i64::from), 0];
        Some(())
    }
}

/// Virtual tables of operations that are kept at most; a JDK has some two hundred classes that are
/// called VM_….
const MOST: usize = 4096;

/// Names of operations by the address that their objects begin with.
struct Operations(HashMap<u64, Box<str>>);

impl Operations {
    /// Of the library of a process, which `file` opens; empty when it has no symbols.
    fn of(pid: i32, file: &Path) -> Self {
        Self(Self::read(pid, file).unwrap_or_default())
    }

    fn read(pid: i32, file: &Path) -> Option<HashMap<u64, Box<str>>> {
        let mappings = maps::read(u32::try_from(pid).ok()?).ok()?;
        // Where its first byte lies; libjvm is linked to begin at zero.
        let first = mappings.iter().find(|m| m.is_file() && m.file_name() == "libjvm.so" && m.offset == 0)?;
        let cache = ReadCache::new(File::open(file).ok()?);
        let elf = ElfFile64::<object::Endianness, _>::parse(&cache).ok()?;
        let tables = elf.symbols().filter_map(|symbol| {
            let name = operation(symbol.name().ok()?)?;
            // Two words stand before what objects point to: where the object begins, and its type.
            Some((first.start.wrapping_add(symbol.address()).wrapping_add(16), name.into()))
        });
        Some(tables.take(MOST).collect())
    }

    /// What an operation is called.
    fn name(&self, table: i64) -> Option<&str> {
        self.0.get(&table.cast_unsigned()).map(AsRef::as_ref)
    }
}

/// "G1CollectFull" of "_ZTV16VM_G1CollectFull".
fn operation(symbol: &str) -> Option<&str> {
    let rest = symbol.strip_prefix("_ZTV")?;
    let name = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let length: usize = rest[..rest.len() - name.len()].parse().ok()?;
    (length == name.len()).then_some(name)?.strip_prefix("VM_")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn operations_are_named_by_their_tables_and_nothing_else_is() {
        assert_eq!(operation("_ZTV16VM_G1CollectFull"), Some("G1CollectFull"));
        assert_eq!(operation("_ZTV12VM_Operation"), Some("Operation"));
        assert_eq!(operation("_ZTV7Runnable"), None);
        assert_eq!(operation("_ZTV99VM_Short"), None);
        assert_eq!(operation("_ZTVN3one3twoE"), None);
    }
}
