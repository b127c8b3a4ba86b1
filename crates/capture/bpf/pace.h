/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * From which length on waits are reported one by one.
 *
 * To report a wait costs some ten microseconds, nearly all of it the walk of its stack: nothing at
 * a thousand a second, a third of a CPU at thirty thousand, which is what a pool of 64 threads
 * makes that are given work every millisecond. So each CPU reports waits from the configured length
 * on while they are few, and doubles that length while they are too many:
 *
 *   reported in a window > MOST ──▶ twice as long      reported in a window < MOST / 4 ──▶ half as long, down to what is configured
 *
 * The long ones are reported all the same; what becomes of the others is up to the program, and how
 * many they were is counted.
 */
#ifndef FATHOM_PACE_H
#define FATHOM_PACE_H

#include <bpf/bpf_helpers.h>

#define PACE_WINDOW_NS 100000000ULL
/* Reported in a window by a CPU, so that it spends one hundredth of its time on them. */
#define PACE_MOST 100
/* However many they are, waits of at least this length are reported: nanoseconds. */
const volatile __u64 always_ns = 1000000000ULL;

struct pace {
	__u64 since_ns; /* beginning of the window */
	__u64 from_ns;  /* waits of at least this length are reported; 0: as configured */
	__u64 reported; /* in the window */
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

/* The length from which on waits are reported on this CPU; `least_ns`: the configured one. */
static __always_inline __u64 reported_from(struct pace *pace, __u64 least_ns, __u64 now)
{
	if (!pace)
		return least_ns;
	__u64 from_ns = pace->from_ns ?: least_ns, length = now - pace->since_ns;

	if (length >= PACE_WINDOW_NS) {
		/* By the rate: nothing may have been reported for long. */
		__u64 reported = pace->reported * PACE_WINDOW_NS / length;

		if (reported > PACE_MOST)
			from_ns = doubled(from_ns);
		else if (reported < PACE_MOST / 4)
			from_ns = from_ns / 2 > least_ns ? from_ns / 2 : least_ns;
		pace->since_ns = now;
		pace->reported = 0;
		pace->from_ns = from_ns;
	}
	return from_ns;
}

/* One more is reported. */
static __always_inline void count_reported(struct pace *pace, __u64 least_ns, __u64 now)
{
	if (!pace)
		return;
	pace->reported += 1;
	if (pace->reported < 2 * PACE_MOST)
		return;
	/* No need to wait for the end of the window. */
	pace->from_ns = doubled(pace->from_ns ?: least_ns);
	pace->since_ns = now;
	pace->reported = 0;
}

#endif
