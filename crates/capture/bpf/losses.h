/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How many of what a program has left out, by enum loss and its own that goes on with it: of all
 * kinds in one, for one look. */
#ifndef FATHOM_LOSSES_H
#define FATHOM_LOSSES_H

#include <bpf/bpf_helpers.h>
#include "types.h"

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct losses);
} losses SEC(".maps");

static __always_inline void lost_many(__u32 kind, __u64 many)
{
	__u32 zero = 0;
	struct losses *of_cpu = bpf_map_lookup_elem(&losses, &zero);

	/* A kind that has no place is not lost silently. */
	if (of_cpu)
		of_cpu->of[kind < MOST_LOSSES ? kind : LOST_EVENT] += many;
}

static __always_inline void lost(__u32 kind)
{
	lost_many(kind, 1);
}

#endif
