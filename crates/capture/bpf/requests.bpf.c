// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * How long requests take that a JVM answers, by what comes and goes over the connections that it accepted:
 *
 *   first bytes are read ──▶ the connection's request has begun ──▶ first bytes are sent ──▶ counted by process, with the time between
 *
 * The time between belongs to no thread: a request that stands in a queue, waits for a timer or is answered by another thread counts
 * as one that a thread worked on. What is kept of a connection hangs on its socket and goes with it.
 */
#include <linux/bpf.h>
#include "namespace.h"
#include "sockets.h"
#include <bpf/bpf_tracing.h>
#include "requests.h"

/* include/linux/socket.h */
#define PEEKS 2

/* A connection that was accepted. */
struct connection {
	__u64 begun_ns; /* when the first bytes of its request were read; 0: there is none */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct connection);
} connections SEC(".maps");

/* Ports on which a process listens, (id << 16) | port: a connection whose own port is one of them was accepted. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u64);
	__type(value, __u8);
} listening SEC(".maps");

/* By process. Taken out by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, struct answered);
} answers SEC(".maps");

/* [0] requests of which the connection, or [1] the process found no room. */
#define LOSSES 2
#include "losses.h"

static const struct answered none = {};

/* The process whose request or answer this is; 0: of none that is watched, or no connection that it accepted. Every read and write of a
 * socket on the host comes by here, so that the fields are read in place: the verifier knows the socket for one. */
static __always_inline __u32 server(struct sock___fathom *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	if (family != FAMILY_INET && family != FAMILY_INET6)
		return 0;
	__u32 pid = pid_of((void *)bpf_get_current_task_btf());
	__u64 key = (__u64)pid << 16 | sk->__sk_common.skc_num;

	return bpf_map_lookup_elem(&listening, &key) ? pid : 0;
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_received, struct sock___fathom *sk, int length, int flags)
{
	if (length <= 0 || (flags & PEEKS) || !server(sk))
		return 0;
	struct connection *connection = bpf_sk_storage_get(&connections, (void *)sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!connection)
		lost(0);
	else if (!connection->begun_ns)
		connection->begun_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sent, struct sock___fathom *sk, int length, int flags)
{
	__u32 pid;

	if (length <= 0 || !(pid = server(sk)))
		return 0;
	struct connection *connection = bpf_sk_storage_get(&connections, (void *)sk, 0, 0);

	/* The rest of an answer, or one that nobody asked for. */
	if (!connection || !connection->begun_ns)
		return 0;
	__u64 took_ns = bpf_ktime_get_ns() - connection->begun_ns;
	struct answered *answered = bpf_map_lookup_elem(&answers, &pid);

	connection->begun_ns = 0;
	if (!answered) {
		bpf_map_update_elem(&answers, &pid, &none, BPF_NOEXIST);
		answered = bpf_map_lookup_elem(&answers, &pid);
	}
	if (!answered) {
		lost(1);
		return 0;
	}
	__sync_fetch_and_add(&answered->count, 1);
	__sync_fetch_and_add(&answered->total_ns, took_ns);
	/* Another processor's that is a little longer may be overwritten. */
	if (took_ns > answered->longest_ns)
		answered->longest_ns = took_ns;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
