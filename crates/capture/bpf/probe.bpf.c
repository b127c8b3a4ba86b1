// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Probes that a user asks for: a function of a library, entered or returned from; a USDT probe; a
 * tracepoint of the kernel. Each hit is reported with its arguments and its stack.
 */
#include <linux/ptrace.h>
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
#include "probe.h"
#include "probe_stack.h"

/* Calls that took less are not reported, nanoseconds. */
const volatile __u64 min_ns = 0;

#define MAX_THREADS 16384
/* Calls of probed functions within one another that are followed. */
#define DEEPEST 4
#define REGISTER_ARGUMENTS 6

struct call {
	__u64 t0_ns;
	__u64 argument[REGISTER_ARGUMENTS];
	__u64 text[PROBE_TEXTS][PROBE_TEXT_BYTES / 8];
	__u64 probe;
};

struct calls {
	__u64 depth;
	struct call call[DEEPEST];
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, MAX_THREADS);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct calls);
} open_calls SEC(".maps");

/* Both are too large for the stack of a program. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct calls);
} no_calls SEC(".maps");

#define EVENT_BYTES (4 << 20)
#include "events.h"

static __always_inline struct probe_event *begin_event(__u32 probe, struct ids ids)
{
	struct probe_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		lost(LOST_EVENT);
		return NULL;
	}
	event->t0_ns = event->t1_ns = bpf_ktime_get_ns();
	event->result = 0;
	event->pid = ids.pid;
	event->tid = ids.tid;
	event->probe = probe;
	event->arguments = 0;
	event->returned = 0;
	__builtin_memset(event->argument, 0, sizeof(event->argument));
	__builtin_memset(event->text, 0, sizeof(event->text));
	__builtin_memset(event->raw, 0, sizeof(event->raw));
	return event;
}

static __always_inline void keep_registers(struct pt_regs *ctx, __u64 *argument, struct probe_text *text)
{
	argument[0] = PT_REGS_PARM1(ctx);
	argument[1] = PT_REGS_PARM2(ctx);
	argument[2] = PT_REGS_PARM3(ctx);
	argument[3] = PT_REGS_PARM4(ctx);
	argument[4] = PT_REGS_PARM5(ctx);
	argument[5] = ctx->r9;
	for (int i = 0; i < PROBE_TEXTS; i++) {
		/* No pointer is below a page. */
		if (argument[i] < 4096 || bpf_probe_read_user_str(text[i].bytes, PROBE_TEXT_BYTES, (void *)argument[i]) < 0)
			text[i].bytes[0] = 0;
	}
}

/* A function is entered, and its return is of no interest. */
SEC("uprobe")
int probe_hit(struct pt_regs *ctx)
{
	struct ids ids;

	if (!here(&ids))
		return 0;
	__u64 stack_ns = send_stack(ctx, false);
	struct probe_event *event = begin_event(bpf_get_attach_cookie(ctx), ids);

	if (!event)
		return 0;
	event->stack_ns = stack_ns;
	event->arguments = REGISTER_ARGUMENTS;
	keep_registers(ctx, event->argument, event->text);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("uprobe")
int probe_enter(struct pt_regs *ctx)
{
	struct ids ids;
	__u32 zero = 0;

	if (!here(&ids))
		return 0;
	struct calls *calls = bpf_map_lookup_elem(&open_calls, &ids.tid);

	if (!calls) {
		struct calls *none = bpf_map_lookup_elem(&no_calls, &zero);

		if (!none || bpf_map_update_elem(&open_calls, &ids.tid, none, BPF_NOEXIST)) {
			lost(LOST_ENTRY);
			return 0;
		}
		calls = bpf_map_lookup_elem(&open_calls, &ids.tid);
		if (!calls)
			return 0;
	}
	__u64 depth = calls->depth;

	calls->depth = depth + 1;
	if (depth >= DEEPEST) {
		lost(LOST_ENTRY);
		return 0;
	}
	struct call *call = &calls->call[depth];

	call->probe = bpf_get_attach_cookie(ctx);
	keep_registers(ctx, call->argument, (void *)call->text);
	call->t0_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("uretprobe")
int probe_return(struct pt_regs *ctx)
{
	__u64 now = bpf_ktime_get_ns();
	struct ids ids;

	if (!here(&ids))
		return 0;
	struct calls *calls = bpf_map_lookup_elem(&open_calls, &ids.tid);

	if (!calls || !calls->depth)
		return 0;
	__u64 depth = calls->depth - 1;

	calls->depth = depth;
	if (depth >= DEEPEST)
		return 0;
	struct call *call = &calls->call[depth];

	if (now - call->t0_ns < min_ns)
		return 0;
	__u64 stack_ns = send_stack(ctx, false);
	struct probe_event *event = begin_event(call->probe, ids);

	if (!event)
		return 0;
	event->t0_ns = call->t0_ns;
	event->t1_ns = now;
	event->stack_ns = stack_ns;
	event->result = PT_REGS_RC(ctx);
	event->returned = 1;
	event->arguments = REGISTER_ARGUMENTS;
	__builtin_memcpy(event->argument, call->argument, sizeof(call->argument));
	__builtin_memcpy(event->text, call->text, sizeof(call->text));
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("usdt")
int probe_usdt(struct pt_regs *ctx)
{
	struct ids ids;

	if (!here(&ids))
		return 0;
	int count = bpf_usdt_arg_cnt(ctx);
	__u64 stack_ns = send_stack(ctx, false);
	struct probe_event *event = begin_event(bpf_usdt_cookie(ctx), ids);

	if (!event)
		return 0;
	event->stack_ns = stack_ns;
	event->arguments = count < 0 ? 0 : count > PROBE_ARGUMENTS ? PROBE_ARGUMENTS : count;
#pragma unroll
	for (int i = 0; i < PROBE_ARGUMENTS; i++) {
		long value = 0;

		if (i < count)
			bpf_usdt_arg(ctx, i, &value);
		event->argument[i] = value;
		if (i < PROBE_TEXTS && (__u64)value >= 4096
		    && bpf_probe_read_user_str(event->text[i].bytes, PROBE_TEXT_BYTES, (void *)value) < 0)
			event->text[i].bytes[0] = 0;
	}
	bpf_ringbuf_submit(event, 0);
	return 0;
}

SEC("tracepoint")
int probe_tracepoint(void *ctx)
{
	struct ids ids;

	if (!here(&ids))
		return 0;
	__u64 stack_ns = send_stack(ctx, true);
	struct probe_event *event = begin_event(bpf_get_attach_cookie(ctx), ids);

	if (!event)
		return 0;
	event->stack_ns = stack_ns;
	/* The record may be shorter; what lies behind it is not shown. */
	bpf_probe_read_kernel(event->raw, sizeof(event->raw), ctx);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
