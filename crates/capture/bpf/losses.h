/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How many of what a program has left out, by enum loss and its own that goes on with it. */
#ifndef FATHOM_LOSSES_H
#define FATHOM_LOSSES_H

#include <bpf/bpf_helpers.h>
#include "types.h"

#define MOST_LOSSES 8

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_LOSSES);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

static __always_inline void lost(__u32 which)
{
	__u64 *count = bpf_map_lookup_elem(&losses, &which);

	if (count)
		*count += 1;
}

#endif
