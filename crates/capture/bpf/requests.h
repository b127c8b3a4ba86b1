/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What requests.bpf.c counts. Read by src/requests/. */
#ifndef FATHOM_REQUESTS_H
#define FATHOM_REQUESTS_H

/* Requests of a process that were answered since user space last took them. */
struct answered {
	__u64 count;
	__u64 total_ns; /* from the first bytes of each to the first of its answer */
	__u64 longest_ns;
};

/* A peer to which a process made connections. */
struct peer {
	__u32 pid;
	__u16 family;
	__u16 port; /* host's order */
	__u8 address[16]; /* IPv4 in the first four */
};

/* Answers that a peer gave since user space last took them. */
struct peer_answers {
	__u64 count;
	__u64 total_ns; /* from the first bytes that were sent to the first of
	                 * each answer that arrived */
	__u64 unread_ns; /* from then until they were read */
	__u64 unanswered; /* closed while an answer was waited for */
	__u64 unanswered_ns; /* from the first bytes that were sent until then */
};

#endif
