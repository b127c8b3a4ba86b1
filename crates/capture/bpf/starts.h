/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * How a thread comes to be, from the switches that sched.bpf.c sees anyway:
 *
 *   parent  clone() ─────── returns ── [asleep until the child wakes it: HotSpot's os::create_thread] ──▶
 *              └─ made (fork) ─ waits for a CPU ─▶ child runs
 *
 * Each of the three parts is a record of its own, joined by the child's id and its birth in user
 * space: they end on two threads, in any order. Read by src/sched/start_event.rs.
 */
#ifndef FATHOM_STARTS_H
#define FATHOM_STARTS_H

#include "budget.h"
#include "types.h"

enum start_event_kind {
	START_CLONED = 1, /* the parent returned from clone(), which it entered at from_ns */
	START_RAN = 2,    /* the child ran for the first time; from_ns: it could */
	START_WAITED = 3, /* the parent was off the CPU from from_ns on, until the
	                   * child woke it and it ran */
};

struct start_event {
	__u64 from_ns;
	__u64 to_ns;
	__u64 born_ns;  /* when the child was made */
	__u64 stack_ns; /* of START_CLONED: stamp of the parent's stack, sent before; 0: none */
	__u32 kind;
	__u32 pid;
	__u32 tid;      /* the child */
	__u32 parent;   /* the thread that made it */
	__u32 is_shared; /* the stack is that of a wait, too, which sched_event reports */
	__u32 pad;
};

SENT(start_event);
NAMED(start_event_kind);

/* What a thread has to do with starts: as a parent, with the last child that it made; as a
 * child, until it has run. */
struct starting {
	__u64 clone_ns; /* entered clone(), and is in it; 0: is not */
	__u64 born_ns;  /* of the child */
	__u32 child;    /* 0: none */
	__u32 parent;   /* of a child that has not run yet; 0: it has */
	__u32 waits;    /* times the child woke it, as far as reported */
	__u32 is_made;  /* the child was made, and clone() has not returned yet */
};

/* HotSpot's parent sleeps for the child's state and perhaps for the lock that the child
 * holds while it signals; parents that go on handing work to and fro with their child are
 * of no interest here. */
#define START_WAITS 4

/* Stacks of starts, per second per CPU: a walk takes some ten microseconds, a
 * start fifty and more. */
#define START_STACKS 2000

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 512 << 10);
} starts SEC(".maps");

/* Whether one more stack may be taken. */
static __always_inline bool may_take_start_stack(__u64 now)
{
	return may_spend(0, now, SECOND_NS, START_STACKS);
}

/* Whether it found room. */
static __always_inline bool send_start(const struct start_event *event)
{
	return !bpf_ringbuf_output(&starts, (void *)event, sizeof(*event), BPF_RB_NO_WAKEUP);
}

#endif
