/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The ring buffer of a program's events. Included where EVENT_BYTES says how large
 * it is: a power of two. */
#ifndef FATHOM_EVENTS_H
#define FATHOM_EVENTS_H

#include "losses.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, EVENT_BYTES);
} events SEC(".maps");

/* Sends one. What it refers to was sent before, so that user space need not be woken for it. */
static __always_inline void report(void *event, __u64 bytes)
{
	if (bpf_ringbuf_output(&events, event, bytes, BPF_RB_NO_WAKEUP))
		lost(LOST_EVENT);
}

#endif
