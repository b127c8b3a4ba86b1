// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/*
 * How long requests take that a JVM answers, by what comes and goes over the
 * connections that it accepted:
 *
 *   first bytes are read ──▶ the connection's request has begun ──▶ first bytes are sent ──▶ counted by process, with the time between
 *
 * The time between belongs to no thread: a request that is in a queue, waits for a timer or is
 * answered by another thread counts as one that a thread worked on.
 *
 * And how long its peers take to answer, over the connections that it made, whether or not a
 * thread waits for them:
 *
 *   first bytes are sent ──▶ the exchange has begun ──▶ first bytes of the answer arrive ──▶ the JVM reads them: counted by peer
 *
 * A connection that is closed meanwhile was given up.
 *
 * What is kept of a connection hangs on its socket and goes with it.
 */
#include <linux/bpf.h>
#include "namespace.h"
#include "sockets.h"
#include <bpf/bpf_tracing.h>
#include "requests.h"

/* include/linux/socket.h */
#define PEEKS 2

/* include/net/tcp_states.h */
#define TCP_ESTABLISHED 1
#define TCP_FIN_WAIT1 4
#define TCP_CLOSE 7
#define TCP_CLOSE_WAIT 8
#define TCP_LAST_ACK 9

/* How long an answer must have been waited for. */
#define LEAST_WAIT_NS 5000000

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

/* A connection that was made. */
struct exchange {
	__u64 begun_ns; /* when the first bytes were sent; 0: no answer is waited for */
	__u64 arrived_ns; /* when the first bytes of the answer arrived; 0: not yet */
};

struct {
	__uint(type, BPF_MAP_TYPE_SK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct exchange);
} exchanges SEC(".maps");

/* Processes that are watched: a connection of theirs that was not accepted was made. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1024);
	__type(key, __u32);
	__type(value, __u8);
} watched SEC(".maps");

/* Ports on which a process listens, (id << 16) | port: a connection whose own port is one
 * of them was accepted. */
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

/* By process and peer. Taken out by user space. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 4096);
	__type(key, struct peer);
	__type(value, struct peer_answers);
} peer_answers SEC(".maps");

#include "losses.h"

static const struct answered none = {};
static const struct peer_answers no_answers = {};

/* The process whose request or answer this is; 0: of none that is watched, or no connection that it
 * accepted. Every read and write of a socket on the host comes by here, so that the fields are read
 * in place: the verifier knows the socket for one. */
static __always_inline __u32 server(struct sock___fathom *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	if (family != FAMILY_INET && family != FAMILY_INET6)
		return 0;
	__u32 pid = pid_of((void *)bpf_get_current_task_btf());
	__u64 key = (__u64)pid << 16 | sk->__sk_common.skc_num;

	return bpf_map_lookup_elem(&listening, &key) ? pid : 0;
}

/* The same of a connection that the process made. */
static __always_inline __u32 client(struct sock___fathom *sk)
{
	__u16 family = sk->__sk_common.skc_family;

	if (family != FAMILY_INET && family != FAMILY_INET6)
		return 0;
	/* A datagram of no connection may be for anybody. */
	if (!sk->__sk_common.skc_dport)
		return 0;
	__u32 pid = pid_of((void *)bpf_get_current_task_btf());

	return bpf_map_lookup_elem(&watched, &pid) ? pid : 0;
}

/* First bytes are sent: an answer is waited for. */
static __always_inline void exchange_begins(struct sock___fathom *sk)
{
	struct exchange *exchange = bpf_sk_storage_get(&exchanges, (void *)sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!exchange) {
		lost(LOST_ENTRY);
	} else if (!exchange->begun_ns) {
		exchange->arrived_ns = 0;
		exchange->begun_ns = bpf_ktime_get_ns();
	}
}

/* What is counted of a peer; NULL: there is no room for another one. */
static __always_inline struct peer_answers *answers_of(struct sock___fathom *sk, __u32 pid)
{
	struct peer peer = { .pid = pid };

	peer.family = sk->__sk_common.skc_family;
	peer.port = __builtin_bswap16(sk->__sk_common.skc_dport);
	if (peer.family == FAMILY_INET) {
		__u32 address = sk->__sk_common.skc_daddr;

		__builtin_memcpy(peer.address, &address, sizeof(address));
	} else {
		BPF_CORE_READ_INTO(&peer.address, sk, __sk_common.skc_v6_daddr);
	}
	struct peer_answers *answers = bpf_map_lookup_elem(&peer_answers, &peer);

	if (!answers) {
		bpf_map_update_elem(&peer_answers, &peer, &no_answers, BPF_NOEXIST);
		answers = bpf_map_lookup_elem(&peer_answers, &peer);
	}
	if (!answers)
		lost(LOST_ENTRY);
	return answers;
}

/* First bytes of an answer are read. */
static __always_inline void exchange_ends(struct sock___fathom *sk, __u32 pid)
{
	struct exchange *exchange = bpf_sk_storage_get(&exchanges, (void *)sk, 0, 0);

	/* The rest of an answer, or news that nobody asked for. */
	if (!exchange || !exchange->begun_ns)
		return;
	__u64 now_ns = bpf_ktime_get_ns(), begun_ns = exchange->begun_ns;
	/* What arrived before this was sent was there to be read. */
	__u64 arrived_ns = exchange->arrived_ns ? exchange->arrived_ns : now_ns;
	struct peer_answers *answers = answers_of(sk, pid);

	exchange->begun_ns = 0;
	if (!answers)
		return;
	__sync_fetch_and_add(&answers->count, 1);
	__sync_fetch_and_add(&answers->total_ns, arrived_ns - begun_ns);
	__sync_fetch_and_add(&answers->unread_ns, now_ns - arrived_ns);
}

SEC("tp_btf/sock_recv_length")
int BPF_PROG(on_received, struct sock___fathom *sk, int length, int flags)
{
	__u32 pid;

	if (length <= 0 || (flags & PEEKS))
		return 0;
	if (!server(sk)) {
		if ((pid = client(sk)))
			exchange_ends(sk, pid);
		return 0;
	}
	struct connection *connection = bpf_sk_storage_get(&connections, (void *)sk, 0, BPF_SK_STORAGE_GET_F_CREATE);

	if (!connection)
		lost(LOST_ENTRY);
	else if (!connection->begun_ns)
		connection->begun_ns = bpf_ktime_get_ns();
	return 0;
}

SEC("tp_btf/sock_send_length")
int BPF_PROG(on_sent, struct sock___fathom *sk, int length, int flags)
{
	__u32 pid;

	if (length <= 0)
		return 0;
	if (!(pid = server(sk))) {
		if (client(sk))
			exchange_begins(sk);
		return 0;
	}
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
		lost(LOST_ENTRY);
		return 0;
	}
	__sync_fetch_and_add(&answered->count, 1);
	__sync_fetch_and_add(&answered->total_ns, took_ns);
	/* Another CPU's that is a little longer may be overwritten. */
	if (took_ns > answered->longest_ns)
		answered->longest_ns = took_ns;
	return 0;
}

/* Bytes came in, of whatever socket of the host: in no process's context. */
SEC("tp_btf/sk_data_ready")
int BPF_PROG(on_arrived, struct sock___fathom *sk)
{
	struct exchange *exchange = bpf_sk_storage_get(&exchanges, (void *)sk, 0, 0);

	if (exchange && exchange->begun_ns && !exchange->arrived_ns)
		exchange->arrived_ns = bpf_ktime_get_ns();
	return 0;
}

/* A connection that was made is closed by its process: nobody waits for the answer to what was
 * asked last any more. What is sent just before a close asks for no answer (the end of a TLS
 * session, a "quit"). */
SEC("tp_btf/inet_sock_set_state")
int BPF_PROG(on_state, struct sock___fathom *sk, int from, int to)
{
	if (!(from == TCP_ESTABLISHED && (to == TCP_FIN_WAIT1 || to == TCP_CLOSE)) && !(from == TCP_CLOSE_WAIT && to == TCP_LAST_ACK))
		return 0;
	struct exchange *exchange = bpf_sk_storage_get(&exchanges, (void *)sk, 0, 0);

	if (!exchange || !exchange->begun_ns || exchange->arrived_ns)
		return 0;
	__u64 waited_ns = bpf_ktime_get_ns() - exchange->begun_ns;
	__u32 pid = client(sk);

	exchange->begun_ns = 0;
	if (!pid || waited_ns < LEAST_WAIT_NS)
		return 0;
	struct peer_answers *answers = answers_of(sk, pid);

	if (answers) {
		__sync_fetch_and_add(&answers->unanswered, 1);
		__sync_fetch_and_add(&answers->unanswered_ns, waited_ns);
	}
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
