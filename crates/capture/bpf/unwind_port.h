/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What the unwinder asks of its surroundings. In a BPF program: helpers and maps. In user mode
 * (FATHOM_USER_MODE): functions of the caller, which has stacks that were kept or captured.
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
#define VERIFIED_ONCE static __noinline

/* Set by the caller before a walk. */
extern struct user_mode {
	int (*read)(void *into, __u32 length, __u64 address);
	const struct unwind_row *rows;
	const struct row_page *pages;
	const struct code_mapping *mappings;
	const struct jvm_code *jvms;
	__u32 row_count, page_count, mapping_count, jvm_count;
	void (*looked_at)(__u32 page); /* called with each page of rows, to keep what a
	                                * walk needs; NULL: nobody */
} user_mode;

#define MAP_LOOKUP(name, type, array, count) \
	static inline const struct type *name(__u32 i) { return i < user_mode.count ? &user_mode.array[i] : NULL; }
MAP_LOOKUP(row_at, unwind_row, rows, row_count)
MAP_LOOKUP(known_page, row_page, pages, page_count)
MAP_LOOKUP(mapping_at, code_mapping, mappings, mapping_count)
MAP_LOOKUP(jvm_at, jvm_code, jvms, jvm_count)

static inline const struct row_page *page_at(__u32 i)
{
	if (user_mode.looked_at)
		user_mode.looked_at(i);
	return known_page(i);
}

static inline int read_user(void *into, __u32 length, __u64 address)
{
	return user_mode.read(into, length, address);
}

/* Which returns of a thread are probed is not known here. */
static inline __u64 probed_return(__u64 sp)
{
	return 0;
}

static inline void loop(__u32 times, long (*step)(__u32, void *), void *context)
{
	for (__u32 i = 0; i < times; i++)
		if (step(i, context))
			return;
}

#else

/* A function that stands alone for the verifier: looked at once, with any arguments, and not anew
 * from each place that calls it. */
#define VERIFIED_ONCE __noinline

#include <stdbool.h>
#include <stddef.h>
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "kernel.h"
#include "unwind_types.h"

/*
 * Filled by user space, which writes rows and pages before a mapping that names them, and mappings
 * before the process that names them. Their sizes are set before they are loaded.
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

/* Calls of the current thread whose returns are probed, looked at. */
#define MOST_PROBED_RETURNS 16

/* Where a call of the current thread returns to in truth when a uretprobe took the place of its
 * return address, which was right below `sp`; 0: it is not probed. */
static __noinline __attribute__((unused)) __u64 probed_return(__u64 sp)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct return_instance___fathom *call;

	if (!bpf_core_field_exists(struct task_struct___fathom, utask))
		return 0;
	call = BPF_CORE_READ(task, utask, return_instances);
	for (int i = 0; i < MOST_PROBED_RETURNS && call; i++) {
		if (BPF_CORE_READ(call, stack) + 8 == sp)
			return BPF_CORE_READ(call, orig_ret_vaddr);
		call = BPF_CORE_READ(call, next);
	}
	return 0;
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
