//! Loading the programs that look at locks.

use libbpf_rs::MapHandle;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use super::WHAT;
use super::skeleton::{self, LocksSkel, LocksSkelBuilder};
use crate::Unavailable;
use crate::bpf::attached::attached;
use crate::bpf::dispatcher::Dispatcher;
use crate::bpf::interrupts::Interrupts;
use crate::bpf::object::place;
use crate::bpf::{pid_namespace, silence, unavailable};
use crate::unwind::SharedUnwinder;
use crate::unwind::share_tables;

attached!(LocksSkel, LocksMaps, LocksLinks: java_threads, lock_jvms, losses, targets, waits);

/// Loads the programs; attaching them is the caller's. With an unwinder they walk by its tables.
pub(super) fn load(
    whole_host: bool,
    (min_ns, always_ns): (u64, u64),
    interrupts: Option<&Interrupts>,
    (unwinder, targets, dispatcher): (Option<&SharedUnwinder>, Option<&MapHandle>, Option<&Dispatcher>),
) -> Result<LocksSkel<'static>, Unavailable> {
    silence();
    let failed = |step: &'static str| move |error: libbpf_rs::Error| unavailable(WHAT, step, &error);
    let mut open = LocksSkelBuilder::default().open(place()).map_err(failed("opening"))?;
    if let Some(data) = open.maps.rodata_data.as_deref_mut() {
        data.min_ns = min_ns;
        data.always_ns = always_ns;
        data.own_pid = std::process::id();
        data.all_processes = u8::from(whole_host);
        data.pidns_ino = pid_namespace();
    }
    share_tables(open.open_object_mut(), unwinder, targets).map_err(failed("sharing the tables of"))?;
    if let Some(interrupts) = interrupts {
        interrupts.share(open.open_object_mut()).map_err(failed("sharing the interrupts of"))?;
    }
    if let Some(dispatcher) = dispatcher {
        dispatcher
            .take_over(open.open_object_mut(), &["lock_sys_exit", "lock_switch", "lock_waking"])
            .map_err(failed("sharing the dispatcher of"))?;
    }
    open.load().map_err(failed("loading"))
}
