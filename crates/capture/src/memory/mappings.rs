//! What a mapping is for, as far as its process' address space and its JVM show.
//!
//! The kernel's program reports of each fault where its mapping begins and ends, its rights and its
//! file. The rest is in `/proc/PID/maps`, which is read again when a mapping is new to it, and in
//! the JVM's own tables.

use std::collections::{HashMap, HashSet};
use std::ops::Range;
use std::time::{Duration, Instant};

use fathom_hotspot::heap::HeapBounds;
use fathom_hotspot::maps::{self, Mapping};
use fathom_recording::vocabulary::fault;

use super::record::FaultMapping;
use crate::unwind::SharedUnwinder;

/// The share of the time that the mappings of a process are read for at most: a JVM's take a
/// millisecond, and a program that maps memory a thousand times a second would be read a thousand
/// times.
const SHARE: u32 = 50;
/// How often it is looked whether a JVM can be read yet.
const TRY_EVERY: Duration = Duration::from_millis(300);
/// Names of a process that are distinguished; a program may map files by the million.
const MOST_NAMES: usize = 200;
/// Mappings of more are [`OTHER_FILES`].
const OTHER_FILES: &str = "other files";
/// `HEAP_MAX_SIZE` of the C library's allocator (malloc/arena.c): what its arenas reserve, and are
/// aligned to.
const ARENA: u64 = 64 << 20;
/// A stack is smaller, unless it has grown into one with what lies next to it.
const LARGEST_STACK: u64 = 1 << 30;
/// include/linux/mm.h.
const VM_WRITE: u64 = 2;
const VM_SHARED: u64 = 8;
const VM_GROWSDOWN: u64 = 0x100;
/// ZGC maps the heap as a file without a name (gc/z/zPhysicalMemoryBacking_linux.cpp).
const Z_HEAP: &str = "java_heap";

/// Mappings of all recorded processes.
#[derive(Default)]
pub(super) struct Mappings {
    processes: HashMap<u32, Space>,
}

#[derive(Default)]
struct Space {
    all: Vec<Mapping>,
    /// When they may be read again; `None`: at once.
    next: Option<Instant>,
    bounds: Option<HeapBounds>,
    code: Vec<Range<u64>>,
    tried: Option<Instant>,
    names: HashSet<String>,
    /// Paths of files by inode and name.
    files: HashMap<(u64, String), String>,
}

impl Mappings {
    /// What is known of a process is void.
    pub(super) fn forget(&mut self, pid: u32) {
        self.processes.remove(&pid);
    }

    /// Those that are new at the end of a recording are worth one more look.
    pub(super) fn look_once_more(&mut self) {
        self.processes.values_mut().for_each(|space| space.next = None);
    }

    /// What an address is in, in the words of the vocabulary. `address`: of a fault; the mapping's
    /// start where many are counted together.
    pub(super) fn name(
        &mut self,
        pid: u32,
        mapping: &FaultMapping,
        address: u64,
        unwinder: Option<&SharedUnwinder>,
    ) -> String {
        let space = self.processes.entry(pid).or_default();
        space.learn_jvm(pid, unwinder);
        let name = space.class(pid, mapping, address);
        if !space.names.contains(&name) {
            if space.names.len() >= MOST_NAMES {
                return OTHER_FILES.to_owned();
            }
            space.names.insert(name.clone());
        }
        name
    }
}

impl Space {
    /// The parts of the address space that the JVM knows of, once it can be read.
    fn learn_jvm(&mut self, pid: u32, unwinder: Option<&SharedUnwinder>) {
        if self.bounds.is_some() || self.tried.is_some_and(|tried| tried.elapsed() < TRY_EVERY) {
            return;
        }
        self.tried = Some(Instant::now());
        let Some(mut unwinder) = unwinder.map(|unwinder| unwinder.borrow_mut()) else { return };
        let Some(jvm) = unwinder.code.get_mut(pid.cast_signed()).and_then(|known| known.jvm.as_deref())
        else {
            return;
        };
        self.bounds = HeapBounds::read(&jvm.vm).ok();
        let heaps = jvm.shared.heap.iter().take(usize::from(jvm.shared.heaps));
        self.code = heaps.map(|heap| heap.low..heap.end).collect();
    }

    fn class(&mut self, pid: u32, mapping: &FaultMapping, address: u64) -> String {
        let bounds = self.bounds.as_ref();
        if bounds.is_some_and(|b| b.heap.as_ref().is_some_and(|heap| heap.contains(&address)))
            || mapping.name.contains(Z_HEAP)
        {
            return fault::HEAP.to_owned();
        }
        if self.code.iter().any(|heap| heap.contains(&address)) {
            return fault::CODE_CACHE.to_owned();
        }
        if mapping.end == 0 {
            // The kernel's program could not look; what is there now was there then, most likely.
            let there = self.containing(pid, address).map(|m| listed(m, mapping.sp));
            return match there {
                Some(there) => self.class(pid, &there, address),
                None => fault::NOT_SEEN.to_owned(),
            };
        }
        let reached = bounds.and_then(|b| b.classes.clone());
        let classes = reached.is_some_and(|reached| self.class_space(&reached).contains(&mapping.start));
        let area = mapping.start..mapping.end;
        if mapping.inode != 0 {
            let path = self.path(pid, mapping).unwrap_or_else(|| mapping.name.clone());
            let copies = mapping.flags & VM_WRITE != 0 && mapping.flags & VM_SHARED == 0;
            return if copies { format!("{}{path}", fault::PRIVATE_COPY) } else { path };
        }
        if mapping.flags & VM_GROWSDOWN != 0
            || (area.contains(&mapping.sp) && area.end - area.start <= LARGEST_STACK)
        {
            return fault::STACK.to_owned();
        }
        if classes {
            return fault::CLASS_SPACE.to_owned();
        }
        let known = self.at(pid, mapping).map(|m| m.path.clone()).unwrap_or_default();
        match known.as_str() {
            "[heap]" => fault::MALLOC.to_owned(),
            "[vdso]" | "[vvar]" | "[vvar_vclock]" => fault::VDSO.to_owned(),
            _ if area.start % ARENA == 0 && self.reserves_arena(&area) => fault::ARENA.to_owned(),
            _ => fault::ANONYMOUS.to_owned(),
        }
    }

    /// Where the class space lies in what compressed pointers reach: the mappings from its base on
    /// without a hole, up to the end of what the JVM reserved and has not used yet. Pointers reach
    /// 4 GB, and where the baseline is no low address, the C library's blocks lie within that.
    fn class_space(&self, reached: &Range<u64>) -> Range<u64> {
        let mut mappings: Vec<&Mapping> = self.all.iter().filter(|m| reached.contains(&m.start)).collect();
        mappings.sort_unstable_by_key(|m| m.start);
        if mappings.first().is_none_or(|first| first.start != reached.start) {
            return reached.clone();
        }
        let (mut end, mut reserved) = (reached.start, None);
        for mapping in mappings {
            if mapping.start != end {
                break;
            }
            end = mapping.end;
            if !mapping.readable && !mapping.writable && mapping.path.is_empty() {
                reserved = Some(end);
            }
        }
        reached.start..reserved.unwrap_or(end)
    }

    /// Whether what lies behind a mapping completes it to an arena of the C library: it is reserved
    /// without rights.
    fn reserves_arena(&self, area: &Range<u64>) -> bool {
        let end = area.start + ARENA;
        area.end == end
            || self.all.iter().any(|m| {
                (area.end..end).contains(&m.start)
                    && m.end >= end
                    && !m.readable
                    && !m.writable
                    && m.path.is_empty()
            })
    }

    /// The mapping as the kernel lists it; read again where it is not there.
    fn at(&mut self, pid: u32, mapping: &FaultMapping) -> Option<&Mapping> {
        let is = |m: &Mapping| m.start <= mapping.start && mapping.start < m.end && m.inode == mapping.inode;
        if !self.all.iter().any(is) {
            self.read(pid);
        }
        self.all.iter().find(|m| is(m))
    }

    /// The mapping that holds an address, as the kernel lists it; read again where there is none.
    fn containing(&mut self, pid: u32, address: u64) -> Option<&Mapping> {
        let holds = |m: &&Mapping| m.start <= address && address < m.end;
        if !self.all.iter().any(|m| holds(&m)) {
            self.read(pid);
        }
        self.all.iter().find(holds)
    }

    /// The path of a file: of the mapping, or of any other of the same file, also one that is gone
    /// by now.
    fn path(&mut self, pid: u32, mapping: &FaultMapping) -> Option<String> {
        let file = (mapping.inode, mapping.name.clone());
        if let Some(path) = self.files.get(&file) {
            return Some(path.clone());
        }
        let path = self.at(pid, mapping).map(|m| m.path.clone()).filter(|path| !path.is_empty())?;
        if self.files.len() < MOST_NAMES {
            self.files.insert(file, path.clone());
        }
        Some(path)
    }

    fn read(&mut self, pid: u32) {
        let begin = Instant::now();
        if self.next.is_none_or(|next| begin >= next) {
            self.all = maps::read(pid).unwrap_or_default();
            self.next = Some(Instant::now() + SHARE * begin.elapsed());
        }
    }
}

/// A mapping that is listed, as a fault would have found it. Whether it is shared does not stand
/// there: it is taken to be.
fn listed(mapping: &Mapping, sp: u64) -> FaultMapping {
    let rights = if mapping.writable { VM_WRITE } else { 0 };
    FaultMapping {
        start: mapping.start,
        end: mapping.end,
        flags: rights | VM_SHARED,
        inode: mapping.inode,
        sp,
        name: mapping.file_name().to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area(start: u64, end: u64) -> FaultMapping {
        FaultMapping { start, end, flags: VM_WRITE, ..FaultMapping::default() }
    }

    #[test]
    fn blocks_of_the_c_library_within_reach_of_class_pointers_are_no_classes() {
        let text = "7f1000000000-7f1000c00000 rw-p 00001000 fe:01 9 /usr/lib/jvm/classes.jsa\n\
                    7f1000c00000-7f1000d00000 rw-p 00000000 00:00 0 \n\
                    7f1000d00000-7f1040c00000 ---p 00000000 00:00 0 \n\
                    7f1050000000-7f1050200000 rw-p 00000000 00:00 0 \n";
        let mut space = Space {
            all: maps::parse(text),
            next: Some(Instant::now() + Duration::from_secs(3600)),
            bounds: Some(HeapBounds { heap: None, classes: Some(0x7f10_0000_0000..0x7f11_0000_0000) }),
            ..Space::default()
        };
        let mut class = |from, to| space.class(0, &area(from, to), from);
        assert_eq!(class(0x7f10_00c0_0000, 0x7f10_00d0_0000), fault::CLASS_SPACE);
        assert_eq!(class(0x7f10_5000_0000, 0x7f10_5020_0000), fault::ANONYMOUS);
    }

    #[test]
    fn heap_code_stacks_files_and_arenas_are_distinguished() {
        let text = "1000000-1200000 rw-p 00000000 00:00 0 [heap]\n\
                    8000000-8100000 rw-p 00000000 00:00 0 \n\
                    8100000-c000000 ---p 00000000 00:00 0 \n\
                    7f20000-7f30000 rw-p 00001000 fe:01 77 /opt/libx.so\n\
                    7f40000-7f50000 r--s 00001000 fe:01 78 /opt/data.bin\n";
        let heap = 0x4000_0000..0x5000_0000;
        let mut space = Space {
            all: maps::parse(text),
            next: Some(Instant::now() + Duration::from_secs(3600)),
            bounds: Some(HeapBounds { heap: Some(heap.clone()), classes: Some(0x9000_0000..0x1_9000_0000) }),
            code: std::iter::once(0x6000_0000..0x6100_0000).collect(),
            ..Space::default()
        };
        let mut class = |mapping: &FaultMapping| space.class(0, mapping, mapping.start);
        assert_eq!(class(&area(heap.start, heap.end)), fault::HEAP);
        assert_eq!(class(&area(0x6000_0000, 0x6010_0000)), fault::CODE_CACHE);
        assert_eq!(class(&area(0x9000_0000, 0x9010_0000)), fault::CLASS_SPACE);
        assert_eq!(class(&area(0x100_0000, 0x120_0000)), fault::MALLOC);
        assert_eq!(class(&area(0x800_0000, 0x810_0000)), fault::ARENA);
        assert_eq!(class(&area(0x2000_0000, 0x2010_0000)), fault::ANONYMOUS);
        assert_eq!(class(&FaultMapping { sp: 0x2000_1000, ..area(0x2000_0000, 0x2010_0000) }), fault::STACK);
        // Nobody could look at these when the faults came.
        let unlooked = |start| FaultMapping { start, ..FaultMapping::default() };
        assert_eq!(class(&unlooked(0x7f4_1000)), "/opt/data.bin");
        assert_eq!(class(&unlooked(0x123)), fault::NOT_SEEN);
        let library = FaultMapping { inode: 77, ..area(0x7f2_0000, 0x7f3_0000) };
        assert_eq!(class(&library), "private copy of /opt/libx.so");
        let shared = FaultMapping { inode: 78, flags: VM_WRITE | VM_SHARED, ..area(0x7f4_0000, 0x7f5_0000) };
        assert_eq!(class(&shared), "/opt/data.bin");
        let gone = FaultMapping { inode: 79, flags: 0, name: "gone.so".into(), ..area(0x1000, 0x2000) };
        assert_eq!(class(&gone), "gone.so");
    }

    #[test]
    fn names_of_a_process_are_bounded() {
        let mut mappings = Mappings::default();
        let name = |i: u64, mappings: &mut Mappings| {
            let file = FaultMapping { inode: i + 1, name: format!("f{i}"), flags: 0, ..area(0x1000, 0x2000) };
            mappings.name(u32::MAX, &file, 0x1000, None)
        };
        assert_eq!(name(0, &mut mappings), "f0");
        (1..300).for_each(|i| {
            name(i, &mut mappings);
        });
        assert_eq!(name(999, &mut mappings), OTHER_FILES);
        assert_eq!(name(0, &mut mappings), "f0");
    }
}
