/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What holds a thread up for memory: reclaim, compaction, the lock of its address space, and the
 * want of memory that ends a process. Part of memory.bpf.c; what another process does to an address
 * space is in memory_space.h. */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_COUNTED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct stall_key);
	__type(value, struct stall_counts);
} stalls SEC(".maps");

static __always_inline int stall_begins(__u32 what)
{
	struct slot *slot = own_slot();

	if (slot && what < MEMORY_OOM)
		slot->stalled_ns[what] = bpf_ktime_get_ns();
	return 0;
}

static __always_inline int stall_ends(void *ctx, __u32 what, __u64 argument)
{
	struct slot *slot = own_slot();
	struct ids ids;
	__u32 zero = 0;

	if (!slot || what >= MEMORY_OOM || !slot->stalled_ns[what])
		return 0;
	__u64 from = slot->stalled_ns[what], now = bpf_ktime_get_ns();

	slot->stalled_ns[what] = 0;
	if (!here(&ids))
		return 0;
	struct stall_key key = {.pid = ids.pid, .what = what};
	struct stall_counts *counts = bpf_map_lookup_elem(&stalls, &key);

	if (counts) {
		__sync_fetch_and_add(&counts->count, 1);
		__sync_fetch_and_add(&counts->ns, now - from);
	} else {
		struct stall_counts first = {.count = 1, .ns = now - from};

		if (bpf_map_update_elem(&stalls, &key, &first, BPF_NOEXIST))
			lost(LOST_ENTRY);
	}
	struct memory_tail *tail = bpf_map_lookup_elem(&tails, &zero);

	if (!tail || now - from < config.min_ns)
		return 0;
	__builtin_memset(tail, 0, sizeof(*tail));
	tail->from_ns = from;
	tail->to_ns = now;
	tail->argument = argument;
	tail->what = what;
	send(ctx, tail, true);
	return 0;
}

SEC("tp_btf/mm_vmscan_direct_reclaim_begin")
int BPF_PROG(on_reclaim_begin)
{
	return stall_begins(MEMORY_RECLAIM);
}

SEC("tp_btf/mm_vmscan_direct_reclaim_end")
int BPF_PROG(on_reclaim_end, unsigned long pages)
{
	return stall_ends(ctx, MEMORY_RECLAIM, pages);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_begin")
int BPF_PROG(on_group_reclaim_begin)
{
	return stall_begins(MEMORY_GROUP_RECLAIM);
}

SEC("tp_btf/mm_vmscan_memcg_reclaim_end")
int BPF_PROG(on_group_reclaim_end, unsigned long pages)
{
	return stall_ends(ctx, MEMORY_GROUP_RECLAIM, pages);
}

SEC("tp_btf/mm_compaction_begin")
int BPF_PROG(on_compaction_begin)
{
	return stall_begins(MEMORY_COMPACTION);
}

SEC("tp_btf/mm_compaction_end")
int BPF_PROG(on_compaction_end)
{
	return stall_ends(ctx, MEMORY_COMPACTION, 0);
}

SEC("tp_btf/mmap_lock_start_locking")
int BPF_PROG(on_map_lock)
{
	return stall_begins(MEMORY_MAP_LOCK);
}

SEC("tp_btf/mmap_lock_acquire_returned")
int BPF_PROG(on_map_locked, struct mm_struct___memory *mm, bool write, bool success)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();

	if (success && (void *)mm != (void *)task->mm)
		count_foreign(mm, write);
	return stall_ends(ctx, MEMORY_MAP_LOCK, write);
}

SEC("tp_btf/mark_victim")
int BPF_PROG(on_oom, struct task_struct___fathom *victim)
{
	__u32 zero = 0;
	struct memory_tail *tail = bpf_map_lookup_elem(&tails, &zero);
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);

	if (!tail || !w)
		return 0;
	__builtin_memset(tail, 0, sizeof(*tail));
	tail->from_ns = tail->to_ns = bpf_ktime_get_ns();
	tail->argument = pid_of(victim);
	tail->what = MEMORY_OOM;
	BPF_CORE_READ_STR_INTO(&tail->mapping.name, victim, comm);
	/* Whoever ran out of memory; it need not be a target, and its stack is of no interest. */
	w->sample.t_ns = tail->to_ns;
	w->sample.pid = w->sample.tid = 0;
	w->sample.kind = SAMPLE_MEMORY;
	w->sample.frames = w->sample.kernel_frames = 0;
	w->sample.reason = CUT_NO_USER_STACK;
	bpf_get_current_comm(w->sample.comm, sizeof(w->sample.comm));
	if (bpf_probe_read_kernel(w->frame, sizeof(*tail), tail))
		return 0;
	bpf_ringbuf_output(&samples, &w->sample, sizeof(struct stack_sample) + sizeof(*tail), 0);
	return 0;
}
