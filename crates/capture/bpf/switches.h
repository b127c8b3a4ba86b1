/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Switches and wakings of threads, handed from program to program by tail calls for the
 * reason that calls.h gives:
 *
 *   sched_switch, sched_waking ──▶ SWITCH_SLOT_WAITS (sched) ──▶ SWITCH_SLOT_LOCKS (locks)
 *
 * Filled by src/bpf/dispatcher.rs.
 */
#ifndef FATHOM_SWITCHES_H
#define FATHOM_SWITCHES_H

#include <bpf/bpf_helpers.h>
#include "types.h"

enum switch_slot { SWITCH_SLOT_WAITS, SWITCH_SLOT_LOCKS, SWITCH_SLOTS };

NAMED(switch_slot);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SWITCH_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} switching SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, SWITCH_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} waking SEC(".maps");

/* Behind the program for waits. */
static __always_inline void switch_further(void *ctx)
{
	bpf_tail_call_static(ctx, &switching, SWITCH_SLOT_LOCKS);
}

static __always_inline void wake_further(void *ctx)
{
	bpf_tail_call_static(ctx, &waking, SWITCH_SLOT_LOCKS);
}

#endif
