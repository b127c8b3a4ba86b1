/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* System calls counted by thread, call and end, with their lengths. Part of syscalls.bpf.c. */

/* Only its thread writes an entry, so that no update is lost without atomic operations. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 65536);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct call_key);
	__type(value, struct call_total);
} totals SEC(".maps");

static __always_inline __u32 power_of(__u64 ns)
{
	__u32 power = 0;

	if (ns >> 32) {
		power += 32;
		ns >>= 32;
	}
	if (ns >> 16) {
		power += 16;
		ns >>= 16;
	}
	if (ns >> 8) {
		power += 8;
		ns >>= 8;
	}
	if (ns >> 4) {
		power += 4;
		ns >>= 4;
	}
	if (ns >> 2) {
		power += 2;
		ns >>= 2;
	}
	power += ns >> 1;
	return power < CALL_LENGTHS ? power : CALL_LENGTHS - 1;
}

/* The total of a thread's calls of a number and an end; NULL when there is no room for one more.
 * `used`: where the thread remembers what it has entries for, if it is the one that runs. */
static __always_inline struct call_total *total_of(struct call_key *key, __u32 pid, struct used_calls *used)
{
	struct call_total *total = bpf_map_lookup_elem(&totals, key);
	struct scratch *s;

	if (total || !(s = scratch()))
		return total;
	s->fresh.pid = pid;
	long refused = bpf_map_update_elem(&totals, key, &s->fresh, BPF_NOEXIST);

	total = bpf_map_lookup_elem(&totals, key);
	if (!refused)
		count_entries(1);
	if (!total)
		lost(LOST_ENTRY);
	else if (used)
		remember_used(used, key->nr, key->end);
	return total;
}

static __always_inline void count_call(struct caller *caller, __u64 length, __s64 result, bool coarse)
{
	struct call_key key = { .tid = caller->tid, .nr = caller->nr, .end = end_of(result) };
	struct call_total *total = total_of(&key, caller->pid, &caller->used);

	if (!total)
		return;
	total->count += 1;
	if (coarse) {
		total->coarse += length > 0;
		total->coarse_ns += length;
		return;
	}
	__u32 power = power_of(length);

	total->timed += 1;
	total->ns += length;
	if (length > total->longest_ns)
		total->longest_ns = length;
	if (power < CALL_LENGTHS)
		total->length[power] += 1;
}

/* Adds what a CPU has kept of a run (call_runs.h) to its total. */
static __always_inline void add_kept(struct call_run *run)
{
	struct call_key key = { .tid = run->tid, .nr = run->nr, .end = run->end };
	__u32 kept = run->kept;

	if (!kept)
		return;
	run->kept = 0;
	struct call_total *total = total_of(&key, run->pid, NULL);

	if (total)
		total->count += kept;
}

/* Whether a call that returns is one of a run and short; then it is counted. */
static __always_inline bool counts_in_run(struct call_run *run, void *regs, __u16 nr, __s64 result)
{
	if (!is_run_of(run, regs) || !run->is_within)
		return false;
	if (run->nr != nr || run->end != end_of(result))
		add_kept(run);
	if (returns_in_run(run, regs, nr, result))
		return true;
	run->is_within = 0;
	return false;
}

/* A run of a thread begins. */
static __always_inline void begin_run(struct call_run *run, struct caller *caller, void *regs)
{
	__u64 *died = hot_deaths();

	if (!run || !died)
		return;
	add_kept(run);
	run->regs = (__u64)regs;
	run->deaths = *died;
	run->kernel_tid = caller->kernel_tid;
	run->pid = caller->pid;
	run->tid = caller->tid;
	run->left = caller->run;
	run->is_within = 0;
	run->ticks = bpf_jiffies64();
}

/* Calls that a thread has made in its last run; 0 when another's came in between,
 * and it is not known. */
static __always_inline __u32 made_in_run(struct call_run *run, struct caller *caller)
{
	if (!run || run->kernel_tid != caller->kernel_tid || run->ticks != caller->ticks || run->left > caller->run)
		return 0;
	return caller->run - run->left;
}

/* The run of a hot thread that ends: its place and its number go to another one day. */
static __always_inline void end_run(struct caller *caller)
{
	struct call_run *run = own_run();
	__u64 *died = hot_deaths();

	if (died && caller->untimed)
		__sync_fetch_and_add(died, 1);
	if (!run || run->kernel_tid != caller->kernel_tid)
		return;
	add_kept(run);
	run->regs = 0;
	run->kernel_tid = 0;
}
