/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/* What a probe of a JVM reports, as it comes through the ring buffer. Read by
 * src/jvm_events/record.rs. */
#ifndef FATHOM_JVM_EVENTS_H
#define FATHOM_JVM_EVENTS_H

#include "types.h"

/* Strings of a probe, and how much of each is kept: names of generated classes and
 * signatures can be very long. */
#define JVM_EVENT_STRINGS 4
#define JVM_EVENT_STRING_BYTES 128
#define JVM_EVENT_NUMBERS 4

struct jvm_string {
	char bytes[JVM_EVENT_STRING_BYTES];
};

struct jvm_event {
	__u64 t_ns;     /* CLOCK_MONOTONIC */
	__u32 slot;     /* which target, as given with the probe */
	__u32 tid;      /* thread, in fathom's pid namespace */
	__u8 kind;      /* which probe, as given with it */
	__u8 strings;   /* how many of the strings are set */
	__u8 numbers;
	__u8 pad;
	__u16 length[JVM_EVENT_STRINGS]; /* whole length of each; what is kept may be shorter */
	__u32 pad2;
	__s64 number[JVM_EVENT_NUMBERS];
	struct jvm_string string[JVM_EVENT_STRINGS];
};

SENT(jvm_event);

#endif
