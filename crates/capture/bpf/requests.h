/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What requests.bpf.c counts. Mirrored in src/requests/; sizes are asserted on both sides. */
#ifndef FATHOM_REQUESTS_H
#define FATHOM_REQUESTS_H

/* Requests of a process that were answered since user space last took them. */
struct answered {
	__u64 count;
	__u64 total_ns; /* from the first bytes of each to the first of its answer */
	__u64 longest_ns;
};

_Static_assert(sizeof(struct answered) == 24, "shared with user space");

#endif
