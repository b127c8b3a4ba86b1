/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Both ends of a socket, as the kernel has them. Read by src/network/socket_ends.rs. */
#ifndef FATHOM_SOCKETS_H
#define FATHOM_SOCKETS_H

#include <bpf/bpf_core_read.h>

#define SOCKET_NAME_BYTES 108 /* sun_path of unix(7) */

struct socket_ends {
	__u16 family;
	__u16 type;      /* SOCK_STREAM and so on */
	__u16 peer_port; /* host's order */
	__u16 own_port;
	__u8 state;      /* of TCP: include/net/tcp_states.h */
	__u8 peer_known;
	__u16 pad;
	__u8 peer[16];   /* IPv4 in the first four */
	__u8 own[16];
};

#define FAMILY_UNIX 1
#define FAMILY_INET 2
#define FAMILY_INET6 10
#define STATE_ESTABLISHED 1
#define STATE_SYN_SENT 2
#define STATE_CLOSE 7
#define STATE_LISTEN 10

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct in6_union___fathom {
	__u8 u6_addr8[16];
};

struct in6_addr___fathom {
	struct in6_union___fathom in6_u;
};

struct sock_common___fathom {
	__u32 skc_daddr;
	__u32 skc_rcv_saddr;
	__u16 skc_dport;
	__u16 skc_num;
	unsigned short skc_family;
	volatile unsigned char skc_state;
	struct in6_addr___fathom skc_v6_daddr;
	struct in6_addr___fathom skc_v6_rcv_saddr;
};

struct sock___fathom {
	struct sock_common___fathom __sk_common;
	int sk_err;
	__u16 sk_type;
	struct socket___fathom *sk_socket;
};

struct socket___fathom {
	struct sock___fathom *sk;
	struct file___fathom *file;
};

struct sockaddr_un___fathom {
	char sun_path[SOCKET_NAME_BYTES];
};

struct unix_address___fathom {
	int len;
	struct sockaddr_un___fathom name[0];
};

struct unix_sock___fathom {
	struct unix_address___fathom *addr;
	struct sock___fathom *peer;
};

#pragma clang attribute pop

/* Both ends of a socket of the internet; of another one its family only. */
static __always_inline void read_ends(struct socket_ends *ends, struct sock___fathom *sk)
{
	__builtin_memset(ends, 0, sizeof(*ends));
	ends->family = BPF_CORE_READ(sk, __sk_common.skc_family);
	ends->type = BPF_CORE_READ(sk, sk_type);
	ends->state = BPF_CORE_READ(sk, __sk_common.skc_state);
	if (ends->family != FAMILY_INET && ends->family != FAMILY_INET6)
		return;
	ends->peer_port = __builtin_bswap16(BPF_CORE_READ(sk, __sk_common.skc_dport));
	ends->own_port = BPF_CORE_READ(sk, __sk_common.skc_num);
	ends->peer_known = ends->peer_port != 0;
	if (ends->family == FAMILY_INET) {
		__u32 peer = BPF_CORE_READ(sk, __sk_common.skc_daddr), own = BPF_CORE_READ(sk, __sk_common.skc_rcv_saddr);

		__builtin_memcpy(ends->peer, &peer, sizeof(peer));
		__builtin_memcpy(ends->own, &own, sizeof(own));
	} else {
		BPF_CORE_READ_INTO(&ends->peer, sk, __sk_common.skc_v6_daddr);
		BPF_CORE_READ_INTO(&ends->own, sk, __sk_common.skc_v6_rcv_saddr);
	}
}

#endif
