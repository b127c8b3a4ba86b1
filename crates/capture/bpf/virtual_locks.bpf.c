// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Which lock a virtual thread waits for. It leaves its carrier meanwhile, and is nothing that the
 * kernel knows of; but the JVM takes its frames from the stack and puts them back in functions of
 * its own (src/hotspot/share/runtime/objectMonitor.cpp, continuationFreezeThaw.cpp):
 *
 *   synchronized          try_preempt ──▶ vthread_monitor_enter: it is queued  …  vthread_epilog: it has the monitor
 *   Object.wait           try_preempt ──▶ vthread_wait  …  vthread_wait_reenter: from here on it waits to enter again
 *   java.util.concurrent  freeze, with a blocker in its java.lang.Thread  …  thaw
 *
 * Its stack is walked when it begins to leave: later its frames are gone, or lead to what unmounts
 * it instead of to their callers.
 */
#include <linux/ptrace.h>
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include "virtual_locks.h"
#include "lock_objects.h"
#include "lock_budget.h"
#include "probe_stack.h"

/* Waits of at least this length are reported, nanoseconds. */
const volatile __u64 min_ns = 1000000;

/* A virtual thread that is about to leave its carrier for a monitor, and may get it at once. */
struct leaving {
	struct virtual_thread thread;
	struct virtual_wait wait;
};

/* By process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct virtual_jvm);
} virtual_jvms SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct virtual_hits);
} virtual_hits SEC(".maps");

/* What a virtual thread waits for. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct virtual_thread);
	__type(value, struct virtual_wait);
} virtual_waits SEC(".maps");

/* By carrier. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct leaving);
} leaving SEC(".maps");

#define EVENT_BYTES (1 << 20)
#include "events.h"

static __always_inline __u64 object_of_handle(const struct lock_jvm *jvm, __u64 slot)
{
	__u64 object = word_at(slot);

	if (jvm->thread_object_is_handle)
		object = object ? word_at(object) : 0;
	return uncoloured(jvm, object);
}

/* The JVM of the current thread; counts the hit. */
static __always_inline struct virtual_jvm *jvm_here(__u32 *pid, bool is_yield)
{
	*pid = pid_of((void *)bpf_get_current_task_btf());
	struct virtual_hits *hits = bpf_map_lookup_elem(&virtual_hits, pid);

	if (hits)
		__sync_fetch_and_add(is_yield ? &hits->yields : &hits->monitors, 1);
	return bpf_map_lookup_elem(&virtual_jvms, pid);
}

/* The virtual thread whose continuation a JavaThread runs, or is about to; 0: none. */
static __always_inline __u64 continued(const struct virtual_jvm *jvm, __u64 java)
{
	__u64 entry = jvm->entry ? word_at(java + jvm->entry) : 0;
	__u64 continuation = entry ? word_at(entry + jvm->continuation) : 0;
	__u64 target = continuation ? load_field(&jvm->jvm, continuation + jvm->target) : 0;

	return target ? load_field(&jvm->jvm, target + jvm->virtual_thread) : 0;
}

/* The virtual thread that a JavaThread carries, its object; 0: none. */
static __always_inline __u64 carried(const struct virtual_jvm *jvm, __u64 java, struct virtual_thread *thread)
{
	__u64 object = object_of_handle(&jvm->jvm, java + jvm->jvm.thread_object);

	if (object == object_of_handle(&jvm->jvm, java + jvm->carrier_object))
		object = continued(jvm, java);
	if (!object)
		return 0;
	thread->number = word_at(object + jvm->thread_number);
	return thread->number ? object : 0;
}

/* A wait that is none after all: user space drops its stack. */
static __always_inline void drop(struct virtual_wait *wait)
{
	if (!wait->wait.stack_ns)
		return;
	wait->wait.on_ns = wait->wait.off_ns;
	report(wait, sizeof(*wait));
}

/* What a virtual thread waited for and was not seen to get. */
static __always_inline void forget(const struct virtual_thread *thread)
{
	struct virtual_wait *wait = bpf_map_lookup_elem(&virtual_waits, thread);

	if (!wait)
		return;
	drop(wait);
	bpf_map_delete_elem(&virtual_waits, thread);
}

/* The rest of a wait that begins, with its stack. `is_held`: for what somebody holds, and not for
 * work that is to come. Whether it is followed. */
static __always_inline bool begin(const struct virtual_thread *thread, struct virtual_wait *wait, bool is_held)
{
	__u64 now = bpf_ktime_get_ns();

	wait->number = thread->number;
	wait->wait.off_ns = now;
	wait->wait.pid = thread->pid;
	wait->wait.tid = tid_of((void *)bpf_get_current_task_btf());
	if (may_walk(now)) {
		wait->wait.stack_ns = send_stack(NULL, false);
		return true;
	}
	lost(is_held ? LOCK_WITHOUT_STACK : UNREPORTED_WORK);
	return is_held;
}

static __always_inline void keep(const struct virtual_thread *thread, struct virtual_wait *wait)
{
	if (bpf_map_update_elem(&virtual_waits, thread, wait, BPF_ANY)) {
		lost(LOST_ENTRY);
		drop(wait);
	}
}

/* A wait is over. Not reported are short ones, and those that began when probes were off. */
static __always_inline void end(struct virtual_wait *wait, __u64 since_ns)
{
	__u64 now = bpf_ktime_get_ns();

	if (wait->wait.off_ns < since_ns || now - wait->wait.off_ns < min_ns) {
		drop(wait);
		return;
	}
	wait->wait.on_ns = now;
	report(wait, sizeof(*wait));
}

static __always_inline void of_monitor(const struct virtual_jvm *jvm, struct virtual_wait *wait, __u64 monitor, __u32 kind)
{
	wait->wait.kind = kind;
	wait->wait.lock = monitor;
	wait->wait.owner = kind == LOCK_MONITOR ? word_at(monitor + jvm->jvm.monitor_owner) : 0;
	keep_header(&wait->wait, object_of_monitor(&jvm->jvm, monitor));
}

/* Continuation::try_preempt(JavaThread*, oop): it is to leave its carrier for a monitor, if it
 * can. */
SEC("uprobe")
int virtual_preempt(struct pt_regs *ctx)
{
	struct leaving now = {};
	struct virtual_jvm *jvm = jvm_here(&now.thread.pid, false);
	__u32 tid = tid_of((void *)bpf_get_current_task_btf());
	struct leaving *before = bpf_map_lookup_elem(&leaving, &tid);

	if (before)
		drop(&before->wait);
	if (!jvm || !carried(jvm, PT_REGS_PARM1(ctx), &now.thread))
		return 0;
	/* Until it is known what for. */
	now.wait.wait.kind = LOCK_WAIT;
	begin(&now.thread, &now.wait, true);
	if (bpf_map_update_elem(&leaving, &tid, &now, BPF_ANY)) {
		lost(LOST_ENTRY);
		drop(&now.wait);
	}
	return 0;
}

/* ObjectMonitor::vthread_monitor_enter(JavaThread*, ObjectWaiter*): with a waiter, it is back from
 * Object.wait, and queued already. */
SEC("uprobe")
int virtual_enter(struct pt_regs *ctx)
{
	__u32 pid, tid = tid_of((void *)bpf_get_current_task_btf());
	struct virtual_jvm *jvm = jvm_here(&pid, false);
	struct leaving *now = bpf_map_lookup_elem(&leaving, &tid);

	if (jvm && now && !PT_REGS_PARM3(ctx))
		of_monitor(jvm, &now->wait, PT_REGS_PARM1(ctx), LOCK_MONITOR);
	return 0;
}

/* It returns whether the thread has got the monitor. */
SEC("uretprobe")
int virtual_entered(struct pt_regs *ctx)
{
	__u32 pid, tid = tid_of((void *)bpf_get_current_task_btf());
	struct leaving *now = bpf_map_lookup_elem(&leaving, &tid);

	jvm_here(&pid, false);
	if (!now)
		return 0;
	if (now->wait.wait.kind == LOCK_MONITOR) {
		forget(&now->thread);
		if (PT_REGS_RC(ctx) & 0xff)
			drop(&now->wait);
		else
			keep(&now->thread, &now->wait);
		bpf_map_delete_elem(&leaving, &tid);
	}
	return 0;
}

/* ObjectMonitor::vthread_epilog(JavaThread*, ObjectWaiter*): it has the monitor for
 * which it was queued. */
SEC("uprobe")
int virtual_acquired(struct pt_regs *ctx)
{
	struct virtual_thread thread = {};
	struct virtual_jvm *jvm = jvm_here(&thread.pid, false);

	if (!jvm || !carried(jvm, PT_REGS_PARM2(ctx), &thread))
		return 0;
	struct virtual_wait *wait = bpf_map_lookup_elem(&virtual_waits, &thread);

	if (wait && wait->wait.kind == LOCK_MONITOR) {
		end(wait, jvm->monitors_since_ns);
		bpf_map_delete_elem(&virtual_waits, &thread);
	}
	return 0;
}

/* ObjectMonitor::vthread_wait(JavaThread*, jlong): Object.wait. */
SEC("uprobe")
int virtual_wait(struct pt_regs *ctx)
{
	__u32 pid, tid = tid_of((void *)bpf_get_current_task_btf());
	struct virtual_jvm *jvm = jvm_here(&pid, false);
	struct leaving *now = bpf_map_lookup_elem(&leaving, &tid);

	if (!jvm || !now)
		return 0;
	of_monitor(jvm, &now->wait, PT_REGS_PARM1(ctx), LOCK_WAIT);
	forget(&now->thread);
	keep(&now->thread, &now->wait);
	bpf_map_delete_elem(&leaving, &tid);
	return 0;
}

/* ObjectMonitor::vthread_wait_reenter(JavaThread*, ObjectWaiter*, ContinuationWrapper&): notified,
 * or its time is over. */
SEC("uprobe")
int virtual_reenter(struct pt_regs *ctx)
{
	struct virtual_thread thread = {};
	struct virtual_jvm *jvm = jvm_here(&thread.pid, false);

	if (!jvm || !carried(jvm, PT_REGS_PARM2(ctx), &thread))
		return 0;
	struct virtual_wait *wait = bpf_map_lookup_elem(&virtual_waits, &thread);

	if (!wait || wait->wait.kind != LOCK_WAIT)
		return 0;
	__u64 now = bpf_ktime_get_ns();

	if (wait->wait.off_ns >= jvm->monitors_since_ns && now - wait->wait.off_ns >= min_ns) {
		wait->wait.on_ns = now;
		wait->wait.apart = 1;
		report(wait, sizeof(*wait));
		wait->wait.apart = 0;
	}
	wait->wait.on_ns = 0;
	wait->wait.off_ns = now;
	of_monitor(jvm, wait, PT_REGS_PARM1(ctx), LOCK_MONITOR);
	return 0;
}

/* freeze(JavaThread*, intptr_t*): a virtual thread leaves its carrier of its own will. */
SEC("uprobe")
int virtual_freeze(struct pt_regs *ctx)
{
	struct virtual_thread thread = {};
	struct virtual_wait wait = {};
	struct virtual_jvm *jvm = jvm_here(&thread.pid, true);
	__u64 object = jvm ? carried(jvm, PT_REGS_PARM1(ctx), &thread) : 0;

	if (!object)
		return 0;
	__u64 blocker = load_field(&jvm->jvm, object + jvm->jvm.park_blocker);

	forget(&thread);
	if (!blocker)
		return 0;
	wait.wait.kind = LOCK_PARK;
	wait.wait.lock = blocker;
	keep_header(&wait.wait, blocker);
	if (jvm->jvm.exclusive_owner) {
		/* Another class may have anything there: user space knows the class. */
		object = load_field(&jvm->jvm, blocker + jvm->jvm.exclusive_owner);
		wait.wait.owner = object ? word_at(object + jvm->thread_number) : 0;
	}
	if (begin(&thread, &wait, wait.wait.owner))
		keep(&thread, &wait);
	return 0;
}

/* thaw(JavaThread*, int): its frames come back. */
SEC("uprobe")
int virtual_thaw(struct pt_regs *ctx)
{
	struct virtual_thread thread = {};
	struct virtual_jvm *jvm = jvm_here(&thread.pid, true);

	if (!jvm || !carried(jvm, PT_REGS_PARM1(ctx), &thread))
		return 0;
	struct virtual_wait *wait = bpf_map_lookup_elem(&virtual_waits, &thread);

	if (wait && wait->wait.kind == LOCK_PARK) {
		end(wait, jvm->yields_since_ns);
		bpf_map_delete_elem(&virtual_waits, &thread);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
