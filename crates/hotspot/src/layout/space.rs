//! Fields that describe which parts of the Java heap hold objects.

use super::{Field, Static, group};

group! {
    /// G1
    /// (src/hotspot/share/gc/g1/{g1CollectedHeap,g1HeapRegionManager,g1BiasedArray,g1HeapRegion}.hpp).
    G1Layout {
        /// `G1CollectedHeap`: the manager of its regions, a part of it.
        manager: Field = ["G1CollectedHeap._hrm", "G1CollectedHeap._hrs"];
        /// The manager: its table of regions, a part of it.
        table: Field = ["HeapRegionManager._regions", "G1HeapRegionManager._regions"];
        /// The table: an array of `G1HeapRegion*`.
        regions: Field = ["G1HeapRegionTable._base"];
        /// The table: how many regions there may be.
        length: Field = ["G1HeapRegionTable._length"];
        /// A region: its first address.
        bottom: Field = ["HeapRegion._bottom", "G1HeapRegion._bottom", "Space._bottom"];
        /// A region: after its last object.
        top: Field = ["HeapRegion._top", "G1HeapRegion._top", "G1ContiguousSpace._top", "ContiguousSpace._top"];
        /// A region: its type.
        sort: Field = ["HeapRegion._type", "G1HeapRegion._type"];
    }
}

group! {
    /// Serial (src/hotspot/share/gc/serial/{serialHeap,defNewGeneration,tenuredGeneration}.hpp).
    SerialLayout {
        /// The heap: its young generation.
        young: Field = ["GenCollectedHeap._young_gen", "SerialHeap._young_gen"];
        /// The heap: its old generation.
        old: Field = ["GenCollectedHeap._old_gen", "SerialHeap._old_gen"];
        /// The young generation: where objects are allocated.
        eden: Field = ["DefNewGeneration._eden_space"];
        /// The young generation: where survivors are.
        from: Field = ["DefNewGeneration._from_space"];
        /// The old generation: all of it.
        tenured: Field = ["TenuredGeneration._the_space"];
        /// A space: its first address.
        bottom: Field = ["Space._bottom", "ContiguousSpace._bottom"];
        /// A space: after its last object.
        top: Field = ["ContiguousSpace._top"];
    }
}

group! {
    /// Parallel
    /// (src/hotspot/share/gc/parallel/{parallelScavengeHeap,psYoungGen,psOldGen,mutableSpace}.hpp).
    ParallelLayout {
        /// Its young generation.
        young: Static = ["ParallelScavengeHeap._young_gen"];
        /// Its old generation.
        old: Static = ["ParallelScavengeHeap._old_gen"];
        /// The young generation: where objects are allocated.
        eden: Field = ["PSYoungGen._eden_space"];
        /// The young generation: where survivors are.
        from: Field = ["PSYoungGen._from_space"];
        /// The old generation: all of it.
        tenured: Field = ["PSOldGen._object_space"];
        /// A space: its first address.
        bottom: Field = ["MutableSpace._bottom", "ImmutableSpace._bottom"];
        /// A space: after its last object.
        top: Field = ["MutableSpace._top"];
    }
}

group! {
    /// How large objects are, and where threads have room that is not used yet
    /// (src/hotspot/share/oops/klass.hpp, gc/shared/threadLocalAllocBuffer.hpp,
    /// classfile/javaClasses.hpp).
    ObjectLayout {
        /// `Klass`: the size of its objects, or how those of an array follow from its length.
        layout_helper: Field = ["Klass._layout_helper"];
        /// Where a `java.lang.Class` has its own size, which includes static fields, in words.
        mirror_size: Static = ["java_lang_Class._oop_size_offset", "java_lang_Class.oop_size_offset"];
        /// `Thread`: its allocation buffer, a part of it.
        buffer: Field = ["Thread._tlab"];
        /// The buffer: after the last object in it.
        buffer_top: Field = ["ThreadLocalAllocBuffer._top"];
        /// The buffer: its end, but for what is kept to fill it up.
        buffer_end: Field = ["ThreadLocalAllocBuffer._end"];
        /// Words after that end, at most, that belong to it.
        reserve: Option<Static> = ["ThreadLocalAllocBuffer._reserve_for_allocation_prefetch"];
    }
}
