/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the unwinder asks of its surroundings. In a BPF program: helpers and maps. In user mode (FATHOM_USER_MODE, for
 * tests): functions of the caller, which has stacks and code that were captured.
 */
#ifndef FATHOM_UNWIND_PORT_H
#define FATHOM_UNWIND_PORT_H

#ifdef FATHOM_USER_MODE

#include <linux/types.h>
#include <stddef.h>
#include <string.h>
#include "unwind_types.h"

#undef __always_inline
#define __always_inline inline __attribute__((always_inline))
#define __noinline __attribute__((noinline))

/* Set by the caller before a walk. */
extern struct user_mode {
	int (*read)(void *into, __u32 length, __u64 address);
	const struct unwind_row *rows;
	const struct row_page *pages;
	const struct code_mapping *mappings;
	const struct jvm_code *jvms;
	__u32 row_count, page_count, mapping_count, jvm_count;
} user_mode;

#define MAP_LOOKUP(name, type, array, count) \
	static inline const struct type *name(__u32 i) { return i < user_mode.count ? &user_mode.array[i] : NULL; }
MAP_LOOKUP(row_at, unwind_row, rows, row_count)
MAP_LOOKUP(page_at, row_page, pages, page_count)
MAP_LOOKUP(mapping_at, code_mapping, mappings, mapping_count)
MAP_LOOKUP(jvm_at, jvm_code, jvms, jvm_count)

static inline int read_user(void *into, __u32 length, __u64 address)
{
	return user_mode.read(into, length, address);
}

static inline void loop(__u32 times, long (*step)(__u32, void *), void *context)
{
	for (__u32 i = 0; i < times; i++)
		if (step(i, context))
			return;
}

#else

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include "kernel.h"
#include "unwind_types.h"

/*
 * Filled by user space, which writes rows and pages before a mapping that names them, and mappings before the process
 * that names them. Their sizes are set before they are loaded.
 */
#define UNWIND_ARRAY(map, element, entries) \
	struct { \
		__uint(type, BPF_MAP_TYPE_ARRAY); \
		__uint(map_flags, BPF_F_MMAPABLE); \
		__uint(max_entries, entries); \
		__type(key, __u32); \
		__type(value, struct element); \
	} map SEC(".maps")

UNWIND_ARRAY(unwind_rows, unwind_row, 1);
UNWIND_ARRAY(row_pages, row_page, 1);
UNWIND_ARRAY(code_mappings, code_mapping, 1);
UNWIND_ARRAY(jvm_codes, jvm_code, 1);

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__type(key, __u32);
	__type(value, struct process_code);
} processes SEC(".maps");

#define MAP_LOOKUP(name, type, map) \
	static __always_inline const struct type *name(__u32 i) { return bpf_map_lookup_elem(&map, &i); }
MAP_LOOKUP(row_at, unwind_row, unwind_rows)
MAP_LOOKUP(page_at, row_page, row_pages)
MAP_LOOKUP(mapping_at, code_mapping, code_mappings)
MAP_LOOKUP(jvm_at, jvm_code, jvm_codes)

static __always_inline int read_user(void *into, __u32 length, __u64 address)
{
	return bpf_probe_read_user(into, length, (const void *)address);
}

static __always_inline void loop(__u32 times, long (*step)(__u32, void *), void *context)
{
	bpf_loop(times, step, context, 0);
}

#endif

static __always_inline int read_word(__u64 address, __u64 *word)
{
	return read_user(word, 8, address);
}

#endif
