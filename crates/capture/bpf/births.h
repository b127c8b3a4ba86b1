/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What births.bpf.c sends to user space. Read by src/target/births.rs. */
#ifndef FATHOM_BIRTHS_H
#define FATHOM_BIRTHS_H

#include "types.h"

enum birth_kind {
	BIRTH_FORK = 1, /* a process was made */
	BIRTH_EXEC = 2, /* it became another program */
};

struct birth {
	__u64 t_ns;   /* CLOCK_MONOTONIC */
	__u32 pid;
	__u32 parent; /* of BIRTH_FORK */
	__u32 kind;
	__u32 heir;   /* 1: of BIRTH_FORK, the parent is recorded, and so is the child
	               * from here on */
	char comm[16];
};

SENT(birth);
NAMED(birth_kind);

#endif
