/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Frames in the code cache of a HotSpot JVM (x86-64, JDK 8 to 25).
 *
 *   pc ─▶ segment map ─▶ CodeBlob ─▶ by its name: nmethod, vtable, adapter, stub
 *   pc in the interpreter ─▶ fp
 *
 * Facts: src/hotspot/share/{memory/heap,code/codeBlob,code/nmethod}.hpp, cpu/x86/{frame_x86,macroAssembler_x86,
 * sharedRuntime_x86_64,c1_FrameMap_x86}.*. A compiled frame, from its stack pointer up: locals …,
 * caller's rbp, return address; all callers of Java code are in the code cache too, the stub that
 * the JVM calls Java through among them.
 */
#ifndef FATHOM_HOTSPOT_H
#define FATHOM_HOTSPOT_H

#include "code_cache.h"
#include "compiled.h"
#include "interpreter.h"
#include "stubs.h"

/* A frame anywhere in the code cache. */
VERIFIED_ONCE int walk_java_frame(struct walk *w, __u64 at)
{
	if (!w)
		return 0;
	const struct jvm_code *jvm = w->process.jvm ? jvm_at(w->process.jvm - 1) : NULL;
	__u64 name_at, name = 0, stub_pc = w->pc;
	__u32 stub_exact = w->exact;
	int reason;

	if (!jvm) {
		push_frame(w, FRAME_NATIVE, w->pc, 0);
		return CUT_JVM_NOT_READ;
	}
	if (w->map.kind == MAPPING_INTERPRETER) {
		w->row.kind = ROW_INTERPRETED;
		if (w->exact && find_row(w, at))
			return CUT_ROW_TABLE;
		if (w->row.kind == ROW_INTERPRETED || w->row.kind == ROW_NONE)
			return walk_interpreted(w, jvm);
		return walk_interpreter_edge(w, jvm);
	}
	if (w->map.kind == MAPPING_STUBS && !at_return_barrier(w, jvm)) {
		if (find_row(w, at))
			return CUT_ROW_TABLE;
		if (w->row.kind == ROW_RA_REGISTER && w->exact && in_code_cache(jvm, w->registers[w->row.fp & 15])) {
			/* It was jumped to, from a frame that is whole. */
			push_frame(w, FRAME_STUB, w->pc, 0);
			w->pc = w->registers[w->row.fp & 15];
			w->exact = 0;
			return WALK_ON;
		}
		if (w->row.kind == ROW_SP || w->row.kind == ROW_FP) {
			reason = walk_stub_by_row(w, jvm, at);
			if (reason == WALK_ON) {
				push_walked(w, FRAME_STUB, stub_pc, stub_exact);
				return WALK_ON;
			}
		}
	}
	reason = find_blob(w, jvm, at);
	if (reason != WALK_ON) {
		push_frame(w, FRAME_STUB, w->pc, 0);
		return reason;
	}
	name_at = HEAD_FIELD(w, jvm->name);
	if (name_at == jvm->nmethod_name && name_at)
		name = NAME_NMETHOD;
	else if (name_at == jvm->native_nmethod_name && name_at)
		name = NAME_NATIVE_NMETHOD;
	else
		read_word(name_at, &name);
	if (name == NAME_NMETHOD || name == NAME_NATIVE_NMETHOD)
		return walk_compiled(w, jvm);
	push_frame(w, FRAME_STUB, w->pc, 0);
	if (name == NAME_VTABLE || name == NAME_METHOD_HANDLE)
		return go_on_top(w, w->sp + 8);
	if (name == NAME_ADAPTER)
		return walk_adapter(w, jvm);
	return walk_stub(w, jvm);
}

#endif
