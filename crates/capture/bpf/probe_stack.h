/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* The stack of a thread that hits a probe. */
#ifndef FATHOM_PROBE_STACK_H
#define FATHOM_PROBE_STACK_H

#include "sampler.h"

/* Whether the scratch of a walk is in use: a task may be preempted while a probe of its runs. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u32);
} busy SEC(".maps");

/* Sends the stack of the current thread; its stamp. */
static __always_inline __u64 send_stack(void *ctx, bool with_kernel)
{
	__u32 zero = 0, *taken = bpf_map_lookup_elem(&busy, &zero);

	if (!taken || *taken)
		return 0;
	*taken = 1;
	struct walk *w = begin_sample(SAMPLE_WAIT);
	__u64 stamp = 0;

	if (!w)
		goto out;
	walk_current(w);
	long bytes = 0;

	if (with_kernel)
		bytes = bpf_get_stack(ctx, behind_frames(w), MOST_KERNEL_FRAMES * sizeof(__u64), 0);
	stamp = send_walked(w, bytes < 0 ? 0 : bytes, BPF_RB_NO_WAKEUP);
out:
	*taken = 0;
	return stamp;
}

#endif
