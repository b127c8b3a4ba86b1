// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Which lock a thread waits for, read out of the JVM's memory at the moment when the thread goes to sleep: then it is its
 * own memory, and what stands in it is true.
 *
 *   futex(): switched out ──▶ monitor? Object.wait? parked? mutex? whose? ──▶ woken: by whom ──▶ switched in
 *            back from the call ──▶ long enough: stack, event
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "locks.h"

#define MAX_THREADS 65536
/* include/linux/sched.h: a sleep that a signal ends, as futex() sleeps. */
#define TASK_INTERRUPTIBLE 1
/* x86-64. */
#define SYS_FUTEX 202
/* include/uapi/linux/futex.h */
#define FUTEX_CMD 0x7f
#define FUTEX_WAIT 0
/* glibc, sysdeps/nptl/lowlevellock.h: a lock for which somebody waits. */
#define LLL_CONTENDED 2
/* In java_threads: a thread that is none of Java's. */
#define NO_JAVA_THREAD 1
/* A thread that is not known is asked for so often at most, nanoseconds. */
#define ASK_EVERY_NS 2000000

/* Waits as long are told, nanoseconds. */
const volatile __u64 min_ns = 1000000;

/* By process. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct lock_jvm);
} lock_jvms SEC(".maps");

/* JavaThread by thread. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, __u64);
} java_threads SEC(".maps");

/* What a thread waits for, or has waited for until now; off_ns is 0 when that was told. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct lock_event);
} waits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* [0] events that found no room, [1] threads that found no room. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_asked SEC(".maps");

static __always_inline void lost(__u32 which)
{
	__u64 *n = bpf_map_lookup_elem(&losses, &which);

	if (n)
		*n += 1;
}

static __always_inline __u64 word_at(__u64 address)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
		return 0;
	return word;
}

/* Generational ZGC: the address begins above the one bit that is set of bits 12 to 15 (zAddress.hpp). */
static __always_inline __u64 uncoloured(const struct lock_jvm *jvm, __u64 oop)
{
	__u64 colour = oop >> 12 & 0xf;

	if (!jvm->coloured)
		return oop;
	if (!colour)
		return 0;
	return colour & 1 ? oop >> 13 : colour & 2 ? oop >> 14 : colour & 4 ? oop >> 15 : oop >> 16;
}

/* A reference within an object. */
static __always_inline __u64 load_field(const struct lock_jvm *jvm, __u64 slot)
{
	__u32 narrow = 0;

	if (!jvm->compressed_oops)
		return uncoloured(jvm, word_at(slot));
	if (bpf_probe_read_user(&narrow, sizeof(narrow), (void *)slot) || !narrow)
		return 0;
	return jvm->oop_base + ((__u64)narrow << (jvm->oop_shift & 31));
}

static __always_inline void keep_header(struct lock_event *wait, __u64 object)
{
	wait->header[0] = wait->header[1] = 0;
	if (object && bpf_probe_read_user(wait->header, sizeof(wait->header), (void *)object))
		wait->header[1] = 0;
}

static __always_inline __u64 object_of_monitor(const struct lock_jvm *jvm, __u64 monitor)
{
	__u64 object = word_at(monitor + jvm->monitor_object);

	if (jvm->monitor_object_is_handle)
		object = object ? word_at(object) : 0;
	return uncoloured(jvm, object);
}

/* Thread id of a JavaThread, if it is one. */
static __always_inline __u32 tid_of_java(const struct lock_jvm *jvm, __u64 java)
{
	__u64 os_thread = java > 4096 ? word_at(java + jvm->os_thread) : 0;
	__u32 tid = 0;

	if (os_thread && bpf_probe_read_user(&tid, sizeof(tid), (void *)(os_thread + jvm->thread_id)))
		return 0;
	return tid;
}

/* What a Java thread waits for; whether it is a lock. */
static __noinline int find_java_lock(struct lock_event *wait, const struct lock_jvm *jvm, __u64 java)
{
	if (!wait || !jvm)
		return 0;
	__u64 monitor = word_at(java + jvm->pending), object;

	if (monitor) {
		wait->kind = LOCK_MONITOR;
		wait->lock = monitor;
		wait->owner = word_at(monitor + jvm->monitor_owner);
		wait->owner_tid = tid_of_java(jvm, wait->owner);
		keep_header(wait, object_of_monitor(jvm, monitor));
		return 1;
	}
	monitor = word_at(java + jvm->waiting);
	if (monitor) {
		wait->kind = LOCK_WAIT;
		wait->lock = monitor;
		wait->owner = 0;
		keep_header(wait, object_of_monitor(jvm, monitor));
		return 1;
	}
	object = word_at(java + jvm->thread_object);
	if (jvm->thread_object_is_handle)
		object = object ? word_at(object) : 0;
	object = uncoloured(jvm, object);
	if (!object)
		return 0;
	__u64 blocker = load_field(jvm, object + jvm->park_blocker);

	if (!blocker)
		return 0;
	wait->kind = LOCK_PARK;
	wait->lock = blocker;
	wait->owner = 0;
	keep_header(wait, blocker);
	if (jvm->exclusive_owner) {
		/* Another class may have anything there: user space knows the class. */
		object = load_field(jvm, blocker + jvm->exclusive_owner);
		if (object)
			wait->owner = word_at(object + jvm->eetop);
		wait->owner_tid = tid_of_java(jvm, wait->owner);
	}
	return 1;
}

/* Asks user space whether a thread is Java's. */
static __always_inline void ask(__u32 pid, __u32 tid, __u64 now)
{
	__u32 zero = 0;
	__u64 *asked = bpf_map_lookup_elem(&last_asked, &zero);

	if (!asked || now - *asked < ASK_EVERY_NS)
		return;
	*asked = now;
	struct lock_event event = { .off_ns = now, .pid = pid, .tid = tid, .kind = LOCK_NONE };

	bpf_ringbuf_output(&events, &event, sizeof(event), BPF_RB_FORCE_WAKEUP);
}

static __always_inline void switched_out(struct task_struct___fathom *prev, __u64 now)
{
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs((void *)prev);

	/* The cheapest question first: every thread of the host comes by here. */
	if ((int)regs->orig_ax != SYS_FUTEX)
		return;
	__u32 pid = pid_of(prev), tid = tid_of(prev);

	if (!pid || pid == own_pid || (!all_processes && !bpf_map_lookup_elem(&targets, &pid)))
		return;
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);

	if (wait && wait->off_ns) {
		/* It goes on sleeping in the same call. */
		wait->on_ns = 0;
		return;
	}
	struct lock_event fresh = {};

	fresh.off_ns = now;
	fresh.pid = pid;
	fresh.tid = tid;
	__u64 *java = bpf_map_lookup_elem(&java_threads, &tid);
	struct lock_jvm *jvm = bpf_map_lookup_elem(&lock_jvms, &pid);

	if (jvm && !java)
		ask(pid, tid, now);
	if (!jvm || !java || *java == NO_JAVA_THREAD || !find_java_lock(&fresh, jvm, *java)) {
		if ((BPF_CORE_READ(regs, si) & FUTEX_CMD) != FUTEX_WAIT || (__u32)BPF_CORE_READ(regs, dx) != LLL_CONTENDED) {
			if (wait)
				wait->slept = 1;
			return;
		}
		fresh.kind = LOCK_NATIVE;
		fresh.lock = BPF_CORE_READ(regs, di);
		/* pthread_mutex_t: int lock, unsigned count, int owner. */
		bpf_probe_read_user(&fresh.owner_tid, sizeof(fresh.owner_tid), (void *)(fresh.lock + 8));
	}
	if (wait) {
		fresh.apart = wait->slept | wait->apart;
		*wait = fresh;
	} else if (bpf_map_update_elem(&waits, &tid, &fresh, BPF_ANY))
		lost(1);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(lock_switch, bool preempt, struct task_struct___fathom *prev, struct task_struct___fathom *next, unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 tid = tid_of(next);

	if (!preempt && (prev_state & TASK_INTERRUPTIBLE))
		switched_out(prev, now);
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);

	if (wait && wait->off_ns && !wait->on_ns)
		wait->on_ns = now;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(lock_waking, struct task_struct___fathom *task)
{
	__u32 tid = tid_of(task);
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);

	if (wait && wait->off_ns && !wait->on_ns)
		wait->waker = tid_of((void *)bpf_get_current_task_btf());
	return 0;
}

/* The user stack of the wait, which is over; its stamp, by which the event names it. */
static __always_inline __u64 send_stack(void)
{
	struct walk *w = begin_sample(SAMPLE_WAIT);

	if (!w)
		return 0;
	walk_current(w);
	__u32 frames = w->sample.frames;

	if (frames > MOST_FRAMES)
		frames = MOST_FRAMES;
	w->sample.kernel_frames = 0;
	__u64 size = sizeof(struct stack_sample) + frames * sizeof(struct walked_frame);

	if (size > sizeof(struct stack_sample) + sizeof(w->frame))
		return 0;
	if (bpf_ringbuf_output(&samples, &w->sample, size, BPF_RB_NO_WAKEUP))
		return 0;
	return w->sample.t_ns;
}

static __always_inline int futex_returns(struct pt_regs___fathom *regs)
{
	if ((int)regs->orig_ax != SYS_FUTEX)
		return 0;
	__u32 tid = tid_of((void *)bpf_get_current_task_btf());
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);

	if (!wait || !wait->off_ns)
		return 0;
	if (wait->on_ns >= wait->off_ns + min_ns) {
		wait->stack_ns = send_stack();
		if (bpf_ringbuf_output(&events, wait, sizeof(*wait), BPF_RB_NO_WAKEUP))
			lost(0);
		wait->apart = 0;
	}
	wait->off_ns = 0;
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(lock_sys_exit, struct pt_regs___fathom *regs)
{
	futex_returns(regs);
	leave_further_from_call(ctx);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(lock_exit, struct task_struct___fathom *task)
{
	__u32 tid = tid_of(task);

	bpf_map_delete_elem(&waits, &tid);
	bpf_map_delete_elem(&java_threads, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
