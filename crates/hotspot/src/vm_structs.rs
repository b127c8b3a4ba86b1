//! The tables in which HotSpot describes its own data: `gHotSpotVMStructs`, `…Types`,
//! `…IntConstants`, `…LongConstants` (src/hotspot/share/runtime/vmStructs.hpp, made for the
//! serviceability agent and exported by every build since JDK 6).
//!
//! They are read in the live process, whose pointers are relocated. The tables should be the JVM's
//! but lie in memory that anyone may have written: strides, rows and names are bounded.

use std::collections::HashMap;

use crate::elf::LoadedElf;
use crate::memory::{Memory, Paged};
use crate::{Error, Result};

/// Rows of one table at most; JDK 8 to 25 have up to 1300.
const MOST_ROWS: usize = 1 << 14;
/// Bytes between two rows at most; real ones are 16 to 48.
const WIDEST_ROW: u64 = 256;
/// Longest name kept; the longest of JDK 25 has 93 characters.
const LONGEST_NAME: usize = 256;
/// Pages read at a time: all tables and their strings fit.
const PAGES: usize = 512;

/// A row of the table of fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldEntry {
    /// Its C++ type as written in the table: "int", "u2", "Method*"; empty where the table has
    /// none.
    pub type_name: String,
    /// Where it is.
    pub place: Place,
}

/// The place of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Static: at this address.
    Static(u64),
    /// In each object: this many bytes from its beginning.
    Offset(u64),
}

/// A row of the table of types.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TypeEntry {
    /// Its superclass; empty without one.
    pub superclass: String,
    /// `sizeof` it, bytes.
    pub size: u64,
}

/// All tables of one JVM.
#[derive(Clone, Debug, Default)]
pub struct VmStructs {
    fields: HashMap<String, FieldEntry>,
    types: HashMap<String, TypeEntry>,
    constants: HashMap<String, i64>,
}

impl VmStructs {
    /// Walks the tables of a live JVM.
    pub fn read(memory: &impl Memory, elf: &LoadedElf) -> Result<Self> {
        let tables = Tables { memory: Paged::new(memory, PAGES), elf };
        let mut all = Self::default();
        tables.fields(&mut all)?;
        tables.types(&mut all)?;
        // On JDK 8 to 25 no name is in both tables of constants.
        tables.constants("Int", &mut all)?;
        tables.constants("Long", &mut all)?;
        if all.fields.is_empty() || all.types.is_empty() {
            return Err(Error::NotReady { what: "the table gHotSpotVMStructs" });
        }
        Ok(all)
    }

    /// A field by "Type._name".
    pub fn field(&self, name: &str) -> Option<&FieldEntry> {
        self.fields.get(name)
    }

    /// The address of a static field by "Type._name".
    pub fn static_field(&self, name: &str) -> Option<u64> {
        match self.field(name)?.place {
            Place::Static(address) => Some(address),
            Place::Offset(_) => None,
        }
    }

    /// A type by its name.
    pub fn type_entry(&self, name: &str) -> Option<&TypeEntry> {
        self.types.get(name)
    }

    /// A constant by its name, of either table of constants.
    pub fn constant(&self, name: &str) -> Option<i64> {
        self.constants.get(name).copied()
    }

    /// All fields: "Type._name" and its row of the table, in no particular order.
    pub fn fields(&self) -> impl Iterator<Item = (&str, &FieldEntry)> {
        self.fields.iter().map(|(name, entry)| (name.as_str(), entry))
    }

    /// How many fields, types and constants there are.
    pub fn len(&self) -> (usize, usize, usize) {
        (self.fields.len(), self.types.len(), self.constants.len())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }

    /// Tables built by tests of what reads them.
    #[cfg(test)]
    pub(crate) fn made(fields: &[(&str, &str, Place)], types: &[(&str, u64)]) -> Self {
        let entry = |type_name: &str, place| FieldEntry { type_name: type_name.to_owned(), place };
        Self {
            fields: fields.iter().map(|(name, t, place)| ((*name).to_owned(), entry(t, *place))).collect(),
            types: types
                .iter()
                .map(|(name, size)| {
                    ((*name).to_owned(), TypeEntry { superclass: String::new(), size: *size })
                })
                .collect(),
            constants: HashMap::new(),
        }
    }
}

/// Reads the tables out of memory.
struct Tables<'a, M> {
    memory: Paged<&'a M>,
    elf: &'a LoadedElf,
}

impl<M: Memory> Tables<'_, M> {
    fn fields(&self, all: &mut VmStructs) -> Result<()> {
        let [type_name, field_name, type_string, is_static, offset, address] =
            ["TypeName", "FieldName", "TypeString", "IsStatic", "Offset", "Address"]
                .map(|column| self.offset(&format!("VMStructEntry{column}Offset")));
        let (type_name, field_name, type_string) = (type_name?, field_name?, type_string?);
        let (is_static, offset, address) = (is_static?, offset?, address?);
        for row in self.rows("VMStructs", "VMStructEntry", type_name)? {
            let name = format!("{}.{}", self.string(row + type_name)?, self.string(row + field_name)?);
            let place = match self.memory.read_u32(row + is_static)? {
                0 => Place::Offset(self.memory.read_u64(row + offset)?),
                _ => Place::Static(self.memory.read_u64(row + address)?),
            };
            all.fields.insert(name, FieldEntry { type_name: self.string(row + type_string)?, place });
        }
        Ok(())
    }

    fn types(&self, all: &mut VmStructs) -> Result<()> {
        let name = self.offset("VMTypeEntryTypeNameOffset")?;
        let superclass = self.offset("VMTypeEntrySuperclassNameOffset")?;
        let size = self.offset("VMTypeEntrySizeOffset")?;
        for row in self.rows("VMTypes", "VMTypeEntry", name)? {
            let superclass = self.string(row + superclass)?;
            let size = self.memory.read_u64(row + size)?;
            all.types.insert(self.string(row + name)?, TypeEntry { superclass, size });
        }
        Ok(())
    }

    fn constants(&self, width: &str, all: &mut VmStructs) -> Result<()> {
        let entry = format!("VM{width}ConstantEntry");
        let name = self.offset(&format!("{entry}NameOffset"))?;
        let value = self.offset(&format!("{entry}ValueOffset"))?;
        for row in self.rows(&format!("VM{width}Constants"), &entry, name)? {
            let value = match width {
                "Int" => i64::from(self.memory.read_i32(row + value)?),
                _ => self.memory.read_u64(row + value)? as i64,
            };
            all.constants.insert(self.string(row + name)?, value);
        }
        Ok(())
    }

    /// The addresses of the rows of a table: until the one whose name is null.
    fn rows(&self, table: &str, entry: &str, name: u64) -> Result<Vec<u64>> {
        let stride = self.variable(&format!("{entry}ArrayStride"))?;
        if !(8..=WIDEST_ROW).contains(&stride) {
            return Err(Error::Implausible { what: format!("gHotSpot{entry}ArrayStride"), value: stride });
        }
        let first = self.variable(table)?;
        let mut rows = Vec::new();
        for i in 0..MOST_ROWS as u64 {
            let row = first.wrapping_add(i * stride);
            // Offsets within a row are added without a check after this line.
            if row > u64::MAX - 2 * WIDEST_ROW {
                break;
            }
            if self.memory.read_u64(row + name)? == 0 {
                return Ok(rows);
            }
            rows.push(row);
        }
        Err(Error::Implausible {
            what: format!("number of rows of gHotSpot{table}"),
            value: MOST_ROWS as u64,
        })
    }

    /// The value of an exported variable.
    fn variable(&self, name: &str) -> Result<u64> {
        let name = format!("gHotSpot{name}");
        match self.elf.symbol(&self.memory, &name)? {
            Some(address) => Ok(self.memory.read_u64(address)?),
            None => Err(Error::MissingSymbol { symbol: name, jvm: "this JVM".to_owned() }),
        }
    }

    /// An offset within a row.
    fn offset(&self, name: &str) -> Result<u64> {
        let value = self.variable(name)?;
        if value >= WIDEST_ROW {
            return Err(Error::Implausible { what: format!("gHotSpot{name}"), value });
        }
        Ok(value)
    }

    /// The string that a cell points to; a null pointer is an empty one.
    fn string(&self, cell: u64) -> Result<String> {
        match self.memory.read_u64(cell)? {
            0 => Ok(String::new()),
            address => Ok(self.memory.read_c_string(address, LONGEST_NAME)?),
        }
    }
}
