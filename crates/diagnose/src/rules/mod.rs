//! The rules, one file each, and the list of them.

mod carriers_pinned;
mod class_init_slow;
mod collector_work;
mod cpu_case;
pub(crate) mod cpu_contention;
mod cpu_taken_by_others;
mod cpu_throttled_by_cgroup;
mod dns_case;
mod dns_slow;
mod dns_timeout;
mod fault_case;
mod finalizer_backlog;
mod gc_allocation_stall;
mod gc_case;
mod gc_cpu;
mod gc_evacuation_failure;
mod gc_explicit;
mod gc_first_touch;
mod gc_heap_too_small;
mod gc_humongous;
mod gc_kernel_time;
mod gc_locker;
mod gc_log_write_blocked;
mod gc_metaspace;
mod gc_premature_promotion;
mod gc_starved_of_cpu;
mod heap_leak;
mod jit_case;
mod jit_code_cache_full;
mod jit_compile_burst;
mod jit_deopt_loop;
mod jit_intrinsic_missing;
mod jit_never_compiled;
mod jvm_stopped;
mod lock_advice;
pub(crate) mod lock_case;
pub(crate) mod lock_contended_juc;
pub(crate) mod lock_contended_monitor;
pub(crate) mod lock_holders;
pub(crate) mod lock_identity;
mod lock_releasers;
mod log_write;
mod out_of_memory;
mod page_fault_storm;
mod pool_waits_for_itself;
mod process_stopped;
mod safepoint_operation;
mod safepoint_slow_to_reach;
mod thread_start_slow;
mod tls_not_resumed;
mod wait_case;

use crate::Rule;
pub(crate) use cpu_taken_by_others::queueing_after_disk;

/// All rules. Of two findings that cost the same and are equally sure, the one listed first comes
/// first.
pub const RULES: &[&dyn Rule] = &[
    &process_stopped::ProcessStopped,
    &jit_compile_burst::JitCompileBurst,
    &jit_code_cache_full::JitCodeCacheFull,
    &jit_deopt_loop::JitDeoptLoop,
    &jit_intrinsic_missing::JitIntrinsicMissing,
    &jit_never_compiled::JitNeverCompiled,
    &gc_log_write_blocked::GcLogWriteBlocked,
    &gc_explicit::GcExplicit,
    &gc_metaspace::GcMetaspace,
    &gc_allocation_stall::GcAllocationStall,
    &gc_evacuation_failure::GcEvacuationFailure,
    &out_of_memory::OutOfMemory,
    &heap_leak::HeapLeak,
    &gc_heap_too_small::GcHeapTooSmall,
    &gc_humongous::GcHumongous,
    &gc_locker::GcLocker,
    &gc_premature_promotion::GcPrematurePromotion,
    &gc_first_touch::GcFirstTouch,
    &gc_kernel_time::GcKernelTime,
    &cpu_throttled_by_cgroup::CpuThrottledByCgroup,
    &cpu_taken_by_others::CpuTakenByOthers,
    &gc_starved_of_cpu::GcStarvedOfCpu,
    &page_fault_storm::PageFaultStorm,
    &safepoint_operation::SafepointOperation,
    &safepoint_slow_to_reach::SafepointSlowToReach,
    &class_init_slow::ClassInitSlow,
    &pool_waits_for_itself::PoolWaitsForItself,
    &carriers_pinned::CarriersPinned,
    &lock_contended_monitor::LockContendedMonitor,
    &lock_contended_juc::LockContendedJuc,
    &dns_timeout::DnsTimeout,
    &dns_slow::DnsSlow,
    &tls_not_resumed::TlsNotResumed,
    &thread_start_slow::ThreadStartSlow,
    &jvm_stopped::JvmStopped,
];

/// The rule with an id; `None` of what is found without one.
pub(crate) fn find(id: &str) -> Option<&'static dyn Rule> {
    RULES.iter().copied().find(|rule| rule.id() == id)
}

/// Whether a finding of a rule is only what the others leave ([`Rule::yields`]).
pub(crate) fn yields(id: &str) -> bool {
    find(id).is_some_and(Rule::yields)
}
