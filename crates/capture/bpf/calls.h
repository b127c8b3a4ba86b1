/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * System calls on their way in and out, handed from program to program by tail calls.
 *
 * A program on a tracepoint costs some 60 ns a hit before it has done anything (measured on
 * a nested virtual machine), and collectors have seven for system calls, most of them for a
 * few calls only. So dispatcher.bpf.c alone hangs on the tracepoints and jumps to whoever
 * put itself into a slot:
 *
 *   sys_enter ──▶ slot of the call (memory, disk) ──▶ CALL_SLOT_EVERY (syscalls)
 *   sys_exit ──▶ slot of the call (locks, disk, sched) ──▶ CALL_SLOT_WAITS (sched) ──▶ CALL_SLOT_EVERY (syscalls)
 *
 * Of a thread that makes very many calls, most are counted before the jump to CALL_SLOT_WAITS or
 * CALL_SLOT_EVERY (call_runs.h).
 *
 * A jump into an empty slot goes on behind it. A program that hangs on its tracepoint itself has
 * slots of its own that are empty, and ends there. Filled by src/bpf/dispatcher.rs.
 */
#ifndef FATHOM_CALLS_H
#define FATHOM_CALLS_H

#include <bpf/bpf_helpers.h>
#include "types.h"

enum call_slot {
	CALL_NUMBERS = 512, /* system calls that may have a slot of their own */
	CALL_SLOT_WAITS = CALL_NUMBERS,
	CALL_SLOT_EVERY,
	CALL_SLOTS,
};

NAMED(call_slot);

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, CALL_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} entering SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PROG_ARRAY);
	__uint(max_entries, CALL_SLOTS);
	__type(key, __u32);
	__type(value, __u32);
} leaving SEC(".maps");

/* Behind a program for some calls that are entered. */
static __always_inline void enter_further(void *ctx)
{
	bpf_tail_call_static(ctx, &entering, CALL_SLOT_EVERY);
}

/* Behind the program for waits. */
static __always_inline void leave_further(void *ctx)
{
	bpf_tail_call_static(ctx, &leaving, CALL_SLOT_EVERY);
}

/* Behind a program for some calls that are left. */
static __always_inline void leave_further_from_call(void *ctx)
{
	bpf_tail_call_static(ctx, &leaving, CALL_SLOT_WAITS);
	leave_further(ctx);
}

#endif
