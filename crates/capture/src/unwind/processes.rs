//! The code of each process that is followed: kept as its mappings change, in the arrays that the programs read.

use std::collections::HashMap;
use std::rc::Rc;
use std::time::{Duration, Instant};

use fathom_hotspot::maps::{self, Mapping};

use super::arena::Arena;
use super::jvm::Jvm;
use super::shared::{
    CodeMapping, JvmCode, MappingKind, PROCESS_JVM_NOT_READ, ProcessCode, RowPage, UnwindRow,
};
use super::tables::{Table, Tables};

/// Mappings of one process at most: the programs' search has 12 steps.
const MOST_MAPPINGS: usize = 2048;
/// A process is not read again before this: an address that no mapping holds may come from a stack that is damaged,
/// each time anew.
const SHORTEST: Duration = Duration::from_millis(200);
/// Files that nobody maps any more are looked for so often.
const SWEEP: Duration = Duration::from_secs(10);

/// How much the programs' arrays hold.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Unwind rows, 8 bytes each. A JVM with its libraries has some 300 000.
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

/// Tells the programs what is known of a process.
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
    read: Instant,
}

impl Known {
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
        Self { tables, mappings, jvms, known: HashMap::new(), publish, swept: Instant::now() }
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

    /// Reads a process (again), unless that was done just now. `is_jvm`: its HotSpot library is mapped. Whether what
    /// the programs know of it changed.
    pub fn refresh(&mut self, pid: i32, is_jvm: bool) -> bool {
        if self.known.get(&pid).is_some_and(|known| known.read.elapsed() < SHORTEST && known.is_jvm >= is_jvm)
        {
            return false;
        }
        self.read(pid, is_jvm)
    }

    /// Whether a JVM among the processes could not be read yet.
    pub fn waits_for_jvm(&self, pid: i32) -> bool {
        self.known.get(&pid).is_some_and(|known| known.is_jvm && known.jvm.is_none())
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
        let (mut jvm, mut jvm_error) = (old.as_mut().and_then(|old| old.jvm.take()), None);
        let mut jvm_slot = old.as_ref().and_then(|old| old.jvm_slot);
        if jvm.is_none() && is_jvm {
            match Jvm::open(pid as u32, &mut self.tables) {
                Ok(opened) => {
                    jvm_slot = self.jvms.put(&[opened.shared]);
                    jvm = Some(Box::new(opened));
                }
                Err(error) => jvm_error = Some(error.to_string()),
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
        if !unchanged {
            let flags = if is_jvm && jvm.is_none() { PROCESS_JVM_NOT_READ } else { 0 };
            let published = ProcessCode {
                first_mapping: first_entry,
                mappings: entries.len() as u32,
                jvm: jvm_slot.map_or(0, |slot| slot + 1),
                flags,
            };
            self.publish.put(pid as u32, &published);
            if let Some(old) = old {
                self.mappings.release(old.first_entry, old.entries.len() as u32);
            }
        }
        let known =
            Known { code, jvm, is_jvm, jvm_error, entries, first_entry, jvm_slot, read: Instant::now() };
        self.known.insert(pid, known);
        !unchanged
    }
}

/// The entries of a process for the programs: its mappings, with the code cache of its JVM laid over them.
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
