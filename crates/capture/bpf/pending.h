/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Whether the thread that runs on a CPU has something to report when its call returns: known to
 * sched.bpf.c when it is switched to, so that the calls of threads that have nothing to report,
 * which are nearly all, need no look-up among its threads.
 */
#ifndef FATHOM_PENDING_H
#define FATHOM_PENDING_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} pending SEC(".maps");

static __always_inline void set_pending(bool has)
{
	__u32 zero = 0, *flag = bpf_map_lookup_elem(&pending, &zero);

	if (flag)
		*flag = has;
}

static __always_inline bool has_pending(void)
{
	__u32 zero = 0, *flag = bpf_map_lookup_elem(&pending, &zero);

	return flag && *flag;
}

#endif
