/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/* Java objects that stand behind a lock, read from the memory of the current process. */
#ifndef FATHOM_LOCK_OBJECTS_H
#define FATHOM_LOCK_OBJECTS_H

#include <bpf/bpf_helpers.h>
#include "locks.h"

static __always_inline __u64 word_at(__u64 address)
{
	__u64 word = 0;

	if (bpf_probe_read_user(&word, sizeof(word), (void *)address))
		return 0;
	return word;
}

/* Generational ZGC: the address begins above the one bit that is set of bits 12
 * to 15 (zAddress.hpp). */
static __always_inline __u64 uncoloured(const struct lock_jvm *jvm, __u64 oop)
{
	__u64 colour = oop >> 12 & 0xf;

	if (!jvm->coloured)
		return oop;
	if (!colour)
		return 0;
	return colour & 1 ? oop >> 13 : colour & 2 ? oop >> 14 : colour & 4 ? oop >> 15 : oop >> 16;
}

/* A reference within an object. */
static __always_inline __u64 load_field(const struct lock_jvm *jvm, __u64 slot)
{
	__u32 narrow = 0;

	if (!jvm->compressed_oops)
		return uncoloured(jvm, word_at(slot));
	if (bpf_probe_read_user(&narrow, sizeof(narrow), (void *)slot) || !narrow)
		return 0;
	return jvm->oop_base + ((__u64)narrow << (jvm->oop_shift & 31));
}

static __always_inline void keep_header(struct lock_event *wait, __u64 object)
{
	wait->header[0] = wait->header[1] = 0;
	if (object && bpf_probe_read_user(wait->header, sizeof(wait->header), (void *)object))
		wait->header[1] = 0;
}

static __always_inline __u64 object_of_monitor(const struct lock_jvm *jvm, __u64 monitor)
{
	__u64 object = word_at(monitor + jvm->monitor_object);

	if (jvm->monitor_object_is_handle)
		object = object ? word_at(object) : 0;
	return uncoloured(jvm, object);
}

#endif
