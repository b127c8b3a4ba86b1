/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * What a CPU does besides its thread: handles an interrupt, or what interrupts leave
 * for later (a softirq).
 *
 *   hrtimer, irq_handler, irq_work: entry ──▶ hard ──▶ exit ──▶ 0        ─┐
 *   softirq: entry ──▶ soft ──▶ exit ──▶ 0                                ├─▶ sched_waking: who wakes
 *   netif_rx ──▶ queued ──▶ entry of NET_RX ──▶ for_thread ──▶ exit ──▶ 0 ─┘
 *
 * A thread that is woken meanwhile was not woken by the one that happens to run there. The count
 * that the kernel itself keeps of this, __preempt_count, is a variable of each CPU that programs
 * are refused on many kernels.
 *
 * What a thread sends to a socket of its own host is received in a softirq that runs at once in its
 * place, within the call that sends: there the thread did wake the receiver. The kernel puts such a
 * packet on the CPU's own queue (netif_rx), which no interface with a device behind it does, and no
 * softirq comes in between, as they are off until the packet is sent. Packets of a device that wait
 * at that moment are received on the way, and pass for the thread's.
 *
 * Interrupts by which CPUs signal each other something (call_function, reschedule) are left
 * out: they are the most frequent ones, and wake nobody, but leave that to softirqs or to
 * the CPU that sent them.
 *
 * Written by interrupts.bpf.c, one map for all programs of a recording. Read by
 * src/bpf/interrupts.rs.
 */
#ifndef FATHOM_INTERRUPTS_H
#define FATHOM_INTERRUPTS_H

#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "kernel.h"
#include "types.h"

/* What stands for a thread's id where an interrupt woke: ids of threads are below 2^22
 * (include/linux/threads.h). */
enum waker { NO_THREAD = 1U << 31 };
#define WOKEN_BY(kind, number) (NO_THREAD | (kind) << 24 | ((number) & 0xffff))

enum interrupt_kind {
	BY_TIMER = 1,
	BY_DEVICE = 2,  /* with the number of its interrupt */
	BY_DISK = 3,    /* the same, of a thread that waits for a device of storage */
	BY_SOFTIRQ = 4, /* with its number */
	BY_OTHER = 5,
};

NAMED(waker);
NAMED(interrupt_kind);

/* include/linux/interrupt.h */
#define NET_RX_SOFTIRQ 3

struct interrupts {
	__u32 hard; /* what its interrupt wakes as; 0: it is in none */
	__u32 soft; /* the same of its softirq */
	__u32 queued;     /* thread that has queued a packet to be received on this CPU */
	__u32 for_thread; /* thread whose packets the softirq receives */
};

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct interrupts);
} interrupts SEC(".maps");

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct___waits {
	unsigned in_iowait : 1;
};

#pragma clang attribute pop

static __always_inline struct interrupts *own_interrupts(void)
{
	__u32 zero = 0;

	return bpf_map_lookup_elem(&interrupts, &zero);
}

/* Who wakes a thread, on this CPU and now: id of a thread, or NO_THREAD with what else. */
static __always_inline __u32 waker_of(struct task_struct___fathom *woken)
{
	struct interrupts *own = own_interrupts();
	struct task_struct___fathom *current = (void *)bpf_get_current_task_btf();

	if (own && own->hard) {
		struct task_struct___waits *waits = (void *)woken;

		if (own->hard >> 24 == WOKEN_BY(BY_DEVICE, 0) >> 24 && bpf_core_field_exists(waits->in_iowait)
		    && BPF_CORE_READ_BITFIELD_PROBED(waits, in_iowait))
			return WOKEN_BY(BY_DISK, own->hard);
		return own->hard;
	}
	if (own && own->soft && !own->for_thread)
		return own->soft;
	return tid_of(current);
}

/* A CPU that goes from one thread to another is in no interrupt. Where softirqs can lose the CPU
 * (PREEMPT_RT), they run in threads of their own, which are named then. */
static __always_inline void leave_interrupts(void)
{
	struct interrupts *own = own_interrupts();

	if (own)
		own->hard = own->soft = own->for_thread = 0;
}

#endif
