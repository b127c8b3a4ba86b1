/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What memory.bpf.c sends to user space. Read by src/memory/record.rs. */
#ifndef FATHOM_MEMORY_H
#define FATHOM_MEMORY_H

#include "types.h"

#define MAPPING_NAME 32

/* What user space asks for. */
struct memory_config {
	__u64 min_ns;           /* stalls and faults of at least this length are reported one by
	                         * one */
	__u32 samples_a_window; /* of faults, for each CPU */
	__u32 pad;
};

/* In a storm not each fault comes to the program. (The kernel leaves the period in the event as it
 * was when a period of one is set, so that user space sets it here.) */
struct fault_look {
	__u64 one_in;        /* each that comes stands for so many; 0: for itself */
	__u64 timed_from_ns; /* what is kept of faults that began before is not true */
};

/* A mapping as a fault found it. */
struct fault_mapping {
	__u64 start; /* where it could not be looked at: an address in it */
	__u64 end;   /* 0: it could not be looked at */
	__u64 flags; /* vm_flags of include/linux/mm.h */
	__u64 inode; /* of its file; 0: none */
	__u64 sp;    /* user stack pointer of the thread that faulted */
	char name[MAPPING_NAME]; /* of its file, without folders; cut */
};

/* Faults are counted by thread and mapping. */
struct fault_key {
	__u32 tid;
	__u32 pad;
	__u64 start; /* odd: that of a range of 2 MB whose mapping could not be looked at, plus 1 */
};

struct fault_counts {
	struct fault_mapping mapping;
	__u64 minor;
	__u64 major;
	__u64 protect; /* of them: written to, mapped and protected */
	__u64 in_kernel; /* of them: the kernel touched the page, for a system call */
	__u64 ns;      /* how long they took, of those that were timed */
	__u64 timed;
	__u32 pid;
	__u32 tid;
};

/* What a record reports. */
enum memory_what {
	MEMORY_FAULT = 1,       /* stands for `weight` faults */
	MEMORY_MAJOR = 2,       /* one that took long */
	MEMORY_RECLAIM = 3,     /* the thread freed memory of the machine before it got some */
	MEMORY_GROUP_RECLAIM = 4, /* the same, of its control group */
	MEMORY_COMPACTION = 5,  /* it moved pages to get a large one */
	MEMORY_MAP_LOCK = 6,    /* it waited for the lock of its address space */
	MEMORY_OOM = 7,         /* `argument` was chosen to be killed for lack of memory */
	MEMORY_SLOW_MINOR = 8,  /* a minor fault that took long: a frozen file system, or one
	                         * that makes room first */
};

NAMED(memory_what);

/* Behind the stack of each record. */
struct memory_tail {
	__u64 from_ns;
	__u64 to_ns;
	__u64 address;  /* of a fault */
	__u64 argument; /* order of a reclaim; 1 for the lock to write; pid of the victim */
	__u32 what;
	__u32 weight;
	struct fault_mapping mapping;
};

/* Stalls of a process by kind (enum memory_what), long and short ones. */
struct stall_key {
	__u32 pid;
	__u32 what;
};

struct stall_counts {
	__u64 count;
	__u64 ns;
};

/* What a process asks of its address space. */
enum space_call {
	SPACE_MMAP,
	SPACE_MUNMAP,
	SPACE_MREMAP,
	SPACE_BRK,
	SPACE_MPROTECT,
	SPACE_GIVE_BACK, /* madvise: MADV_DONTNEED, MADV_FREE, MADV_REMOVE, MADV_PAGEOUT */
	SPACE_ADVISE,    /* madvise: the rest */
	SPACE_CALLS,
};

NAMED(space_call);

struct space_key {
	__u32 pid;
	__u32 call;
};

struct space_counts {
	__u64 count;
	__u64 bytes;
};

/* Locks of a target's address space by other processes. */
struct foreign_key {
	__u32 pid; /* whose address space */
	__u32 by;
};

struct foreign_counts {
	__u64 count;
	__u64 written; /* of them: to change it */
	char comm[16];
};

#endif
