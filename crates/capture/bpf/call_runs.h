/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Calls of hot threads that are counted and no more. Part of syscalls.bpf.c.
 *
 * To look up what is kept of a thread, on the way in and out, and the total of its call, costs three times what counting it does.
 * So behind a call that was timed, the processor remembers the thread for the next few calls (a run), and counts them where they
 * are made:
 *
 *   timed call returns ──▶ run begins ──▶ enters, returns: + 1 ──▶ … ──▶ the last of the run, or time went by ──▶ looked at in full
 *
 * A run ends with the tick of the kernel's clock in which it began: a call that was entered within it and does not end in its place
 * (it outlasts two ticks, or its thread was switched out and others ran) began within a tick of where the last timed one ended.
 */

struct call_run {
	__u64 ticks;      /* when it began */
	__u32 kernel_tid; /* whose it is; 0: nobody's */
	__u32 pid;
	__u32 tid;
	__u32 kept;       /* calls that are not in the totals yet, all of this number and end: user space reads them at the end */
	__u16 nr;
	__u16 end;
	__u16 left;       /* calls to come */
	__u16 is_within;  /* its thread has entered one of them */
};

_Static_assert(sizeof(struct call_run) == 32, "shared with user space");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_run);
} runs SEC(".maps");

static __always_inline struct call_run *own_run(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&runs, &zero);
}

/* Adds what a processor has kept to its total. */
static __always_inline void add_kept(struct call_run *run)
{
	struct call_key key = { .tid = run->tid, .nr = run->nr, .end = run->end };
	__u32 kept = run->kept;

	if (!kept)
		return;
	run->kept = 0;
	struct call_total *total = total_of(&key, run->pid);

	if (total)
		total->count += kept;
}

/* Whether a call that the current thread enters is one of its run; then it is all that is done. */
static __always_inline bool enters_in_run(struct call_run *run, __u32 kernel_tid)
{
	if (!run || run->kernel_tid != kernel_tid || !run->left)
		return false;
	if (bpf_jiffies64() != run->ticks) {
		run->left = 0;
		return false;
	}
	run->left -= 1;
	run->is_within = 1;
	return true;
}

/* Whether a call that returns is one of a run, and short; then it is counted. */
static __always_inline bool returns_in_run(struct call_run *run, __u32 kernel_tid, __u16 nr, __s64 result)
{
	if (!run || run->kernel_tid != kernel_tid || !run->is_within)
		return false;
	run->is_within = 0;
	if (bpf_jiffies64() - run->ticks >= COARSE_LONG_TICKS)
		return false;
	__u16 end = end_of(result);

	if (run->kept && (run->nr != nr || run->end != end))
		add_kept(run);
	run->nr = nr;
	run->end = end;
	run->kept += 1;
	return true;
}

/* A run of so many calls begins. */
static __always_inline void begin_run(struct call_run *run, struct caller *caller, __u16 calls)
{
	if (!run)
		return;
	add_kept(run);
	run->kernel_tid = caller->kernel_tid;
	run->pid = caller->pid;
	run->tid = caller->tid;
	run->left = calls;
	run->is_within = 0;
	run->ticks = bpf_jiffies64();
}
