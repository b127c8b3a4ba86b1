/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* The state of a walk, and what its steps do with it: write a frame, go on to the caller. */
#ifndef FATHOM_WALK_H
#define FATHOM_WALK_H

#include "unwind_port.h"

/* Registers as instructions number them. */
enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, R12, R13, R14, R15, REGISTERS };

#define CODE_WINDOW 128

struct walk {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 registers[REGISTERS]; /* of the frame whose pc is exact */
	struct process_code process;
	struct code_mapping map;    /* the one of the frame before, or of none (start == end) */
	struct unwind_row row;
	__u64 blob;                 /* CodeBlob whose head is in `head` */
	__u64 scan_from, scan_low, scan_high, scan_found;
	__u32 exact;                /* pc is where the thread is, not where a call returns to */
	__u32 pad;
	__u8 head[BLOB_HEAD + 8];
	__u8 code[CODE_WINDOW + 16];
	__u64 words[16];
	/* What is sent. */
	struct stack_sample sample;
	struct walked_frame frame[MOST_FRAMES];
	__u64 kernel[MOST_KERNEL_FRAMES + 1]; /* room for them behind the last frame */
};

/* What became of a step: the walk goes on, or it ends with an enum cut_reason. */
#define WALK_ON -1

static __always_inline void push_frame(struct walk *w, __u64 kind, __u64 low, __u64 high)
{
	__u32 n = w->sample.frames;

	if (n >= MOST_FRAMES)
		return;
	w->frame[n].low = (low & ((1ull << 55) - 1)) | (__u64)(w->exact & 1) << 55 | kind << 56;
	w->frame[n].high = high;
	w->sample.frames = n + 1;
}

/* The same for a frame that was left already. */
static __always_inline void push_walked(struct walk *w, __u64 kind, __u64 pc, __u32 exact)
{
	__u32 n = w->sample.frames;

	if (n >= MOST_FRAMES)
		return;
	w->frame[n].low = (pc & ((1ull << 55) - 1)) | (__u64)(exact & 1) << 55 | kind << 56;
	w->frame[n].high = 0;
	w->sample.frames = n + 1;
}

/* Goes on to the caller, whose frame begins at `cfa`. */
static __always_inline int go_on(struct walk *w, __u64 pc, __u64 cfa, __u64 fp)
{
	if (cfa <= w->sp)
		return CUT_NO_PROGRESS;
	w->pc = pc;
	w->sp = cfa;
	w->fp = fp;
	w->exact = 0;
	return WALK_ON;
}

/* The same where the return address is the word below `cfa` and the caller's fp the one below
 * that. */
static __always_inline int go_on_saved(struct walk *w, __u64 cfa)
{
	__u64 saved[2];

	if (read_user(saved, 16, cfa - 16))
		return CUT_STACK_UNREADABLE;
	return go_on(w, saved[1], cfa, saved[0]);
}

/* The same where fp is the caller's already. */
static __always_inline int go_on_top(struct walk *w, __u64 cfa)
{
	__u64 pc;

	if (read_word(cfa - 8, &pc))
		return CUT_STACK_UNREADABLE;
	return go_on(w, pc, cfa, w->fp);
}

#endif
