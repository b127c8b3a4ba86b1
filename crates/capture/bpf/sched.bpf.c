// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Every switch of the targets' threads, summed up in the kernel.
 *
 *   switched out ──▶ when, in which state ──▶ woken: when, by whom ──▶ switched in ──▶ how long, how long of it runnable
 *                                                                        │
 *             short: added to what is owed ◀─────────────────────────────┤
 *             long: kept until the thread is back in its own context ◀───┘
 *
 * What is long enough follows the number of waits (pace.h). Every event reports what is owed, so
 * that it is known when it was spent. Where it was spent, only the stack of a short wait says,
 * which is taken when they have added up: a thread that idles between requests waits long, and its
 * short waits are those of the requests.
 *
 * A wait is reported when the thread that waited returns from its system call: its user stack is
 * still that of the wait, its memory is mapped, and only waits that are worth reporting pay for a
 * stack. The kernel's part of the stack is taken when the thread is switched in, while its frames
 * are still there. Waits outside of system calls (page faults, preemption) are reported at once,
 * without a user stack.
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
#include "sched.h"
#include "starts.h"
#include "pending.h"
#include "sched_thread.h"

#define MAX_THREADS 65536
#define PREEMPTED (1U << 31)
/* What is owed is reported at the latest when its first wait is this old, nanoseconds,
 * however little it is: it is reported as one sum, and it must be known when the time
 * of a thread was spent. */
#define OWED_FOR_NS 100000000ULL
/* arch/x86/entry/syscalls/syscall_64.tbl */
#define NR_CLONE 56
#define NR_CLONE3 435

const volatile struct sched_config config = {};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct thread);
} threads SEC(".maps");

#define EVENT_BYTES (2 << 20)
#include "events.h"

/* A thread is too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct thread);
} blank SEC(".maps");

static __always_inline bool is_target(struct task_struct___fathom *task)
{
	return is_recorded(pid_of(task));
}

/* What is known of a thread; made when it belongs to the same targets as `kin`. */
static __always_inline struct thread *thread_of(struct task_struct___fathom *task, struct task_struct___fathom *kin)
{
	__u32 tid = tid_of(task);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);
	__u32 zero = 0;

	/* A thread that has reported its end switches a few times more: it must not be entered
	 * again, as its id goes to another. */
	if (thread || !tid || (BPF_CORE_READ(task, flags) & TASK_EXITS) || !is_target(kin))
		return thread;
	struct thread *fresh = bpf_map_lookup_elem(&blank, &zero);

	if (!fresh)
		return NULL;
	if (bpf_map_update_elem(&threads, &tid, fresh, BPF_NOEXIST))
		lost(LOST_ENTRY);
	return bpf_map_lookup_elem(&threads, &tid);
}

static __always_inline void send_event(struct thread *thread, struct task_struct___fathom *task, __u32 kind, __u64 at_ns,
				 __u64 stack_ns)
{
	struct sched_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		/* What is owed stays owed; the long wait is lost. */
		lost(LOST_EVENT);
		thread->pending_off_ns = 0;
		return;
	}
	event->off_ns = thread->pending_off_ns;
	event->on_ns = thread->pending_off_ns ? thread->pending_on_ns : at_ns;
	event->runq_ns = thread->pending_runq_ns;
	event->throttled_ns = thread->pending_throttled_ns;
	event->owed_ns = thread->owed_ns;
	event->owed_runq_ns = thread->owed_runq_ns;
	event->owed_count = thread->owed_count;
	event->born_ns = thread->born_ns;
	event->pid = pid_of(task);
	event->tid = tid_of(task);
	event->waker = thread->pending_waker;
	event->syscall = thread->pending_syscall;
	event->state = thread->pending_state;
	event->kind = kind;
	BPF_CORE_READ_STR_INTO(&event->comm, task, comm);
	event->instead = thread->pending_instead;
	event->migrations = thread->owed_migrations;
	__builtin_memcpy(event->instead_comm, thread->pending_instead_comm, sizeof(event->instead_comm));
	event->stack_ns = stack_ns;
	event->kernel_depth = 0;
	if (thread->pending_off_ns && !stack_ns) {
		event->kernel_depth = thread->kernel_bytes / 8;
		__builtin_memcpy(event->kernel, thread->kernel, sizeof(event->kernel));
	}
	bpf_ringbuf_submit(event, 0);
	if (!thread->pending_off_ns && stack_ns)
		thread->unplaced_ns = 0;
	thread->pending_off_ns = 0;
	thread->kernel_bytes = 0;
	thread->owed_ns = thread->owed_runq_ns = 0;
	thread->owed_count = thread->owed_migrations = 0;
}

/* The system call that a thread is in: its saved registers hold the number; exceptions and
 * interrupts leave -1 there. */
static __always_inline __s32 syscall_of(struct task_struct___fathom *task)
{
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs((void *)task);

	return (__s32)BPF_CORE_READ(regs, orig_ax);
}

/* How long the threads of a group's run queue were held back for lack of quota, as the
 * kernel's own statistics have it (cpu.stat.local): the one measure of it, as no tracepoint
 * reports when quota comes back. */
static __always_inline __u64 throttled_so_far(__u64 at)
{
	struct cfs_rq___fathom *group = (void *)at;
	__u64 since = BPF_CORE_READ(group, throttled_clock_self), now = BPF_CORE_READ(group, rq, clock);

	return BPF_CORE_READ(group, throttled_clock_self_time) + (since && now > since ? now - since : 0);
}

/* Remembers the run queue of a thread that could run and does not, where its
 * group may be throttled. */
static __always_inline void watch_quota(struct thread *thread, struct task_struct___sched *task)
{
	thread->group = 0;
	if (!thread->ready_ns || !bpf_core_field_exists(struct cfs_rq___fathom, throttled_clock_self_time))
		return;
	/* A kernel that holds back threads one by one has others of the same run queue run on. */
	if (bpf_core_field_exists(task->throttled) && !BPF_CORE_READ(task, throttled))
		return;
	thread->group = (__u64)BPF_CORE_READ(task, se.cfs_rq);
	if (thread->group)
		thread->throttled_before_ns = throttled_so_far(thread->group);
}

/* Reports that a switch was not seen, between the last one that was and now.
 *
 * The kernel raises every switch that it counts, but for one machine on which this was looked into
 * (6.18 of a small virtual machine): there no tracepoint at all is raised by the threads of process
 * 1, neither for these programs nor for perf. So a switch from one of them is not seen, and the
 * thread that is switched to seems to be off the CPU until it is switched from. All switches that
 * were missed there followed one to a thread of process 1, on the same CPU; no run of a program was
 * refused (recursion_misses) and no look-up in `threads` failed. */
static __always_inline void send_missed(struct thread *thread, struct task_struct___fathom *task, __u64 missed, __u64 now)
{
	lost_many(MISSED_SWITCH, missed);
	/* A wait that is over and not reported yet goes first. */
	if (thread->pending_off_ns)
		send_event(thread, task, SCHED_WAITED, thread->pending_on_ns, 0);
	thread->pending_off_ns = thread->seen_ns;
	thread->pending_on_ns = now;
	send_event(thread, task, SCHED_MISSED, now, 0);
}

static __always_inline void switched_out(struct task_struct___fathom *prev, bool preempt, __u32 state, __u64 now)
{
	struct thread *thread = thread_of(prev, prev);

	if (!thread)
		return;
	/* The kernel has counted this one. One that is off the CPU as far as is known
	 * was switched to unseen. */
	__u64 switches = prev->nvcsw + prev->nivcsw, missed = switches - thread->switches - 1 + !!thread->off_ns;

	if (thread->switches && missed)
		send_missed(thread, prev, missed, now);
	thread->switches = switches;
	thread->seen_ns = now;
	thread->off_ns = now;
	thread->cpu = bpf_get_smp_processor_id() + 1;
	/* A preempted thread, or one that yields, can run all along. */
	thread->ready_ns = preempt || state == 0 ? now : 0;
	thread->state = state | (preempt ? PREEMPTED : 0);
	thread->waker = 0;
	watch_quota(thread, (void *)prev);
}

static __always_inline void report_start(const struct start_event *event)
{
	if (!send_start(event))
		lost(LOST_START);
}

/* The child runs for the first time. */
static __always_inline void send_ran(struct thread *thread, struct task_struct___fathom *task, __u64 now)
{
	struct start_event event = {
		.from_ns = thread->born_ns,
		.to_ns = now,
		.born_ns = thread->born_ns,
		.kind = START_RAN,
		.pid = pid_of(task),
		.tid = tid_of(task),
		.parent = thread->start.parent,
	};

	thread->start.parent = 0;
	report_start(&event);
}

/* What the end of a wait means for the start of a thread: a child runs for the first time, or its
 * parent has been woken by it. */
static __always_inline void report_wait_of_start(struct thread *thread, struct task_struct___fathom *task, __u64 off_ns, __u64 now)
{
	struct starting *start = &thread->start;
	struct start_event event = {.from_ns = off_ns, .to_ns = now};

	if (start->parent) {
		send_ran(thread, task, now);
	} else if (start->child && thread->waker == start->child && start->waits < START_WAITS) {
		event.kind = START_WAITED;
		event.born_ns = start->born_ns;
		event.tid = start->child;
		event.parent = tid_of(task);
		event.pid = pid_of(task);
		start->waits += 1;
		report_start(&event);
	}
}

/* Whether the short wait that ended last gives its stack to those before it: when they add up to a
 * sum that is drawn anew each time, between nothing and twice the length from which waits are
 * reported one by one. So waits that take turns get as many stacks as they have of the time; with a
 * fixed sum the one that happens to complete it would get all. */
static __always_inline bool owes_enough(const struct thread *thread, __u64 from_ns)
{
	return thread->owed_count && thread->unplaced_ns >= from_ns * thread->places_from >> 15;
}

static __always_inline bool has_waited(const struct thread *thread, __u64 from_ns)
{
	return thread->pending_off_ns || owes_enough(thread, from_ns);
}

/* Whether it owes little, and has for long. */
static __always_inline bool owes_for_long(const struct thread *thread, __u64 now)
{
	return thread->owed_ns + thread->owed_runq_ns >= config.min_ns && now - thread->owes_since_ns >= OWED_FOR_NS;
}

/* The kernel's part of the stack of a wait that is over, while it still stands. */
static __always_inline void keep_kernel_stack(struct thread *thread, struct task_struct___fathom *task)
{
	long bytes = bpf_get_task_stack((void *)task, thread->kernel, sizeof(thread->kernel), 0);

	thread->kernel_bytes = bytes > 0 ? bytes : 0;
}

/* `from_ns`: waits of at least this length are reported. */
static __always_inline void switched_in(struct thread *thread, struct task_struct___fathom *prev, struct task_struct___fathom *next,
					__u64 now, __u64 from_ns)
{
	__u64 switches = next->nvcsw + next->nivcsw, missed = switches - thread->switches;

	if (thread->switches && missed) {
		send_missed(thread, next, missed, now);
		thread->switches = switches;
		thread->off_ns = 0;
	}
	thread->seen_ns = now;
	if (!thread->off_ns)
		return;
	__u64 off_ns = thread->off_ns, length = now - off_ns;
	__u64 ready_ns = thread->ready_ns, runq_ns = ready_ns > off_ns ? now - ready_ns : ready_ns ? length : 0;

	thread->off_ns = 0;
	if (thread->start.parent || thread->start.child)
		report_wait_of_start(thread, next, off_ns, now);
	if (thread->cpu && thread->cpu != bpf_get_smp_processor_id() + 1)
		thread->owed_migrations += 1;
	if (length < from_ns) {
		if (length >= config.min_ns)
			lost(UNREPORTED_WAIT);
		if (!thread->owed_count)
			thread->owes_since_ns = now;
		if (!thread->unplaced_ns)
			thread->places_from = bpf_get_prandom_u32() >> 16;
		thread->unplaced_ns += length;
		thread->owed_ns += length - runq_ns;
		thread->owed_runq_ns += runq_ns;
		thread->owed_count += 1;
		/* They are reported when this call returns, with the stack of this one. */
		if (!thread->pending_off_ns && (owes_enough(thread, from_ns) || owes_for_long(thread, now)) && syscall_of(next) >= 0)
			keep_kernel_stack(thread, next);
		return;
	}
	/* A long wait that was not reported yet (the thread did not return from its system call)
	 * goes first, stackless: the stack of the last one has where the call was made. */
	if (thread->pending_off_ns)
		send_event(thread, next, SCHED_WITHIN, now, 0);
	thread->pending_off_ns = off_ns;
	thread->pending_on_ns = now;
	thread->pending_runq_ns = runq_ns;
	thread->pending_throttled_ns = 0;
	if (thread->group) {
		__u64 after = throttled_so_far(thread->group), before = thread->throttled_before_ns;
		__u64 throttled = after > before ? after - before : 0;

		thread->pending_throttled_ns = throttled < runq_ns ? throttled : runq_ns;
	}
	thread->pending_waker = thread->waker;
	thread->pending_state = thread->state;
	thread->pending_syscall = syscall_of(next);
	/* Who had the CPU until now; the idle task is nobody. */
	thread->pending_instead = tid_of(prev);
	BPF_CORE_READ_STR_INTO(&thread->pending_instead_comm, prev, comm);
	keep_kernel_stack(thread, next);
	if (thread->pending_syscall < 0)
		send_event(thread, next, SCHED_WAITED, now, 0);
}

SEC("tp_btf/sched_switch")
int BPF_PROG(on_switch, bool preempt, struct task_struct___fathom *prev, struct task_struct___fathom *next, unsigned int prev_state)
{
	__u64 now = bpf_ktime_get_ns();
	__u32 tid = tid_of(next);

	switched_out(prev, preempt, prev_state, now);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);
	bool has_pending_event = false;

	leave_interrupts();
	if (thread) {
		__u64 from_ns = reported_from(own_pace(), config.min_ns, now);

		switched_in(thread, prev, next, now, from_ns);
		has_pending_event = has_waited(thread, from_ns) || owes_for_long(thread, now) || thread->start.is_made;
	}
	set_pending(has_pending_event);
	switch_further(ctx);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(on_waking, struct task_struct___fathom *task)
{
	__u32 tid = tid_of(task);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (thread && thread->off_ns && !thread->ready_ns) {
		thread->ready_ns = bpf_ktime_get_ns();
		thread->waker = waker_of(task);
	}
	wake_further(ctx);
	return 0;
}

/* The parent is back from clone(): that is the first call that it returns from behind the birth. */
static __always_inline void send_cloned(struct starting *start, struct task_struct___fathom *task, __u64 now, __u64 stack_ns,
					bool is_shared)
{
	struct start_event event = {
		.from_ns = start->clone_ns,
		.to_ns = now,
		.born_ns = start->born_ns,
		.stack_ns = stack_ns,
		.kind = START_CLONED,
		.pid = pid_of(task),
		.tid = start->child,
		.parent = tid_of(task),
		.is_shared = is_shared,
	};

	start->clone_ns = 0;
	start->is_made = 0;
	report_start(&event);
}

/* A call returns, of a thread that has something to report or from a call that makes threads. */
static __always_inline int call_returns(void)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	__u32 tid = tid_of(task);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	set_pending(false);
	if (!thread)
		return 0;
	struct pace *pace = own_pace();
	__u64 now = bpf_ktime_get_ns(), stack_ns = 0;
	bool is_much = has_waited(thread, pace && pace->from_ns ? pace->from_ns : config.min_ns), has_made = thread->start.is_made;
	bool is_wait = is_much || owes_for_long(thread, now);

	/* The child returns from clone(), too. Where the switch to it was not seen (send_missed),
	 * it has run for microseconds by now. */
	if (thread->start.parent)
		send_ran(thread, task, now);

	if (!is_wait)
		thread->kernel_bytes = 0;
	if (!is_wait && !has_made)
		return 0;
	/* Short waits are reported without their stack where stacks are many. */
	bool is_walked = is_much || (is_wait && pace && pace->reported < PACE_MOST);

	if (is_walked || (has_made && may_take_start_stack(now)))
		stack_ns = send_user_stack_below(thread->kernel, thread->kernel_bytes, sizeof(thread->kernel));
	else if (has_made)
		lost(START_WITHOUT_STACK);
	if (has_made)
		send_cloned(&thread->start, task, now, stack_ns, is_wait);
	if (is_walked)
		count_reported(pace, config.min_ns, now);
	if (is_wait)
		send_event(thread, task, SCHED_WAITED, bpf_ktime_get_ns(), stack_ns);
	return 0;
}

static __always_inline bool makes_threads(long number)
{
	return number == NR_CLONE || number == NR_CLONE3;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs___fathom *regs)
{
	if (has_pending() || makes_threads(regs->orig_ax))
		call_returns();
	leave_further(ctx);
	return 0;
}

/* User space hands it the calls that make threads, where starts are reported. */
SEC("tp_btf/sys_enter")
int BPF_PROG(on_clone_enter, struct pt_regs___fathom *regs, long number)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct thread *thread = NULL;

	if (makes_threads(number))
		thread = thread_of(task, task);
	if (thread)
		thread->start.clone_ns = bpf_ktime_get_ns();
	enter_further(ctx);
	return 0;
}

/* A thread of the same process is made by `parent`. */
static __always_inline void begin_start(struct thread *child, __u32 tid, struct task_struct___fathom *parent)
{
	struct thread *thread = thread_of(parent, parent);

	child->start.parent = tid_of(parent);
	if (!thread)
		return;
	thread->start.child = tid;
	thread->start.born_ns = child->born_ns;
	thread->start.waits = 0;
	thread->start.is_made = 1;
}

/* A new thread of a target, or the first one of a target's child: it can run, and
 * waits for its first turn. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct___fathom *parent, struct task_struct___fathom *child)
{
	__u32 tid = tid_of(child);

	/* User space enters those that sleep, and one may have ended before it did: its
	 * number is another's now. */
	bpf_map_delete_elem(&threads, &tid);
	struct thread *thread = thread_of(child, parent);

	if (thread && !thread->off_ns)
		thread->born_ns = thread->off_ns = thread->ready_ns = bpf_ktime_get_ns();
	if (config.starts && thread && thread->born_ns && pid_of(child) == pid_of(parent))
		begin_start(thread, tid, parent);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct___fathom *task)
{
	__u32 tid = tid_of(task);
	struct thread *thread = bpf_map_lookup_elem(&threads, &tid);

	if (!thread)
		return 0;
	if (thread->pending_off_ns)
		send_event(thread, task, SCHED_WAITED, 0, 0);
	send_event(thread, task, SCHED_EXITED, bpf_ktime_get_ns(), 0);
	bpf_map_delete_elem(&threads, &tid);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
