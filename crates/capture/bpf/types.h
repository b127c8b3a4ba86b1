/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * User space has the structs and numbers of these programs as they stand here: build.rs makes its
 * types of what BTF says of an object. BTF knows what maps and variables are made of, and nothing
 * of what goes through a ring buffer, nor of the numbers of an enum: those are named here, what is
 * sent with SENT and an enum with NAMED. A number that user space needs is of an enum.
 */
#ifndef FATHOM_TYPES_H
#define FATHOM_TYPES_H

#define SENT(type) const struct type *const sent_##type = 0
#define NAMED(type) const enum type *const named_##type = 0

/* What every program may lose (losses.h). What it leaves out on purpose are kinds of its own, an
 * enum of its header from OWN_LOSSES on. */
enum loss {
	LOST_EVENT, /* an event found no room in a ring buffer */
	LOST_ENTRY, /* what is followed or counted found no room in a map */
	OWN_LOSSES,
	MOST_LOSSES = 8,
};

struct losses {
	__u64 of[MOST_LOSSES];
};

NAMED(loss);
SENT(losses);

#endif
