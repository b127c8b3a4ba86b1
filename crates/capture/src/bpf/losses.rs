//! What a program has left out, kind by kind, as it counts it (`bpf/losses.h`).

use libbpf_rs::{Map, MapHandle, Result};

use super::dispatcher::skeleton::types::{loss, losses};
use super::record;

/// The counts of an object.
pub(crate) struct Losses {
    map: MapHandle,
    /// What was lost when that was asked for the last time.
    lost: u64,
}

impl Losses {
    /// Over the map of a loaded object.
    pub(crate) fn over(map: &Map<'_>) -> Result<Self> {
        Ok(Self { map: MapHandle::try_from(map)?, lost: 0 })
    }

    /// So many of a kind so far: of a limit that the program keeps, in its own enum.
    pub(crate) fn of(&self, kind: u32) -> u64 {
        self.of_cpus().iter().filter_map(|cpu| cpu.of.get(kind as usize)).sum()
    }

    /// What found no room since the last time: this is lost, and nobody meant it to be.
    pub(crate) fn take(&mut self) -> u64 {
        let own = loss::OWN_LOSSES.0 as usize;
        let lost = self.of_cpus().iter().flat_map(|cpu| &cpu.of[..own]).sum();
        let before = std::mem::replace(&mut self.lost, lost);
        lost.saturating_sub(before)
    }

    fn of_cpus(&self) -> Vec<losses> {
        record::of_cpus(&self.map, 0)
    }
}
