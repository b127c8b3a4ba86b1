// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Page faults of the targets (memory_faults.h), what holds them up for memory (memory_stalls.h),
 * and what they and others ask of their address space (memory_space.h). Here is what these share.
 *
 *   page_fault_user, _kernel ──▶ when, why ──┐
 *                                            ▼
 *   page-faults-min, -maj (at its end) ──▶ how long, in which mapping ──▶ counted by thread and mapping
 *                                            └─▶ one in n, n following the rate: with the whole stack
 *
 * The software event comes when the fault is done, once for each that the kernel counts in
 * /proc/PID/stat, with interrupts on, so that the mapping can be looked at; a thread mostly faults
 * in the mapping of its last fault, which spares the look. Faults that end in a signal (null checks
 * and polls of the JVM) have no such event and are not reported.
 *
 * Threads are found by a table that is indexed by the low bits of their ids: two that share a place
 * lose a time or a look, never a count.
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
#define MAX_COUNTED 8192
#define MOST_KERNEL_BYTES (64 * sizeof(__u64))

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
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct memory_tail);
} tails SEC(".maps");

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

/* Sends a stack of the current thread with what is reported of it. */
static __always_inline void send(void *ctx, struct memory_tail *tail, bool user_stack)
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
	if (bpf_ringbuf_output(&samples, &w->sample, size, flags))
		lost(LOST_EVENT);
}

#include "memory_faults.h"
#include "memory_space.h"
#include "memory_stalls.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";
