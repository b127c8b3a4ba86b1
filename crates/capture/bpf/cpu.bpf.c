// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* CPU samples: what a processor ran at a tick of its clock, with user and kernel stack. */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	struct walk *w = begin_sample(SAMPLE_CPU);

	if (!w)
		return 0;
	walk_current(w);
	end_sample(ctx, w);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
