//! The rows of all files that are mapped by a process that is followed, each once.

use std::collections::HashMap;
use std::rc::Rc;

use fathom_hotspot::maps::Mapping;

use super::arena::Arena;
use super::elf_code::{FileId, Opened, Segments};
use super::rows::Paged;
use super::shared::{CODE_PAGE_SHIFT, CodeMapping, MappingKind, RowPage, UnwindRow};

/// Rows that are in the programs' arrays.
#[derive(Debug)]
pub struct Table {
    first_row: u32,
    rows: u32,
    first_page: u32,
    pages: u32,
    /// Address at which its first page begins, by the file's own addresses.
    origin: u64,
    segments: Segments,
}

impl Table {
    /// Where a mapping's bytes lie by the file's own addresses, less where they lie in the process.
    pub fn address_in_file(&self, mapping: &Mapping) -> Option<u64> {
        let segment = self
            .segments
            .iter()
            // The mapping begins at the page that the segment begins in.
            .find(|(offset, size, _)| (offset & !0xfff..offset + size).contains(&mapping.offset))?;
        Some(segment.2.wrapping_sub(segment.0).wrapping_add(mapping.offset))
    }

    /// The entry of a mapping of its file.
    pub fn mapping(&self, mapping: &Mapping) -> Option<CodeMapping> {
        let bias = mapping.start.wrapping_sub(self.address_in_file(mapping)?);
        Some(self.entry(mapping.start, mapping.end, bias.wrapping_add(self.origin), MappingKind::Rows, 0))
    }

    /// An entry for `[start, end)` whose first page begins at `origin`.
    pub fn entry(&self, start: u64, end: u64, origin: u64, kind: MappingKind, heap: u32) -> CodeMapping {
        let (first_page, pages) = (self.first_page, self.pages);
        CodeMapping { start, end, origin, first_page, pages, kind: kind as u32, heap }
    }
}

/// All tables.
#[derive(Debug)]
pub struct Tables {
    rows: Arena<UnwindRow>,
    pages: Arena<RowPage>,
    /// A file that is no ELF file, or for which there was no room, has none.
    by_file: HashMap<FileId, Option<Rc<Table>>>,
    /// Files for which there was no room.
    refused: u64,
}

impl Tables {
    /// None yet.
    pub fn new(rows: Arena<UnwindRow>, pages: Arena<RowPage>) -> Self {
        Self { rows, pages, by_file: HashMap::new(), refused: 0 }
    }

    /// The table of the file of a mapping; `None` when it has none.
    pub fn of_mapping(&mut self, pid: u32, mapping: &Mapping) -> Option<Rc<Table>> {
        let opened = Opened::of(pid, mapping)?;
        let id = opened.id();
        if let Some(table) = self.by_file.get(&id) {
            return table.clone();
        }
        let table = opened.read().and_then(|(paged, segments)| self.put(paged, segments)).map(Rc::new);
        self.by_file.insert(id, table.clone());
        table
    }

    /// Puts rows where the programs find them.
    pub fn put(&mut self, mut paged: Paged, segments: Segments) -> Option<Table> {
        let Some(first_row) = self.rows.put(&paged.rows) else {
            self.refused += 1;
            return None;
        };
        for page in &mut paged.pages {
            page.first += first_row;
        }
        let rows = paged.rows.len() as u32;
        let Some(first_page) = self.pages.put(&paged.pages) else {
            self.rows.release(first_row, rows);
            self.refused += 1;
            return None;
        };
        let pages = paged.pages.len() as u32;
        debug_assert_eq!(paged.origin % (1 << CODE_PAGE_SHIFT), 0);
        Some(Table { first_row, rows, first_page, pages, origin: paged.origin, segments })
    }

    /// Takes a table back that is of no file.
    pub fn release(&mut self, table: &Table) {
        self.rows.release(table.first_row, table.rows);
        self.pages.release(table.first_page, table.pages);
    }

    /// Drops the tables of files that nobody maps any more.
    pub fn sweep(&mut self) {
        let unused =
            |table: &Option<Rc<Table>>| table.as_ref().is_none_or(|table| Rc::strong_count(table) == 1);
        let gone: Vec<FileId> =
            self.by_file.iter().filter(|(_, table)| unused(table)).map(|(id, _)| *id).collect();
        for id in gone {
            if let Some(Some(table)) = self.by_file.remove(&id) {
                self.release(&table);
            }
        }
    }

    /// (rows, pages of code, files refused for lack of room).
    pub fn used(&self) -> (u32, u32, u64) {
        (self.rows.used(), self.pages.used(), self.refused)
    }

    /// Rows and pages, for walks in user mode.
    pub fn arrays(&self) -> (&[UnwindRow], &[RowPage]) {
        (self.rows.as_slice(), self.pages.as_slice())
    }
}
