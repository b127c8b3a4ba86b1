//! The code of each process that is followed: kept as its mappings change, in the arrays that the
//! programs read.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fathom_hotspot::maps::{self, Mapping};

use crate::target::age;
use crate::thread_context::Place;

use super::arena::Arena;
use super::jvm::Jvm;
use super::shared::{
    CONTEXT_DYNAMIC, CONTEXT_STATIC, CodeMapping, JvmCode, MappingKind, PROCESS_JVM_NOT_READ,
    PROCESS_KEEPS_STACKS, ProcessCode, RowPage, UnwindRow,
};
use super::tables::{Table, Tables};
use super::user_mode;

/// Mappings of one process at most: the programs' search has 12 steps.
const MOST_MAPPINGS: usize = 2048;
/// A process is not read again before this: an address that no mapping holds may come from a stack
/// that is damaged, each time anew.
const SHORTEST: Duration = Duration::from_millis(200);
/// The same of a JVM that starts: it maps libraries one after the other, and each round in which it
/// runs unread cuts stacks.
const SHORTEST_WHILE_IT_STARTS: Duration = Duration::from_millis(15);
/// It does so for so long after it was read first.
const STARTS_FOR: Duration = Duration::from_secs(3);
/// A JVM that was read while it started is read anew so long after: it makes stubs and code heaps
/// in steps, and the compilers' when they are first used.
const AGAIN: [Duration; 3] = [Duration::from_millis(500), Duration::from_secs(3), Duration::from_secs(15)];
/// A JVM of this age has all of them.
const SETTLED: Duration = Duration::from_secs(20);
/// When so many kept stacks in a row could not be walked later either, no more are kept, until
/// something changes.
const MOST_IN_VAIN: u32 = 200;
/// Files that nobody maps any more are looked for so often.
const SWEEP: Duration = Duration::from_secs(10);

/// How much the programs' arrays hold.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Unwind rows, 8 bytes each. A JVM with its libraries has some 300,000.
    pub rows: u32,
    /// Pages of code, 8 bytes each.
    pub pages: u32,
    /// Mappings, 40 bytes each.
    pub mappings: u32,
    /// JVMs, 376 bytes each.
    pub jvms: u32,
}

impl Capacity {
    /// For some processes: 13 MB.
    pub const SOME: Self = Self { rows: 1 << 20, pages: 1 << 18, mappings: 1 << 15, jvms: 256 };
    /// For a whole host: 77 MB.
    pub const HOST: Self = Self { rows: 1 << 23, pages: 1 << 20, mappings: 1 << 16, jvms: 1024 };
}

/// Sends the programs what is known of a process.
pub trait Publish {
    /// What holds from now on.
    fn put(&mut self, pid: u32, code: &ProcessCode);
    /// Nothing is known any more.
    fn remove(&mut self, pid: u32);
}

/// A mapping with code.
#[derive(Clone, Debug)]
pub struct Code {
    /// As it is mapped.
    pub mapping: Mapping,
    /// Its rows.
    table: Option<Rc<Table>>,
}

/// A process.
#[derive(Debug)]
pub struct Known {
    /// Its mappings with code, by address.
    pub code: Vec<Code>,
    /// Its JVM, once it was read.
    pub jvm: Option<Box<Jvm>>,
    is_jvm: bool,
    /// Why its JVM was not read.
    pub jvm_error: Option<String>,
    entries: Vec<CodeMapping>,
    first_entry: u32,
    jvm_slot: Option<u32>,
    published: ProcessCode,
    /// Counts changes of what is known: see [`CodeOfProcesses::version`].
    version: u64,
    /// Kept stacks in a row that could not be walked later either.
    in_vain: u32,
    read: Instant,
    /// When its JVM was read first, and how often it was again.
    jvm_since: Option<Instant>,
    again: usize,
}

impl Known {
    /// Whether its JVM is to be read anew.
    fn is_due(&self) -> bool {
        let due = AGAIN.get(self.again).zip(self.jvm_since);
        due.is_some_and(|(after, since)| since.elapsed() >= *after)
    }

    /// The mapping that holds an address.
    pub fn code_at(&self, pc: u64) -> Option<&Code> {
        let behind = self.code.partition_point(|code| code.mapping.start <= pc);
        self.code[..behind].last().filter(|code| pc < code.mapping.end)
    }
}

/// All processes.
pub struct CodeOfProcesses {
    /// Rows of files.
    pub tables: Tables,
    mappings: Arena<CodeMapping>,
    jvms: Arena<JvmCode>,
    known: HashMap<i32, Known>,
    publish: Box<dyn Publish>,
    swept: Instant,
    versions: u64,
    /// Whether stacks that cannot be walked are kept for later of JVMs only: of a whole host, too
    /// much would be.
    pub keeps_of_jvms_only: bool,
}

impl CodeOfProcesses {
    /// None yet.
    pub fn new(
        rows: Arena<UnwindRow>,
        pages: Arena<RowPage>,
        mappings: Arena<CodeMapping>,
        jvms: Arena<JvmCode>,
        publish: Box<dyn Publish>,
    ) -> Self {
        let tables = Tables::new(rows, pages);
        Self {
            tables,
            mappings,
            jvms,
            known: HashMap::new(),
            publish,
            swept: Instant::now(),
            versions: 0,
            keeps_of_jvms_only: false,
        }
    }

    /// What is known of a process.
    pub fn get_mut(&mut self, pid: i32) -> Option<&mut Known> {
        self.known.get_mut(&pid)
    }

    /// Ids of all that are known.
    pub fn pids(&self) -> Vec<i32> {
        self.known.keys().copied().collect()
    }

    /// Mappings and JVMs, for walks in user mode.
    pub fn arrays(&self) -> (&[CodeMapping], &[JvmCode]) {
        (self.mappings.as_slice(), self.jvms.as_slice())
    }

    /// What walks in user mode look up of a process.
    pub fn tables_of(&self, pid: i32) -> user_mode::Tables<'_> {
        let Some(known) = self.known.get(&pid) else { return user_mode::Tables::NONE };
        let (rows, pages) = self.tables.arrays();
        let (mappings, jvms) = self.arrays();
        user_mode::Tables { rows, pages, mappings, jvms, process: known.published }
    }

    /// Grows when more becomes known of a process; 0: nothing is.
    pub fn version(&self, pid: i32) -> u64 {
        self.known.get(&pid).map_or(0, |known| known.version)
    }

    /// Whether a walk that ended at an address, in code that was not known, could go on by now.
    pub fn knows(&self, pid: i32, pc: u64) -> bool {
        let holds = |entry: &&CodeMapping| (entry.start..entry.end).contains(&pc);
        let entry = self.known.get(&pid).and_then(|known| known.entries.iter().find(holds));
        entry.is_some_and(|entry| entry.kind != MappingKind::Anonymous as u32)
    }

    /// Whether more can become known of a process soon: it starts, or its JVM does.
    pub fn is_starting(&self, pid: i32) -> bool {
        let Some(known) = self.known.get(&pid) else { return true };
        match known.jvm_since {
            Some(since) => since.elapsed() < STARTS_FOR,
            None => is_starting(pid),
        }
    }

    /// Says whether a stack that was kept could be walked: where none can, none need be kept.
    pub fn walked_late(&mut self, pid: i32, whole: bool) {
        let Some(known) = self.known.get_mut(&pid) else { return };
        known.in_vain = if whole { 0 } else { known.in_vain + 1 };
        if known.in_vain == MOST_IN_VAIN {
            known.published.flags &= !PROCESS_KEEPS_STACKS;
            self.publish.put(pid as u32, &known.published);
        }
    }

    /// Has the programs read the trace contexts of its threads, with each stack. `false`: the
    /// process is not known.
    pub(crate) fn read_contexts(&mut self, pid: i32, at: Place) -> bool {
        let Some(known) = self.known.get_mut(&pid) else { return false };
        let (kind, module, offset) = match at {
            Place::Static { offset } => (CONTEXT_STATIC, 0, offset),
            Place::Dynamic { module, offset } => (CONTEXT_DYNAMIC, module, offset),
        };
        known.published = ProcessCode {
            context_kind: kind,
            context_module: module,
            context_offset: offset,
            ..known.published
        };
        self.publish.put(pid as u32, &known.published);
        true
    }

    /// Forgets a process that ended or runs another program.
    pub fn forget(&mut self, pid: i32) {
        if let Some(known) = self.known.remove(&pid) {
            self.publish.remove(pid as u32);
            self.mappings.release(known.first_entry, known.entries.len() as u32);
            if let Some(slot) = known.jvm_slot {
                self.jvms.release(slot, 1);
            }
            if let Some(jvm) = known.jvm {
                jvm.table().into_iter().for_each(|table| self.tables.release(table));
            }
        }
        if self.swept.elapsed() > SWEEP {
            self.tables.sweep();
            self.swept = Instant::now();
        }
    }

    /// Reads a process (again), unless that was done just now. `is_jvm`: its HotSpot library is
    /// mapped. Whether what the programs know of it changed.
    pub fn refresh(&mut self, pid: i32, is_jvm: bool) -> bool {
        let just_now = |known: &Known| {
            let starts = known.is_jvm && known.jvm_since.is_none_or(|since| since.elapsed() < STARTS_FOR);
            let shortest = if starts { SHORTEST_WHILE_IT_STARTS } else { SHORTEST };
            known.read.elapsed() < shortest && known.is_jvm >= is_jvm
        };
        if self.known.get(&pid).is_some_and(just_now) {
            return false;
        }
        self.read(pid, is_jvm)
    }

    /// Whether a JVM among the processes could not be read yet, or is to be read anew.
    pub fn waits_for_jvm(&self, pid: i32) -> bool {
        self.known.get(&pid).is_some_and(|known| known.is_jvm && (known.jvm.is_none() || known.is_due()))
    }

    fn read(&mut self, pid: i32, is_jvm: bool) -> bool {
        let Ok(all) = maps::read(pid as u32) else { return false };
        let mut old = self.known.remove(&pid);
        let is_jvm = is_jvm || old.as_ref().is_some_and(|old| old.is_jvm);
        let mut code: Vec<Code> = Vec::new();
        for mapping in
            all.into_iter().filter(|m| m.executable && m.path != "[vsyscall]").take(MOST_MAPPINGS / 2)
        {
            // The same mapping as before needs no second look at its file.
            let before = old.as_ref().and_then(|old| old.code.iter().find(|code| code.mapping == mapping));
            let table = match before {
                Some(before) => before.table.clone(),
                None => self.tables.of_mapping(pid as u32, &mapping),
            };
            code.push(Code { mapping, table });
        }
        let due = old.as_ref().is_some_and(Known::is_due);
        let mut again = old.as_ref().map_or(0, |old| old.again) + usize::from(due);
        let mut jvm_since = old.as_ref().and_then(|old| old.jvm_since);
        let (mut jvm, mut jvm_error) = (old.as_mut().and_then(|old| old.jvm.take()), None);
        let mut jvm_slot = old.as_ref().and_then(|old| old.jvm_slot);
        // What a newer reading takes the place of; programs may be reading it until the newer one
        // is published.
        let mut replaced = None;
        if (jvm.is_none() || due) && is_jvm {
            match Jvm::open(pid as u32, &mut self.tables) {
                // Its stubs are not made yet, by which callers are recognised; Java code does not
                // run before they are.
                Ok(opened) if opened.shared.call_stub_return == 0 && is_starting(pid) => {
                    opened.table().into_iter().for_each(|table| self.tables.release(table));
                    jvm_error = Some("it had just begun to start".into());
                }
                Ok(opened) => {
                    replaced = jvm.take().zip(jvm_slot);
                    jvm_slot = self.jvms.put(&[opened.shared]);
                    jvm = Some(Box::new(opened));
                    if jvm_since.is_none() && age(pid).is_some_and(|age| age > SETTLED) {
                        again = AGAIN.len();
                    }
                    jvm_since.get_or_insert_with(Instant::now);
                }
                Err(error) if jvm.is_none() => jvm_error = Some(error.to_string()),
                // The older reading holds.
                Err(_) => {}
            }
        }
        let entries = entries(&code, jvm.as_deref());
        let unchanged = old
            .as_ref()
            .is_some_and(|old| old.entries == entries && old.jvm_slot == jvm_slot && old.is_jvm == is_jvm);
        let first_entry = match &old {
            Some(old) if unchanged => Some(old.first_entry),
            _ => self.mappings.put(&entries),
        };
        let Some(first_entry) = first_entry else {
            // No room for its mappings: it is as if it was never read.
            self.publish.remove(pid as u32);
            return false;
        };
        let mut published = old.as_ref().map(|old| old.published).unwrap_or_default();
        let mut version = old.as_ref().map_or(0, |old| old.version);
        let mut in_vain = old.as_ref().map_or(0, |old| old.in_vain);
        if !unchanged {
            self.versions += 1;
            (version, in_vain) = (self.versions, 0);
            let not_read = if is_jvm && jvm.is_none() { PROCESS_JVM_NOT_READ } else { 0 };
            let keeps = if is_jvm || !self.keeps_of_jvms_only { PROCESS_KEEPS_STACKS } else { 0 };
            published = ProcessCode {
                first_mapping: first_entry,
                mappings: entries.len() as u32,
                jvm: jvm_slot.map_or(0, |slot| slot + 1),
                flags: not_read | keeps,
                ..published
            };
            self.publish.put(pid as u32, &published);
            if let Some(old) = old {
                self.mappings.release(old.first_entry, old.entries.len() as u32);
            }
        }
        if let Some((jvm, slot)) = replaced {
            self.jvms.release(slot, 1);
            jvm.table().into_iter().for_each(|table| self.tables.release(table));
        }
        let read = Instant::now();
        let known = Known {
            code,
            jvm,
            is_jvm,
            jvm_error,
            entries,
            first_entry,
            jvm_slot,
            published,
            version,
            in_vain,
            read,
            jvm_since,
            again,
        };
        self.known.insert(pid, known);
        !unchanged
    }
}

/// Whether a process is so young that what its JVM lacks may still come.
fn is_starting(pid: i32) -> bool {
    age(pid).is_some_and(|age| age < SETTLED)
}

/// The entries of a process for the programs: its mappings, with the code cache of its JVM laid
/// over them.
fn entries(code: &[Code], jvm: Option<&Jvm>) -> Vec<CodeMapping> {
    let mut entries: Vec<CodeMapping> = Vec::new();
    for Code { mapping, table } in code {
        let anonymous = CodeMapping {
            start: mapping.start,
            end: mapping.end,
            origin: mapping.start,
            first_page: 0,
            pages: 0,
            kind: MappingKind::Anonymous as u32,
            heap: 0,
        };
        let without_rows = CodeMapping { kind: MappingKind::Rows as u32, ..anonymous };
        let entry = match table {
            Some(table) => table.mapping(mapping).unwrap_or(without_rows),
            None if mapping.is_file() => without_rows,
            None => anonymous,
        };
        entries.push(entry);
    }
    for (laid, end) in jvm.into_iter().flat_map(Jvm::entries).map(|entry| (entry, entry.end)) {
        let mut kept = Vec::with_capacity(entries.len() + 2);
        for entry in entries {
            let before = CodeMapping { end: entry.end.min(laid.start), ..entry };
            let behind = CodeMapping { start: entry.start.max(end), ..entry };
            kept.extend([before, behind].into_iter().filter(|part| part.start < part.end));
        }
        kept.push(laid);
        entries = kept;
    }
    entries.sort_by_key(|entry| entry.start);
    entries.truncate(MOST_MAPPINGS);
    entries
}
