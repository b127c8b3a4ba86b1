/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* Page faults: when each began, in which mapping it was, how long it took, and which are sent with
 * their stack. Part of memory.bpf.c. */

#define MAX_PLACES 32768
#define WINDOW_NS 100000000ull
/* A shorter window is too short to compute a rate from. */
#define LEAST_WINDOW_NS (WINDOW_NS / 16)

/* arch/x86/include/asm/trap_pf.h */
#define PF_PROT 1
#define PF_WRITE 2
#define PF_USER 4

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_PLACES);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct fault_key);
	__type(value, struct fault_counts);
} places SEC(".maps");

/* How many faults a sample stands for, what it follows from, and which fault is the next. */
struct sampling {
	__u64 window_ns;
	__u32 faults;     /* of the window, with those that are not looked at */
	__u32 one_in;     /* of so many, one is looked at */
	__u32 taken;      /* of them */
	__u32 stands_for; /* length of this run of faults that are looked at: a power of two */
	__u32 next;       /* the same of the runs after it */
	__u32 left;       /* faults to come in this run */
	__u32 chosen;     /* the fault of the run that is sampled: by how many are left after it */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct sampling);
} samplings SEC(".maps");

/* A mapping's first fault: too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct fault_counts);
} fresh SEC(".maps");

/* What user space wants to be looked at: see src/memory/pace.rs. */
volatile struct fault_look look = {};

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
		/* Whoever changes the address space, or waits to, is in the way of a look,
		 * for long where it is preempted: user space looks later, at the first
		 * address of each range of 2 MB. */
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

/* How many faults a sample of this one stands for; 0: it is not sampled. Of each run of n faults
 * one is taken, by chance, so that no pattern of the program falls in step with it, and so that a
 * count is off by no more than what a few runs hold (each fault by its own chance would be off by
 * the root of their number). n follows the rate of the window before; where from now on one in
 * another number is looked at, it begins anew, as runs of the old length would be as many times
 * too long. */
static __always_inline __u32 sampled(__u64 now, __u32 one_in)
{
	__u32 zero = 0, most = config.samples_a_window;
	struct sampling *sampling = bpf_map_lookup_elem(&samplings, &zero);

	if (!sampling || !most)
		return 0;
	__u64 since = now - sampling->window_ns;

	if (since > WINDOW_NS || sampling->one_in != one_in) {
		/* Faults that are looked at in a window of the usual length. */
		__u64 length = since > LEAST_WINDOW_NS ? since : LEAST_WINDOW_NS;
		__u64 faults = (__u64)sampling->faults * (WINDOW_NS >> 10) / (length >> 10) / one_in;
		__u32 n = 1;

		for (int i = 0; i < 20 && (__u64)n * most < faults; i++)
			n *= 2;
		sampling->next = n;
		sampling->one_in = one_in;
		sampling->left = 0;
		sampling->faults = sampling->taken = 0;
		sampling->window_ns = now;
	}
	sampling->faults += one_in;
	if (!sampling->left) {
		sampling->stands_for = sampling->left = sampling->next;
		sampling->chosen = bpf_get_prandom_u32() & (sampling->next - 1);
	}
	sampling->left -= 1;
	if (sampling->left != sampling->chosen)
		return 0;
	sampling->taken += 1;
	/* From the next run on: what is left of this one is covered. */
	if (sampling->taken >= 2 * most && sampling->next < (1U << 20)) {
		sampling->next *= 2;
		sampling->taken = most;
	}
	return sampling->stands_for;
}

static __always_inline int fault_ends(struct bpf_perf_event_data *ctx, bool major)
{
	struct ids ids;
	__u32 zero = 0;
	__u64 address = ctx->addr;
	__u32 stands_for = look.one_in ?: 1;

	if (!here(&ids))
		return 0;
	struct slot *slot = own_slot();

	if (!slot)
		return 0;
	__u64 now = bpf_ktime_get_ns(), from = slot->fault_ns;
	__u32 code = slot->code;
	struct fault_counts *counts = NULL;

	slot->fault_ns = 0;
	if (from < look.timed_from_ns)
		from = 0;
	if (address >= slot->map_start && address < slot->map_end) {
		struct fault_key key = {.tid = slot->tid, .start = slot->map_start};

		counts = bpf_map_lookup_elem(&places, &key);
	}
	if (!counts)
		counts = another_place(slot, address);
	if (!counts) {
		lost(LOST_ENTRY);
		return 0;
	}
	counts->pid = ids.pid;
	counts->tid = ids.tid;
	if (major)
		counts->major += 1;
	else
		counts->minor += stands_for;
	if (from) {
		if ((code & (PF_PROT | PF_WRITE)) == (PF_PROT | PF_WRITE))
			counts->protect += 1;
		if (!(code & PF_USER))
			counts->in_kernel += 1;
		counts->ns += now - from;
		counts->timed += 1;
	}
	__u32 weight = sampled(now, stands_for) * stands_for;
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
	send(ctx, tail, true);
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
