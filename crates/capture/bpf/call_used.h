/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* How many entries the totals of calls have, and which of them are a thread's, so that it can give
 * them back (call_folds.h). Part of syscalls.bpf.c. */

/* Calls and ends of a thread that are remembered. A thread that makes more of them gets no
 * room back by itself. */
#define MOST_USED 40

/* By enum call_entries. Those that are given back here are not among those that were made. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, ENTRY_COUNTS);
	__type(key, __u32);
	__type(value, __s64);
} entries SEC(".maps");

/* What a thread has entries for, by which they are found when it ends. */
struct used_calls {
	__u16 count;
	__u16 call[MOST_USED]; /* number and end */
};

#define USED_CALL(nr, end) ((nr) << 2 | (end))

static __always_inline void count_entries(__s64 more)
{
	__u32 made = ENTRIES_MADE;
	__s64 *count = bpf_map_lookup_elem(&entries, &made);

	if (count)
		__sync_fetch_and_add(count, more);
}

static __always_inline void remember_used(struct used_calls *used, __u16 nr, __u16 end)
{
	__u16 at = used->count;

	if (at < MOST_USED)
		used->call[at] = USED_CALL(nr, end);
	if (at <= MOST_USED)
		used->count = at + 1;
}
