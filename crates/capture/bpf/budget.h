/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* How much of a kind of work a CPU does within a window of time: to walk a stack takes ten
 * microseconds. Kinds are the program's. */
#ifndef FATHOM_BUDGET_H
#define FATHOM_BUDGET_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>

#define MOST_BUDGETS 4
#define SECOND_NS 1000000000ULL

struct budget {
	__u64 since_ns; /* beginning of the window */
	__u64 spent;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_BUDGETS);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

/* Whether one more may be done, of `most` in a window. */
static __always_inline bool may_spend(__u32 kind, __u64 now, __u64 window_ns, __u64 most)
{
	struct budget *budget = bpf_map_lookup_elem(&budgets, &kind);

	if (!budget)
		return false;
	if (now - budget->since_ns >= window_ns) {
		budget->since_ns = now;
		budget->spent = 0;
	}
	return budget->spent++ < most;
}

#endif
