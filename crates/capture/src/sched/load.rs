//! Loading the scheduler's programs.

use libbpf_rs::MapHandle;
use libbpf_rs::skel::{OpenSkel, SkelBuilder};

use super::WHAT;
use super::skeleton::{SchedSkel, SchedSkelBuilder};
use crate::Unavailable;
use crate::bpf::dispatcher::Dispatcher;
use crate::bpf::interrupts::Interrupts;
use crate::bpf::object::place;
use crate::bpf::{pid_namespace, silence, unavailable};
use crate::unwind::SharedUnwinder;
use crate::unwind::share_tables;

/// Loads the programs; attaching them is the caller's. With an unwinder they walk by its tables.
pub(super) fn load(
    whole_host: bool,
    (min_ns, always_ns): (u64, u64),
    with_starts: bool,
    interrupts: Option<&Interrupts>,
    (unwinder, targets, dispatcher): (Option<&SharedUnwinder>, Option<&MapHandle>, Option<&Dispatcher>),
) -> Result<SchedSkel<'static>, Unavailable> {
    silence();
    let failed = |step: &'static str| move |error: libbpf_rs::Error| unavailable(WHAT, step, &error);
    let mut open = SchedSkelBuilder::default().open(place()).map_err(failed("opening"))?;
    if let Some(data) = open.maps.rodata_data.as_deref_mut() {
        data.config.min_ns = min_ns;
        data.always_ns = always_ns;
        data.config.starts = u64::from(with_starts);
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
            .take_over(open.open_object_mut(), &["on_sys_exit", "on_clone_enter", "on_switch", "on_waking"])
            .map_err(failed("sharing the dispatcher of"))?;
    }
    if !with_starts {
        open.progs.on_clone_enter.set_autoload(false);
    }
    open.load().map_err(failed("loading"))
}
