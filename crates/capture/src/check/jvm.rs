//! What each engine can see of one JVM.

use std::fs::File;

use fathom_hotspot::attach::{Attach, AttachError};
use fathom_hotspot::find::{Jvm, Kind};
use fathom_hotspot::{Error, Vm, maps};
use object::read::elf::ElfFile64;
use object::read::{Object, ObjectSection, ReadCache};

use super::Item;
use crate::CaptureEngine;

/// What was found of a JVM.
#[derive(Clone, Debug)]
pub struct JvmCheck {
    /// The JVM.
    pub jvm: Jvm,
    /// What was looked at.
    pub items: Vec<Item>,
}

/// Looks at a JVM. `ask` it, too: attach to it and try its flight recorder, which a mere look does
/// not.
pub fn jvm(jvm: Jvm, ask: bool) -> JvmCheck {
    let mut items = match &jvm.kind {
        Kind::HotSpot { .. } => vec![tables(jvm.pid)],
        other => vec![foreign(other)],
    };
    if matches!(jvm.kind, Kind::HotSpot { .. }) {
        items.extend(library(jvm.pid));
        items.push(if ask { recorder(jvm.pid) } else { may_attach(&jvm) });
        items.push(counters(&jvm));
    }
    JvmCheck { jvm, items }
}

fn foreign(kind: &Kind) -> Item {
    let what = match kind {
        Kind::OpenJ9 => "OpenJ9, which is not HotSpot",
        Kind::ThirtyTwoBit => "a 32-bit JVM",
        Kind::NativeImage => "a GraalVM native image, which has no JVM inside",
        Kind::HotSpot { .. } | Kind::Other => "no JVM",
    };
    Item::works("runtime", "runtime", CaptureEngine::Any, "").missing(
        format!("this is {what}"),
        "all that fathom sees of Java; its native code is seen as that of any program",
        "run the service on a 64-bit HotSpot JDK",
    )
}

/// Reads the JVM's own tables, on which everything about Java frames is built.
fn tables(pid: u32) -> Item {
    let item =
        Item::works("vm-tables", "methods and threads by the JVM's own tables", CaptureEngine::Ebpf, "");
    match Vm::open(pid) {
        Ok(vm) => Item { found: format!("{} was read", vm.release), ..item },
        Err(error) => {
            let remedy = match &error {
                Error::NotAllowed { .. } | Error::Memory(_) => {
                    "sudo fathom …, or as the JVM's user with kernel.yama.ptrace_scope = 0; in a container with \
                     --cap-add SYS_PTRACE"
                }
                Error::NotReady { .. } => "wait until it has started",
                _ => "a JDK from 8 to 25 whose libjvm.so keeps its exported symbols",
            };
            item.missing(error.to_string(), "names of Java methods and roles of threads", remedy)
        }
    }
}

/// What the file of libjvm still has.
fn library(pid: u32) -> Vec<Item> {
    let symbols = Item::works(
        "libjvm-symbols",
        "names of the JVM's own functions",
        CaptureEngine::Ebpf,
        "libjvm.so has them",
    );
    let probes =
        Item::works("libjvm-probes", "the JVM's events by its probes (USDT)", CaptureEngine::Ebpf, "");
    let unwind =
        Item::works("libjvm-unwind", "unwinding through the JVM", CaptureEngine::Ebpf, ".eh_frame is there");
    let Some(sections) = Sections::of(pid) else {
        let gone = "the file of libjvm.so cannot be opened any more";
        return vec![symbols.limited(
            gone,
            "names of the JVM's own functions",
            "sudo fathom …; or restart the JVM after the update",
        )];
    };
    let mut items = Vec::new();
    items.push(match sections.symbols {
        true => symbols,
        false => symbols.limited(
            "libjvm.so is stripped",
            "frames of the JVM have the names of exported functions only",
            "install its debug symbols (Debian: openjdk-N-dbg), or a JDK that keeps them (Temurin)",
        ),
    });
    items.push(match sections.probes {
        0 if sections.symbols => probes.limited(
            "libjvm.so has no probes: pauses, safepoints, VM operations, compilations and classes are seen by its functions",
            "sizes of the heap at collections, unloaded classes",
            "a GC log (-Xlog:gc*:file=gc.log), or a JDK built with --enable-dtrace (Temurin, Debian)",
        ),
        0 => probes.limited(
            "libjvm.so has no probes",
            "collections, safepoints and compilations live",
            "a GC log (-Xlog:gc*,safepoint:file=gc.log), or a JDK built with --enable-dtrace (Temurin, Debian)",
        ),
        bytes => Item { found: format!("libjvm.so has them: {} kB of descriptions", bytes.div_ceil(1024)), ..probes },
    });
    items.push(match sections.unwind {
        true => unwind,
        false => unwind.missing(
            "libjvm.so has no .eh_frame",
            "stacks through the JVM",
            "a JDK that keeps .eh_frame",
        ),
    });
    items
}

struct Sections {
    symbols: bool,
    probes: u64,
    unwind: bool,
}

impl Sections {
    fn of(pid: u32) -> Option<Self> {
        let mappings = maps::read(pid).ok()?;
        let mapping = mappings.iter().find(|m| m.is_file() && m.file_name() == "libjvm.so")?;
        let file = mapping.files(pid).iter().find_map(|path| {
            use std::os::unix::fs::MetadataExt;
            let file = File::open(path).ok()?;
            (file.metadata().ok()?.ino() == mapping.inode).then_some(file)
        })?;
        let cache = ReadCache::new(file);
        let elf = ElfFile64::<object::Endianness, _>::parse(&cache).ok()?;
        let size = |name: &str| elf.section_by_name(name).map_or(0, |section| section.size());
        Some(Self {
            symbols: size(".symtab") > 0,
            probes: size(".note.stapsdt"),
            unwind: size(".eh_frame") > 0,
        })
    }
}

/// Attaches and asks the flight recorder.
fn recorder(pid: u32) -> Item {
    let item = Item::works("jfr", "flight recorder", CaptureEngine::Jfr, "");
    let asked = Attach::to(pid).and_then(|attach| attach.jcmd("JFR.check"));
    match asked {
        Ok(answer) => {
            let running = answer.lines().filter(|line| line.starts_with("Recording ")).count();
            let found = match running {
                0 => "it answers, no recording runs".to_owned(),
                1 => "it answers, 1 recording runs".to_owned(),
                n => format!("it answers, {n} recordings run"),
            };
            Item { found, ..item }
        }
        Err(error) => {
            let remedy = match &error {
                Error::Attach(AttachError::NotYours { .. }) | Error::NotAllowed { .. } => {
                    "run fathom as the JVM's user or as root"
                }
                Error::Attach(AttachError::Disabled { .. }) => {
                    "start the JVM without -XX:+DisableAttachMechanism"
                }
                Error::Attach(AttachError::Refused { .. }) => {
                    "a JDK with its module jdk.jfr (8u262, 11 and later); or the eBPF engine"
                }
                _ => "the eBPF engine (as root)",
            };
            item.missing(error.to_string(), "the JFR engine", remedy)
        }
    }
}

/// What is known without asking the JVM anything.
fn may_attach(jvm: &Jvm) -> Item {
    let item =
        Item::works("jfr", "flight recorder", CaptureEngine::Jfr, "may be asked (fathom check -p tries)");
    let own = rustix::process::geteuid();
    if !own.is_root() && own.as_raw() != jvm.status.uid {
        return item.missing(
            "it belongs to another user",
            "the JFR engine",
            "run fathom as that user or as root",
        );
    }
    if jvm
        .about
        .options
        .iter()
        .rev()
        .find(|o| o.ends_with("DisableAttachMechanism"))
        .is_some_and(|o| o.contains('+'))
    {
        let why = "it runs with -XX:+DisableAttachMechanism";
        return item.missing(why, "the JFR engine", "start it without");
    }
    if jvm.status.is_stopped() {
        return item.missing("it is stopped", "the JFR engine", format!("kill -CONT {}", jvm.pid));
    }
    item
}

fn counters(jvm: &Jvm) -> Item {
    let item = Item::works("counters", "counters that the JVM publishes", CaptureEngine::Any, "readable");
    if jvm.about.publishes {
        return item;
    }
    item.limited(
        "there are none (-XX:-UsePerfData, or its /tmp was cleaned)",
        "heap and class counters without asking the JVM",
        "start it without -XX:-UsePerfData",
    )
}
