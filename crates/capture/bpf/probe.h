/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What probe.bpf.c sends. Read by src/probes/event.rs. */
#ifndef FATHOM_PROBE_H
#define FATHOM_PROBE_H

#include "types.h"

#define PROBE_ARGUMENTS 8
#define PROBE_TEXTS 2
#define PROBE_TEXT_BYTES 64
#define PROBE_RAW_BYTES 256

struct probe_text {
	char bytes[PROBE_TEXT_BYTES];
};

struct probe_event {
	__u64 t0_ns;    /* hit, or entered */
	__u64 t1_ns;    /* returned; the same as t0_ns where there is no return */
	__u64 stack_ns; /* stamp of the stack that was sent before; 0: none */
	__u64 result;
	__u64 argument[PROBE_ARGUMENTS];
	__u32 pid;
	__u32 tid;
	__u32 probe;     /* which one, as given with it */
	__u16 arguments; /* how many are set */
	__u16 returned;  /* whether result is set */
	struct probe_text text[PROBE_TEXTS]; /* what the first arguments point to, as text */
	__u8 raw[PROBE_RAW_BYTES];                /* of a tracepoint: its record */
};

SENT(probe_event);

#endif
