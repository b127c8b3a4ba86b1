// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/* Remembers what each CPU does besides its thread: see interrupts.h. They run at each interrupt of
 * the host, and store a word. */
#include <linux/bpf.h>
#include "kernel.h"
#include <bpf/bpf_tracing.h>
#include "namespace.h"
#include "interrupts.h"

static __always_inline int in_interrupt(__u32 as)
{
	struct interrupts *own = own_interrupts();

	if (own)
		own->hard = as;
	return 0;
}

/* Timers that a sleeping thread has set: those of the kernel's coarse clock expire in a softirq. */
SEC("tp_btf/hrtimer_expire_entry")
int BPF_PROG(timer_begins)
{
	return in_interrupt(WOKEN_BY(BY_TIMER, 0));
}

SEC("tp_btf/hrtimer_expire_exit")
int BPF_PROG(timer_ends)
{
	return in_interrupt(0);
}

SEC("tp_btf/irq_handler_entry")
int BPF_PROG(device_begins, int number)
{
	return in_interrupt(WOKEN_BY(BY_DEVICE, number));
}

SEC("tp_btf/irq_handler_exit")
int BPF_PROG(device_ends)
{
	return in_interrupt(0);
}

/* What a CPU has put off until it may interrupt itself: readers of perf's and eBPF's
 * buffers are woken there. */
SEC("tp_btf/irq_work_entry")
int BPF_PROG(work_begins)
{
	return in_interrupt(WOKEN_BY(BY_OTHER, 0));
}

SEC("tp_btf/irq_work_exit")
int BPF_PROG(work_ends)
{
	return in_interrupt(0);
}

SEC("tp_btf/softirq_entry")
int BPF_PROG(softirq_begins, unsigned int number)
{
	struct interrupts *own = own_interrupts();

	if (!own)
		return 0;
	own->soft = WOKEN_BY(BY_SOFTIRQ, number);
	if (number == NET_RX_SOFTIRQ) {
		struct task_struct___fathom *current = (void *)bpf_get_current_task_btf();

		/* The kernel's own thread for softirqs may take over what others have queued. */
		own->for_thread = own->queued == (__u32)current->pid ? own->queued : 0;
		own->queued = 0;
	}
	return 0;
}

SEC("tp_btf/softirq_exit")
int BPF_PROG(softirq_ends)
{
	struct interrupts *own = own_interrupts();

	if (own)
		own->soft = own->for_thread = 0;
	return 0;
}

SEC("tp_btf/netif_rx")
int BPF_PROG(packet_queued)
{
	struct interrupts *own = own_interrupts();
	struct task_struct___fathom *current = (void *)bpf_get_current_task_btf();

	/* What is answered while a thread's packet is received is its doing too. */
	if (own && !own->hard && (!own->soft || own->for_thread))
		own->queued = current->pid;
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
