/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Frames of nmethods: within the body, in the prologue and the epilogue, and at their
 * ends by deoptimisation. */
#ifndef FATHOM_COMPILED_H
#define FATHOM_COMPILED_H

#include "code_cache.h"

/* sub rsp, imm at `i` in the window: its immediate, or 0. */
static __always_inline __u32 frame_allocation(struct walk *w, __u32 i)
{
	const __u8 *b = &w->code[i & (CODE_WINDOW - 1)];

	if (b[0] != 0x48 || b[2] != 0xec)
		return 0;
	if (b[1] == 0x83)
		return b[3];
	if (b[1] == 0x81)
		return b[3] | b[4] << 8 | b[5] << 16 | (__u32)b[6] << 24;
	return 0;
}

/* What is looked for in a prologue. A step is verified once, a loop as often as it goes round. */
struct prologue {
	struct walk *w;
	__u32 left, bytes; /* of code until the frame is complete; of the frame */
	__u32 size, at;    /* what was found */
};

static long allocation_step(__u32 i, void *context)
{
	struct prologue *p = context;
	__u32 size;

	if (i >= p->left)
		return 1;
	size = frame_allocation(p->w, i);
	if (!size || (size != p->bytes - 16 && size != p->bytes - 8))
		return 0;
	p->size = size;
	p->at = i;
	return 1;
}

static long push_step(__u32 i, void *context)
{
	struct prologue *p = context;

	if (i >= p->left)
		return 1;
	p->size = p->w->code[i & (CODE_WINDOW - 1)] == 0x55;
	return p->size;
}

/*
 * The youngest frame before its method's frame is complete: how far is it? The prologue is
 *
 *   [cache check] [mov [rsp - n], eax] push rbp [mov rbp, rsp] sub rsp, N   …   or   sub rsp, N; mov [rsp + n], rbp  …
 *
 * and the size of the frame gives N, so that the one `sub` still to come is found for certain.
 */
VERIFIED_ONCE int walk_prologue(struct walk *w, __u64 complete, __u32 frame_words)
{
	if (!w)
		return 0;
	__u64 pc = w->pc;
	__u32 bytes = 8 * frame_words, size, at;
	struct prologue prologue = { w, complete > pc && complete - pc < CODE_WINDOW ? complete - pc : CODE_WINDOW, bytes };
	const __u8 *b = w->code;

	if (read_user(w->code, CODE_WINDOW, pc))
		return CUT_BLOB_UNREADABLE;
	if (frame_words <= 2) {
		loop(32, push_step, &prologue);
		/* push rbp is still to come */
		return prologue.size ? go_on_top(w, w->sp + 8) : go_on_saved(w, w->sp + 16);
	}
	loop(CODE_WINDOW, allocation_step, &prologue);
	size = prologue.size;
	at = prologue.at;
	if (size) {
		int pushed = size == bytes - 16
			     && (at == 0 || (at == 3 && b[0] == 0x48 && ((b[1] == 0x8b && b[2] == 0xec) || (b[1] == 0x89 && b[2] == 0xe5))));

		return pushed ? go_on_saved(w, w->sp + 16) : go_on_top(w, w->sp + 8);
	}
	if (b[0] == 0x48 && b[1] == 0x89 && (b[2] == 0x6c || b[2] == 0xac) && b[3] == 0x24)
		return go_on_top(w, w->sp + bytes); /* mov [rsp + n], rbp is still to come */
	return go_on_saved(w, w->sp + bytes);
}

/*
 * The youngest frame where its method returns: add rsp, N; pop rbp; poll; ret. Gives 0 where the
 * frame is whole, 1 where the return address is on top, 2 where the caller's rbp is.
 */
VERIFIED_ONCE int epilogue(struct walk *w, __u32 frame_words)
{
	if (!w)
		return 0;
	const __u8 *b = w->code;

	if (read_user(w->code, 32, w->pc - 8))
		return 0;
	int added_before_pop = (b[3] == 0x48 && b[4] == 0x83 && b[5] == 0xc4) || (b[0] == 0x48 && b[1] == 0x81 && b[2] == 0xc4);
	int added_before_pc = (b[4] == 0x48 && b[5] == 0x83 && b[6] == 0xc4) || (b[1] == 0x48 && b[2] == 0x81 && b[3] == 0xc4);
	/* cmp rsp, [r15 + n] and mov r10, [r15 + n]: the polls since JDK 16 and of JDK 10 to 15;
	 * test eax, [rip + n] before. */
	int poll_next = (b[9] == 0x49 && b[10] == 0x3b && b[11] == 0xa7) || (b[9] == 0x4d && b[10] == 0x8b && b[11] == 0x97)
			|| (b[9] == 0x85 && b[10] == 0x05) || b[9] == 0xc3;

	if (b[8] == 0xc3 || b[8] == 0xc2)
		return 1;
	if (b[8] == 0x5d && (added_before_pc || (frame_words == 2 && poll_next)))
		return 2;
	if (b[7] == 0x5d && added_before_pop)
		return 1;
	if (b[7] == 0x5d && frame_words == 2
	    && ((b[8] == 0x49 && b[9] == 0x3b && b[10] == 0xa7) || (b[8] == 0x4d && b[9] == 0x8b && b[10] == 0x97)
		|| (b[8] == 0x85 && b[9] == 0x05)))
		return 1;
	if (b[8] == 0x0f && b[9] == 0x87 && b[1] == 0x49 && b[2] == 0x3b && b[3] == 0xa7)
		return 1;
	if (b[8] == 0x41 && b[9] == 0x85 && b[10] == 0x02 && b[11] == 0xc3 && b[1] == 0x4d && b[2] == 0x8b && b[3] == 0x97)
		return 1;
	if (b[8] == 0x85 && b[9] == 0x05 && b[14] == 0xc3)
		return 1;
	/* Behind the method, where a return that was stopped goes: lea r10, [rip + n];
	 * mov [r15 + n], r10; jmp handler. */
	if (b[8] == 0x4c && b[9] == 0x8d && b[10] == 0x15 && b[15] == 0x4d && b[16] == 0x89 && b[17] == 0x97)
		return 1;
	if (b[8] == 0x4d && b[9] == 0x89 && b[10] == 0x97 && b[1] == 0x4c && b[2] == 0x8d && b[3] == 0x15)
		return 1;
	if (b[8] == 0xe9 && b[1] == 0x4d && b[2] == 0x89 && b[3] == 0x97)
		return 1;
	return 0;
}

static __always_inline __u64 code_begin(struct walk *w, const struct jvm_code *jvm)
{
	__u64 begin = HEAD_FIELD(w, jvm->code_begin);

	return jvm->code_begin_is_offset ? w->blob + begin : begin;
}

static __always_inline int is_deopt_handler(struct walk *w, const struct jvm_code *jvm, __u64 handler, __u64 pc)
{
	return pc == (jvm->deopt_is_offset ? w->blob + handler : handler);
}

/* A frame of an nmethod. */
VERIFIED_ONCE int walk_compiled(struct walk *w, const struct jvm_code *jvm)
{
	if (!w || !jvm)
		return 0;
	__u64 begin = code_begin(w, jvm), size = (__u32)HEAD_FIELD(w, jvm->size);
	__u64 complete = begin + (__s32)HEAD_FIELD(w, jvm->frame_complete), handler = HEAD_FIELD(w, jvm->deopt_handler);
	__u64 compile_id = (__u32)HEAD_FIELD(w, jvm->compile_id), pc = w->pc;
	__s64 frame_words = (__s32)HEAD_FIELD(w, jvm->frame_size);
	__u64 cfa, saved[2];

	if (is_deopt_handler(w, jvm, handler, pc)
	    || (jvm->has_deopt_mh && is_deopt_handler(w, jvm, HEAD_FIELD(w, jvm->deopt_mh_handler), pc))) {
		__u64 original;

		if (!read_word(w->sp + (__u32)HEAD_FIELD(w, jvm->orig_pc_offset), &original) && original - w->blob < size)
			pc = original;
	}
	push_frame(w, FRAME_COMPILED, w->blob, ((pc - w->blob) & 0xffffffff) | compile_id << 32);
	if (frame_words == 0 && w->exact) {
		/* An intrinsic of method handles (invokeBasic, linkToStatic …) goes on to
		 * its target by a jump. */
		__u64 top;

		if (read_word(w->sp, &top))
			return CUT_STACK_UNREADABLE;
		if (returns_to_java(jvm, top))
			return go_on(w, top, w->sp + 8, w->fp);
	}
	if (frame_words <= 0 || frame_words > LARGEST_FRAME / 8)
		return CUT_BLOB_WITHOUT_FRAME;
	if (w->exact) {
		if (w->pc < complete)
			return walk_prologue(w, complete, frame_words);
		switch (epilogue(w, frame_words)) {
		case 1:
			return go_on_top(w, w->sp + 8);
		case 2:
			return go_on_saved(w, w->sp + 16);
		}
	}
	cfa = w->sp + 8 * frame_words;
	if (read_user(saved, 16, cfa - 16))
		return CUT_STACK_UNREADABLE;
	if (in_code_cache(jvm, saved[1]))
		return go_on(w, saved[1], cfa, saved[0]);
	/* Barrier stubs behind a method save registers around a call: its frame lies
	 * higher than it should. */
	if (scan_stack(w, jvm, begin, w->blob + size))
		return go_on_saved(w, w->scan_found + 8);
	return CUT_COMPILED_CALLER;
}

#endif
