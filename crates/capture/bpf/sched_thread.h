/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What is kept of a thread between its switches: since when it is off the CPU, what it waited and
 * has not reported yet, and how it was started. */
#pragma once

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct rq___fathom {
	__u64 clock;
};

/* Since 6.6 (kernel/sched/sched.h). */
struct cfs_rq___fathom {
	struct rq___fathom *rq;
	__u64 throttled_clock_self;      /* since when a thread of it is held back; 0: none is */
	__u64 throttled_clock_self_time; /* for how long one was, before */
};

struct sched_entity___fathom {
	struct cfs_rq___fathom *cfs_rq;
};

struct task_struct___sched {
	struct sched_entity___fathom se;
	bool throttled; /* since 6.18: held back until its group has quota again */
};

#pragma clang attribute pop

struct thread {
	__u64 off_ns;   /* when it was switched out; 0: on a CPU */
	__u64 born_ns;  /* when it was made; 0: before it was watched */
	__u64 ready_ns; /* when it could run again; 0: it cannot */
	__u32 waker;
	__u32 state;
	__u32 owed_count;
	__u32 owed_migrations;
	__u64 owed_ns;
	__u64 owed_runq_ns;
	/* A long wait that is over and not reported yet. */
	__u64 pending_off_ns;
	__u64 pending_on_ns;
	__u64 pending_runq_ns;
	__u32 pending_waker;
	__u32 pending_state;
	__s32 pending_syscall;
	__u32 kernel_bytes;
	__u32 cpu;      /* on which it ran last, and one */
	__u32 pending_instead;
	char pending_instead_comm[16];
	/* The run queue of its control group, when it could run and that may be throttled, and for
	 * how long it was by then. */
	__u64 group;
	__u64 throttled_before_ns;
	__u64 pending_throttled_ns;
	struct starting start;
	__u64 switches; /* away from it, as the kernel counts them, by the last one that
	                 * was seen; 0: none was */
	__u64 seen_ns;  /* when it was seen last to be switched to or from */
	__u64 owes_since_ns; /* end of the first wait that is owed */
	__u64 unplaced_ns;   /* short waits since the last one whose stack was taken */
	__u32 places_from;   /* see owes_enough() */
	__u32 pad;
	__u64 kernel[SCHED_KERNEL_FRAMES];
};
