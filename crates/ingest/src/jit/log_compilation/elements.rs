//! The elements of a LogCompilation log that are known and of no interest.
//!
//! Collected from logs and from the format strings in `libjvm.so` of JDK 8 to 25. An element that
//! is neither here nor read is counted as unknown and shown: what a new JDK adds must be noticed.

/// Whether an element is one that is read.
pub(super) fn is_read(name: &[u8]) -> bool {
    matches!(
        name,
        b"hotspot_log"
            | b"tty"
            | b"writer"
            | b"task_queued"
            | b"nmethod"
            | b"make_not_entrant"
            | b"make_not_used"
            | b"make_unloaded"
            | b"make_zombie"
            | b"make_not_compilable"
            | b"dependency_failed"
            | b"code_cache_full"
            | b"sweeper"
            | b"compilation_log"
            | b"start_compile_thread"
            | b"task"
            | b"failure"
            | b"code_cache"
            | b"task_done"
            | b"hotspot_log_done"
    )
}

/// Whether an element is known to hold nothing that a recording needs.
pub(super) fn is_of_no_interest(name: &[u8]) -> bool {
    is_parse_tree(name) || is_frame(name)
}

/// What C1, C2 and dependency recording write within a task: how the method was parsed, inlined and
/// optimised. The first ones make up nine tenths of all lines.
pub(super) fn is_parse_tree(name: &[u8]) -> bool {
    matches!(
        name,
        b"bc"
            | b"call"
            | b"parse"
            | b"parse_done"
            | b"method"
            | b"phase"
            | b"phase_done"
            | b"uncommon_trap"
            | b"inline_success"
            | b"klass"
            | b"branch"
            | b"dependency"
            | b"type"
            | b"inline_fail"
            | b"loop"
            | b"predicted_call"
            | b"intrinsic"
            | b"direct_call"
            | b"virtual_call"
            | b"loop_tree"
            | b"observe"
            | b"jvms"
            | b"regalloc"
            | b"inline_id"
            | b"late_inline"
            | b"inline_level_discount"
            | b"comment"
            | b"cast_up"
            | b"eliminate_allocation"
            | b"eliminate_boxing"
            | b"eliminate_lock"
            | b"replace_string_concat"
            | b"assert_null"
            | b"hot_throw"
            | b"warm_call"
            | b"unknown"
            | b"symbol"
            | b"missing_mdp"
            | b"predicate_intrinsic"
            | b"predicated_intrinsic"
            | b"method_not_compilable"
            | b"method_not_compilable_at_tier"
            | b"deps_find_witness"
            | b"stress_test"
            | b"site"
    )
}

/// The frame of the log, and what the JVM writes about itself.
fn is_frame(name: &[u8]) -> bool {
    matches!(
        name,
        b"" | b"vm_version"
            | b"vm_arguments"
            | b"launcher"
            | b"blob"
            | b"sect"
            | b"thread_logfile"
            | b"fragment"
            | b"statistics"
            | b"destroy_vm"
            | b"deoptimized"
            | b"make_entrant"
            | b"print_nmethod"
            | b"opto_assembly"
            | b"tty_done"
    )
}

/// Whether an element has text that belongs to it and is of no interest here.
pub(super) fn holds_text(name: &[u8]) -> bool {
    matches!(name, b"statistics" | b"print_nmethod" | b"opto_assembly" | b"blob")
}
