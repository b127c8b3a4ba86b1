//! Where the heap of live JVMs lies, compared with its maximum size and with what is mapped there.

#![allow(clippy::unwrap_used)]

mod jvm;

use fathom_hotspot::heap::HeapBounds;
use fathom_hotspot::{Vm, maps};
use jvm::{Jvm, jdks, may_trace};

#[test]
fn the_reserved_heap_is_as_large_as_it_may_get_and_mapped() {
    if !may_trace() {
        return;
    }
    for jdk in jdks() {
        for collector in ["-XX:+UseSerialGC", "-XX:+UseParallelGC", "-XX:+UseG1GC"] {
            let Some(jvm) = Jvm::start(&jdk, &[collector], &["Busy"]) else { return };
            let bounds = HeapBounds::read(&Vm::open(jvm.pid()).unwrap()).unwrap();
            let heap = bounds.heap.unwrap();
            let what = format!("JDK {} {collector}: {heap:x?}", jdk.release);
            assert_eq!(heap.end - heap.start, 64 << 20, "{what}");
            let all = maps::read(jvm.pid()).unwrap();
            assert!(all.iter().any(|m| m.start == heap.start && m.writable), "{what}");
            if let Some(classes) = bounds.classes {
                // Objects of the archive are mapped into the heap, classes of it into the class
                // space.
                let archive =
                    |m: &&maps::Mapping| m.path.ends_with("classes.jsa") && !heap.contains(&m.start);
                for part in all.iter().filter(archive) {
                    assert!(classes.contains(&part.start), "{what}: {classes:x?} {part:x?}");
                }
            }
        }
    }
}
