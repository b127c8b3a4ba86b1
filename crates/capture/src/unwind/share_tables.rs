//! The tables by which the programs of a recording walk stacks, which all of them share.

use std::os::fd::AsFd;

use libbpf_rs::{MapHandle, OpenObject, Result};

use super::SharedUnwinder;

/// Lets an object walk stacks by the tables of an unwinder, and see the processes in `targets`, the
/// map that all objects of a recording share. Without them it has empty ones of its own. Room for
/// its stacks is made by the size of the machine.
pub(crate) fn share_tables(
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
