/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * Calls of hot threads that are counted and no more, by whoever meets them first: dispatcher.bpf.c,
 * or syscalls.bpf.c without it.
 *
 * To look up what is kept of a thread, on the way in and out, and the total of its call, costs
 * three times what counting it does. So behind a call that was timed, the CPU remembers the thread
 * for the next few calls (a run), and counts them where they are made:
 *
 *   timed call returns ──▶ run begins ──▶ enters, returns: + 1 ──▶ … ──▶ the last of the run, or time went by ──▶ looked at in full
 *
 * A run ends with the tick of the kernel's clock in which it began: a call that was entered within
 * it and does not end in its place (it outlasts two ticks, or its thread was switched out and
 * others ran) began within a tick of where the last timed one ended.
 */
#ifndef FATHOM_CALL_RUNS_H
#define FATHOM_CALL_RUNS_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include "call_ends.h"

struct call_run {
	__u64 ticks;      /* when it began */
	__u64 regs;       /* where its thread's registers are in all calls; 0: it is nobody's */
	__u64 deaths;     /* of hot threads until then: another thread may have the place since */
	__u32 kernel_tid;
	__u32 pid;
	__u32 tid;
	__u32 kept;       /* calls that are not in the totals yet, all of this number and end: user
	                   * space reads them at the end */
	__u16 nr;
	__u16 end;
	__u16 left;       /* calls to come */
	__u16 is_within;  /* its thread has entered one of them */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct call_run);
} runs SEC(".maps");

/* How many hot threads have ended. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} deaths SEC(".maps");

static __always_inline struct call_run *own_run(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&runs, &zero);
}

static __always_inline __u64 *hot_deaths(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&deaths, &zero);
}

/* Whether a run is that of the thread whose registers are there, which costs less than to ask who
 * it is. One that becomes another program is counted as what it was until the run is over. */
static __always_inline bool is_run_of(struct call_run *run, void *regs)
{
	__u64 *died;

	return run && run->regs == (__u64)regs && (died = hot_deaths()) && *died == run->deaths;
}

/* Whether a call that the current thread enters is one of its run; then it is all that is done. */
static __always_inline bool enters_in_run(struct call_run *run, void *regs)
{
	if (!is_run_of(run, regs) || !run->left || bpf_jiffies64() != run->ticks)
		return false;
	run->left -= 1;
	run->is_within = 1;
	return true;
}

/* Whether a call that returns is one of a run, short, and like those that are
 * kept; then it is counted. */
static __always_inline bool returns_in_run(struct call_run *run, void *regs, __u16 nr, __s64 result)
{
	if (!is_run_of(run, regs) || !run->is_within)
		return false;
	__u16 end = end_of(result);

	if (run->kept && (run->nr != nr || run->end != end))
		return false;
	if (bpf_jiffies64() - run->ticks >= COARSE_LONG_TICKS)
		return false;
	run->is_within = 0;
	run->nr = nr;
	run->end = end;
	run->kept += 1;
	return true;
}

#endif
