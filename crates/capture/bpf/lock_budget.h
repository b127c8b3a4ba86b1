/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* How many waits for locks a CPU looks into, and walks the stacks of (locks.h says why there is a limit). */
#ifndef FATHOM_LOCK_BUDGET_H
#define FATHOM_LOCK_BUDGET_H

#include <bpf/bpf_helpers.h>
#include "locks.h"

/* What was done since the beginning of a window. */
struct budget {
	__u64 since_ns;
	__u64 asked; /* when they went to sleep */
	__u64 asked_later;
	__u64 walked;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

static __always_inline struct budget *budget_of(__u64 now)
{
	__u32 zero = 0;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (budget && now - budget->since_ns >= BUDGET_WINDOW_NS) {
		budget->since_ns = now;
		budget->asked = budget->asked_later = budget->walked = 0;
	}
	return budget;
}

/* Whether one more thread that sleeps often may be asked. */
static __always_inline bool may_ask(__u64 now)
{
	struct budget *budget = budget_of(now);

	return budget && budget->asked++ < ASKED_IN_A_WINDOW;
}

/* The same when its sleep was long and is over. */
static __always_inline bool may_ask_later(__u64 now)
{
	struct budget *budget = budget_of(now);

	return budget && budget->asked_later++ < ASKED_IN_A_WINDOW;
}

/* Whether one more stack may be walked. */
static __always_inline bool may_walk(__u64 now)
{
	struct budget *budget = budget_of(now);

	return budget && budget->walked++ < WALKED_IN_A_WINDOW;
}

#endif
