// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Which lock a thread waits for, read out of the JVM's memory at the time when the thread goes to
 * sleep: then it is its own memory, and what stands in it is true.
 *
 *   futex(): switched out ──▶ monitor? Object.wait? parked? mutex? whose? ──▶ woken: by whom
 *            back from the call ──▶ long enough: stack, event
 *
 * Of a thread that sleeps very often (locks.h) it is read when it is back from a long sleep: its
 * own memory still says what it waited for, but the lock says who holds it by then.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "calls.h"
#include "interrupts.h"
#include "switches.h"
#include "pace.h"
#include "locks.h"
#include "lock_objects.h"
#include "lock_budget.h"

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
/* A thread that is not known is asked for so often at most, nanoseconds. */
#define ASK_EVERY_NS 2000000

/* Waits of at least this length are reported, nanoseconds. */
const volatile __u64 min_ns = 1000000;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct sched_entity___locks {
	__u64 sum_exec_runtime;
};

struct task_io_accounting___locks {
	__u64 syscr, syscw;
};

struct task_struct___locks {
	struct sched_entity___locks se;
	struct task_io_accounting___locks ioac; /* with CONFIG_TASK_IO_ACCOUNTING */
};

#pragma clang attribute pop

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

/* What a thread waits for, or has waited for until now; off_ns is 0 when that is over. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct lock_event);
} waits SEC(".maps");

#define EVENT_BYTES (1 << 20)
#include "events.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} last_asked SEC(".maps");

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

/* When the thread that runs on a CPU was switched to: that is when a wait ended
 * that it returns from. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} runs_since SEC(".maps");

/* What a thread has done until now. Its time is that of its last switch or tick. */
static __always_inline struct done done_by(struct task_struct___fathom *task)
{
	struct task_struct___locks *more = (void *)task;
	struct done done = {.ran_ns = more->se.sum_exec_runtime, .sleeps = task->nvcsw};

	if (bpf_core_field_exists(more->ioac.syscr))
		done.calls = more->ioac.syscr + more->ioac.syscw;
	return done;
}

/* Whether a thread that goes to sleep did something else since its last wait: that one is over
 * then, whatever it waits for now. */
static __always_inline bool did_else(const struct done *then, struct task_struct___fathom *task)
{
	struct done now = done_by(task);

	/* This sleep is counted already. */
	return now.sleeps != then->sleeps + 1 || now.calls != then->calls || now.ran_ns - then->ran_ns > SPINS_NS;
}

/* What the current thread waits for in futex(); whether it is a lock. */
static __always_inline bool find_lock(struct lock_event *wait, struct lock_jvm *jvm, __u64 java, struct pt_regs___fathom *regs)
{
	if (jvm && java > NO_JAVA_THREAD && find_java_lock(wait, jvm, java))
		return true;
	if ((BPF_CORE_READ(regs, si) & FUTEX_CMD) != FUTEX_WAIT || (__u32)BPF_CORE_READ(regs, dx) != LLL_CONTENDED)
		return false;
	wait->kind = LOCK_NATIVE;
	wait->lock = BPF_CORE_READ(regs, di);
	wait->owner = 0;
	keep_header(wait, 0);
	/* pthread_mutex_t: int lock, unsigned count, int owner. */
	bpf_probe_read_user(&wait->owner_tid, sizeof(wait->owner_tid), (void *)(wait->lock + 8));
	return true;
}

static __always_inline void switched_out(struct task_struct___fathom *prev, __u64 now)
{
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs((void *)prev);

	/* The cheapest question first: every thread of the host comes by here. */
	if ((int)regs->orig_ax != SYS_FUTEX)
		return;
	__u32 tid = tid_of(prev);
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);

	/* Perhaps it goes on sleeping in the same call. */
	if (wait && wait->off_ns)
		return;
	if (wait && wait->brief >= BRIEF_SLEEPS && !may_ask(now)) {
		wait->apart |= did_else(&wait->done, prev);
		wait->goes_on &= !wait->apart;
		wait->off_ns = now;
		wait->on_ns = 0;
		wait->waker = 0;
		wait->kind = LOCK_LATER;
		return;
	}
	__u32 pid = pid_of(prev);

	if (!is_recorded(pid))
		return;
	struct lock_event fresh = {};

	fresh.off_ns = now;
	fresh.pid = pid;
	fresh.tid = tid;
	__u64 *java = bpf_map_lookup_elem(&java_threads, &tid);
	struct lock_jvm *jvm = bpf_map_lookup_elem(&lock_jvms, &pid);

	if (jvm && !java)
		ask(pid, tid, now);
	/* Those of a JVM are remembered whatever they sleep for, by how often they do. */
	if (!find_lock(&fresh, jvm, java ? *java : 0, regs) && !jvm)
		return;
	if (wait) {
		fresh.apart = wait->slept | wait->apart | did_else(&wait->done, prev) | (wait->lock != fresh.lock);
		fresh.slept = 0;
		fresh.goes_on = wait->goes_on & !fresh.apart;
		fresh.brief = wait->brief;
		*wait = fresh;
	} else if (bpf_map_update_elem(&waits, &tid, &fresh, BPF_ANY))
		lost(LOST_ENTRY);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(lock_switch, bool preempt, struct task_struct___fathom *prev, struct task_struct___fathom *next, unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 zero = 0;
	__u64 *since = bpf_map_lookup_elem(&runs_since, &zero);

	if (!preempt && (prev_state & TASK_INTERRUPTIBLE))
		switched_out(prev, now);
	if (since)
		*since = now;
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(lock_waking, struct task_struct___fathom *task)
{
	__u32 tid = tid_of(task);
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);

	if (wait && wait->off_ns)
		wait->waker = waker_of(task);
	return 0;
}

/* A long sleep of a thread that was not asked is over: whether it was for a lock. */
static __always_inline bool find_later(struct lock_event *wait, struct pt_regs___fathom *regs)
{
	__u32 pid = wait->pid, tid = wait->tid;
	__u64 *java = bpf_map_lookup_elem(&java_threads, &tid), before = wait->lock;

	wait->owner = 0;
	wait->owner_tid = 0;
	if (!find_lock(wait, bpf_map_lookup_elem(&lock_jvms, &pid), java ? *java : 0, regs))
		return false;
	wait->later = 1;
	wait->apart |= wait->slept | (wait->lock != before);
	wait->slept = 0;
	return true;
}

/* Whether somebody holds what is waited for, and it is not work that is to come. */
static __always_inline bool is_held(const struct lock_event *wait)
{
	return wait->kind == LOCK_MONITOR || wait->kind == LOCK_NATIVE || (wait->kind == LOCK_PARK && wait->owner);
}

/* Whether a wait for a lock that is over is reported: each for one that is held, as they make up
 * what a lock costs; for work the longer ones, where there are many. */
static __always_inline bool is_worth_reporting(struct lock_event *wait, bool is_longer, __u64 now)
{
	/* Its stack was sent with the first sleep. */
	if (wait->goes_on)
		return true;
	if (is_held(wait)) {
		if (may_walk(now))
			wait->stack_ns = send_user_stack();
		else
			lost(LOCK_WITHOUT_STACK);
		return true;
	}
	if (!is_longer) {
		lost(UNREPORTED_WORK);
		return false;
	}
	count_reported(own_pace(), min_ns, now);
	wait->stack_ns = send_user_stack();
	return true;
}

static __always_inline int futex_returns(struct pt_regs___fathom *regs)
{
	if ((int)regs->orig_ax != SYS_FUTEX)
		return 0;
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	__u32 tid = tid_of(task), zero = 0;
	struct lock_event *wait = bpf_map_lookup_elem(&waits, &tid);
	__u64 *since = bpf_map_lookup_elem(&runs_since, &zero);

	if (!wait || !wait->off_ns || !since)
		return 0;
	/* Since before it slept: it was seen to fall asleep, and did not. */
	wait->on_ns = *since < wait->off_ns ? wait->off_ns : *since;
	__u64 now = wait->on_ns, length = now - wait->off_ns, from_ns = reported_from(own_pace(), min_ns, now);
	/* One that is woken and sleeps again waits on, however short the rest is. */
	bool is_long = length >= min_ns || wait->goes_on, is_lock = wait->kind != LOCK_NONE, is_reported = false;

	if (wait->kind == LOCK_LATER)
		is_lock = is_long && (length >= from_ns || may_ask_later(now)) && find_later(wait, regs);
	wait->stack_ns = 0;
	if (is_long && is_lock)
		is_reported = is_worth_reporting(wait, length >= from_ns, now);
	if (is_reported) {
		/* From here on its owner is of no more interest. */
		if (wait->later)
			wait->owner = wait->owner_tid = 0;
		report(wait, sizeof(*wait));
		wait->apart = 0;
	}
	if (!is_lock)
		wait->slept = 1;
	if (is_reported)
		wait->brief = 0;
	else if (wait->brief < BRIEF_SLEEPS)
		wait->brief += 1;
	wait->goes_on = is_reported && is_held(wait);
	wait->later = 0;
	wait->done = done_by(task);
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
	__u64 *java = bpf_map_lookup_elem(&java_threads, &tid);

	/* Its stack, by which a monitor may name its owner, is the next thread's from here on. */
	if (java && *java > NO_JAVA_THREAD) {
		struct lock_event event = { .off_ns = bpf_ktime_get_ns(), .pid = pid_of(task), .tid = tid, .kind = LOCK_ENDED };

		report(&event, sizeof(event));
	}
	bpf_map_delete_elem(&waits, &tid);
	bpf_map_delete_elem(&java_threads, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
