//! What every object of `bpf/` goes through before it is loaded: a place, the tables that it shares
//! with the others, and the parts that this kernel has no tracepoints for.

use std::mem::MaybeUninit;
use std::os::fd::AsFd;

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;
use libbpf_rs::{MapHandle, OpenObject, Result};

use crate::collector::Unavailable;
use crate::unwind::SharedUnwinder;

/// The types that were generated for an object of `bpf/` by its name, as a module `skeleton`.
macro_rules! skeleton {
    ($object:literal) => {
        #[allow(
            clippy::all,
            clippy::unwrap_used,
            missing_docs,
            dead_code,
            unsafe_op_in_unsafe_fn,
            reason = "generated"
        )]
        mod skeleton {
            include!(concat!(env!("OUT_DIR"), "/", $object, ".skel.rs"));
        }
    };
}
pub(crate) use skeleton;

/// Where the object of a skeleton lies, which borrows it. One word a recording is never given back.
pub(crate) fn place() -> &'static mut MaybeUninit<OpenObject> {
    Box::leak(Box::new(MaybeUninit::uninit()))
}

/// Lets an object walk stacks by the tables of an unwinder, and see the processes in `targets`, the
/// map that all objects of a recording share. Without them it has empty ones of its own. Room for
/// its stacks is made by the size of the machine.
pub(crate) fn share(
    object: &mut OpenObject,
    unwinder: Option<&SharedUnwinder>,
    targets: Option<&MapHandle>,
) -> Result<()> {
    let unwinder = unwinder.map(|unwinder| unwinder.borrow());
    let processors = libbpf_rs::num_possible_cpus()? as u32;
    for mut map in object.maps_mut() {
        let name = map.name().to_string_lossy().into_owned();
        let tables = unwinder.as_ref().map(|unwinder| &unwinder.maps);
        if name == "samples" {
            map.set_max_entries(stack_bytes(processors))?;
        }
        let shared = match name.as_str() {
            "unwind_rows" => tables.map(|tables| &tables.rows),
            "row_pages" => tables.map(|tables| &tables.pages),
            "code_mappings" => tables.map(|tables| &tables.mappings),
            "jvm_codes" => tables.map(|tables| &tables.jvms),
            "processes" => tables.map(|tables| &tables.processes),
            "targets" => targets,
            _ => None,
        };
        if let Some(shared) = shared {
            map.reuse_fd(shared.as_fd())?;
        }
    }
    Ok(())
}

/// Room for the stacks of events between two rounds: some thousand stacks for each four CPUs.
/// A power of two.
fn stack_bytes(processors: u32) -> u32 {
    (processors.next_power_of_two() / 4).clamp(1, 8) << 20
}

/// A part of an object that a kernel may lack.
pub(crate) struct Part {
    /// The tracepoint without which it cannot be.
    pub(crate) tracepoint: &'static str,
    /// How the names of its programs begin.
    pub(crate) programs: &'static str,
    /// What is not seen without it.
    pub(crate) what: &'static str,
}

/// Leaves out what this kernel has no tracepoint for, and says what is not seen then. `remedy`:
/// which kernel has it.
pub(crate) fn leave_out(
    object: &mut OpenObject,
    kernel: &Btf<'_>,
    parts: &[Part],
    remedy: &str,
) -> Vec<Unavailable> {
    let has = |name: &str| kernel.type_by_name::<Typedef<'_>>(&format!("btf_trace_{name}")).is_some();
    let mut unseen = Vec::new();
    for part in parts.iter().filter(|part| !has(part.tracepoint)) {
        for mut program in object.progs_mut() {
            if program.name().to_string_lossy().starts_with(part.programs) {
                program.set_autoload(false);
            }
        }
        unseen.push(Unavailable {
            what: part.what.to_owned(),
            why: format!("this kernel has no tracepoint {}", part.tracepoint),
            remedy: remedy.to_owned(),
        });
    }
    unseen
}
