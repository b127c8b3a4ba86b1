// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/* The only programs on the tracepoints of system calls and of switches: see
 * calls.h and switches.h. */
#include <linux/bpf.h>
#include "kernel.h"
#include <bpf/bpf_tracing.h>
#include "call_runs.h"
#include "calls.h"
#include "switches.h"
#include "pending.h"

SEC("tp_btf/sys_enter")
int BPF_PROG(enters_call, struct pt_regs___fathom *regs, long number)
{
	if (number < 0 || number >= CALL_NUMBERS)
		goto further;
	bpf_tail_call(ctx, &entering, number);
	if (enters_in_run(own_run(), regs))
		return 0;
further:
	enter_further(ctx);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leaves_call, struct pt_regs___fathom *regs, long result)
{
	__u64 number = regs->orig_ax;

	if (number >= CALL_NUMBERS)
		goto further;
	bpf_tail_call(ctx, &leaving, number);
	if (!has_pending() && returns_in_run(own_run(), regs, number, result))
		return 0;
further:
	leave_further_from_call(ctx);
	return 0;
}

SEC("tp_btf/sched_switch")
int BPF_PROG(switches)
{
	bpf_tail_call_static(ctx, &switching, SWITCH_SLOT_WAITS);
	switch_further(ctx);
	return 0;
}

SEC("tp_btf/sched_waking")
int BPF_PROG(wakes)
{
	bpf_tail_call_static(ctx, &waking, SWITCH_SLOT_WAITS);
	wake_further(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
