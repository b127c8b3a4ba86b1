/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* A sample of the current thread: whether it is wanted, its stack, and the way to user space. For
 * programs of any type. */
#ifndef FATHOM_SAMPLER_H
#define FATHOM_SAMPLER_H

#include "unwind.h"
#include "targets.h"
#include "thread_context.h"
#include "losses.h"

/* Whether every process is sampled, or those in `targets` only. */
const volatile __u8 all_processes = 0;

/* Data that waits in the ring buffer before user space is woken. */
#define WAKE_BYTES (256 << 10)

/* Its pages belong to fathom, which has it mapped twice over: a stack of 50 frames takes 1 KB of
 * it. For CPU samples, user space sets another size. */
struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} samples SEC(".maps");

/* One for each CPU: a program of a perf event or a tracepoint is not interrupted by another one of
 * its own object but by an NMI, which only hardware cycles are, and those have an object to
 * themselves (cpu.bpf.c). */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct walk);
} walks SEC(".maps");

/* Whether a process is one that is recorded. 0, which is the idle thread and what fathom's
 * namespace does not show, is not. */
static __always_inline bool is_recorded(__u32 pid)
{
	return pid && pid != own_pid && (all_processes || bpf_map_lookup_elem(&targets, &pid));
}

struct ids {
	__u32 pid;
	__u32 tid;
};

/* Whether the current thread is one of a process that is recorded, and its ids. */
static __always_inline bool here(struct ids *ids)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();

	ids->pid = pid_of(task);
	ids->tid = tid_of(task);
	return is_recorded(ids->pid);
}

/* The scratch of a sample of the current thread; none when it is not wanted. */
static __always_inline struct walk *begin_sample(__u8 kind)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	__u32 zero = 0, pid = pid_of(task);

	if (!is_recorded(pid))
		return NULL;
	struct walk *w = bpf_map_lookup_elem(&walks, &zero);

	if (!w)
		return NULL;
	w->sample.t_ns = bpf_ktime_get_ns();
	w->sample.pid = pid;
	w->sample.tid = tid_of(task);
	w->sample.kind = kind;
	w->sample.context = CONTEXT_UNKNOWN;
	bpf_get_current_comm(w->sample.comm, sizeof(w->sample.comm));
	return w;
}

/* Those that the unwinder uses. */
static __always_inline void take_registers(__u64 *registers, const struct pt_regs___fathom *regs)
{
	registers[RAX] = regs->ax;
	registers[RCX] = regs->cx;
	registers[RDX] = regs->dx;
	registers[RBX] = regs->bx;
	registers[RSP] = regs->sp;
	registers[RBP] = regs->bp;
	registers[RSI] = regs->si;
	registers[RDI] = regs->di;
	registers[R13] = regs->r13;
}

/* Walks the user stack of the current thread, wherever it entered the kernel. */
static __always_inline void walk_current(struct walk *w)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct pt_regs___fathom *regs;
	__u32 pid = w->sample.pid;
	struct process_code *process;

	w->sample.frames = 0;
	w->sample.cut_pc = 0;
	if ((task->flags & TASK_IS_KERNEL_THREAD) || !task->mm) {
		w->sample.reason = CUT_NO_USER_STACK;
		return;
	}
	regs = (void *)bpf_task_pt_regs((void *)task);
	w->pc = regs->ip;
	w->sp = regs->sp;
	w->fp = regs->bp;
	process = bpf_map_lookup_elem(&processes, &pid);
	if (!process) {
		w->exact = 1;
		push_frame(w, FRAME_NATIVE, w->pc, 0);
		w->sample.reason = CUT_PROCESS_NOT_KNOWN;
		w->sample.cut_pc = w->pc;
		return;
	}
	w->process = *process;
	if (w->process.context_kind)
		read_thread_context(w);
	take_registers(w->registers, regs);
	walk_stack(w);
}

/* Where kernel frames go: behind those that were walked. The struct has room for both at their
 * most. */
static __always_inline void *behind_frames(struct walk *w)
{
	__u32 frames = w->sample.frames;

	if (frames > MOST_FRAMES)
		frames = MOST_FRAMES;
	return (char *)w->frame + frames * sizeof(struct walked_frame);
}

/* Sends what was walked, with so many bytes of kernel frames behind it. 0 where there is no
 * room, or else its stamp. */
static __always_inline __u64 send_walked(struct walk *w, __u64 kernel_bytes, __u64 flags)
{
	__u32 frames = w->sample.frames;

	if (frames > MOST_FRAMES)
		frames = MOST_FRAMES;
	w->sample.kernel_frames = kernel_bytes / sizeof(__u64);
	__u64 size = sizeof(struct stack_sample) + frames * sizeof(struct walked_frame) + kernel_bytes;

	if (size > sizeof(struct stack_sample) + sizeof(w->frame) + sizeof(w->kernel))
		return 0;
	return bpf_ringbuf_output(&samples, &w->sample, size, flags) ? 0 : w->sample.t_ns;
}

/* Sends the user stack of the current thread below the kernel's part of a moment that is over
 * (`bytes` of it, of at most `most`, a constant), for an event that names it by the stamp returned
 * here; 0 where it has none. */
static __always_inline __u64 send_user_stack_below(const void *kernel, __u32 bytes, __u32 most)
{
	struct walk *w = begin_sample(SAMPLE_WAIT);

	if (!w)
		return 0;
	walk_current(w);
	if (bytes > most)
		bytes = most;
	if (most && bpf_probe_read_kernel(behind_frames(w), bytes, kernel))
		bytes = 0;
	return send_walked(w, bytes, BPF_RB_NO_WAKEUP);
}

/* The same without the kernel's part. */
static __always_inline __u64 send_user_stack(void)
{
	return send_user_stack_below(NULL, 0, 0);
}

/* Adds the kernel stack and sends the sample. */
static __always_inline void end_sample(void *ctx, struct walk *w)
{
	__u64 flags = BPF_RB_NO_WAKEUP;
	long bytes = bpf_get_stack(ctx, behind_frames(w), MOST_KERNEL_FRAMES * sizeof(__u64), 0);

	if (bytes < 0)
		bytes = 0;
	if (bpf_ringbuf_query(&samples, BPF_RB_AVAIL_DATA) > WAKE_BYTES || w->sample.reason == CUT_PROCESS_NOT_KNOWN
	    || w->sample.reason == CUT_NO_MAPPING || w->sample.reason == CUT_JVM_NOT_READ)
		flags = BPF_RB_FORCE_WAKEUP;
	if (!send_walked(w, bytes, flags))
		lost(LOST_EVENT);
}

#endif
