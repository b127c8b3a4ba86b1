//! The flags of a live JVM and where each was set, as `jcmd PID VM.flags -all` prints them, without
//! a request to the JVM.

use std::fmt;

use crate::layout::FlagLayout;
use crate::memory::{Memory, Paged};
use crate::{Error, Result, Vm};

/// Flags read at most; JDK 8 has 1448, later ones fewer.
const MOST_FLAGS: u64 = 1 << 12;
/// Longest name of a flag read; the longest of JDK 25 has 48 characters.
const LONGEST_NAME: usize = 128;
/// Longest text value read; lists like `-XX:CompileCommand` may be long.
const LONGEST_TEXT: usize = 4 << 10;
/// Pages of memory kept while they are read: the table, its strings and the values lie in some 40.
const PAGES: usize = 512;

/// The value of a flag.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// `bool`.
    Bool(bool),
    /// `int`, `intx`.
    Signed(i64),
    /// `uint`, `uintx`, `uint64_t`, `size_t`.
    Unsigned(u64),
    /// `double`.
    Double(f64),
    /// `ccstr`, `ccstrlist`; none: not set.
    Text(Option<String>),
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(value) => write!(f, "{value}"),
            Self::Signed(value) => write!(f, "{value}"),
            Self::Unsigned(value) => write!(f, "{value}"),
            Self::Double(value) => write!(f, "{value:.6}"),
            Self::Text(value) => f.write_str(value.as_deref().unwrap_or("")),
        }
    }
}

/// What set a flag (`JVMFlagOrigin`, on JDK 8 to 10 `Flag::Flags`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// Nothing: its default.
    Default,
    /// The command line.
    CommandLine,
    /// `JAVA_TOOL_OPTIONS`, `_JAVA_OPTIONS` or `JDK_JAVA_OPTIONS`.
    Environment,
    /// A file of flags.
    ConfigFile,
    /// The management interface, at run time.
    Management,
    /// The JVM itself, by the machine and other flags.
    Ergonomic,
    /// The attach interface, at run time.
    Attach,
    /// The JVM itself, for its own purposes.
    Internal,
    /// The run-time image.
    Jimage,
    /// An unknown number.
    Unknown(u8),
}

impl Origin {
    fn of(number: u64) -> Self {
        match number {
            0 => Self::Default,
            1 => Self::CommandLine,
            2 => Self::Environment,
            3 => Self::ConfigFile,
            4 => Self::Management,
            5 => Self::Ergonomic,
            6 => Self::Attach,
            7 => Self::Internal,
            8 => Self::Jimage,
            other => Self::Unknown(other as u8),
        }
    }

    /// As the JVM prints it: "command line", "ergonomic".
    pub fn text(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::CommandLine => "command line",
            Self::Environment => "environment",
            Self::ConfigFile => "config file",
            Self::Management => "management",
            Self::Ergonomic => "ergonomic",
            Self::Attach => "attach",
            Self::Internal => "internal",
            Self::Jimage => "jimage",
            Self::Unknown(_) => "unknown",
        }
    }
}

/// A flag.
#[derive(Clone, Debug, PartialEq)]
pub struct Flag {
    /// "UseG1GC".
    pub name: String,
    /// Its value now.
    pub value: Value,
    /// What set it.
    pub origin: Origin,
}

/// All flags of a JVM, by name.
#[derive(Clone, Debug, Default)]
pub struct Flags {
    all: Vec<Flag>,
    /// Rows of the table whose type or value could not be read.
    pub skipped: usize,
}

impl Flags {
    /// Reads all of them.
    pub fn read<M: Memory>(vm: &Vm<M>) -> Result<Self> {
        let memory = &Paged::new(&vm.memory, PAGES);
        let layout = FlagLayout::of(vm.source())?;
        let table = layout.flags.read_u64(memory)?;
        let count = layout.count.read_u64(memory)?;
        if count == 0 || count > MOST_FLAGS {
            return Err(Error::Implausible { what: "number of JVM flags".to_owned(), value: count });
        }
        let mut flags = Self::default();
        for i in 0..count {
            let flag = table.wrapping_add(i * u64::from(layout.size_of.0));
            let name = layout.name.read_u64(memory, flag)?;
            // The last one is empty.
            if name == 0 {
                break;
            }
            match flag_at(memory, &layout, flag, name) {
                Ok(flag) => flags.all.push(flag),
                Err(_) => flags.skipped += 1,
            }
        }
        flags.all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(flags)
    }

    /// A flag by name.
    pub fn get(&self, name: &str) -> Option<&Flag> {
        let at = self.all.binary_search_by(|flag| flag.name.as_str().cmp(name)).ok()?;
        self.all.get(at)
    }

    /// Whether a flag is there, is a `bool`, and is set.
    pub fn is_on(&self, name: &str) -> bool {
        self.get(name).is_some_and(|flag| flag.value == Value::Bool(true))
    }

    /// All of them, by name.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Flag> {
        self.all.iter()
    }
}

fn flag_at(memory: &impl Memory, layout: &FlagLayout, flag: u64, name: u64) -> Result<Flag> {
    let type_of = layout.type_of.read_u64(memory, flag)?;
    // Eight bytes: a `const char*` (until JDK 15); else a number (jvmFlag.hpp,
    // `JVM_FLAG_ALL_TYPES_DO`).
    let type_name = if layout.type_of.width == 8 {
        memory.read_c_string(type_of, LONGEST_NAME)?
    } else {
        let names =
            ["bool", "int", "uint", "intx", "uintx", "uint64_t", "size_t", "double", "ccstr", "ccstrlist"];
        let name = usize::try_from(type_of).ok().and_then(|number| names.get(number));
        name.copied().unwrap_or("").to_owned()
    };
    let at = layout.address.read_u64(memory, flag)?;
    let value = match type_name.as_str() {
        "bool" => Value::Bool(memory.read_u8(at)? != 0),
        "int" => Value::Signed(i64::from(memory.read_i32(at)?)),
        "intx" => Value::Signed(memory.read_u64(at)? as i64),
        "uint" => Value::Unsigned(u64::from(memory.read_u32(at)?)),
        "uintx" | "uint64_t" | "size_t" => Value::Unsigned(memory.read_u64(at)?),
        "double" => Value::Double(f64::from_bits(memory.read_u64(at)?)),
        "ccstr" | "ccstrlist" => match memory.read_u64(at)? {
            0 => Value::Text(None),
            text => Value::Text(Some(memory.read_c_string(text, LONGEST_TEXT)?)),
        },
        _ => return Err(Error::Implausible { what: "type of a JVM flag".to_owned(), value: type_of }),
    };
    let mask = layout.origin_mask.map_or(0xf, |mask| mask.0 as u64);
    let origin = Origin::of(layout.bits.read_u64(memory, flag)? & mask);
    Ok(Flag { name: memory.read_c_string(name, LONGEST_NAME)?, value, origin })
}
