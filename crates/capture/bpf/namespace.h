/* SPDX-License-Identifier: Apache-2.0 OR GPL-2.0-only */
/*
 * Ids of processes and threads as fathom's own pid namespace has them: those that /proc shows
 * to it. The kernel's own are those of the first namespace. (bpf_get_ns_current_pid_tgid
 * knows the current task alone, and only one whose innermost namespace it is: no JVM in a
 * container of its own.)
 */
#ifndef FATHOM_NAMESPACE_H
#define FATHOM_NAMESPACE_H

#include <stdbool.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_core_read.h>
#include "kernel.h"

/* Inode of the pid namespace in which fathom runs. 0: not known, taken for the first one. */
const volatile __u64 pidns_ino = 0;

/* PROC_PID_INIT_INO of include/linux/proc_ns.h: the first namespace. */
#define FIRST_PID_NAMESPACE 0xEFFFFFFCULL
/* MAX_PID_NS_LEVEL of include/linux/pid_namespace.h. */
#define MOST_NAMESPACES 32

/* A struct pid has a number in its namespace and in each one around it. 0: it is
 * not seen from fathom's. */
static __always_inline __u32 number_of(struct pid___fathom *pid)
{
	__u32 level = BPF_CORE_READ(pid, level), offset = bpf_core_field_offset(struct pid___fathom, numbers);

	for (__u32 i = 0; i < MOST_NAMESPACES && i <= level; i++) {
		struct upid___fathom *at = (void *)pid + offset + i * bpf_core_type_size(struct upid___fathom);

		if (BPF_CORE_READ(at, ns, ns.inum) == pidns_ino)
			return BPF_CORE_READ(at, nr);
	}
	return 0;
}

static __always_inline bool in_first_namespace(void)
{
	return !pidns_ino || pidns_ino == FIRST_PID_NAMESPACE;
}

/* Id of a process; 0: not seen from fathom's namespace. The fields of a task are read in
 * place, which takes a pointer that the verifier knows for one: an argument of a tracepoint,
 * or the current task. */
static __always_inline __u32 pid_of(struct task_struct___fathom *task)
{
	return in_first_namespace() ? (__u32)task->tgid : number_of(BPF_CORE_READ(task, group_leader, thread_pid));
}

/* Id of a thread. */
static __always_inline __u32 tid_of(struct task_struct___fathom *task)
{
	return in_first_namespace() ? (__u32)task->pid : number_of(BPF_CORE_READ(task, thread_pid));
}

#endif
