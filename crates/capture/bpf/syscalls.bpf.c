// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Every system call of the targets, summed up in the kernel (call_counts.h); long ones reported one
 * by one, with what they were on (call_subject.h).
 *
 *   enters ──▶ when ──▶ returns ──▶ counted by thread, call and end ──▶ long? ──▶ what it was on, user stack ──▶ ring buffer
 *
 * Both tracepoints are hit by every process of the host. What is kept of a thread hangs on the
 * thread itself (task storage), so that a call of any other costs two failed look-ups. Arguments
 * are read when a call returns: the registers still hold them, and what they point to is mapped, as
 * the kernel has just read it.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "files.h"
#include "sockets.h"
#include "syscalls.h"

const volatile struct syscalls_config config = {};

#include "budget.h"
#include "call_used.h"

/* A thread of a target. */
struct caller {
	__u64 enter_ns; /* 0: it is in no call */
	__u64 interval_ns; /* since when its calls are counted to find out whether it is hot */
	__u32 calls;
	__u16 untimed;  /* calls that it may make between two that are timed, on average; 0: all
	                 * are */
	__u16 run;      /* length of the run that it began last */
	__u32 coarse;   /* its call is timed by ticks */
	__u64 ticks;    /* when a call that is timed by them began */
	__u64 last_ns;  /* when the last call that was timed ended */
	__u32 nr;
	__u32 kernel_tid; /* changes when the thread becomes another program */
	__u32 pid;      /* as fathom names it */
	__u32 tid;
	struct used_calls used;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct caller);
} callers SEC(".maps");

/* Since when a target is watched. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u64);
} since SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_CALLS);
	__type(key, __u32);
	__type(value, struct call_shape);
} shapes SEC(".maps");

#define EVENT_BYTES (2 << 20)
#include "events.h"

/* What is too large for the stack of a program. */
struct scratch {
	struct call_event event;
	char bytes[CALL_TEXT_BYTES];
	struct call_total fresh;
	struct call_total folded;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} scratches SEC(".maps");

/* The same for the walk over all threads, which programs of the CPU it runs on may interrupt. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct scratch);
} walk_scratch SEC(".maps");

static __always_inline struct scratch *scratch(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&scratches, &zero);
}

#include "call_runs.h"
#include "call_counts.h"
#include "call_folds.h"
#include "call_subject.h"

/* What is kept of the current thread; made when it belongs to a target. */
static __always_inline struct caller *caller_of(bool *fresh)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct caller *caller = bpf_task_storage_get(&callers, (void *)task, 0, 0);
	__u32 kernel_tid = task->pid;

	*fresh = false;
	if (caller && caller->kernel_tid == kernel_tid)
		return caller;
	struct caller named = { .kernel_tid = kernel_tid };

	/* Read in place in the usual case: every system call of the host comes by here. */
	named.pid = in_first_namespace() ? (__u32)task->tgid : pid_of(task);

	if (!caller && !is_recorded(named.pid))
		return NULL;
	named.tid = tid_of(task);
	if (caller) {
		*caller = named;
		return caller;
	}
	*fresh = true;
	caller = bpf_task_storage_get(&callers, (void *)task, &named, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!caller)
		lost(LOST_ENTRY);
	return caller;
}

enum call_budget { REPORTED, WITH_STACK };

static __always_inline void begin_event(struct call_event *event, struct caller *caller, __u8 kind)
{
	__builtin_memset(event, 0, sizeof(*event));
	event->kind = kind;
	event->pid = caller->pid;
	event->tid = caller->tid;
	event->nr = caller->nr;
	event->enter_ns = caller->enter_ns;
}

static __always_inline void send_event(struct scratch *s)
{
	__u32 text = s->event.text;

	if (text > CALL_TEXT_BYTES)
		text = CALL_TEXT_BYTES;
	report(&s->event, sizeof(s->event) + text);
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_sys_enter, struct pt_regs___fathom *regs, long nr)
{
	struct call_run *run = own_run();
	bool fresh;

	if (enters_in_run(run, regs))
		return 0;
	struct caller *caller = caller_of(&fresh);

	if (!caller)
		return 0;
	caller->calls += 1 + made_in_run(run, caller);
	caller->run = 0;
	caller->nr = nr;
	caller->coarse = 0;
	caller->enter_ns = bpf_ktime_get_ns();
	return 0;
}

/* The number of the call that returns. */
static __always_inline __u32 number_of_call(struct pt_regs___fathom *regs)
{
	__s32 nr = regs->orig_ax;

	/* arch/x86/entry/syscalls/syscall_64.tbl: rt_sigreturn gives back
	 * registers that hold none. */
	return nr < 0 ? 15 : nr;
}

/* A call of a run that was not over in its place: it began within the tick in which the run did. */
static __always_inline void enter_from_run(struct caller *caller, __u32 nr)
{
	caller->nr = nr;
	caller->enter_ns = caller->last_ns;
	caller->coarse = 1;
}

/* Whether a thread makes so many calls that not all of them are timed. */
static __always_inline void judge_rate(struct caller *caller, __u64 now)
{
	__u64 length = now - caller->interval_ns;

	if (length < HOT_INTERVAL_NS)
		return;
	__u32 untimed = caller->calls / HOT_TIMED;

	/* Calls that wait make an interval longer, and are no reason to hurry. */
	if (length >= 2 * HOT_INTERVAL_NS || caller->calls <= config.hot_calls)
		untimed = 0;
	caller->untimed = untimed < MOST_IN_RUN ? untimed : MOST_IN_RUN;
	caller->calls = 0;
	caller->interval_ns = now;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(on_sys_exit, struct pt_regs___fathom *regs, long result)
{
	struct call_run *run = own_run();
	__u8 flags = 0;
	__u32 nr = number_of_call(regs);
	bool fresh;

	if (counts_in_run(run, regs, nr, result))
		return 0;
	struct caller *caller = caller_of(&fresh);

	if (!caller)
		return 0;
	if (fresh) {
		/* It was in the call when its watch began; a thread that was just born seems to
		 * return from the call that made it, and did not wait. */
		__u64 *from = bpf_map_lookup_elem(&since, &caller->pid);

		if (!from || (result == 0 && (nr == 56 || nr == 57 || nr == 58 || nr == 435)))
			return 0;
		caller->nr = nr;
		caller->enter_ns = *from;
		flags = CALL_BEGAN_BEFORE;
	}
	if (!caller->enter_ns)
		enter_from_run(caller, nr);
	if (!caller->enter_ns)
		return 0;
	bool coarse = caller->coarse && !flags;
	__u64 now = 0, length = 0;

	if (!coarse || bpf_jiffies64() - caller->ticks >= COARSE_LONG_TICKS) {
		now = bpf_ktime_get_ns();
		length = now - caller->enter_ns;
	}
	/* One whose beginning was not seen has no length that could be counted. */
	if (!flags)
		count_call(caller, length, result, coarse);
	if (!length)
		goto over;
	if (coarse)
		flags = CALL_COARSE;
	caller->last_ns = now;
	judge_rate(caller, now);
	if (!coarse && !flags && caller->untimed) {
		/* Of varying length: calls that take turns all come to be timed. */
		caller->run = caller->untimed / 2 + now % caller->untimed;
		caller->ticks = bpf_jiffies64();
		begin_run(run, caller, regs);
	}
	struct scratch *s;
	struct call_shape *shape;

	nr = caller->nr;
	if (length < config.min_ns || !(s = scratch()) || !(shape = bpf_map_lookup_elem(&shapes, &nr)) || !shape->report)
		goto over;
	begin_event(&s->event, caller, CALL_REPORTED);
	s->event.exit_ns = now;
	s->event.result = result;
	s->event.flags = flags;
	if (!read_call(s, (void *)bpf_get_current_task_btf(), regs, shape, true))
		goto over;
	if (!may_spend(REPORTED, now, SECOND_NS, config.most_events)) {
		lost(UNREPORTED_CALL);
		goto over;
	}
	bpf_get_current_comm(s->event.comm, sizeof(s->event.comm));
	if (may_spend(WITH_STACK, now, SECOND_NS, config.most_stacks))
		s->event.stack_ns = send_user_stack();
	else
		lost(CALL_WITHOUT_STACK);
	send_event(s);
over:
	caller->enter_ns = 0;
	return 0;
}

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Since 5.14 (include/linux/sched.h). */
struct task_struct___calls {
	unsigned int __state; /* 0: it runs, or can */
};

#pragma clang attribute pop

/* What the kernel gives to a program that walks over all threads (kernel/bpf/task_iter.c). */
struct bpf_iter__task___fathom {
	void *meta;
	struct task_struct *task;
};

/* Calls that have not ended: read by user space when the recording ends, and for an excerpt of one
 * that goes on. What a call names in its thread's memory cannot be read from here. */
SEC("iter/task")
int each_task(struct bpf_iter__task___fathom *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___fathom *thread = (void *)task;
	struct caller known = {}, *caller;
	struct call_shape *shape;
	__u32 zero = 0, nr;
	__u8 flags = CALL_UNFINISHED;
	struct scratch *s = bpf_map_lookup_elem(&walk_scratch, &zero);

	if (!task || !s || (BPF_CORE_READ(thread, flags) & (TASK_IS_KERNEL_THREAD | TASK_EXITS)))
		return 0;
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs(task);

	caller = bpf_task_storage_get(&callers, task, 0, 0);
	if (caller && caller->kernel_tid == BPF_CORE_READ(thread, pid)) {
		known = *caller;
		/* Of one that was entered in a run nothing is kept but that the
		 * thread sleeps in it. */
		if (!known.enter_ns && BPF_CORE_READ((struct task_struct___calls *)task, __state))
			enter_from_run(&known, number_of_call(regs));
		if (known.coarse)
			flags |= CALL_COARSE;
	} else {
		/* It is in the same call since before its watch began. */
		known.pid = pid_of(thread);
		known.tid = tid_of(thread);
		known.nr = BPF_CORE_READ(regs, orig_ax);
		__u64 *from = bpf_map_lookup_elem(&since, &known.pid);

		if (!from || known.pid == own_pid)
			return 0;
		known.enter_ns = *from;
		flags |= CALL_BEGAN_BEFORE;
	}
	__u64 now = bpf_ktime_get_ns();

	nr = known.nr;
	if (!known.enter_ns || now < known.enter_ns + config.min_ns || !(shape = bpf_map_lookup_elem(&shapes, &nr))
	    || !shape->report || shape->polls)
		return 0;
	begin_event(&s->event, &known, CALL_REPORTED);
	s->event.exit_ns = now;
	s->event.flags = flags;
	if (!read_call(s, (void *)task, regs, shape, false))
		return 0;
	BPF_CORE_READ_STR_INTO(&s->event.comm, thread, comm);
	send_event(s);
	return 0;
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_thread_exit, struct task_struct *task)
{
	struct caller *caller = bpf_task_storage_get(&callers, task, 0, 0);
	struct scratch *s = scratch();

	if (!caller || !s)
		return 0;
	end_run(caller);
	/* The last one of a process keeps its own. */
	if (BPF_CORE_READ((struct task_struct___fathom *)task, signal, live.counter) > 0 && fold_calls(caller))
		return 0;
	begin_event(&s->event, caller, CALL_THREAD_ENDED);
	s->event.exit_ns = bpf_ktime_get_ns();
	bpf_get_current_comm(s->event.comm, sizeof(s->event.comm));
	send_event(s);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
