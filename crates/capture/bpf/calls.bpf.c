// SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0
/* The only programs on the tracepoints of system calls: see calls.h. */
#include <linux/bpf.h>
#include "kernel.h"
#include <bpf/bpf_tracing.h>
#include "calls.h"

SEC("tp_btf/sys_enter")
int BPF_PROG(enters_call, struct pt_regs___fathom *regs, long number)
{
	if (number >= 0 && number < CALL_NUMBERS)
		bpf_tail_call(ctx, &entering, number);
	enter_further(ctx);
	return 0;
}

SEC("tp_btf/sys_exit")
int BPF_PROG(leaves_call, struct pt_regs___fathom *regs, long result)
{
	__u64 number = regs->orig_ax;

	if (number < CALL_NUMBERS)
		bpf_tail_call(ctx, &leaving, number);
	leave_further_from_call(ctx);
	return 0;
}

char LICENSE[] SEC("license") = "Dual BSD/GPL";
