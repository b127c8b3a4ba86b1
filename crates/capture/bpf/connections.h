/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What connections.bpf.c writes, once for each TCP socket. Read by src/connections/sample.rs. */
#ifndef FATHOM_CONNECTIONS_H
#define FATHOM_CONNECTIONS_H

#include "sockets.h"
#include "types.h"

/* A TCP socket that a process has open. Times are ticks of the kernel's clock (jiffies), since the
 * connection was made. */
struct connection {
	__u64 socket;         /* distinguishes it while it is open */
	__u64 bytes_sent;     /* and acknowledged by the peer */
	__u64 bytes_received;
	__u32 busy;           /* something was on its way, or waited to be sent */
	__u32 window_limited; /* of that, the peer's receive window was full */
	__u32 buffer_limited; /* of that, the send buffer was too small */
	__u32 round_trip_us;  /* smoothed; 0: not measured yet */
	__u32 window;         /* that this side offers, bytes */
	__u32 unread;         /* bytes that arrived and were not read by the program */
	__u32 unsent;         /* bytes that the program wrote and that were not acknowledged */
	__u32 queue;          /* of a listening socket: connections that wait to be accepted */
	__u32 queue_most;
	struct socket_ends ends;
};

SENT(connection);

#endif
