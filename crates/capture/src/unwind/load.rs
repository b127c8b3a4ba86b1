//! Makes the tables in the kernel that all programs of a recording walk stacks by
//! (`bpf/tables.bpf.c`).

use std::os::fd::AsFd;

use libbpf_rs::skel::{OpenSkel, SkelBuilder};
use libbpf_rs::{MapCore, MapHandle};

use super::shared::ProcessCode;
use super::{Arena, Capacity, CodeOfProcesses, Publish, SharedUnwinder, UnwindMaps, Unwinder};
use crate::Unavailable;
use crate::bpf::object::{place, skeleton};
use crate::bpf::record;

skeleton!("tables");
use skeleton::TablesSkelBuilder;

/// Writes what is known of a process where the programs look.
struct Processes(MapHandle);

impl Publish for Processes {
    fn put(&mut self, pid: u32, code: &ProcessCode) {
        // A full map: samples of the process say that it was not read.
        let _ = record::put(&self.0, &pid, code);
    }

    fn remove(&mut self, pid: u32) {
        let _ = self.0.delete(&pid.to_ne_bytes());
    }
}

fn refused(step: &'static str) -> impl Fn(libbpf_rs::Error) -> Unavailable {
    move |error| crate::bpf::unavailable("stacks", step, &error)
}

fn handle(map: &libbpf_rs::Map<'_>) -> Result<MapHandle, Unavailable> {
    MapHandle::try_from(map).map_err(refused("opening a map of"))
}

impl Unwinder {
    /// Over tables of its own. `all`: for every process of the host, and not for some.
    pub(crate) fn load(all: bool) -> Result<SharedUnwinder, Unavailable> {
        crate::bpf::silence();
        let capacity = if all { Capacity::HOST } else { Capacity::SOME };
        let mut open = TablesSkelBuilder::default().open(place()).map_err(refused("opening"))?;
        let sized = [
            open.maps.unwind_rows.set_max_entries(capacity.rows),
            open.maps.row_pages.set_max_entries(capacity.pages),
            open.maps.code_mappings.set_max_entries(capacity.mappings),
            open.maps.jvm_codes.set_max_entries(capacity.jvms),
        ];
        sized.into_iter().collect::<Result<Vec<()>, _>>().map_err(refused("sizing a table of"))?;
        let loaded = open.load().map_err(refused("loading"))?;
        let maps = &loaded.maps;
        let io = |error: std::io::Error| refused("sharing memory with")(libbpf_rs::Error::from(error));
        let mut code = CodeOfProcesses::new(
            Arena::over(maps.unwind_rows.as_fd(), capacity.rows).map_err(io)?,
            Arena::over(maps.row_pages.as_fd(), capacity.pages).map_err(io)?,
            Arena::over(maps.code_mappings.as_fd(), capacity.mappings).map_err(io)?,
            Arena::over(maps.jvm_codes.as_fd(), capacity.jvms).map_err(io)?,
            Box::new(Processes(handle(&maps.processes)?)),
        );
        code.keeps_of_jvms_only = all;
        // The handles keep the tables when the object is gone.
        let shared = UnwindMaps {
            rows: handle(&maps.unwind_rows)?,
            pages: handle(&maps.row_pages)?,
            mappings: handle(&maps.code_mappings)?,
            jvms: handle(&maps.jvm_codes)?,
            processes: handle(&maps.processes)?,
        };
        Ok(Self::new(code, shared))
    }
}
