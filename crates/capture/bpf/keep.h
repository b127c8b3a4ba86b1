/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * A stack that could not be walked, sent as it lies in memory. A JVM that starts makes its
 * libraries, code cache and stubs faster than user space can read them, more so where fathom gets
 * no CPU; the stacks of that time are walked later.
 */
#ifndef FATHOM_KEEP_H
#define FATHOM_KEEP_H

#include "sampler.h"

/* Where so much waits, no stack is kept: a part of the ring buffer is for
 * samples that were walked. */
const volatile __u32 most_kept_data = 0;

/* One for each CPU, as many as user space sets: maps that are per CPU by
 * themselves hold 32 KB at most. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct kept_stack);
} kept_stacks SEC(".maps");

struct vm_area_struct;
static long take_end(struct task_struct *task, struct vm_area_struct *vma, void *context)
{
	*(__u64 *)context = BPF_CORE_READ((struct vm_area_struct___fathom *)vma, vm_end);
	return 0;
}

static long keep_page(__u32 i, void *context)
{
	struct kept_stack *kept = *(struct kept_stack **)context;
	__u32 at = kept->head.bytes;
	__u64 from = kept->head.from + at;
	/* Page by page, as what is not there cannot be read. */
	__u32 length = 4096 - (from & 4095);

	if (from >= kept->head.end || at > MOST_KEPT_STACK - 4096)
		return 1;
	if (kept->head.end - from < length)
		length = kept->head.end - from;
	if (!length || length > 4096 || read_user(&kept->stack[at], length, from))
		return 1;
	kept->head.bytes = at + length;
	return 0;
}

/* Whether more may be known of the process soon. */
static __always_inline int may_be_walked_later(const struct walk *w)
{
	switch (w->sample.reason) {
	case CUT_WHOLE:
	case CUT_NO_USER_STACK:
	case CUT_DEPTH:
		return 0;
	case CUT_PROCESS_NOT_KNOWN:
		/* Of a whole host, the start of most processes is not looked for. */
		return !all_processes;
	default:
		return w->process.flags & PROCESS_KEEPS_STACKS;
	}
}

/* Sends the stack in the place of the sample. 0 when it did not: it is not wanted,
 * or there is no room. */
static __always_inline int keep_stack(void *ctx, const struct walk *w)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct pt_regs___fathom *regs = (void *)bpf_task_pt_regs((void *)task);
	__u32 processor = bpf_get_smp_processor_id();

	if (!may_be_walked_later(w) || bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > most_kept_data)
		return 0;
	struct kept_stack *kept = bpf_map_lookup_elem(&kept_stacks, &processor);

	if (!kept)
		return 0;
	struct kept_stack *context = kept;
	__u64 end = ~0ull;

	kept->head.sample = w->sample;
	kept->head.sample.kind = SAMPLE_KEPT;
	kept->head.sample.frames = 0;
	kept->head.pc = regs->ip;
	take_registers(kept->head.registers, regs);
	kept->head.from = regs->sp - RED_ZONE;
	kept->head.bytes = 0;
	/* Behind the first stack of a process there may be anything. Where that is not known (the
	 * kernel is just changing the mappings), what can be read is taken. */
	if (bpf_find_vma((void *)task, regs->sp, take_end, &end, 0))
		end = ~0ull;
	kept->head.end = end;
	loop(MOST_KEPT_STACK / 4096 + 1, keep_page, &context);
	long bytes = bpf_get_stack(ctx, kept->head.kernel, MOST_KERNEL_FRAMES * sizeof(__u64), 0);

	kept->head.sample.kernel_frames = bytes < 0 ? 0 : bytes / sizeof(__u64);
	__u32 length = kept->head.bytes;

	if (length > MOST_KEPT_STACK)
		return 0;
	if (bpf_ringbuf_output(&samples, kept, offsetof(struct kept_stack, stack) + length, BPF_RB_FORCE_WAKEUP))
		return 0;
	return 1;
}

#endif
