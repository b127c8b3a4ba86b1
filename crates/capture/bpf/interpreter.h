/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Frames of the template interpreter: whole, and where it builds or undoes them. */
#ifndef FATHOM_INTERPRETER_H
#define FATHOM_INTERPRETER_H

#include "code_cache.h"

/* A frame of the interpreter, whole. */
VERIFIED_ONCE int walk_interpreted(struct walk *w, const struct jvm_code *jvm)
{
	if (!w || !jvm)
		return 0;
	__u64 const_method, bytecode, method, sender, bci;
	/* Words from fp - 8 to fp + 1. */
	__u64 *slot = w->words;

	if (read_user(slot, 80, w->fp - 64)) {
		push_frame(w, FRAME_STUB, w->pc, 0);
		return CUT_STACK_UNREADABLE;
	}
	method = slot[(8 + jvm->slot_method) & 7];
	sender = slot[(8 + jvm->slot_sender_sp) & 7];
	bytecode = slot[(8 + jvm->slot_bytecode) & 7];
	if (w->fp < w->sp || w->fp - w->sp > LARGEST_FRAME || sender <= w->fp || sender - w->fp > LARGEST_FRAME
	    || read_word(method + jvm->const_method.offset, &const_method)) {
		push_frame(w, FRAME_STUB, w->pc, 0);
		return CUT_INTERPRETED_FRAME;
	}
	/* The interpreter stores its place at calls only; until then it is in r13. */
	bci = bytecode - const_method - jvm->const_method_size;
	if (w->exact && w->registers[R13] - const_method - jvm->const_method_size < 0xffff)
		bci = w->registers[R13] - const_method - jvm->const_method_size;
	bci = bci < 0xffff ? bci + 1 : 0;
	push_frame(w, FRAME_INTERPRETED, method, (const_method & ((1ull << 48) - 1)) | bci << 48);
	return go_on(w, slot[9], sender, slot[8]);
}

/* The frame of a method that the interpreter enters: it is in rbx. */
static __always_inline void push_entered(struct walk *w, const struct jvm_code *jvm)
{
	__u64 method = w->registers[RBX], const_method;

	if (read_word(method + jvm->const_method.offset, &const_method))
		push_frame(w, FRAME_STUB, w->pc, 0);
	else
		push_frame(w, FRAME_INTERPRETED, method, (const_method & ((1ull << 48) - 1)) | 1ull << 48);
}

/* The youngest frame where the interpreter builds or undoes it: see src/unwind/interpreter.rs. */
VERIFIED_ONCE int walk_interpreter_edge(struct walk *w, const struct jvm_code *jvm)
{
	if (!w || !jvm)
		return 0;
	__u64 slot[3], pc, sp, fp = w->fp;

	switch (w->row.kind) {
	case ROW_INTERPRETED_EARLY:
		push_entered(w, jvm);
		if (read_user(slot, 24, w->fp - 8))
			return CUT_STACK_UNREADABLE;
		sp = slot[0];
		fp = slot[1];
		pc = slot[2];
		break;
	case ROW_RA_REGISTER:
		if ((w->row.cfa & 15) == R13)
			push_entered(w, jvm);
		else
			push_frame(w, FRAME_STUB, w->pc, 0);
		pc = w->registers[w->row.fp & 15];
		sp = w->registers[w->row.cfa & 15];
		break;
	default:
		sp = w->registers[w->row.kind == ROW_SENDER_R13 ? R13 : RBX];
		if (w->row.kind == ROW_SENDER_R13)
			push_entered(w, jvm);
		else
			push_frame(w, FRAME_STUB, w->pc, 0);
		if (read_word(w->sp + w->row.cfa - 8, &pc)
		    || (w->row.fp && read_word(w->sp + w->row.cfa + 8 * (__s64)w->row.fp, &fp)))
			return CUT_STACK_UNREADABLE;
	}
	/* The caller's stack pointer may be where the stack pointer is: the return address
	 * is in a register then. */
	if (!in_code_cache(jvm, pc) || sp < w->sp || sp - w->sp > LARGEST_FRAME)
		return CUT_INTERPRETED_FRAME;
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->exact = 0;
	return WALK_ON;
}

#endif
