// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Page faults of the targets, and what holds them up for memory.
 *
 *   page_fault_user, _kernel ──▶ when, why ──┐
 *                                            ▼
 *   page-faults-min, -maj (at its end) ──▶ how long, in which mapping ──▶ counted by thread and mapping
 *                                            └─▶ one in n, n following the rate: with the whole stack
 *
 * The software event comes when the fault is done, once for each that the kernel counts in /proc/PID/stat, with interrupts
 * on, so that the mapping can be looked at; a thread mostly faults in the mapping of its last fault, which spares the look.
 * Faults that end in a signal (null checks and polls of the JVM) have no such event and are not told.
 *
 * Threads are found by a table that is indexed by the low bits of their ids: two that share a place lose a time or a look,
 * never a count.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include <linux/bpf_perf_event.h>
#include "calls.h"
#include "memory.h"

#define SLOTS 8192
#define MAX_PLACES 32768
#define MAX_COUNTED 8192
#define WINDOW_NS 100000000ull
#define MOST_KERNEL_BYTES (64 * sizeof(__u64))
/* arch/x86/include/asm/trap_pf.h */
#define PF_PROT 1
#define PF_WRITE 2
#define PF_USER 4

const volatile struct memory_config config = {};

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct inode___memory {
	unsigned long i_ino;
};

struct qstr___memory {
	const unsigned char *name;
};

struct dentry___memory {
	struct qstr___memory d_name;
};

struct path___memory {
	struct dentry___memory *dentry;
};

struct file___memory {
	struct path___memory f_path;
	struct inode___memory *f_inode;
};

struct vm_area_struct___memory {
	unsigned long vm_start;
	unsigned long vm_end;
	unsigned long vm_flags;
	struct file___memory *vm_file;
};

struct mm_struct___memory {
	struct task_struct___fathom *owner;
	unsigned long brk;
};

#pragma clang attribute pop

/* What is under way in a thread. */
struct slot {
	__u32 tid;
	__u32 code; /* of the fault */
	__u64 fault_ns;
	__u64 map_start; /* mapping of its last fault */
	__u64 map_end;
	__u64 stalled_ns[MEMORY_OOM]; /* by enum memory_what */
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, SLOTS);
	__type(key, __u32);
	__type(value, struct slot);
} slots SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PLACES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct fault_key);
	__type(value, struct fault_counts);
} places SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_COUNTED);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct stall_key);
	__type(value, struct stall_counts);
} stalls SEC(".maps");

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

/* How many faults a sample stands for, and what it follows from. */
struct budget {
	__u64 window_ns;
	__u32 faults;
	__u32 taken;
	__u32 stands_for; /* a power of two; 0: not known yet */
	__u32 unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

/* A mapping's first fault: too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fault_counts);
} fresh SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct memory_tail);
} tails SEC(".maps");

/* [0] faults that found no room to be counted by place, [1] other counts that found none. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 2);
	__type(key, __u32);
	__type(value, __u64);
} losses SEC(".maps");

static __always_inline void lost(__u32 which)
{
	__u64 *count = bpf_map_lookup_elem(&losses, &which);

	if (count)
		*count += 1;
}

struct ids {
	__u32 pid;
	__u32 tid;
};

static __always_inline bool is_target(struct ids *ids)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();

	ids->pid = pid_of(task);
	ids->tid = tid_of(task);
	if (ids->pid == own_pid || ids->pid == 0)
		return false;
	return all_processes || bpf_map_lookup_elem(&targets, &ids->pid);
}

/* The slot of the current thread; what another one left in it is gone. */
static __always_inline struct slot *own_slot(void)
{
	__u32 tid = (__u32)bpf_get_current_pid_tgid(), at = tid % SLOTS;
	struct slot *slot = bpf_map_lookup_elem(&slots, &at);

	if (slot && slot->tid != tid) {
		__builtin_memset(slot, 0, sizeof(*slot));
		slot->tid = tid;
	}
	return slot;
}

static __always_inline int fault_begins(__u64 address, __u64 code)
{
	if ((__s64)address < 0)
		return 0;
	struct slot *slot = own_slot();

	if (slot) {
		slot->code = code;
		slot->fault_ns = bpf_ktime_get_ns();
	}
	return 0;
}

SEC("tp_btf/page_fault_user")
int BPF_PROG(on_fault_user, unsigned long address, void *regs, unsigned long code)
{
	return fault_begins(address, code);
}

SEC("tp_btf/page_fault_kernel")
int BPF_PROG(on_fault_kernel, unsigned long address, void *regs, unsigned long code)
{
	return fault_begins(address, code);
}

static long look_at(struct task_struct___fathom *task, struct vm_area_struct___memory *area, void *into)
{
	struct fault_mapping *mapping = into;
	struct file___memory *file = BPF_CORE_READ(area, vm_file);

	mapping->start = BPF_CORE_READ(area, vm_start);
	mapping->end = BPF_CORE_READ(area, vm_end);
	mapping->flags = BPF_CORE_READ(area, vm_flags);
	if (file) {
		mapping->inode = BPF_CORE_READ(file, f_inode, i_ino);
		bpf_probe_read_kernel_str(mapping->name, sizeof(mapping->name), BPF_CORE_READ(file, f_path.dentry, d_name.name));
	}
	return 0;
}

/* The counts of a thread's faults in a mapping that was not its last one. */
static __noinline struct fault_counts *another_place(struct slot *slot, __u64 address)
{
	__u32 zero = 0;
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct fault_counts *counts = bpf_map_lookup_elem(&fresh, &zero);
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs((void *)task);

	if (!counts || !slot)
		return NULL;
	__builtin_memset(counts, 0, sizeof(*counts));
	struct fault_mapping seen = {};

	bpf_find_vma((void *)task, address, look_at, &seen, 0);
	struct fault_key key = {.tid = slot->tid, .start = seen.start};

	slot->map_start = seen.start;
	slot->map_end = seen.end;
	if (!seen.end) {
		/* Whoever changes the address space, or waits to, is in the way of a look, for long where it is preempted:
		 * user space looks later, at the first address of each stretch of 2 MB. */
		key.start = (address & ~0x1fffffULL) | 1;
		seen.start = address;
	}
	seen.sp = regs->sp;
	counts->mapping = seen;
	struct fault_counts *known = bpf_map_lookup_elem(&places, &key);

	if (known) {
		if (seen.end)
			known->mapping = counts->mapping;
		return known;
	}
	if (bpf_map_update_elem(&places, &key, counts, BPF_NOEXIST)) {
		slot->map_start = slot->map_end = 0;
		return NULL;
	}
	return bpf_map_lookup_elem(&places, &key);
}

/* How many faults a sample of this one stands for; 0: it is not sampled. One in n by chance, so that no pattern of the
 * program falls in step with it; n follows the rate of the window before. */
static __always_inline __u32 sampled(__u64 now)
{
	__u32 zero = 0, most = config.samples_a_window;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);

	if (!budget || !most)
		return 0;
	__u64 since = now - budget->window_ns;

	if (since > WINDOW_NS) {
		/* Faults of a window of the usual length. */
		__u64 faults = (__u64)budget->faults * (WINDOW_NS >> 10) / (since >> 10);
		__u32 n = 1;

		for (int i = 0; i < 20 && (__u64)n * most < faults; i++)
			n *= 2;
		budget->stands_for = n;
		budget->faults = budget->taken = 0;
		budget->window_ns = now;
	}
	budget->faults += 1;
	__u32 n = budget->stands_for ?: 1;

	if (n > 1 && (bpf_get_prandom_u32() & (n - 1)))
		return 0;
	budget->taken += 1;
	if (budget->taken >= 2 * most && n < (1U << 20)) {
		budget->stands_for = 2 * n;
		budget->taken = most;
	}
	return n;
}

/* Sends a stack of the current thread with what is told of it. */
static __always_inline void tell(void *ctx, struct memory_tail *tail, bool user_stack)
{
	struct walk *w = begin_sample(SAMPLE_MEMORY);

	if (!w)
		return;
	w->sample.frames = 0;
	w->sample.cut_pc = 0;
	w->sample.reason = CUT_NO_USER_STACK;
	if (user_stack)
		walk_current(w);
	__u32 frames = w->sample.frames;

	if (frames > MOST_FRAMES - 128)
		frames = MOST_FRAMES - 128;
	w->sample.frames = frames;
	__u32 at = frames * sizeof(struct walked_frame);
	long bytes = bpf_get_stack(ctx, (char *)w->frame + at, MOST_KERNEL_BYTES, 0);

	if (bytes < 0)
		bytes = 0;
	if (bytes > MOST_KERNEL_BYTES)
		bytes = MOST_KERNEL_BYTES;
	w->sample.kernel_frames = bytes / sizeof(__u64);
	at += bytes;
	if (at > MOST_FRAMES * sizeof(struct walked_frame) - sizeof(*tail))
		return;
	if (bpf_probe_read_kernel((char *)w->frame + at, sizeof(*tail), tail))
		return;
	__u64 size = sizeof(struct stack_sample) + at + sizeof(*tail);
	__u64 flags = BPF_RB_NO_WAKEUP;

	if (size > sizeof(struct stack_sample) + sizeof(w->frame))
		return;
	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > WAKE_BYTES)
		flags = BPF_RB_FORCE_WAKEUP;
	count(bpf_ringbuf_output(&samples, &w->sample, size, flags) ? COUNT_LOST : COUNT_SAMPLES);
}

static __always_inline int fault_ends(struct bpf_perf_event_data *ctx, bool major)
{
	struct ids ids;
	__u32 zero = 0;
	__u64 address = ctx->addr;

	if (!is_target(&ids))
		return 0;
	struct slot *slot = own_slot();

	if (!slot)
		return 0;
	__u64 now = bpf_ktime_get_ns(), from = slot->fault_ns;
	__u32 code = slot->code;
	struct fault_counts *counts = NULL;

	slot->fault_ns = 0;
	if (address >= slot->map_start && address < slot->map_end) {
		struct fault_key key = {.tid = slot->tid, .start = slot->map_start};

		counts = bpf_map_lookup_elem(&places, &key);
	}
	if (!counts)
		counts = another_place(slot, address);
	if (!counts) {
		lost(0);
		return 0;
	}
	counts->pid = ids.pid;
	counts->tid = ids.tid;
	if (major)
		counts->major += 1;
	else
		counts->minor += 1;
	if (from) {
		if ((code & (PF_PROT | PF_WRITE)) == (PF_PROT | PF_WRITE))
			counts->protect += 1;
		if (!(code & PF_USER))
			counts->in_kernel += 1;
		counts->ns += now - from;
		counts->timed += 1;
	}
	__u32 weight = sampled(now);
	bool slow = from && now - from >= config.min_ns;

	if (!weight && !slow)
		return 0;
	struct memory_tail *tail = bpf_map_lookup_elem(&tails, &zero);

	if (!tail)
		return 0;
	tail->from_ns = from;
	tail->to_ns = now;
	tail->address = address;
	tail->argument = code;
	tail->what = !slow ? MEMORY_FAULT : major ? MEMORY_MAJOR : MEMORY_SLOW_MINOR;
	tail->weight = weight;
	tail->mapping = counts->mapping;
	tell(ctx, tail, true);
	return 0;
}

SEC("perf_event")
int on_minor(struct bpf_perf_event_data *ctx)
{
	return fault_ends(ctx, false);
}

SEC("perf_event")
int on_major(struct bpf_perf_event_data *ctx)
{
	return fault_ends(ctx, true);
}

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
	if (!is_target(&ids))
		return 0;
	struct stall_key key = {.pid = ids.pid, .what = what};
	struct stall_counts *counts = bpf_map_lookup_elem(&stalls, &key);

	if (counts) {
		__sync_fetch_and_add(&counts->count, 1);
		__sync_fetch_and_add(&counts->ns, now - from);
	} else {
		struct stall_counts first = {.count = 1, .ns = now - from};

		if (bpf_map_update_elem(&stalls, &key, &first, BPF_NOEXIST))
			lost(1);
	}
	struct memory_tail *tail = bpf_map_lookup_elem(&tails, &zero);

	if (!tail || now - from < config.min_ns)
		return 0;
	__builtin_memset(tail, 0, sizeof(*tail));
	tail->from_ns = from;
	tail->to_ns = now;
	tail->argument = argument;
	tail->what = what;
	tell(ctx, tail, true);
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
			lost(1);
		counts = bpf_map_lookup_elem(&foreign, &key);
	}
	if (counts) {
		__sync_fetch_and_add(&counts->count, 1);
		__sync_fetch_and_add(&counts->written, write);
	}
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

/* What a process asks of its address space. The calls are those of SPACE_CALLS in src/memory/program.rs. */
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
	if (!is_target(&ids))
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
			lost(1);
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

char LICENSE[] SEC("license") = "Dual BSD/GPL";
