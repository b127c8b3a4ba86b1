/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* Frames of code with unwind rows: native code by its .eh_frame, stubs and the interpreter
 * by what was decoded. */
#ifndef FATHOM_NATIVE_H
#define FATHOM_NATIVE_H

#include "walk.h"

/* Finds the row of an address within w->map: one look at its page of code, then some steps
 * among the page's rows. */
VERIFIED_ONCE int find_row(struct walk *w, __u64 at)
{
	if (!w)
		return 0;
	__u64 offset = at - w->map.origin;
	__u64 page = offset >> CODE_PAGE_SHIFT;
	__u32 low = 0, high, first;

	w->row.kind = ROW_NONE;
	if (page >= w->map.pages)
		return 0;
	const struct row_page *p = page_at(w->map.first_page + page);

	if (!p)
		return 1;
	offset &= (1 << CODE_PAGE_SHIFT) - 1;
	first = p->first;
	high = p->rows;
	/* A row an address at most, hence 11 steps. */
	for (int i = 0; i < 11 && low < high; i++) {
		__u32 middle = (low + high) / 2;
		const struct unwind_row *row = row_at(first + middle);

		if (!row)
			return 1;
		if (row->at <= offset) {
			w->row = *row;
			low = middle + 1;
		} else {
			high = middle;
		}
	}
	return 0;
}

/* A ucontext, as __restore_rt finds it: offsets of the registers from the stack pointer (x86-64
 * uapi asm/ucontext.h). */
#define UCONTEXT_REGISTERS 40
enum { UC_R8, UC_R9, UC_R10, UC_R11, UC_R12, UC_R13, UC_R14, UC_R15, UC_RDI, UC_RSI, UC_RBP, UC_RBX, UC_RDX, UC_RAX, UC_RCX,
       UC_RSP, UC_RIP, UC_WORDS };

VERIFIED_ONCE int walk_signal_frame(struct walk *w)
{
	if (!w)
		return 0;
	__u64 uc[UC_WORDS];

	if (read_user(uc, sizeof(uc), w->sp + UCONTEXT_REGISTERS))
		return CUT_STACK_UNREADABLE;
	/* The stack may be another one (sigaltstack): no progress can be asked for. */
	w->pc = uc[UC_RIP];
	w->sp = uc[UC_RSP];
	w->fp = uc[UC_RBP];
	w->registers[RAX] = uc[UC_RAX];
	w->registers[RCX] = uc[UC_RCX];
	w->registers[RDX] = uc[UC_RDX];
	w->registers[RBX] = uc[UC_RBX];
	w->registers[RSI] = uc[UC_RSI];
	w->registers[RDI] = uc[UC_RDI];
	w->registers[R13] = uc[UC_R13];
	w->exact = 1;
	return WALK_ON;
}

/* Goes on to the caller by w->row. */
VERIFIED_ONCE int apply_row(struct walk *w)
{
	if (!w)
		return 0;
	__u64 cfa, fp = w->fp, saved[2];

	switch (w->row.kind) {
	case ROW_END:
		return CUT_WHOLE;
	case ROW_SP:
		cfa = w->sp + w->row.cfa;
		break;
	case ROW_FP:
		cfa = w->fp + w->row.cfa;
		break;
	case ROW_FP_DEREF:
		if (read_word(w->fp + w->row.cfa, &cfa) || read_word(w->fp, &fp))
			return CUT_STACK_UNREADABLE;
		break;
	case ROW_PLT:
		cfa = w->sp + 8 + ((w->pc & 15) >= 11 ? 8 : 0);
		break;
	case ROW_SIGNAL:
		return walk_signal_frame(w);
	case ROW_NONE:
		/* Hand-written code without tables, such as SpinPause in libjvm, calls
		 * nothing and pushes nothing. */
		if (!w->exact)
			return CUT_NO_ROW;
		cfa = w->sp + 8;
		break;
	default:
		return CUT_UNSUPPORTED_ROW;
	}
	if (read_user(saved, 16, cfa - 16))
		return CUT_STACK_UNREADABLE;
	if (w->row.fp == -2)
		fp = saved[0];
	else if (w->row.fp && read_word(cfa + 8 * (__s64)w->row.fp, &fp))
		return CUT_STACK_UNREADABLE;
	return go_on(w, saved[1], cfa, fp);
}

#endif
