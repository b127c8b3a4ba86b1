//! Names of native functions by address: of libraries, of the vDSO, of what their packagers split
//! off.
//!
//! ```text
//!   pid, pc ──▶ mapping ──▶ file (opened when it was first seen) ──▶ its own address ──▶ function ──▶ demangled
//! ```
//! Files are opened when a mapping is learned and not when a name is asked for, so that a process
//! may end, delete its files and take its container with it before its stacks are named. A table of
//! symbols is read when the first name of a file is asked for, once for all processes that map it.

mod debug_file;
mod demangle;
mod elf;

use std::fs::File;
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;

use fathom_hotspot::maps::Mapping;
use fathom_hotspot::memory::{Memory, ProcessMemory};
use fathom_recording::FrameType;
use rustc_hash::FxHashMap;

pub use demangle::demangle;
pub use elf::{ElfFacts, ElfFunctions};

use debug_file::open_regular;

/// Files kept open until their symbols are asked for; a JVM maps some 40. More are opened when they
/// are needed.
const MOST_OPEN: usize = 256;
/// Bytes of symbols kept. libjvm with all its symbols takes 4 MB.
const MOST_BYTES: usize = 96 << 20;
/// The vDSO has one or two pages.
const LARGEST_VDSO: u64 = 64 << 10;

/// Which file it is, whoever maps it. On overlay file systems a mapping and `stat` have different
/// devices, so this is the mapping's, for files that were deleted too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Key {
    File { device: u64, inode: u64 },
    Vdso,
}

/// A native frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativeFrame {
    /// [`FrameType::Jvm`] within libjvm, else [`FrameType::Native`].
    pub frame_type: FrameType,
    /// Its function; where none is known, the module in brackets: "[libz.so.1]".
    pub name: Arc<str>,
    /// Name of the file without its folders: "libjvm.so", "[vdso]"; "[anon]" of memory without a
    /// file.
    pub module: Arc<str>,
    /// Whether the function is known.
    pub known: bool,
}

/// How naming went.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct NativeCounts {
    /// Files whose symbols were read.
    pub files: usize,
    /// Of them, those that have the exported ones only, and no file of debugging information.
    pub exported_only: usize,
    /// Files that could not be opened, are no ELF files, or were too many.
    pub unreadable: usize,
}

/// One file.
#[derive(Debug)]
enum Entry {
    /// Not yet asked for. `None`: opened when it is.
    Waiting(Option<File>),
    Read {
        functions: ElfFunctions,
        facts: ElfFacts,
    },
    Unreadable,
}

/// Names native functions of any number of processes.
#[derive(Debug, Default)]
pub struct NativeSymbols {
    files: FxHashMap<Key, Entry>,
    modules: FxHashMap<String, Arc<str>>,
    open: usize,
    bytes: usize,
    counts: NativeCounts,
}

impl NativeSymbols {
    /// Nothing is known yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// How it went so far.
    pub fn counts(&self) -> NativeCounts {
        self.counts
    }

    /// Learns the mappings of a process: opens the files of those with code that are not known yet.
    pub fn learn<'a>(&mut self, pid: u32, mappings: impl IntoIterator<Item = &'a Mapping>) {
        for mapping in mappings.into_iter().filter(|mapping| mapping.executable) {
            let Some(key) = key(mapping) else { continue };
            if self.files.contains_key(&key) {
                continue;
            }
            let entry = match key {
                // The same in every process, and in memory only.
                Key::Vdso => self.read_vdso(pid, mapping),
                Key::File { .. } => {
                    let file = (self.open < MOST_OPEN).then(|| open_mapped(pid, mapping)).flatten();
                    self.open += usize::from(file.is_some());
                    Entry::Waiting(file)
                }
            };
            self.files.insert(key, entry);
        }
    }

    /// The frame of an address of a process that lies in a mapping of it.
    pub fn frame(&mut self, pid: u32, mapping: &Mapping, pc: u64) -> NativeFrame {
        let module = match mapping.file_name() {
            "" => "[anon]",
            name => name,
        };
        let module = match self.modules.get(module) {
            Some(known) => known.clone(),
            None => {
                let name: Arc<str> = module.into();
                self.modules.insert(module.to_owned(), name.clone());
                name
            }
        };
        let frame_type = if &*module == "libjvm.so" { FrameType::Jvm } else { FrameType::Native };
        let name = self.name(pid, mapping, pc);
        let known = name.is_some();
        let name = name.unwrap_or_else(|| match module.starts_with('[') {
            true => module.clone(),
            false => format!("[{module}]").into(),
        });
        NativeFrame { frame_type, name, module, known }
    }

    /// The function of an address, where it is known.
    pub fn name(&mut self, pid: u32, mapping: &Mapping, pc: u64) -> Option<Arc<str>> {
        let key = key(mapping)?;
        self.read(pid, mapping, key);
        let Entry::Read { functions, facts } = self.files.get_mut(&key)? else { return None };
        let offset = pc.checked_sub(mapping.start)?.checked_add(mapping.offset)?;
        functions.name(facts.address(offset)?)
    }

    /// Reads the symbols of a file, unless that was done or tried.
    fn read(&mut self, pid: u32, mapping: &Mapping, key: Key) {
        if !self.files.contains_key(&key) {
            self.learn(pid, [mapping]);
        }
        let Some(entry @ Entry::Waiting(_)) = self.files.get_mut(&key) else { return };
        let Entry::Waiting(file) = std::mem::replace(entry, Entry::Unreadable) else { return };
        self.open -= usize::from(file.is_some());
        let read = (self.bytes < MOST_BYTES)
            .then(|| file.or_else(|| open_mapped(pid, mapping)))
            .flatten()
            .and_then(|file| ElfFunctions::read(&file));
        let entry = match read {
            Some((mut functions, facts)) => {
                let mut whole = facts.has_symtab;
                if !whole && let Some(fuller) = debug_file::functions(pid, &mapping.path, &facts) {
                    functions.replace_with(fuller);
                    whole = true;
                }
                self.counts.exported_only += usize::from(!whole);
                self.keep(functions, facts)
            }
            None => self.unreadable(),
        };
        self.files.insert(key, entry);
    }

    fn read_vdso(&mut self, pid: u32, mapping: &Mapping) -> Entry {
        let size = (mapping.end - mapping.start).min(LARGEST_VDSO) as usize;
        let image = ProcessMemory::open(pid, mapping.start)
            .ok()
            .and_then(|memory| memory.read_bytes(mapping.start, size).ok());
        match image.and_then(|image| ElfFunctions::of_image(&image)) {
            Some((functions, facts)) => self.keep(functions, facts),
            None => self.unreadable(),
        }
    }

    fn keep(&mut self, functions: ElfFunctions, facts: ElfFacts) -> Entry {
        self.bytes += functions.bytes();
        self.counts.files += 1;
        Entry::Read { functions, facts }
    }

    fn unreadable(&mut self) -> Entry {
        self.counts.unreadable += 1;
        Entry::Unreadable
    }
}

/// Which file a mapping is of.
fn key(mapping: &Mapping) -> Option<Key> {
    if mapping.path == "[vdso]" {
        return Some(Key::Vdso);
    }
    mapping.is_file().then_some(Key::File { device: mapping.device, inode: mapping.inode })
}

/// Opens the very file that is mapped, or none.
fn open_mapped(pid: u32, mapping: &Mapping) -> Option<File> {
    let [handle, path] = mapping.files(pid);
    open_regular(&handle).or_else(|| {
        let file = open_regular(&path)?;
        // Another file may lie there by now.
        file.metadata().is_ok_and(|meta| meta.ino() == mapping.inode).then_some(file)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use fathom_hotspot::maps;

    fn mapping_of(pc: u64) -> Mapping {
        let all = maps::read(std::process::id()).unwrap();
        all.into_iter().find(|mapping| (mapping.start..mapping.end).contains(&pc)).unwrap()
    }

    #[test]
    fn own_functions_and_those_of_the_c_library_have_their_names() {
        let mut symbols = NativeSymbols::new();
        let pid = std::process::id();
        let here = own_functions_and_those_of_the_c_library_have_their_names as *const () as u64;
        let frame = symbols.frame(pid, &mapping_of(here), here + 1);
        assert!(
            frame.name.ends_with("own_functions_and_those_of_the_c_library_have_their_names"),
            "{frame:?}"
        );
        assert!(frame.name.starts_with("fathom_capture::symbols::tests::"), "{frame:?}");
        assert_eq!(frame.frame_type, FrameType::Native);
        let getpid = libc::getpid as *const () as u64;
        let frame = symbols.frame(pid, &mapping_of(getpid), getpid);
        assert_eq!((&*frame.name, frame.known), ("getpid", true));
        assert!(frame.module.starts_with("libc"), "{frame:?}");
        assert_eq!(symbols.counts().files, 2);
    }

    #[test]
    fn the_vdso_has_names_too() {
        let all = maps::read(std::process::id()).unwrap();
        let Some(vdso) = all.iter().find(|mapping| mapping.path == "[vdso]") else {
            fathom_testing::skip("this kernel maps no vDSO");
            return;
        };
        let mut symbols = NativeSymbols::new();
        let mut names: Vec<_> = (vdso.start..vdso.end)
            .step_by(16)
            .map(|pc| symbols.frame(std::process::id(), vdso, pc))
            .filter(|frame| frame.known)
            .map(|frame| frame.name)
            .collect();
        names.dedup();
        assert!(names.iter().any(|name| name.contains("clock_gettime")), "{names:?}");
    }

    #[test]
    fn a_file_that_is_deleted_and_a_process_that_is_gone_are_named_all_the_same() {
        let folder = tempfile::tempdir().unwrap();
        let sleep = folder.path().join("sleep");
        std::fs::copy("/bin/sleep", &sleep).unwrap();
        let mut child = std::process::Command::new(&sleep).arg("60").spawn().unwrap();
        let pid = child.id();
        // Until the program is there in place of this one.
        let mapping = loop {
            let found =
                maps::read(pid).unwrap().into_iter().find(|m| m.executable && m.file_name() == "sleep");
            if let Some(mapping) = found {
                break mapping;
            }
        };
        let mut symbols = NativeSymbols::new();
        symbols.learn(pid, [&mapping]);
        child.kill().unwrap();
        child.wait().unwrap();
        std::fs::remove_file(&sleep).unwrap();
        symbols.frame(pid, &mapping, mapping.start);
        assert_eq!(symbols.counts().files, 1, "{:?}", symbols.counts());
        // One that was never learned cannot be opened any more.
        let mut late = NativeSymbols::new();
        let frame = late.frame(pid, &mapping, mapping.start);
        assert_eq!((&*frame.name, &*frame.module, frame.known), ("[sleep]", "sleep", false));
        assert_eq!(late.counts().unreadable, 1);
    }

    #[test]
    fn memory_without_a_file_is_called_so() {
        let mapping =
            Mapping { inode: 0, path: String::new(), ..mapping_of(libc::getpid as *const () as u64) };
        let frame = NativeSymbols::new().frame(std::process::id(), &mapping, mapping.start);
        assert_eq!((&*frame.name, frame.known), ("[anon]", false));
    }

    /// A name without arguments of templates and marks of copies.
    fn plain(name: &str) -> String {
        let name = name.split(" [clone").next().unwrap().split(".part.").next().unwrap();
        let mut depth = 0i32;
        let keep = |c: &char| {
            depth += i32::from(*c == '<');
            let outside = depth <= 0;
            depth -= i32::from(*c == '>');
            outside
        };
        name.chars().filter(keep).collect()
    }

    #[test]
    fn names_of_libjvm_are_those_of_nm_and_the_demangler() {
        let homes = ["/usr/lib/jvm/java-17-openjdk-amd64", "/usr/lib/jvm/temurin-25-jdk-amd64"];
        let library = homes.iter().map(|home| format!("{home}/lib/server/libjvm.so"));
        let library = library.into_iter().find(|path| std::path::Path::new(path).is_file());
        let nm = std::process::Command::new("nm").arg("--version").output();
        let (Some(library), true) = (library, nm.is_ok()) else {
            fathom_testing::skip("no libjvm.so in /usr/lib/jvm, or no nm");
            return;
        };
        let (mut functions, facts) = ElfFunctions::read(&File::open(&library).unwrap()).unwrap();
        assert!(facts.has_symtab && facts.build_id.len() == 20 && functions.len() > 30_000);
        // Each function by its first address: one of the names that nm has for it, demangled by
        // binutils.
        let output = std::process::Command::new("sh")
            .args(["-c", "nm \"$0\" | grep -i ' [tw] ' | c++filt -p", &library])
            .output()
            .unwrap();
        let text = String::from_utf8(output.stdout).unwrap();
        let mut listed: FxHashMap<u64, Vec<&str>> = FxHashMap::default();
        for line in text.lines() {
            let (address, name) = line.split_once(' ').unwrap();
            // Undefined ones have no address.
            let Ok(address) = u64::from_str_radix(address, 16) else { continue };
            listed.entry(address).or_default().push(&name[2..]);
        }
        let (mut agree, mut differ) = (0, Vec::new());
        for (address, names) in &listed {
            let Some(found) = functions.name(*address) else { continue };
            // Constants among template arguments are spelled in more than one way.
            if names.iter().any(|name| plain(name) == plain(&found)) {
                agree += 1;
            } else if differ.len() < 10 {
                differ.push((found, names.clone()));
            } else {
                differ.push((found, Vec::new()));
            }
        }
        eprintln!(
            "{library}: {agree} names agree with nm and c++filt, {} differ: {:?}",
            differ.len(),
            &differ[..differ.len().min(10)]
        );
        assert!(differ.len() * 200 < agree, "{}", differ.len());
    }
}
