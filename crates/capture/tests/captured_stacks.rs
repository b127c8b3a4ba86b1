//! Stacks of real JVMs, kept as registers and the memory that their walk reads, walked again by the
//! unwinder's C compiled for user space: no JVM, no privileges, and the same frames on every
//! machine. `tests/stacks/README.md` describes how they are made.

#![allow(clippy::unwrap_used)]

#[path = "../../hotspot/tests/jvm/mod.rs"]
mod jvm;
mod user_mode;

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use fathom_capture::symbols::NativeSymbols;
use fathom_capture::unwind::processes::Known;
use fathom_capture::unwind::reason_name;
use fathom_capture::unwind::samples::{Walked, WalkedFrame};
use fathom_capture::unwind::shared::{CodeMapping, JvmCode, ProcessCode, RowPage, UnwindRow};
use fathom_hotspot::memory::{Memory, ProcessMemory};
use fathom_recording::FrameType;
use jvm::Jvm;
use user_mode::{Tables, memory, pages_looked_at, stopped, tables_of, tasks, walk};
use zerocopy::{FromBytes, IntoBytes};

/// Stacks that are kept of a JDK at most.
const MOST_STACKS: usize = 28;
/// Of a stack deeper than this there is one for each JDK.
const DEEP: usize = 90;

/// A stack, before it is walked.
#[derive(Debug, Default)]
struct Stack {
    title: String,
    pc: u64,
    registers: [u64; 16],
    /// What the walk reads: bytes by address.
    memory: BTreeMap<u64, u8>,
}

/// What is kept of a JVM.
#[derive(Default)]
struct Kept {
    release: String,
    jvm: Vec<u8>,
    mappings: Vec<CodeMapping>,
    /// Rows by page of code, of those that are looked at.
    pages: BTreeMap<u32, Vec<UnwindRow>>,
    /// What a walked frame is called.
    names: BTreeMap<[u64; 2], String>,
    stacks: Vec<Stack>,
}

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    bytes.into_iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}

fn unhex(text: &str) -> Vec<u8> {
    (0..text.len() / 2).map(|i| u8::from_str_radix(&text[2 * i..2 * i + 2], 16).unwrap()).collect()
}

fn number(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap()
}

impl Kept {
    fn write(&self) -> String {
        let mut text = format!("jdk {}\njvm {}\n", self.release, hex(self.jvm.iter().copied()));
        for m in &self.mappings {
            let CodeMapping { start, end, origin, first_page, pages, kind, heap } = m;
            writeln!(text, "map {start:x} {end:x} {origin:x} {first_page:x} {pages:x} {kind:x} {heap:x}")
                .unwrap();
        }
        for (page, rows) in &self.pages {
            let rows: Vec<String> =
                rows.iter().map(|r| format!("{}:{}:{}:{}", r.at, r.kind, r.fp, r.cfa)).collect();
            writeln!(text, "page {page:x} {}", rows.join(",")).unwrap();
        }
        for ([low, high], name) in &self.names {
            writeln!(text, "name {low:x} {high:x} {name}").unwrap();
        }
        for stack in &self.stacks {
            let registers: Vec<String> = stack.registers.iter().map(|r| format!("{r:x}")).collect();
            writeln!(text, "stack {}\nregisters {:x} {}", stack.title, stack.pc, registers.join(" "))
                .unwrap();
            let mut bytes = stack.memory.iter().peekable();
            while let Some((start, first)) = bytes.next() {
                let mut run = vec![*first];
                while let Some((_, byte)) = bytes.next_if(|(at, _)| **at == start + run.len() as u64) {
                    run.push(*byte);
                }
                writeln!(text, "memory {start:x} {}", hex(run)).unwrap();
            }
        }
        text
    }

    fn read(text: &str) -> Self {
        let mut kept = Self::default();
        for line in text.lines() {
            let (word, rest) = line.split_once(' ').unwrap();
            let words: Vec<&str> = rest.split(' ').collect();
            let numbers = || words.iter().map(|word| number(word));
            match word {
                "jdk" => kept.release = rest.to_owned(),
                "jvm" => kept.jvm = unhex(rest),
                "map" => {
                    let n: Vec<u64> = numbers().collect();
                    let [first_page, pages, kind, heap] = [3, 4, 5, 6].map(|i| n[i] as u32);
                    kept.mappings.push(CodeMapping {
                        start: n[0],
                        end: n[1],
                        origin: n[2],
                        first_page,
                        pages,
                        kind,
                        heap,
                    });
                }
                "page" => {
                    let row = |row: &str| {
                        let n: Vec<i64> = row.split(':').map(|n| n.parse().unwrap()).collect();
                        UnwindRow { at: n[0] as u16, kind: n[1] as u8, fp: n[2] as i8, cfa: n[3] as i32 }
                    };
                    let rows = words[1].split(',').filter(|row| !row.is_empty()).map(row).collect();
                    kept.pages.insert(number(words[0]) as u32, rows);
                }
                "name" => {
                    let name = rest.splitn(3, ' ').nth(2).unwrap().to_owned();
                    kept.names.insert([number(words[0]), number(words[1])], name);
                }
                "stack" => kept.stacks.push(Stack { title: rest.to_owned(), ..Stack::default() }),
                "registers" => {
                    let stack = kept.stacks.last_mut().unwrap();
                    let mut numbers = numbers();
                    stack.pc = numbers.next().unwrap();
                    stack.registers = std::array::from_fn(|_| numbers.next().unwrap());
                }
                "memory" => {
                    let at = number(words[0]);
                    let bytes = unhex(words[1]).into_iter().enumerate();
                    kept.stacks
                        .last_mut()
                        .unwrap()
                        .memory
                        .extend(bytes.map(|(i, byte)| (at + i as u64, byte)));
                }
                other => panic!("{other}"),
            }
        }
        kept
    }

    /// Walks the stacks anew and writes their frames, innermost first.
    fn walk(&self) -> String {
        let mut rows: Vec<UnwindRow> = Vec::new();
        let count = self.pages.keys().last().map_or(0, |page| *page as usize + 1);
        let mut pages = vec![RowPage::default(); count];
        for (page, of_it) in &self.pages {
            pages[*page as usize] = RowPage { first: rows.len() as u32, rows: of_it.len() as u32 };
            rows.extend(of_it);
        }
        let jvm = JvmCode::read_from_bytes(&self.jvm).unwrap();
        let process = ProcessCode { mappings: self.mappings.len() as u32, jvm: 1, ..ProcessCode::default() };
        let tables = Tables { rows: &rows, pages: &pages, mappings: &self.mappings, jvms: &[jvm], process };
        let mut text = format!("JDK {}\n", self.release);
        for stack in &self.stacks {
            let kept = stack.memory.clone();
            memory(move |address, into| {
                into.iter_mut().enumerate().all(|(i, byte)| {
                    let kept = kept.get(&(address + i as u64));
                    kept.map(|kept| *byte = *kept).is_some()
                })
            });
            let (sample, frames) = walk(&tables, &stack.registers, stack.pc);
            writeln!(text, "\n{}: {}", stack.title, reason_name(sample.reason).unwrap_or("whole")).unwrap();
            // Recursion is written once, with how often.
            let called =
                |frame: &[u64; 2]| self.names.get(frame).map_or("A FRAME THAT WAS NOT THERE", String::as_str);
            for same in frames.chunk_by(|a, b| called(a) == called(b)) {
                let times = if same.len() > 1 { format!("  × {}", same.len()) } else { String::new() };
                writeln!(text, "  {}{times}", called(&same[0])).unwrap();
            }
        }
        text
    }
}

fn place(release: u32, ending: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/stacks/jdk{release}.{ending}"))
}

#[test]
fn captured_stacks_are_walked_to_the_frames_that_they_had() {
    for release in [8, 11, 17, 21, 25] {
        let packed = std::fs::read(place(release, "stacks.zst")).unwrap();
        let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
        let expected = std::fs::read_to_string(place(release, "txt")).unwrap();
        let walked = Kept::read(&text).walk();
        for (walked, expected) in walked.split("\n\n").zip(expected.split("\n\n")) {
            assert_eq!(walked, expected, "JDK {release}");
        }
        assert_eq!(walked, expected, "JDK {release}");
    }
}

/// Memory that is not there, or is something else, ends a walk; it never hangs one or makes it read
/// beyond its tables.
#[test]
fn damaged_stacks_end_in_a_reason() {
    let packed = std::fs::read(place(17, "stacks.zst")).unwrap();
    let text = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let whole = Kept::read(&text).walk().matches(": whole").count();
    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut next = move || {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        random
    };
    let mut cut = 0;
    for _ in 0..60 {
        let mut kept = Kept::read(&text);
        for stack in &mut kept.stacks {
            let at: Vec<u64> = stack.memory.keys().copied().collect();
            for _ in 0..8 {
                let address = at[next() as usize % at.len()] & !7;
                (0..8).for_each(|i| {
                    _ = stack.memory.entry(address + i).and_modify(|byte| *byte = next() as u8)
                });
            }
            if next() % 3 == 0 {
                stack.registers[next() as usize % 16] = next();
            }
        }
        cut += whole - kept.walk().matches(": whole").count().min(whole);
    }
    assert!(cut > 0, "no damage was noticed");
}

/// What a frame is called, with the kind of each part, inlined ones first.
fn name(walked: Walked, pid: u32, known: &mut Known, native: &mut NativeSymbols) -> Option<String> {
    let symbols = &mut known.jvm.as_mut()?.symbols;
    let java = match walked.frame {
        WalkedFrame::Compiled { nmethod, compile_id, pc } => {
            symbols.compiled(nmethod, compile_id, pc).ok()?.to_vec()
        }
        WalkedFrame::Interpreted { method, const_method, bci } => {
            vec![symbols.interpreted(method, Some(const_method), bci).ok()?]
        }
        WalkedFrame::Stub { pc } => vec![symbols.stub(pc).ok()?],
        WalkedFrame::Native { pc } => {
            let at = pc - u64::from(!walked.exact);
            let code = known.code_at(at)?;
            let frame = native.frame(pid, &code.mapping, at);
            return Some(format!("native {} ({})", frame.name, frame.module));
        }
    };
    let frames = java.iter().map(|f| {
        let kind = match f.frame_type {
            FrameType::Interpreted => "interpreted",
            FrameType::C1 => "C1",
            FrameType::C2 => "C2",
            FrameType::Inlined => "inlined",
            _ => "stub",
        };
        let line = f.line.map_or(String::new(), |line| format!(":{line}"));
        format!("{kind} {}{line}", f.name)
    });
    Some(frames.collect::<Vec<_>>().join(" < "))
}

/// What is worth a stack of its own: what it begins with, and which kinds call which.
fn features(names: &[String]) -> BTreeSet<String> {
    // Of a compiled frame with inlined ones, the outermost is the one that has the code.
    let kind = |name: &String| {
        let (inlined, outermost) = name.rsplit_once(" < ").unwrap_or(("", name));
        let inlined = if inlined.is_empty() { "" } else { " with inlined" };
        format!("{}{inlined}", outermost.split(' ').next().unwrap_or_default())
    };
    let mut features: BTreeSet<String> =
        names.windows(2).map(|pair| format!("{} < {}", kind(&pair[0]), kind(&pair[1]))).collect();
    features.extend(names.iter().filter(|name| name.starts_with("stub")).cloned());
    let module = names[0].rsplit(" (").next().unwrap_or_default().trim_end_matches(')');
    features.insert(if names[0].starts_with("native") { format!("in {module}") } else { kind(&names[0]) });
    features.extend((names.len() > DEEP).then(|| "deep".to_owned()));
    features
}

/// Makes the files that the tests above read, of every JDK of this machine: see
/// `tests/stacks/README.md`.
#[test]
#[ignore = "writes tests/stacks; needs JDKs 8, 11, 17, 21 and 25"]
fn capture_stacks_of_every_jdk() {
    for jdk in jvm::jdks() {
        let mut seen = BTreeSet::new();
        let kind = if jdk.release >= 21 { "virtual" } else { "platform" };
        let arguments = ["KnownGraph", kind, "2"];
        // Early, so that the interpreter and C1 are met as well.
        let jvm = Jvm::start(&jdk, &["-Ddepth=100", "-XX:+UseSerialGC"], &arguments).unwrap();
        let pid = jvm.pid();
        let (mut code, process) = tables_of(pid);
        let all = fathom_hotspot::maps::read(pid).unwrap();
        let start = all.iter().find(|mapping| mapping.readable && mapping.executable).unwrap().start;
        let mut kept = Kept::default();
        let mut native = NativeSymbols::new();
        let known = code.get_mut(pid as i32).unwrap();
        kept.release = known.jvm.as_ref().unwrap().vm.release.to_string();
        kept.jvm = known.jvm.as_ref().unwrap().shared.as_bytes().to_vec();
        native.learn(pid, known.code.iter().map(|code| &code.mapping));
        let patience = std::time::Instant::now() + std::time::Duration::from_secs(40);
        while kept.stacks.len() < MOST_STACKS && std::time::Instant::now() < patience {
            for tid in tasks(pid) {
                let read: Rc<RefCell<BTreeMap<u64, u8>>> = Rc::default();
                let (into, of_process) = (Rc::clone(&read), ProcessMemory::open(pid, start).unwrap());
                memory(move |address, buffer| {
                    let could = of_process.read(address, buffer).is_ok();
                    if could {
                        let bytes = buffer.iter().enumerate().map(|(i, byte)| (address + i as u64, *byte));
                        into.borrow_mut().extend(bytes);
                    }
                    could
                });
                stopped(tid, |registers, pc| {
                    pages_looked_at();
                    let tables = {
                        let ((rows, pages), (mappings, jvms)) = (code.tables.arrays(), code.arrays());
                        Tables { rows, pages, mappings, jvms, process }
                    };
                    let (sample, frames) = walk(&tables, registers, pc);
                    if reason_name(sample.reason).is_some() {
                        return;
                    }
                    let looked_at: Vec<(u32, Vec<UnwindRow>)> = pages_looked_at()
                        .into_iter()
                        .filter_map(|page| {
                            let of_it = tables.pages.get(page as usize)?;
                            let rows = of_it.first as usize..(of_it.first + of_it.rows) as usize;
                            Some((page, tables.rows[rows].to_vec()))
                        })
                        .collect();
                    let first = process.first_mapping as usize;
                    kept.mappings = tables.mappings[first..first + process.mappings as usize].to_vec();
                    let known = code.get_mut(pid as i32).unwrap();
                    let names: Option<Vec<String>> = frames
                        .iter()
                        .map(|frame| name(Walked::of(frame[0], frame[1]), pid, known, &mut native))
                        .collect();
                    // Code that is freed while the thread stands elsewhere has no name; another
                    // stack has.
                    let Some(names) = names else { return };
                    let features = features(&names);
                    let new: Vec<&String> =
                        features.iter().filter(|feature| !seen.contains(*feature)).collect();
                    let deep = names.len() > DEEP && seen.contains("deep");
                    if new.is_empty() || deep {
                        return;
                    }
                    let title = new.iter().map(|f| f.as_str()).collect::<Vec<_>>().join("; ");
                    kept.names.extend(frames.iter().copied().zip(names));
                    kept.pages.extend(looked_at);
                    let memory = read.take();
                    kept.stacks.push(Stack { title, pc, registers: *registers, memory });
                    seen.extend(features);
                });
            }
        }
        let text = kept.write();
        let walked = Kept::read(&text).walk();
        assert!(!walked.contains("A FRAME THAT WAS NOT THERE"), "{walked}");
        let packed = zstd::encode_all(text.as_bytes(), 19).unwrap();
        eprintln!("JDK {}: {} stacks, {} bytes", kept.release, kept.stacks.len(), packed.len());
        std::fs::write(place(jdk.release, "stacks.zst"), packed).unwrap();
        std::fs::write(place(jdk.release, "txt"), walked).unwrap();
    }
}
