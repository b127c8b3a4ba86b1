/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The processes that are recorded, as the programs know them. One map for all
 * programs of a recording. */
#ifndef FATHOM_TARGETS_H
#define FATHOM_TARGETS_H

#include "namespace.h"

/* fathom itself. */
const volatile __u32 own_pid = 0;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, __u8);
} targets SEC(".maps");

#endif
