/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What method.bpf.c and user space share. Read by src/methods/program.rs. */
#ifndef FATHOM_METHOD_H
#define FATHOM_METHOD_H

#include "types.h"

enum method_limit {
	BREAKPOINTS = 4,     /* that a CPU has (DR0 to DR3) */
	MOST_ENTRIES = 2048, /* that are armed one after the other, as code is compiled anew: each
	                      * has a number of its own */
	/* Times are counted by powers of two of nanoseconds, each in four parts. */
	TIME_OCTAVES = 40,
	TIME_PARTS = 4,
	TIME_BUCKETS = TIME_OCTAVES * TIME_PARTS,
};

/* An address that is watched. */
struct armed {
	__u64 at;         /* 0: none */
	__u64 state;      /* where the state of its nmethod stands */
	__u64 returns_to; /* calls that return there are timed; 0: none. Of a return: 0 */
	__u32 entry;      /* number of the entry, or of the return */
	__u32 round;      /* grows with each place that is timed; of an entry:
	                   * that of `returns_to` */
	__u32 is_return;
	__u32 pad;
};

enum method_hit { HIT_CALL, HIT_REPLACED, HIT_NOT_KEPT, HIT_ELSEWHERE, HIT_RETURN, HIT_KINDS };

NAMED(method_limit);
NAMED(method_hit);

/* Calls of an entry by one caller and thread. */
struct call_key {
	struct walked_frame caller;
	__u32 entry;
	__u32 tid;
};

struct call_count {
	__u64 count;
	char comm[16]; /* of the thread, at the first of them: it may have ended when it is read */
};

struct entry_counts {
	__u64 hits[HIT_KINDS];
};

struct times {
	__u64 count, sum_ns, max_ns;
	__u64 bucket[TIME_BUCKETS];
};

#endif
