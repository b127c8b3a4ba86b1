/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What network.bpf.c sends to user space. Read by src/network/event.rs. */
#ifndef FATHOM_NETWORK_H
#define FATHOM_NETWORK_H

#include "sockets.h"
#include "types.h"

/* Longest name of a host (RFC 1035), its final 0, and a word's rest. */
#define HOST_BYTES 256

struct network_config {
	__u64 min_ns;      /* connections and look-ups of at least this length are reported */
	__u32 most_stacks; /* recorded with a stack, per second per CPU */
	__u32 pad;
};

enum network_kind {
	NETWORK_CONNECT = 1,
	NETWORK_LOOKUP = 2,
};

NAMED(network_kind);

enum network_loss { WITHOUT_STACK = OWN_LOSSES }; /* reported without it, as there were too many */

NAMED(network_loss);

/* A connection being made, or a name being resolved. */
struct network_event {
	__u64 begin_ns;
	__u64 end_ns;
	__u64 stack_ns;  /* stamp of the stack that was sent before; 0: none */
	__u32 pid;
	__u32 tid;
	__s32 result;    /* of a connection: its error, as the kernel has it; of a look-up:
	                  * that of getaddrinfo(3) */
	__u8 kind;
	__u8 nonblocking;
	__u8 established;
	__u8 pad;
	char comm[16];
	struct socket_ends ends;
	__u32 pad2;
	char host[HOST_BYTES];
};

/* Segments of a connection that were sent again. */
struct network_again {
	__u64 segments;
	__u64 inode; /* of its socket; 0: its program has closed it */
	struct socket_ends ends;
	__u32 pid;   /* whose it is, where the connection is still being made; 0:
	              * user space finds out */
};

#endif
