/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What locks.bpf.c gets and sends. Read by src/locks/event.rs. */
#ifndef FATHOM_LOCKS_H
#define FATHOM_LOCKS_H

#include "types.h"

enum lock_kind {
	LOCK_NONE,    /* no wait for a lock; as an event: a thread of a JVM of which is not known
	               * whether it is Java's */
	LOCK_MONITOR, /* to enter a Java monitor */
	LOCK_WAIT,    /* in Object.wait */
	LOCK_PARK,    /* parked, with a blocker that is known */
	LOCK_NATIVE,  /* a mutex of the C library */
	LOCK_LATER,   /* not asked yet: its thread sleeps so often that it is asked when it
	               * was long, at the end */
	LOCK_ENDED,   /* no wait, as an event alone: a thread of Java's has ended, at off_ns */
};

/* Stands for the JavaThread of a thread that is not a Java thread. */
enum java_thread { NO_JAVA_THREAD = 1 };

/* What locks.bpf.c and virtual_locks.bpf.c leave out, as there is too much of it. */
enum lock_loss {
	LOCK_WITHOUT_STACK = OWN_LOSSES, /* a wait for a lock */
	UNREPORTED_WORK,                 /* a wait for work that was long enough to be reported */
};

NAMED(lock_kind);
NAMED(lock_loss);
NAMED(java_thread);

/*
 * To find out what a thread waits for takes some 0.4 µs, as much as putting it to sleep, and to
 * walk its stack ten. A thread whose last sleeps were not reported, as they were short, is asked at
 * once only as long as a CPU has asked fewer than this in a window. The same holds, when its sleep
 * is over, for one that slept for long enough to be reported but not where many do (pace.h). All
 * others are always asked.
 */
#define BRIEF_SLEEPS 16
#define BUDGET_WINDOW_NS 10000000ULL
#define ASKED_IN_A_WINDOW 50
/* Waits for locks that somebody holds, reported with their stack. */
#define WALKED_IN_A_WINDOW 10
/*
 * A thread that is woken within the lock's own function looks, spins and sleeps again: that is one
 * wait. HotSpot spins 5000 times at most (Knob_SpinLimit of objectMonitor.cpp), 0.1 to 0.3 ms. One
 * that ran for longer on a CPU had got the lock and lost it again.
 */
#define SPINS_NS 500000

/* How a JVM's objects lie: fathom_hotspot::locks::LockConstants. */
struct lock_jvm {
	__u64 oop_base;
	__u32 oop_shift;
	__u32 pending;
	__u32 waiting;
	__u32 thread_object;
	__u32 monitor_object;
	__u32 monitor_owner;
	__u32 os_thread;
	__u32 thread_id;
	__u32 park_blocker;
	__u32 eetop;
	__u32 exclusive_owner; /* 0: not known yet */
	__u8 thread_object_is_handle;
	__u8 monitor_object_is_handle;
	__u8 compressed_oops;
	__u8 coloured;
};

/* What its thread had done by the end of a wait, as the kernel counts it. */
struct done {
	__u64 ran_ns; /* time on a CPU */
	__u64 sleeps; /* switches away from it by its own will */
	__u64 calls;  /* of read(), write() and the like */
};

struct lock_event {
	__u64 off_ns;    /* switched out */
	__u64 on_ns;     /* ran again; 0: it has not yet */
	__u64 lock;      /* the monitor, the blocker, the mutex */
	__u64 owner;     /* of a monitor: as it says; of a blocker: JavaThread; 0: not known */
	__u64 header[2]; /* the first bytes of the object that is locked */
	__u64 stack_ns;  /* stamp of the stack that was sent before; 0: none */
	__u32 pid;
	__u32 tid;
	__u32 waker;     /* who woke it: waker_of (interrupts.h); 0: nobody */
	__u32 kind;
	__u32 owner_tid; /* thread id of the owner, if the owner is a JavaThread; of a mutex as
	                  * it says; 0: not known */
	__u16 apart;     /* it did something else since the wait that was reported before: it had
	                  * got what it waited for */
	__u8 slept;      /* it has slept in futex() for something else since this one */
	__u8 goes_on;    /* the sleep before was reported, and this one is of the same wait */
	__u32 brief;     /* sleeps of it before this one, one behind the other, that were too
	                  * short to be reported */
	__u32 later;     /* what it was for was read at its end; who held it at its
	                  * beginning is not known */
	struct done done;
};

#endif
