// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/* CPU samples: what a CPU ran at a tick of its clock, or when it had counted so many cycles, with
 * user and kernel stack. */
#include "unwind_port.h"
#include <linux/bpf_perf_event.h>
#include "unwind.h"
#include "sampler.h"
#include "keep.h"

SEC("perf_event")
int cpu_sample(struct bpf_perf_event_data *ctx)
{
	struct walk *w = begin_sample(SAMPLE_CPU);

	if (!w)
		return 0;
	/* The kernel's own word for it: nanoseconds of a clock that ticks evenly, cycles
	 * as many as there were. */
	w->sample.weight = ctx->sample_period;
	walk_current(w);
	if (!keep_stack(ctx, w))
		end_sample(ctx, w);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
