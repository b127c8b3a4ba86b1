/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * What of the kernel's own types the unwinder reads: a few fields, by name (CO-RE), whatever the
 * kernel's layout. A whole vmlinux.h would be 2.8 MB for these lines.
 */
#ifndef FATHOM_KERNEL_H
#define FATHOM_KERNEL_H

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

/* Flavours (the part from ___ on is ignored when the type is looked up), so that uapi's types
 * can be included too. */
struct pt_regs___fathom {
	unsigned long r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	unsigned long orig_ax, ip;
	unsigned long flags, sp;
};

struct mm_struct___fathom;

struct vm_area_struct___fathom {
	unsigned long vm_end;
};

struct ns_common___fathom {
	unsigned int inum;
};

struct pid_namespace___fathom {
	struct ns_common___fathom ns;
};

struct upid___fathom {
	int nr;
	struct pid_namespace___fathom *ns;
};

struct pid___fathom {
	unsigned int level;
	struct upid___fathom numbers[1];
};

struct atomic___fathom {
	int counter;
};

struct signal_struct___fathom {
	struct atomic___fathom live; /* threads that have not ended */
};

/* A call whose return is probed: the probe's address stands where it returns to. */
struct return_instance___fathom {
	unsigned long stack;          /* where the return address was */
	unsigned long orig_ret_vaddr; /* what it was */
	struct return_instance___fathom *next;
};

struct uprobe_task___fathom {
	struct return_instance___fathom *return_instances; /* the last call first */
};

struct thread_struct___fathom {
	unsigned long fsbase; /* the thread pointer */
};

struct task_struct___fathom {
	unsigned int flags;
	unsigned long nvcsw;  /* switches away from it: by its own will */
	unsigned long nivcsw; /* and against it */
	struct uprobe_task___fathom *utask;
	int pid;
	int tgid;
	struct mm_struct___fathom *mm;
	struct pid___fathom *thread_pid;
	struct task_struct___fathom *group_leader;
	struct signal_struct___fathom *signal;
	char comm[16];
	struct thread_struct___fathom thread;
};

#pragma clang attribute pop

/* include/linux/sched.h: it runs in the kernel only. */
#define TASK_IS_KERNEL_THREAD 0x00200000
/* It is about to end (PF_EXITING). */
#define TASK_EXITS 0x00000004

#endif
