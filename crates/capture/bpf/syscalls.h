/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What syscalls.bpf.c and user space send each other. Read by src/syscalls/. */
#ifndef FATHOM_SYSCALLS_H
#define FATHOM_SYSCALLS_H

#include "call_ends.h"
#include "sockets.h"

enum call_limit {
	MOST_CALLS = 512,  /* calls with a number below this are counted each by itself */
	CALL_LENGTHS = 40, /* powers of two of a call's length in nanoseconds; the last one
	                    * counts what is longer too */
	OF_ENDED = 1U << 31, /* in the place of a thread's id: those of a process that have ended
	                      * (call_folds.h). Ids are below 2^22 */
};

/* Counts that user space and the programs keep in `entries`. */
enum call_entries {
	ENTRIES_MADE,
	ENTRIES_GIVEN_BACK,
	FOLDS_FROM,     /* entries from which on threads that end are put together */
	THREADS_FOLDED,
	ENTRY_COUNTS,
};

/* Bytes of text behind an event at most, of which one piece takes this many at most. */
#define CALL_TEXT_BYTES 1280
#define CALL_PIECE_BYTES 256

/* What user space asks for. */
struct syscalls_config {
	__u64 min_ns;        /* calls of at least this length are reported one by one */
	__u32 most_stacks;   /* recorded with a stack, per second per CPU */
	__u32 most_events;   /* reported, per second per CPU */
	__u32 hot_calls;     /* in an interval: a thread that makes more is hot */
	__u32 pad;
};

/* Whether a long call is reported. */
enum call_report {
	REPORT_NEVER,
	REPORT_FILES,  /* unless it is on a descriptor that only signals events
	                * (eventfd, epoll, timerfd) */
	REPORT_SOCKET, /* when it polls one connected socket */
	REPORT_ALWAYS,
};

/* Where the arguments of a call that matter stand: index plus one, 0: there is none. */
struct call_shape {
	__u8 report;
	__u8 fd;
	__u8 path;
	__u8 dirfd;
	__u8 address;     /* struct sockaddr of a peer */
	__u8 result_is_fd;
	__u8 polls;       /* argument 0: struct pollfd */
	__u8 pad;
};

struct call_key {
	__u32 tid;
	__u16 nr;
	__u16 end;
};

/*
 * Reading the clock is half of what watching a call costs. Of a thread that makes more than
 * `hot_calls` in an interval, so many are timed; of the others only those during which the kernel's
 * ticks show that time went by: they are taken to begin where the last timed one ended, which is
 * within the same tick.
 */
#define HOT_INTERVAL_NS 100000000ULL
#define HOT_TIMED 500
#define MOST_IN_RUN 1000

/* All calls of a thread that ended the same way. */
struct call_total {
	__u64 count;
	__u64 timed;       /* how many of them were timed */
	__u64 ns;          /* how long these took */
	__u64 longest_ns;
	__u64 coarse_ns;   /* how long those took that only ticks timed, not among `timed` */
	__u32 coarse;
	__u32 pid;
	__u32 length[CALL_LENGTHS]; /* timed calls that took from 2^i nanoseconds on */
};

enum call_event_kind {
	CALL_REPORTED = 1,
	CALL_THREAD_ENDED = 2,
};

enum call_event_flags {
	CALL_BEGAN_BEFORE = 1, /* it had begun before the thread was watched */
	CALL_DELETED = 2,      /* the file has no name any more */
	CALL_PATH_CUT = 4,     /* the path is longer than what is reported */
	CALL_BASE_CUT = 8,
	CALL_COARSE = 16,      /* it began somewhat later than reported */
	CALL_UNFINISHED = 32,  /* it has not ended; `exit_ns` is now, and there is no result */
};

/* What is left out, as there is too much of it. */
enum call_loss {
	UNREPORTED_CALL = OWN_LOSSES, /* long, and in the totals only */
	CALL_WITHOUT_STACK,
};

NAMED(call_limit);
NAMED(call_loss);
NAMED(call_entries);
NAMED(call_report);
NAMED(call_event_kind);
NAMED(call_event_flags);

/* Followed by `text` bytes: names of the path of the descriptor, leaf first, each ended by 0,
 * `path` bytes; those of the directory that the argument is relative to, `base` bytes; then
 * the argument itself. */
struct call_event {
	__u64 enter_ns;
	__u64 exit_ns;
	__s64 result;
	__u64 argument[6];
	__u64 stack_ns; /* stamp of the stack that was sent before; 0: none */
	__u64 inode;
	__u64 magic;    /* of the file system; 0: no descriptor */
	__u32 pid;
	__u32 tid;
	__u16 nr;
	__u8 kind;
	__u8 flags;
	__u32 mode;     /* of the inode */
	__u16 path;
	__u16 base;
	__u16 text;
	__u16 pad;
	char comm[16];
	struct socket_ends socket;
	__u32 pad2;
};

#endif
