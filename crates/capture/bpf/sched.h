/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What sched.bpf.c sends to user space. Read by src/sched/event.rs. */
#ifndef FATHOM_SCHED_H
#define FATHOM_SCHED_H

#include "types.h"

#define SCHED_KERNEL_FRAMES 32

/* What user space asks for. */
struct sched_config {
	__u64 min_ns; /* waits of at least this length are reported one by one, shorter ones
	               * once they add up to it */
	__u64 starts; /* whether starts of threads are reported (starts.h) */
};

/* What an event reports. */
enum sched_event_kind {
	SCHED_WAITED = 1, /* off the CPU for as long as the limit, or short waits
	                   * that have added up to it */
	SCHED_EXITED = 2, /* the thread has ended */
	SCHED_MISSED = 3, /* from `off_ns` to `on_ns` a switch to or from the thread was not seen:
	                   * what it did then is not known */
	SCHED_WITHIN = 4, /* as SCHED_WAITED, in a call in which the thread has waited again
	                   * since: it has not returned */
};

struct sched_event {
	__u64 off_ns;   /* switched out; 0: no long wait is reported, only what is owed */
	__u64 on_ns;    /* ran again; of SCHED_EXITED: ended */
	__u64 runq_ns;  /* of it at its end: could run and had no CPU */
	__u64 owed_ns;  /* short waits since the last event, blocked */
	__u64 owed_runq_ns; /* short waits since the last event, on the run queue */
	__u32 owed_count;
	__u32 pid;
	__u32 tid;
	__u32 waker;    /* who woke it: waker_of (interrupts.h); 0: nobody */
	__s32 syscall;  /* number of the system call that it waited in; -1: none */
	__u32 state;    /* task state when it was switched out; bit 31: preempted */
	__u32 kind;
	__u32 kernel_depth; /* frames below */
	char comm[16];
	__u64 stack_ns; /* stamp of the stack that was sent before; 0: none, then the
	                 * kernel's part is below */
	__u64 born_ns;  /* when the thread was made; 0: before it was watched */
	__u32 instead;  /* thread that had the CPU until it ran again; 0: nobody */
	__u32 migrations; /* times it ran on another CPU than before, since the last event */
	char instead_comm[16];
	__u64 throttled_ns; /* of runq_ns, at its beginning: its control group had no quota left */
	__u64 kernel[SCHED_KERNEL_FRAMES];
};

/* What it leaves out, besides what finds no room. */
enum sched_loss {
	LOST_START = OWN_LOSSES, /* a part of a start that found no room */
	START_WITHOUT_STACK,     /* as there were too many */
	UNREPORTED_WAIT,         /* long enough to be reported, but too many */
	MISSED_SWITCH,           /* not seen */
};

SENT(sched_event);
NAMED(sched_loss);
NAMED(sched_event_kind);

#endif
