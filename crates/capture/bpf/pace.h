/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * From which length on waits are told one by one.
 *
 * To tell a wait costs some ten microseconds, nearly all of it the walk of its stack: nothing at a thousand a second, a third of a
 * processor at thirty thousand, which 64 threads of a pool make that are asked for each millisecond. So each processor
 * tells waits from the asked length on as long as they are few, and doubles that length while they are too many:
 *
 *   told in a window > MOST ──▶ twice as long          told in a window < MOST / 4 ──▶ half as long, down to what was asked
 *
 * The long ones are reported all the same; what becomes of the others is up to the program, and how many they were is counted.
 */
#ifndef FATHOM_PACE_H
#define FATHOM_PACE_H

#include <bpf/bpf_helpers.h>

#define PACE_WINDOW_NS 100000000ULL
/* Told in a window by a processor, so that it spends one hundredth of its time on them. */
#define PACE_MOST 100
/* However many they are, waits as long are told: nanoseconds. */
const volatile __u64 always_ns = 1000000000ULL;

struct pace {
	__u64 since_ns; /* beginning of the window */
	__u64 from_ns;  /* waits as long are told; 0: as was asked */
	__u64 told;     /* in the window */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct pace);
} paces SEC(".maps");

static __always_inline __u64 doubled(__u64 from_ns)
{
	if (from_ns >= always_ns)
		return from_ns;
	return 2 * from_ns < always_ns ? 2 * from_ns : always_ns;
}

static __always_inline struct pace *own_pace(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&paces, &zero);
}

/* Waits as long are told on this processor; `least_ns`: those that were asked for. */
static __always_inline __u64 told_from(struct pace *pace, __u64 least_ns, __u64 now)
{
	if (!pace)
		return least_ns;
	__u64 from_ns = pace->from_ns ?: least_ns, length = now - pace->since_ns;

	if (length >= PACE_WINDOW_NS) {
		/* By the rate: nothing may have been told for long. */
		__u64 told = pace->told * PACE_WINDOW_NS / length;

		if (told > PACE_MOST)
			from_ns = doubled(from_ns);
		else if (told < PACE_MOST / 4)
			from_ns = from_ns / 2 > least_ns ? from_ns / 2 : least_ns;
		pace->since_ns = now;
		pace->told = 0;
		pace->from_ns = from_ns;
	}
	return from_ns;
}

/* One more is told. */
static __always_inline void count_told(struct pace *pace, __u64 least_ns, __u64 now)
{
	if (!pace)
		return;
	pace->told += 1;
	if (pace->told < 2 * PACE_MOST)
		return;
	/* No need to wait for the end of the window. */
	pace->from_ns = doubled(pace->from_ns ?: least_ns);
	pace->since_ns = now;
	pace->told = 0;
}

#endif
