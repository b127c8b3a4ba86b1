//! A small dump: what it says when it is whole, and that nothing panics however it is damaged.

#![allow(clippy::unwrap_used)]

mod small;

use std::path::Path;

use fathom_heap::report::{About, Bound, ClassReport, ObjectReport, Picture, Screen, WaysReport};
use fathom_heap::{Growth, Heap, HeapError, Kept, Paths, Referents, Storage, Summary, read};
use proptest::prelude::*;
use small::id;

fn read_bytes(bytes: &[u8], referents: Referents) -> Result<Heap, HeapError> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    read(file.path(), referents, None)
}

/// A copy without values, where the dump can be read as a whole.
fn copied(bytes: &[u8]) -> Option<Vec<u8>> {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), bytes).unwrap();
    let mut out = Vec::new();
    fathom_heap::redact(file.path(), &mut out).ok().map(|_| out)
}

fn screen(heap: &Heap) -> Screen {
    let kept = Kept::of(heap);
    Screen::of(heap, &kept, About::of(heap, Path::new("small"), true), 10)
}

#[test]
fn an_index_on_disk_tells_the_same() {
    let whole = small::dump();
    let first_screen_of = |path: &Path, memory_left, storage| {
        let heap = read(path, Referents::AsAll, memory_left).ok()?;
        assert_eq!(heap.storage, storage);
        let mut first_screen = serde_json::to_value(screen(&heap)).unwrap();
        first_screen["about"]["index"].take();
        Some(first_screen)
    };
    // Whole, and cut in some places.
    for length in (0..=whole.len()).rev().step_by(whole.len() / 12) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), &whole[..length]).unwrap();
        let in_memory = first_screen_of(file.path(), None, Storage::Memory);
        assert!(in_memory.is_some() || length < whole.len() / 2);
        assert_eq!(
            in_memory,
            first_screen_of(file.path(), Some(0), Storage::Disk),
            "{length} of {} B",
            whole.len()
        );
    }
}

#[test]
fn a_copy_of_a_copy_is_the_copy_but_for_its_mark() {
    let whole = small::dump();
    let copy = copied(&whole).unwrap();
    let again = copied(&copy).unwrap();
    assert!(copy != whole && copy.len() > whole.len());
    assert_eq!(again.len() - copy.len(), copy.len() - whole.len());
    assert!(again.ends_with(&copy[copy.len() - whole.len() / 2..]));
    let (of_whole, of_copy) = (read_bytes(&whole, Referents::AsAll), read_bytes(&copy, Referents::AsAll));
    let (of_whole, of_copy) = (of_whole.unwrap(), of_copy.unwrap());
    assert_eq!((of_whole.is_redacted(), of_copy.is_redacted()), (false, true));
    let retained = |heap: &Heap| -> Vec<u64> {
        screen(heap).holders.all.iter().map(|holder| holder.retained_bytes).collect()
    };
    assert_eq!(retained(&of_whole), retained(&of_copy));
}

/// All that is ever asked of a heap.
fn ask_everything(heap: &Heap) {
    let kept = Kept::of(heap);
    let paths = Paths::of(heap, &kept);
    let first_screen = screen(heap);
    let at_once = Screen::of_heap(heap, About::of(heap, Path::new("small"), true), 10);
    assert_eq!(serde_json::to_value(&first_screen).unwrap(), serde_json::to_value(&at_once).unwrap());
    assert!(first_screen.size.objects + first_screen.size.unreachable_objects == u64::from(heap.len()));
    assert!(first_screen.holders.all.iter().all(|holder| holder.retained_bytes <= first_screen.size.bytes));
    for node in (0..heap.len()).take(100) {
        let _ = ObjectReport::of(heap, &kept, node, 5, true);
        let _ = WaysReport::of(heap, &kept, &paths, node, 5);
    }
    for (_, class) in heap.classes.iter().take(50) {
        let _ = ClassReport::of(heap, &kept, &class.name, 5);
    }
    let picture = Picture::of(heap, &kept, About::of(heap, Path::new("small"), true));
    let bytes: u64 = picture.nodes.iter().map(|node| node.own_bytes + node.folded.bytes).sum();
    assert_eq!(bytes, kept.reachable_bytes());
    let summary = Summary::of(heap, &kept);
    let growth = Growth::between(&summary, &summary, 5);
    assert!(growth.chains.is_empty() && growth.classes.is_empty());
}

#[test]
fn a_whole_dump_tells_who_keeps_what() {
    let heap = read_bytes(&small::dump(), Referents::AsAll).unwrap();
    assert_eq!(heap.damage, Default::default());
    let kept = Kept::of(&heap);
    let number = |address| kept.number(heap.find(address).unwrap()).unwrap();
    let size = |address| heap.size(heap.find(address).unwrap());
    let (list, array) = (number(id::LIST), number(id::ARRAY));
    let items: u64 = (0..small::ITEMS).map(|i| size(id::ITEMS + 24 * i)).sum();
    assert_eq!(kept.retained(list), size(id::LIST) + size(id::ARRAY) + items);
    assert_eq!(kept.dominator(array), list);
    let screen = screen(&heap);
    let thread = &screen.threads[0];
    assert_eq!((thread.name.as_deref(), thread.stack_bytes), (Some("worker"), 816));
    assert_eq!(thread.largest_frame.as_deref(), Some("org.example.Cache.run(Cache.java:7)"));
    assert_eq!(screen.size.unreachable_objects, 1);
    let weakly = WaysReport::of(&heap, &kept, &Paths::of(&heap, &kept), heap.find(id::WEAKLY).unwrap(), 3);
    assert!(weakly.ways[0].weak && weakly.referrers == 1);
    ask_everything(&heap);
}

#[test]
fn a_class_of_the_boot_loader_that_alone_is_not_listed_lives_as_long_as_its_instances() {
    let last_is_reached = |classes: u64, held: bool| {
        let heap = read_bytes(&small::listed(classes, held), Referents::AsAll).unwrap();
        let kept = Kept::of(&heap);
        assert!(kept.number(heap.find(small::kind(0)).unwrap()).is_some());
        kept.number(heap.find(small::kind(classes - 1)).unwrap()).is_some()
    };
    assert!(!last_is_reached(150, false) && last_is_reached(150, true));
    // So few are no list.
    assert!(last_is_reached(50, false));
}

#[test]
fn a_hidden_class_of_the_boot_loader_lives_as_long_as_its_instances() {
    let objects = [(0, [None; 3]), (1, [None; 3])];
    let reached = |suffix: &str| {
        let heap = read_bytes(&small::graph_of(suffix, &objects, &[0]), Referents::AsAll).unwrap();
        let kept = Kept::of(&heap);
        let number = |kind| kept.number(heap.find(small::kind(kind)).unwrap());
        let instance = kept.numbers().find(|number| heap.class(kept.node(*number)).name == "k.K0");
        [0, 1].map(|kind| number(kind).map(|class| kept.dominator(class) == instance.unwrap()))
    };
    assert_eq!(reached("+0x00007f0102030405"), [Some(true), None]);
    assert_eq!(reached(""), [Some(false), Some(false)]);
}

#[test]
fn older_versions_and_identifiers_of_four_bytes_tell_the_same() {
    let first_screen_of = |version, id_size| {
        let heap = read_bytes(&small::dump_as(version, id_size), Referents::AsAll).unwrap();
        assert_eq!(heap.damage, Default::default(), "{version} {id_size}");
        let screen = screen(&heap);
        let names = screen.classes.iter().map(|class| (class.name.clone(), class.sum.objects));
        (names.collect::<std::collections::BTreeMap<_, _>>(), screen.threads[0].name.clone())
    };
    let newest = first_screen_of("1.0.2", 8);
    assert!(newest.0["org.example.Cache"] == small::ITEMS, "{newest:?}");
    assert_eq!(
        [first_screen_of("1.0.1", 8), first_screen_of("1.0.1", 4), first_screen_of("1.0.2", 4)],
        [newest.clone(), newest.clone(), newest]
    );
}

#[test]
fn what_only_a_weak_reference_holds_is_held_by_nothing_where_referents_are_left_out() {
    let heap = read_bytes(&small::dump(), Referents::LeftOut).unwrap();
    let kept = Kept::of(&heap);
    let reached = |address| kept.number(heap.find(address).unwrap()).is_some();
    assert_eq!([id::WEAKLY, id::GARBAGE, id::LIST].map(reached), [false, false, true]);
}

#[test]
fn a_large_class_of_the_jdk_alone_bounds_nothing() {
    let screen = screen(&read_bytes(&small::dump(), Referents::AsAll).unwrap());
    let bounds: Vec<&Bound> = screen.holders.all.iter().filter_map(|holder| holder.bound.as_ref()).collect();
    assert!(bounds.is_empty(), "{bounds:?}");
}

#[test]
fn what_is_no_dump_is_told() {
    assert!(matches!(read_bytes(b"PK\x03\x04", Referents::AsAll), Err(HeapError::NotHprof { .. })));
    assert!(matches!(read_bytes(b"", Referents::AsAll), Err(HeapError::NotHprof { .. })));
    let head = &small::dump()[..40];
    assert!(matches!(read_bytes(head, Referents::AsAll), Err(HeapError::Empty { truncated: true, .. })));
}

#[test]
fn the_seed_of_the_fuzzer_is_this_dump() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixtures/small.hprof");
    if std::env::var_os("FATHOM_BLESS").is_some() {
        std::fs::write(&path, small::dump()).unwrap();
    }
    assert_eq!(std::fs::read(&path).unwrap(), small::dump(), "FATHOM_BLESS=1 writes it anew");
}

/// Where records begin, with their tags and lengths.
fn records(data: &[u8]) -> Vec<(usize, u8, u32)> {
    let mut at = 31;
    let mut found = Vec::new();
    while at < data.len() {
        let length = u32::from_be_bytes(data[at + 5..at + 9].try_into().unwrap());
        found.push((at, data[at], length));
        at += 9 + length as usize;
    }
    found
}

#[test]
fn a_length_that_is_wrong_costs_its_own_record_and_is_named() {
    let whole = small::dump();
    let objects = read_bytes(&whole, Referents::AsAll).unwrap().len();
    for (at, tag, length) in records(&whole) {
        // Far too long, in and beyond the file, and too short.
        for wrong in [0x4000_0000 | length, length + 41, length + 5, length.saturating_sub(3)] {
            // What is behind the heap's segment has no length; a name that ends sooner is a name.
            if tag == 0x2c || wrong == length || length == 8 {
                continue;
            }
            let mut damaged = whole.clone();
            damaged[at + 5..at + 9].copy_from_slice(&wrong.to_be_bytes());
            let heap = read_bytes(&damaged, Referents::AsAll).unwrap();
            let said = format!("tag {tag:#x} at {at}: {length} → {wrong}: {:?}", heap.damage);
            assert_eq!(heap.len(), objects, "{said}");
            let first = heap.damage.first.unwrap_or_else(|| panic!("{said}"));
            // Of one that is too short, what is left over cannot be read.
            let is_it = match wrong > length || tag == 0x1c {
                true => (first.at, first.tag, first.length) == (at as u64, tag, Some(wrong.into())),
                false => first.at == at as u64 || first.at == at as u64 + 9 + u64::from(wrong),
            };
            assert!(is_it && !heap.damage.truncated, "{said}");
            assert!(heap.damage.skipped_bytes <= u64::from(length) + 9, "{said}");
        }
    }
}

#[test]
fn an_array_whose_length_is_wrong_is_passed_over_and_what_follows_is_read() {
    let whole = small::dump();
    let head = [&[0x23][..], &0x3060_u64.to_be_bytes(), &[0; 4]].concat();
    let at = whole.windows(head.len()).position(|window| window == head).unwrap();
    let objects = read_bytes(&whole, Referents::AsAll).unwrap().len();
    for wrong in [101_u32, 0x100_0064, 105] {
        let mut damaged = whole.clone();
        damaged[at + 13..at + 17].copy_from_slice(&wrong.to_be_bytes());
        let heap = read_bytes(&damaged, Referents::AsAll).unwrap();
        let first = heap.damage.first.unwrap();
        let said = format!("{wrong}: {:?}", heap.damage);
        assert!((first.at, first.tag) == (at as u64, 0x23) && !heap.damage.truncated, "{said}");
        assert_eq!((heap.len(), heap.damage.skipped_bytes), (objects - 1, 800 + 18), "{said}");
        assert!(heap.find(id::WEAKLY).is_some() && heap.find(0x3060).is_none(), "{said}");
        // The roots behind it are read, but for the one of the array.
        assert_eq!(heap.roots.len(), 2, "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn no_damage_makes_it_panic(
        bytes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..12),
        cut in any::<prop::sample::Index>(),
        is_cut: bool,
    ) {
        let mut dump = small::dump();
        for (at, byte) in &bytes {
            let at = at.index(dump.len());
            dump[at] = *byte;
        }
        if is_cut {
            dump.truncate(cut.index(dump.len()));
        }
        for referents in [Referents::AsAll, Referents::LeftOut] {
            if let Ok(heap) = read_bytes(&dump, referents) {
                ask_everything(&heap);
            }
        }
        // The mark of a copy is a record of its own.
        if let Some(copy) = copied(&dump) {
            prop_assert!((dump.len() + 9..dump.len() + 60).contains(&copy.len()));
        }
    }
}
