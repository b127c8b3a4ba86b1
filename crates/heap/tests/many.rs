//! More objects than 31 bits number: `make heap-many`, with 39 GB of disk in `TMPDIR` and 8 GB of
//! memory. `FATHOM_HEAP_OBJECTS` makes it smaller.

#![allow(clippy::unwrap_used)]

use std::io::{BufWriter, Write};

use fathom_heap::{Kept, Referents, read};

/// Objects in one segment.
const A_SEGMENT: u64 = 1 << 20;
/// Bytes of an array without elements in the dump.
const RECORD: usize = 18;

/// The address of an object.
fn address(object: u64) -> u64 {
    0x1000 + 16 * object
}

/// A dump of arrays without elements, of which the last is a root.
fn write(out: &mut impl Write, objects: u64) -> std::io::Result<()> {
    out.write_all(b"JAVA PROFILE 1.0.2\0\0\0\0\x08\0\0\0\0\0\0\0\x2a")?;
    for first in (0..objects).step_by(A_SEGMENT as usize) {
        let end = (first + A_SEGMENT).min(objects);
        let bytes = (end - first) as usize * RECORD;
        out.write_all(&[0x1c, 0, 0, 0, 0])?;
        out.write_all(&(bytes as u32).to_be_bytes())?;
        for object in first..end {
            let mut record = [0; RECORD];
            record[0] = 0x23;
            record[1..9].copy_from_slice(&address(object).to_be_bytes());
            record[RECORD - 1] = 8;
            out.write_all(&record)?;
        }
    }
    let root = [&[0x1c, 0, 0, 0, 0, 0, 0, 0, 17, 0x01][..], &address(objects - 1).to_be_bytes(), &[0; 8]];
    out.write_all(&root.concat())?;
    out.flush()
}

fn is_read_to_its_last_object(objects: u64) {
    let file = tempfile::NamedTempFile::new().unwrap();
    write(&mut BufWriter::with_capacity(1 << 20, file.as_file()), objects).unwrap();
    let heap = read(file.path(), Referents::AsAll, None).unwrap();
    assert_eq!((u64::from(heap.len()), &heap.damage), (objects, &Default::default()));
    for object in [0, 1, objects / 2, objects - 2, objects - 1] {
        let node = heap.find(address(object)).unwrap();
        assert_eq!((u64::from(node), heap.address(node), heap.size(node)), (object, address(object), 16));
        assert_eq!(heap.find(address(object) + 8), None);
    }
    let kept = Kept::of(&heap);
    assert_eq!((kept.objects(), kept.reachable_bytes()), (1, 16));
    assert_eq!(kept.number((objects - 1) as u32).map(|number| kept.dominator(number)), Some(0));
    assert_eq!(kept.number(0), None);
}

#[test]
fn a_dump_of_several_segments_is_read_to_its_last_object() {
    is_read_to_its_last_object(A_SEGMENT + 77);
}

#[test]
#[ignore = "39 GB of disk: make heap-many"]
fn a_dump_of_more_than_two_to_the_31_objects_is_read_to_its_last_object() {
    let objects = std::env::var("FATHOM_HEAP_OBJECTS").map_or(1 << 31, |objects| objects.parse().unwrap());
    is_read_to_its_last_object(objects + 9);
}
