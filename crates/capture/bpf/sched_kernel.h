/* SPDX-License-Identifier: (BSD-2-Clause OR GPL-2.0-only) AND Apache-2.0 */
/*
 * The few types of the kernel that sched.bpf.c names. Where fields lie is looked up in the running kernel's BTF (CO-RE), so
 * that only their names and kinds matter here: include/linux/sched.h, arch/x86/include/asm/ptrace.h, include/uapi/linux/bpf.h.
 */
#ifndef FATHOM_SCHED_KERNEL_H
#define FATHOM_SCHED_KERNEL_H

typedef unsigned char __u8;
typedef short __s16;
typedef unsigned short __u16;
typedef int __s32;
typedef unsigned int __u32;
typedef long long __s64;
typedef unsigned long long __u64;
typedef __u8 u8;
typedef __u16 u16;
typedef __u32 u32;
typedef __u64 u64;
typedef __u16 __be16;
typedef __u32 __be32;
typedef __u32 __wsum;
typedef _Bool bool;
#define true 1
#define false 0
#define NULL ((void *)0)

enum {
	BPF_MAP_TYPE_HASH = 1,
	BPF_MAP_TYPE_PERCPU_ARRAY = 6,
	BPF_MAP_TYPE_RINGBUF = 27,
};
enum { BPF_NOEXIST = 1 };
enum { BPF_F_NO_PREALLOC = 1 };

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct task_struct {
	int pid;
	int tgid;
	char comm[16];
};

struct pt_regs {
	unsigned long orig_ax;
};

#pragma clang attribute pop

#endif
