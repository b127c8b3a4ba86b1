// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * Connections that are made, names that are resolved, segments that are sent again.
 *
 *   connect: SYN sent (on its thread: who, stack) ──▶ established, refused, timed out or closed (wherever) ──▶ reported
 *   look-up: getaddrinfo entered (name, stack)    ──▶ one of its return instructions                    ──▶ reported
 *
 * A return is caught at the instructions that return and not by a return probe: those put another return address on the
 * stack, at which the stack of every sample and wait within the look-up would end.
 */
#include "unwind_port.h"
#include "unwind.h"
#include "sampler.h"
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "files.h"
#include <linux/ptrace.h>
#include "network.h"

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

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 1 << 20);
} events SEC(".maps");

/* [0] events that found no room, [1] segments sent again of which the connection found no room, [2] reported without a stack. */
#define LOSSES 3
#include "losses.h"

struct budget {
	__u64 second;
	__u32 stacks;
	__u32 walks; /* a walk is under way: a probe in a program may be interrupted by another thread's on its CPU */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct budget);
} budgets SEC(".maps");

static const struct network_event no_event = {};
static const struct network_again none_again = {};

/* The user stack of the current thread; its stamp, by which the event names it. */
static __always_inline __u64 send_stack(void)
{
	__u32 zero = 0;
	struct budget *budget = bpf_map_lookup_elem(&budgets, &zero);
	__u64 second = bpf_ktime_get_ns() >> 30, stamp = 0;

	if (!budget)
		return 0;
	if (budget->second != second) {
		budget->second = second;
		budget->stacks = 0;
	}
	if (budget->walks || budget->stacks >= config.most_stacks) {
		lost(2);
		return 0;
	}
	budget->walks = 1;
	budget->stacks += 1;
	stamp = send_user_stack();
	budget->walks = 0;
	return stamp;
}

/* Numbers of the current thread as fathom names it; false when it is none of a target's. */
static __always_inline bool name_thread(__u32 *pid, __u32 *tid)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();

	*pid = pid_of(task);
	*tid = tid_of(task);
	if (!*pid || *pid == own_pid)
		return false;
	return all_processes || bpf_map_lookup_elem(&targets, pid);
}

static __always_inline void begin_connect(struct sock___fathom *sk)
{
	__u64 key = (__u64)sk;
	struct network_event *event;
	__u32 pid, tid;

	if (!name_thread(&pid, &tid))
		return;
	bpf_map_update_elem(&connecting, &key, &no_event, BPF_ANY);
	event = bpf_map_lookup_elem(&connecting, &key);
	if (!event)
		return;
	event->kind = NETWORK_CONNECT;
	event->pid = pid;
	event->tid = tid;
	event->nonblocking = (BPF_CORE_READ(sk, sk_socket, file, f_flags) & NONBLOCKING) != 0;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	read_ends(&event->ends, sk);
	event->stack_ns = send_stack();
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
	if (event->end_ns - event->begin_ns >= config.min_ns
	    && bpf_ringbuf_output(&events, event, sizeof(*event), BPF_RB_NO_WAKEUP))
		lost(0);
	bpf_map_delete_elem(&connecting, &key);
}

SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock___fathom *sk, int old_state, int new_state)
{
	if (new_state == STATE_SYN_SENT && BPF_CORE_READ(sk, sk_type) == STREAM)
		begin_connect(sk);
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
			lost(1);
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
	__u32 pid, tid;

	if (!host || !name_thread(&pid, &tid))
		return 0;
	bpf_map_update_elem(&lookups, &key, &no_event, BPF_ANY);
	event = bpf_map_lookup_elem(&lookups, &key);
	if (!event)
		return 0;
	event->kind = NETWORK_LOOKUP;
	event->pid = pid;
	event->tid = tid;
	bpf_get_current_comm(event->comm, sizeof(event->comm));
	bpf_probe_read_user_str(event->host, sizeof(event->host), host);
	event->stack_ns = send_stack();
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
	if (event->end_ns - event->begin_ns >= config.min_ns
	    && bpf_ringbuf_output(&events, event, sizeof(*event), BPF_RB_NO_WAKEUP))
		lost(0);
	bpf_map_delete_elem(&lookups, &key);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
