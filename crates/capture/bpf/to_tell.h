/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Whether the thread that runs on a processor has something to tell when its call returns: known to sched.bpf.c when it is switched
 * to, so that the calls of those that have nothing to tell, which are nearly all, cost no look at its threads.
 */
#ifndef FATHOM_TO_TELL_H
#define FATHOM_TO_TELL_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} to_tell SEC(".maps");

static __always_inline void set_to_tell(bool has)
{
	__u32 zero = 0, *flag = bpf_map_lookup_elem(&to_tell, &zero);

	if (flag)
		*flag = has;
}

static __always_inline bool has_to_tell(void)
{
	__u32 zero = 0, *flag = bpf_map_lookup_elem(&to_tell, &zero);

	return flag && *flag;
}

#endif
