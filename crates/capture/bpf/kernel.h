/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What of the kernel's own types the unwinder reads: a few fields, by name (CO-RE), whatever the kernel's layout. A whole
 * vmlinux.h would be 2.8 MB for these lines.
 */
#ifndef FATHOM_KERNEL_H
#define FATHOM_KERNEL_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Flavours (the part from ___ on is ignored when the type is looked up), so that uapi's types can be included too. */
struct pt_regs___fathom {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip;
	unsigned long flags, sp;
};

struct mm_struct___fathom;

struct task_struct___fathom {
	unsigned int flags;
	int pid;
	int tgid;
	struct mm_struct___fathom *mm;
	char comm[16];
};

#pragma clang attribute pop

/* include/linux/sched.h: it runs in the kernel only. */
#define TASK_IS_KERNEL_THREAD 0x00200000

#endif
