/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Frames in the code cache of a HotSpot JVM (x86-64, JDK 8 to 25).
 *
 *   pc ─▶ segment map ─▶ CodeBlob ─▶ by its name: nmethod, vtable, adapter, stub
 *   pc in the interpreter ─▶ fp
 *
 * Facts: src/hotspot/share/{memory/heap,code/codeBlob,code/nmethod}.hpp, cpu/x86/{frame_x86,macroAssembler_x86,
 * sharedRuntime_x86_64,c1_FrameMap_x86}.*. A compiled frame, from its stack pointer up: locals …, caller's rbp, return
 * address; all callers of Java code are in the code cache too, the stub that the JVM calls Java through among them.
 */
#ifndef FATHOM_HOTSPOT_H
#define FATHOM_HOTSPOT_H

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
static __noinline __u64 head_field(struct walk *w, __u32 offset, __u32 width, __u32 is_signed)
{
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

static __always_inline int in_code_cache(const struct jvm_code *jvm, __u64 pc)
{
	for (int i = 0; i < MOST_CODE_HEAPS; i++)
		if (i < jvm->heaps && pc >= jvm->heap[i].low && pc < jvm->heap[i].end)
			return 1;
	return 0;
}

/* Finds the blob that holds an address and reads its head. */
static __noinline int find_blob(struct walk *w, const struct jvm_code *jvm, __u64 at)
{
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
 * Whether the word at `pc` is preceded by a call: 2 when it calls into [low, high), 1 when what it calls is not known.
 */
static __always_inline int call_before(__u64 pc, __u64 low, __u64 high)
{
	__u8 b[16];

	if (read_user(b, 16, pc - 16))
		return 0;
	if (b[11] == 0xe8) { /* call rel32 */
		__u64 target = pc + (__s64)(__s32)(b[12] | b[13] << 8 | b[14] << 16 | (__u32)b[15] << 24);

		return target >= low && target < high ? 2 : 0;
	}
	if (b[13] == 0x41 && b[14] == 0xff && (b[15] & 0xf8) == 0xd0) { /* call r8…r15 */
		if (b[3] == 0x49 && (b[4] & 0xf8) == 0xb8) { /* … that was loaded with a number just before */
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
 * Looks up the stack for a return address behind a call into [low, high). A value that merely lies in the code cache is
 * not enough: dead slots are full of return addresses of calls that returned long ago.
 */
static __noinline int scan_stack(struct walk *w, const struct jvm_code *jvm, __u64 low, __u64 high)
{
	struct scan scan = { w, jvm };

	w->scan_from = w->sp;
	w->scan_low = low;
	w->scan_high = high;
	w->scan_found = 0;
	loop(SCAN_WORDS, scan_step, &scan);
	return w->scan_found != 0;
}

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

/*
 * The youngest frame before its method's frame is complete: how far is it? The prologue is
 *
 *   [cache check] [mov [rsp - n], eax] push rbp [mov rbp, rsp] sub rsp, N   …   or   sub rsp, N; mov [rsp + n], rbp  …
 *
 * and the size of the frame tells N, so that the one `sub` still to come is found for certain.
 */
static __noinline int walk_prologue(struct walk *w, __u64 complete, __u32 frame_words)
{
	__u64 pc = w->pc;
	__u32 left = complete > pc && complete - pc < CODE_WINDOW ? complete - pc : CODE_WINDOW;
	__u32 bytes = 8 * frame_words, size = 0, at = 0;
	const __u8 *b = w->code;

	if (read_user(w->code, CODE_WINDOW, pc))
		return CUT_BLOB_UNREADABLE;
	if (frame_words <= 2) {
		for (__u32 i = 0; i < 32 && i < left; i++)
			if (w->code[i] == 0x55) /* push rbp is still to come */
				return go_on_top(w, w->sp + 8);
		return go_on_saved(w, w->sp + 16);
	}
	for (__u32 i = 0; i < CODE_WINDOW && i < left; i++) {
		size = frame_allocation(w, i);
		if (size == bytes - 16 || size == bytes - 8) {
			at = i;
			break;
		}
		size = 0;
	}
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
 * The youngest frame where its method returns: add rsp, N; pop rbp; poll; ret. Gives 0 where the frame is whole, 1 where
 * the return address is on top, 2 where the caller's rbp is.
 */
static __noinline int epilogue(struct walk *w, __u32 frame_words)
{
	const __u8 *b = w->code;

	if (read_user(w->code, 32, w->pc - 8))
		return 0;
	int added_before_pop = (b[3] == 0x48 && b[4] == 0x83 && b[5] == 0xc4) || (b[0] == 0x48 && b[1] == 0x81 && b[2] == 0xc4);
	int added_before_pc = (b[4] == 0x48 && b[5] == 0x83 && b[6] == 0xc4) || (b[1] == 0x48 && b[2] == 0x81 && b[3] == 0xc4);
	/* cmp rsp, [r15 + n] and mov r10, [r15 + n]: the polls since JDK 16 and of JDK 10 to 15; test eax, [rip + n] before. */
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
	/* Behind the method, where a return that was stopped goes: lea r10, [rip + n]; mov [r15 + n], r10; jmp handler. */
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
static __noinline int walk_compiled(struct walk *w, const struct jvm_code *jvm)
{
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
	/* Barrier stubs behind a method save registers around a call: its frame lies higher than it should. */
	if (scan_stack(w, jvm, begin, w->blob + size))
		return go_on_saved(w, w->scan_found + 8);
	return CUT_COMPILED_CALLER;
}

/* A frame of the interpreter, whole. */
static __noinline int walk_interpreted(struct walk *w, const struct jvm_code *jvm)
{
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
static __noinline int walk_interpreter_edge(struct walk *w, const struct jvm_code *jvm)
{
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
	/* The caller's stack pointer may be where the stack pointer is: the return address is in a register then. */
	if (!in_code_cache(jvm, pc) || sp < w->sp || sp - w->sp > LARGEST_FRAME)
		return CUT_INTERPRETED_FRAME;
	w->pc = pc;
	w->sp = sp;
	w->fp = fp;
	w->exact = 0;
	return WALK_ON;
}

static __noinline int find_mapping(struct walk *w, __u64 at);

/*
 * A stub by its rows. They are true where the stub was followed from its real entry: when they lead to no code, the
 * walk is put back, for the blob to tell.
 */
static __noinline int walk_stub_by_row(struct walk *w, const struct jvm_code *jvm, __u64 at)
{
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

/*
 * A thread in an adapter between interpreted and compiled calls. Both directions take the return address into rax and
 * the caller's stack pointer into r13, and put the address back before they jump.
 */
static __noinline int walk_adapter(struct walk *w, const struct jvm_code *jvm)
{
	__u64 top, rax = w->registers[RAX];

	if (read_word(w->sp, &top))
		return CUT_STACK_UNREADABLE;
	if (in_code_cache(jvm, top) && call_before(top, 0, ~0ull))
		return go_on(w, top, w->sp + 8, w->fp);
	if (w->exact && in_code_cache(jvm, rax) && call_before(rax, 0, ~0ull) && w->registers[R13] > w->sp
	    && w->registers[R13] - w->sp < LARGEST_FRAME)
		return go_on(w, rax, w->registers[R13], w->fp);
	return CUT_ADAPTER_CALLER;
}

/*
 * The oldest frame of a virtual thread that is on the stack returns to the return barrier, which brings its callers back
 * from the heap: the one stub that is returned to without having called. fp is that of the thread's entry then.
 */
static __always_inline int at_return_barrier(struct walk *w, const struct jvm_code *jvm)
{
	return jvm->has_continuations && !w->exact && !call_before(w->pc, 0, ~0ull);
}

/* A stub without rows: by the size of its frame, or by looking for a call of it. */
static __noinline int walk_stub(struct walk *w, const struct jvm_code *jvm)
{
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

/* A frame anywhere in the code cache. */
static __noinline int walk_java_frame(struct walk *w, __u64 at)
{
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
