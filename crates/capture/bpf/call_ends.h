/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* How a system call ended, and from when on it was long. */
#ifndef FATHOM_CALL_ENDS_H
#define FATHOM_CALL_ENDS_H

#include "types.h"

/* A call that is timed by the kernel's ticks alone is long from as many on. */
#define COARSE_LONG_TICKS 2

enum call_end {
	CALL_DONE,
	CALL_AGAIN, /* interrupted, timed out or not ready: EINTR, EAGAIN, ETIMEDOUT, EINPROGRESS
	             * and those that restart it */
	CALL_FAILED,
	CALL_ENDS,
};

NAMED(call_end);

static __always_inline __u16 end_of(__s64 result)
{
	if (result >= 0 || result < -4095)
		return CALL_DONE;
	switch (result) {
	case -4:   /* EINTR */
	case -11:  /* EAGAIN */
	case -110: /* ETIMEDOUT */
	case -115: /* EINPROGRESS */
	case -512: /* ERESTARTSYS and the others of include/linux/errno.h */
	case -513:
	case -514:
	case -516:
		return CALL_AGAIN;
	default:
		return CALL_FAILED;
	}
}

#endif
