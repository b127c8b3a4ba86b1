/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The blobs of a HotSpot code cache: which one holds an address, and what in a stack can be a
 * return address into it. */
#ifndef FATHOM_CODE_CACHE_H
#define FATHOM_CODE_CACHE_H

#include "walk.h"

#define SEGMENT_FREE 0xff
/* Steps down the segment map: 254 segments of 64 or 128 bytes each. */
#define MOST_SEGMENT_STEPS 96
/* A stack is not larger than this between two Java frames. */
#define LARGEST_FRAME (1 << 20)
/* Words looked at when a return address is not where it should be. */
#define SCAN_WORDS 96

/* First eight characters of names of blobs, little-endian. */
#define NAME8(a, b, c, d, e, f, g, h) \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 | (__u64)(f) << 40 | \
	 (__u64)(g) << 48 | (__u64)(h) << 56)
#define NAME_NMETHOD NAME8('n', 'm', 'e', 't', 'h', 'o', 'd', 0)
#define NAME_NATIVE_NMETHOD NAME8('n', 'a', 't', 'i', 'v', 'e', ' ', 'n')
#define NAME_VTABLE NAME8('v', 't', 'a', 'b', 'l', 'e', ' ', 'c')
#define NAME_ADAPTER NAME8('I', '2', 'C', '/', 'C', '2', 'I', ' ')
#define NAME_METHOD_HANDLE NAME8('M', 'e', 't', 'h', 'o', 'd', 'H', 'a')

/* A field of the blob whose head was read. */
VERIFIED_ONCE __u64 head_field(struct walk *w, __u32 offset, __u32 width, __u32 is_signed)
{
	if (!w)
		return 0;
	const __u8 *at = &w->head[offset & (BLOB_HEAD - 1)];

	switch (width) {
	case 1:
		return is_signed ? (__u64)(__s64)*(const __s8 *)at : *at;
	case 2:
		return is_signed ? (__u64)(__s64)*(const __s16 *)at : *(const __u16 *)at;
	case 4:
		return is_signed ? (__u64)(__s64)*(const __s32 *)at : *(const __u32 *)at;
	default:
		return *(const __u64 *)at;
	}
}
#define HEAD_FIELD(w, field) head_field(w, (field).offset, (field).width, (field).is_signed)

VERIFIED_ONCE int in_code_cache(const struct jvm_code *jvm, __u64 pc)
{
	if (!jvm)
		return 0;
	for (int i = 0; i < MOST_CODE_HEAPS; i++)
		if (i < jvm->heaps && pc >= jvm->heap[i].low && pc < jvm->heap[i].end)
			return 1;
	return 0;
}

/* Finds the blob that holds an address and reads its head. */
VERIFIED_ONCE int find_blob(struct walk *w, const struct jvm_code *jvm, __u64 at)
{
	if (!w || !jvm)
		return 0;
	const struct code_heap *heap = &jvm->heap[w->map.heap & (MOST_CODE_HEAPS - 1)];
	__u64 segment = (at - heap->low) >> (heap->shift & 31);
	__u8 back = SEGMENT_FREE;

	for (int i = 0; i < MOST_SEGMENT_STEPS; i++) {
		if (read_user(&back, 1, heap->segment_map + segment))
			return CUT_BLOB_UNREADABLE;
		if (back == 0 || back == SEGMENT_FREE || back > segment)
			break;
		segment -= back;
	}
	if (back)
		return CUT_NO_BLOB;
	w->blob = heap->low + (segment << (heap->shift & 31)) + jvm->block_size;
	__u32 size = jvm->head_size;

	if (size > BLOB_HEAD)
		size = BLOB_HEAD;
	if (read_user(w->head, size, w->blob)) {
		size = jvm->blob_head_size;
		if (size > BLOB_HEAD)
			size = BLOB_HEAD;
		if (read_user(w->head, size, w->blob))
			return CUT_BLOB_UNREADABLE;
	}
	return WALK_ON;
}

/*
 * Whether the word at `pc` is preceded by a call: 2 when it calls into [low, high), 1 when what
 * it calls is not known.
 */
VERIFIED_ONCE int call_before(__u64 pc, __u64 low, __u64 high)
{
	__u8 b[16];

	if (read_user(b, 16, pc - 16))
		return 0;
	if (b[11] == 0xe8) { /* call rel32 */
		__u64 target = pc + (__s64)(__s32)(b[12] | b[13] << 8 | b[14] << 16 | (__u32)b[15] << 24);

		return target >= low && target < high ? 2 : 0;
	}
	if (b[13] == 0x41 && b[14] == 0xff && (b[15] & 0xf8) == 0xd0) { /* call r8…r15 */
		/* … that was loaded with a number just before */
		if (b[3] == 0x49 && (b[4] & 0xf8) == 0xb8) {
			__u64 target = 0;

			for (int i = 7; i >= 0; i--)
				target = target << 8 | b[5 + i];
			return target >= low && target < high ? 2 : 0;
		}
		return 1;
	}
	if (b[14] == 0xff && (b[15] & 0xf8) == 0xd0) /* call rax… */
		return 1;
	if (b[14] == 0xff && (b[15] & 0xf8) == 0x10) /* call [rax]… */
		return 1;
	if (b[10] == 0xff && b[11] == 0x15) /* call [rip + 32 bits] */
		return 1;
	if (b[13] == 0xff && (b[14] & 0xf8) == 0x50 && b[14] != 0x54) /* call [rax + 8 bits]… */
		return 1;
	if (b[10] == 0xff && (b[11] & 0xf8) == 0x90 && b[11] != 0x94) /* call [rax + 32 bits]… */
		return 1;
	return 0;
}

/*
 * Whether a word is a return address into Java code. The interpreter does not call methods: it
 * pushes where they are to return to, an entry of its own, and jumps
 * (InterpreterMacroAssembler::jump_from_interpreted).
 */
VERIFIED_ONCE int returns_to_java(const struct jvm_code *jvm, __u64 pc)
{
	if (!jvm)
		return 0;
	return in_code_cache(jvm, pc) && ((pc >= jvm->interpreter_begin && pc < jvm->interpreter_end) || call_before(pc, 0, ~0ull));
}

struct scan {
	struct walk *w;
	const struct jvm_code *jvm;
};

static long scan_step(__u32 i, void *context)
{
	struct scan *scan = context;
	struct walk *w = scan->w;
	__u64 at = w->scan_from + 8 * (__u64)i, word;

	if (read_word(at, &word))
		return 1;
	if (in_code_cache(scan->jvm, word) && call_before(word, w->scan_low, w->scan_high) == 2) {
		w->scan_found = at;
		return 1;
	}
	return 0;
}

/*
 * Looks up the stack for a return address behind a call into [low, high). A value that
 * merely lies in the code cache is not enough: dead slots are full of return addresses of
 * calls that returned long ago.
 */
VERIFIED_ONCE int scan_stack(struct walk *w, const struct jvm_code *jvm, __u64 low, __u64 high)
{
	if (!w || !jvm)
		return 0;
	struct scan scan = { w, jvm };

	w->scan_from = w->sp;
	w->scan_low = low;
	w->scan_high = high;
	w->scan_found = 0;
	loop(SCAN_WORDS, scan_step, &scan);
	return w->scan_found != 0;
}

#endif
