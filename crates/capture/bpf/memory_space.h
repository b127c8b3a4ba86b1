/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* What a process asks of its address space, and who else takes hold of it. Part of memory.bpf.c. */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_COUNTED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct space_key);
	__type(value, struct space_counts);
} calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_COUNTED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct foreign_key);
	__type(value, struct foreign_counts);
} foreign SEC(".maps");

/* Another process, or a thread of the kernel, takes hold of a target's address space. */
static __always_inline void count_foreign(struct mm_struct___memory *mm, bool write)
{
	__u32 by = pid_of((void *)bpf_get_current_task_btf());
	struct foreign_key key = {.by = by};

	if (!bpf_core_field_exists(mm->owner) || by == own_pid)
		return;
	struct task_struct___fathom *owner = mm->owner;

	key.pid = owner ? pid_of(owner) : 0;
	if (key.pid == 0 || key.pid == by || !bpf_map_lookup_elem(&targets, &key.pid))
		return;
	struct foreign_counts *counts = bpf_map_lookup_elem(&foreign, &key);

	if (!counts) {
		struct foreign_counts first = {};

		bpf_get_current_comm(first.comm, sizeof(first.comm));
		if (bpf_map_update_elem(&foreign, &key, &first, BPF_NOEXIST))
			lost(LOST_ENTRY);
		counts = bpf_map_lookup_elem(&foreign, &key);
	}
	if (counts) {
		__sync_fetch_and_add(&counts->count, 1);
		__sync_fetch_and_add(&counts->written, write);
	}
}

/* What a process asks of its address space. The calls are those of SPACE_CALLS in
 * src/memory/program.rs. */
static __always_inline int count_space_call(struct pt_regs___fathom *regs, long number)
{
	__u64 bytes = 0;
	__u32 call;
	struct ids ids;

	/* arch/x86/entry/syscalls/syscall_64.tbl; most calls are none of these. */
	switch (number) {
	case 9:
		call = SPACE_MMAP;
		break;
	case 10:
		call = SPACE_MPROTECT;
		break;
	case 11:
		call = SPACE_MUNMAP;
		break;
	case 12:
		call = SPACE_BRK;
		break;
	case 25:
		call = SPACE_MREMAP;
		break;
	case 28:
		call = SPACE_ADVISE;
		break;
	default:
		return 0;
	}
	if (!here(&ids))
		return 0;
	if (call == SPACE_ADVISE) {
		__u64 advice = regs->dx; /* include/uapi/asm-generic/mman-common.h */

		if (advice == 4 || advice == 8 || advice == 9 || advice == 21)
			call = SPACE_GIVE_BACK;
	}
	bytes = regs->si;
	if (call == SPACE_MREMAP)
		bytes = regs->dx;
	if (call == SPACE_BRK) {
		struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
		struct mm_struct___memory *mm = (void *)task->mm;
		__u64 now = BPF_CORE_READ(mm, brk), wanted = regs->di;

		bytes = !wanted ? 0 : wanted > now ? wanted - now : now - wanted;
	}
	struct space_key key = {.pid = ids.pid, .call = call};
	struct space_counts *counts = bpf_map_lookup_elem(&calls, &key);

	if (counts) {
		__sync_fetch_and_add(&counts->count, 1);
		__sync_fetch_and_add(&counts->bytes, bytes);
	} else {
		struct space_counts first = {.count = 1, .bytes = bytes};

		if (bpf_map_update_elem(&calls, &key, &first, BPF_NOEXIST))
			lost(LOST_ENTRY);
	}
	return 0;
}

SEC("tp_btf/sys_enter")
int BPF_PROG(on_call, struct pt_regs___fathom *regs, long number)
{
	count_space_call(regs, number);
	enter_further(ctx);
	return 0;
}
