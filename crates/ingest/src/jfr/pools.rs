//! The constant pools of a chunk: what its events name by number.
//!
//! Checkpoints are written through the whole chunk, and an entry may be written again, better known
//! by then (a thread that has got its name). The newest counts, so checkpoints are walked from the
//! last to the first and nothing that is there is overwritten. Only where an entry lies is kept; it
//! is read when something asks for it.

use rustc_hash::FxHashMap;

use super::bytes::Bytes;
use super::layout::{Clock, Layout};
use super::metadata::Types;

/// For how many entries room is made at once: a damaged number must not take memory.
const AT_ONCE: usize = 1 << 14;

/// Where the entries of a chunk's pools lie.
#[derive(Default)]
pub(super) struct Pools {
    /// For each type, key → where the value begins and ends in the chunk, which is smaller than 4
    /// GB.
    entries: Vec<FxHashMap<u64, (u32, u32)>>,
    /// Checkpoints that could not be read to their end.
    pub(super) damaged: u64,
}

impl Pools {
    /// Reads the checkpoints that begin (behind size and type) and end at these offsets, in the
    /// order of the file.
    pub(super) fn read(data: &[u8], compressed: bool, types: &Types, checkpoints: &[(usize, usize)]) -> Self {
        let mut pools = Self { entries: vec![FxHashMap::default(); types.classes.len()], damaged: 0 };
        let mut layouts: Vec<Option<Option<Layout>>> = Vec::new();
        layouts.resize_with(types.classes.len(), || None);
        for (from, to) in checkpoints.iter().rev() {
            let body = Bytes::new(data.get(..*to).unwrap_or_default(), *from, compressed);
            if pools.checkpoint(body, types, &mut layouts).is_none() {
                pools.damaged += 1;
            }
        }
        pools
    }

    fn checkpoint(
        &mut self,
        mut body: Bytes<'_>,
        types: &Types,
        layouts: &mut [Option<Option<Layout>>],
    ) -> Option<()> {
        // Start, duration, offset of the checkpoint before, and what sort of checkpoint it is.
        let (_, _, _, _) = (body.long()?, body.long()?, body.long()?, body.u8()?);
        // Lengths of time mean nothing while entries are passed over.
        let clock = Clock { start_ns: 0, start_ticks: 0, tick_ns: 1.0 };
        for _ in 0..body.length()? {
            let class = types.index(body.long()?)?;
            let known = layouts.get_mut(class as usize)?;
            let layout = known.get_or_insert_with(|| Layout::of(types, class, &[])).as_ref()?;
            let entries = self.entries.get_mut(class as usize)?;
            let count = body.length()?;
            entries.reserve(count.min(AT_ONCE));
            for _ in 0..count {
                let key = body.long()?;
                let place = entries.entry(key);
                let from = u32::try_from(body.at).ok()?;
                // One that is cut ends where the chunk does.
                let end = layout.pass(&mut body, &clock, &mut []).map(|()| body.at);
                place.or_insert((from, end.and_then(|end| u32::try_from(end).ok()).unwrap_or(u32::MAX)));
                end?;
            }
        }
        Some(())
    }

    /// Where the entry of a type with a key begins and ends.
    pub(super) fn find(&self, class: u32, key: u64) -> Option<(usize, usize)> {
        let (from, to) = self.entries.get(class as usize)?.get(&key)?;
        Some((*from as usize, *to as usize))
    }
}
