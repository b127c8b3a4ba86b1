// SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only
/*
 * Calls of compiled Java methods: a hardware breakpoint stands on the entry of each, and this runs
 * at every hit, in the trap of the thread that calls.
 *
 *   entry hit ─▶ patched, or not in use any more? ─▶ counted as replaced: the call goes on to other code
 *            └─▶ the caller's frame is walked ─▶ calls[caller, thread] + 1
 */
#include "unwind_port.h"
#include <linux/bpf_perf_event.h>
#include "unwind.h"
#include "namespace.h"
#include "method.h"

/* The process whose methods are watched. */
const volatile __u32 watched_pid = 0;

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, BREAKPOINTS);
	__type(key, __u32);
	__type(value, struct armed);
} armed SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, MOST_ENTRIES);
	__type(key, __u32);
	__type(value, struct entry_counts);
} entry_hits SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 32768);
	__type(key, struct call_key);
	__type(value, struct call_count);
} calls SEC(".maps");

/* One for each CPU: a breakpoint of user code is handled with interrupts off. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

/* A call that is timed: by its thread and where its return address stands. */
struct open_call {
	__u64 sp;
	__u32 tid;
	__u32 pad;
};

struct begun {
	__u64 t_ns;
	__u64 round; /* what is left of a call that ended by an exception fits no later place */
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, struct open_call);
	__type(value, struct begun);
} open_calls SEC(".maps");

/* Not one for each CPU, which would be 300 MB on one with 128. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, MOST_ENTRIES);
	__type(key, __u32);
	__type(value, struct times);
} entry_times SEC(".maps");

static __always_inline void add(__u32 entry, __u32 kind)
{
	struct entry_counts *counts = bpf_map_lookup_elem(&entry_hits, &entry);

	if (counts && kind < HIT_KINDS)
		counts->hits[kind] += 1;
}

/* The address that was hit. */
static __always_inline struct armed *armed_at(__u64 ip)
{
	for (__u32 i = 0; i < BREAKPOINTS; i++) {
		__u32 slot = i;
		struct armed *at = bpf_map_lookup_elem(&armed, &slot);

		if (at && at->at == ip)
			return at;
	}
	return NULL;
}

/* jmp rel32: what HotSpot writes over the verified entry of code that is not to be entered any
 * more. No prologue begins so. */
#define PATCHED 0xe9

/* Whether a call that enters here is sent on to other code. */
static __always_inline bool is_replaced(const struct armed *at)
{
	__u8 first = 0, state = 0;

	bpf_probe_read_user(&first, 1, (void *)at->at);
	bpf_probe_read_user(&state, 1, (void *)at->state);
	return first == PATCHED || state;
}

/* The frame that the call on top of the stack returns to. */
static __always_inline void walk_caller(struct walk *w, __u32 pid, __u64 returns_to, __u64 sp, __u64 fp)
{
	struct process_code *process = bpf_map_lookup_elem(&processes, &pid);
	struct walk *context = w;

	w->exact = 0;
	w->pc = returns_to;
	w->sp = sp;
	w->fp = fp;
	w->map.start = w->map.end = 0;
	w->sample.frames = 0;
	w->frame[0].low = w->frame[0].high = 0;
	if (!process)
		return;
	w->process = *process;
	loop(1, walk_step, &context);
}

static __always_inline void count_call(const struct armed *at, __u32 pid, __u32 tid, __u64 returns_to, __u64 sp, __u64 fp)
{
	__u32 zero = 0;
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);
	struct call_key key = { .entry = at->entry, .tid = tid };
	struct call_count first = { .count = 1 }, *known;

	if (!w)
		return;
	walk_caller(w, pid, returns_to, sp + 8, fp);
	key.caller = w->frame[0];
	known = bpf_map_lookup_elem(&calls, &key);
	if (!known) {
		bpf_get_current_comm(first.comm, sizeof(first.comm));
		if (!bpf_map_update_elem(&calls, &key, &first, BPF_NOEXIST))
			return;
		/* The same thread on the same way: there is no room. */
		add(at->entry, HIT_NOT_KEPT);
		return;
	}
	__sync_fetch_and_add(&known->count, 1);
}

/* The octave of a time and which part of it: a bucket is at most a fifth wide. */
static __always_inline __u32 bucket_of(__u64 ns)
{
	__u32 octave = 0;

	for (int i = 0; i < TIME_OCTAVES - 1 && ns >> (i + 1); i++)
		octave = i + 1;
	__u32 part = octave >= 2 ? (ns >> (octave - 2)) & (TIME_PARTS - 1) : 0;

	return octave * TIME_PARTS + part;
}

/* The thread is back from a call, if it is one that is timed. */
static __always_inline void count_time(const struct armed *at, __u32 tid, __u64 sp)
{
	/* The return took its address off the stack. */
	struct open_call call = { .sp = sp - 8, .tid = tid };
	struct begun *begun = bpf_map_lookup_elem(&open_calls, &call);
	__u32 entry = at->entry;

	if (!begun)
		return;
	__u64 took = bpf_ktime_get_ns() - begun->t_ns, round = begun->round;

	bpf_map_delete_elem(&open_calls, &call);
	struct times *times = bpf_map_lookup_elem(&entry_times, &entry);
	__u32 bucket = bucket_of(took);

	if (!times || round != at->round)
		return;
	__sync_fetch_and_add(&times->count, 1);
	__sync_fetch_and_add(&times->sum_ns, took);
	if (took > times->max_ns)
		times->max_ns = took;
	if (bucket < TIME_BUCKETS)
		__sync_fetch_and_add(&times->bucket[bucket], 1);
}

SEC("perf_event")
int method_hit(struct bpf_perf_event_data *ctx)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	__u64 ip = ctx->regs.rip, sp = ctx->regs.rsp, fp = ctx->regs.rbp, returns_to = 0;
	__u32 pid = pid_of(task), tid = tid_of(task);
	struct armed *at = armed_at(ip);

	if (!at)
		return 0;
	if (pid != watched_pid) {
		add(at->entry, HIT_ELSEWHERE);
		return 0;
	}
	if (at->is_return) {
		add(at->entry, HIT_RETURN);
		count_time(at, tid, sp);
		return 0;
	}
	if (is_replaced(at)) {
		add(at->entry, HIT_REPLACED);
		return 0;
	}
	add(at->entry, HIT_CALL);
	read_word(sp, &returns_to);
	count_call(at, pid, tid, returns_to, sp, fp);
	if (at->returns_to && at->returns_to == returns_to) {
		struct open_call call = { .sp = sp, .tid = tid };
		struct begun begun = { .t_ns = bpf_ktime_get_ns(), .round = at->round };

		bpf_map_update_elem(&open_calls, &call, &begun, BPF_ANY);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
