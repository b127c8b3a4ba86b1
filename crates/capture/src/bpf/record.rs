//! What the programs send and keep, as the structs that it is. Their types are generated from those
//! of the programs, a module `skeleton::types` of each object (`build.rs`, `bpf/types.h`).

use libbpf_rs::{MapCore, MapFlags};
use zerocopy::{FromBytes, Immutable, IntoBytes};

/// The struct that bytes begin with; `None` where they are too few.
pub(crate) fn read<T: FromBytes>(bytes: &[u8]) -> Option<T> {
    split(bytes).map(|(read, _)| read)
}

/// The same, and what comes behind it.
pub(crate) fn split<T: FromBytes>(bytes: &[u8]) -> Option<(T, &[u8])> {
    T::read_from_prefix(bytes).ok()
}

/// The value of a key in a map.
pub(crate) fn value<T: FromBytes>(map: &impl MapCore, key: &(impl IntoBytes + Immutable)) -> Option<T> {
    read(&map.lookup(key.as_bytes(), MapFlags::ANY).ok().flatten()?)
}

/// Enters a value into a map, or writes over the one that is there.
pub(crate) fn put(
    map: &impl MapCore,
    key: &(impl IntoBytes + Immutable),
    value: &(impl IntoBytes + Immutable),
) -> libbpf_rs::Result<()> {
    map.update(key.as_bytes(), value.as_bytes(), MapFlags::ANY)
}

/// The entries of a map, read one by one: of one that is small.
pub(crate) fn all<K: FromBytes, V: FromBytes>(map: &impl MapCore) -> Vec<(K, V)> {
    let value = |key: &Vec<u8>| read(&map.lookup(key, MapFlags::ANY).ok().flatten()?);
    map.keys().filter_map(|key| Some((read(&key)?, value(&key)?))).collect()
}

/// The values of a key in a map that has one for each CPU.
pub(crate) fn of_cpus<T: FromBytes>(map: &impl MapCore, key: u32) -> Vec<T> {
    let values = map.lookup_percpu(key.as_bytes(), MapFlags::ANY).ok().flatten().unwrap_or_default();
    values.iter().filter_map(|bytes| read(bytes)).collect()
}

/// A text that ends at the first zero, or where the characters do: names of threads, and what
/// probes of a JVM hand over.
pub(crate) fn text(characters: &(impl IntoBytes + Immutable + ?Sized)) -> String {
    let bytes = characters.as_bytes();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    fathom_recording::jvm_text(&bytes[..end]).into_owned()
}

/// The characters of a name, as a program would send it.
#[cfg(test)]
pub(crate) fn characters<const N: usize>(text: &str) -> [i8; N] {
    let mut characters = [0; N];
    characters.iter_mut().zip(text.bytes()).for_each(|(to, from)| *to = from.cast_signed());
    characters
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_cut_off_is_none_and_a_text_ends_at_its_zero() {
        let bytes = [1, 0, 0, 0, 2, 0, 0, 0, 3];
        assert_eq!(split::<[u32; 2]>(&bytes), Some(([1, 2], &bytes[8..])));
        assert_eq!(read::<[u32; 2]>(&bytes[1..]), Some([0x0200_0000, 0x0300_0000]));
        assert_eq!(read::<[u32; 2]>(&bytes[2..]), None);
        assert_eq!((text(b"ab\0c"), text(b"abc"), text("")), ("ab".into(), "abc".into(), String::new()));
        assert_eq!(text(&characters::<4>("abcdef")), "abcd");
    }
}
