/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What user space and the unwinder share. Written and read by src/unwind/. */
#ifndef FATHOM_UNWIND_TYPES_H
#define FATHOM_UNWIND_TYPES_H

enum unwind_limit {
	MOST_FRAMES = 1024,
	MOST_KERNEL_FRAMES = 127, /* kernel.perf_event_max_stack by default */
	CODE_PAGE_SHIFT = 10,     /* from bytes of code to pages of rows */
	BLOB_HEAD = 512,          /* of a blob, that is read at most: sizeof(nmethod) is 376 at most
	                           * on JDK 8 to 25; a power of two for the verifier */
	MOST_KEPT_STACK = 64 << 10, /* bytes of a stack that are kept at most */
};

enum cut_reason {
#define CUT(name, text) CUT_##name,
#include "cut_reasons.h"
#undef CUT
	CUT_REASONS
};

/*
 * An unwind row: how the caller's frame is found from `at` on (bytes within a page of code) until
 * the next row. "cfa": the caller's stack pointer; its return address lies in the word below.
 */
enum row_kind {
	ROW_NONE,        /* nothing is known: a hole between functions, or hand-written code */
	ROW_END,         /* the root of a thread */
	ROW_SP,          /* cfa = sp + cfa */
	ROW_FP,          /* cfa = fp + cfa */
	ROW_FP_DEREF,    /* cfa = *(fp + cfa); the caller's fp at *fp: functions
	                  * that align their stack */
	ROW_PLT,         /* cfa = sp + 8, + 8 from the 12th byte of an entry of 16 on */
	ROW_SIGNAL,      /* sp points to a ucontext */
	ROW_UNSUPPORTED,
	ROW_INTERPRETED, /* a whole interpreted frame at fp */
	ROW_RA_REGISTER, /* return address in register `fp`; caller's sp in register
	                  * `cfa`; fp is the caller's */
	/* Where an interpreted method is entered or left: return address and fp as with ROW_SP,
	 * caller's sp in a register. */
	ROW_SENDER_R13,
	ROW_SENDER_RBX,
	ROW_INTERPRETED_EARLY, /* an interpreted frame without its method yet, which is in rbx */
};

struct unwind_row {
	__u16 at;
	__u8 kind;
	__s8 fp;   /* caller's fp at cfa + 8 * fp; 0: it is unchanged */
	__s32 cfa;
};

/* Rows of one page of code are one range of the array of rows. */
struct row_page {
	__u32 first;
	__u32 rows;
};

enum mapping_kind {
	MAPPING_ROWS,      /* a file with unwind rows */
	MAPPING_ANONYMOUS, /* executable memory of no file */
	MAPPING_CODE_HEAP, /* heap `heap` of a JVM's code cache */
	MAPPING_INTERPRETER, /* the interpreter of a JVM; rows for what is no
	                      * whole interpreted frame */
	MAPPING_STUBS,     /* stubs of a JVM with rows */
};

/* A range of a process' code. Those of a process are one range of the array of
 * mappings, by address. */
struct code_mapping {
	__u64 start;
	__u64 end;
	__u64 origin;     /* address at which its first page of code begins */
	__u32 first_page;
	__u32 pages;
	__u32 kind;
	__u32 heap;
};

struct process_code {
	__u32 first_mapping;
	__u32 mappings;
	__u32 jvm;         /* index in the array of JVMs, plus one; 0: none */
	__u32 flags;
	__u32 context_kind; /* enum context_kind */
	__u32 context_module;
	__u64 context_offset;
};

/* Where a thread has the address of its trace context (thread_context.h). */
enum context_kind {
	CONTEXT_NOWHERE, /* the process offers none */
	CONTEXT_STATIC,  /* `context_offset` from the thread pointer */
	CONTEXT_DYNAMIC, /* `context_offset` within the thread's block of module
	                  * `context_module` */
};

/* Whether a thread was in a span of a trace when its sample was taken. */
enum context_state {
	CONTEXT_UNKNOWN, /* not read, or not readable */
	CONTEXT_NONE,
	CONTEXT_SPAN,
};

enum process_flag {
	PROCESS_JVM_NOT_READ = 1, /* it is a JVM, of which nothing was read yet */
	PROCESS_KEEPS_STACKS = 2, /* a stack that cannot be walked is sent as it lies in
	                           * memory: see kept_stack */
};

/* A field of an object of the JVM: see fathom_hotspot::layout::Field. */
struct jvm_field {
	__u16 offset;
	__u8 width;
	__u8 is_signed;
};

#define MOST_CODE_HEAPS 8
struct code_heap {
	__u64 low;
	__u64 end;
	__u64 segment_map;
	__u32 shift;
	__u32 pad;
};

/* See fathom_hotspot::code_cache::UnwindConstants, of which this is what the walk needs. */
struct jvm_code {
	__u64 interpreter_begin;
	__u64 interpreter_end;
	/* Address of the name "nmethod" and of "native nmethod" where known: spares reading
	 * the name. 0: not known. */
	__u64 nmethod_name;
	__u64 native_nmethod_name;
	__u64 has_continuations; /* JDK 20 on: virtual threads, whose older
	                          * frames may be on the heap */
	__u64 call_stub_return; /* where Java returns to that the JVM called; 0: not known */
	struct jvm_field name, size, frame_size, frame_complete, code_begin, data_offset;
	struct jvm_field compile_id, orig_pc_offset, deopt_handler, deopt_mh_handler;
	struct jvm_field const_method, code_size;
	__u32 block_size;
	__u32 head_size;         /* sizeof(nmethod) */
	__u32 blob_head_size;    /* sizeof(CodeBlob) */
	__u32 const_method_size;
	__u8 code_begin_is_offset;
	__u8 deopt_is_offset;
	__u8 has_deopt_mh;
	__s8 slot_sender_sp, slot_method, slot_bytecode;
	__u8 heaps;
	__u8 pad;
	struct code_heap heap[MOST_CODE_HEAPS];
};

enum frame_kind {
	FRAME_NATIVE,      /* low: pc */
	FRAME_COMPILED,    /* low: nmethod; high: pc - nmethod, compile id above 32 bits */
	FRAME_INTERPRETED, /* low: Method*; high: ConstMethod*, bytecode index + 1 above 48 bits */
	FRAME_STUB,        /* low: pc */
};

/* A frame as walked. The kind stands above 56 bits of `low`; bit 55 is set where the pc is
 * exact, no return address. */
struct walked_frame {
	__u64 low;
	__u64 high;
};

enum stack_sample_kind {
	SAMPLE_CPU = 1,
	SAMPLE_WAIT = 2,
	SAMPLE_MEMORY = 3,
	SAMPLE_KEPT = 4, /* a CPU sample as a kept_stack */
};

/* What a program sends: this head, then `frames` walked frames, leaf first, then `kernel_frames`
 * addresses, leaf first. */
struct stack_sample {
	__u64 t_ns;      /* CLOCK_MONOTONIC */
	__u64 cut_pc;    /* where the walk ended, unless it reached the root */
	__u32 pid;
	__u32 tid;
	__u16 frames;
	__u16 kernel_frames;
	__u8 kind;
	__u8 reason;     /* enum cut_reason */
	__u8 context;    /* enum context_state */
	__u8 pad;
	char comm[16];
	__u64 weight;    /* of a CPU sample: what the perf event counted since the
	                  * last, in its unit; else 0 */
	__u8 trace_id[16]; /* of CONTEXT_SPAN */
	__u8 span_id[8];
};

/*
 * A stack that could not be walked to its root when the sample was taken, because user space had
 * not read its process far enough: registers and memory, to be walked by the same unwinder in user
 * mode when more is known (src/unwind/kept.rs).
 */
/* Functions may use so much below the stack pointer (x86-64 ABI). */
#define RED_ZONE 128
struct kept_head {
	struct stack_sample sample; /* no frames: kind SAMPLE_KEPT; `kernel_frames` stand in
	                             * `kernel`, `reason` is that of the walk */
	__u64 pc;
	__u64 registers[16];        /* as instructions number them; of callee-saved ones only those
	                             * that the unwinder uses */
	__u64 from;                 /* address of the first byte of the stack */
	__u64 end;                  /* of the mapping that it lies in */
	__u32 bytes;
	__u32 pad;
	__u64 kernel[MOST_KERNEL_FRAMES + 1];
};

struct kept_stack {
	struct kept_head head;
	__u8 stack[MOST_KEPT_STACK];
};

#endif
