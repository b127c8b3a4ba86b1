//! Maps of a program read as a whole.
//!
//! libbpf-rs takes a batch that is not full for the last one, and the kernel ends one before a
//! bucket that has no room in it any more: of a map that is read in several batches, all behind the
//! first bucket of two or more entries at an end of a batch may be left out, and nobody says so. So
//! there is one batch, with room for all.

use libbpf_rs::{BatchedMapIter, MapCore, MapFlags, Result};
use zerocopy::FromBytes;

use super::record::read;

/// Entries beyond those that a map may have: others are made behind the place that is read, while
/// they are given back before it.
const MARGIN: u32 = 1024;

fn room(map: &(impl MapCore + ?Sized)) -> u32 {
    map.max_entries().saturating_add(MARGIN)
}

/// All entries of a hash: keys and values. One that is made or given back meanwhile is among them,
/// or not.
pub(crate) fn entries<K: FromBytes, V: FromBytes>(
    map: &(impl MapCore + ?Sized),
) -> Result<impl Iterator<Item = (K, V)>> {
    map.lookup_batch(room(map), MapFlags::ANY, MapFlags::ANY).map(typed)
}

/// The same, and they are given back.
pub(crate) fn taken<K: FromBytes, V: FromBytes>(
    map: &(impl MapCore + ?Sized),
) -> Result<impl Iterator<Item = (K, V)>> {
    map.lookup_and_delete_batch(room(map), MapFlags::ANY, MapFlags::ANY).map(typed)
}

fn typed<K: FromBytes, V: FromBytes>(entries: BatchedMapIter<'_>) -> impl Iterator<Item = (K, V)> {
    entries.filter_map(|(key, value)| Some((read(&key)?, read(&value)?)))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use libbpf_rs::libbpf_sys::bpf_map_create_opts;
    use libbpf_rs::{MapHandle, MapType};

    use super::*;

    #[test]
    fn a_large_map_is_read_to_its_end() {
        const MOST: u32 = 65_536;
        const MADE: u64 = 30_000;
        if let Err(why) = crate::check::ebpf() {
            fathom_testing::skip(&format!("{}: {}", why.what, why.why));
            return;
        }
        let options = bpf_map_create_opts {
            sz: size_of::<bpf_map_create_opts>() as _,
            ..bpf_map_create_opts::default()
        };
        let map = MapHandle::create(MapType::Hash, Some("whole"), 8, 8, MOST, &options).unwrap();
        for key in 0..MADE {
            map.update(&key.to_ne_bytes(), &key.to_ne_bytes(), MapFlags::ANY).unwrap();
        }
        let all = || entries::<u64, u64>(&map).unwrap().collect::<HashSet<_>>();
        assert_eq!(all().len() as u64, MADE);
        assert_eq!(taken(&map).unwrap().collect::<HashSet<(u64, u64)>>().len() as u64, MADE);
        assert!(all().is_empty());
    }
}
