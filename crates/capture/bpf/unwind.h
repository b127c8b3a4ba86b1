/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The walk of a user stack, for programs of any type.
 *
 *   registers ─▶ which mapping holds pc? ─▶ file: unwind row      (native.h)
 *        ▲                               ─▶ code cache: blob      (hotspot.h)
 *        └──── caller's pc, sp, fp ◀──────────────┘
 *
 * Everything read is the target's and may be wrong; each way out has a reason. A frame is written
 * before its caller is looked for, so a cut stack shows where it was cut.
 */
#ifndef FATHOM_UNWIND_H
#define FATHOM_UNWIND_H

#include "native.h"
#include "hotspot.h"

/* Finds the mapping that holds an address. */
VERIFIED_ONCE int find_mapping(struct walk *w, __u64 at)
{
	if (!w)
		return 0;
	__u32 low = 0, high = w->process.mappings;

	/* 2^11 mappings at most: src/unwind/processes.rs. */
	for (int i = 0; i < 12 && low < high; i++) {
		__u32 middle = (low + high) / 2;
		const struct code_mapping *m = mapping_at(w->process.first_mapping + middle);

		if (!m)
			return 1;
		if (at < m->start) {
			high = middle;
		} else if (at >= m->end) {
			low = middle + 1;
		} else {
			w->map = *m;
			return 0;
		}
	}
	w->map.start = w->map.end = 0;
	return 1;
}

/* One frame: writes it and goes on to its caller. */
static __always_inline int walk_frame(struct walk *w)
{
	__u64 at = w->pc - !w->exact;
	int unknown = !(at >= w->map.start && at < w->map.end) && find_mapping(w, at);

	/* Code that is in no file may be the kernel's, put in the place of a return address. */
	if (!w->exact && (unknown || w->map.kind == MAPPING_ANONYMOUS)) {
		__u64 returns_to = probed_return(w->sp);

		if (returns_to && returns_to != w->pc) {
			w->pc = returns_to;
			return WALK_ON;
		}
	}
	if (unknown) {
		push_frame(w, FRAME_NATIVE, w->pc, 0);
		return w->process.flags & PROCESS_JVM_NOT_READ ? CUT_JVM_NOT_READ : CUT_NO_MAPPING;
	}
	switch (w->map.kind) {
	case MAPPING_ROWS:
		push_frame(w, FRAME_NATIVE, w->pc, 0);
		if (find_row(w, at))
			return CUT_ROW_TABLE;
		return apply_row(w);
	case MAPPING_CODE_HEAP:
	case MAPPING_INTERPRETER:
	case MAPPING_STUBS:
		return walk_java_frame(w, at);
	default:
		push_frame(w, FRAME_NATIVE, w->pc, 0);
		return w->process.flags & PROCESS_JVM_NOT_READ ? CUT_JVM_NOT_READ : CUT_ANONYMOUS_CODE;
	}
}

static long walk_step(__u32 i, void *context)
{
	struct walk *w = *(struct walk **)context;
	int reason = walk_frame(w);

	if (reason == WALK_ON)
		return 0;
	w->sample.reason = reason;
	return 1;
}

/*
 * Walks from the registers in `w` to the root. `w->process` is set; frames and reason are
 * left in `w->sample`.
 */
static __always_inline void walk_stack(struct walk *w)
{
	struct walk *context = w;

	w->exact = 1;
	w->map.start = w->map.end = 0;
	w->sample.frames = 0;
	w->sample.reason = CUT_DEPTH;
	loop(MOST_FRAMES, walk_step, &context);
	w->sample.cut_pc = w->sample.reason == CUT_WHOLE ? 0 : w->pc;
}

#endif
