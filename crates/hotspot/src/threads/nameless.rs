//! Threads of a JVM that does not name its native ones (JDK 8).
//!
//! The role of a thread by its name is [`Role::of_named`].

use fathom_recording::Role;

use super::ThreadInfo;

/// Roles of the native threads of a JVM that does not name them (JDK 8). They are recognised by the
/// order in which it starts threads (`Threads::create_vm`): the main Java thread, those of the
/// collector, the VM thread, then the first Java threads of its own ("Reference Handler") and its
/// watcher thread.
pub(super) fn roles(all: &mut [ThreadInfo]) {
    all.sort_by_key(|thread| thread.tid);
    let handler = all.iter().position(|thread| thread.java.is_some() && thread.name == "Reference Handler");
    let main = all.iter().position(|thread| thread.java.is_some());
    let (Some(main), Some(handler)) = (main, handler) else { return };
    // Ids that wrapped around are in no order.
    if main >= handler {
        return;
    }
    // The next one is the VM's own clock; later ones may be any.
    let watcher = (handler..all.len()).find(|i| all[*i].java.is_none());
    for (i, thread) in all.iter_mut().enumerate().filter(|(_, thread)| thread.java.is_none()) {
        thread.role = match i {
            _ if i < main => Role::Other,
            _ if i + 1 == handler => Role::Vm,
            _ if i < handler => Role::Gc,
            _ if Some(i) == watcher => Role::Vm,
            _ => Role::Other,
        };
        if i + 1 == handler {
            thread.name = "VM Thread".to_owned();
            thread.named_by_jvm = true;
        }
    }
}
