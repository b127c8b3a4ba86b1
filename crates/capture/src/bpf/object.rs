//! What every object of `bpf/` goes through before it is loaded: a place, and the parts that this
//! kernel has no tracepoints for. The tables that it shares: [`crate::unwind::share_tables`].

use std::mem::MaybeUninit;

use libbpf_rs::OpenObject;
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::Typedef;

use crate::Unavailable;

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
        pub(super) mod skeleton {
            include!(concat!(env!("OUT_DIR"), "/", $object, ".skel.rs"));
        }
    };
}
pub(crate) use skeleton;

/// Where the object of a skeleton lies, which borrows it. One word a recording is never given back.
pub(crate) fn place() -> &'static mut MaybeUninit<OpenObject> {
    Box::leak(Box::new(MaybeUninit::uninit()))
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
            scope: None,
            what: part.what.to_owned(),
            why: format!("this kernel has no tracepoint {}", part.tracepoint),
            remedy: remedy.to_owned(),
        });
    }
    unseen
}
