/* Publishes the span that a thread is in, as OTEP 4947 has it: a record for each thread, to which
 * an exported thread-local variable points. Also for Java, as native methods of the class Spans. */
#include <stdint.h>
#include <string.h>

#define EXPORTED __attribute__((visibility("default")))

struct record {
	uint8_t trace_id[16];
	uint8_t span_id[8];
	uint8_t valid;
	uint8_t trace_flags;
	uint16_t attributes;
};

EXPORTED __thread struct record *otel_thread_ctx_v1;
static __thread struct record own;

static void number(uint8_t *into, int bytes, uint64_t of)
{
	memset(into, 0, bytes);
	for (int i = 0; i < 8; i++)
		into[bytes - 1 - i] = of >> (8 * i);
}

EXPORTED void spans_enter(uint64_t trace, uint64_t span)
{
	otel_thread_ctx_v1 = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	number(own.trace_id, 16, trace);
	number(own.span_id, 8, span);
	own.valid = 1;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	otel_thread_ctx_v1 = &own;
}

EXPORTED void spans_leave(void)
{
	otel_thread_ctx_v1 = 0;
}

EXPORTED void Java_Spans_enter(void *env, void *type, int64_t trace, int64_t span)
{
	(void)env, (void)type;
	spans_enter(trace, span);
}

EXPORTED void Java_Spans_leave(void *env, void *type)
{
	(void)env, (void)type;
	spans_leave();
}
