// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * The TCP sockets of a process as the kernel has them, when user space asks:
 *
 *   user space reads ──▶ each open file of the process ──▶ a TCP socket? ──▶ its figures are written
 *
 * Nothing runs in between, and nothing on the ways of data.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_tracing.h>
#include "connections.h"

#define STREAM 1
#define PROTOCOL_TCP 6

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct seq_file;
struct file;
struct task_struct;

struct bpf_iter_meta___connections {
	struct seq_file *seq;
};

struct bpf_iter__task_file___connections {
	struct bpf_iter_meta___connections *meta;
	struct task_struct *task;
	__u32 fd;
	struct file *file;
};

struct sock___connections {
	__u16 sk_type;
	__u16 sk_protocol;
	__u32 sk_ack_backlog;
	__u32 sk_max_ack_backlog;
};

struct tcp_sock___connections {
	__u64 bytes_acked;
	__u64 bytes_received;
	__u32 srtt_us; /* eight times the round trip */
	__u32 rcv_wnd;
	__u32 rcv_nxt;
	__u32 copied_seq;
	__u32 write_seq;
	__u32 snd_una;
	__u32 chrono_start;
	__u32 chrono_stat[3];
	__u8 chrono_type : 2;
};

#pragma clang attribute pop

/* Ticks of one kind: those that are over, and those since the last change. */
static __always_inline __u32 ticks(struct tcp_sock___connections *tcp, __u32 type, __u32 kind, __u32 running)
{
	__u32 over = 0;

	bpf_core_read(&over, sizeof(over), &tcp->chrono_stat[kind]);
	return over + (type == kind + 1 ? running : 0);
}

SEC("iter/task_file")
int on_file(struct bpf_iter__task_file___connections *ctx)
{
	struct seq_file *seq = ctx->meta->seq;
	struct file *file = ctx->file;
	struct connection found = {};
	struct tcp_sock___connections *tcp;
	struct sock___connections *sk;
	struct socket *socket;
	__u32 type, running, window, buffer;

	if (!file)
		return 0;
	socket = bpf_sock_from_file(file);
	if (!socket)
		return 0;
	sk = (void *)BPF_CORE_READ((struct socket___fathom *)socket, sk);
	if (!sk || BPF_CORE_READ(sk, sk_type) != STREAM || BPF_CORE_READ(sk, sk_protocol) != PROTOCOL_TCP)
		return 0;
	read_ends(&found.ends, (void *)sk);
	found.socket = (__u64)sk;
	if (found.ends.state == STATE_LISTEN) {
		found.queue = BPF_CORE_READ(sk, sk_ack_backlog);
		found.queue_most = BPF_CORE_READ(sk, sk_max_ack_backlog);
	} else if (found.ends.peer_known) {
		tcp = (void *)sk;
		type = BPF_CORE_READ_BITFIELD_PROBED(tcp, chrono_type);
		running = (__u32)bpf_jiffies64() - BPF_CORE_READ(tcp, chrono_start);
		window = ticks(tcp, type, 1, running);
		buffer = ticks(tcp, type, 2, running);
		found.busy = ticks(tcp, type, 0, running) + window + buffer;
		found.window_limited = window;
		found.buffer_limited = buffer;
		found.bytes_sent = BPF_CORE_READ(tcp, bytes_acked);
		found.bytes_received = BPF_CORE_READ(tcp, bytes_received);
		found.round_trip_us = BPF_CORE_READ(tcp, srtt_us) >> 3;
		found.window = BPF_CORE_READ(tcp, rcv_wnd);
		found.unread = BPF_CORE_READ(tcp, rcv_nxt) - BPF_CORE_READ(tcp, copied_seq);
		found.unsent = BPF_CORE_READ(tcp, write_seq) - BPF_CORE_READ(tcp, snd_una);
	} else {
		return 0;
	}
	bpf_seq_write(seq, &found, sizeof(found));
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
