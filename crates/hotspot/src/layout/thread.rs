//! Fields of threads.

use super::{Field, Size, Static, group};

group! {
    /// Java threads (src/hotspot/share/runtime/{thread,javaThread,osThread,threadSMR}.hpp).
    ThreadLayout {
        /// First Java thread; the others hang on it (JDK 8 to 15).
        list: Option<Static> = ["Threads._thread_list"];
        /// The next Java thread in that list.
        next: Option<Field> = ["JavaThread._next"];
        /// `ThreadsList*` of all Java threads (since JDK 11, 16 on the only one).
        smr_list: Option<Static> = ["ThreadsSMRSupport._java_thread_list"];
        /// `ThreadsList`: how many.
        smr_length: Option<Field> = ["ThreadsList._length"];
        /// `ThreadsList`: `JavaThread**`.
        smr_threads: Option<Field> = ["ThreadsList._threads"];
        /// Its `OSThread*`.
        os_thread: Field = ["JavaThread._osthread", "Thread._osthread"];
        /// `OSThread`: its id at the kernel, as its own pid namespace has it.
        thread_id: Field = ["OSThread._thread_id"];
        /// `JavaThreadState`.
        state: Field = ["JavaThread._thread_state"];
        /// Its `java.lang.Thread`: an oop (JDK 8 to 14), then a handle.
        thread_object: Field = ["JavaThread._threadObj"];
        /// The virtual thread that it carries (since JDK 19): a handle.
        virtual_thread: Option<Field> = ["JavaThread._vthread"];
        /// What it left behind when it last left Java: a `JavaFrameAnchor`.
        anchor: Field = ["JavaThread._anchor"];
        /// `JavaFrameAnchor`: stack pointer; null while in Java.
        anchor_sp: Field = ["JavaFrameAnchor._last_Java_sp"];
        /// `JavaFrameAnchor`: pc; null where it is the word below the stack pointer.
        anchor_pc: Field = ["JavaFrameAnchor._last_Java_pc"];
        /// `JavaFrameAnchor`: frame pointer.
        anchor_fp: Field = ["JavaFrameAnchor._last_Java_fp"];
        /// `JavaCallWrapper`: the anchor of what was in Java before a call from the JVM.
        call_wrapper_anchor: Field = ["JavaCallWrapper._anchor"];
        /// Where its stack begins (highest address).
        stack_base: Field = ["JavaThread._stack_base", "Thread._stack_base"];
        /// Bytes of its stack.
        stack_size: Field = ["JavaThread._stack_size", "Thread._stack_size"];
    }
}

group! {
    /// What a compiler thread compiles (src/hotspot/share/compiler/compileTask.hpp, ci/ciEnv.hpp).
    CompilerLayout {
        /// `CompilerThread`: its `ciEnv*`, null while idle.
        env: Field = ["CompilerThread._env"];
        /// `ciEnv`: its `CompileTask*`.
        task: Field = ["ciEnv._task"];
        /// `CompileTask`: `Method*`.
        method: Field = ["CompileTask._method"];
        /// `CompileTask`: bytecode index of an on-stack replacement, or -1.
        osr_bci: Field = ["CompileTask._osr_bci"];
        /// `CompileTask`: tier.
        comp_level: Field = ["CompileTask._comp_level"];
        /// `CompileTask`: number.
        compile_id: Field = ["CompileTask._compile_id"];
    }
}

group! {
    /// What a thread waits for (src/hotspot/share/runtime/{thread,javaThread,objectMonitor}.hpp).
    LockLayout {
        /// The monitor that it waits to enter.
        pending: Field = ["Thread._current_pending_monitor", "JavaThread._current_pending_monitor"];
        /// The monitor in whose `Object.wait` it is.
        waiting: Field = ["Thread._current_waiting_monitor", "JavaThread._current_waiting_monitor"];
        /// Its `java.lang.Thread`.
        thread_object: Field = ["JavaThread._threadObj"];
        /// The virtual thread that it carries, itself when none (since JDK 19).
        virtual_thread: Option<Field> = ["JavaThread._vthread"];
        /// Its `OSThread*`.
        os_thread: Field = ["JavaThread._osthread", "Thread._osthread"];
        /// `OSThread`: its id at the kernel.
        thread_id: Field = ["OSThread._thread_id"];
        /// Its number as an owner (since JDK 24).
        owner_id: Option<Field> = ["JavaThread._lock_id", "JavaThread._monitor_owner_id"];
        /// Where its stack begins (highest address).
        stack_base: Field = ["JavaThread._stack_base", "Thread._stack_base"];
        /// Bytes of its stack.
        stack_size: Field = ["JavaThread._stack_size", "Thread._stack_size"];
        /// `ThreadsList*` of all Java threads, which is a new one with each that starts or ends
        /// (since JDK 11).
        list: Option<Static> = ["ThreadsSMRSupport._java_thread_list"];
        /// Objects that it has locked without a monitor: a `LockStack` (since JDK 21).
        lock_stack: Option<Field> = ["JavaThread._lock_stack"];
        /// `LockStack`: the first of them.
        lock_stack_base: Option<Field> = ["LockStack._base[0]", "LockStack._base"];
        /// `LockStack`: where the last of them ends, bytes from the beginning of the thread.
        lock_stack_top: Option<Field> = ["LockStack._top"];
        /// `ObjectMonitor`: its object.
        monitor_object: Field = ["ObjectMonitor._object"];
        /// `ObjectMonitor`: its owner: a `JavaThread*` or a place on its stack, since JDK 24 its
        /// number.
        monitor_owner: Field = ["ObjectMonitor._owner"];
    }
}

group! {
    /// How objects of the Java heap are found and read (src/hotspot/share/oops/compressedOops.hpp,
    /// klass.hpp).
    OopLayout {
        /// Base of compressed oops.
        oop_base: Static = ["Universe._narrow_oop._base", "CompressedOops._narrow_oop._base", "CompressedOops._base"];
        /// Shift of compressed oops.
        oop_shift: Static = ["Universe._narrow_oop._shift", "CompressedOops._narrow_oop._shift", "CompressedOops._shift"];
        /// Base of compressed class pointers.
        klass_base: Static = [
            "Universe._narrow_klass._base", "CompressedKlassPointers._narrow_klass._base", "CompressedKlassPointers._base"
        ];
        /// Shift of compressed class pointers.
        klass_shift: Static = [
            "Universe._narrow_klass._shift", "CompressedKlassPointers._narrow_klass._shift",
            "CompressedKlassPointers._shift"
        ];
        /// `oopDesc`: its class when class pointers are not compressed.
        klass: Field = ["oopDesc._metadata._klass"];
        /// `oopDesc`: its class when they are.
        narrow_klass: Field = ["oopDesc._metadata._compressed_klass"];
        /// `sizeof(oopDesc)`.
        header: Size = ["oopDesc"];
        /// `InstanceKlass`: its fields, an `Array<u2>*` of six to a field (until JDK 20).
        fields: Option<Field> = ["InstanceKlass._fields"];
        /// `InstanceKlass`: how many of them are of the class file.
        fields_count: Option<Field> = ["InstanceKlass._java_fields_count"];
        /// `InstanceKlass`: its fields, an `Array<u1>*` of UNSIGNED5 numbers (since JDK 21).
        field_stream: Option<Field> = ["InstanceKlass._fieldinfo_stream"];
        /// `InstanceKlass`: its `ConstantPool*`.
        constants: Field = ["InstanceKlass._constants"];
        /// `Klass`: its superclass.
        superclass: Field = ["Klass._super"];
        /// `Array<T>`: length.
        array_length: Field = ["Array<int>._length"];
        /// `Array<u1>`: where its elements begin.
        bytes: Field = ["Array<u1>._data"];
        /// `Array<u2>`: where its elements begin.
        shorts: Field = ["Array<u2>._data"];
    }
}
