// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Connections that are made, names that are resolved, segments that are sent again.
 *
 *   connect: SYN sent (on its thread: who, stack) ──▶ established, refused, timed out or closed (wherever) ──▶ reported
 *   look-up: getaddrinfo entered (name, stack)    ──▶ one of its return instructions                    ──▶ reported
 *
 * A return is caught at the instructions that return and not by a return probe: those put
 * another return address on the stack, at which the stack of every sample and wait within
 * the look-up would end.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "files.h"
#include <linux/ptrace.h>
#include "network.h"
#include "probe_stack.h"
#include "budget.h"

/* include/uapi/asm-generic/fcntl.h */
#define NONBLOCKING 04000
#define STREAM 1

const volatile struct network_config config = {};

/* Connections being made, by socket. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, __u64);
	__type(value, struct network_event);
} connecting SEC(".maps");

/* Names being resolved, by thread. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, struct network_event);
} lookups SEC(".maps");

/* Taken out by user space once a second. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, __u64);
	__type(value, struct network_again);
} again SEC(".maps");

#define EVENT_BYTES (1 << 20)
#include "events.h"

static const struct network_event no_event = {};
static const struct network_again none_again = {};

/* The stack of the current thread, where there are not too many; its stamp, by
 * which the event names it. */
static __always_inline __u64 stack_of_event(void *ctx)
{
	__u64 stamp = may_spend(0, bpf_ktime_get_ns(), SECOND_NS, config.most_stacks) ? send_stack(ctx, false) : 0;

	if (!stamp)
		lost(WITHOUT_STACK);
	return stamp;
}

static __always_inline void begin_connect(void *ctx, struct sock___fathom *sk)
{
	__u64 key = (__u64)sk;
	struct network_event *event;
	struct ids ids;

	if (!here(&ids))
		return;
	bpf_map_update_elem(&connecting, &key, &no_event, BPF_ANY);
	event = bpf_map_lookup_elem(&connecting, &key);
	if (!event)
		return;
	event->kind = NETWORK_CONNECT;
	event->pid = ids.pid;
	event->tid = ids.tid;
	event->nonblocking = (BPF_CORE_READ(sk, sk_socket, file, f_flags) & NONBLOCKING) != 0;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	read_ends(&event->ends, sk);
	event->stack_ns = stack_of_event(ctx);
	event->begin_ns = bpf_ktime_get_ns();
}

static __always_inline void end_connect(struct sock___fathom *sk, bool established)
{
	__u64 key = (__u64)sk;
	struct network_event *event = bpf_map_lookup_elem(&connecting, &key);

	if (!event)
		return;
	event->end_ns = bpf_ktime_get_ns();
	event->established = established;
	event->result = established ? 0 : BPF_CORE_READ(sk, sk_err);
	if (event->end_ns - event->begin_ns >= config.min_ns)
		report(event, sizeof(*event));
	bpf_map_delete_elem(&connecting, &key);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock___fathom *sk, int old_state, int new_state)
{
	if (new_state == STATE_SYN_SENT && BPF_CORE_READ(sk, sk_type) == STREAM)
		begin_connect(ctx, sk);
	else if (old_state == STATE_SYN_SENT)
		end_connect(sk, new_state == STATE_ESTABLISHED);
	return 0;
}

SEC("tp_btf/tcp_retransmit_skb")
int BPF_PROG(on_retransmit, struct sock___fathom *sk)
{
	__u64 key = (__u64)sk;
	struct network_again *entry = bpf_map_lookup_elem(&again, &key);

	if (!entry) {
		struct socket___fathom *socket = BPF_CORE_READ(sk, sk_socket);
		struct network_event *begun = bpf_map_lookup_elem(&connecting, &key);

		if (bpf_map_update_elem(&again, &key, &none_again, BPF_NOEXIST))
			lost(LOST_ENTRY);
		entry = bpf_map_lookup_elem(&again, &key);
		if (!entry)
			return 0;
		read_ends(&entry->ends, sk);
		if (socket)
			entry->inode = BPF_CORE_READ(socket, file, f_inode, i_ino);
		if (begun)
			entry->pid = begun->pid;
	}
	__sync_fetch_and_add(&entry->segments, 1);
	return 0;
}

SEC("uprobe")
int on_lookup(struct pt_regs *regs)
{
	__u64 key = bpf_get_current_pid_tgid();
	struct network_event *event;
	const char *host = (const char *)PT_REGS_PARM1(regs);
	struct ids ids;

	if (!host || !here(&ids))
		return 0;
	bpf_map_update_elem(&lookups, &key, &no_event, BPF_ANY);
	event = bpf_map_lookup_elem(&lookups, &key);
	if (!event)
		return 0;
	event->kind = NETWORK_LOOKUP;
	event->pid = ids.pid;
	event->tid = ids.tid;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	bpf_probe_read_user_str(event->host, sizeof(event->host), host);
	event->stack_ns = stack_of_event(regs);
	event->begin_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("uprobe")
int on_lookup_end(struct pt_regs *regs)
{
	__u64 key = bpf_get_current_pid_tgid();
	struct network_event *event = bpf_map_lookup_elem(&lookups, &key);

	if (!event)
		return 0;
	event->end_ns = bpf_ktime_get_ns();
	event->result = (__s32)PT_REGS_RC(regs);
	if (event->end_ns - event->begin_ns >= config.min_ns)
		report(event, sizeof(*event));
	bpf_map_delete_elem(&lookups, &key);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
