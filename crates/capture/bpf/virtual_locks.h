/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What virtual_locks.bpf.c gets and sends. Read by src/locks/virtual_threads.rs. */
#ifndef FATHOM_VIRTUAL_LOCKS_H
#define FATHOM_VIRTUAL_LOCKS_H

#include "locks.h"

struct virtual_jvm {
	struct lock_jvm jvm;   /* its thread_object is the thread that is carried */
	__u32 carrier_object;  /* JavaThread: its own java.lang.Thread */
	__u32 thread_number;   /* java.lang.Thread: tid */
	/* The way to the virtual thread where the JVM takes the carrier for the current thread when
	 * one leaves (before JDK 25): fathom_hotspot::continuation. All are 0 where it does not. */
	__u32 entry;
	__u32 continuation;
	__u32 target;
	__u32 virtual_thread;
	__u64 monitors_since_ns; /* waits that began before are not reported: their probes
	                          * were off for a while */
	__u64 yields_since_ns;
};

/* A virtual thread, by its number in java.lang.Thread: its object moves. */
struct virtual_thread {
	__u64 number;
	__u32 pid;
	__u32 pad;
};

/* Its tid is that of the carrier on which the wait began, its owner the number of a thread, and
 * apart says that the next wait of the thread has the same stack. */
struct virtual_wait {
	struct lock_event wait;
	__u64 number;
};

/* How often the probes of a JVM were hit. */
struct virtual_hits {
	__u64 monitors;
	__u64 yields;
};

#endif
