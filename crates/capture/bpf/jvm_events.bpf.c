// SPDX-License-Identifier: (Apache-2.0 OR GPL-2.0-only)
/*
 * HotSpot's own probes (USDT), one program for all of them.
 *
 * Arguments of a probe are strings first, each as address and length, then numbers (hotspot.d of
 * the JDK), so that two counts describe it:
 *
 *   cookie = kind | strings << 8 | numbers << 12 | causes << 16 | slot << 32
 *
 * With `causes`, the strings are those of the JVM's counters sun.gc.cause and sun.gc.lastCause at
 * that moment: no probe gives the cause of a collection.
 */
#include <stdbool.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/usdt.bpf.h>
#include "namespace.h"
#include "jvm_events.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 2 << 20);
} events SEC(".maps");

/* Events that found no room, by slot: they count as hits all the same. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, __u64);
} lost SEC(".maps");

struct cause_places {
	__u64 now;  /* address of sun.gc.cause in the target, 0: not known */
	__u64 last; /* of sun.gc.lastCause */
};

/* By slot. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 256);
	__type(key, __u32);
	__type(value, struct cause_places);
} causes SEC(".maps");

static __always_inline void keep_cause(struct jvm_event *event, int i, __u64 address)
{
	long length = 0;

	if (address)
		length = bpf_probe_read_user_str(event->string[i].bytes, JVM_EVENT_STRING_BYTES, (void *)address);
	/* The final zero counts. */
	event->length[i] = length > 1 ? length - 1 : 0;
}

static __always_inline void keep_causes(struct jvm_event *event)
{
	__u32 slot = event->slot;
	struct cause_places *places = bpf_map_lookup_elem(&causes, &slot);

	if (places) {
		keep_cause(event, 0, places->now);
		keep_cause(event, 1, places->last);
	}
}

static __always_inline void keep_string(struct jvm_event *event, struct pt_regs *ctx, int i)
{
	long address = 0, length = 0;

	if (bpf_usdt_arg(ctx, 2 * i, &address) || bpf_usdt_arg(ctx, 2 * i + 1, &length))
		return;
	if (length <= 0)
		return;
	event->length[i] = length > 65535 ? 65535 : length;
	__u32 kept = length;

	if (kept > JVM_EVENT_STRING_BYTES - 1)
		kept = JVM_EVENT_STRING_BYTES - 1;
	/* Not terminated where it comes from: a Symbol's bytes. */
	if (bpf_probe_read_user(event->string[i].bytes, kept & (JVM_EVENT_STRING_BYTES - 1), (void *)address))
		event->length[i] = 0;
}

/* Room for an event, with all that no argument gives. */
static __always_inline struct jvm_event *begin_event(__u64 cookie)
{
	__u32 slot = cookie >> 32;
	struct jvm_event *event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);

	if (!event) {
		__u64 *count = bpf_map_lookup_elem(&lost, &slot);

		if (count)
			__sync_fetch_and_add(count, 1);
		return NULL;
	}
	event->t_ns = bpf_ktime_get_ns();
	event->slot = slot;
	event->tid = tid_of((void *)bpf_get_current_task_btf());
	event->kind = cookie;
	event->strings = cookie >> 8 & 0xf;
	event->numbers = cookie >> 12 & 0xf;
	event->pad = 0;
	event->pad2 = 0;
	return event;
}

SEC("usdt")
int jvm_probe(struct pt_regs *ctx)
{
	__u64 cookie = bpf_usdt_cookie(ctx);
	struct jvm_event *event = begin_event(cookie);

	if (!event)
		return 0;
#pragma unroll
	for (int i = 0; i < JVM_EVENT_STRINGS; i++) {
		event->length[i] = 0;
		if (i < event->strings)
			keep_string(event, ctx, i);
	}
#pragma unroll
	for (int i = 0; i < JVM_EVENT_NUMBERS; i++) {
		long number = 0;

		if (i < event->numbers)
			bpf_usdt_arg(ctx, 2 * event->strings + i, &number);
		event->number[i] = number;
	}
	if (cookie >> 16 & 1)
		keep_causes(event);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

/*
 * A function of a libjvm without probes, called or returning. Its first argument is an object of
 * the JVM: with a number, the first word of it, which shows its class, and with two its address,
 * too; with a string, its bytes.
 */
SEC("uprobe")
int jvm_function(struct pt_regs *ctx)
{
	__u64 cookie = bpf_get_attach_cookie(ctx);
	struct jvm_event *event = begin_event(cookie);
	__s64 word = 0;

	if (!event)
		return 0;
	if (event->numbers && bpf_probe_read_user(&word, sizeof(word), (void *)PT_REGS_PARM1(ctx)))
		word = 0;
#pragma unroll
	for (int i = 0; i < JVM_EVENT_STRINGS; i++)
		event->length[i] = 0;
#pragma unroll
	for (int i = 0; i < JVM_EVENT_NUMBERS; i++)
		event->number[i] = 0;
	event->number[0] = word;
	if (event->numbers > 1)
		event->number[1] = PT_REGS_PARM1(ctx);
	if (event->strings
	    && !bpf_probe_read_user(event->string[0].bytes, JVM_EVENT_STRING_BYTES, (void *)PT_REGS_PARM1(ctx)))
		event->length[0] = JVM_EVENT_STRING_BYTES;
	if (cookie >> 16 & 1)
		keep_causes(event);
	bpf_ringbuf_submit(event, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
