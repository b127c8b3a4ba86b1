/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * The trace and the span that the current thread is in, as its program publishes them for readers
 * outside (OTEP 4947):
 *
 *   thread pointer ─▶ variable otel_thread_ctx_v1 ─▶ record: trace, span, whether it is valid
 *
 * Where the variable lies is found by user space (src/thread_context/place.rs): that of the
 * program itself and of libraries that were loaded with it at a fixed distance from the thread
 * pointer, that of others in a block which the thread has in its table of modules (glibc's
 * dtv_t: 16 bytes an entry, the number of entries in the one before the first). Only the thread
 * itself writes the record, and it is in the kernel now. No memory is brought in for it: what
 * cannot be read is not known.
 */
#ifndef FATHOM_THREAD_CONTEXT_H
#define FATHOM_THREAD_CONTEXT_H

#include "walk.h"

/* Of the thread pointer: the address of the table of modules (tcbhead_t). */
#define TABLE_OF_MODULES 8
#define MODULE_ENTRY 16
/* What stands for a block that the thread has not asked for yet. */
#define NO_BLOCK (~0ull)

struct context_record {
	__u8 trace_id[16];
	__u8 span_id[8];
	__u8 valid;
	__u8 trace_flags;
	__u16 attributes;
};

/* Reads it into the sample. */
VERIFIED_ONCE int read_thread_context(struct walk *w)
{
	struct task_struct___fathom *task = (void *)bpf_get_current_task_btf();
	struct context_record record;
	__u64 at, table, entries, record_at, trace[2];

	if (!w || !bpf_core_field_exists(struct thread_struct___fathom, fsbase))
		return 0;
	at = task->thread.fsbase;
	if (w->process.context_kind == CONTEXT_DYNAMIC) {
		if (read_word(at + TABLE_OF_MODULES, &table) || read_word(table - MODULE_ENTRY, &entries))
			return 0;
		w->sample.context = CONTEXT_NONE;
		if (w->process.context_module > entries)
			return 0;
		if (read_word(table + (__u64)w->process.context_module * MODULE_ENTRY, &at))
			goto unknown;
		if (!at || at == NO_BLOCK)
			return 0;
	}
	if (read_word(at + w->process.context_offset, &record_at))
		goto unknown;
	w->sample.context = CONTEXT_NONE;
	if (!record_at)
		return 0;
	if (read_user(&record, sizeof(record), record_at))
		goto unknown;
	__builtin_memcpy(trace, record.trace_id, sizeof(trace));
	if (record.valid != 1 || !(trace[0] | trace[1]))
		return 0;
	__builtin_memcpy(w->sample.trace_id, record.trace_id, sizeof(record.trace_id));
	__builtin_memcpy(w->sample.span_id, record.span_id, sizeof(record.span_id));
	w->sample.context = CONTEXT_SPAN;
	return 0;
unknown:
	w->sample.context = CONTEXT_UNKNOWN;
	return 0;
}

#endif
