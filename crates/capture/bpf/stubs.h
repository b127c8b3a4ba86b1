/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Frames of stubs, adapters and the return barrier of virtual threads. */
#ifndef FATHOM_STUBS_H
#define FATHOM_STUBS_H

#include "code_cache.h"

VERIFIED_ONCE int find_mapping(struct walk *w, __u64 at);

/*
 * A stub by its rows. They are true where the stub was followed from its real entry: when they lead
 * to no code, the walk is put back, for the blob to decide.
 */
VERIFIED_ONCE int walk_stub_by_row(struct walk *w, const struct jvm_code *jvm, __u64 at)
{
	if (!w || !jvm)
		return 0;
	__u64 pc = w->pc, sp = w->sp, fp = w->fp, exact = w->exact;
	int reason = apply_row(w);

	if (reason == WALK_ON && (in_code_cache(jvm, w->pc) || !find_mapping(w, w->pc - 1)))
		return WALK_ON;
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->exact = exact;
	return find_mapping(w, at) ? CUT_ROW_TABLE : CUT_NO_ROW;
}

/* The state of the CPU that push_CPU_state leaves is 3 KB at most
 * (FPUStateSizeInWords, with AVX-512). */
#define STATE_WORDS 420

static long saved_state_step(__u32 i, void *context)
{
	struct walk *w = *(struct walk **)context;
	__u64 at = w->scan_from + 8 * (__u64)i, word;

	if (read_word(at, &word))
		return 1;
	if (word != at + 40)
		return 0;
	w->scan_found = at;
	return 1;
}

/*
 * An adapter to interpreted code that has called the JVM, to let compiled callers call the method's
 * new code at once (patch_callers_callsite). Before, it saved all registers on an aligned stack:
 * rsp in the twelfth of 16 words, as it was five words higher; in r13 where its own frame begins,
 * with the return address on top.
 */
VERIFIED_ONCE int walk_calling_adapter(struct walk *w, const struct jvm_code *jvm)
{
	if (!w || !jvm)
		return 0;
	struct walk *context = w;
	__u64 sp, pc, fp, captured;

	w->scan_from = w->sp;
	w->scan_found = 0;
	loop(STATE_WORDS, saved_state_step, &context);
	if (!w->scan_found || read_word(w->scan_found - 72, &sp) || read_word(w->scan_found - 8, &fp)
	    || read_word(w->scan_found + 32, &captured) || read_word(sp, &pc))
		return CUT_ADAPTER_CALLER;
	if (pc != captured || sp - w->scan_found > 96 || !returns_to_java(jvm, pc))
		return CUT_ADAPTER_CALLER;
	return go_on(w, pc, sp + 8, fp);
}

/*
 * A thread in an adapter between interpreted and compiled calls. Both directions take the
 * return address into rax and the caller's stack pointer into r13, and put the address
 * back before they jump.
 */
VERIFIED_ONCE int walk_adapter(struct walk *w, const struct jvm_code *jvm)
{
	if (!w || !jvm)
		return 0;
	__u64 top, rax = w->registers[RAX];

	if (read_word(w->sp, &top))
		return CUT_STACK_UNREADABLE;
	if (returns_to_java(jvm, top))
		return go_on(w, top, w->sp + 8, w->fp);
	if (w->exact && returns_to_java(jvm, rax) && w->registers[R13] > w->sp && w->registers[R13] - w->sp < LARGEST_FRAME) {
		/* Before it has let the JVM patch its caller, r13 is where the return address still
		 * lies, not behind it. */
		__u64 at_r13 = 0;

		read_word(w->registers[R13], &at_r13);
		return go_on(w, rax, w->registers[R13] + (at_r13 == rax ? 8 : 0), w->fp);
	}
	return w->exact ? CUT_ADAPTER_CALLER : walk_calling_adapter(w, jvm);
}

/*
 * The oldest frame of a virtual thread that is on the stack returns to the return barrier, which
 * brings its callers back from the heap: the one stub that is returned to without having called. fp
 * is that of the thread's entry then.
 */
static __always_inline int at_return_barrier(struct walk *w, const struct jvm_code *jvm)
{
	return jvm->has_continuations && !w->exact && !call_before(w->pc, 0, ~0ull);
}

/* A stub without rows: by the size of its frame, or by looking for a call of it. */
VERIFIED_ONCE int walk_stub(struct walk *w, const struct jvm_code *jvm)
{
	if (!w || !jvm)
		return 0;
	__u64 begin = code_begin(w, jvm), size = (__u32)HEAD_FIELD(w, jvm->size), end = w->blob + size, saved[2], cfa;
	__s64 frame_words = (__s32)HEAD_FIELD(w, jvm->frame_size);

	if (at_return_barrier(w, jvm))
		return go_on_saved(w, w->fp + 16);
	if (!w->exact && w->pc == jvm->call_stub_return) /* the JVM called Java: a frame of C */
		return go_on_saved(w, w->fp + 16);
	if (w->exact) {
		__u64 top;

		if (read_word(w->sp, &top))
			return CUT_STACK_UNREADABLE;
		if (in_code_cache(jvm, top) && call_before(top, begin, end) == 2)
			return go_on(w, top, w->sp + 8, w->fp);
	}
	if (frame_words > 1 && frame_words < LARGEST_FRAME / 8) {
		cfa = w->sp + 8 * frame_words;
		if (read_user(saved, 16, cfa - 16))
			return CUT_STACK_UNREADABLE;
		if (in_code_cache(jvm, saved[1]) && (!w->exact || call_before(saved[1], begin, end)))
			return go_on(w, saved[1], cfa, saved[0]);
	}
	if (scan_stack(w, jvm, begin, end)) {
		cfa = w->scan_found + 8;
		return w->fp == cfa - 16 ? go_on_saved(w, cfa) : go_on_top(w, cfa);
	}
	return CUT_STUB_CALLER;
}

#endif
